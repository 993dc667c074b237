"""Exact bounds against SciPy's exact intervals, their order, and their coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from verify.sampling.binomial_bounds import (
    Union,
    clopper_pearson_lower,
    clopper_pearson_upper,
)

counts = st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
errors = st.floats(1e-9, 0.4)


@pytest.mark.parametrize(
    ("k", "n"), [(0, 1), (1, 1), (0, 50), (50, 50), (3, 50), (49, 50), (17, 1000), (999, 1000)]
)
@pytest.mark.parametrize("error", [0.3, 0.05, 0.005, 1e-6])
def test_bounds_equal_scipys_exact_interval(k: int, n: int, error: float) -> None:
    interval = stats.binomtest(k, n).proportion_ci(confidence_level=1.0 - 2.0 * error, method="exact")
    assert float(clopper_pearson_lower(k, n, error)) == pytest.approx(interval.low, rel=1e-8, abs=1e-14)
    assert float(clopper_pearson_upper(k, n, error)) == pytest.approx(interval.high, rel=1e-8)


def test_bounds_at_zero_and_all_have_closed_forms() -> None:
    # P(no success in n) = (1 - p)^n = error
    assert float(clopper_pearson_upper(0, 1000, 1e-4)) == pytest.approx(
        -math.expm1(math.log(1e-4) / 1000), rel=1e-12
    )
    assert float(clopper_pearson_lower(1000, 1000, 1e-4)) == pytest.approx(1e-4 ** (1 / 1000), rel=1e-12)
    assert float(clopper_pearson_lower(0, 1000, 1e-4)) == 0.0
    assert float(clopper_pearson_upper(1000, 1000, 1e-4)) == 1.0


def test_bounds_solve_the_binomial_tail_equations() -> None:
    k, n, error = 240_123, 1_000_000, 5e-5
    low, high = float(clopper_pearson_lower(k, n, error)), float(clopper_pearson_upper(k, n, error))
    assert stats.binom.sf(k - 1, n, low) == pytest.approx(error, rel=1e-6)
    assert stats.binom.cdf(k, n, high) == pytest.approx(error, rel=1e-6)


def test_bounds_broadcast() -> None:
    low = clopper_pearson_lower([[0], [5]], [10, 20, 30], 0.05)
    assert low.shape == (2, 3)
    assert low[1, 2] == float(clopper_pearson_lower(5, 30, 0.05))


@given(counts, errors)
def test_bounds_hold_the_estimate_between_them(count: tuple[int, int], error: float) -> None:
    k, n = count
    assert (
        0.0
        <= float(clopper_pearson_lower(k, n, error))
        <= k / n
        <= float(clopper_pearson_upper(k, n, error))
        <= 1.0
    )


@given(counts, errors, errors)
def test_a_smaller_error_widens_the_bounds(count: tuple[int, int], a: float, b: float) -> None:
    k, n = count
    small, large = sorted((a, b))
    slack = 1e-10  # relative; of the inversion of the beta function
    assert float(clopper_pearson_lower(k, n, small)) <= float(clopper_pearson_lower(k, n, large)) * (
        1 + slack
    )
    assert float(clopper_pearson_upper(k, n, small)) * (1 + slack) >= float(
        clopper_pearson_upper(k, n, large)
    )


@given(counts, counts, st.floats(0.0, 0.9), errors, errors)
def test_epsilon_lower_is_below_the_estimate_and_monotone(
    count: tuple[int, int], other: tuple[int, int], delta: float, a: float, b: float
) -> None:
    small, large = sorted((a, b))
    bound = Union().epsilon_lower(*count, *other, delta, small)
    assert bound <= Union().epsilon_lower(*count, *other, delta, large) + 1e-9
    assert bound < math.inf
    p, q = count[0] / count[1], other[0] / other[1]
    if p > delta and q > 0:
        assert bound <= math.log((p - delta) / q) + 1e-9


@pytest.mark.slow
@given(counts, counts, st.floats(-12.0, 12.0), errors)
def test_epsilon_and_delta_bounds_are_one_statement(
    count: tuple[int, int], other: tuple[int, int], epsilon: float, error: float
) -> None:
    delta = Union().delta_lower(*count, *other, epsilon, error)
    assume(1e-6 < delta < 1.0)
    # p_low = e^ε q_up + δ, read for ε instead of δ
    assert Union().epsilon_lower(*count, *other, delta, error) == pytest.approx(epsilon, abs=1e-6)


def test_bounds_of_uninformative_and_extreme_events() -> None:
    assert Union().epsilon_lower(0, 100, 50, 100, 0.0, 0.05) == -math.inf
    assert Union().epsilon_lower(10, 100, 0, 100, 0.5, 0.05) == -math.inf
    assert 0 < Union().epsilon_lower(10**6, 10**6, 0, 10**6, 0.0, 0.01) < math.log(10**6)
    assert Union().delta_lower(100, 100, 1, 100, 5000.0, 0.05) == -math.inf
    assert Union().delta_lower(10**6, 10**6, 0, 10**6, 1.0, 0.01) > 0.9999


def test_epsilon_lower_covers_at_the_boundary() -> None:
    """Two Bernoulli worlds with ratio exactly e: the bound may exceed 1 with probability at most 10 %.

    20,000 repetitions; the miss rate is allowed 4 standard errors above: a false alarm of at most 3.2e-5.
    """
    rng, runs, n, error = np.random.default_rng(20260807), 20_000, 2_000, 0.10
    p, q = 0.4, 0.4 / math.e
    p_low = clopper_pearson_lower(rng.binomial(n, p, runs), n, error / 2)
    q_up = clopper_pearson_upper(rng.binomial(n, q, runs), n, error / 2)
    misses = np.mean(np.log(p_low / q_up) > 1.0)
    assert misses <= error + 4 * math.sqrt(error * (1 - error) / runs)


def test_each_bound_covers_tightly() -> None:
    """Misses of each bound: at most the error (4 s.e., false alarm 3.2e-5), and not far below: n is large."""
    rng, runs, n, error = np.random.default_rng(7), 20_000, 100_000, 0.05
    k = rng.binomial(n, 0.3, runs)
    above, below = clopper_pearson_lower(k, n, error) > 0.3, clopper_pearson_upper(k, n, error) < 0.3
    for misses in (above.mean(), below.mean()):
        assert 0.04 <= misses <= error + 4 * math.sqrt(error * (1 - error) / runs)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((-1, 10, 0.05), "successes"),
        ((11, 10, 0.05), "successes"),
        ((math.nan, 10, 0.05), "successes"),
        ((0, 0, 0.05), "trials"),
        ((1, 10, 0.0), "error"),
        ((1, 10, 1.0), "error"),
        ((1, 10, math.nan), "error"),
    ],
)
def test_bounds_refuse_bad_input(arguments: tuple[float, float, float], name: str) -> None:
    for bound in (clopper_pearson_lower, clopper_pearson_upper):
        with pytest.raises(ValueError, match=name):
            bound(*arguments)


def test_privacy_bounds_refuse_bad_input() -> None:
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta"):
            Union().epsilon_lower(1, 10, 1, 10, delta, 0.05)
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="share"):
            Union(share)
    with pytest.raises(ValueError, match="epsilon"):
        Union().delta_lower(1, 10, 1, 10, math.nan, 0.05)
