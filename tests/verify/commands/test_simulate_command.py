"""What a simulation in another process reports is taken only in the form of a simulation."""

from __future__ import annotations

from typing import Any

import pytest

from verify import SubjectError
from verify.commands.simulate_command import _checked

GOOD = {
    "learner": "a", "neighbours": "replace one", "problem": "b", "rounds": [1, 2],
    "regret_mean": [0.5, 1], "regret_sem": [None, 0.1],
    "return_mean": [0.1, 0.2], "runs": 2, "seed": 0, "seconds": 0.1, "lane_rounds_per_second": 10.0,
    "best_kept": 1.0, "communication": {"reals": 3.0, "bits": 0}, "phases": {"rounds": [1], "regret": [0.5]},
}  # fmt: skip


def test_a_simulation_is_taken_as_it_is() -> None:
    assert _checked(GOOD, "mine.py:Mine") == GOOD


@pytest.mark.parametrize(
    "change",
    [
        {"rounds": [1.5, 2]}, {"rounds": [1]}, {"regret_mean": ["0", 1]}, {"regret_mean": [None, 1]}, {"runs": "2"},
        {"learner": 3}, {"best_kept": "all"}, {"communication": [1]}, {"communication": {"reals": "3"}},
        {"phases": {"rounds": 3}}, {"verdict": "certified"},
    ],
)  # fmt: skip
def test_everything_else_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SubjectError, match="no simulation"):
        _checked({**GOOD, **change}, "mine.py:Mine")


@pytest.mark.parametrize("data", [None, [], "x", {}])
def test_what_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(SubjectError, match="no simulation"):
        _checked(data, "mine.py:Mine")
