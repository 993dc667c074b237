"""Divergences on samples of fixed size: never below those of any three records, nor far above."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import GaussianProfile, LaplaceProfile, Neighbouring, ParameterError, convert
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Enclosure
from mechanisms.composition.fixed_size_orders import _log_moment, fixed_size_divergence, triangle_divergence
from mechanisms.losses.gaussian_loss import sampled_gaussian_loss
from mechanisms.profiles.fixed_size import FixedSizeProfile, triangle_at_least


def test_ten_thousand_samples() -> None:
    """The worst pairs at single thresholds say 8.938; records at the corners of a triangle lose 7.433."""
    found = compose([(FixedSizeProfile(GaussianProfile(1.0), 0.01), 10_000)]).epsilon(1e-6)
    assert isinstance(found, Enclosure)
    assert 7.44 <= found.upper <= 8.1
    assert found.by == "Renyi DP over all data"
    assert 6.907 <= found.lower <= 6.9074  # vectors in a ball have no such triangle
    one_hot = compose([(FixedSizeProfile(GaussianProfile(1.0), 0.01, triangle=True), 10_000)]).epsilon(1e-6)
    assert isinstance(one_hot, Enclosure)
    assert one_hot.upper == found.upper
    assert 7.42 <= one_hot.lower <= 7.4331


@pytest.mark.slow_cells("0.3-0.5")
@pytest.mark.few(2)
@pytest.mark.parametrize(("rate", "mu"), [(0.3, 0.5), (0.01, 1.0), (0.1, 3.0)])
def test_records_at_the_corners_of_a_triangle_by_quadrature(rate: float, mu: float) -> None:
    """The loss that is put together from cells is below theirs at every threshold, and near."""
    found = triangle_at_least(rate, mu)
    x = np.linspace(-9.0, 9.0 + mu, 2401)
    z, y = np.meshgrid(x, x - 0.5 * mu, indexing="ij")
    corners = [(0.0, 0.0), (0.5 * math.sqrt(3.0) * mu, 0.5 * mu), (0.5 * math.sqrt(3.0) * mu, -0.5 * mu)]
    r, u, v = (np.exp(-0.5 * ((z - a) ** 2 + (y - b) ** 2)) / (2.0 * math.pi) for a, b in corners)
    p, q = (1.0 - rate) * r + rate * u, (1.0 - rate) * r + rate * v
    for epsilon in (-0.1, 0.0, 0.02, 0.3, 1.0):
        played = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0))) * (x[1] - x[0]) ** 2
        low = found.bounds(np.array(epsilon))[0]
        assert low <= played * (1.0 + 1e-6)
        assert low >= 0.98 * played - 1e-6
    orders = np.array([0.5, 3.0])
    exact = [_log_moment(rate, s, mu * mu, mu * mu, 0.5 * mu * mu) for s in orders.tolist()]
    own = found.loss().log_mgf_real(orders)
    assert (own <= np.array(exact) + 1e-9).all()
    assert (own >= 0.95 * np.array(exact)).all()  # high orders live beyond the cells of a finite size


def test_triangles_are_dropped_where_a_null_record_need_not_be_one_of_them() -> None:
    profile = FixedSizeProfile(GaussianProfile(1.0), 0.01, triangle=True)
    assert profile.attained_in_the_long_run() is not None
    assert convert(profile, Neighbouring.ZERO_OUT).attained_in_the_long_run() is None
    with pytest.raises(ParameterError, match="triangle: the loss of records at the corners"):
        FixedSizeProfile(LaplaceProfile(1.0, 1.0), 0.01, triangle=True)


def test_triangles_compose_with_other_releases() -> None:
    """The lower end is that of fixed data, the upper end as without."""
    sampled = FixedSizeProfile(GaussianProfile(1.0), 0.01, triangle=True)
    others = [(GaussianProfile(0.5), 3), (LaplaceProfile(1.0, 10.0), 2)]
    alone, both = (
        compose([(sampled, 5_000)]).epsilon(1e-6),
        compose([(sampled, 5_000), *others]).epsilon(1e-6),
    )
    plain = compose([(FixedSizeProfile(GaussianProfile(1.0), 0.01), 5_000), *others]).epsilon(1e-6)
    assert plain.lower < both.lower <= both.upper == plain.upper
    assert alone.lower < both.lower


@pytest.mark.parametrize(("rate", "sigma", "s"), [(0.01, 1.0, 3.0), (0.3, 2.0, 7.5), (0.9, 0.7, 0.4)])
def test_two_records_are_a_sampled_gaussian(rate: float, sigma: float, s: float) -> None:
    for corner, added in (((sigma**-2, 1e-300, 0.0), False), ((1e-300, sigma**-2, 0.0), True)):
        known = sampled_gaussian_loss(rate, sigma, added).log_mgf_real(np.array([s]))[0]
        assert known <= _log_moment(rate, s, *corner) <= known + 1e-11


@pytest.mark.slow_cells("3.0-0.4")
@pytest.mark.few(2)
@pytest.mark.parametrize("rate", [0.01, 0.4])
@pytest.mark.parametrize("sigma", [0.8, 3.0])
@settings(max_examples=10, deadline=None)
@given(s=st.floats(0.2, 8.0), places=st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4))
def test_no_three_records_lose_more(rate: float, sigma: float, s: float, places: list[float]) -> None:
    """Records in a plane, pairwise within 1."""
    u, v = np.array(places[:2]), np.array(places[2:])
    scale = max(1.0, float(np.linalg.norm(u)), float(np.linalg.norm(v)), float(np.linalg.norm(u - v)))
    u, v = u / scale / sigma, v / scale / sigma
    played = _log_moment(rate, s, max(float(u @ u), 1e-12), max(float(v @ v), 1e-12), float(u @ v))
    assert played <= s * fixed_size_divergence(rate, sigma, s) * (1.0 + 1e-9) + 1e-12


def test_what_is_out_of_reach_is_infinite() -> None:
    assert fixed_size_divergence(0.1, 0.01, 3.0) == math.inf
    assert fixed_size_divergence(0.1, 1.0, 100.0) == triangle_divergence(0.1, 1.0, 100.0) == math.inf
