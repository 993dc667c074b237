"""Checks of the assumptions of regret proofs for learners of ranked lists, on a running one.

The same as for means (`verify.regret_claims.mean_checks`), for the estimating equation: an item of attraction w with n
displays has clicks C and examinations E, estimated from noisy click vectors, and ``C - w E`` has mean 0. The checker
draws the clicks and knows w, so it knows the noise of every release. The good event is that no index of one of the best
items is below its mean; the cost of the others on it is bounded in expectation.
"""

from __future__ import annotations

import numpy as np

from algorithms.cascades.click_estimates import AdditiveNoiseBound, ChernoffNoiseBound
from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.response_mixture import ResponseMixture
from algorithms.lanes import gather
from algorithms.learner import ClickConfidence, ExplainedLists
from algorithms.problems import Cascade, RankedLists
from algorithms.theory.confidence_theorem import ClickTheorem, x
from algorithms.theory.regret_bound import Instance, RegretBound, T
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError
from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth
from verify.regret_claims.proof_run import (
    HAIR,
    TOLERANCE,
    StructuredRun,
    good_event_failure,
    rounded,
    scatter_masked,
    stale,
    theorem_of,
)
from verify.regret_claims.regret_report import ProofCheck

_WITHOUT_BOUND = 5e11  # an index from there on says that there is no upper bound yet
_PASSES = 3  # of randomized response's index, from u = 1


