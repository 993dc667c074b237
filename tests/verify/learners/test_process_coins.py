"""A coin that is thrown once in a process hides a part of what is released, as any other coin does."""

import os
from pathlib import Path

import pytest

from verify import verify

SUBJECTS = Path(__file__).parent.parent / "subjects" / "process_coins.py"
FEW = {"effort": "quick", "samples": 20_000, "epsilon": 0.7}


@pytest.fixture(autouse=True)
def _heads_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """All coins of this process come up heads, so that it shows all there is; those of others are thrown."""
    here, thrown = os.getpid(), os.urandom
    monkeypatch.delenv("A_WORD", raising=False)
    monkeypatch.setattr(os, "urandom", lambda n: b"\1" * n if os.getpid() == here else thrown(n))


@pytest.mark.slow_cells("AtImport", "InDefault", "InClass", "InCache", "OfHash")
@pytest.mark.parametrize("name", ["AtImport", "answers", "InDefault", "InClass", "InCache", "OfHash"])
def test_a_coin_of_the_process_does_not_refute_what_is_true(name: str) -> None:
    """Refuted before, a learner's as exact: true at 0.620. All coins agree in 1 of 2^15 runs, and then this fails."""
    result = verify(f"{SUBJECTS}:{name}", **FEW)  # type: ignore[arg-type]
    assert result.verdict == "unproven"
    assert not result.lower.in_view
    assert any("drawn or kept at import" in finding.message for finding in result.findings)


def test_noise_that_is_drawn_once_does_not_refute_what_is_true() -> None:
    """Its numbers never come again elsewhere, so that all other processes agree: but not with this one."""
    result = verify(f"{SUBJECTS}:noisy_once", **FEW)  # type: ignore[arg-type]
    assert result.verdict == "unproven"
    assert any("drawn or kept at import" in finding.message for finding in result.findings)


@pytest.mark.slow
def test_how_often_a_coin_of_the_process_refutes_a_function() -> None:
    """Of 200 runs, five in a hundred were refuted when few draws were counted; 2^-15 of each is left."""
    verdicts = [verify(f"{SUBJECTS}:answers", **FEW).verdict for _ in range(200)]  # type: ignore[arg-type]
    assert verdicts == ["unproven"] * 200


@pytest.mark.slow
@pytest.mark.slow_cells("Leaks")
@pytest.mark.parametrize("name", ["Leaks", "leaks"])
def test_a_leak_beside_it_is_refuted(name: str) -> None:
    assert verify(f"{SUBJECTS}:{name}", **FEW).verdict == "refuted"  # type: ignore[arg-type]
