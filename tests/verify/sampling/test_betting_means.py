import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.sampling.betting_means import mean_at_least, mean_at_most

values = st.lists(st.floats(0, 5), min_size=1, max_size=30).map(np.array)


@settings(max_examples=40)
@given(values, st.sampled_from([1e-6, 1e-2, 0.3]))
def test_limits_lie_around_the_mean(x, error):
    assert 0 <= mean_at_least(x, error) <= x.mean() * (1 + 1e-12) + 1e-300
    assert x.mean() * (1 - 1e-12) <= mean_at_most(x, 5.0, error) <= 5.0


@pytest.mark.slow
def test_limits_miss_rarely():
    """Means of 8 draws of a skewed law, 500 times at a level of 5 %: each side misses at most 5 % of the time.

    The false-alarm rate at a true rate of 5 % is below 1e-4 (5.6 standard deviations allowed).
    """
    rng = np.random.default_rng(5)
    draws = (rng.random((500, 8)) < 0.1) * 3.0
    low = np.mean([mean_at_least(x, 0.05) > 0.3 for x in draws])
    high = np.mean([mean_at_most(x, 3.0, 0.05) < 0.3 for x in draws])
    assert low <= 0.05 + 5.6 * np.sqrt(0.05 * 0.95 / 500)
    assert high <= 0.05 + 5.6 * np.sqrt(0.05 * 0.95 / 500)


def test_limits_close_in():
    x = np.tile([1.0, 2.0], 5000)
    assert 1.4 < mean_at_least(x, 1e-4) < 1.5 < mean_at_most(x, 10.0, 1e-4) < 1.7


def test_the_lower_limit_knows_no_range():
    assert mean_at_least(np.array([0.0, 0.0, 1e9]), 1e-3) < 1e9
    assert mean_at_least(np.zeros(10), 1e-3) == 0.0
    assert mean_at_most(np.full(10, 4.0), 4.0, 1e-3) == pytest.approx(4.0)
