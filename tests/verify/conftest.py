"""Searches of tests that are not about searching."""

from dataclasses import replace

import pytest

from verify.bandits import paired_runs
from verify.conduct.effort import EFFORTS


@pytest.fixture
def small_searches(monkeypatch):
    """Effort ``quick`` with a small part of its search: for what a verification shows without one."""
    quick = EFFORTS["quick"]
    small = replace(
        quick, scan_rounds=16, scan_lanes=64, lane_rounds=100_000, search_samples=20_000, replays=5
    )
    monkeypatch.setitem(EFFORTS, "quick", small)
    monkeypatch.setattr(paired_runs, "_FEWEST_LANE_ROUNDS", 100_000)
