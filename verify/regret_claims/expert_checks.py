"""Checks of the assumptions of the regret proof for exponential weights over experts, on a running learner.

The checker draws the outcomes, so it knows their sums S; the weights are of S plus noise
(`algorithms.full_information.leader_regret`, Theorem 4).

- *bookkeeping*: the weights are ``exp(rate (S + noise))``, of all outcomes so far; without noise exactly;
- *rate*: it is the theorem's;
- *draws*: in every round the heaviest and the lightest expert are followed as often as their weights require, and the
  reward is that of the weights: all that the proof needs. Draws that are not independent of those before, given the
  weights, are another learner's;
- *noise*: its law, in four rounds;
- *path*: without noise the weights' own gain is as near to the best expert's as the theorem says, in every run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from algorithms.full_information.hedge import Hedge, expert_counter
from algorithms.problems import Experts, SemiBandit
from algorithms.theory.confidence_theorem import WeightTheorem
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError
from verify.regret_claims.noise_tests import AdditiveNoise, p_value
from verify.regret_claims.proof_run import TOLERANCE, StructuredRun, theorem_of
from verify.regret_claims.regret_report import ProofCheck

_LIGHTEST, _SMALLEST = 600.0, 1e-300  # weights below exp of minus this are rounded
_TILTS = np.array([0.01, 0.03, 0.1, 0.3, 1.0, 3.0])
_FRESH = 1e-6  # how often independent draws are taken for dependent ones, at most


class _Draws:
    """Tests of numbers of range 1 and mean 0, several of each lane in each round, by e-values.

    Attributes
    ----------
    totals, count
        The sums of each, and how many they are of.
    """

    def __init__(self) -> None:
        self.totals: FloatArray = np.zeros(3)
        self.count = self._rounds = 0
        self._evidence = -np.inf

    def add(self, excess: FloatArray) -> None:
        """Take the numbers of a round, shape (3, lanes)."""
        sums, lanes = excess.sum(axis=1), excess.shape[1]
        self.totals, self.count, self._rounds = self.totals + sums, self.count + lanes, self._rounds + 1
        self._evidence = np.logaddexp(self._evidence, np.logaddexp.reduce(_tilted(sums, lanes)))

    @property
    def p(self) -> float:
        """A p-value where lanes are independent in each round, which may depend on those before."""
        return p_value([self._evidence - np.log(max(1, self._rounds))]) if self._rounds else 1.0

    @property
    def p_fresh(self) -> float:
        """A p-value where rounds are independent, too."""
        return p_value([float(np.logaddexp.reduce(_tilted(self.totals, self.count)))])


def _tilted(sums: FloatArray, count: int) -> FloatArray:
    """Return logarithms of e-values, less that of how many they are (Hoeffding's lemma for each number)."""
    found = np.concatenate([sign * np.outer(sums, _TILTS) for sign in (-1.0, 1.0)]) - count * _TILTS**2 / 8
    return np.asarray(found.ravel() - np.log(found.size))


class Weights(NamedTuple):
    """The shown state of a learner: weights (lanes, experts), and the rate that they are of."""

    weights: FloatArray
    rate: float


class ExpertRun(StructuredRun[Weights]):
    """The checked state of a learner by exponential weights.

    Raises
    ------
    ParameterError
        If the theorem says nothing of weights, or the problem is none of experts.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, WeightTheorem, "weights"), instance.problem
        if not isinstance(problem, SemiBandit) or not isinstance(problem.structure, Experts):
            raise ParameterError(f"problem = {problem!r}: must be experts")
        super().__init__(bound, instance, lanes, None)
        self.rate, experts = bound.value_of(theorem.rate, instance), problem.structure.arms
        self._sums, self._gain = np.zeros((lanes, experts)), np.zeros(lanes)
        self._draws, self._followed = _Draws(), 0
        self._noises: dict[int, AdditiveNoise] = {}
        self._counter = None
        if theorem.noisy:
            self._counter = expert_counter(
                experts, epsilon=instance.epsilon, delta=instance.delta, horizon=instance.horizon
            )
            rounds = (instance.horizon - 1) * np.array([0.25, 0.5, 0.75, 1.0])
            self._noises = {
                int(at): AdditiveNoise("Gaussian", 1.0) for at in np.ceil(rounds) if at > 0 and experts > 1
            }

    def state(self, learner: Hedge) -> Weights:
        """Return the weights and the rate."""
        return Weights(learner.weights.copy(), learner.rate)

    def check_action(self, state: Weights, learner: Hedge, action: IntArray) -> None:
        """Count the round: its draw is looked at with its outcomes."""
        self.round += 1

    def check_feedback(
        self, before: Weights, after: Weights, action: IntArray, feedback: FloatArray, held: int
    ) -> None:
        """Check the weights after a round."""
        outcomes = np.take_along_axis(feedback, np.argsort(action, axis=1), axis=1)
        gain, weights = (before.weights * outcomes).sum(axis=1), before.weights
        heaviest, lightest = action[:, 0] == weights.argmax(axis=1), action[:, 0] == weights.argmin(axis=1)
        self._followed += int(heaviest.sum())
        least = np.where(weights.argmax(axis=1) == weights.argmin(axis=1), heaviest, weights.min(axis=1))
        self._draws.add(np.stack([heaviest - weights.max(axis=1), lightest - least, feedback[:, 0] - gain]))
        self._gain += gain
        self._sums += outcomes
        self.note_difference(
            "rate",
            np.array([[not abs(after.rate - self.rate) <= TOLERANCE * self.rate]]),
            lambda lane, arm: f"the rate is {after.rate:.6g}, and the theorem's is {self.rate:.6g}",
        )
        if self._counter is None:
            self._check_weights(after)
        elif self.round in self._noises and after.rate * np.ptp(self._sums, axis=1).max() < _LIGHTEST / 2:
            off = np.log(np.maximum(after.weights, _SMALLEST)) / after.rate - self._sums
            deviation = float(np.sqrt(self._counter.variance(self.round)))
            self._noises[self.round].add(_contrasts(off) / deviation)

    def _check_weights(self, after: Weights) -> None:
        """Check that weights are of the sums, or at least as these are ordered: then of another learner."""
        with np.errstate(divide="ignore"):
            shown = np.maximum(np.log(after.weights / after.weights.max(axis=1, keepdims=True)), -_LIGHTEST)
        expected = np.maximum(after.rate * (self._sums - self._sums.max(axis=1, keepdims=True)), -_LIGHTEST)
        off = np.abs(shown - expected) > TOLERANCE * (1 + np.abs(expected))

        def describe(lane: int, arm: int) -> str:
            return (
                f"the weight is exp({shown[lane, arm]:.6g}) of the largest where sums of outcomes make "
                f"exp({expected[lane, arm]:.6g})"
            )

        order = np.lexsort((shown, self._sums))
        ranked, sums = (np.take_along_axis(each, order, axis=1) for each in (shown, self._sums))
        most = np.maximum.accumulate(np.where(np.diff(sums, axis=1) > 0, ranked[:, :-1], -np.inf), axis=1)
        inverted: BoolArray = np.any(most > ranked[:, 1:] + TOLERANCE, axis=1, keepdims=True)
        self.refuse_arm("bookkeeping", off & inverted, describe)
        self.note_difference("weights", off, describe)

    def _describe_draws(self) -> str:
        return (
            f"the heaviest expert is followed in {self._followed:,} of {self._draws.count:,} rounds, where weights "
            f"make {self._followed - self._draws.totals[0]:,.1f}"
        )

    @property
    def noise(self) -> ProofCheck | None:
        """The test of the noise, at level 0; None where there is none."""
        if not self._noises:
            return None
        worst = min(self._noises.values(), key=lambda law: law.p)
        p = min(1.0, len(self._noises) * worst.p)
        return ProofCheck("noise", p, 0.0, self.in_runs(worst.description))

    def check_end(self) -> None:
        """Check that the weights' gain is near to that of the best expert, in every run without noise."""
        lost, bound = self._sums.max(axis=1) - self._gain, self.instance.horizon * self.rate / 4
        holds = self._counter is None and self.difference is None
        self.refuse(
            "path",
            holds & (lost > bound * (1 + TOLERANCE) + TOLERANCE),
            lambda lane: f"a run lost {lost[lane]:.6g} to the best expert, and the bound is {bound:.6g}",
        )
        dependent = np.array([[self._draws.p_fresh <= _FRESH]])
        self.note_difference("draws", dependent, lambda lane, arm: self._describe_draws())

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks, in the proof's order; the tests of both laws share the error."""
        statements = [
            ("bookkeeping", f"exact in {counted_noun(self.round, 'round')}"),
            ("path", f"held in {'all ' * (len(self._sums) > 1)}{counted_noun(len(self._sums), 'run')}"),
        ]
        if self._counter is not None:  # with noise, none holds in every run
            statements = []
        found = [ProofCheck(name, 1.0, 0.0, self.in_runs(words)) for name, words in statements]
        found.append(ProofCheck("draws", self._draws.p, error / 2, self.in_runs(self._describe_draws())))
        if (noise := self.noise) is not None:
            found.append(replace(noise, level=error / 2))
        return (*found, *([] if self.difference is None else [self.difference]))


def _contrasts(values: FloatArray) -> FloatArray:
    """Return Helmert contrasts: of independent noise independent, of the same deviation, free of a common shift."""
    columns = values.shape[1]
    parts = [
        (values[:, :k].sum(axis=1) - k * values[:, k]) / np.sqrt(k * (k + 1.0)) for k in range(1, columns)
    ]
    return np.stack(parts, axis=1) if parts else np.zeros((len(values), 0))
