"""Checks of the assumptions of regret proofs for learners on means, on a running one.

The learner shows its estimates, counts and indices (`algorithms.learner.ExplainedLearner`); the data it is fed are
drawn here, so all that it shows can be computed again. In the order of the proof:

- *bookkeeping*: counts are those of the outcomes fed, and estimates change with releases only;
- *radius*: the index is the theorem's, of these estimates;
- *oracle*: the action is an answer of the oracle to the index;
- *noise*: a release without its data has the law that the radius assumes;
- *estimates*: for each arm, count and level, no more lanes are off by the radius of that level than it states;
- *good event*: no more lanes leave it than the proof allots;
- *gap lemma* and *path*: on the good event the gap of a bad action, and the regret of a lane, are within their bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from accountant import Gate
from algorithms.lanes import gather, lookup
from algorithms.learner import Confidence, ExplainedLearner
from algorithms.problems import Cascade, DisjointPaths, Matroid, RankedLists, SemiBandit, TopK
from algorithms.theory.confidence_theorem import ConfidenceTheorem, x
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.parameters import ParameterError
from verify.regret_claims.chernoff_search import search_exponent
from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth
from verify.regret_claims.proof_run import (
    TOLERANCE,
    ProofCheck,
    StructuredRun,
    good_event_failure,
    rounded,
    scatter_masked,
)

BuildExplained = Callable[[Gate], ExplainedLearner]
_CHERNOFF_TOLERANCE = 1e-6
_GAP = ("gap lemma",)


class MeanRun(StructuredRun[Confidence]):
    """The checked state of a learner on means, up to the current round.

    Attributes
    ----------
    feeds, total, open
        Number of outcomes of each arm that were fed, their sum, and the sum of those that wait for a release (those of
        a tree always wait); shape (lanes, arms).

    Raises
    ------
    ParameterError
        If the theorem has no `confidence`, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int) -> None:
        theorem, problem = bound.confidence, instance.problem
        if not isinstance(theorem, ConfidenceTheorem):
            raise ParameterError("bound: its theorem says nothing of the learner's estimates")
        if theorem.feeds == "examined":
            if not isinstance(problem, Cascade):
                raise ParameterError(f"problem={problem!r}: must be a cascade")
        elif not isinstance(problem, SemiBandit) or not isinstance(
            problem.structure, TopK | Matroid | DisjointPaths
        ):
            raise ParameterError(
                f"problem={problem!r}: must be a semi-bandit with a linear reward, on sets, a matroid or disjoint "
                "paths"
            )
        failure = None if theorem.failure is None else good_event_failure(theorem.failure, bound, instance)
        super().__init__(bound, instance, lanes, failure)
        values = bound.values(instance)
        self.theorem: ConfidenceTheorem = theorem
        self.problem: SemiBandit | Cascade = problem
        self._set_levels()
        self.first = max(1, math.ceil(bound.value_of(theorem.first, instance)))
        self.few = int(bound.value_of(theorem.few, instance))
        self.radius = theorem.radius_on(values, bound.definitions)
        self.scale = bound.value_of(theorem.scale, instance)
        self.best = problem.structure.solve(problem.means[np.newaxis])[0]
        shape = (lanes, problem.structure.arms)
        self.least = float(problem.means[self.best].min())
        self.feeds: FloatArray = np.zeros(shape)
        self.total: FloatArray = np.zeros(shape)
        self.open: FloatArray = np.zeros(shape)
        self.fed: IntArray = np.zeros((lanes, 0), dtype=np.int64)
        self.noise: RandomizedTruth | AdditiveNoise = (
            RandomizedTruth((1.0 - 1.0 / self.scale) / 2.0)
            if theorem.noise == "bit"
            else AdditiveNoise("Laplace" if theorem.noise == "none" else theorem.noise, self.scale)
        )
        self.clipped = theorem.index in ("clipped", "level-free", "mixture")

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        theorem = self.theorem
        return self.all_checks(
            error,
            (1.0, "by the theorem: none")
            if theorem.noise == "none"
            else (self.noise.p, self.noise.description),
            theorem.sides,
            lemmas=_GAP
            if self.in_expectation
            else {"evidence": _GAP, "episode": _GAP}.get(theorem.lemma, (*_GAP, "path")),
            radius="all indices were 1: radii are too large to be seen" if self.clipped else "",
        )

    @property
    def in_expectation(self) -> bool:
        """True if the bound adds up the costs of rare events: then a single lane may exceed it."""
        return self.theorem.index == "level-free"

    def check_end(self) -> None:
        """Check the regret of lanes on the good event, unless the bound is one in expectation."""
        if not self.in_expectation:
            super().check_end()

    def _set_levels(self) -> None:
        """Set the exponents of the radii, and of the indices if they have others."""
        there = self.level_instance
        defined = any(symbol == x for symbol, _ in self.bound.definitions)
        self.exponent = self.bound.value_of(x, there) if defined else 1.0
        level = self.theorem.index_level
        self.index_exponent = None if level is None else self.bound.value_of(level, there)

    def state(self, learner: ExplainedLearner) -> Confidence:
        """Return the estimates, counts and indices."""
        return learner.confidence().copy()

    def check_start(self, state: Confidence, outcomes: FloatArray) -> None:
        """Take a learner's first values: they count like any others."""
        self.feeds += 1.0
        self.total += outcomes
        everywhere = np.ones(self.feeds.shape, dtype=bool)
        self._counted(state, everywhere)
        if self.theorem.start == "raw":
            self._no_noise(state.estimate, outcomes, everywhere)
        else:
            self._take((state.estimate - outcomes)[everywhere], np.zeros(everywhere.size), everywhere)

    def check_action(self, shown: Confidence, learner: ExplainedLearner, action: IntArray) -> None:
        """Check an action against the index, and its gap against the radii."""
        self.round += 1
        if self.theorem.exponent is not None:
            self._enter_round(shown)
        self._check_oracle(shown, action)
        self.fed = self._fed_by(learner, shown, action)
        gap = self.problem.benchmark - self.problem.expected_reward(action)
        self.regret += np.where(self.failed, 0.0, gap)
        self._check_gaps(shown, action, gap)

    def _check_oracle(self, shown: Confidence, action: IntArray) -> None:
        """Check that an action is an answer of the oracle to the indices."""
        index = np.minimum(shown.index, 1e9)
        best = self.problem.structure.solve(index)
        missing = gather(index, best).sum(axis=1) - gather(index, action).sum(axis=1)
        self.refuse(
            "oracle",
            missing > TOLERANCE * (1 + np.abs(index).sum(axis=1)),
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
        if self.in_expectation:
            allowed = allowed + self._shortfall(shown, action)[:, np.newaxis]
        over = (gaps > 1e-12) & (gaps > allowed * (1 + TOLERANCE))
        self.refuse(
            "gap lemma",
            ~self.failed & over.any(axis=1),
            lambda lane: (
                f"action {action[lane].tolist()} has a gap of {gaps[lane][over[lane]][0]:.6g}, more than the "
                f"{allowed[lane][over[lane]][0]:.6g} that radii allow on the good event"
            ),
        )

    def _fed_by(self, learner: ExplainedLearner, shown: Confidence, action: IntArray) -> IntArray:
        """Return whose outcomes a round takes in, once that is checked; of lists, all that may be examined."""
        if self.theorem.feeds != "least":
            return action
        fed: IntArray = learner.fed_arms  # type: ignore[attr-defined]
        least = np.sort(np.where(action >= 0, gather(shown.count, action), np.inf), axis=1)[:, : self.few]
        played = (action[:, :, np.newaxis] == fed[:, np.newaxis]) & (action >= 0)[:, :, np.newaxis]
        wrong = played.any(axis=2).sum(axis=1) != self.few
        if fed.shape[1] == self.few:
            wrong |= (np.sort(gather(shown.count, fed), axis=1) != least).any(axis=1)
        self.refuse(
            "bookkeeping",
            wrong,
            lambda lane: (
                f"action {action[lane].tolist()} feeds {fed[lane].tolist()}: not the {self.few} that were played of "
                f"least count; counts {rounded(shown.count[lane])}"
            ),
        )
        return fed

    def _enter_round(self, shown: Confidence) -> None:
        """Set the round's exponent; check all indices, which it moves, and who is on the round's good event."""
        now = float(self.round)
        assert self.theorem.exponent is not None
        self.exponent = self.bound.value_of(self.theorem.exponent, self.instance, t=now)
        everywhere = np.ones(self.feeds.shape, dtype=bool)
        self._check_index(shown, shown, everywhere)
        off = np.abs(shown.estimate - self.problem.means)
        radius = self.radius(shown.count, shown.releases, self.exponent) * (1 + TOLERANCE)
        self.note_failures(
            np.any((shown.count > 0) & (off > radius), axis=1),
            self.bound.value_of(self.theorem.failure, self.instance, t=now),
        )

    def check_feedback(
        self, before: Confidence, after: Confidence, action: IntArray, feedback: FloatArray
    ) -> None:
        """Check counts, estimates and indices after the feedback, and record the random quantities."""
        lanes, fed = np.arange(len(action))[:, np.newaxis], self.fed
        place = (action[:, np.newaxis, :] == fed[:, :, np.newaxis]).argmax(axis=2)
        here = fed >= 0
        if self.theorem.feeds == "examined":
            here &= np.cumsum(feedback, axis=1) - feedback == 0
        rows, arms = np.broadcast_to(lanes, fed.shape)[here], fed[here]
        had = self.theorem.count(self.feeds, self.first)
        self.feeds[rows, arms] += 1.0
        outcomes = np.take_along_axis(feedback, place, axis=1)[here]
        self.total[rows, arms] += outcomes
        self.open[rows, arms] += outcomes
        count = self.theorem.count(self.feeds, self.first)
        releases = self.theorem.releases(self.feeds, self.round, self.first)
        due = self._released(had, count)
        self._counted(after, count > 0)
        moved = np.abs(after.estimate - before.estimate) > TOLERANCE * (1 + np.abs(before.estimate))
        self.refuse_moves(
            "bookkeeping", "estimate", ~due & (had > 0) & moved, before.estimate, after.estimate
        )
        levelled = due
        if self.epoch_ends:
            self._set_levels()
            levelled = count > 0
        if self.theorem.exponent is None:
            self._check_index(before, after, levelled)
        self._take_releases(before, after, had, due)
        if self.theorem.exponent is None and self.failure is not None:
            self._note_event(after, count, releases, levelled)
        self._note(after, count, releases, due)

    def _released(self, had: FloatArray, count: FloatArray) -> BoolArray:
        """Return which arms' estimates are new after a round, from how many values were in them and now are."""
        return np.asarray(count != had)

    def _counted(self, state: Confidence, here: BoolArray) -> None:
        """Check the counts of values and noises."""
        count = self.theorem.count(self.feeds, self.first)
        releases = self.theorem.releases(self.feeds, self.round, self.first)
        self.refuse_arm(
            "bookkeeping",
            state.count != count,
            lambda lane, arm: (
                f"{state.count[lane, arm]:g} values are counted where {self.feeds[lane, arm]:g} feeds make "
                f"{count[lane, arm]:g}"
            ),
        )
        self.refuse_counts("noises", here & (state.releases != releases), state.releases, releases)

    def _take_releases(self, before: Confidence, after: Confidence, had: FloatArray, due: BoolArray) -> None:
        """Compare what was released with the true sums."""
        count = after.count
        released = count * np.where(count > 0, after.estimate, 0.0)
        if self.theorem.counting == "tree":
            if (
                self.round & (self.round - 1) == 0
            ):  # one node holds all rounds so far, with a noise of its own
                self._take(released[due], self.open[due], due)
            return
        if self.theorem.counting not in ("last batch", "doubling episodes"):
            released = released - had * np.where(had > 0, before.estimate, 0.0)
        if self.theorem.noise == "none":
            self._no_noise(released, self.open, due)
        else:
            self._take(released[due], self.open[due], due)
        self.open[due] = 0.0

    def _no_noise(self, released: FloatArray, sums: FloatArray, here: BoolArray) -> None:
        """Check that outcomes are averaged as they are."""
        self.refuse_arm(
            "noise",
            here & (np.abs(released - sums) > 1e-6),
            lambda lane, arm: (
                f"outcomes that sum to {sums[lane, arm]:g} enter as {released[lane, arm]:.6g}, and there is no noise"
            ),
        )

    def _check_index(self, before: Confidence, after: Confidence, due: BoolArray) -> None:
        """Check the indices of what was released against the theorem's, and that no other has moved."""
        if self.in_expectation:
            due = (after.count > 0) & due.any(axis=1, keepdims=True)
            self.refuse_arm(
                "radius",
                (after.count == 0) & (after.index < 1),
                lambda lane, arm: f"index {after.index[lane, arm]:.6g} of an arm without a release",
            )
        self.refuse_moves("radius", "index", ~due & (after.index != before.index), before.index, after.index)
        count, estimate, index = after.count[due], after.estimate[due], after.index[due]
        level = self.exponent if self.index_exponent is None else self.index_exponent
        exponent = _neglect(self.round / count) if self.in_expectation else np.full(count.shape, level)
        mixture = self.theorem.index == "mixture"
        radius = self.radius(count, after.releases[due], self.exponent if mixture else exponent)
        expected = estimate + radius
        if self.theorem.index != "unclipped":
            expected = np.clip(expected, 0.0, 1.0)
            self.clipped &= bool((expected == 1.0).all())
        off, slack = index - expected, TOLERANCE * (1 + np.abs(expected))
        wrong = ~(np.abs(off) <= slack)
        lower = self.theorem.index in ("level-free", "mixture")  # is an index that is valid
        if lower:
            lowered = off < -slack
            releases = after.releases[due][lowered]
            wrong[lowered] = self._invalid(
                count[lowered], releases, estimate[lowered], index[lowered], exponent[lowered]
            )
        numbers = scatter_masked(np.stack([radius, expected], axis=1), due)
        self.refuse_arm(
            "radius",
            scatter_masked(wrong, due),
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} where estimate {after.estimate[lane, arm]:.6g} and radius "
                f"{numbers[lane, arm, 0]:.6g} of {after.count[lane, arm]:g} values make {numbers[lane, arm, 1]:.6g}"
                + (" at most, and the theorem's inequality less" if lower else "")
            ),
        )

    def _invalid(
        self, n: FloatArray, m: FloatArray, mean: FloatArray, u: FloatArray, exponent: FloatArray
    ) -> BoolArray:
        """Where the theorem's inequality does not allow for an index of u."""
        if self.theorem.index == "mixture":
            found = self._mixture_exponent(n, mean, u)
        else:
            found = self.chernoff_exponent(n, m, mean, u)
        return found < exponent * (1 - _CHERNOFF_TOLERANCE)

    def chernoff_exponent(self, n: FloatArray, m: FloatArray, mean: FloatArray, u: FloatArray) -> FloatArray:
        """Return with which exponent Chernoff's inequality rejects a mean of u."""
        return search_exponent(n, m, mean, u, scale=self.scale, laplace=self.theorem.noise == "Laplace")

    def _mixture_exponent(self, n: FloatArray, mean: FloatArray, u: FloatArray) -> FloatArray:
        """Return the log-likelihood of the bits under the Beta(1/2, 1/2) mixture over that at the index u."""
        gain = self.scale
        ones = np.clip(np.round(n * (0.5 + (mean - 0.5) / gain)), 0.0, n)
        chance = np.clip(0.5 + (u - 0.5) / gain, 1e-300, 1.0)
        mixture = special.betaln(ones + 0.5, n - ones + 0.5) - special.betaln(0.5, 0.5)
        found: FloatArray = mixture - special.xlogy(ones, chance) - special.xlogy(n - ones, 1.0 - chance)
        return found

    def _take(self, released: FloatArray, sums: FloatArray, due: BoolArray) -> None:
        """Hand the noise of releases to its test; a debiased bit has one of two values.

        Of the bits of one message, which are flipped together, the test is given one.
        """
        if isinstance(self.noise, AdditiveNoise):
            self.noise.add(released - sums)
            return
        gain = self.scale
        bits = (released - 0.5) / gain + 0.5
        nearest = np.round(bits)
        off = (np.abs(bits - nearest) > 1e-5) | ((nearest != 0) & (nearest != 1))
        values = scatter_masked(released, due)
        self.refuse_arm(
            "noise",
            scatter_masked(off, due),
            lambda lane, arm: (
                f"a debiased bit is {values[lane, arm]:.6g}, not {0.5 - gain / 2:.6g} or {0.5 + gain / 2:.6g}"
            ),
        )
        first = (np.cumsum(due, axis=1) == 1)[due]
        self.noise.add((nearest != sums)[first], sums[first])

    def _note_event(
        self, after: Confidence, count: FloatArray, releases: FloatArray, levelled: BoolArray
    ) -> None:
        """Note which lanes leave the good event, where indices are new."""
        means = self.problem.means
        off = after.estimate - means
        radius = self.radius(count, releases, self.exponent) * (1 + TOLERANCE)
        below = after.index < means - TOLERANCE if self.theorem.index == "mixture" else off < -radius
        if self.in_expectation:  # what indices below means cost is in the bound
            below &= False
        if self.index_exponent is not None:  # and of the best arms only
            below &= np.isin(np.arange(means.size), self.best)
        self.failed |= (levelled & (below | (off > radius))).any(axis=1)

    def _note(self, after: Confidence, count: FloatArray, releases: FloatArray, due: BoolArray) -> None:
        """Note how far estimates are off at dyadic counts."""
        off = after.estimate - self.problem.means
        if self.theorem.sides is None:
            return
        dyadic = due & (np.log2(np.maximum(count, 1.0)) % 1.0 == 0)
        if self.theorem.counting == "growing batches":
            dyadic = due
        self.note_radii(count, dyadic, off, lambda level: self.radius(count, releases, level))

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
        """Return what indices below the means of arms of the best super arm add to the gap of an action."""
        off = np.maximum(self.problem.means - np.maximum(shown.index, 0.0), 0.0)[:, self.best]
        if self.theorem.lemma == "exchange":
            played = (action[:, :, np.newaxis] == self.best).any(axis=1)
            return np.asarray(np.where(played, 0.0, off).sum(axis=1))
        return np.asarray(self.problem.structure.smoothness_linf * off.max(axis=1))


def _neglect(share: FloatArray) -> FloatArray:
    """Return v with ``v + 0.4 ln(1 + 4 pi v) = ln+(tau / n)``, by halving."""
    level = np.log(np.maximum(share, 1.0))
    low, high = np.zeros_like(level), level.copy()
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = middle + 0.4 * np.log1p(4 * np.pi * middle) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(low)
