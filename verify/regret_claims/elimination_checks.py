"""Checks of the assumptions of regret proofs for successive elimination, on a running learner.

The learner shows its means, counts and which arms are left (`algorithms.learner.ExplainedLearner`: the index of another
is -infinity); the data it is fed are drawn here. In the order of the proof:

- *bookkeeping*: counts are those of the theorem's batches, and means and arms change at releases only;
- *radius*: arms are removed where the theorem's inequality requires it, computed again, and no others;
- *oracle*: the arm played is left and not yet played so often in this phase; in the end the last one;
- *noise*, *estimates*: their laws, as for learners on means;
- *good event*: the best arm is left, and where the theorem states it all means are within their radii, as often as it
  states;
- *gap lemma*: an arm left after a phase is worse than the best arm by no more than the radii and the errors of the two
  means; on the good event by no more than the theorem states;
- *path*: so is a lane's regret, where the theorem is about it.
"""

from __future__ import annotations

import numpy as np

from algorithms.estimates.chernoff import SHORTFALL, NoiseTail, chernoff_separation
from algorithms.lanes import gather
from algorithms.learner import Confidence, ExplainedLearner
from algorithms.problems import Arms, SemiBandit
from algorithms.theory.confidence_theorem import EliminationTheorem, radius_on
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError
from verify.regret_claims.noise_tests import AdditiveNoise
from verify.regret_claims.proof_run import (
    HAIR,
    TOLERANCE,
    BatchedRun,
    good_event_failure,
    rounded,
    scatter_masked,
    theorem_of,
)
from verify.regret_claims.regret_report import ProofCheck

_CLOSE = 1e-5  # relative: so little below equality an arm may be removed
_UNSURE = 1e-3  # and so little above it left, where a learner's search ends early
_APART = 2.0  # an arm that is so many times as far apart as is needed, and left, is never removed


