"""Wealth files that somebody has changed are read or refused."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from damaged import damaged
from hypothesis import HealthCheck, given, settings

from algorithms.claim import ClaimForm, View
from mechanisms import Interval
from verify import verify
from verify.betting.wealth_file import WealthError, open_account

CLAIM = ClaimForm("central", View.OUTPUT, "one report", "a test", differ="any two").with_parameters(1.0)


def laplace(data, rng, lanes):
    return data + rng.laplace(size=lanes)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a run writes."""
    file = tmp_path_factory.mktemp("wealth") / "wealth.json"
    verify(laplace, epsilon=1.0, neighbours=Interval(0, 1), anytime=file, effort="quick", samples=20_000)
    return json.loads(file.read_text())


def test_damaged_wealth_is_read_or_refused(tmp_path: Path, written: Any) -> None:
    file = tmp_path / "wealth.json"

    @settings(max_examples=40, suppress_health_check=list(HealthCheck))
    @given(damaged(written))
    def reads(document: Any) -> None:
        file.write_text(json.dumps(document))
        with suppress(WealthError):  # every other error fails the test
            open_account(file, "laplace", "digest", CLAIM, {})

    reads()
