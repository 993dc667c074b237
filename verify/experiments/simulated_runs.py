"""The results of a simulation: regret and reward of every run at checkpoints; as JSON, and back."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from accountant.files.json_object import FromJson
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
        What was simulated, and the relation that the learner's claim is for.
    instance
        A word for all of the problem; two that have the same are the same. Empty if there is none.
    further
        JSON data beside the curves: ``size`` of the problem, ``best_kept``, ``communication`` (and
        ``most_communication``, where there is a formula) and ``phases`` of linear learners, ``recommended`` (what each
        run would play next) and ``best`` where they were asked for.
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
        told: dict[str, Any] = data if isinstance(data, dict) else {}
        numbers: list[Any] = [told.get("seconds"), told.get("stored")]
        rounds: Any = told.get("rounds")
        good = (
            told.keys() == {*_WORDS, "rounds", "regret", "reward", "seconds", "stored", "further"}
            and all(type(told[name]) is str for name in _WORDS)
            and all(map(is_real, numbers))
            and are_rounds(rounds)
            and isinstance(told["further"], dict)
            and all(is_known(name, value) for name, value in told["further"].items())
        )
        if good:
            regret, reward = _table(told["regret"], len(rounds)), _table(told["reward"], len(rounds))
            if regret is not None and reward is not None and regret.shape == reward.shape:
                trace = Trace(np.array(rounds, dtype=np.int64), regret, reward, *map(float, numbers))
                return cls(trace, **{name: told[name] for name in _WORDS}, further=told["further"])
        raise SubjectError("the process in which it ran reported what is no simulation")


def is_real(value: Any) -> bool:
    """Return True if this is a finite number that a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def are_rounds(rounds: Any) -> bool:
    """Return True if these are checkpoints: increasing whole numbers of at least 1."""
    return (
        isinstance(rounds, list)
        and bool(rounds)
        and all(type(each) is int and 0 < each < 2**62 for each in rounds)
        and all(before < after for before, after in pairwise(rounds))
    )


def _table(rows: Any, length: int) -> FloatArray | None:
    """Return rows of numbers as an array, (checkpoints, runs); None if they are none."""
    good = (
        isinstance(rows, list)
        and len(rows) == length
        and all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows)
        and all(is_real(value) for row in rows for value in row)
    )
    return np.array(rows, dtype=np.float64) if good else None


def is_known(name: str, value: Any) -> bool:
    """Return True if this is a known entry of `SimulatedRuns.further`, of the right form."""
    if name == "size":
        return isinstance(value, str)
    if name == "best_kept":
        return is_real(value)
    if name in ("communication", "most_communication"):
        return isinstance(value, dict) and all(map(is_real, value.values()))
    if name == "phases":
        return isinstance(value, dict) and all(
            isinstance(values, list) and all(map(is_real, values)) for values in value.values()
        )
    if name == "recommended":
        return isinstance(value, list) and all(map(_are_arms, value))
    return name == "best" and _are_arms(value)


def _are_arms(value: Any) -> bool:
    return isinstance(value, list) and all(type(arm) is int for arm in value)
