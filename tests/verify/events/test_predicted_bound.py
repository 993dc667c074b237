"""Predictions come close to the bounds that are then computed, and are quick."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from verify.events.predicted_bound import (
    _coupled_variance,
    approximate_lower,
    approximate_upper,
    predicted_epsilon,
    promised_epsilon,
    wilson_shifted_pair,
)
from verify.sampling.binomial_bounds import clopper_pearson_lower, clopper_pearson_upper
from verify.sampling.count_inversion import choose_inversion


@pytest.mark.parametrize("n", [100, 10_000, 10**7])
@pytest.mark.parametrize("score", [0.5, 1.645, 1.96, 3.0, 4.0])
def test_approximate_bounds_are_nearly_exact(n: int, score: float) -> None:
    k = np.unique(np.concatenate([np.arange(1, 31), np.linspace(1, n - 1, 50).astype(int)]))
    error = float(special.ndtr(-score))
    upper, lower = clopper_pearson_upper(k, n, error), clopper_pearson_lower(k, n, error)
    assert np.all(np.abs(np.log(approximate_upper(k, n, score) / upper)) < 0.06)
    assert np.all(np.abs(approximate_lower(k, n, score) - lower) < 0.06 * (k / n - lower))


def test_approximate_bounds_at_the_ends() -> None:
    assert float(approximate_upper(100, 100, 2.0)) == 1.0
    assert float(approximate_lower(0, 100, 2.0)) == 0.0
    assert float(approximate_upper(0, 10**6, 1.96)) == pytest.approx(-math.log(0.025) / 10**6, rel=0.01)


@pytest.mark.parametrize(
    ("p", "q"), [(0.5, 0.45), (0.5, 0.1), (0.01, 0.004), (0.002, 0.0), (0.9, 1e-5), (1.0, 0.0), (0.3, 0.3)]
)
@pytest.mark.parametrize("error", [0.05, 1e-4])
def test_prediction_is_the_bound_of_the_expected_counts(p: float, q: float, error: float) -> None:
    n, delta = 200_000, 1e-4
    k, h = round(p * n), round(q * n)
    bound = choose_inversion(k, h, n, n, delta, error).epsilon_lower(k, n, h, n, delta, error)
    slack = math.log((p - delta) / q) - bound if q > 0.0 else 1.5
    assert float(predicted_epsilon(p, q, n, delta, error)) == pytest.approx(bound, abs=0.1 * slack)


def moved(
    p: float, q: float, n: int, split: float = math.nan, alternatives: float = 1.0, delta: float = 0.0
) -> tuple[float, float]:
    """Of estimates of one event, a standard error at a time."""
    one = [np.array([x]) for x in (p, q, n, split, alternatives)]
    both = wilson_shifted_pair(one[0], one[1], (one[2], one[2]), one[3], one[4], delta, 1.0)
    return float(both[0][0]), float(both[1][0])


def test_nothing_lies_above_delta() -> None:
    assert predicted_epsilon(0.1, 0.9, 10**6, 0.2, 0.01) == -math.inf


def test_estimates_of_the_best_of_many_are_moved_by_its_luck() -> None:
    """ln(p/q) by sqrt(2 ln(1 + K)) of its standard errors; either bears as much of it as it has of the variance."""
    n = 10**6
    p_error, q_error = math.sqrt(0.6 / 0.4 / n), math.sqrt(0.9 / 0.1 / n)
    for k in (1.0, 50.0):
        low, up = moved(0.4, 0.1, n, alternatives=k)
        move = math.sqrt(2.0 * math.log1p(k) * (p_error**2 + q_error**2))
        assert math.log(0.4 / 0.1) - math.log(low / up) == pytest.approx(move, rel=0.01)
        assert math.log(0.4 / low) / math.log(up / 0.1) == pytest.approx((p_error / q_error) ** 2, rel=0.02)


def test_ten_lucky_draws_do_not_beat_a_solid_event() -> None:
    lucky, solid = (moved(p, q, 10_000, alternatives=100.0) for p, q in ((0.001, 0.0001), (0.5, 0.1)))
    assert solid[0] / solid[1] > lucky[0] / lucky[1]


def test_estimates_move_less_where_few_pairs_are_split_and_more_near_delta() -> None:
    apart, alike = moved(0.4, 0.1, 10_000), moved(0.4, 0.1, 10_000, split=0.31)
    assert alike[0] > apart[0]
    assert alike[1] < apart[1]
    against, worse = (moved(0.4, 0.1, 10_000, split=split) for split in (0.9, 1.0))
    assert against == worse, "what the same random numbers can do at worst"
    assert moved(0.4, 0.1, 10_000, delta=0.35)[0] < apart[0], "p - delta is known far worse than p"


def test_prediction_on_many_events_at_once() -> None:
    p = np.random.default_rng(0).random(20_000)
    predicted = predicted_epsilon(p, p / 2, 10**6, 1e-5, 0.05)
    assert np.all(np.isfinite(predicted) | (p < 1e-4))


def test_a_promise_is_the_prediction_a_few_standard_errors_down() -> None:
    hits, other, counted = 4_000, 1_999, 100_000
    expected = math.log(2.0) - 2.0 * math.sqrt(0.96 / hits + 0.98 / 2_000)
    assert promised_epsilon(hits, other, counted, 10**9, 0.0, 0.05, 2.0) == pytest.approx(expected, abs=2e-3)
    promises = [promised_epsilon(hits, other, counted, 10**6, 0.0, 0.05, caution) for caution in (0, 1, 2)]
    assert promises == sorted(promises, reverse=True)
    assert promised_epsilon(0, 5, 100, 1_000, 0.0, 0.05, 1.0) == -math.inf
    assert promised_epsilon(3, 0, 100_000, 10**6, 0.0, 0.05, 1.5) < 0.0, "three hits are luck"
    assert promised_epsilon(300, 0, 100_000, 10**6, 0.0, 0.05, 1.5) > 2.0
    assert promised_epsilon(100, 100, 100, 1_000, 0.0, 0.05, 1.0) <= 0.0, "always in both worlds"


@pytest.mark.parametrize(("other", "caution"), [(0, 1.5), (0, 2.0), (1, 1.5), (10, 1.5)])
def test_a_small_count_is_moved_to_its_bound_and_no_farther(other: int, caution: float) -> None:
    hits, counted, n = 10**6, 10**7, 10**9  # so many hits that q bears the whole move
    upper = float(clopper_pearson_upper(other, counted, float(special.ndtr(-caution))))
    promise = promised_epsilon(hits, other, counted, n, 0.0, 0.05, caution, few_known=True)
    assert promise == pytest.approx(float(predicted_epsilon(0.1, upper, n, 0.0, 0.05)), abs=0.03)
    assert promise > promised_epsilon(hits, other, counted, n, 0.0, 0.05, caution)
    unmoved = [
        promised_epsilon(hits, other, counted, n, 0.0, 0.05, 0.0, few_known=few) for few in (True, False)
    ]
    assert unmoved[0] == unmoved[1]


def test_a_promise_is_surer_the_fewer_pairs_an_event_splits() -> None:
    hits, other, counted = 2_000, 1_800, 100_000
    independent = round(counted * (0.02 + 0.018 - 2 * 0.02 * 0.018))
    unknown, known, few, against = (
        promised_epsilon(hits, other, counted, 10**6, 0.0, 0.05, 1.0, split)
        for split in (None, independent, 300, counted)
    )
    assert known == pytest.approx(unknown, abs=1e-3)
    assert against < unknown < few
    # The standard error of ln(p/q) is √(s/(p q n)), s the share of split pairs.
    sure = promised_epsilon(hits, other, counted, 10**6, 0.0, 0.05, 0.0, 300)
    error = math.sqrt(301 / counted / (0.02 * 0.018 * counted))
    assert sure - few == pytest.approx(error, rel=0.05)


def test_a_promise_near_delta_is_judged_by_what_is_left_above_it() -> None:
    """3,060 of 300,000 at δ = .01 are 1.1 standard errors above it: luck, although p itself is known within 2 %."""
    counted, n = 300_000, 2_000_000
    unmoved = promised_epsilon(3_060, 0, counted, n, 0.01, 0.05, 0.0)
    assert unmoved > 2.0
    assert promised_epsilon(3_060, 0, counted, n, 0.01, 0.05, 2.0) < 1.0
    assert promised_epsilon(3_060, 0, counted, n, 0.01, 0.05, 2.0, 3_060) < 1.0, "alike, all pairs split"
    assert promised_epsilon(2_900, 0, counted, n, 0.01, 0.05, 0.0) == -math.inf
    assert promised_epsilon(6_000, 0, counted, n, 0.01, 0.05, 2.0) > 5.0, "far above it"


@pytest.mark.parametrize(
    ("p", "q", "split", "delta"), [(0.3, 0.2, 0.12, 0.1), (0.3, 0.2, 0.38, 0.1), (0.3, 0.2, 0.2, 0)]
)
def test_the_variance_of_coupled_pairs(p: float, q: float, split: float, delta: float) -> None:
    """As it is of 20,000 simulated experiments of 4,000 pairs: its standard error is 1 %."""
    both = (p + q - split) / 2.0
    cells = np.random.default_rng(0).multinomial(
        4_000, [both, p - both, q - both, 1.0 - p - q + both], 20_000
    )
    first, second = cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    seen = np.log((first / 4_000 - delta) / (second / 4_000)).var()
    apart = (p * (1 - p) / (p - delta) ** 2 + (1 - q) / q) / 4_000
    assert _coupled_variance(p, q, p - delta, split) * apart == pytest.approx(seen, rel=0.06)
    if not delta:
        assert _coupled_variance(p, q, p, split) * apart == pytest.approx(split / (p * q * 4_000))
