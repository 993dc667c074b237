"""Checks of the assumptions of regret proofs for learners of ranked lists, on a running one.

The same as for means (`verify.regret_claims.mean_checks`), for the estimating equation: an item of attraction w with n
displays has clicks C and examinations E, estimated from noisy click vectors, and ``C - w E`` has mean 0. The checker
draws the clicks and knows w, so it knows the noise of every release, and Q, the mean of E.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from accountant import Gate
from algorithms.estimates.response_mixture import mixture_grid
from algorithms.lanes import gather, lookup
from algorithms.learner import ClickConfidence, ExplainedLists
from algorithms.problems import Cascade
from algorithms.theory.confidence_theorem import ClickTheorem, x
from algorithms.theory.regret_bound import Instance, RegretBound, T
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.parameters import ParameterError
from verify.regret_claims.chernoff_search import largest_value, noise_moment
from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth
from verify.regret_claims.proof_run import (
    TOLERANCE,
    ProofCheck,
    StructuredRun,
    good_event_failure,
    rounded,
    scatter_masked,
)

BuildLists = Callable[[Gate], ExplainedLists]

_WITHOUT_BOUND = 5e11  # an index from there on says that there is no upper bound yet
_PASSES = 3  # of randomized response's index, from u = 1
_CHERNOFF_TOLERANCE = 1e-6


class ClickRun(StructuredRun[ClickConfidence]):
    """The checked state of a learner of lists, up to the current round.

    Attributes
    ----------
    displays, releases, expected
        Of each item, after the last release; `expected` is Q. Shape (lanes, items).
    length
        The rounds of the open phase; shape (lanes,).

    Raises
    ------
    ParameterError
        If the theorem is none of lists, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int) -> None:
        theorem, problem = bound.confidence, instance.problem
        if not isinstance(theorem, ClickTheorem):
            raise ParameterError("bound: its theorem says nothing of clicks and examinations")
        if not isinstance(problem, Cascade):
            raise ParameterError(f"problem={problem!r}: must be a cascade")
        super().__init__(bound, instance, lanes, good_event_failure(theorem.failure, bound, instance))
        values = bound.values(instance)
        self.theorem, self.problem = theorem, problem
        self.exponent = bound.value_of(x, self.level_instance)
        self.radius = theorem.radius_on(values, bound.definitions)
        self.first = replace(theorem, radii=theorem.radii[:1]).radius_on(values, bound.definitions)
        self.scarcity = theorem.scarcity_on(values, bound.definitions)
        self.growth = theorem.growth_on(values, bound.definitions)
        self.scale = bound.value_of(theorem.scale, instance)
        size = problem.structure.size
        order = np.argsort(-problem.means, kind="stable")
        self.best, self.least = order[:size], float(problem.means[order[size - 1]])
        shape = (lanes, problem.structure.items)
        self.displays: FloatArray = np.zeros(shape)
        self.releases: FloatArray = np.zeros(shape)
        self.expected: FloatArray = np.zeros(shape)  # Q, of released rounds
        self.left: IntArray = np.zeros(lanes, dtype=np.int64)  # rounds of the phase still to play
        self.length: IntArray = np.zeros(lanes, dtype=np.int64)
        self.open: FloatArray = np.zeros((lanes, size))  # true clicks of the phase
        self.symbols: FloatArray = np.zeros((2, *shape))  # of displays: its position was said, and one above
        self.placed: FloatArray = np.zeros((*shape, size))  # displays at each position
        self.last: IntArray = np.zeros((lanes, size), dtype=np.int64)
        odds = np.exp(-instance.epsilon)
        self.false = odds / (1 + size * odds)
        self.gain = (1 - odds) / (1 + size * odds)
        self.noise = (
            RandomizedTruth(size * self.false)
            if theorem.noise == "symbol"
            else AdditiveNoise(theorem.noise, self.scale)
        )

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        sides = None if self.theorem.phases else 1.0
        return self.all_checks(error, (self.noise.p, self.noise.description), sides)

    def state(self, learner: ExplainedLists) -> ClickConfidence:
        """Return the sums and indices."""
        return learner.click_confidence().copy()

    def check_action(self, state: ClickConfidence, learner: ExplainedLists, shown: IntArray) -> None:
        """Check a list against the indices, and its items against the gap lemma."""
        self.round += 1
        fresh = self.left == 0
        index = np.minimum(state.index, 2 * _WITHOUT_BOUND)
        best = self.problem.structure.solve(index)
        off = np.sort(gather(index, best), axis=1) - np.sort(gather(index, shown), axis=1)
        wrong = (np.abs(off) > TOLERANCE * (1 + np.abs(np.sort(gather(index, best), axis=1)))).any(axis=1)
        self.refuse(
            "oracle",
            fresh & wrong,
            lambda lane: (
                f"list {shown[lane].tolist()} where {sorted(best[lane].tolist())} have the largest indices of "
                f"{rounded(state.index[lane])}"
            ),
        )
        self.refuse(
            "bookkeeping",
            ~fresh & (shown != self.last).any(axis=1),
            lambda lane: (
                f"list {shown[lane].tolist()} before the phase of {self.last[lane].tolist()} has ended"
            ),
        )
        if fresh.any():
            long = gather(self.displays, shown).min(axis=1) if self.theorem.phases else np.ones(len(shown))
            self.length = np.where(fresh, np.maximum(long, 1).astype(np.int64), self.length)
            self.left = np.where(fresh, self.length, self.left)
            self._check_gaps(state, shown, fresh)
        self.last = shown.copy()
        gap = self.problem.benchmark - self.problem.expected_reward(shown)
        self.regret += np.where(self.failed, 0.0, gap)

    def check_feedback(
        self, before: ClickConfidence, after: ClickConfidence, shown: IntArray, clicks: FloatArray
    ) -> None:
        """Check sums and indices after the feedback, and record the random quantities."""
        self.open += clicks
        self.left = self.left - 1
        ending = self.left == 0
        due = np.zeros(self.displays.shape, dtype=bool)
        due[np.arange(len(shown))[:, np.newaxis], shown] = ending[:, np.newaxis]
        long = np.repeat(self.length[:, np.newaxis], shown.shape[1], axis=1)[ending].ravel().astype(float)
        rows, items = np.repeat(np.flatnonzero(ending), shown.shape[1]), shown[ending].ravel()
        self.displays[rows, items] += long
        self.releases[rows, items] += 1.0
        unclicked = 1.0 - lookup(self.problem.means, shown)
        self.expected[rows, items] += long * examined_chance(unclicked)[ending].ravel()
        for name, there, here in (
            ("displays", after.displays, self.displays),
            ("releases", after.releases, self.releases),
        ):
            self.refuse_arm(
                "bookkeeping",
                there != here,
                lambda lane, arm, name=name, there=there, here=here: (  # type: ignore[misc]
                    f"{there[lane, arm]:g} {name} are counted where there were {here[lane, arm]:g}"
                ),
            )
        if ending.any():
            self._take(before, after, shown, ending)
        self.open[ending] = 0.0
        moved = (after.clicks != before.clicks) | (after.examinations != before.examinations)
        self.refuse_arm(
            "bookkeeping",
            ~due & moved,
            lambda lane, arm: "its sums moved without a release",
        )
        levelled = due
        if self.epoch_ends:
            self.exponent = self.bound.value_of(x, self.level_instance)
            levelled = self.displays > 0
        self.refuse_arm(
            "bookkeeping",
            ~levelled & (after.index != before.index),
            lambda lane, arm: "its index moved without a release",
        )
        earlier = np.full(before.index.shape, np.nan) if self.epoch_ends else before.index
        self._check_index(after, levelled, earlier)
        self._note(after, due, levelled)

    def _take(
        self, before: ClickConfidence, after: ClickConfidence, shown: IntArray, ending: BoolArray
    ) -> None:
        """Check that examinations follow from clicks, and hand the noise of the clicks to its test."""
        clicks = gather(after.clicks - before.clicks, shown)
        seen = gather(after.examinations - before.examinations, shown)
        follows = self.length[:, np.newaxis] - (np.cumsum(clicks, axis=1) - clicks)
        slack = 1e-6 * (1 + np.abs(gather(after.examinations, shown)))
        self.refuse(
            "bookkeeping",
            ending & (np.abs(seen - follows) > slack).any(axis=1),
            lambda lane: (
                f"examinations of list {shown[lane].tolist()} grow by {rounded(seen[lane])}, where clicks of "
                f"{rounded(clicks[lane])} leave {rounded(follows[lane])}"
            ),
        )
        if isinstance(self.noise, AdditiveNoise):
            self.noise.add((clicks - self.open)[ending].ravel())
            return
        symbols = clicks * self.gain + self.false
        nearest = np.round(symbols)
        size = shown.shape[1]
        off = (
            (np.abs(symbols - nearest) > 1e-5).any(axis=1)
            | (nearest < 0).any(axis=1)
            | (nearest.sum(axis=1) > 1)
        )
        self.refuse(
            "noise",
            ending & off,
            lambda lane: (
                f"a symbol makes clicks of {rounded(clicks[lane])}: must be {-self.false / self.gain:.6g} but for "
                f"{(1 - self.false) / self.gain:.6g} at most once in {size} positions"
            ),
        )
        self.noise.add((nearest != self.open).any(axis=1)[ending], self.open.sum(axis=1)[ending])
        lane, place = np.arange(len(shown))[:, np.newaxis], np.arange(size)
        self.symbols[0, lane, shown] += nearest
        self.symbols[1, lane, shown] += np.cumsum(nearest, axis=1) - nearest
        self.placed[lane, shown, place] += 1.0

    def _check_index(self, after: ClickConfidence, due: BoolArray, earlier: FloatArray) -> None:
        """Check the indices of what was released against the theorem's; `earlier` ones are still valid."""
        state = tuple(
            array[due]
            for array in (after.displays, after.releases, after.clicks, after.examinations, after.index)
        )
        wrong = (
            self._wrong_responses(*state, earlier=earlier[due], due=due)
            if self.theorem.noise == "symbol"
            else self._wrong_counts(*state)
        )
        self.refuse_arm(
            "radius",
            scatter_masked(wrong, due),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} is not the theorem's for {after.clicks[lane, arm]:.6g} clicks and "
                f"{after.examinations[lane, arm]:.6g} examinations in {after.displays[lane, arm]:g} displays with "
                f"{after.releases[lane, arm]:g} noises"
            ),
        )

    def _wrong_responses(
        self,
        n: FloatArray,
        m: FloatArray,
        clicks: FloatArray,
        examined: FloatArray,
        index: FloatArray,
        *,
        earlier: FloatArray,
        due: BoolArray,
    ) -> BoolArray:
        """Where an index is not ``(C + R(u)) / E`` after three passes from u = 1, nor lower and valid as it was."""
        some = examined > 0
        divisor, at = np.where(some, examined, 1.0), np.ones_like(n)
        for _ in range(_PASSES):
            found = (clicks + self.radius(n, m, self.exponent, at)) / divisor
            at = np.clip(found, 0.0, 1.0)
        found = np.where(some, found, np.inf)
        right: BoolArray = np.abs(index - found) <= TOLERANCE * (1 + np.abs(found))
        right |= (index >= _WITHOUT_BOUND) & (found >= _WITHOUT_BOUND)
        lower = ~right & (index < found)
        right |= lower & (index == earlier)
        mixed = lower & ~right & (index >= 0) & (index < 1)
        if self.theorem.index_level is not None and mixed.any():
            right[mixed] = self._rejected_above(due, mixed, index[mixed])
        return ~right

    def _rejected_above(self, due: BoolArray, mixed: BoolArray, index: FloatArray) -> BoolArray:
        """Say whether the mixture exceeds its level at these indices and at a few attractions above them."""
        assert self.theorem.index_level is not None
        instance = self.level_instance
        level = self.bound.value_of(self.theorem.index_level, instance)
        s = mixture_grid(int(self.bound.value_of(T, instance)))
        clicked, above = self.symbols[:, due][:, mixed, np.newaxis]
        placed = self.placed[due][mixed]
        rejected = np.ones(index.shape, dtype=bool)
        for share in (0.0, 0.01, 0.1, 0.4, 1.0):
            u = (index + share * (1.0 - index))[:, np.newaxis]
            logs = -s * (clicked + u * above)
            for k in range(placed.shape[1]):
                chance = 1.0 - (self.false + self.gain * u) * (1.0 - np.exp(-s))
                chance -= k * self.false * (1.0 - np.exp(-s * u))
                logs -= placed[:, k, np.newaxis] * np.log(chance)
            largest = logs.max(axis=1)
            mean = largest + np.log(np.exp(logs - largest[:, np.newaxis]).mean(axis=1))
            rejected &= mean > level - _CHERNOFF_TOLERANCE * (1 + level)
        return rejected

    def _wrong_counts(
        self, n: FloatArray, m: FloatArray, clicks: FloatArray, examined: FloatArray, index: FloatArray
    ) -> BoolArray:
        """Where an index is not the largest u with ``u E <= C + R(u)``, or below it and not valid by Chernoff."""
        some = examined > self.growth(n, m, self.exponent, np.ones_like(n)) * (1 + 1e-12)
        over = index * examined - clicks - self.radius(n, m, self.exponent, index)
        slack = 1e-6 * (1 + np.abs(clicks) + np.abs(index * examined))
        wrong = some & (index < _WITHOUT_BOUND) & (np.abs(over) > slack)
        if self.theorem.phases:
            wrong &= ~((over < 0) & (index == 1))  # no attraction is above 1, whatever was seen
            lowered = wrong & (over < 0) & (index >= 0) & (index < 1)
            found = self._chernoff_exponent(
                n[lowered], m[lowered], clicks[lowered], examined[lowered], index[lowered]
            )
            wrong[lowered] = found < self.exponent * (1 - _CHERNOFF_TOLERANCE)
        return wrong | (~some & (index < _WITHOUT_BOUND))

    def _chernoff_exponent(
        self, n: FloatArray, m: FloatArray, clicks: FloatArray, examined: FloatArray, at: FloatArray
    ) -> FloatArray:
        """Return ``sup_s s (u E - y) - n (s u + ln(1 - u + u e^-s)) - m (k(s) + (K - 1) k(u s))``."""
        above = self.problem.structure.size - 1
        laplace = self.theorem.noise == "Laplace"

        def value(s: FloatArray) -> FloatArray:
            likely = s * at + np.log1p(-at + at * np.exp(-s))
            own, others = (noise_moment(each, self.scale, laplace=laplace) for each in (s, at * s))
            return np.asarray(s * (at * examined - clicks) - n * likely - m * (own + above * others))

        return largest_value(value, at, self.scale, laplace=laplace)

    def _note(self, after: ClickConfidence, due: BoolArray, levelled: BoolArray) -> None:
        """Note which lanes leave the good event, where indices are new, and how far estimates are off."""
        n, m = np.maximum(self.displays, 1.0), np.maximum(self.releases, 1.0)
        means = np.broadcast_to(self.problem.means, n.shape)
        off = after.clicks - means * after.examinations
        radius = self.radius(n, m, self.exponent, means)
        scarce = after.examinations < self.expected - self.scarcity(n, m, self.exponent, means) * (
            1 + TOLERANCE
        )
        self.failed |= (levelled & ((np.abs(off) > radius * (1 + TOLERANCE)) | scarce)).any(axis=1)
        if self.theorem.index_level is not None:
            self.failed |= (after.index < means)[:, self.best].any(axis=1)
        if self.theorem.phases:
            return
        dyadic = due & (np.log2(n) % 1.0 == 0)
        self.note_radii(self.displays, dyadic, off, lambda level: self.radius(n, m, level, means))

    def _check_gaps(self, state: ClickConfidence, shown: IntArray, fresh: BoolArray) -> None:
        """Check that a shown item that is not among the best is no worse than ``2 R / (E - g)``."""
        n, m = np.maximum(self.displays, 1.0), np.maximum(self.releases, 1.0)
        means = np.broadcast_to(self.problem.means, n.shape)
        # An index by several radii is at most that of the first, which does not grow with u.
        left = state.examinations - self.growth(n, m, self.exponent, means)
        allowed = np.where(
            (left > 0) & (self.displays > 0),
            2 * self.first(n, m, self.exponent, means) / np.where(left > 0, left, 1.0),
            np.inf,
        )
        gap = np.where(np.isin(shown, self.best), 0.0, self.least - lookup(self.problem.means, shown))
        over = gap > gather(allowed, shown) * (1 + TOLERANCE)
        self.refuse(
            "gap lemma",
            fresh & ~self.failed & over.any(axis=1),
            lambda lane: (
                f"list {shown[lane].tolist()} has items worse by {rounded(gap[lane])}, and radii allow "
                f"{rounded(gather(allowed, shown)[lane])} on the good event"
            ),
        )


def examined_chance(unclicked: FloatArray) -> FloatArray:
    """Return the probability that nothing above each position is clicked, given that of no click at each."""
    shifted = np.concatenate([np.ones((len(unclicked), 1)), unclicked[:, :-1]], axis=1)
    return np.cumprod(shifted, axis=1)
