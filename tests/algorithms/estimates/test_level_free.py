"""The level-free index: values to forty digits, what it is the largest of, and where it moves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.estimates.chernoff import NoiseTail, _chernoff_exponent
from algorithms.estimates.level_free import (
    UNCOUNTED,
    _sharpened,
    level_free_upper,
    unsharpened,
)


def laplace(scale):
    return NoiseTail(2 * scale**2, scale)


def upper(n, j, y, tau, noise, share=UNCOUNTED):
    arrays = (np.array([float(each)]) for each in (n, j, y, tau))
    return float(level_free_upper(*arrays, noise=noise, share=share)[0])


@pytest.mark.parametrize(
    ("n", "j", "y", "tau", "noise", "sharp", "plain"),
    [
        (12, 1, 3.5, 1000, laplace(1.0), 0.784010151676, 0.899172012382),
        (143, 5, 21.25, 20_000, laplace(2.0), 0.309826435567, 0.348707404384),
        (5000, 20, 1010, 90_000, laplace(0.1), 0.212469837177, 0.215881677954),
        (50, 3, -2, 400, laplace(1.0), 0.0440953380536, 0.0953957814125),
        (700, 9, 350, 700, laplace(1.0), 0.5, 0.5),
        (60, 4, 30, 5000, NoiseTail(4.0, 0.0), 0.718131904559, 0.761837297046),
    ],
)
def test_golden_indices(n, j, y, tau, noise, sharp, plain):
    """By bisection in 40-digit arithmetic, c = 0.4 and 0."""
    assert upper(n, j, y, tau, noise) == pytest.approx(sharp, rel=1e-8)
    assert upper(n, j, y, tau, noise, share=0.0) == pytest.approx(plain, rel=1e-8)


@given(st.floats(0, 60), st.sampled_from([0.0, 0.2, 0.4]))
def test_the_inverse(level, share):
    v = unsharpened(np.array([level]), share)
    assert _sharpened(v, share)[0] == pytest.approx(level, rel=1e-9, abs=1e-12)
    assert _sharpened(v, share)[0] <= level * (1 + 1e-12)


@given(
    st.integers(1, 10_000),
    st.integers(1, 30),
    st.floats(-0.2, 1.2),
    st.integers(1, 10**6),
    st.sampled_from([laplace(0.1), laplace(2.0), NoiseTail(9.0, 0.0)]),
)
def test_it_is_the_largest_mean_that_is_not_rejected(n, j, mean, tau, noise):
    """Above it every mean is rejected; it is below the additive bound, and grows with the rounds."""
    arrays = [np.array([float(each)]) for each in (n, j, mean * n)]
    clock = np.array([float(tau)])
    exponent = unsharpened(np.log(np.maximum(clock / n, 1.0)))
    found = level_free_upper(*arrays, clock, noise=noise)
    assert 0 <= found[0] <= 1
    width = np.sqrt(2 * exponent * (n / 4 + noise.proxy * j)) + noise.scale * exponent
    assert found[0] <= np.clip((arrays[2] + width) / n, 0, 1)[0] + 1e-12
    above = np.minimum(found + 1e-3, 1.0)
    if found[0] < 1 - 1e-3:
        assert _chernoff_exponent(above, *arrays, noise=noise)[0] >= exponent[0] * (1 - 1e-6)
    assert level_free_upper(*arrays, 10 * clock, noise=noise)[0] >= found[0] - 1e-6
    if tau <= n:
        assert found[0] == pytest.approx(min(max(mean, 0.0), 1.0), abs=1e-9)
