"""Simulation results in a file are accepted only in the format in which they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accountant.files.json_object import JsonError
from verify.experiments.configuration import Configuration
from verify.experiments.simulation_result import SimulationResult

GOOD = SimulationResult(
    "cucb", "arms", "replace one", Configuration("cucb", 10, 2), (5, 10), (1.0, 2.0), (0.1, 0.2), (0.5, 0.5), 1.0, 2.0
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": ["inf", 10]}, "rounds must be"),
        ({"rounds": [10, 5]}, "rounds must be"),
        ({"rounds": [0, 5]}, "rounds must be"),
        ({"regret_sem": [10**400, None]}, "regret_sem must hold"),
        ({"regret_sem": ["0.1", None]}, "regret_sem must hold"),
        ({"best_kept": 10**400}, "best_kept"),
        ({"rounds": [5]}, "must be as many"),
    ],
)
def test_what_no_simulation_says_is_refused(change: dict[str, Any], message: str) -> None:
    written = json.loads(json.dumps(GOOD.json()))
    assert SimulationResult.from_json(written) == GOOD
    with pytest.raises(JsonError, match=message):
        SimulationResult.from_json({**written, **change})
