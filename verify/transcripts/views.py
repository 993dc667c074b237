"""Draws of the view of a claim's adversary, on given data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from accountant import Gate, Simulation
from algorithms.play import BuildLearner, play_records
from algorithms.problems import Problem
from mechanisms import BLOCK
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.events.view_sample import Column, ViewSample
from verify.transcripts.action_features import ActionFeature, first_actions, read_features
from verify.transcripts.transcript import ActionArray, ActionSpace, Transcript

_MOST_LANES = 1 << 14  # side by side: their state stays in the processor's cache
_LANE_ROUNDS = 1 << 20  # actions of all of them: bounds memory


@dataclass(frozen=True)
class LearnerView:
    """The adversary's view of a learner on one data set.

    Attributes
    ----------
    watch
        Runs the learner on a gate and returns the view: one row for each lane.
    single_lanes
        If True, one lane is run at a time, and reads of raw values are answered: for learners that read private
        values, which works on one lane only.
    rounds
        Number of rounds of a run, which sets how many lanes run side by side.
    """

    watch: Callable[[Simulation], ViewSample]
    single_lanes: bool = False
    rounds: int = 1

    @subjects_own()
    def sample(self, n: int, seed: np.random.SeedSequence) -> ViewSample:
        """Draw n independent views."""
        if self.single_lanes:
            gates = (Simulation(child, 1, transcript=True, permissive=True) for child in seed.spawn(n))
            seen = [self.watch(gate) for gate in gates]
        else:  # a lane's draws depend on the seed and its number only, not on the lanes beside it
            lanes = min(_MOST_LANES, _LANE_ROUNDS // self.rounds) // BLOCK * BLOCK or BLOCK
            seen = [
                self.watch(Simulation(seed, min(lanes, n - done), first_block=done // BLOCK, transcript=True))
                for done in range(0, n, lanes)
            ]
        return ViewSample(np.concatenate([one.values for one in seen]), seen[0].columns)

    @subjects_own()
    def works_in_lanes(self) -> bool:
        """Try one block of lanes."""
        try:
            self.watch(Simulation(0, BLOCK, transcript=True))
        except subject_exceptions():  # a user's learner may raise anything on several lanes
            return False
        return True


@subjects_own()
def played_actions(build: BuildLearner, problem: Problem, gate: Gate, data: FloatArray) -> ActionArray:
    """Return a learner's actions on `data` (all worlds of a coupled gate), shape (lanes, rounds, size)."""
    actions = np.empty((gate.lanes, data.shape[-2] - 1, problem.structure.size), dtype=np.int16)
    for number, action in enumerate(play_records(build(gate), problem, gate, data)):
        actions[:, number] = action
    return actions


def transcript_view(
    build: BuildLearner,
    problem: Problem,
    data: FloatArray,
    features: Sequence[ActionFeature],
    *,
    hidden: Sequence[int],
    single_lanes: bool,
) -> LearnerView:
    """Return the view of some features of the action sequence on `data`, shape (rounds + 1, arms).

    Parameters
    ----------
    build, problem, data
        The learner, its problem, and the data set.
    features
        The features of a transcript; none: all actions as they are.
    hidden
        Rounds whose actions the adversary does not see: the record's own, in joint differential privacy.
    single_lanes
        See `LearnerView`.
    """
    features = features or first_actions(len(data) - 1, ActionSpace.from_problem(problem))

    def watch(gate: Simulation) -> ViewSample:
        transcript = Transcript(played_actions(build, problem, gate, data))
        for number in hidden:
            transcript.hide(number)
        return read_features(features, transcript)

    return LearnerView(watch, single_lanes, len(data) - 1)


def message_view(
    build: BuildLearner, problem: Problem, data: FloatArray, record: int, *, single_lanes: bool = False
) -> LearnerView:
    """Return the view of everything that the user of one record sends, on `data`.

    Later rounds do not matter to the message, so runs stop with the record's own round.

    Raises
    ------
    ParameterError
        When it is watched, if a lane sends more or fewer values than another.
    """
    shortened = data[: max(record, 1) + 1]

    @subjects_own()
    def send_message(gate: Simulation) -> FloatArray:
        for _ in play_records(build(gate), problem, gate, shortened):
            pass
        values = [
            _rows_by_lane(array, gate.lanes) for owner, array in gate.published or () if owner == record
        ]
        return np.concatenate(values, axis=1) if values else np.zeros((gate.lanes, 1))

    def watch(gate: Simulation) -> ViewSample:
        message = send_message(gate)
        if message.shape[1] != len(columns):
            raise ParameterError(
                f"the user of round {record} sent {message.shape[1]} values in one run and {len(columns)} in another: "
                "messages must be of one length; release values of some runs only under a mask (where=)"
            )
        return ViewSample(message, columns)

    probe = Simulation(0, 1, transcript=True, permissive=True)
    send_message(probe)
    kinds: list[Literal["category", "real"]] = [
        "category" if np.issubdtype(array.dtype, np.integer) else "real"
        for owner, array in probe.published or ()
        if owner == record
        for _ in range(array.size)
    ]
    columns = tuple(
        Column(f"report[{i}]", f"value {i} of the user's message", kind)
        for i, kind in enumerate(kinds, start=1)
    )
    columns = columns or (Column("report[0]", "the message", "category"),)
    return LearnerView(watch, single_lanes, len(shortened) - 1)


def _rows_by_lane(published: npt.NDArray[Any], lanes: int) -> FloatArray:
    """Return the values of one release, a row for each lane; several releases of one value come stacked in front.

    Raises
    ------
    ParameterError
        If the lanes cannot be separated, as a function after the mechanism has changed the shape.
    """
    array = np.asarray(published, dtype=np.float64)
    if lanes == 1 or array.shape == (lanes,):
        return array.reshape(lanes, -1)
    if array.ndim < 2 or array.shape[-2] != lanes:
        raise ParameterError(
            f"a release of shape {array.shape}: a function after a mechanism must return the shape (lanes, n) of its "
            f"argument, here with {lanes} lanes"
        )
    return np.moveaxis(array, -2, 0).reshape(lanes, -1)
