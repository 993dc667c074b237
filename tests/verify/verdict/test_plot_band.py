"""The picture of a band is drawn, with and without an upper curve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mechanisms import Laplace
from verify import verify
from verify.events.event import ReportCount
from verify.sampling.delta_band import BandEvent, DeltaBand, pair_profile
from verify.verdict.plot_band import plot_band
from verify.verdict.result import Verification

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def verified() -> Verification:
    return verify(Laplace(scale=1.0), epsilon=1.0, effort="quick", samples=20_000)


@pytest.mark.few(1)
@pytest.mark.parametrize(("known", "bounds"), [(True, (0.73, 0.27)), (False, (0.2, 0.3))])
def test_a_band_is_drawn(
    verified: Verification, tmp_path: Path, known: bool, bounds: tuple[float, float]
) -> None:
    band = DeltaBand((BandEvent(ReportCount(1, False, ()), False, 1, 1, *bounds),), 100, 0.95)
    path = tmp_path / "band.png"
    data = band.to_dict(pair_profile(1.0, 1e-5) if known else None, upper_by="a theorem")
    assert plot_band(replace(verified, details={"band": data}), path)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_verification_is_drawn(verified: Verification, tmp_path: Path) -> None:
    band = verified.json()["band"]
    assert all(low <= up for low, up in zip(band["delta_lower"], band["delta_upper"], strict=True))
    assert plot_band(verified, tmp_path / "band.png")
    assert (tmp_path / "band.png").stat().st_size > 10_000


def test_where_nothing_was_sampled_nothing_is_drawn(verified: Verification, tmp_path: Path) -> None:
    assert not plot_band(replace(verified, details={}), tmp_path / "band.png")
    assert not (tmp_path / "band.png").exists()
