"""Divergences on samples of fixed size: never below those of any three records, nor far above."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms import GaussianProfile
from mechanisms.fixed_size import FixedSizeProfile
from mechanisms.gaussian_loss import sampled_gaussian_loss
from mechanisms.losses.composed_loss import compose
from mechanisms.losses.enclosure import Enclosure
from mechanisms.losses.fixed_size_orders import _log_moment, fixed_size_divergence, triangle_divergence


def test_ten_thousand_samples() -> None:
    """The worst pairs at single thresholds say 8.938; records at the corners of a triangle lose 7.433."""
    found = compose([(FixedSizeProfile(GaussianProfile(1.0), 0.01), 10_000)]).epsilon(1e-6)
    assert isinstance(found, Enclosure)
    assert 7.44 <= found.upper <= 8.1
    assert found.by == "Renyi DP over all data"
    assert 6.907 <= found.lower <= 7.433


@pytest.mark.parametrize(("rate", "sigma", "s"), [(0.01, 1.0, 3.0), (0.3, 2.0, 7.5), (0.9, 0.7, 0.4)])
def test_two_records_are_a_sampled_gaussian(rate: float, sigma: float, s: float) -> None:
    for corner, added in (((sigma**-2, 1e-300, 0.0), False), ((1e-300, sigma**-2, 0.0), True)):
        known = sampled_gaussian_loss(rate, sigma, added).log_mgf_real(np.array([s]))[0]
        assert known <= _log_moment(rate, s, *corner) <= known + 1e-11


@pytest.mark.few(2)
@pytest.mark.parametrize("rate", [0.01, 0.4])
@pytest.mark.parametrize("sigma", [0.8, 3.0])
@settings(max_examples=25, deadline=None)
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
