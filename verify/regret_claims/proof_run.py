"""The common part of the checks of all regret proofs: rounds, lanes on the good event, counterexamples, and reports.

A proof is a good event, which fails as often as it states, and statements that hold on it without exception. So there
are *statements*, of which one lane is a counterexample, and *tests* of random quantities, each at a share of the error.
Lanes are never left out of a count: that an arm was played often depends on earlier outcomes.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
import sympy as sp
from scipy import stats

from accountant import Gate, Simulation
from accountant.gates.random_streams import RandomStream
from accountant.gates.simulation import lane_randomness
from algorithms.epochs import epoch_of
from algorithms.learner import Confidence, Learner
from algorithms.play import checked_action, start_warm
from algorithms.problems import Cascade, SemiBandit
from algorithms.problems.own_draws import checked_outcomes
from algorithms.theory.confidence_theorem import Radius
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError
from verify.findings.sentences import Basis, Sentence, exact
from verify.regret_claims.regret_report import NOT_TESTED, ProofCheck

State = TypeVar("State")
TheoremType = TypeVar("TheoremType")


TOLERANCE = 1e-8
"""Relative tolerance for the rounding of a number that is computed again."""

_LEVELS = np.array([1.0, 2.0, 3.0, 4.5])
"""Exponents at which the law of the estimates is tested."""

HAIR = 1e-5
"""Relative tolerance of an index that is computed by other steps than the theorem's."""

WHOLE, ONE_BY_ONE = 1_000, 20_000
"""Rounds that are played one by one: for learners that hold their actions, which then go by phases; for others."""

_STALE, _FEW = 1.5, 8.0
_TESTS = 3  # noise, estimates, good event


def theorem_of(bound: RegretBound, kind: type[TheoremType], subject: str) -> TheoremType:
    """Return the statements that the proof of a bound rests on; refuse those of another kind."""
    if not isinstance(bound.confidence, kind):
        raise ParameterError(f"bound: its theorem does not cover {subject}")
    return bound.confidence