class EliminationRun(BatchedRun):
    """The checked state of a learner by elimination, up to the current round.

    Attributes
    ----------
    left
        True for the arms that are left, as the learner shows them; shape (lanes, arms).
    phase
        The phase of each lane, from 1; shape (lanes, 1).
    filled, open
        Number of outcomes of an arm in its open batch, and their sum.
    count
        Number of values in the mean of an arm.

    Raises
    ------
    ParameterError
        If the theorem has no such `confidence`, or the problem is another.
    """

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, *, laws: bool = True) -> None:
        theorem, problem = theorem_of(bound, EliminationTheorem, "elimination"), instance.problem
        structure = getattr(problem, "structure", None)
        if not isinstance(structure, Arms) or (laws and not isinstance(problem, SemiBandit)):
            raise ParameterError(f"problem = {problem!r}: must be arms")
        self.laws = laws
        failure = good_event_failure(theorem.failure, bound, instance)
        super().__init__(bound, instance, lanes, failure, structure.arms)
        self.theorem, self.fresh = theorem, theorem.fresh
        self.problem: SemiBandit = problem  # type: ignore[assignment]
        self.radius = radius_on(theorem.radius, bound.values(instance), bound.definitions)
        self.scale = bound.value_of(theorem.scale, instance)
        self.noise = AdditiveNoise(theorem.noise, self.scale)
        self.tail = NoiseTail(2 * self.scale**2, self.scale)
        self.best = int(self.problem.means.argmax()) if laws else 0
        shape = (lanes, structure.arms)
        self.left: BoolArray = np.ones(shape, dtype=bool)
        self.phase: FloatArray = np.ones((lanes, 1))
        self.done: BoolArray = np.zeros(shape, dtype=bool)  # released in this phase
        self.count: FloatArray = np.zeros(shape)
        self.batch: FloatArray = np.zeros(shape)  # not rounded
        self._begin_phase(np.ones((lanes, 1), dtype=bool))

    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks once all rounds are played."""
        phases, removed = self.phase - 1, (~self.left).sum()
        seen = (
            f"exact in {counted_noun(self.round, 'round')}, in which {phases.min():g} to {phases.max():g} phases of "
            f"each run ended and {removed:,} arms were removed"
        )
        noise = self.noise.p, self.noise.description
        return self.all_checks(error, noise, self.theorem.sides, radius=seen)

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The statements that are held against every lane on the good event."""
        return ("gap lemma",) if self.theorem.largest is None else super().lemmas

    def _begin_phase(self, lanes: BoolArray) -> None:
        """Set how many values each arm's batch of the phase has in some lanes, and their x."""
        arms = self.left.sum(axis=1, keepdims=True)
        self.level = self._each(self.theorem.level, l=self.phase, m=arms)
        phase, left, count = np.broadcast_arrays(self.phase, arms, self.count)
        batch = self._each(self.theorem.batch, l=phase, m=left, n=count)
        self.batch = np.where(lanes, batch, self.batch)

    def check_action(self, shown: Confidence, learner: ExplainedLearner, action: IntArray) -> None:
        """Check that an arm that is played is left, and is to be played."""
        self.round += 1
        waits = self.filled < self.batch
        if self.difference is not None:  # batches may be longer
            waits = waits | ~self.done
        playable = self.left & (waits | self._decided)
        self.refuse(
            "oracle",
            ~gather(playable, action)[:, 0],
            lambda lane: (
                f"arm {action[lane, 0]} is played in phase {self.phase[lane, 0]:g}, where "
                f"{np.flatnonzero(self.left[lane])} are left and {np.flatnonzero(playable[lane])} are to be played"
            ),
        )
        if self.laws:
            gap = self.problem.benchmark - self.problem.expected_reward(action)
            self.regret += np.where(self.failed, 0.0, gap)

    @property
    def _decided(self) -> BoolArray:
        """True in the lanes in which one arm is left; shape (lanes, 1)."""
        return np.asarray(self.left.sum(axis=1, keepdims=True) == 1)

    def check_feedback(
        self, before: Confidence, after: Confidence, action: IntArray, feedback: FloatArray, held: int
    ) -> None:
        """Check counts and means after the feedback, and the removals at the end of a phase."""
        fed = (np.arange(self.left.shape[1]) == action) & ~self._decided
        self.filled += held * fed
        self.feeds += held * fed
        self.open += np.where(fed, feedback, 0.0)
        full = self.left & (self.filled >= self.batch)
        if self.fresh:
            full &= (full == self.left).all(axis=1, keepdims=True)
        released = self._check_releases(before, after, full & ~self.done & ~self._decided)
        self.done |= released
        over = (self.done | ~self.left).all(axis=1, keepdims=True) & ~self._decided
        if over.any():
            self._end_phase(after, over)
        self.refuse_arm(
            "bookkeeping",
            self.left != (after.index > -np.inf),
            lambda lane, arm: (
                f"the arm is {'removed' if self.left[lane, arm] else 'there again'} within phase "
                f"{self.phase[lane, 0]:g}"
            ),
        )

    def _check_releases(self, before: Confidence, after: Confidence, due: BoolArray) -> BoolArray:
        """Check counts of values and noises, and the means, after a round; return the arms with a release."""
        released: BoolArray = (after.count != before.count) | (due & (after.estimate != before.estimate))
        whole = self.check_counts(before, after, released, due)
        self.check_noises(
            after, np.where(released, 1.0 if self.fresh else before.releases + 1.0, before.releases)
        )
        self.count, self.releases = after.count, after.releases
        if released.any():
            sums = after.count * after.estimate
            if not self.fresh:
                sums = sums - before.count * before.estimate
            self.noise.add((sums - self.open)[whole])
            self.open[released] = 0.0
            if self.laws:
                self.note_off(after, released)
        return released

    def _end_phase(self, after: Confidence, over: BoolArray) -> None:
        """Check the removals, and the indices of the other arms."""
        theorem, level, mean = self.theorem, self.level, after.estimate
        values = (
            np.where(self.count == np.ceil(self.batch), self.batch, self.count) if self.fresh else self.count
        )
        radius = self.radius(values, self.releases, level if theorem.apart == "radii" else level / 2)
        behind = np.where(self.left, mean, -np.inf).max(axis=1, keepdims=True) - mean
        here = self.left & over
        found, most = behind, 2 * radius
        if theorem.apart == "separation":
            most = np.broadcast_to(level, mean.shape)
            others = here & (behind > 0) & (self.count > 0)
            counts = self.count[others], self.releases[others]
            totals = counts[0] * (mean + behind)[others], counts[0] * mean[others]
            found = scatter_masked(chernoff_separation(*counts, *totals, noise=self.tail), others)
        now = after.index > -np.inf

        def describe(lane: int, arm: int) -> str:
            return (
                f"after phase {self.phase[lane, 0]:g} the arm is {'left' if now[lane, arm] else 'removed'}: means are "
                f"{rounded(mean[lane])}, and what sets it apart is {found[lane, arm]:.6g}, where more than "
                f"{most[lane, arm]:.6g} is needed"
            )

        wrong = here & np.where(now, found > _APART * most, found < most * (1 - _CLOSE))
        self.refuse_arm("radius", wrong, describe)
        self.note_difference("radius", here & now & (found > most * (1 + _UNSURE)), describe)
        expected = mean + radius if theorem.apart == "radii" else mean
        off, slack = after.index - expected, HAIR * (1 + np.abs(expected))

        def of_index(lane: int, arm: int) -> str:
            return f"index {after.index[lane, arm]:.6g} where mean and radius make {expected[lane, arm]:.6g}"

        self.refuse_arm("radius", here & now & (off < -slack), of_index)
        self.note_difference("radius", here & now & (off > slack), of_index)
        if self.laws:
            self._check_gaps(mean - self.problem.means, radius, here, now)
        self.left = np.where(over, self.left & now, self.left)
        self.filled[np.broadcast_to(over, self.filled.shape)] = 0.0
        self.done &= ~over
        self.phase = self.phase + over
        self._begin_phase(over)

    def _check_gaps(self, off: FloatArray, radius: FloatArray, here: BoolArray, now: BoolArray) -> None:
        """Note the lanes that leave the good event; check the gaps of the arms left."""
        gaps = self.problem.means[self.best] - self.problem.means
        best, left = (each[:, self.best, np.newaxis] for each in (here, now))
        self.failed |= (best & ~left)[:, 0]
        apart = 2 * radius if self.theorem.apart == "radii" else 2 * radius / (1 - SHORTFALL)
        allowed = apart + np.maximum(0.0, off) + np.maximum(0.0, -off[:, self.best, np.newaxis])
        largest = np.full(self.phase.shape, np.inf)
        if self.theorem.largest is not None:
            self.failed |= (here & (np.abs(off) > radius * (1 + TOLERANCE))).any(axis=1)
            self.failed |= self.difference is not None  # wider radii allow more
            largest = self._each(self.theorem.largest, l=self.phase)
        largest[self.failed] = np.inf
        self.refuse_arm(
            "gap lemma",
            here & now & best & left & (gaps > np.minimum(allowed * (1 + TOLERANCE), largest)),
            lambda lane, arm: (
                f"the arm is left after phase {self.phase[lane, 0]:g} with a gap of {gaps[arm]:.6g}: radii and "
                f"what means are off by allow {allowed[lane, arm]:.6g}, the good event {largest[lane, 0]:.6g}"
            ),
        )

    def _each(self, expression: object, **numbers: FloatArray) -> FloatArray:
        """Return an expression of the theorem at each of few different numbers, by their symbols."""
        stacked = np.stack([each.ravel() for each in numbers.values()])
        different, which = np.unique(stacked, axis=1, return_inverse=True)
        values = np.array(
            [
                self.bound.value_of(expression, self.instance, **dict(zip(numbers, column, strict=True)))
                for column in different.T.tolist()
            ]
        )
        return values[which.ravel()].reshape(next(iter(numbers.values())).shape)
