"""The results of a simulation: regret and reward of every run at checkpoints; as JSON, and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from accountant.files.json_object import FromJson, JsonError, JsonObject
from accountant.files.whole_file import whole_file
from algorithms.simulate import Trace
from mechanisms.arrays import FloatArray
from verify.findings.subject_error import SubjectError

_WORDS = ("learner", "problem", "neighbours", "instance")


@dataclass(frozen=True, eq=False)
class SimulatedRuns(FromJson):
    """The runs of one configuration.

    Attributes
    ----------
    trace
        Regret and reward of every run at checkpoints.
    learner, problem, neighbours
        The names of the learner and the problem, and the relation that the learner's claim is for.
    instance
        A word for all of the problem; two that have the same are the same. Empty if there is none.
    further
        JSON data beside the curves: ``size`` of the problem, ``best_kept``, ``communication`` (and
        ``most_communication``, where there is a formula) and ``phases`` of linear learners, ``recommended`` (the next
        action of each run) and ``best`` where they were asked for.
    """

    trace: Trace
    learner: str
    problem: str
    neighbours: str
    instance: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def final(self) -> FloatArray:
        """The regret of every run after its last round."""
        return np.asarray(self.trace.regret[-1])

    def save(self, path: Path) -> None:
        """Write a file of JSON, from which `load` has it back; an interruption leaves none."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(json.dumps(self.json()).encode())

    def json(self) -> dict[str, Any]:
        """Return JSON data from which `from_json` has it back."""
        return {
            **{name: getattr(self, name) for name in _WORDS},
            "rounds": self.trace.rounds.tolist(),
            "regret": self.trace.regret.tolist(),
            "reward": self.trace.reward.tolist(),
            "seconds": self.trace.seconds,
            "stored": self.trace.stored,
            "further": dict(self.further),
        }

    @classmethod
    def from_json(cls, data: Any) -> SimulatedRuns:
        """Read a file of `save`, or the report of another process, if it has the form of a simulation.

        Raises
        ------
        SubjectError
            If it has another form.
        """
        try:
            read = JsonObject(data, "the simulation")
            words = {name: read.text(name) for name in _WORDS}
            rounds = read_rounds(read)
            regret, reward = (_read_table(read, name, len(rounds)) for name in ("regret", "reward"))
            seconds, stored = (read.pop(name, int, float) for name in ("seconds", "stored"))
            further = read.object("further", read_further)
            read.end()
            if regret.shape != reward.shape or not (is_real(seconds) and is_real(stored)):
                raise JsonError("regret, reward, seconds, stored: must be as many numbers, and finite ones")
        except JsonError:
            raise SubjectError("the process in which it ran reported no simulation") from None
        trace = Trace(np.array(rounds, dtype=np.int64), regret, reward, float(seconds), float(stored))
        return cls(trace, **words, further=further)


def is_real(value: Any) -> bool:
    """Return True if this is a finite number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def read_rounds(read: JsonObject) -> list[int]:
    """Take the checkpoints: increasing whole numbers of at least 1."""
    rounds: list[int] = read.pop("rounds", list)
    if not (
        rounds
        and all(type(each) is int and 0 < each < 2**62 for each in rounds)
        and all(before < after for before, after in pairwise(rounds))
    ):
        raise JsonError("rounds must be growing whole numbers from 1 on, not none")
    return rounds


def _read_table(read: JsonObject, key: str, length: int) -> FloatArray:
    """Take rows of numbers, (checkpoints, runs)."""
    rows = read.pop(key, list)
    if len(rows) != length or not all(
        isinstance(row, list) and row and len(row) == len(rows[0]) and all(map(is_real, row)) for row in rows
    ):
        raise JsonError(f"{key} must be rows of numbers")
    return np.array(rows, dtype=np.float64)


def _are_arms(value: Any) -> bool:
    return isinstance(value, list) and all(type(arm) is int for arm in value)


def _are_reals(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_real, value.values()))


_FURTHER: Mapping[str, Callable[[Any], bool]] = {
    "size": lambda value: isinstance(value, str),
    "best_kept": is_real,
    "communication": _are_reals,
    "most_communication": _are_reals,
    "phases": lambda value: (
        isinstance(value, dict)
        and all(isinstance(each, list) and all(map(is_real, each)) for each in value.values())
    ),
    "recommended": lambda value: isinstance(value, list) and all(map(_are_arms, value)),
    "best": _are_arms,
}
"""The form of each entry of `SimulatedRuns.further`."""


def read_further(read: JsonObject) -> dict[str, Any]:
    """Take all remaining keys, which are entries of `SimulatedRuns.further`."""
    further = read.pop_remaining()
    for key, value in further.items():
        if key not in _FURTHER or not _FURTHER[key](value):
            raise JsonError(f"the simulation has a key that is unknown, or is no such thing: {key[:60]!r}")
    return further