class Contradiction(Exception):
    """A statement is false; `check` is the failed check."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(name)
        self.check = ProofCheck(name, 0.0, 0.0, exact("{words}", words=words))


class ProofRun(abc.ABC):
    """The checked state of a learner on an instance, up to the current round.

    Attributes
    ----------
    round
        The rounds so far.
    failed
        True for the lanes that have left the good event; where it is one of each round, those outside of this round's.
    regret
        The regret of each lane on the good event.
    laws
        True to test random quantities, and statements on the good event; else only those about every run.
    single, phases
        The number of rounds that were played one by one, and of phases as a whole; `round` counts all their rounds.
    difference
        The first check that shows another learner than the theorem's; None so far.
    """

    laws = True

    def __init__(self, bound: RegretBound, instance: Instance, lanes: int, failure: float | None) -> None:
        self.bound, self.instance = bound, instance
        self.single = self.phases = 0
        self.difference: ProofCheck | None = None
        self.failure = None if failure is None else min(1.0, failure)
        self.round = 0
        self.failed: BoolArray = np.zeros(lanes, dtype=bool)
        self.regret: FloatArray = np.zeros(lanes)
        # Of each round: lanes, and the share that is allotted.
        self._rounds_failed: list[tuple[int, float]] = []
        self._hits: dict[tuple[int, int, int, int], int] = {}  # arm, count, level, side: lanes
        self._cells = 0
        self._counts: set[int] = set()

    @abc.abstractmethod
    def play(self, build: Callable[[Gate], Any], *, seed: int, data: Callable[..., Any] | None) -> None:
        """Play a learner to the horizon, and check every round; raise the first `Contradiction`."""

    @abc.abstractmethod
    def checks(self, error: float) -> tuple[ProofCheck, ...]:
        """Return the checks, in the proof's order, once all rounds are played; `error` is shared by the tests."""

    @property
    def extent(self) -> str:
        """The rounds that were looked at."""
        return f"{counted_noun(self.single, 'round')} one by one" + (
            f" and {counted_noun(self.phases, 'phase')}" if self.phases else ""
        )

    @property
    def level_instance(self) -> Instance:
        """The instance with the horizon that sets a learner's confidence levels after the rounds so far."""
        by_epochs = self.instance.anytime and self.bound.levels
        return replace(self.instance, horizon=self.round + 1) if by_epochs else self.instance

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The statements that are held against every lane on the good event."""
        return ("gap lemma", "path")

    @property
    def epoch_ends(self) -> bool:
        """True if an epoch ends with this round, and all indices get another level."""
        by_epochs = self.instance.anytime and self.bound.levels
        return by_epochs and bool(epoch_of(self.round) != epoch_of(self.round - 1))

    def check_end(self) -> None:
        """Check that no lane on the good event has lost more than the bound, where the proof states that."""
        if self.failure is None or not self.laws or "path" not in self.lemmas:
            return
        bound = self.bound.evaluate(self.instance)
        self.refuse(
            "path",
            ~self.failed & (self.regret > bound * (1 + TOLERANCE)),
            lambda lane: (
                f"a lane on the good event lost {self.regret[lane]:.6g}, and the bound is {bound:.6g}"
            ),
        )

    def note_difference(self, name: str, other: BoolArray, words: Callable[[int, int], str]) -> None:
        """Note the first arm at which a learner is another one than the theorem's, in words about it."""
        if self.difference is None and other.any():
            lane, arm = (int(where[0]) for where in np.nonzero(other))
            said = exact("{words}", words=f"round {self.round:,}, run {lane}, arm {arm}: {words(lane, arm)}")
            self.difference = ProofCheck(name, 1.0, 0.0, said, differs=True)

    def note_failures(self, failed: BoolArray, allotted: float) -> None:
        """Note which lanes are outside of the good event of this round."""
        self.failed = failed
        self._rounds_failed.append((int(failed.sum()), min(1.0, allotted)))

    def all_checks(
        self,
        error: float,
        noise: tuple[float, str],
        sides: float | None,
        *,
        further: tuple[ProofCheck, ...] = (),
        radius: str = "",
    ) -> tuple[ProofCheck, ...]:
        """Return the checks, in the proof's order, once all rounds are played.

        Parameters
        ----------
        error
            The error that the tests share.
        noise
            The p-value of the noise's law, and the observation in words.
        sides
            The probability, in units of ``e^-level``, that an estimate is off on one side; None if that was not tested.
        further
            Other tests; they take their share of the error themselves.
        radius
            The sentence on the radii, if they were not exact.
        """
        level = error / _TESTS
        exact = f"exact in {counted_noun(self.round, 'round')}"
        statements = (("bookkeeping", exact), ("radius", radius or exact), ("oracle", exact))
        if self.failure is None:
            event: tuple[ProofCheck, ...] = ()
            held = f"held in {'all ' * (len(self.failed) > 1)}{counted_noun(len(self.failed), 'run')}"
        else:
            p, left, held = self._event(self.failure)
            event = (ProofCheck("good event", p, level, self.in_runs(left)),)
        return (
            *(ProofCheck(name, 1.0, 0.0, self.in_runs(words)) for name, words in statements),
            ProofCheck("noise", noise[0], level, self.in_runs(noise[1])),
            *further,
            self._law(level, sides),
            *event,
            *(ProofCheck(name, 1.0, 0.0, self.in_runs(held)) for name in self.lemmas),
            *([] if self.difference is None else [self.difference]),
        )

    def in_runs(self, words: str) -> Sentence:
        """Return the words as a sentence with the number of runs."""
        lanes = len(self.failed)
        return Sentence(f"{words} ({counted_noun(lanes, 'run')})", Basis.OBSERVED, draws=lanes)

    def _event(self, failure: float) -> tuple[float, str, str]:
        """Return the p-value of how often the good event failed, and two phrases about it."""
        lanes = len(self.failed)
        if not self._rounds_failed:
            failures = int(self.failed.sum())
            p = float(stats.binom.sf(failures - 1, lanes, failure)) if failures else 1.0
            left = f"{failures} of {lanes} runs left it; the proof allows a share of {failure:.3g}"
            return (
                p,
                left,
                f"held in the {counted_noun(lanes - failures, 'run')} that stayed on the good event",
            )
        ps = [
            float(stats.binom.sf(seen - 1, lanes, share)) if seen else 1.0
            for seen, share in self._rounds_failed
        ]
        worst = int(np.argmin(ps))
        seen, share = self._rounds_failed[worst]
        left = (
            f"in round {worst + 1} {seen} of {lanes} runs are outside; the proof allows a share of {share:.3g}"
            if ps[worst] < 1
            else "in all rounds at most the allowed share of runs was outside"
        )
        inside = 1 - sum(seen for seen, _ in self._rounds_failed) / (lanes * len(ps))
        return (
            min(1.0, ps[worst] * len(ps)),
            left,
            f"held in all rounds on the good event: {100 * inside:.4g} % of all rounds",
        )

    def _note_levels(
        self, count: FloatArray, here: BoolArray, far: Callable[[float], tuple[BoolArray, BoolArray]]
    ) -> None:
        """Note which estimates are off by more than their radius of each level, below and above, at dyadic counts.

        Parameters
        ----------
        count
            Values in each estimate, (lanes, arms).
        here
            True where an estimate has just reached a count of the form 2^i or, for batches, 2^i - 1.
        far
            Function of a level: True where estimates are off by more than their radius, below and above.
        """
        if not here.any():
            return
        for depth, level in enumerate(_LEVELS.tolist()):
            for side, off in enumerate(far(level)):
                for lane, arm in zip(*np.nonzero(here & off), strict=True):
                    cell = (int(arm), int(count[lane, arm]), depth, side)
                    self._hits[cell] = self._hits.get(cell, 0) + 1
        new = {int(value) for value in np.unique(count[here])} - self._counts
        self._counts |= new
        self._cells += len(new) * count.shape[1] * len(_LEVELS) * 2

    def note_radii(
        self, count: FloatArray, here: BoolArray, off: FloatArray, radius: Callable[[float], FloatArray]
    ) -> None:
        """Count as `_note_levels` the estimates that are off by more than the radius of each level, for either side."""

        def far(level: float) -> tuple[BoolArray, BoolArray]:
            most = radius(level)
            return off < -most, off > most

        self._note_levels(count, here, far)

    def _law(self, level: float, sides: float | None) -> ProofCheck:
        """Return the test of the estimates' law over all arms, counts, levels and sides."""
        if sides is None:
            return ProofCheck("estimates", 1.0, level, NOT_TESTED)
        lanes, worst, words = len(self.failed), 1.0, "all estimates were within their radii"
        for (arm, count, depth, side), seen in self._hits.items():
            chance = sides * float(np.exp(-_LEVELS[depth]))
            p = 1.0 if chance >= 1 else float(stats.binom.sf(seen - 1, lanes, chance))
            if p < worst:
                worst = p
                where = "above" if side else "below"
                words = (
                    f"in {seen} of {lanes} runs arm {arm}'s estimate of {count} values is {where} a radius that it "
                    f"leaves with probability {chance:.3g} at most"
                )
        return ProofCheck("estimates", min(1.0, worst * max(1, self._cells)), level, self.in_runs(words))

    def refuse(self, name: str, wrong: BoolArray, words: Callable[[int], str]) -> None:
        """End the checks if a statement is wrong in any lane, in words about it."""
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise Contradiction(name, f"round {self.round:,}, run {lane}: {words(lane)}")

    def refuse_arm(self, name: str, wrong: BoolArray, words: Callable[[int, int], str]) -> None:
        """The same of an arm in a lane."""
        if wrong.any():
            lane, arm = (int(where[0]) for where in np.nonzero(wrong))
            raise Contradiction(name, f"round {self.round:,}, run {lane}, arm {arm}: {words(lane, arm)}")

    def refuse_moves(
        self,
        name: str,
        what: str,
        moved: BoolArray,
        before: FloatArray,
        after: FloatArray,
        when: str = "without a release",
    ) -> None:
        """Refuse a change of a quantity of an arm, such as its count, where none is due."""
        self.refuse_arm(
            name,
            moved,
            lambda lane, arm: (
                f"the {what} went from {before[lane, arm]:.6g} to {after[lane, arm]:.6g} {when}"
            ),
        )

    def refuse_counts(self, what: str, wrong: BoolArray, shown: FloatArray, expected: FloatArray) -> None:
        """Refuse that an arm's values or noises are miscounted."""
        self.refuse_arm("bookkeeping", wrong, _describe_counts(what, shown, expected))


