"""Laws of action sequences: policies whose next action has a computable law given the past.

Few sequences are enumerated; else log-likelihood ratios of sampled sequences are the optimal score, and bound
the policy's ε at a stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accountant import CertifiedInterval
from mechanisms import ParameterError
from verify.events.event import Event
from verify.events.view_sample import Column
from verify.likelihood.finite_law import FiniteLaw
from verify.likelihood.finite_pair import FinitePair
from verify.statistics.privacy_loss import loss_lower_bound

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_SEQUENCES = 1 << 16
"""At most so many action sequences are enumerated."""

SAMPLED = 1 << 12
ERROR = 0.05
"""Sequences sampled for a bound on ε at δ > 0, and the probability with which that bound fails."""


@dataclass(frozen=True, eq=False)
class PolicyLaw:
    """The law of the actions of a policy on fixed data.

    Attributes
    ----------
    next_action
        ``next_action(past)``: probabilities of the next action given n pasts of t actions each, shape (n, t)
        to (n, actions). It knows the data; rounds are counted by t.
    steps, actions
        Length of a sequence, and how many actions there are; actions are 0 ... actions - 1.
    rounding
        Relative error of the probabilities of one step.

    Raises
    ------
    ParameterError
        If steps or actions are below 1.
    """

    next_action: Callable[[IntArray], FloatArray]
    steps: int
    actions: int
    rounding: float = 1e-12

    def __post_init__(self) -> None:
        for name in ("steps", "actions"):
            if not getattr(self, name) >= 1:
                raise ParameterError(f"{name} = {getattr(self, name)!r}: must be at least 1")

    @property
    def enumerable(self) -> bool:
        """Whether there are few enough sequences to list them all."""
        return bool(self.actions**self.steps <= MOST_SEQUENCES)

    def step(self, past: IntArray) -> FloatArray:
        """Probabilities of the next action, checked.

        Raises
        ------
        ParameterError
            If the policy returns another shape, or numbers that are no probabilities.
        """
        p = np.asarray(self.next_action(past), dtype=np.float64)
        if p.shape != (len(past), self.actions):
            raise ParameterError(
                f"next_action returned shape {p.shape}: must be ({len(past)}, {self.actions})"
            )
        if not np.all(p >= 0.0) or not np.all(np.abs(p.sum(axis=1) - 1.0) <= 1e-9):
            raise ParameterError(
                f"next_action in round {past.shape[1] + 1}: must return probabilities that sum to 1"
            )
        return p

    def log_likelihood(self, sequences: FloatArray) -> FloatArray:
        """Ln P(sequence), shape (n, steps) to (n,); -inf for one that is impossible."""
        valid = np.all((sequences >= 0) & (sequences < self.actions) & (sequences % 1 == 0), axis=1)
        actions = np.where(valid[:, None], sequences, 0).astype(np.int64)
        total = np.where(valid, 0.0, -np.inf)
        for t in range(self.steps):
            with np.errstate(divide="ignore"):
                total += np.log(self.step(actions[:, :t])[np.arange(len(actions)), actions[:, t]])
        return total

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw sequences, shape (size, steps)."""
        actions = np.zeros((size, 0), dtype=np.int64)
        for _ in range(self.steps):
            cumulative = np.cumsum(self.step(actions), axis=1)
            chosen = (rng.random(size)[:, None] * cumulative[:, -1:] >= cumulative).sum(axis=1)
            actions = np.column_stack([actions, np.minimum(chosen, self.actions - 1)])
        return actions.astype(np.float64)

    @cached_property
    def enumerated(self) -> FiniteLaw:
        """All sequences with their probabilities; those of probability 0 are left out."""
        actions, p = np.zeros((1, 0), dtype=np.int64), np.ones(1)
        for _ in range(self.steps):
            joint = p[:, None] * self.step(actions)
            row, chosen = np.nonzero(joint > 0.0)
            actions, p = np.column_stack([actions[row], chosen]), joint[row, chosen]
        return FiniteLaw.of_arrays(actions, p, rounding=self.steps * (self.rounding + 1e-15))

    def contradiction(self, views: FloatArray, error: float) -> str | None:
        """Say what in independent sequences contradicts the law; None if nothing does.

        In round t, the indicator of action a less its conditional probability has mean 0 and lies in an
        interval of length 1 given the past, whatever that is: the mean over n sequences exceeds s with
        probability at most exp(-2 n s²) (Hoeffding 1963), in either direction. All rounds and actions share
        `error`, and so does the enumeration where there is one.
        """
        if views.shape[1] != self.steps:
            return f"sequences have {views.shape[1]} actions, {self.steps} by the law"
        impossible = np.isneginf(self.log_likelihood(views))
        if impossible.any():
            shown = ", ".join(f"{value:g}" for value in views[impossible][0])
            return f"the sequence ({shown}) occurred, which is impossible by the law"
        if self.enumerable and (found := self.enumerated.contradiction(views, error / 2)):
            return found
        n, actions = len(views), views.astype(np.int64)
        limit = math.sqrt(math.log(4.0 * self.steps * self.actions / error) / (2 * n))
        for t in range(self.steps):
            p = self.step(actions[:, :t])
            seen = np.eye(self.actions)[actions[:, t]]
            apart = (seen - p).mean(axis=0)
            a = int(np.argmax(np.abs(apart)))
            if abs(apart[a]) > limit:
                return (
                    f"in round {t + 1} action {a} was taken in a share of {seen[:, a].mean():.4g} of {n:,} sequences; "
                    f"given their pasts it is {p[:, a].mean():.4g} by the law"
                )
        return None

    def compared(self, other: PolicyLaw) -> PolicyPair:
        """The pair of this law and another."""
        return PolicyPair(self, other)


