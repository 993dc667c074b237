"""The joint region: exact coverage at small samples, rigour and sharpness of the infimum at large ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from mechanisms.arrays import FloatArray
from verify.sampling.binomial_bounds import Union
from verify.sampling.stouffer import BOX, Stouffer, _spread, stouffer_weight


def miss_rates(bounds: FloatArray, epsilon: float, delta: float, n: int, m: int) -> FloatArray:
    """Probability that the bound exceeds epsilon, for pairs with p = e^epsilon q + delta: exact, all counts."""
    q = np.linspace(1e-4, (1.0 - delta) / math.exp(epsilon), 200)
    p = np.minimum(math.exp(epsilon) * q + delta, 1.0)
    first = stats.binom.pmf(np.arange(n + 1)[:, None], n, p)  # (counts, pairs)
    second = stats.binom.pmf(np.arange(m + 1)[:, None], m, q)
    rates: FloatArray = np.einsum("ik,jk,ij->k", first, second, (bounds > epsilon).astype(float))
    return rates


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (0.1, 0.3), (1e-300, 0.7)])
def test_knots_end_where_they_are_asked_to_and_never_fall(start: float, end: float) -> None:
    knots = _spread(start, end)
    assert (knots[0], knots[-1]) == (start, end)
    assert (np.diff(knots) >= 0.0).all()


@pytest.mark.slow
@pytest.mark.slow_cells("40-25-0.5-0.0-0.05-3")
@pytest.mark.parametrize(
    ("n", "m", "weight", "delta", "error", "most"),  # one part in so many of the error is used at least
    [
        (40, 25, 0.5, 0.0, 0.05, 3),
        pytest.param(40, 25, 0.5, 0.0, 1e-4, 8, marks=pytest.mark.slow),
        pytest.param(40, 25, 0.15, 0.0, 0.05, 12, marks=pytest.mark.slow),
        (20, 30, 0.9, 0.1, 0.05, 12),
    ],
)
def test_coverage_is_exact_over_all_counts(
    n: int, m: int, weight: float, delta: float, error: float, most: float
) -> None:
    inversion = Stouffer(weight)
    bounds = np.array(
        [[inversion.epsilon_lower(k, n, h, m, delta, error) for h in range(m + 1)] for k in range(n + 1)]
    )
    worst = max(miss_rates(bounds, epsilon, delta, n, m).max() for epsilon in (0.0, 0.3, 1.0, 2.0, 3.0))
    assert error / most <= worst <= error


def exact_edge(k: int, n: int, h: int, m: int, error: float, weight: float) -> tuple[FloatArray, FloatArray]:
    """Points on the edge of the region, by inversion of the beta function, without any chord or staircase."""
    top, z = -special.ndtri(0.5 * BOX * error), -special.ndtri((1.0 - BOX) * error)
    other = math.sqrt(1.0 - weight**2)
    u = np.linspace(max((z - other * top) / weight, -37.0), top, 4001)
    v = np.maximum((z - weight * u) / other, -37.0)
    return _quantile(k, n - k + 1.0, -u), _quantile(h + 1.0, m - h, v)


def _quantile(a: float, b: float, score: FloatArray) -> FloatArray:
    """Of Beta(a, b) at Φ(score), from the nearer side."""
    from_left = special.betaincinv(a, b, special.ndtr(score))
    return np.where(score < 0.0, from_left, special.betainccinv(a, b, special.ndtr(-score)))


counts = st.integers(30, 10**6).flatmap(
    lambda n: st.tuples(st.integers(1, n), st.integers(0, n - 1), st.just(n))
)


@given(counts, st.floats(0.06, 0.97), st.sampled_from([0.1, 0.05, 1e-4, 1e-6]), st.floats(0.0, 6.0))
@settings(max_examples=10)
def test_the_infimum_is_rigorous_and_sharp(
    count: tuple[int, int, int], weight: float, error: float, epsilon: float
) -> None:
    k, h, n = count
    p, q = exact_edge(k, n, h, n, error, weight)
    inversion = Stouffer(weight)
    exact = float(np.log(p / q).min())
    bound = inversion.epsilon_lower(k, n, h, n, 0.0, error)
    assert bound <= exact + 1e-12
    loss = exact - bound
    assert loss <= 0.02 * (math.log(k / max(h, 0.5)) - exact) + 1e-6
    assert inversion.delta_lower(k, n, h, n, epsilon, error) <= (p - math.exp(epsilon) * q).min() + 1e-12


@pytest.mark.few(2)
@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("k", "h", "n"), [(3, 1, 50), (500, 40, 1000), (30_000, 25_000, 10**6)])
def test_every_step_of_the_staircase_lies_outside_the_region(k: int, h: int, n: int, weight: float) -> None:
    """The region's edge just before the next corner, found by inverting beta functions, lies below the step."""
    error = 0.05
    p, q = Stouffer(weight).region_corners(k, n, h, n, error)
    top, z = -special.ndtri(0.5 * BOX * error), -special.ndtri((1.0 - BOX) * error)
    u = special.ndtri(special.betaincc(k, n - k + 1.0, p[1:] * (1.0 + 1e-9)))
    v = np.minimum((z - weight * u) / math.sqrt(1.0 - weight**2), top)
    inside = (np.abs(u) < 8.0) & (np.abs(v) < 8.0)
    edge = _quantile(h + 1.0, n - h, v[inside])
    assert inside.sum() > 1000
    assert np.all(q[:-1][inside] >= edge * (1.0 - 1e-12))
    assert np.median(q[:-1][inside] / edge) < 1.01


