"""Sampling what the adversary of a claim sees, on given data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from accountant import Simulation
from algorithms.play import BuildLearner, play_records
from algorithms.problems import Problem, RankedLists
from mechanisms import BLOCK
from verify.events import Column, ViewSample

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LearnerView:
    """What the adversary sees of a learner on one data set.

    Attributes
    ----------
    watch
        Runs the learner on a gate and returns the view, shape (lanes, columns).
    columns
        What each column is.
    single_lanes
        Whether to run one lane at a time, answering reads of raw values: for learners that read what they
        must not, which works on no more than one lane.
    """

    watch: Callable[[Simulation], FloatArray]
    columns: tuple[Column, ...]
    single_lanes: bool = False

    def sample(self, n: int, seed: np.random.SeedSequence) -> ViewSample:
        """Draw n independent views."""
        if self.single_lanes:
            gates = (Simulation(child, 1, transcript=True, permissive=True) for child in seed.spawn(n))
            return ViewSample(np.concatenate([self.watch(gate) for gate in gates]), self.columns)
        return ViewSample(self.watch(Simulation(seed, n, transcript=True)), self.columns)

    def works_in_lanes(self) -> bool:
        """Try one block of lanes."""
        try:
            self.watch(Simulation(0, BLOCK, transcript=True))
        except (Exception, SystemExit):  # whatever a user's learner raises on more than one lane
            return False
        return True


def action_view(
    build: BuildLearner, problem: Problem, data: FloatArray, *, single_lanes: bool = False
) -> LearnerView:
    """Return the view of the whole action sequence on `data`, shape (rounds + 1, arms)."""

    def watch(gate: Simulation) -> FloatArray:
        actions = list(play_records(build(gate), problem, gate, data))
        return np.concatenate(actions, axis=1).astype(np.float64)

    size = problem.structure.size
    columns = tuple(
        Column(f"action[{t},{k}]" if size > 1 else f"action[{t}]", _action_words(problem, t, k), "category")
        for t in range(1, len(data))
        for k in range(1, size + 1)
    )
    return LearnerView(watch, columns, single_lanes)


def message_view(
    build: BuildLearner, problem: Problem, data: FloatArray, record: int, *, single_lanes: bool = False
) -> LearnerView:
    """Return the view of everything that the user of one record sends, on `data`.

    Later rounds do not matter to the message, so runs stop with the record's own round.
    """
    shortened = data[: max(record, 1) + 1]

    def watch(gate: Simulation) -> FloatArray:
        for _ in play_records(build(gate), problem, gate, shortened):
            pass
        sent = [array.astype(np.float64) for owner, array in gate.published or () if owner == record]
        return np.concatenate(sent, axis=1) if sent else np.zeros((gate.lanes, 1))

    probe = Simulation(0, 1, transcript=True, permissive=True)
    watch(probe)
    kinds: list[Literal["category", "real"]] = [
        "category" if np.issubdtype(array.dtype, np.integer) else "real"
        for owner, array in probe.published or ()
        if owner == record
        for _ in range(array.shape[1])
    ]
    columns = tuple(
        Column(f"report[{i}]", f"value {i} of the user's message", kind)
        for i, kind in enumerate(kinds, start=1)
    )
    return LearnerView(watch, columns or (Column("report[0]", "the message", "category"),), single_lanes)


def _action_words(problem: Problem, t: int, k: int) -> str:
    if isinstance(problem.structure, RankedLists):
        return f"the item shown at position {k} in round {t}"
    return (
        f"the arm played in round {t}" if problem.structure.size == 1 else f"arm {k} of round {t}'s super arm"
    )