class StructuredRun(ProofRun, Generic[State]):
    """The checked state of a learner that plays round by round and shows its state.

    A run without laws is played phase by phase from round `WHOLE` on if the learner holds its actions, and for
    `ONE_BY_ONE` rounds at most if it does not.
    """

    def play(self, build: Callable[[Gate], Learner], *, seed: int, data: Callable[..., Any] | None) -> None:
        """Play a learner; feedback is drawn from the problem, unless `data` returns it for an action."""
        problem: Any = self.instance.problem
        lanes, last = len(self.failed), self.instance.horizon
        gate = Simulation(seed, lanes)
        learner: Any = build(gate)
        environment = lane_randomness(seed, lanes, 0, RandomStream.ENVIRONMENT)
        draw = data or (lambda action: checked_outcomes(problem, problem.draw_feedback(action, environment)))
        holds = not self.laws and hasattr(type(learner), "committed_rounds")
        if not self.laws and not holds:
            last = min(last, ONE_BY_ONE)
        if hasattr(learner, "observe_initial"):
            outcomes = problem.draw_records(environment, lanes)
            start_warm(learner, gate, problem, outcomes)
            self.check_start(self.state(learner), outcomes)
        before = self.state(learner)
        while self.round < last:
            action = checked_action(learner, problem, lanes)
            self.check_action(before, learner, action)
            held = 1
            if holds and self.round > WHOLE:
                held = min(int(learner.committed_rounds.min()), last - self.round + 1)
                self.phases += 1
            else:
                self.single += 1
            if held == 1:
                feedback = draw(action)
                learner.observe(gate.private(feedback, learner.feedback_domain, self.round))
            else:
                held_by = np.full(lanes, held, dtype=np.int64)
                feedback = checked_outcomes(
                    problem, problem.draw_totals(action, held_by, environment), held_by
                )
                learner.observe(gate.private(feedback, learner.feedback_domain, self.round), held_by)
                self.round += held - 1
            after = self.state(learner)
            self.check_feedback(before, after, action, feedback, held)
            before = after
        self.check_end()

    @abc.abstractmethod
    def state(self, learner: Any) -> State:
        """Return the shown state of a learner, in arrays of its own."""

    def check_start(self, state: State, outcomes: FloatArray) -> None:
        """Check the state after one outcome of every arm; refuse it if the proofs start on nothing."""
        raise ParameterError("learner: starts on outcomes that its theorem does not know")

    @abc.abstractmethod
    def check_action(self, state: State, learner: Any, action: IntArray) -> None:
        """Check an action against the state of the learner before it."""

    @abc.abstractmethod
    def check_feedback(
        self, before: State, after: State, action: IntArray, feedback: FloatArray, held: int
    ) -> None:
        """Check the state of a learner after the feedback, or the total of `held` rounds of an action."""


