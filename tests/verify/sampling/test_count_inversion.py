"""The sharper inversion is chosen from earlier draws, and can be written down."""

from __future__ import annotations

import bisect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from verify.sampling.binomial_bounds import Union
from verify.sampling.count_inversion import (
    best_share,
    choose_inversion,
)
from verify.sampling.stouffer import Stouffer


def test_moderate_ratios_take_the_joint_region() -> None:
    inversion = choose_inversion(50_000, 18_000, 100_000, 1_000_000, 0.0, 0.05)
    assert isinstance(inversion, Stouffer)
    assert inversion.weight == pytest.approx(0.42, abs=0.03)


def test_an_event_never_seen_on_the_other_side_takes_the_union() -> None:
    inversion = choose_inversion(5_000, 0, 100_000, 1_000_000, 0.0, 0.05)
    assert isinstance(inversion, Union)
    assert inversion.share < 0.1, "p is as good as known; q is not"
    # ln(20 / 10) more than what an even split gives, nearly
    even, split = (one.epsilon_lower(50_000, 10**6, 0, 10**6, 0.0, 0.05) for one in (Union(), inversion))
    assert split - even > 0.15


def test_hopeless_events_take_any() -> None:
    assert (
        choose_inversion(0, 100, 100, 1000, 0.5, 0.05).epsilon_lower(0, 1000, 1000, 1000, 0.5, 0.05)
        == -math.inf
    )


@pytest.mark.slow
@given(
    st.integers(1, 10_000),
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.01]),
    st.sampled_from([0.05, 1e-4]),
)
def test_the_chosen_one_is_the_better_of_the_two(hits: int, other: int, delta: float, error: float) -> None:
    trials = 40_000
    chosen = choose_inversion(hits, other, 10_000, trials, delta, error)
    p, q = (hits + 0.5) / 10_001, (other + 0.5) / 10_001
    k, h = round(p * trials), round(q * trials)
    even = Union(0.5).epsilon_lower(k, trials, h, trials, delta, error)
    assert chosen.epsilon_lower(k, trials, h, trials, delta, error) >= even - 0.01 * abs(even) - 1e-9


def test_a_share_is_between_0_and_1() -> None:
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="share"):
            Union(share)


def test_the_best_share_beats_the_others() -> None:
    for p, q in ((0.5, 1e-6), (0.5, 0.4), (1e-4, 0.5)):
        n, error = 100_000, 0.05
        best = best_share(p, q, n, error)
        bounds = {
            share: Union(share).epsilon_lower(round(p * n), n, round(q * n), n, 0.0, error)
            for share in (0.02, 0.2, 0.5, 0.8, 0.98)
        }
        chosen = Union(best).epsilon_lower(round(p * n), n, round(q * n), n, 0.0, error)
        assert chosen >= max(bounds.values()) - 0.01
    assert best_share(0.1, 0.2, 1000, 0.05, delta=0.9) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "p", "epsilon"), [(300, 0.4, 1.0), pytest.param(2_000, 0.5, 4.0, marks=pytest.mark.slow)]
)
def test_the_chosen_inversion_covers(n: int, p: float, epsilon: float) -> None:
    """The probability that the bound exceeds the truth, exactly: it does from some count of the first world on."""
    error, q = 0.05, p * math.exp(-epsilon)
    inversion = choose_inversion(round(p * n), round(q * n), n, n, 0.0, error)
    missed, from_here = 0.0, 0
    for h in range(int(stats.binom.isf(1e-9, n, q)) + 1):  # the more of the other world, the later
        if stats.binom.cdf(h, n, q) > 1e-9:
            from_here = bisect.bisect_right(
                range(n + 1),
                epsilon,
                lo=from_here,
                key=lambda k, h=h: inversion.epsilon_lower(k, n, h, n, 0.0, error),
            )
            missed += stats.binom.pmf(h, n, q) * stats.binom.sf(from_here - 1, n, p)
    assert 0.2 * error < missed <= error
