"""The sharper inversion is chosen from earlier draws, and can be written down."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.statistics.binomial_bounds import delta_lower, epsilon_lower
from verify.statistics.count_inversion import (
    Inversion,
    Union,
    best_share,
    choose_inversion,
    inversion_from_dict,
)
from verify.statistics.stouffer import Stouffer


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


@pytest.mark.parametrize("inversion", [Union(0.3), Stouffer(0.3)])
def test_writing_down_and_reading_back(inversion: Inversion) -> None:
    assert inversion_from_dict(inversion.to_dict()) == inversion
    with pytest.raises(ValueError, match="name"):
        inversion_from_dict({"name": "wald"})


def test_the_union_is_that_of_the_two_exact_bounds() -> None:
    assert Union(0.3).epsilon_lower(50, 100, 10, 90, 0.1, 0.05) == epsilon_lower(
        50, 100, 10, 90, 0.1, 0.05, 0.3
    )
    assert Union(0.3).delta_lower(50, 100, 10, 90, 0.1, 0.05) == delta_lower(50, 100, 10, 90, 0.1, 0.05, 0.3)
    for share in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="share"):
            Union(share)


def test_the_best_share_beats_the_others() -> None:
    for p, q in ((0.5, 1e-6), (0.5, 0.4), (1e-4, 0.5)):
        n, error = 100_000, 0.05
        best = best_share(p, q, n, error)
        bounds = {
            share: epsilon_lower(round(p * n), n, round(q * n), n, 0.0, error, share)
            for share in (0.02, 0.2, 0.5, 0.8, 0.98)
        }
        chosen = epsilon_lower(round(p * n), n, round(q * n), n, 0.0, error, best)
        assert chosen >= max(bounds.values()) - 0.01
    assert best_share(0.1, 0.2, 1000, 0.05, delta=0.9) == 0.5


def test_either_inversion_covers_in_simulation() -> None:
    """At the boundary, 3,000 runs: misses at most 5 % + 4 s.e. (false alarm 3.2e-5) for the chosen one."""
    rng, n, error, runs = np.random.default_rng(3), 2_000, 0.05, 3_000
    for p, epsilon in ((0.4, 1.0), (0.5, 5.0)):
        q = p * math.exp(-epsilon)
        inversion = choose_inversion(round(p * n), round(q * n), n, n, 0.0, error)
        draws = zip(rng.binomial(n, p, runs).tolist(), rng.binomial(n, q, runs).tolist(), strict=True)
        known: dict[tuple[int, int], float] = {}
        misses = 0
        for k, h in draws:
            if (k, h) not in known:
                known[k, h] = inversion.epsilon_lower(k, n, h, n, 0.0, error)
            misses += known[k, h] > epsilon
        assert misses / runs <= error + 4 * math.sqrt(error * (1 - error) / runs)
