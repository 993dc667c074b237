"""Simulation results of another process are accepted only in their own format."""

from __future__ import annotations

from typing import Any

import pytest

from verify import SubjectError
from verify.experiments.simulated_runs import SimulatedRuns

GOOD = {
    "instance": "c", "learner": "a", "neighbours": "replace one", "problem": "b", "rounds": [1, 2],
    "regret": [[0.5, 1], [1.0, 2.0]], "reward": [[0.1, 0.2], [0.3, 0.4]], "seconds": 0.1, "stored": 0.0,
    "further": {
        "best_kept": 1.0, "communication": {"reals": 3.0, "bits": 0}, "phases": {"rounds": [1], "regret": [0.5]},
    },
}  # fmt: skip


def test_a_simulation_is_taken_as_it_is() -> None:
    assert SimulatedRuns.from_json(GOOD).json() == GOOD


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": [1.5, 2]}, {"rounds": [1]}, {"rounds": [2, 1]}, {"regret": [["0", 1], [1, 2]]},
        {"regret": [[float("nan"), 1], [1, 2]]}, {"regret": [[1], [1, 2]]}, {"reward": [[1], [2]]}, {"learner": 3},
        {"seconds": "2"}, {"stored": None}, {"further": {"best_kept": "all"}}, {"further": {"communication": [1]}},
        {"further": {"communication": {"reals": "3"}}}, {"further": {"phases": {"rounds": 3}}},
        {"further": {"verdict": "certified"}}, {"verdict": "certified"}, {"seconds": 10**400},
        {"regret": [[10**400, 1], [1, 2]]}, {"further": {"best_kept": 10**400}},
    ],
)  # fmt: skip
def test_everything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SubjectError, match="no simulation"):
        SimulatedRuns.from_json({**GOOD, **change})


@pytest.mark.parametrize("data", [None, [], "x", {}])
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(SubjectError, match="no simulation"):
        SimulatedRuns.from_json(data)
