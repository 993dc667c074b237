"""What the regret proofs of learners on means rest on, read from a running one.

The learner shows its estimates, counts and indices (`algorithms.learner.ExplainedLearner`); the data it is fed are
drawn here, so all that it shows can be computed again. In the order of the proof:

- *bookkeeping*: counts are what the feeds make them, and estimates change with releases only;
- *radius*: the index is the theorem's, of these estimates;
- *oracle*: the action is an answer of the oracle to the index;
- *noise*: what is left of a release without its data has the law that the radius knows;
- *estimates*: for each arm, count and level, no more lanes are off by the radius of that level than it says;
- *good event*: no more lanes leave it than the proof allots;
- *gap lemma* and *path*: on the good event the gap of a bad action, and the regret of a lane, are what they may be.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from accountant import Gate, Simulation
from accountant.gates.random_streams import RandomStream
from algorithms.lanes import gather
from algorithms.learner import Confidence, ExplainedLearner
from algorithms.problems import Matroid, SemiBandit, TopK
from algorithms.theory.confidence_theorem import ConfidenceTheorem, x
from algorithms.theory.regret_bound import Instance, RegretBound, instance_values
from mechanisms import LaneStreams
from mechanisms.arrays import FloatArray, IntArray
from verify.regret_claims.noise_tests import AdditiveNoise, RandomizedTruth
from verify.regret_claims.proof_run import TOLERANCE, BoolArray, Contradiction, ProofCheck, ProofRun, rounded

BuildExplained = Callable[[Gate], ExplainedLearner]
_CHERNOFF_STEPS = 60
_CHERNOFF_TOLERANCE = 1e-6


def check_means(
    build: BuildExplained, bound: RegretBound, instance: Instance, *, lanes: int, seed: int, error: float
) -> tuple[ProofCheck, ...]:
    """Play a learner and check what its regret proof rests on, until the first counterexample.

    Parameters
    ----------
    build
        Makes an `ExplainedLearner` on a gate.
    bound, instance
        The theorem, with its `confidence`, and the instance: a semi-bandit with a linear reward and outcomes in {0, 1}.
    lanes
        Independent runs, a multiple of 64.
    seed
        Of all randomness.
    error
        The probability that a true learner violates anything, at most.

    Raises
    ------
    ValueError
        If the theorem has no `confidence`, or the problem is another.
    """
    theorem, problem = bound.confidence, instance.problem
    if not isinstance(theorem, ConfidenceTheorem):
        raise ValueError("bound: its theorem says nothing of the learner's estimates")
    if not isinstance(problem, SemiBandit) or not isinstance(problem.structure, TopK | Matroid):
        raise ValueError(
            f"problem={problem!r}: must be a semi-bandit with a linear reward, on sets or a matroid"
        )
    gate = Simulation(seed, lanes)
    learner = build(gate)
    run = _Run(bound, theorem, instance, problem, lanes)
    environment = LaneStreams(seed, lanes, 0, key=(RandomStream.ENVIRONMENT,))
    try:
        for record in range(1, instance.horizon + 1):
            before = learner.confidence().copy()
            action = learner.act()
            fed = learner.fed
            run.acted(before, action, fed)
            outcomes = problem.draw_feedback(action, environment)
            learner.observe(gate.private(outcomes, learner.feedback_domain, record))
            run.observed(before, learner.confidence(), action, fed, outcomes)
        run.ended()
    except Contradiction as contradiction:
        return (contradiction.check,)
    return run.tested(error, (run.noise.p, run.noise.words), theorem.sides)


class _Run(ProofRun):
    """What has been seen so far of a learner."""

    def __init__(
        self,
        bound: RegretBound,
        theorem: ConfidenceTheorem,
        instance: Instance,
        problem: SemiBandit,
        lanes: int,
    ) -> None:
        super().__init__(bound, instance, lanes, bound.number(theorem.failure, instance))
        values = instance_values(instance)
        self.theorem, self.problem = theorem, problem
        self.exponent = 1.0 if theorem.sides is None else bound.number(x, instance)
        self.radius = theorem.radius_on(values, bound.definitions)
        self.scale = bound.number(theorem.scale, instance)
        self.best = problem.structure.solve(problem.means[np.newaxis])[0]
        shape = (lanes, problem.structure.arms)
        self.feeds: FloatArray = np.zeros(shape)
        self.open: FloatArray = np.zeros(shape)  # true sums since the last release
        chance = 1.0 / (1.0 + np.exp(instance.epsilon))
        self.noise = (
            RandomizedTruth(chance) if theorem.noise == "bit" else AdditiveNoise(theorem.noise, self.scale)
        )

    def acted(self, shown: Confidence, action: IntArray, fed: IntArray) -> None:
        """Check an action against the index, and its gap against the radii."""
        self.round += 1
        structure = self.problem.structure
        index = np.minimum(shown.index, 1e9)
        best = structure.solve(index)
        missing = gather(index, best).sum(axis=1) - gather(index, action).sum(axis=1)
        self.refuse(
            "oracle",
            missing > TOLERANCE * (1 + np.abs(index).sum(axis=1)),
            lambda lane: (
                f"action {action[lane].tolist()} where the oracle answers {best[lane].tolist()} to the indices "
                f"{rounded(shown.index[lane])}"
            ),
        )
        if self.theorem.feeds == "all":
            wrong = (np.sort(fed, axis=1) != np.sort(action, axis=1)).any(axis=1)
        else:
            least = np.where(action >= 0, gather(shown.count, action), np.inf).min(axis=1)
            played = (action == fed[:, :1]).any(axis=1)
            wrong = ~played | (gather(shown.count, fed)[:, 0] > least)
        self.refuse(
            "bookkeeping",
            wrong,
            lambda lane: (
                f"action {action[lane].tolist()} feeds {fed[lane].tolist()}: not {self._fed_rule()}; counts "
                f"{rounded(shown.count[lane])}"
            ),
        )
        gap = self.problem.benchmark - self.problem.expected_reward(action)
        self.regret += gap
        radius = self.radius(shown.count, shown.releases, self.exponent)
        allowed = self._allowance(radius, action)
        self.refuse(
            "gap lemma",
            ~self.failed & (gap > 1e-12) & (gap > allowed * (1 + TOLERANCE)),
            lambda lane: (
                f"action {action[lane].tolist()} has gap {gap[lane]:.6g}, more than the {allowed[lane]:.6g} that "
                "radii allow on the good event"
            ),
        )

    def observed(
        self, before: Confidence, after: Confidence, action: IntArray, fed: IntArray, outcomes: FloatArray
    ) -> None:
        """Check counts, estimates and indices after the feedback, and note what is random."""
        lanes = np.arange(len(action))[:, np.newaxis]
        place = (action[:, np.newaxis, :] == fed[:, :, np.newaxis]).argmax(axis=2)
        here = fed >= 0
        rows, arms = np.broadcast_to(lanes, fed.shape)[here], fed[here]
        had = self.theorem.count(self.feeds)
        self.feeds[rows, arms] += 1.0
        self.open[rows, arms] += np.take_along_axis(outcomes, place, axis=1)[here]
        count, releases = self.theorem.count(self.feeds), self.theorem.releases(self.feeds)
        due = count != had
        self.refuse_arm(
            "bookkeeping",
            after.count != count,
            lambda lane, arm: (
                f"{after.count[lane, arm]:g} values are counted where {self.feeds[lane, arm]:g} feeds make "
                f"{count[lane, arm]:g}"
            ),
        )
        self.refuse_arm(
            "bookkeeping",
            (count > 0) & (after.releases != releases),
            lambda lane, arm: (
                f"{after.releases[lane, arm]:g} noises are counted where there are {releases[lane, arm]:g}"
            ),
        )
        moved = np.abs(after.estimate - before.estimate) > TOLERANCE * (1 + np.abs(before.estimate))
        self.refuse_arm(
            "bookkeeping",
            ~due & (had > 0) & moved,
            lambda lane, arm: (
                f"the estimate went from {before.estimate[lane, arm]:.6g} to {after.estimate[lane, arm]:.6g} "
                "without a release"
            ),
        )
        self._check_index(before, after, due)
        released = count * np.where(count > 0, after.estimate, 0.0)
        if self.theorem.counting != "last batch":
            released = released - had * np.where(had > 0, before.estimate, 0.0)
        self._take(released[due], self.open[due], due)
        self.open[due] = 0.0
        self._note(after, count, releases, due)

    def _check_index(self, before: Confidence, after: Confidence, due: BoolArray) -> None:
        """Check the indices of what was released against the theorem's, and that no other has moved."""
        self.refuse_arm(
            "radius",
            ~due & (after.index != before.index),
            lambda lane, arm: (
                f"the index went from {before.index[lane, arm]:.6g} to {after.index[lane, arm]:.6g} without a release"
            ),
        )
        count, estimate, index = after.count[due], after.estimate[due], after.index[due]
        radius = self.radius(count, after.releases[due], self.exponent)
        expected = estimate + radius
        if self.theorem.index != "unclipped":
            expected = np.clip(expected, 0.0, 1.0)
        off, slack = index - expected, TOLERANCE * (1 + np.abs(expected))
        wrong = ~(np.abs(off) <= slack)
        if self.theorem.index == "Chernoff":
            lowered = off < -slack
            wrong &= ~lowered
            noises = after.releases[due][lowered]
            found = self._chernoff_exponent(count[lowered], noises, estimate[lowered], index[lowered])
            wrong[lowered] = found < self.exponent * (1 - _CHERNOFF_TOLERANCE)
        where = np.zeros_like(due)
        where[due] = wrong
        numbers = np.zeros((*due.shape, 2))
        numbers[due] = np.stack([radius, expected], axis=1)
        self.refuse_arm(
            "radius",
            where,
            lambda lane, arm: (
                f"index {after.index[lane, arm]:.6g} where estimate {after.estimate[lane, arm]:.6g} and radius "
                f"{numbers[lane, arm, 0]:.6g} of {after.count[lane, arm]:g} values make {numbers[lane, arm, 1]:.6g}"
                + (" at most, and Chernoff's inequality less" if self.theorem.index == "Chernoff" else "")
            ),
        )

    def _chernoff_exponent(self, n: FloatArray, m: FloatArray, mean: FloatArray, u: FloatArray) -> FloatArray:
        """Return ``sup_s -s y - n ln(1 - u + u e^-s) - j k(s)`` at the index u: concave, so by golden section."""
        y = n * mean
        laplace = self.theorem.noise == "Laplace"

        def value(s: FloatArray) -> FloatArray:
            moment = -np.log1p(-((self.scale * s) ** 2)) if laplace else (self.scale * s) ** 2 / 2
            found: FloatArray = -s * y - n * np.log1p(-u + u * np.exp(-s)) - m * moment
            return found

        shrink = (np.sqrt(5.0) - 1) / 2
        low, high = np.zeros_like(u), np.full_like(u, (1 - 1e-9) / self.scale if laplace else 600.0)
        with np.errstate(divide="ignore"):
            for _ in range(_CHERNOFF_STEPS):
                width = shrink * (high - low)
                better = value(low + width) > value(high - width)
                low, high = np.where(better, high - width, low), np.where(better, high, low + width)
            return value(0.5 * (low + high))

    def _take(self, released: FloatArray, sums: FloatArray, due: BoolArray) -> None:
        """Hand the noise of releases to its test; a debiased bit has one of two values."""
        if isinstance(self.noise, AdditiveNoise):
            self.noise.add(released - sums)
            return
        gain = 1.0 / np.tanh(self.instance.epsilon / 2)
        bits = (released - 0.5) / gain + 0.5
        nearest = np.round(bits)
        off = (np.abs(bits - nearest) > 1e-5) | ((nearest != 0) & (nearest != 1))
        if off.any():
            wrong = np.zeros_like(due)
            wrong[due] = off
            values = np.zeros(due.shape)
            values[due] = released
            self.refuse_arm(
                "noise",
                wrong,
                lambda lane, arm: (
                    f"a debiased bit is {values[lane, arm]:.6g}, not {0.5 - gain / 2:.6g} or {0.5 + gain / 2:.6g}"
                ),
            )
        self.noise.add(nearest != sums, sums)

    def _note(self, after: Confidence, count: FloatArray, releases: FloatArray, due: BoolArray) -> None:
        """Note which lanes leave the good event, and how far estimates are off at dyadic counts."""
        means = self.problem.means
        off = after.estimate - means
        radius = self.radius(count, releases, self.exponent) * (1 + TOLERANCE)
        below = after.index < means - TOLERANCE if self.theorem.index == "Chernoff" else off < -radius
        self.failed |= (due & (below | (off > radius))).any(axis=1)
        if self.theorem.sides is None:
            return
        batches = self.theorem.counting == "accumulated batches"
        dyadic = due & (np.log2(np.maximum(count + batches, 1.0)) % 1.0 == 0)

        def far(level: float) -> tuple[BoolArray, BoolArray]:
            radius = self.radius(count, releases, level)
            return off < -radius, off > radius

        self.note_levels(count, dyadic, far)

    def _allowance(self, radius: FloatArray, action: IntArray) -> FloatArray:
        """Return the largest gap that an action may have on the good event."""
        structure, played = self.problem.structure, gather(radius, action)
        if self.theorem.lemma == "B_inf":
            most: FloatArray = 2 * structure.smoothness_linf * played.max(axis=1)
        elif self.theorem.lemma == "B_1":
            most = 2 * structure.smoothness_l1 * played.sum(axis=1)
        else:
            most = 2 * np.where(np.isin(action, self.best), 0.0, played).sum(axis=1)
        return most

    def _fed_rule(self) -> str:
        return (
            "all that were played" if self.theorem.feeds == "all" else "one that was played, of least count"
        )
