"""The pictures of a report as a PNG file: all of them, with and without an upper curve."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mechanisms import Laplace
from verify import verify
from verify.document.drawings import LossInterval
from verify.document.png import _interval as draw_interval
from verify.document.png import draw_png, written_figure
from verify.events.event import RowTable
from verify.sampling.delta_band import BandEvent, DeltaBand, pair_profile
from verify.verdict.result import Verification
from verify.verdict.verification_document import verification_document

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402


def test_all_pictures_have_one_style(tmp_path: Path) -> None:
    with written_figure(tmp_path / "empty.png", (1.0, 1.0)):
        assert matplotlib.rcParams["font.family"] == ["serif"]
    assert (tmp_path / "empty.png").read_bytes().startswith(b"\x89PNG")
    assert matplotlib.rcParams["font.family"] != ["serif"]


@pytest.fixture(scope="module")
def verified() -> Verification:
    return verify(Laplace(scale=1.0), epsilon=1.0, effort="quick", samples=20_000)


@pytest.mark.slow
@pytest.mark.parametrize(("known", "bounds"), [(True, (0.73, 0.27)), (False, (0.2, 0.3))])
def test_a_band_is_drawn(
    verified: Verification, tmp_path: Path, known: bool, bounds: tuple[float, float]
) -> None:
    band = DeltaBand((BandEvent(RowTable((), ()), False, 1, 1, *bounds),), 100, 0.95)
    path = tmp_path / "band.png"
    data = band.to_dict(pair_profile(1.0, 1e-5) if known else None, upper_by="a theorem")
    draw_png(verification_document(replace(verified, details={"band": data})), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_where_nothing_was_sampled_the_bounds_are_drawn(verified: Verification, tmp_path: Path) -> None:
    draw_png(verification_document(replace(verified, details={})), tmp_path / "bounds.png")
    assert (tmp_path / "bounds.png").stat().st_size > 10_000


@pytest.mark.parametrize(("low", "high", "points"), [(0.999999, 1.0, 0), (0.0, 1e-9, 0), (2.0, 1.0, 2)])
def test_bounds_are_seen_however_near_they_are_and_within_the_claim(
    low: float, high: float, points: int
) -> None:
    axes = Figure().add_subplot()
    draw_interval(axes, LossInterval(1.0, low, high, "the true ε lies in the bar"))
    for bar in axes.patches:
        assert bar.get_width() >= 0.01
        assert 0.0 <= bar.get_x() <= low
        assert bar.get_x() + bar.get_width() <= max(high, 0.02)
    assert len(axes.patches) == (points == 0)
    assert sum(line.get_marker() == "o" and len(line.get_xdata()) for line in axes.lines) == points
    assert ("contradict" in axes.get_xlabel()) is (points > 0)