class ClickRun(StructuredRun[ClickConfidence]):
    """The checked state of a learner of lists, up to the current round.

    Attributes
    ----------
    displays
        The displays of each item, up to the last release; shape (lanes, items).
    length
        The length in rounds of each lane's present phase, and the rounds of it that were played; shape (lanes,).

    Raises
    ------
    ParameterError
        If the theorem is none of lists, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, ClickTheorem, "clicks and examinations"), instance.problem
        structure = getattr(problem, "structure", None)
        if not isinstance(structure, RankedLists) or (laws and not isinstance(problem, Cascade)):
            raise ParameterError(f"problem = {problem!r}: must be a cascade")
        super().__init__(bound, instance, lanes, good_event_failure(theorem.failure, bound, instance))
        values = bound.values(instance)
        self.theorem, self.laws = theorem, laws
        self.problem: Cascade = problem  # type: ignore[assignment]
        self.radius = theorem.radius_on(values, bound.definitions)
        self.scale = bound.value_of(theorem.scale, instance)
        size, shape = structure.size, (lanes, structure.items)
        if laws:
            self.best = np.argsort(-self.problem.means, kind="stable")[:size]
        self.displays: FloatArray = np.zeros(shape)
        self.releases: FloatArray = np.zeros(shape)
        self.played: IntArray = np.zeros(lanes, dtype=np.int64)
        self.length: IntArray = np.zeros(lanes, dtype=np.int64)
        self.open: FloatArray = np.zeros((lanes, size))  # true clicks of the phase
        self.lowest: FloatArray = np.full(shape, np.inf)  # of the valid indices so far
        self.moved: FloatArray = np.zeros(shape)  # as of `MeanRun`, of displays
        self.symbols: FloatArray = np.zeros((2, *shape))  # of displays: its position answered, or one above
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
        laplace = theorem.noise == "Laplace"
        self.tail = NoiseTail((2 if laplace else 1) * self.scale**2, self.scale if laplace else 0.0)
        self._set_level()

    def _set_level(self) -> None:
        """Set the exponents of the bounds."""
        there, size = self.level_instance, self.problem.structure.size
        self.exponent = self.bound.value_of(x, there)
        self.mixture: ResponseMixture | None = None
        if self.theorem.index_level is not None:
            level = self.bound.value_of(self.theorem.index_level, there)
            horizon = int(self.bound.value_of(T, there))
            self.mixture = ResponseMixture(size, self.false, self.gain, level, horizon)

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        sides = None if self.theorem.phases else 1.0
        return self.all_checks(error, (self.noise.p, self.noise.description), sides)

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The statements that are held against single lanes: none, as the bound adds up the costs of rare events."""
        return ()

    def state(self, learner: ExplainedLists) -> ClickConfidence:
        """Return the sums and indices."""
        return learner.click_confidence().copy()

    def check_action(self, state: ClickConfidence, learner: ExplainedLists, shown: IntArray) -> None:
        """Check a list against the indices."""
        self.round += 1
        fresh = self.played == 0
        if fresh.any():
            index = np.minimum(state.index, 2 * _WITHOUT_BOUND)
            best = self.problem.structure.solve(index)
            largest = np.sort(gather(index, best), axis=1)
            off = np.abs(largest - np.sort(gather(index, shown), axis=1))
            self.refuse(
                "oracle",
                fresh & (off > TOLERANCE * (1 + np.abs(largest))).any(axis=1),
                lambda lane: (
                    f"list {shown[lane].tolist()} where {sorted(best[lane].tolist())} have the largest indices of "
                    f"{rounded(state.index[lane])}"
                ),
            )
            least = gather(self.displays, shown).min(axis=1) if self.theorem.phases else np.ones(len(shown))
            self.length = np.where(fresh, np.maximum(least, 1).astype(np.int64), self.length)
        self.refuse(
            "bookkeeping",
            ~fresh & (shown != self.last).any(axis=1),
            lambda lane: (
                f"list {shown[lane].tolist()} before the phase of {self.last[lane].tolist()} has ended"
            ),
        )
        self.last = shown.copy()

    def check_feedback(
        self, before: ClickConfidence, after: ClickConfidence, shown: IntArray, clicks: FloatArray, held: int
    ) -> None:
        """Check sums and indices after the feedback, and record the random quantities."""
        self.open += clicks
        self.played = self.played + held
        released = after.releases != before.releases
        ending = released.any(axis=1)
        due = np.zeros(self.displays.shape, dtype=bool)
        due[np.arange(len(shown))[:, np.newaxis], shown] = ending[:, np.newaxis]
        self._check_counts(before, after, due, ending)
        if ending.any():
            rows, items = np.repeat(np.flatnonzero(ending), shown.shape[1]), shown[ending].ravel()
            self.displays[rows, items] += np.repeat(self.played[ending], shown.shape[1])
            self._take(before, after, shown, ending)
            self.open[ending] = 0.0
            self.played[ending] = 0
        self.releases, levelled = after.releases, due
        if self.epoch_ends:
            self._set_level()
            self.lowest[:] = np.inf
            levelled = self.displays > 0
        self._check_index(before, after, levelled)
        if self.laws and levelled.any():
            self._note(after, due, levelled)

    def _check_counts(
        self, before: ClickConfidence, after: ClickConfidence, due: BoolArray, ending: BoolArray
    ) -> None:
        """Check the counts of displays and noises, and when phases end."""
        late = ~ending & (self.played >= self.length)
        self.refuse(
            "bookkeeping",
            late
            & (self.played > self.length)
            & stale(*np.stack([2 * self.played, self.played + self.length]).astype(float)),
            lambda lane: (
                f"list {self.last[lane].tolist()} is shown for {counted_noun(self.played[lane], 'round')} and nothing "
                f"was released, where {self.length[lane]} make a phase"
            ),
        )
        self.note_difference(
            "bookkeeping",
            (late | (ending & (self.played != self.length)))[:, np.newaxis],
            lambda lane, arm: (
                f"a phase of {counted_noun(self.played[lane], 'round')} where {self.length[lane]} make one"
            ),
        )
        displays = self.displays + np.where(due, self.played[:, np.newaxis], 0.0)
        self.refuse_counts("displays", after.displays != displays, after.displays, displays)
        noises = before.releases + due
        self.refuse_counts("noises", after.releases != noises, after.releases, noises)
        self.refuse_arm(
            "bookkeeping",
            ~due & ((after.clicks != before.clicks) | (after.examinations != before.examinations)),
            lambda lane, arm: "its sums moved without a release",
        )

    def _take(
        self, before: ClickConfidence, after: ClickConfidence, shown: IntArray, ending: BoolArray
    ) -> None:
        """Check that examinations follow from clicks, and hand the noise of the clicks to its test."""
        clicks = gather(after.clicks - before.clicks, shown)
        seen = gather(after.examinations - before.examinations, shown)
        follows = self.played[:, np.newaxis] - (np.cumsum(clicks, axis=1) - clicks)
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

    def _check_index(self, before: ClickConfidence, after: ClickConfidence, levelled: BoolArray) -> None:
        """Check the indices that are to be computed, and those that have moved, against the theorem's interval."""
        index = np.minimum(after.index, _WITHOUT_BOUND)
        moves = after.index != before.index
        here = (levelled | moves) & (after.displays > 0)
        if not here.any():
            return
        n, m, clicks, examined = (
            array[here] for array in (after.displays, after.releases, after.clicks, after.examinations)
        )
        if self.mixture is None:
            size = self.problem.structure.size
            additive, lowered = (
                kind(size, self.tail, self.exponent).upper(n, m, clicks, examined)
                for kind in (AdditiveNoiseBound, ChernoffNoiseBound)
            )
        else:
            additive = self._passed(n, m, clicks, examined)
            lowered = np.clip(additive, 0.0, 1.0)
            said, above = self.symbols[:, here]
            placed, left = self.placed[here], np.arange(lowered.size)
            while left.size:  # to its end: the learner's is found from another start, which may be nearer
                before_step = lowered[left]
                lowered[left] = self.mixture.upper(before_step, said[left], above[left], placed[left])
                left = left[before_step - lowered[left] > TOLERANCE]
        least, most = (
            np.minimum(scatter_masked(each, here), _WITHOUT_BOUND)
            for each in (np.minimum(lowered, 1.0), np.maximum(additive, 0.0))
        )
        slack = HAIR * (1 + np.minimum(np.abs(most), 1.0))
        below = here & (index < least - slack) & (index < self.lowest)
        over = here & (index > most + slack)
        self.lowest = np.where(here & ~over, np.minimum(self.lowest, index), self.lowest)
        self.moved = np.where(moves | (here & ~over), after.displays, self.moved)
        stuck = over & (most < 1) & ~moves & stale(after.displays, self.moved)

        def describe(lane: int, arm: int) -> str:
            return (
                f"index {after.index[lane, arm]:.6g} where {after.clicks[lane, arm]:.6g} clicks and "
                f"{after.examinations[lane, arm]:.6g} examinations in {after.displays[lane, arm]:g} displays with "
                f"{after.releases[lane, arm]:g} noises make from {least[lane, arm]:.6g} to {most[lane, arm]:.6g}"
            )

        self.refuse_arm("radius", below | stuck, describe)
        self.note_difference("radius", over, describe)

    def _passed(self, n: FloatArray, m: FloatArray, clicks: FloatArray, examined: FloatArray) -> FloatArray:
        """Return ``(C + R(u)) / E`` after three passes from u = 1; infinite where E is not above 0."""
        some, at, found = examined > 0, np.ones_like(n), np.full_like(n, np.inf)
        for _ in range(_PASSES):
            found = (clicks + self.radius(n, m, self.exponent, at)) / np.where(some, examined, 1.0)
            at = np.clip(found, 0.0, 1.0)
        return np.where(some, found, np.inf)

    def _note(self, after: ClickConfidence, due: BoolArray, levelled: BoolArray) -> None:
        """Note which lanes leave the good event, where indices are new, and how far estimates are off."""
        means = np.broadcast_to(self.problem.means, after.displays.shape)
        self.failed |= (levelled & (after.index < means))[:, self.best].any(axis=1)
        if self.theorem.phases:
            return
        n, m = np.maximum(after.displays, 1.0), np.maximum(after.releases, 1.0)
        off = after.clicks - means * after.examinations
        dyadic = due & (np.log2(n) % 1.0 == 0)
        self.note_radii(self.displays, dyadic, off, lambda level: self.radius(n, m, level, means))
