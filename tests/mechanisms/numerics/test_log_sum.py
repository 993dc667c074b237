"""Logarithms of sums and of mixtures against 40 digits, with the errors that they state."""

import math

import mpmath as mp
import numpy as np
import pytest

from mechanisms.numerics.log_sum import log_mixture, log_sum

U = 2.0**-53
PLACES = np.array([-math.inf, -900.0, -40.0, -0.6, -0.4, -1e-9, 0.0, 1e-9, 0.7, 36.0, 700.0, 701.0, 5000.0])


@pytest.mark.parametrize("q", [1e-290, 1e-9, 0.3, 0.5, 0.7, 1.0 - 1e-12])
def test_mixtures_are_exact_to_a_few_roundings(q: float) -> None:
    """Relative ones, but for large v, and negative v with q > 1/2, where they are relative to |v| + |ln q|."""
    for v, found in zip(PLACES.tolist(), log_mixture(q, PLACES).tolist(), strict=True):
        with mp.workdps(400):
            exact = mp.log(1 - mp.mpf(q) + mp.mpf(q) * mp.exp(mp.mpf(v)))
            absolute = v > 700.0 or (v < 0.0 and q > 0.5)
            scale = min(abs(v), 745.0 if v < 0.0 else abs(v)) + abs(math.log(q)) if absolute else abs(exact)
            assert abs(mp.mpf(found) - exact) <= 8 * U * scale


def test_several_rates_at_once_are_each_by_its_own() -> None:
    rates = np.array([[1e-9], [0.3], [0.8]])
    for own, row in zip(rates[:, 0].tolist(), log_mixture(rates, PLACES), strict=True):
        assert row == pytest.approx(log_mixture(own, PLACES), rel=4 * U)


def test_sums_of_exponentials_neither_overflow_nor_vanish() -> None:
    logs = np.array([[900.0, 899.0, -math.inf], [-900.0, -900.0, -901.0], [-math.inf, -math.inf, -math.inf]])
    exact = [900.0 + math.log1p(math.exp(-1.0)), -900.0 + math.log(2.0 + math.exp(-1.0)), -math.inf]
    assert log_sum(logs) == pytest.approx(exact, rel=1e-15)
    assert log_sum(logs.T, axis=0) == pytest.approx(exact, rel=1e-15)
