"""The bound on a bit's chance: against the mixture as it is written, and simulated at all counts at once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

from algorithms.estimates.bit_mixture import BitMeans, bit_upper, redundancy


def log_ratio(ones, count, chance):
    """Of the Beta(1/2, 1/2) mixture's likelihood over that of a chance."""
    likelihood = sum(k * math.log(p) for k, p in ((ones, chance), (count - ones, 1 - chance)) if k)
    return float(betaln(ones + 0.5, count - ones + 0.5) - betaln(0.5, 0.5)) - likelihood


@given(st.integers(1, 10**7), st.floats(0, 1), st.floats(0.1, 60.0))
@settings(max_examples=50)
def test_the_bound_is_where_the_mixture_reaches_the_exponent(count, share, exponent):
    """From above: never below it, and above by less than a thousandth of the width."""
    ones = round(share * count)
    upper = float(bit_upper(np.array([float(ones)]), np.array([float(count)]), exponent)[0])
    mean = ones / count
    if ones == count:
        assert upper == 1.0
        return
    assert mean < upper < 1 or upper == pytest.approx(1.0, abs=1e-12)
    if upper < 1 - 1e-12:
        assert log_ratio(ones, count, upper) >= exponent - 1e-7 * (1 + exponent)
        nearer = mean + (upper - mean) * 0.999
        assert log_ratio(ones, count, nearer) <= exponent + 1e-7 * (1 + exponent)


@given(st.integers(1, 10**9), st.floats(0, 1))
@settings(max_examples=50)
def test_the_redundancy_is_that_of_krichevsky_and_trofimov(count, share):
    found = float(redundancy(np.array([float(round(share * count))]), np.array([float(count)]))[0])
    assert 0 <= found <= 0.5 * math.log(count) + math.log(2) + 1e-5


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.9])
def test_it_fails_at_some_count_as_seldom_as_it_says(chance):
    """e^-3 = 5 % of 1,000 runs of 300 bits each; 8.5 % with probability 1e-6."""
    bits = np.random.default_rng(5).random((1000, 300)) < chance
    ones = bits.cumsum(axis=1).astype(float)
    count = np.broadcast_to(np.arange(1.0, 301.0), ones.shape)
    failed = (bit_upper(ones, count, 3.0) < chance).any(axis=1)
    assert 0 < failed.mean() < 0.085


def test_means_are_debiased_and_an_index_moves_with_its_own_messages_only():
    gain = 1 / math.tanh(0.5)
    means = BitMeans(2, 3, gain=gain, exponent=5.0)
    means.add(np.array([[1], [2]]), np.array([[1.0], [0.0]]))
    means.add(np.array([[1], [0]]), np.array([[0.0], [0.0]]))
    assert means.ones.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert means.count.tolist() == [[0, 2, 0], [1, 0, 1]]
    assert means.mean[0, 1] == pytest.approx(0.5)
    assert means.mean[1, 2] == pytest.approx(0.5 - 0.5 * gain)
    assert means.index[0, [0, 2]].tolist() == [1, 1]
