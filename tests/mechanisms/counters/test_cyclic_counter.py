"""Cyclic sampling of banded counters: blocks of rows against quadratures and the matrices that are materialized."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from mechanisms import Gaussian, GaussianProfile, Neighbouring, ParameterError, Sampling, sampled
from mechanisms.composition.composed_loss import compose
from mechanisms.counters.banded_counter import BandedCounter
from mechanisms.profiles.related_profile import restate

A = Neighbouring.ADD_OR_REMOVE


def counter(horizon: int, bandwidth: int, sigma: float = 1.0, moved: float = 1.0) -> BandedCounter:
    return BandedCounter(
        horizon=horizon,
        bandwidth=bandwidth,
        mechanism=Gaussian(sigma=sigma, sensitivity=moved),
        sensitivity=Gaussian(sigma=sigma, sensitivity=moved).sensitivity,
    )


def cost(profile, delta: float = 1e-6):
    return compose([(profile, 1)]).epsilon(delta)


@pytest.mark.parametrize("relation", list(Neighbouring))
@pytest.mark.parametrize(
    ("horizon", "bandwidth", "parts"), [(12, 3, 4), (13, 3, 4), (14, 3, 4), (15, 3, 4), (9, 1, 3)]
)
def test_part_zero_attains_what_the_worst_part_costs(
    relation: Neighbouring, horizon: int, bandwidth: int, parts: int
) -> None:
    """Each turn by itself, with the rows of the column that it begins, from the dense matrix."""
    own = counter(horizon, bandwidth, 2.0, 1.5)
    right = own.materialize(horizon).right
    found = cost(own.cyclic_profile(parts, 0.2, relation))
    for first in range(parts):
        turns = []
        for turn in range(first, horizon, parts):
            mu = 1.5 * float(np.linalg.norm(right[turn : turn + parts, turn])) / 2.0
            base = restate(GaussianProfile(mu), Sampling.POISSON.movement(relation))
            turns.append((sampled(base, 0.2, relation), 1))
        played = compose(turns).epsilon(1e-6)
        if first == 0:
            assert found.upper == pytest.approx(played.upper, rel=1e-7)
        assert played.lower <= found.upper


@pytest.mark.slow_cells("0.0")
@pytest.mark.few(2)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_a_block_that_follows_its_own_rows_loses_no_more(epsilon: float) -> None:
    """One part of two steps: another record's second increment follows the first row that was released."""
    own, rate = counter(2, 2), 0.3
    column = own.right_column(2)
    z = np.linspace(-9.0, 10.0, 1601)
    first, second = np.meshgrid(z, z, indexing="ij")
    others = np.where(first > 0.4, 0.7, -1.0)
    without = norm.pdf(first) * norm.pdf(second - others)
    moved = norm.pdf(first - column[0]) * norm.pdf(second - others - column[1])
    with_it = (1.0 - rate) * without + rate * moved
    sides = own.cyclic_profile(2, rate, A).directions()
    for side, (p, q) in zip(sides, ((with_it, without), (without, with_it)), strict=True):
        played = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0.0))) * (z[1] - z[0]) ** 2
        low, high = side.bounds(np.array(epsilon))
        assert low - 1e-5 <= played <= high + 1e-5


def test_one_band_in_one_step_is_a_poisson_sample() -> None:
    """No correlation: of T steps on samples of 1 % a record in one of 10 parts meets T/10 of 10 %."""
    turns = cost(counter(1000, 1).cyclic_profile(10, 0.1, A))
    poisson = compose([(sampled(restate(GaussianProfile(1.0), A), 0.1, A), 100)]).epsilon(1e-6)
    assert turns.upper == pytest.approx(poisson.upper, rel=1e-7)


@pytest.mark.parametrize(
    ("parts", "rate", "message"),
    [
        (2, 0.1, "parts = 2: must be from the bandwidth, 3, to the horizon, 9"),
        (10, 0.1, "parts = 10"),
        (3, 1.0, "lie in"),
    ],
)
def test_parts_that_overlap_and_rates_outside_are_refused(parts: int, rate: float, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        counter(9, 3).cyclic_profile(parts, rate, A)
