"""Simulated faults: none breaks a promise of the ledger, and each that is planted is found."""

from __future__ import annotations

import pytest
from simulation import FAULTS, History, Lines


def found(fault: str | None, histories: int, seed: int = 0) -> tuple[int, str] | None:
    """Return the first history in which something is wrong, and what."""
    for number in range(histories):
        wrong = History(seed * 10_000_000 + number, Lines, fault).play()
        if wrong is not None:
            return number, wrong
    return None


def test_300_histories_break_no_promise() -> None:
    assert found(None, 300) is None


@pytest.mark.slow
def test_100_000_histories_break_no_promise() -> None:
    assert found(None, 100_000, seed=1) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    assert found(fault, 10_000) is not None
