"""Pairs of data sets in which one client of a central linear learner tips its actions.

Releases of a phase decide which actions survive, and so the next actions; or, where the next phase plays the leader
to the end, which action leads. A client shows when all others hold an action right at the threshold of its elimination,
or two actions side by side in the lead: then its own report tips it. Up to that phase all rewards are 0, so both data
sets have the same history.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr

from accountant import Simulation
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.elimination import keeps
from algorithms.linear.linear_phases import Following, Phase
from algorithms.linear.linear_play import BuildPhased, LinearLearner
from mechanisms import Gaussian, NumpyNoise
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.conduct.process_state import own_steps
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds

NEGLIGIBLE = 1e-6
"""Probability, over all draws of a test together, of a history that is not drawn."""

_WORK = 250_000  # products of one chunk of draws: small enough for linear algebra to stay on one core
_PAIRS_OF_ACTIONS = 400  # that are tried in one phase
_MOST_PAIRS = 2  # pairs of data sets that are returned
_LEADERS = 8  # actions that data can raise furthest, of which one leads
_REACH = 0.95  # share of the largest possible report that other clients may need


@dataclass(frozen=True, eq=False)
class _OpenPhase:
    """A learner that waits for all reports of a phase, no action having been eliminated."""

    learner: LinearLearner
    phase: Phase

    @property
    def single(self) -> bool:
        """True if a client reports of one action only."""
        return isinstance(self.learner, StandardElimination)

    def one_report(self, gain: FloatArray) -> FloatArray:
        """Return the report of one client that raises a combination of sums furthest, in units of the bounds."""
        signs = np.sign(gain)
        return np.where(np.arange(gain.size) == np.abs(gain).argmax(), signs, 0.0) if self.single else signs

    @property
    def clients_of(self) -> FloatArray:
        """Number of clients that report of each action in the support."""
        return self.phase.reports.astype(np.float64)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on each released sum; 0 if they are published raw."""
        mechanism = self.learner.mechanism
        return mechanism.sigma if isinstance(mechanism, Gaussian) else 0.0

    @cached_property
    def slopes(self) -> FloatArray:
        """Increase of each action's estimated mean reward per unit of each released sum, shape (s, k)."""
        unit = np.eye(self.phase.support.size)
        return self.learner.values(self.phase, *self.learner.convert_sums(self.phase, unit))

    @cached_property
    def widths(self) -> FloatArray:
        """Width of every action's confidence interval, shape (k,)."""
        _, noise = self.learner.convert_sums(self.phase, np.zeros(self.phase.support.size))
        return self.learner.widths(self.phase, noise)

    def survivors(self, released: FloatArray) -> BoolArray:
        """Return True for each action that survives, shape (..., k)."""
        return keeps(released @ self.slopes, self.widths)

    def leaders(self, released: FloatArray) -> IntArray:
        """Return the actions of the largest estimates, shape (...)."""
        return np.asarray(self.learner.active[np.argmax(released @ self.slopes, axis=-1)])

    def release(self, sums: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw n releases of these sums, shape (n, s)."""
        repeated = np.tile(sums, (n, 1))
        mechanism = self.learner.mechanism
        return repeated if mechanism is None else mechanism.release(repeated, NumpyNoise(rng))

    def chance_of_elimination(self) -> float:
        """Bound the probability that anything is eliminated if all rewards are 0 (union over pairs)."""
        if not self.sigma:
            return 0.0
        slopes = self.sigma * self.slopes.T
        products = slopes @ slopes.T
        squares = np.diag(products)
        spread = np.sqrt(np.maximum(squares[:, None] + squares - 2 * products, 0.0))
        margin = self.widths[:, None] + self.widths
        with np.errstate(divide="ignore"):
            tails = log_ndtr(-margin / np.maximum(spread, 1e-300))
        np.fill_diagonal(tails, -np.inf)
        return float(np.exp(tails).sum())


@dataclass(frozen=True, eq=False)
class _TippingPair:
    """Two data sets that differ in one client of one phase: its report tips the elimination of an action.

    Attributes
    ----------
    history
        The phases before, rewards 0.
    at
        The phase.
    action
        The action; its plays in the next phase are counted.
    sums, sums_prime
        Sums of the phase's reports on D and D′, in units of the clipping bounds.
    reports
        The report of each of the other clients, of each action in the support.
    predicted
        Rough lower bound on epsilon that a test may reach.
    """

    history: tuple[_OpenPhase, ...]
    at: _OpenPhase
    action: int
    sums: FloatArray
    sums_prime: FloatArray
    reports: FloatArray
    predicted: float

    def describe_data(self, prime: bool) -> str:
        """Describe D, or D′."""
        number = self.at.phase.number
        own = np.flatnonzero(self.sums != self.sums_prime)
        where = (
            "there"
            if own.size == self.reports.size
            else f"for action {self.at.phase.support[own].tolist()[0]}"
        )
        first = "the opposite extreme" if prime else "the extreme of the same sign"
        return (
            f"rewards are 0 before phase {number}; in it all clients but one report {self._describe_others()}; "
            f"that one reports {first} {where}"
        )

    def _describe_others(self) -> str:
        """Describe the reports of the other clients, by one number and signs if they differ in sign only."""
        support, size = self.at.phase.support, np.abs(self.reports)
        if not np.allclose(size, size[0]):
            said = ", ".join(
                f"{report:.3g} for action {a}" for a, report in zip(support, self.reports, strict=True)
            )
            return f"these shares of the bound: {said}"
        plus, minus = (
            ", ".join(map(str, support[side].tolist())) or "-"
            for side in (self.reports > 0, self.reports < 0)
        )
        return f"{size[0]:.3g} of the bound, positive for actions {plus} and negative for actions {minus}"

    def drawn_history(self, samples: int) -> tuple[_OpenPhase, ...]:
        """Return the earlier phases to draw: none if an elimination there in any draw has negligible probability."""
        chance = sum(earlier.chance_of_elimination() for earlier in self.history)
        return self.history if chance * samples > NEGLIGIBLE else ()

    def worlds(self, samples: int) -> NeighbouringWorlds:
        """Return the two worlds of a test with `samples` draws in all."""
        drawn = self.drawn_history(samples)
        number = self.at.phase.number + 1
        column = Column(
            f"plays[{number},{self.action}]",
            f"how often action {self.action} is played in phase {number}",
            "category",
        )
        following: dict[bytes, Following | None] = {}

        def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
            rng = np.random.default_rng(seed)
            sums = self.sums_prime if other else self.sums
            rows = max(512, _WORK // self.at.slopes.size)
            seen = [
                self._draw(sums, min(rows, n - done), rng, drawn, following) for done in range(0, n, rows)
            ]
            return ViewSample(np.concatenate(seen)[:, np.newaxis], (column,))

        return NeighbouringWorlds((self.describe_data(False), self.describe_data(True)), draw)

    def _draw(
        self,
        sums: FloatArray,
        n: int,
        rng: np.random.Generator,
        history: tuple[_OpenPhase, ...],
        following: dict[bytes, Following | None],
    ) -> FloatArray:
        """Draw the action's numbers of plays in the next phase; NaN where an earlier phase eliminated an action."""
        whole = np.ones(n, dtype=bool)
        for earlier in history:
            nothing = np.zeros(earlier.phase.support.size)
            whole &= earlier.survivors(earlier.release(nothing, n, rng)).all(axis=1)
        released = self.at.release(sums, n, rng)
        kept, leads = self.at.survivors(released), self.at.leaders(released) == self.action
        kinds = np.packbits(kept, axis=1)
        _, first, which = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        others = np.array([self._plays(kept[row], False, following) for row in first])
        own = np.array([self._plays(kept[row], True, following) for row in first])
        return np.where(whole, np.where(leads, own[which.ravel()], others[which.ravel()]), np.nan)

    def _plays(self, kept: BoolArray, leads: bool, known: dict[bytes, Following | None]) -> float:
        """Return the action's number of plays in the next phase, if it has the largest estimate or if not."""
        key = kept.tobytes()
        if key not in known:
            known[key] = self.at.learner.continuation(kept)
        following = known[key]
        return np.nan if following is None else following.plays(self.action, self.action if leads else -1)


def _open_phases(build: BuildPhased, seed: np.random.SeedSequence) -> Iterator[_OpenPhase]:
    """Play on zero rewards; yield the learner at every phase that waits for reports, until something is eliminated."""
    gate = Simulation(seed, 1)
    learner: Any = build(gate)
    actions = learner.active.size
    single = isinstance(learner, StandardElimination)
    client = 0
    while (phase := learner.act()) is not None and phase.clients and learner.active.size == actions:
        yield _OpenPhase(copy.copy(learner), phase)
        nothing = np.zeros((1, 1 if single else phase.support.size))
        for _ in range(phase.clients):
            learner.observe(gate.private(nothing, phase.domain, client))
            client += 1


def decisive_pairs(
    build: BuildPhased, *, epsilon: float, delta: float, samples: int, seed: np.random.SeedSequence
) -> list[_TippingPair]:
    """Return the pairs of largest predicted bound at (epsilon, delta), the best first; none if no client tips."""
    found: list[_TippingPair] = []
    history: tuple[_OpenPhase, ...] = ()
    for at in own_steps(_open_phases(build, seed)):
        found += _elimination_pairs(history, at, epsilon, delta, samples)
        following = at.learner.continuation(np.ones(at.learner.active.size, dtype=bool))
        if following is not None and following.exploration is None:
            found += _leading_pairs(history, at, epsilon, delta, samples)
        history = (*history, at)
    return sorted(found, key=lambda pair: -pair.predicted)[:_MOST_PAIRS]


def _elimination_pairs(
    history: tuple[_OpenPhase, ...], at: _OpenPhase, epsilon: float, delta: float, samples: int
) -> list[_TippingPair]:
    """Return pairs at the threshold at which an action b eliminates a played action a.

    The data raise <theta~, b - a> fastest. Of all (a, b), those come first in which one client raises it most,
    relative to the noise.
    """
    slopes, number_of = at.slopes.T, at.clients_of
    position = np.searchsorted(at.learner.active, at.phase.support)
    gains = slopes[np.newaxis] - slopes[position][:, np.newaxis]  # (a, b, coordinate)
    lengths = np.linalg.norm(gains, axis=2)
    own_gain = np.abs(gains).max(axis=2) if at.single else np.abs(gains).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(lengths > 1e-12, own_gain / lengths, 0.0)
    order = np.argsort(-share, axis=None, kind="stable")[:_PAIRS_OF_ACTIONS]
    pairs = []
    for a, b in zip(*np.unravel_index(order, share.shape), strict=True):
        gain = gains[a, b]
        signs = np.sign(gain)
        threshold = _threshold(at, number_of * signs, int(position[a]))
        if share[a, b] == 0.0 or threshold is None:
            continue
        own = at.one_report(gain)
        whole, client = float(np.abs(gain) @ number_of), float(np.abs(gain) @ np.abs(own))
        deviation = at.sigma * float(lengths[a, b])
        offset, predicted = _offset(client, deviation, epsilon, delta, samples)
        if whole <= client:
            continue
        level = (threshold * whole + offset - client) / (whole - client)
        if not -_REACH <= level <= 1.0:
            continue
        others = level * (number_of * signs - own)
        pairs.append(
            _TippingPair(
                history,
                at,
                int(at.phase.support[a]),
                others + own,
                others - own,
                level * signs,
                predicted,
            )
        )
        if len(pairs) == _MOST_PAIRS:
            break
    return pairs


def _leading_pairs(
    history: tuple[_OpenPhase, ...], at: _OpenPhase, epsilon: float, delta: float, samples: int
) -> list[_TippingPair]:
    """Return pairs at a change of the lead, between data that raise one action and another: one client decides it."""
    slopes, number_of = at.slopes.T, at.clients_of
    position = {int(action): i for i, action in enumerate(at.learner.active)}
    largest = np.argsort(-np.abs(slopes) @ number_of, kind="stable")[:_LEADERS]
    pairs = []
    for a, b in itertools.combinations(largest.tolist(), 2):
        ends = np.sign(slopes[a]), np.sign(slopes[b])

        def reports(share: float, ends: tuple[FloatArray, FloatArray] = ends) -> FloatArray:
            return _REACH * ((1.0 - share) * ends[0] + share * ends[1])

        def leader(share: float, reports: Callable[[float], FloatArray] = reports) -> int:
            return int(at.leaders(number_of * reports(share)))

        low, high, first = 0.0, 1.0, leader(0.0)
        if leader(high) == first:
            continue
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if leader(middle) == first else (low, middle)
        gain = slopes[position[leader(high)]] - slopes[position[first]]
        own = at.one_report(gain)
        client = float(gain @ own)
        offset, predicted = _offset(client, at.sigma * float(np.linalg.norm(gain)), epsilon, delta, samples)
        others = number_of - np.abs(own)
        behind, ahead = (float(gain @ (others * reports(share))) for share in (0.0, 1.0))
        share = (offset - client - behind) / (ahead - behind) if ahead != behind else -1.0
        if 0.0 <= share <= 1.0:
            sums = others * reports(share)
            pairs.append(_TippingPair(history, at, first, sums + own, sums - own, reports(share), predicted))
    return sorted(pairs, key=lambda pair: -pair.predicted)[:_MOST_PAIRS]


def _threshold(at: _OpenPhase, direction: FloatArray, action: int) -> float | None:
    """Return the least t for which t times these sums eliminate the action; None if none up to `_REACH` does.

    None too if the action would not be played next even as a survivor.
    """
    low, high = 0.0, _REACH
    if at.survivors(high * direction)[action]:
        return None
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if at.survivors(middle * direction)[action] else (low, middle)
    following = at.learner.continuation(at.survivors(low * direction))
    leader = int(at.leaders(low * direction))
    if following is None or not following.plays(int(at.learner.active[action]), leader):
        return None  # its elimination changes no play
    return high


def _offset(
    client: float, deviation: float, epsilon: float, delta: float, samples: int
) -> tuple[float, float]:
    """Return the distance of D beyond the threshold, and the bound on epsilon that counts may show.

    With m standard deviations beyond it on D, and mu = 2 client / deviation less on D′, the probabilities are
    Φ(m) and Φ(m - mu); a test cannot see one below a few in all its draws.
    """
    floor = 10.0 / samples
    if deviation == 0.0:
        return client, float(np.log((1.0 - delta) / floor))
    mu = 2.0 * client / deviation
    m = np.linspace(-4.0, max(4.0, mu), 400)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.log((ndtr(m) - delta) / np.maximum(ndtr(m - mu), floor))
    bound = np.nan_to_num(bound, nan=-np.inf)
    best = int(np.argmax(bound))
    return float(m[best] * deviation), float(bound[best])
