"""Replay a learner on neighbouring data with the same released values: what still differs is a leak.

The gates cannot see what a learner does in a closure, through attributes or globals, or by catching errors.
Its actions show it: given the same released values and the same randomness, they must be the same. A
difference counts only if it comes back every time, and never on D itself: a learner that draws from a
generator of its own is told so, and blamed for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from accountant import Retold, Taped
from algorithms.play import BuildLearner, place_of_act, play_records
from algorithms.problems import Problem
from mechanisms import BLOCK
from mechanisms.arrays import FloatArray
from verify.findings import Finding, Statement, add_once
from verify.functions.gate_replay import CONFIRMATIONS
from verify.learners.learner_case import LearnerCase
from verify.subject_error import failing_place
from verify.transcripts.neighbours import Neighbour, initial_replacements, replacements
from verify.verdict.evidence import Evidence


def add_replays(
    evidence: Evidence,
    case: LearnerCase,
    drawn: FloatArray,
    neighbours: list[Neighbour],
    seed: np.random.SeedSequence,
) -> None:
    """Replay a short run on all neighbours, and the whole run on a record early, halfway and late in it."""
    if evidence.does_not_run:
        return
    build, problem = case.build, case.problem
    rounds = len(drawn) - 1
    shorter = drawn[: max(neighbour.record for neighbour in neighbours) + 1]
    spread = sorted({1, rounds // 2, rounds - 1} - {0})
    longer = initial_replacements(drawn, problem.record_domain, case.initial)[:1]
    for record in spread:  # one value each: other values change the short run, which costs far less
        longer += replacements(drawn, problem.record_domain, [record])[:1]
    try:
        found = _run_replay(build, problem, shorter, neighbours, seed=seed)
        found += _run_replay(build, problem, drawn, longer, seed=seed)
    except (Exception, SystemExit) as error:  # whatever a user's learner raises
        found = [Statement.LEARNER_NOT_REPLAYED.finding(failing_place(error), error=error)]
    for finding in found:
        add_once(evidence.findings, finding)


def _run_replay(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    neighbours: Sequence[Neighbour],
    *,
    seed: np.random.SeedSequence,
) -> list[Finding]:
    """Tape a learner's run on D and replay it on each neighbour.

    Parameters
    ----------
    build
        Makes the learner on a gate.
    problem, data
        The problem, and D with records 0 .. rounds, shape (rounds + 1, arms).
    neighbours
        What D is compared with.
    seed
        Of all randomness.

    Returns
    -------
    list of Finding
        The first difference of each kind; empty if the learner touches data through its gate only.
    """
    lanes = BLOCK if _runs_in_lanes(build, problem, data, seed) else 1
    taped = Taped(seed, lanes)
    learner = build(taped)
    where = str(place_of_act(learner))
    actions = list(play_records(learner, problem, taped, data))

    def retold(on: FloatArray) -> Finding | None:
        return _first_difference(build, problem, on, taped, actions, where)

    again = retold(data)
    if again is not None:
        return [_unrepeatable(again)]
    found: dict[str, Finding] = {}
    for neighbour in neighbours:
        changed = neighbour.applied(data)
        difference = retold(changed)
        if difference is not None:
            if difference.kind not in found:
                for _ in range(CONFIRMATIONS):
                    again = retold(data)
                    if again is not None:
                        return [*found.values(), _unrepeatable(again)]
                    if retold(changed) != difference:
                        return [*found.values(), _unrepeatable(difference)]
            which = f"when record {neighbour.record} is replaced by {neighbour.words}"
            found.setdefault(difference.kind, replace(difference, message=f"{difference.message}, {which}"))
    return list(found.values())


def _unrepeatable(difference: Finding) -> Finding:
    return Statement.RUNS_DIFFER.finding(difference.where, how=difference.message)


def _first_difference(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    taped: Taped,
    actions: list[npt.NDArray[np.int64]],
    where: str,
) -> Finding | None:
    """Replay on other data and return the first action or call that differs."""
    gate = Retold(taped.seed, taped.lanes, taped.tape)
    for number, played in enumerate(play_records(build(gate), problem, gate, data), start=1):
        if gate.difference is not None:
            break
        if not np.array_equal(played, actions[number - 1]):
            return Statement.ROUND_DIFFERS.finding(where, number=number)
    gate.finish()
    return None if gate.difference is None else Finding.of_gate(gate.difference)


def _runs_in_lanes(
    build: BuildLearner, problem: Problem, data: FloatArray, seed: np.random.SeedSequence
) -> bool:
    gate = Taped(seed, BLOCK)
    try:
        for _ in play_records(build(gate), problem, gate, data[:3]):
            pass
    except (Exception, SystemExit):  # whatever a user's learner raises on more than one lane
        return False
    return True
