"""Rounds of a learner on a problem: one loop for simulation, audits and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from accountant import Gate, Place, Private
from algorithms.learner import Learner, PhasedLearner
from algorithms.problems import Problem, ProblemError
from algorithms.problems.own_choices import check_choice, is_ours
from algorithms.problems.own_draws import checked_outcomes
from algorithms.unit import RecordOf, each_its_own
from mechanisms import Randomness
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import DPWitnessError

BuildLearner = Callable[[Gate], Learner]

_ROUNDING = 1e-9

INITIAL_RECORD = 0
"""The record that a learner with a warm start observes in full; rounds are records 1, 2, ..."""


def play_fresh(
    learner: Learner, problem: Problem, gate: Gate, environment: Randomness, rounds: int
) -> Iterator[IntArray]:
    """Play on freshly drawn users; yield each round's super arm, shape (lanes, size).

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        The problem, which draws each round's feedback.
    environment
        The source of the problem's randomness.
    rounds
        The number of rounds to play.

    Raises
    ------
    ProblemError
        If a problem of a user's own draws outcomes outside [0, 1].
    """
    if hasattr(learner, "observe_initial"):
        records = checked_outcomes(problem, problem.draw_records(environment, gate.lanes))
        start_warm(learner, gate, problem, records)
    for record in range(1, rounds + 1):
        super_arm = checked_action(learner, problem, gate.lanes)
        values = checked_outcomes(problem, problem.draw_feedback(super_arm, environment))
        learner.observe(gate.private(values, learner.feedback_domain, record))
        yield super_arm


def play_phases(
    learner: PhasedLearner, problem: Problem, gate: Gate, environment: Randomness, rounds: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Play a learner that holds its actions, phase by phase: each lane keeps its own clock.

    The feedback of a phase is drawn as one total, so the cost depends on the number of phases and not of rounds;
    its law is that of `play_fresh`.

    Parameters
    ----------
    learner, problem, gate, environment
        As for `play_fresh`; the gate is a `Simulation`.
    rounds
        The number of rounds every lane plays.

    Yields
    ------
    tuple
        The super arms, (lanes, size), and for how many rounds each was played, (lanes,): 0 where a lane is done.

    Raises
    ------
    ProblemError
        If a problem of a user's own draws totals below 0, or above the number of rounds.
    """
    left = np.full(gate.lanes, rounds, dtype=np.int64)
    phase = 0
    while left.any():
        phase += 1
        super_arm = checked_action(learner, problem, gate.lanes)
        held = np.minimum(learner.committed_rounds, left)
        totals = checked_outcomes(problem, problem.draw_totals(super_arm, held, environment), held)
        learner.observe(gate.private(totals, learner.feedback_domain, phase), held)
        left -= held
        yield super_arm, held


def play_records(
    learner: Learner,
    problem: Problem,
    gate: Gate,
    records: FloatArray,
    *,
    record_of: RecordOf = each_its_own,
) -> Iterator[IntArray]:
    """Play on given users; yield each round's super arm, shape (lanes, size).

    Parameters
    ----------
    learner, problem, gate
        As for `play_fresh`.
    records
        Shape (rounds + 1, arms), or (worlds, rounds + 1, arms) for a coupled gate: D first, then its
        neighbours. Record 0 is the outcome vector of a learner with a warm start; others ignore it.
    record_of
        The record's name of each round.
    """
    worlds = records if records.ndim == 3 else records[np.newaxis]
    changed = (worlds[1:] != worlds[:1]).any(axis=(0, 2))
    if hasattr(learner, "observe_initial"):
        start_warm(learner, gate, problem, _in_lanes(worlds, INITIAL_RECORD, changed, gate.lanes))
    for record in range(1, worlds.shape[1]):
        super_arm = checked_action(learner, problem, gate.lanes)
        outcomes = _in_lanes(worlds, record, changed, gate.lanes)
        values = problem.feedback(outcomes, super_arm)
        learner.observe(gate.private(values, learner.feedback_domain, record_of(record)))
        yield super_arm


class ActionError(DPWitnessError, ValueError):
    """A learner's ``act`` returned something else than super arms.

    Attributes
    ----------
    where
        The first line of the learner's ``act``.
    """

    def __init__(self, message: str, where: Place) -> None:
        super().__init__(f"{message} (at {where})")
        self.message = message
        self.where = where


def checked_action(learner: Learner, problem: Problem, lanes: int) -> IntArray:
    """Return a learner's next super arms, in an array of their own: it may write the ones after them into its own.

    Raises
    ------
    ActionError
        If a learner of a user's own, or one that asks an oracle of a user's own, returned no super arms, or what earns
        more than any.
    """
    structure = problem.structure
    chooses = [
        (structure, "solve"),
        *((learner, each) for each in ("act", "choose") if hasattr(learner, each)),
    ]
    if all(is_ours(*each) for each in chooses):
        return np.array(learner.act())
    chosen = learner.act()
    try:
        shown = check_choice(chosen, lanes, structure, "act")
    except ProblemError as error:
        raise ActionError(str(error), place_of_act(learner)) from None
    # For structures that cannot check their super arms: a learner must not seem to win by playing others.
    most = float(getattr(problem, "optimum", math.inf))
    earned = np.asarray(problem.expected_reward(shown))
    if (earned > most + _ROUNDING * max(1.0, abs(most))).any():
        best = int(earned.argmax())
        raise ActionError(
            f"act returned {shown[best].tolist()}, which earns {earned[best]:.6g}, above the optimum {most:.6g}: must "
            "be a super arm (or the problem's optimum is less than its best one earns)",
            place_of_act(learner),
        )
    return np.array(shown)


def place_of_act(learner: Learner) -> Place:
    """Return the first line of a learner's ``act``; of ``observe`` if it has none, but a policy."""
    kind = type(learner)
    code = getattr(kind, "act", kind.observe).__code__
    return Place(code.co_filename, code.co_firstlineno)


def start_warm(learner: Learner, gate: Gate, problem: Problem, outcomes: FloatArray) -> None:
    """Show a learner with a warm start all arms' outcomes: of one record, or each arm's of its own."""
    whole = problem.record_domain
    if getattr(learner, "initial_records", "one") == "one":
        initial = gate.private(outcomes, whole, INITIAL_RECORD)
    else:
        parts: list[Private] = []
        for arm in range(problem.structure.arms):
            only = np.zeros(problem.structure.arms)
            only[arm] = 1.0
            parts.append(gate.private(outcomes, whole, f"initial-{arm}") * only)
        initial = parts[0]
        for part in parts[1:]:
            initial = initial + part
    learner.observe_initial(initial)  # type: ignore[attr-defined]


def _in_lanes(worlds: FloatArray, record: int, changed: npt.NDArray[np.bool_], lanes: int) -> FloatArray:
    """Return one record's outcomes, (worlds, lanes, arms); only D's where all worlds agree on them."""
    outcomes = worlds[:, record] if changed[record] else worlds[:1, record]
    if worlds.shape[0] == 1:
        return np.repeat(outcomes, lanes, axis=0)
    return np.repeat(outcomes[:, np.newaxis], lanes, axis=1)