@dataclass(frozen=True, eq=False)
class PolicyPair:
    """The laws of one policy on two data sets."""

    law: PolicyLaw
    other: PolicyLaw

    @property
    def swapped(self) -> PolicyPair:
        """The pair in the other order."""
        return PolicyPair(self.other, self.law)

    @cached_property
    def _enumerated(self) -> FinitePair | None:
        if not (self.law.enumerable and self.other.enumerable):
            return None
        return self.law.enumerated.compared(self.other.enumerated)

    @cached_property
    def _sampled(self) -> FloatArray:
        return self.loss(self.law.sample(np.random.default_rng(0), SAMPLED))

    def loss(self, views: FloatArray) -> FloatArray:
        """Ln P(sequence on D) / P(sequence on D′), shape (n,); NaN where it is impossible on both."""
        first, second = self.law.log_likelihood(views), self.other.log_likelihood(views)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(first) & ~np.isneginf(second), -np.inf, first - second)

    def epsilon(self, delta: float = 0.0) -> CertifiedInterval:
        """The least ε with δ(ε) ≤ `delta`: by enumeration, or a lower end from sampled sequences.

        For delta = 0 a sampled ratio proves its bound; else the bound holds with probability 1 - `ERROR`.
        """
        if self._enumerated is not None:
            return self._enumerated.epsilon(delta)
        bound = loss_lower_bound(self._sampled[None, :], delta, ERROR)
        how = "a sampled likelihood ratio" if delta == 0 else f"sampled ratios ({1 - ERROR:.0%})"
        return CertifiedInterval(bound.epsilon, math.inf, how, "none")

    def delta(self, epsilon: float) -> CertifiedInterval:
        """δ(ε) = E (1 - e^(ε - loss))⁺: by enumeration, or a lower end that holds with probability 1 - `ERROR`.

        The mean of n values in [0, 1] exceeds its expectation by √(ln(1/ERROR) / 2n) with probability at most
        `ERROR` (Hoeffding 1963).
        """
        if self._enumerated is not None:
            return self._enumerated.delta(epsilon)
        excess = -np.expm1(np.minimum(epsilon - self._sampled, 0.0))
        lower = float(excess.mean()) - math.sqrt(-math.log(ERROR) / (2 * SAMPLED))
        return CertifiedInterval(max(0.0, lower), 1.0, f"sampled ratios ({1 - ERROR:.0%})", "none")

    def event(self, loss: float, columns: Sequence[Column]) -> Event | None:
        """The event that the log-likelihood ratio is at least `loss`, as code-free data if it is a short list."""
        return None if self._enumerated is None else self._enumerated.event(loss, columns)