class BatchedRun(StructuredRun[Confidence]):
    """The checked state of a learner that releases batches.

    Attributes
    ----------
    feeds
        Number of outcomes of each arm that were fed; shape (lanes, arms), as those that follow.
    filled, open
        Number of outcomes that wait for a release, and their sum.
    batch
        The number of values after which a release is due.
    releases
        Number of noises in each estimate.
    fresh
        Whether an estimate is of the last batch alone.
    radius
        The theorem's, as a function of counts, noises and exponents.
    """

    fresh: bool
    batch: FloatArray
    radius: Radius
    problem: SemiBandit | Cascade

    def __init__(
        self, bound: RegretBound, instance: Instance, lanes: int, failure: float | None, arms: int
    ) -> None:
        super().__init__(bound, instance, lanes, failure)
        shape = (lanes, arms)
        self.feeds: FloatArray = np.zeros(shape)
        self.filled: FloatArray = np.zeros(shape)
        self.open: FloatArray = np.zeros(shape)
        self.releases: FloatArray = np.zeros(shape)

    def note_off(self, after: Confidence, here: BoolArray) -> None:
        """Count as `note_radii` the estimates of a mask that are off the means by more than their radii."""
        off = after.estimate - self.problem.means
        self.note_radii(after.count, here, off, lambda level: self.radius(after.count, after.releases, level))

    def state(self, learner: Any) -> Confidence:
        """Return the estimates, counts and indices."""
        shown: Confidence = learner.confidence()
        return shown.copy()

    def check_counts(
        self, before: Confidence, after: Confidence, released: BoolArray, due: BoolArray
    ) -> BoolArray:
        """Check the counts after a round; return the arms that released all outcomes that waited."""
        whole: BoolArray = after.count - (0.0 if self.fresh else before.count) == self.filled
        self.refuse_counts("values", released & (after.count > self.feeds), after.count, self.feeds)

        def describe(lane: int, arm: int) -> str:
            return (
                f"{after.count[lane, arm]:g} values are counted and {self.filled[lane, arm]:g} wait, where "
                f"{np.ceil(self.batch[lane, arm]):g} make a release"
            )

        late = due & ~released & (self.filled > self.batch)
        late &= stale(after.count + self.filled, after.count + self.batch)
        self.refuse_arm(
            "bookkeeping", late, lambda lane, arm: f"{describe(lane, arm)}: nothing is learned any more"
        )
        self.note_difference("bookkeeping", (due & ~released) | (released & (~due | ~whole)), describe)
        moved = np.abs(after.estimate - before.estimate) > TOLERANCE * (1 + np.abs(before.estimate))
        moved &= ~released & (before.count > 0)
        self.refuse_moves("bookkeeping", "estimate", moved, before.estimate, after.estimate)
        return whole & released

    def check_noises(self, after: Confidence, expected: FloatArray) -> None:
        """Check the numbers of noises: more of them make wider radii, and so another learner."""
        self.refuse_counts("noises", after.releases < expected, after.releases, expected)
        more = _describe_counts("noises", after.releases, expected)
        self.note_difference("bookkeeping", after.releases > expected, more)


