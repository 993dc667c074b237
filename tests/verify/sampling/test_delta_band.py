"""A band holds jointly, and what is derived from it agrees with closed forms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from mechanisms.profiles.atomic_profile import lower_hull
from verify.events.event import Event, HalfLine
from verify.events.readings import ColumnValue
from verify.events.view_sample import Column
from verify.sampling.delta_band import (
    MOST_EVENTS,
    BandEvent,
    DeltaBand,
    delta_band,
    pair_profile,
)


def some_event(limit: int = 1) -> Event:
    return HalfLine(ColumnValue(Column("a", "a", "real")), float(limit), False)


def band_of(*bounds: tuple[float, float]) -> DeltaBand:
    return DeltaBand(tuple(BandEvent(some_event(), False, 1, 1, low, up) for low, up in bounds), 100, 0.95)


def gaussian_hits(rng: np.random.Generator, mu: float, cuts: np.ndarray, n: int) -> np.ndarray:
    """Counts of the half-lines {x ≥ cut} under N(mu, 1) (data D) and N(0, 1) (D′); shape (2, events)."""
    return np.stack([np.sum(rng.normal(m, 1.0, n)[:, None] >= cuts, axis=0) for m in (mu, 0.0)])


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Balle and Wang 2018, theorem 8."""
    first = special.ndtr(mu / 2 - epsilon / mu)
    return float(first - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu))


CUTS = np.linspace(-1.5, 3.5, 24)
EVENTS = [(some_event(i), False, 0.5) for i in range(len(CUTS))]


@pytest.mark.slow
def test_the_whole_band_holds_at_once() -> None:
    """400 bands of a Gaussian: misses anywhere on the curve at most 5 % + 4 s.e. (false alarm 3.2e-5)."""
    rng, mu, runs, n = np.random.default_rng(5), 1.0, 400, 2_000
    p, q = special.ndtr(mu - CUTS), special.ndtr(-CUTS)
    grid = np.linspace(0.0, 5.0, 40)
    truth = np.array([gaussian_delta(mu, x) for x in grid])
    misses = 0
    for _ in range(runs):
        band = delta_band(EVENTS, np.stack([rng.binomial(n, p), rng.binomial(n, q)]), n, confidence=0.95)
        misses += bool(np.any(band.delta(grid) > truth) or band.mu > mu)
    assert misses / runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / runs)


def test_the_band_is_near_the_truth() -> None:
    n, mu = 1_000_000, 1.0
    band = delta_band(EVENTS, gaussian_hits(np.random.default_rng(1), mu, CUTS, n), n, confidence=0.95)
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = gaussian_delta(mu, epsilon)
        assert 0.9 * truth - 0.003 <= float(band.delta(epsilon)) <= truth
    assert 0.98 <= band.mu <= mu
    alpha = np.linspace(0.0, 1.0, 30)
    exact = special.ndtr(special.ndtri(1.0 - alpha) - mu)  # the trade-off function of N(0, 1) and N(mu, 1)
    assert np.all(band.trade_off(alpha) >= exact - 1e-12)
    assert np.all(band.trade_off(alpha) <= exact + 0.03)


@given(
    st.lists(st.tuples(st.floats(0.001, 0.999), st.floats(0.001, 0.999)), min_size=1, max_size=8),
    st.floats(0.0, 5.0),
    st.floats(0.0, 0.9),
)
def test_curves_of_one_band_agree(bounds: list[tuple[float, float]], epsilon: float, delta: float) -> None:
    band = band_of(*bounds)
    at = float(band.delta(epsilon))
    both = [*bounds, *((1 - up, 1 - low) for low, up in bounds)]  # events, and their complements
    assert at == pytest.approx(max(0.0, *(low - math.exp(epsilon) * up for low, up in both)), abs=1e-12)
    if at > 1e-9:
        assert float(band.epsilon(at)) == pytest.approx(epsilon, abs=1e-6)
    assert float(band.delta(band.epsilon(delta))) <= delta + 1e-9
    alpha = np.linspace(0.0, 1.0, 101)
    beta = band.trade_off(alpha)
    assert np.all(np.diff(beta) <= 1e-12)
    assert np.all(np.diff(beta, 2) >= -1e-9), "convex"
    assert np.all(beta <= 1.0 - alpha + 1e-12)
    for low, up in bounds:
        if low > up:
            assert float(band.trade_off(up)) <= 1.0 - low + 1e-12
            assert float(band.trade_off(1.0 - low)) <= up + 1e-12
    # 1 - δ - e^ε α, the line of the profile (Dong, Roth and Su 2022, proposition 2.12), touches from below
    assert np.all(beta >= 1.0 - max(at, 0.0) - math.exp(epsilon) * alpha - 1e-9)


