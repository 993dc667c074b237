"""Divergences between coins, against searches for what their definitions say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.estimates.divergence import _coin_divergence, divergence_upper, private_divergence

CHANCES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.floats(0, 1).map(lambda x: 1 - x**8))


def kl(p, q):
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(a > 0, a * np.log(a / b), 0.0) for a, b in ((p, q), (1 - p, 1 - q))]
    return sum(parts)


@given(mean=CHANCES, chance=CHANCES, epsilon=st.floats(1e-3, 800))
def test_the_private_divergence_is_the_least_over_coins_between(mean, chance, epsilon):
    found = float(private_divergence(np.array(mean), np.array(chance), epsilon))
    if chance <= mean:
        assert found == 0
        return
    z = mean + (chance - mean) * np.sin(np.linspace(0, math.pi / 2, 2001)) ** 2  # dense at both ends
    least = float(np.min(epsilon * (z - mean) + kl(z, np.float64(chance))))
    assert found <= least * (1 + 1e-9) + 1e-9
    assert found >= least * 0.999 - 1e-3 / epsilon - 1e-6
    assert (
        found
        <= min(epsilon * (chance - mean), float(_coin_divergence(np.array(mean), np.array(chance)))) + 1e-9
    )


@given(mean=CHANCES, rate=st.floats(1e-4, 200))
def test_the_upper_bound_is_above_all_that_the_rate_allows(mean, rate):
    upper = float(divergence_upper(np.array([mean]), np.array([rate]), steps=20)[0])
    assert mean <= upper <= 1
    if upper < 1 and mean < 1:
        assert kl(np.float64(mean), np.float64(min(upper * (1 + 1e-9) + 1e-12, 1.0))) >= rate * (1 - 1e-6)
    if upper > mean + 1e-6:
        assert kl(np.float64(mean), np.float64(upper - 1e-6 * (upper - mean))) <= rate * (1 + 1e-6)


def test_a_bound_that_rounds_to_1_stays_there():
    """ln(1 - 1) is minus infinity: a Newton step from there would leave [0, 1]."""
    assert divergence_upper(np.array([0.0, 0.5]), np.array([40.0, 40.0]), steps=3) == pytest.approx(
        [1.0, 1.0]
    )
