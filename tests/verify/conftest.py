"""Searches of tests that are not about searching."""

from dataclasses import replace

import pytest

from accountant.provenance import LIBRARY
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


@pytest.fixture
def faults_as_library(monkeypatch):
    """Take the faults' code for the library's, so that a mutant is caught by what it does, not by whose code it is."""
    monkeypatch.setattr("verify.learners.internals.LIBRARY", (*LIBRARY, "faults"))
