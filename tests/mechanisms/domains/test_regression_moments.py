"""The moments of a regression's record: how far two can be apart, and which vectors are some."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import DomainError, ParameterError, RegressionMoments
from mechanisms.domains.float_bounds import grid_of


def records(rng, features, count):
    x = rng.standard_normal((count, features))
    x *= (rng.random((count, 1)) ** rng.choice([0.0, 0.5, 3.0])) / np.linalg.norm(x, axis=1, keepdims=True)
    return x, rng.choice([-1.0, 1.0], count) * rng.random(count) ** rng.choice([0.0, 1.0])


@given(
    seed=st.integers(0, 2**32 - 1),
    features=st.integers(1, 8),
    weight=st.sampled_from([1.0, 1.2, math.sqrt(2)]),
)
def test_no_two_records_or_mixtures_of_them_are_further_apart_than_it_says(seed, features, weight):
    domain, rng = RegressionMoments(features, weight), np.random.default_rng(seed)
    root = math.sqrt(2 + 2 * weight**2 + weight**4 / 2)
    moments = domain.moments(*records(rng, features, 24))
    shares = rng.dirichlet(np.full(24, 0.2), 8)  # mixtures: the set is convex
    members = grid_of(domain).onto(np.concatenate([moments, shares @ moments]))
    domain.check(members)
    apart = np.linalg.norm(members[:, None] - members[None], axis=2)
    sensitivity = domain.sensitivity
    assert apart.max() <= sensitivity.l2
    assert np.abs(members[:, None] - members[None]).sum(axis=2).max() <= sensitivity.l1
    assert np.abs(members[:, None] - members[None]).max() <= sensitivity.linf
    assert root < sensitivity.l2 < root * (1 + 1e-4)


@pytest.mark.parametrize(("weight", "root"), [(1.0, math.sqrt(4.5)), (math.sqrt(2), math.sqrt(8))])
def test_the_largest_distance_is_attained(weight, root):
    domain = RegressionMoments(3, weight)
    extremes = domain.check(domain.extremes())
    assert np.linalg.norm(extremes[:, None] - extremes[None], axis=2).max() == pytest.approx(root, rel=1e-12)
    assert np.abs(extremes).max() == pytest.approx(domain.upper)


def test_the_norm_of_the_triangle_is_that_of_the_matrix():
    domain, rng = RegressionMoments(5), np.random.default_rng(1)
    x, y = records(rng, 5, 7)
    moments = domain.moments(x, y)
    matrix, vector = domain.parts(moments)
    np.testing.assert_allclose(matrix, x[:, :, None] * x[:, None], atol=1e-15)
    np.testing.assert_allclose(vector, x * y[:, None], atol=1e-15)
    np.testing.assert_allclose(
        np.linalg.norm(moments, axis=1),
        np.sqrt(np.linalg.norm(matrix, axis=(1, 2)) ** 2 + np.linalg.norm(vector, axis=1) ** 2),
    )


def test_with_the_weight_of_a_root_of_two_noise_is_that_of_a_symmetric_matrix():
    domain, rng = RegressionMoments(3, math.sqrt(2)), np.random.default_rng(2)
    x, y = records(rng, 3, 6)
    whole = np.concatenate([x, y[:, None]], axis=1)
    square = whole[:, :, None] * whole[:, None]
    square[:, 3, 3] = 0.0
    np.testing.assert_allclose(
        np.linalg.norm(domain.moments(x, y), axis=1), np.linalg.norm(square, axis=(1, 2)), rtol=1e-14
    )
    np.testing.assert_allclose(domain.parts(domain.moments(x, y))[1], x * y[:, None], atol=1e-15)


def test_what_lies_outside_is_shortened_before_it_is_squared():
    domain = RegressionMoments(2)
    np.testing.assert_allclose(domain.moments([3.0, 4.0], 7.0), domain.moments([0.6, 0.8], 1.0), atol=1e-15)
    np.testing.assert_array_equal(domain.moments([0.0, 0.0], 1.0), np.zeros(5))


@pytest.mark.parametrize(
    "wrong",
    [
        [1.0, 0.0, 1.0, 0.0, 0.0],  # a trace of 2
        [0.25, 0.0, 0.0, 0.0, 0.5],  # u is not in the matrix's range
        [0.25, 0.0, 0.0, 0.6, 0.0],  # u u' exceeds the matrix
        [-0.1, 0.0, 0.1, 0.0, 0.0],
        [0.1, 0.9, 0.1, 0.0, 0.0],  # not positive semidefinite
        [math.nan, 0.0, 0.0, 0.0, 0.0],
        [math.inf, 0.0, 0.0, 0.0, 0.0],
        [0.1, 0.0, 0.1, 0.0],
    ],
)
def test_what_is_no_moment_is_refused(wrong):
    with pytest.raises(DomainError):
        RegressionMoments(2).check(wrong)


@pytest.mark.parametrize("features", [0, -1, 1.5, True, 1025])
def test_a_number_of_features_out_of_range_is_refused(features):
    with pytest.raises(ParameterError, match="features"):
        RegressionMoments(features)


@pytest.mark.parametrize("weight", [0.0, 0.9, 1.5, math.nan])
def test_a_weight_out_of_range_is_refused(weight):
    with pytest.raises(ParameterError, match="weight"):
        RegressionMoments(2, weight)


def test_there_is_no_nearest_moment():
    with pytest.raises(TypeError, match="moments"):
        RegressionMoments(2).clip(np.ones(5))


@pytest.mark.parametrize("length", [5e-324, 1e-200, 1.0, 1e160, 1.7e308])
def test_features_of_any_length_become_moments(length):
    """What is beyond the ball keeps its direction, where its square is beyond all floats, too."""
    domain = RegressionMoments(2)
    moments = domain.check(domain.moments([length, -length], 1e308))
    kept = min(length, math.sqrt(0.5))
    assert moments[-2:] == pytest.approx([kept, -kept], rel=1e-12)


@pytest.mark.parametrize(
    ("features", "outcome", "name"),
    [
        ([math.inf, 0.0], 1.0, "features"),
        ([math.nan, 0.0], 1.0, "features"),
        ([0.5, 0.5], [1.0, 1.0], "outcome"),
        ([[0.5, 0.5]] * 2, [1.0] * 3, "outcome"),
        ([0.5, 0.5], "high", "outcome"),
        ([0.5, 0.5], 1j, "outcome"),
    ],
)
def test_what_has_no_moments_is_refused_by_name(features, outcome, name):
    with pytest.raises(DomainError, match=f"^{name}"):
        RegressionMoments(2).moments(features, outcome)
