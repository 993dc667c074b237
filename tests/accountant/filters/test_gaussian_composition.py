"""Gaussian differential privacy as a filter: what it shares with concentrated privacy."""

from fractions import Fraction

import pytest

from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from mechanisms import Gaussian, Sensitivity

ONE = Sensitivity(1.0, 1.0, 1.0)


@pytest.mark.parametrize("count", [1, 7])
def test_an_odometer_reads_gaussian_releases_as_concentrated_privacy_does(count: int) -> None:
    """N(0, 4) is 1/2-GDP and 1/8-zCDP: either theorem charges for the mechanism itself, and reads the same."""
    release = Gaussian(sigma=2.0, sensitivity=ONE)
    readings = []
    for theorem, each in (
        (GaussianComposition(), Fraction(1, 4)),
        (ZeroConcentratedComposition(), Fraction(1, 8)),
    ):
        paid, failed = theorem.charge(release, ONE).values
        assert paid == each
        readings.append(theorem.odometer(theorem.amount((count * paid, failed)), 1e-5))
    assert readings[0] == readings[1]
    assert readings[0].epsilon is not None