def check_laws(
    make_run: Callable[[RegretBound, Instance, int], ProofRun],
    build: Callable[[Gate], Any],
    bound: RegretBound,
    instance: Instance,
    *,
    lanes: int,
    seed: int,
    error: float,
) -> tuple[ProofCheck, ...]:
    """Play a learner and check the assumptions of its regret proof, until the first counterexample.

    Parameters
    ----------
    make_run
        The class that checks the rounds, as the theorem's `confidence` needs it, such as `MeanRun` or `PhaseRun`.
    build
        Function that makes the learner on a gate: one that shows its state (as an `ExplainedLearner`).
    bound, instance
        The theorem, and the instance that is played.
    lanes
        Independent runs, a multiple of 64 but for linear bandits, where each is of a learner of its own.
    seed
        The seed of all randomness.
    error
        The probability that a true learner violates anything, at most.

    Raises
    ------
    ParameterError
        If the theorem is another than `make_run` is for, or the problem is.
    """
    run = make_run(bound, instance, lanes)
    contradiction = play_checked(run, build, seed=seed)
    return run.checks(error) if contradiction is None else (contradiction,)


def play_checked(
    run: ProofRun, build: Callable[[Gate], Any], *, seed: int, data: Callable[..., Any] | None = None
) -> ProofCheck | None:
    """Play a learner to the run's horizon, and check every round; return the first counterexample, if there is one.

    `data`: of an adversary, as `ProofRun.play` takes it; by default they are drawn from the problem.
    """
    try:
        run.play(build, seed=seed, data=data)
    except Contradiction as contradiction:
        return contradiction.check
    return None


def _describe_counts(what: str, shown: FloatArray, expected: FloatArray) -> Callable[[int, int], str]:
    """Return the words about a miscounted arm of a lane."""
    return lambda lane, arm: (
        f"{shown[lane, arm]:g} {what} are counted where there are {expected[lane, arm]:g}"
    )


def stale(count: FloatArray, since: FloatArray) -> BoolArray:
    """Return True where counts have grown by half, and by more than a few, since an earlier time."""
    return np.asarray(count >= _STALE * since + _FEW)


def good_event_failure(failure: sp.Expr, bound: RegretBound, instance: Instance) -> float:
    """Return with which probability the good event of any epoch fails, or of the first round."""
    there = instance.epochs() if instance.anytime and bound.levels else [instance]
    return sum(bound.value_of(failure, each, t=1.0) for each in there)


def scatter_masked(values: np.ndarray, where: BoolArray) -> Any:
    """Return values of those in a mask in an array of all, in which the others have 0."""
    full = np.zeros((*where.shape, *values.shape[1:]), dtype=values.dtype)
    full[where] = values
    return full


def rounded(values: FloatArray) -> list[float]:
    """Return numbers to be read."""
    return [round(float(value), 4) for value in values]
