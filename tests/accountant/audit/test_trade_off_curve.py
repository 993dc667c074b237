"""The trade-off curve that a privacy profile allows."""

import numpy as np
import pytest
from scipy.stats import norm

from accountant.audit import trade_off
from mechanisms import GaussianProfile


def test_the_trade_off_curve_of_a_gaussian():
    """Φ(Φ⁻¹(1 - α) - μ), from the tangents that the profile gives on a fine grid."""
    grid = np.linspace(0, 8, 4000)
    alpha = np.array([1e-4, 0.01, 0.2, 0.5, 0.9])
    found = trade_off(grid, GaussianProfile(1.0).delta(grid), alpha)
    assert found == pytest.approx(norm.cdf(norm.ppf(1 - alpha) - 1.0), abs=1e-5)