@pytest.mark.parametrize(
    ("p", "q", "n", "delta"),
    [(0.5, 0.45, 10**6, 0.0), (0.5, 0.02, 10**6, 0.0), (0.01, 0.004, 10**6, 0.0), (0.7, 0.2, 10**5, 0.05)],
)
@pytest.mark.parametrize("error", [0.05, 1e-4])
def test_moderate_ratios_come_close_to_the_best_possible(
    p: float, q: float, n: int, delta: float, error: float
) -> None:
    """Wald's z √((1-p) p / (n (p-δ)²) + (1-q) / (n q)) within 3 %; the union of two bounds loses 15 to 70 %."""
    k, h = round(p * n), round(q * n)
    z = -special.ndtri(error)
    wald = z * math.sqrt(p * (1 - p) / (n * (p - delta) ** 2) + (1 - q) / (n * q))
    estimate = math.log((p - delta) / q)
    joint = estimate - Stouffer(stouffer_weight(p, q, delta)).epsilon_lower(k, n, h, n, delta, error)
    union = estimate - Union().epsilon_lower(k, n, h, n, delta, error)
    assert 0.99 * wald <= joint <= 1.03 * wald
    assert union > 1.1 * joint


def test_counts_that_say_nothing_bound_nothing() -> None:
    inversion = Stouffer(0.5)
    assert inversion.epsilon_lower(0, 100, 50, 100, 0.0, 0.05) == -math.inf
    assert inversion.epsilon_lower(10, 100, 0, 100, 0.5, 0.05) == -math.inf
    assert inversion.epsilon_lower(100, 100, 100, 100, 0.0, 0.05) < 0.0
    assert inversion.delta_lower(0, 100, 50, 100, 1.0, 0.05) < 0.0
    assert inversion.delta_lower(90, 100, 1, 100, 5000.0, 0.05) == -math.inf
    assert 0.0 < inversion.epsilon_lower(100, 100, 0, 100, 0.0, 0.05) < math.log(100)


def test_corners_lie_outside_the_box_of_neither_bound() -> None:
    p, q = Stouffer(0.5).region_corners(300, 1000, 100, 1000, 0.05)
    assert np.all((p > 0.0) & (p < 1.0) & (q > 0.0) & (q <= 1.0))
    assert p.min() < 0.3 < p.max()
    assert q.min() < 0.1 < q.max()


def test_the_weight_is_the_share_of_the_standard_error() -> None:
    assert stouffer_weight(0.3, 0.3, 0.0) == pytest.approx(math.sqrt(0.5))
    assert stouffer_weight(0.9, 1e-6, 0.0) == 0.05
    assert stouffer_weight(1e-6, 0.9, 0.0) == 0.98
    assert stouffer_weight(1.0, 1.0, 0.0) == 0.5


@pytest.mark.parametrize("weight", [0.0, 0.04, 0.99, 1.0, math.nan])
def test_bad_weights_are_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        Stouffer(weight)


def test_bad_input_is_refused() -> None:
    inversion = Stouffer(0.5)
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            inversion.epsilon_lower(1, 10, 1, 10, delta, 0.05)
    with pytest.raises(ValueError, match="epsilon"):
        inversion.delta_lower(1, 10, 1, 10, math.nan, 0.05)
    with pytest.raises(ValueError, match="successes"):
        inversion.epsilon_lower(11, 10, 1, 10, 0.0, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "epsilon", "delta"), [(0.5, 0.1, 0.0), (0.5, 1.0, 0.0), (0.7, 1.0, 0.05), (0.02, 1.0, 0.0)]
)
def test_misses_at_the_boundary_are_few_but_not_too_few(p: float, epsilon: float, delta: float) -> None:
    """4,000 runs at nominal 5 %: between 1 % and 5 % + 4 standard errors (false alarm 3.2e-5)."""
    rng, runs, n, error = np.random.default_rng(11), 4_000, 200_000, 0.05
    q = (p - delta) / math.exp(epsilon)
    inversion = Stouffer(stouffer_weight(p, q, delta))
    draws = zip(rng.binomial(n, p, runs).tolist(), rng.binomial(n, q, runs).tolist(), strict=True)
    misses = np.mean([inversion.epsilon_lower(k, n, h, n, delta, error) > epsilon for k, h in draws])
    assert 0.01 <= misses <= error + 4 * math.sqrt(error * (1 - error) / runs)
