"""The least noise for a target: met, and hardly more than needed."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poisson import joining, subsampled

from mechanisms import (
    ApproximateProfile,
    GaussianProfile,
    LaplaceProfile,
    MixedNeighbours,
    ParameterError,
    PureProfile,
)
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.least_noise import RELATIVE, OutOfReach, least_noise


@settings(deadline=None, max_examples=10)
@given(
    st.floats(1e-3, 1e3), st.integers(1, 10**6), st.floats(0.05, 20.0), st.sampled_from([1e-9, 1e-6, 1e-3])
)
def test_gaussian_noise_meets_the_closed_form(sigma, count, epsilon, delta):
    factor = least_noise(lambda f: [[(GaussianProfile(1 / (f * sigma)), count)]], epsilon, delta)
    mu = math.sqrt(count) / (factor * sigma)
    assert GaussianProfile(mu).delta(epsilon) <= delta * (1 + 1e-11)
    assert GaussianProfile(mu * (1 + 3 * RELATIVE)).delta(epsilon) > delta


@pytest.mark.slow
@settings(deadline=None, max_examples=15)
@given(st.floats(0.1, 100.0), st.integers(1, 50), st.floats(0.1, 5.0), st.sampled_from([1e-6, 1e-3]))
def test_what_is_found_is_certified_and_tight(scale, count, epsilon, delta):
    def releases(factor):
        return [(LaplaceProfile(1.0, scale * factor), count), (GaussianProfile(0.1 / factor), 3)]

    factor = least_noise(lambda f: [releases(f)], epsilon, delta)
    assert compose(releases(factor)).delta(epsilon).upper <= delta
    assert compose(releases(factor * (1 - 3 * RELATIVE))).delta(epsilon).upper > delta


def test_the_largest_of_several_records_decides():
    few, many = [(GaussianProfile(0.1), 1)], [(GaussianProfile(0.1), 100)]

    def both(factor):
        return [[(GaussianProfile(profile.mu / factor), n) for profile, n in one] for one in (few, many)]

    assert least_noise(both, 1.0, 1e-6) == least_noise(lambda f: [both(f)[1]], 1.0, 1e-6)


def test_pure_targets_are_sums():
    factor = least_noise(lambda f: [[(LaplaceProfile(1.0, 2.0 * f), 10)]], 1.0, 0.0)
    assert factor == pytest.approx(5.0, rel=2 * RELATIVE)
    assert Fraction(10) / Fraction(2.0 * factor) <= 1


def test_published_values():
    """1,000 Laplace and 10,000 sampled Gaussian releases at (1, 1e-6): 133.2422 and 1.84495 times unit noise."""
    laplace = least_noise(lambda f: [[(LaplaceProfile(1.0, f), 1000)]], 1.0, 1e-6)
    assert laplace == pytest.approx(133.2422, rel=1e-6)
    sampled = least_noise(lambda f: [[(subsampled(GaussianProfile(1 / f), 0.004), 10_000)]], 1.0, 1e-6)
    assert sampled == pytest.approx(1.84495, rel=1e-6)


def test_out_of_reach_and_free():
    with pytest.raises(OutOfReach):
        least_noise(lambda f: [[(ApproximateProfile(Fraction(1, 100), 1e-3), 1)]], 1.0, 1e-6)
    with pytest.raises(OutOfReach):
        least_noise(lambda f: [[(PureProfile(Fraction(2)), 1)]], 1.0, 0.0)
    assert least_noise(lambda f: [[(PureProfile(Fraction(1, 2)), 1)]], 1.0, 0.0) < 1e-15
    assert least_noise(lambda f: [[(PureProfile(Fraction(1, 2)), 1)]], 1.0, 1e-6) < 1e-15


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.0), (math.inf, 0.1), (-1.0, 0.1), (1.0, 1.0), (1.0, -0.1)]
)
def test_bad_targets(epsilon, delta):
    with pytest.raises(ParameterError):
        least_noise(lambda f: [[(GaussianProfile(1 / f), 1)]], epsilon, delta)


def test_records_of_two_relations_have_no_common_noise() -> None:
    both = [[(GaussianProfile(1.0), 1)], [(joining(GaussianProfile(1.0)), 1)]]
    for delta in (0.0, 1e-6):
        with pytest.raises(MixedNeighbours):
            least_noise(lambda factor: both, 1.0, delta)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_targets_are_numbers_whose_squares_are_floats(delta):
    """At 1e155 the search ended where it began, and at 1e300 it ended in an error."""

    def noise(factor):
        return [[(LaplaceProfile(1.0, factor), 1)]]

    assert least_noise(noise, 1e15, delta) == pytest.approx(1e-15, rel=1e-6)
    for epsilon in (1e155, 1e300):
        with pytest.raises(ParameterError, match="a target must be at most 1e"):
            least_noise(noise, epsilon, delta)
