"""Checks of the assumptions of regret proofs for learners on means, on a running one.

The learner shows its estimates, counts and indices (`algorithms.learner.ExplainedLearner`); the data it is fed are
drawn here, so all that it shows follows from them. Where something has changed it is held against the theorem:

- *bookkeeping*: counts are those of the outcomes fed, and estimates change with releases only;
- *radius*: the index is in the theorem's interval, from the least one that is valid to the one that the proof allows;
- *oracle*: the action is an answer of the oracle to the index;
- *noise*: a release without its data has the law that the radius assumes.

Where many runs are played, on sets, bases or disjoint paths, further

- *estimates*: for each arm, count and level, no more lanes are off by the radius of that level than it states;
- *good event*: no more lanes leave it than the proof allots;
- *gap lemma* and *path*: on the good event the gap of a bad action, and the regret of a lane, are within their bounds.

A deviation that costs a learner rounds and breaks no step of the proof, as longer batches and wider radii, makes
another learner than the theorem's. But a batch that waits for a release while all other data of its arm grow by half,
or an index that stays the same meanwhile, means that the learner has stopped learning.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.estimates.chernoff import NoiseTail
from algorithms.estimates.level_free import level_free_upper, unsharpened
from algorithms.lanes import gather, lookup
from algorithms.learner import Confidence, ExplainedLearner
from algorithms.problems import Cascade, DisjointPaths, Matroid, RankedLists, SemiBandit, TopK
from algorithms.theory.confidence_theorem import ConfidenceTheorem, radius_on, x
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.parameters import ParameterError
from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth
from verify.regret_claims.proof_run import (
    HAIR,
    TOLERANCE,
    BatchedRun,
    good_event_failure,
    rounded,
    scatter_masked,
    stale,
    theorem_of,
)
from verify.regret_claims.regret_report import ProofCheck


class MeanRun(BatchedRun):
    """The checked state of a learner on means, up to the current round.

    Attributes
    ----------
    feeds
        Number of outcomes of each arm that were fed; shape (lanes, arms), as those that follow.
    filled, open
        Number of outcomes that wait for a release, and their sum (those of a tree always wait).
    batch
        The number of values after which a release is due.
    releases
        The number of noises in each estimate.

    Raises
    ------
    ParameterError
        If the theorem has no `confidence`, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, ConfidenceTheorem, "the learner's estimates"), instance.problem
        if theorem.feeds == "examined":
            if not isinstance(problem, Cascade):
                raise ParameterError(f"problem = {problem!r}: must be a cascade")
        elif laws and not (
            isinstance(problem, SemiBandit) and isinstance(problem.structure, TopK | Matroid | DisjointPaths)
        ):
            raise ParameterError(
                f"problem = {problem!r}: must be a semi-bandit with a linear reward, on sets, a matroid or disjoint "
                "paths"
            )
        failure = None if theorem.failure is None else good_event_failure(theorem.failure, bound, instance)
        self.problem: SemiBandit | Cascade = problem  # type: ignore[assignment]
        super().__init__(bound, instance, lanes, failure, self.problem.structure.arms)
        values = bound.values(instance)
        self.theorem: ConfidenceTheorem = theorem
        self.laws = laws
        self._set_levels()
        self.first = max(1, math.ceil(bound.value_of(theorem.first, instance)))
        self.few = int(bound.value_of(theorem.few, instance))
        self.radius = radius_on(theorem.radius, values, bound.definitions)
        self.scale = bound.value_of(theorem.scale, instance)
        laplace, self.gain = theorem.noise == "Laplace", self.scale if theorem.noise == "bit" else 1.0
        proxy = 0.0 if theorem.noise == "bit" else (2 if laplace else 1) * self.scale**2
        self.tail = NoiseTail(proxy, self.scale if laplace else 0.0)
        self.fresh = theorem.counting in ("last batch", "doubling episodes")
        self.tree = theorem.counting == "tree"
        structure = self.problem.structure
        if laws:
            self.best = structure.solve(self.problem.means[np.newaxis])[0]
            self.least = float(self.problem.means[self.best].min())
        shape = (lanes, structure.arms)
        self.batch: FloatArray = np.full(
            shape, float(self.first if theorem.counting == "growing batches" else 1)
        )
        self.ended: FloatArray = np.zeros(shape)  # batches
        self.clock: FloatArray = np.zeros((lanes, 1))  # the round of the last release
        self.lowest: FloatArray = np.full(shape, np.inf)  # of the valid indices so far
        # Values when the index changed, or was no larger than the theorem's.
        self.moved: FloatArray = np.zeros(shape)
        self.action: IntArray  # once there is one
        self.fed: IntArray = np.zeros((lanes, 0), dtype=np.int64)
        self.changed = True
        self.noise: RandomizedTruth | AdditiveNoise = (
            RandomizedTruth((1.0 - 1.0 / self.scale) / 2.0)
            if theorem.noise == "bit"
            else AdditiveNoise("Laplace" if theorem.noise == "none" else theorem.noise, self.scale)
        )
        self.clipped = theorem.index not in ("unclipped", "divergence")

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        none = self.theorem.noise == "none"
        return self.all_checks(
            error,
            (1.0, "by the theorem: none") if none else (self.noise.p, self.noise.description),
            self.theorem.sides,
            radius="all indices were 1: radii are too large to be seen" if self.clipped else "",
        )

    @property
    def _in_expectation(self) -> bool:
        """True if the bound adds up the costs of rare events: then a single lane may exceed it."""
        return self.theorem.index == "level-free"

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The statements that are held against every lane on the good event."""
        alone = self._in_expectation or self.theorem.lemma == "episode"
        return ("gap lemma",) if alone else super().lemmas

    def _set_levels(self) -> None:
        """Set the exponent of the radii."""
        there = self.level_instance
        defined = any(symbol == x for symbol, _ in self.bound.definitions)
        self.exponent = self.bound.value_of(x, there) if defined else 1.0

    def check_start(self, state: Confidence, outcomes: FloatArray) -> None:
        """Take a learner's first values: they count like any others."""
        everywhere = np.ones(self.feeds.shape, dtype=bool)
        nothing = Confidence(*np.zeros((4, *self.feeds.shape)))
        self.feeds += 1.0
        self.filled += 1.0
        self.open += outcomes
        self._check_releases(nothing, state, everywhere)

    def check_action(self, shown: Confidence, learner: ExplainedLearner, action: IntArray) -> None:
        """Check an action against the index, and its gap against the radii."""
        self.round += 1
        if self.theorem.exponent is not None:
            self._enter_round(shown)
            self.changed = True
        if self.changed or not np.array_equal(action, self.action):
            self._check_oracle(shown, action)
            self.fed = self._fed_by(learner, shown, action)
        self.action = action
        if not self.laws:
            return
        gap = self.problem.benchmark - self.problem.expected_reward(action)
        self.regret += np.where(self.failed, 0.0, gap)
        self._check_gaps(shown, action, gap)

    def _check_oracle(self, shown: Confidence, action: IntArray) -> None:
        """Check that an action is an answer of the oracle to the indices, or earns as much by them."""
        structure, index = self.problem.structure, np.minimum(shown.index, 1e9)
        best = structure.solve(index)
        other = (np.sort(best, axis=1) != np.sort(action, axis=1)).any(axis=1)
        for lane in np.flatnonzero(other):
            if structure.beta < 1:
                continue  # the oracle's failures depend on the last bit of its weights
            if isinstance(structure, RankedLists):
                earned, most = (lookup(index[lane], each[[lane]]).sum() for each in (action, best))
            else:
                earned, most = (structure.reward(each[[lane]], index[lane])[0] for each in (action, best))
            other[lane] = most - earned > TOLERANCE * (1 + np.abs(index[lane]).sum())
        self.refuse(
            "oracle",
            other,
            lambda lane: (
                f"action {action[lane].tolist()} where the oracle answers {best[lane].tolist()} to the indices "
                f"{rounded(shown.index[lane])}"
            ),
        )

    def _check_gaps(self, shown: Confidence, action: IntArray, gap: FloatArray) -> None:
        """Check the gaps of an action, or of its items, against the radii of lanes on the good event."""
        radius = self.radius(shown.count, shown.releases, self.exponent)
        if self.theorem.lemma == "item":
            gaps, allowed = self.least - lookup(self.problem.means, action), 2 * gather(radius, action)
        else:
            gaps, allowed = gap[:, np.newaxis], self._allowance(radius, action)[:, np.newaxis]
        if self._in_expectation:
            allowed = allowed + self._shortfall(shown, action)[:, np.newaxis]
        over = (gaps > 1e-12) & (gaps > allowed * (1 + TOLERANCE))
        if self.difference is not None:  # wider radii allow more
            over &= False
        self.refuse(
            "gap lemma",
            ~self.failed & over.any(axis=1),
            lambda lane: (
                f"action {action[lane].tolist()} has a gap of {gaps[lane][over[lane]][0]:.6g}, more than the "
                f"{allowed[lane][over[lane]][0]:.6g} that radii allow on the good event"
            ),
        )

    def _fed_by(self, learner: ExplainedLearner, shown: Confidence, action: IntArray) -> IntArray:
        """Return the arms of the outcomes that a round takes in, checked; of lists, all that may be examined."""
        if self.theorem.feeds != "least":
            return action
        fed: IntArray = learner.fed_arms  # type: ignore[attr-defined]
        most = np.sort(np.where(action >= 0, gather(shown.count, action), np.inf), axis=1)[:, : fed.shape[1]]
        played = (action[:, :, np.newaxis] == fed[:, np.newaxis]).any(axis=1) | (fed < 0)
        counts = np.sort(np.where(fed >= 0, gather(shown.count, fed), np.inf), axis=1)
        self.refuse(
            "bookkeeping",
            (~played).any(axis=1) | (counts != most).any(axis=1),
            lambda lane: (
                f"action {action[lane].tolist()} feeds {fed[lane].tolist()}: not the {self.few} that were played of "
                f"least count; counts {rounded(shown.count[lane])}"
            ),
        )
        others = ((fed >= 0).sum(axis=1) != np.minimum(self.few, (action >= 0).sum(axis=1)))[:, np.newaxis]
        self.note_difference(
            "bookkeeping",
            others,
            lambda lane, arm: (
                f"action {action[lane].tolist()} feeds {fed[lane].tolist()}, and {self.few} are to be fed"
            ),
        )
        return np.asarray(fed.copy())

    def _enter_round(self, shown: Confidence) -> None:
        """Set the round's exponent; check all indices, which it moves, and the lanes on the round's good event."""
        now = float(self.round)
        assert self.theorem.exponent is not None
        self.exponent = self.bound.value_of(self.theorem.exponent, self.instance, t=now)
        self._check_index(shown, shown, np.ones_like(shown.count, dtype=bool))
        if not self.laws:
            return
        off = np.abs(shown.estimate - self.problem.means)
        radius = self.radius(shown.count, shown.releases, self.exponent) * (1 + TOLERANCE)
        self.note_failures(
            np.any(off > radius, axis=1),
            self.bound.value_of(self.theorem.failure, self.instance, t=now),
        )

    def check_feedback(
        self, before: Confidence, after: Confidence, action: IntArray, feedback: FloatArray, held: int
    ) -> None:
        """Check counts, estimates and indices after the feedback, and record the random quantities."""
        lanes, fed = np.arange(len(action))[:, np.newaxis], self.fed
        place = (action[:, np.newaxis, :] == fed[:, :, np.newaxis]).argmax(axis=2)
        here = fed >= 0
        if self.theorem.feeds == "examined":
            here &= np.cumsum(feedback, axis=1) - feedback == 0
        rows, arms = np.broadcast_to(lanes, fed.shape)[here], fed[here]
        self.feeds[rows, arms] += held
        self.filled[rows, arms] += held
        self.open[rows, arms] += np.take_along_axis(feedback, place, axis=1)[here]
        due = self.filled >= self.batch
        self.changed = bool(due.any()) or self.epoch_ends or not _is_unchanged(before, after)
        if self.changed:
            released = self._check_releases(before, after, due)
            self._check_indices(before, after, released)
            if self.laws:
                self._note(after, released)

    def _check_indices(self, before: Confidence, after: Confidence, released: BoolArray) -> None:
        """Check the indices after a round in which some arms' values were released."""
        levelled = released
        if self._in_expectation:
            levelled = np.asarray(released.any(axis=1, keepdims=True))
        if self.epoch_ends:
            self._set_levels()
            self.lowest[:] = np.inf
            levelled = np.ones_like(released)
        if self.theorem.exponent is not None:  # the next round's are others
            return
        self._check_index(before, after, levelled)
        if self.laws and self.failure is not None:
            self._note_event(after, levelled)

    def _check_releases(self, before: Confidence, after: Confidence, due: BoolArray) -> BoolArray:
        """Check the arms' values in their estimates after a round; return the arms with a release."""
        theorem = self.theorem
        ended = theorem.counting == "doubling episodes"  # the second play makes a count of one again
        released: BoolArray = (after.count != before.count) | (
            due & (ended | (after.estimate != before.estimate))
        )
        self.clock = np.where(released.any(axis=1, keepdims=True), float(self.round), self.clock)
        whole = self.check_counts(before, after, released, due)
        self._check_noises(before, after, released)
        self._take_releases(before, after, whole)
        self.releases = after.releases
        self.filled[released] = 0.0
        if not self.tree:
            self.open[released] = 0.0
        if theorem.counting == "growing batches":
            self.ended += released
            share = np.maximum(theorem.growth, theorem.falling / np.maximum(self.ended, 1.0))
            self.batch = np.where(released, np.maximum(np.ceil(share * after.count), 1.0), self.batch)
        elif self.fresh:
            longer = 2.0 * after.count if theorem.counting == "last batch" else self.feeds
            self.batch = np.where(released, longer, self.batch)
        return released

    def _check_noises(self, before: Confidence, after: Confidence, released: BoolArray) -> None:
        """Check the numbers of noises: more of them make wider radii, and so another learner."""
        if self.tree:
            expected = np.where(after.count > 0, float(self.round.bit_count()), after.releases)
        elif self.theorem.noise == "none":
            expected = np.zeros_like(after.releases)
        elif self.fresh:
            expected = np.where(released, 1.0, before.releases)
        else:
            raw = self.theorem.start == "raw" and self.round == 0
            expected = before.releases + np.where(released, 0.0 if raw else 1.0, 0.0)
        self.check_noises(after, expected)

    def _take_releases(self, before: Confidence, after: Confidence, whole: BoolArray) -> None:
        """Compare released numbers with the true sums, where their outcomes are known."""
        sums, start = _totals(after), self.round == 0
        if self.tree:  # one node holds all rounds so far, with a noise of its own
            whole = whole & (self.round & (self.round - 1) == 0)
        elif not self.fresh:
            sums = sums - _totals(before)
        if self.theorem.noise == "none" or (start and self.theorem.start == "raw"):
            self.refuse_arm(
                "noise",
                whole & (np.abs(sums - self.open) > 1e-6 * (1 + np.abs(_totals(after)))),
                lambda lane, arm: (
                    f"outcomes that sum to {self.open[lane, arm]:g} enter as {sums[lane, arm]:.6g}, and there is no "
                    "noise"
                ),
            )
        else:
            self._take(sums[whole], self.open[whole], self.filled[whole], whole)

    def _check_index(self, before: Confidence, after: Confidence, levelled: BoolArray) -> None:
        """Check the indices that are to be computed, and those that have moved, against the theorem's interval."""
        index = after.index
        moves = index != before.index
        here = (levelled | moves) & (after.count > 0)
        start = -np.inf if self.theorem.index == "unclipped" else 1.0
        self.refuse_arm(
            "radius",
            (after.count == 0) & ~(index >= (np.inf if start < 0 else start)),
            lambda lane, arm: f"index {index[lane, arm]:.6g} of an arm without a release",
        )
        if not here.any():
            return
        least, most = (scatter_masked(each, here) for each in self.interval(after, here))
        slack = HAIR * (1 + np.abs(most))
        below = here & (index < least - slack)
        if not self._in_expectation and self.theorem.exponent is None:  # all so far hold together
            below &= index < self.lowest
        above = here & (index > most + slack)
        self.lowest = np.where(here & ~above, np.minimum(self.lowest, index), self.lowest)
        self.moved = np.where(moves | (here & ~above), after.count, self.moved)
        wide = self.radius(after.count, after.releases, 4.0 * self.exponent + 4.0) if above.any() else 0.0
        stuck = above & ~moves & stale(after.count, self.moved)
        stuck &= (index < 1) | (after.estimate + wide < 1)

        def describe(lane: int, arm: int) -> str:
            return (
                f"index {index[lane, arm]:.6g} where estimate {after.estimate[lane, arm]:.6g} of "
                f"{after.count[lane, arm]:g} values makes from {least[lane, arm]:.6g} to {most[lane, arm]:.6g}"
            )

        self.refuse_arm("radius", below, describe)
        self.refuse_arm(
            "radius",
            stuck,
            lambda lane, arm: (
                f"{describe(lane, arm)}: too large and the same since there were {self.moved[lane, arm]:g}"
            ),
        )
        self.note_difference("radius", above, describe)

    def interval(self, after: Confidence, here: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the least valid index of the arms in a mask, and the largest that the proof allows."""
        count, noises, mean = after.count[here], after.releases[here], after.estimate[here]
        if self.theorem.index == "level-free":
            clock = np.broadcast_to(self.clock, here.shape)[here]
            chance = 0.5 + (mean - 0.5) / self.gain  # of a bit
            least = level_free_upper(count, noises, count * chance, clock, noise=self.tail)
            least = np.clip(0.5 + (least - 0.5) * self.gain, 0.0, 1.0)
            level = unsharpened(np.log(np.maximum(clock / count, 1.0)))
            most = np.clip(mean + self.radius(count, noises, level), 0.0, 1.0)
        else:
            most = mean + self.radius(count, noises, self.exponent)
            if self.theorem.index != "unclipped":
                most = np.clip(most, 0.0, 1.0)
            least = np.minimum(most, 1.0)  # no mean is above
        self.clipped &= bool((most == 1.0).all())
        return least, np.maximum(most, 0.0)

    def _take(self, released: FloatArray, sums: FloatArray, sizes: FloatArray, due: BoolArray) -> None:
        """Hand the noise of releases to its test; of debiased bits there is a whole number of ones.

        Of the bits of one message, which are flipped together, the test is given one.
        """
        if isinstance(self.noise, AdditiveNoise):
            self.noise.add(released - sums)
            return
        if self.theorem.counting == "every value":
            sizes = np.ones_like(sizes)
        ones = (released - 0.5 * sizes) / self.gain + 0.5 * sizes
        nearest = np.round(ones)
        off = (np.abs(ones - nearest) > 1e-5 * sizes) | (nearest < 0) | (nearest > sizes)
        values = scatter_masked(ones, due)
        self.refuse_arm(
            "noise",
            scatter_masked(off, due),
            lambda lane, arm: (
                f"the released sum of its bits is that of {values[lane, arm]:.6g} ones if they are randomized as the "
                "theorem says, and a number of ones is whole"
            ),
        )
        first = (np.cumsum(due, axis=1) == 1)[due]
        certain = sums == np.round(sums)  # of a value in between, either bit may be true
        single = first & certain & (sizes == 1)
        self.noise.add((nearest != sums)[single], sums[single])
        several = first & certain & (sizes > 1)
        self.noise.add_sums(nearest[several], sums[several], sizes[several])

    def _note_event(self, after: Confidence, levelled: BoolArray) -> None:
        """Note which lanes leave the good event, where indices are new."""
        off = after.estimate - self.problem.means
        radius = self.radius(after.count, after.releases, self.exponent) * (1 + TOLERANCE)
        below = off < -radius
        if self._in_expectation:  # the cost of indices below means is in the bound
            below &= False
        self.failed |= (levelled & (below | (off > radius))).any(axis=1)

    def _note(self, after: Confidence, due: BoolArray) -> None:
        """Note how far estimates are off at dyadic counts."""
        if self.theorem.sides is None:
            return
        here = due
        if self.theorem.counting != "growing batches":
            here = due & (np.log2(np.maximum(after.count, 1.0)) % 1.0 == 0)
        self.note_off(after, here)

    def _allowance(self, radius: FloatArray, action: IntArray) -> FloatArray:
        """Return the largest gap that an action may have on the good event."""
        structure, played = self.problem.structure, gather(radius, action)
        assert not isinstance(structure, RankedLists)
        if self.theorem.lemma == "B_inf":
            most: FloatArray = 2 * structure.smoothness_linf * played.max(axis=1)
        elif self.theorem.lemma == "B_1":
            most = 2 * structure.smoothness_l1 * played.sum(axis=1)
        else:
            most = 2 * np.where(np.isin(action, self.best), 0.0, played).sum(axis=1)
        return most

    def _shortfall(self, shown: Confidence, action: IntArray) -> FloatArray:
        """Return the sum by which indices below the means of arms of the best super arm add to the gap of an action."""
        off = np.maximum(self.problem.means - np.maximum(shown.index, 0.0), 0.0)[:, self.best]
        if self.theorem.lemma == "exchange":
            played = (action[:, :, np.newaxis] == self.best).any(axis=1)
            return np.asarray(np.where(played, 0.0, off).sum(axis=1))
        return np.asarray(self.problem.structure.smoothness_linf * off.max(axis=1))


def _is_unchanged(before: Confidence, after: Confidence) -> bool:
    """Return True if a learner shows the same as before."""
    return all(
        np.array_equal(getattr(before, name), getattr(after, name))
        for name in ("count", "index", "estimate", "releases")
    )


def _totals(shown: Confidence) -> FloatArray:
    """Return the sums of the values that are in the estimates."""
    return np.asarray(shown.count * np.where(shown.count > 0, shown.estimate, 0.0))
