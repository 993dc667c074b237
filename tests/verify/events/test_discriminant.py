"""Fisher's discriminant finds what little noise along one direction gives away."""

import math

import numpy as np
import pytest
from scipy import stats

from verify.events.discriminant import MOST_FITTED, Discriminant, _fisher_direction
from verify.events.readings import Combination
from verify.events.search import search_events
from verify.events.view_sample import Column, ViewSample

COLUMNS = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, 11))
DIRECTION = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, -6.0, 5.0, 3.0]) / math.sqrt(207.0)


def squeezed(rng, world, n, spread, apart=1.0):
    """Ten Gaussians of variance 1, but `spread` along DIRECTION; the first moves so that the worlds are `apart`."""
    noise = rng.normal(size=(n, 10))
    noise -= (1.0 - spread) * np.outer(noise @ DIRECTION, DIRECTION)
    # The inverse covariance is I + (1/spread² - 1) uuᵀ.
    length = math.sqrt(1.0 + (1.0 / spread**2 - 1.0) * DIRECTION[0] ** 2)
    noise[:, 0] += world * apart / length
    return noise


def samples(spread, n, seeds=(1, 2)):
    return tuple(
        tuple(
            ViewSample(squeezed(np.random.default_rng([seed, world]), world, n, spread), COLUMNS)
            for world in (0, 1)
        )
        for seed in seeds
    )


@pytest.mark.parametrize("spread", [1.0, 0.1, 1e-3])
def test_the_direction_is_the_best_there_is(spread):
    """The worlds are 1 standard deviation apart along Σ⁻¹(m - m′), and nearer along any other direction."""
    (first, second), _ = samples(spread, 8_000)
    weights, hidden = _fisher_direction(first.values, second.values)
    assert hidden == (spread < 1.0)
    covariance = np.eye(10) - (1.0 - spread**2) * np.outer(DIRECTION, DIRECTION)
    length = math.sqrt(1.0 + (1.0 / spread**2 - 1.0) * DIRECTION[0] ** 2)
    distance = abs(weights[0]) / length / math.sqrt(weights @ covariance @ weights)
    assert 0.99 < distance <= 1.0


def test_thresholds_of_the_discriminant_reach_the_exact_error_of_the_best_test():
    """Φ(t) and Φ(t - 1) are all that any event can reach (Neyman and Pearson)."""
    fit, choose = samples(0.03, 40_000)
    discriminant = Discriminant.from_samples(fit, fit[0].columns)
    assert discriminant is not None
    family = discriminant.family(fit, choose)
    assert family.trials == (80_000 - MOST_FITTED,) * 2
    p, q = family.hits / family.trials[0], family.hits_prime / family.trials[1]
    some = (p > 0.05) & (p < 0.95)
    away = np.abs(stats.norm.ppf(p[some]) - stats.norm.ppf(q[some]))
    assert np.all((away > 0.95) & (away < 1.05))
    event = family.build(0)
    assert isinstance(event.reading, Combination)
    assert event.reading.weights[0] > 0.0


@pytest.mark.slow
def test_the_search_takes_it_where_tables_see_nothing():
    """At a spread of .001 all that happens lies in one bin of every column, difference and sum."""
    fit, choose = samples(1e-3, 20_000)
    best = search_events(fit, choose, final_samples=1_000_000, delta=0.0, error=1e-4).best
    assert all(isinstance(event.event.reading, Combination) for event in best)
    assert min(event.predicted for event in best) > 1.5


def test_columns_that_say_nothing_are_left_out_and_weights_are_short():
    rng = np.random.default_rng(3)
    first, second = (rng.normal(size=(8_000, 4)) for _ in range(2))
    for world in (first, second):
        world[:, 2] = 2.0 * world[:, 1] + 0.01 * world[:, 2]
    second[:, 1] += 0.01
    weights, _ = _fisher_direction(first, second)
    assert weights.tolist() == [0.0, 1.0, -0.5, 0.0]


def test_there_is_no_discriminant_without_numbers_draws_or_a_difference():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(1_000, 3))
    absent = np.where(values < -2.0, np.nan, values)
    assert not _fisher_direction(values, absent)[0].any()
    assert not _fisher_direction(np.where(values > 2.0, np.inf, values), values)[0].any()
    assert not _fisher_direction(values, values)[0].any()
    assert not _fisher_direction(values * 1e200, 1.0 + values * 1e200)[0].any()
    assert not _fisher_direction(values[:23], values[24:47])[0].any()
    assert not _fisher_direction(np.ones((100, 3)), np.zeros((100, 3)))[0].any()
    view = ViewSample(values[:, :1], COLUMNS[:1])
    assert Discriminant.from_samples((view, view), view.columns) is None


def test_exact_relations_are_left_to_others():
    """Along them rounding is all the noise there is, and would be taken for the best direction of all."""
    rng = np.random.default_rng(5)
    first, second = (rng.normal(size=(8_000, 2)) for _ in range(2))
    second[:, 0] += 0.5
    first, second = (np.column_stack([world, world @ [1.0 / 3.0, 0.7]]) for world in (first, second))
    weights, _ = _fisher_direction(first, second)
    assert np.std(first @ weights) > 0.1
    seen = weights[:2] + weights[2] * np.array([1.0 / 3.0, 0.7])
    assert abs(seen[1]) < 0.1 * abs(seen[0])
    assert np.abs(weights).max() == 1.0


def test_columns_that_are_not_always_there_are_left_out():
    rng = np.random.default_rng(6)
    first, second = (rng.normal(size=(4_000, 4)) for _ in range(2))
    second[:, :] += 0.5
    first[7, 1], second[9, 3] = math.nan, math.inf
    weights, _ = _fisher_direction(first, second)
    assert np.flatnonzero(weights).tolist() == [0, 2]