def test_randomized_response_has_closed_forms() -> None:
    e = math.e
    band = band_of((e / (1 + e), 1 / (1 + e)))
    assert float(band.epsilon(0.0)) == pytest.approx(1.0)
    assert float(band.delta(0.0)) == pytest.approx((e - 1) / (e + 1))
    p = e / (1 + e)
    assert band.mu == pytest.approx(2 * special.ndtri(p))
    assert band.delta(np.zeros((2, 3))).shape == (2, 3)


def test_both_orders_count() -> None:
    hits = np.array([[100, 300], [300, 100]])
    band = delta_band([(some_event(1), True, 0.5), (some_event(2), False, 0.5)], hits, 1000, confidence=0.95)
    assert [(one.hits, one.hits_prime) for one in band.events] == [(300, 100), (300, 100)]
    assert band.events[0].low == band.events[1].low


def test_bounds_are_exact_and_share_the_error() -> None:
    hits = np.array([[300, 500], [100, 50]])
    events = [(some_event(1), False, 0.25), (some_event(2), False, 0.5)]
    band = delta_band(events, hits, 1000, confidence=0.9, share_of_error=0.5)
    low, up = band.events[0].low, band.events[0].up
    assert stats.binom.sf(299, 1000, low) == pytest.approx(0.1 * 0.5 / 2 * 0.25)
    assert stats.binom.cdf(100, 1000, up) == pytest.approx(0.1 * 0.5 / 2 * 0.75)


def test_a_band_without_events_says_nothing() -> None:
    band = delta_band([], np.zeros((2, 0), dtype=np.int64), 0, confidence=0.95)
    assert float(band.delta(0.0)) == float(band.epsilon(0.0)) == band.mu == 0.0
    assert np.allclose(band.trade_off([0.0, 0.5, 1.0]), [1.0, 0.5, 0.0])
    json.dumps(band.to_dict(), allow_nan=False)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_the_lower_hull_is_the_lowest_line_between_any_two_points(points: list[tuple[int, int]]) -> None:
    x, y = (np.array(part, dtype=np.float64) for part in zip(*sorted(points), strict=True))
    corners = lower_hull(x.tolist(), y.tolist())
    corner_x, corner_y = x[corners], y[corners]
    slopes = np.diff(corner_y) / np.diff(corner_x)
    assert (np.diff(corner_x) > 0.0).all()
    assert (np.diff(slopes) > 0.0).all(), "a corner bends"
    assert (corner_x[0], corner_x[-1]) == (x.min(), x.max())
    for at in x:
        lowest = min(
            b if a == at else b + (d - b) * (at - a) / (c - a)
            for a, b in points for c, d in points if a == at or a < at < c
        )  # fmt: skip
        assert np.interp(at, corner_x, corner_y) == pytest.approx(lowest, abs=1e-12)


def test_of_events_with_one_false_positive_rate_the_most_powerful_one_counts() -> None:
    assert float(band_of((0.6, 0.2), (0.7, 0.2)).trade_off(0.2)) == pytest.approx(0.3)


def test_json_has_both_curves() -> None:
    band = band_of((0.73, 0.27))
    data = json.loads(json.dumps(band.to_dict(pair_profile(1.0, 0.0), reach=1.5), allow_nan=False))
    assert data["epsilon"][0] == 0.0
    assert data["epsilon"][-1] >= 1.5
    assert len(data["epsilon"]) == len(data["delta_lower"]) == len(data["delta_upper"])
    assert all(low <= up + 1e-12 for low, up in zip(data["delta_lower"], data["delta_upper"], strict=True))
    assert band.to_dict()["delta_upper"] is None
    assert band.sentence.text.startswith("δ(0) ≥ 0.")
    assert band.sentence.confidence == 0.95
    assert data["events"][0]["words"] == some_event().description


def test_a_pairs_profile_is_that_of_randomized_response() -> None:
    profile = pair_profile(1.0, 0.1)
    assert profile(0.0) == pytest.approx(0.1 + 0.9 * (math.e - 1) / (math.e + 1))
    assert profile(1.0) == profile(7.0) == 0.1
    assert pair_profile(math.inf, 0.0)(3.0) == 1.0
    assert pair_profile(1000.0, 0.0)(0.0) == pytest.approx(1.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence"):
        delta_band([], np.zeros((2, 0), dtype=np.int64), 1, confidence=1.0)
    many = [(some_event(), False, 0.5)] * (MOST_EVENTS + 1)
    with pytest.raises(ValueError, match="events"):
        delta_band(many, np.zeros((2, len(many)), dtype=np.int64), 1, confidence=0.95)
