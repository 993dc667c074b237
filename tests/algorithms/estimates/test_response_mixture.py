"""The bound on an item's attraction: against the mixture as it is written, and simulated at all displays at once."""

import itertools
import math

import numpy as np
import pytest

from algorithms.estimates.response_mixture import ResponseMixture, _mixture_grid


def rates(positions, epsilon):
    false = 1 / (math.exp(epsilon) + positions)
    return false, math.expm1(epsilon) * false


def log_mixture(mixture, u, clicked, above, displays):
    """Of all of the grid, one s after the other."""
    q, g = mixture.false_rate, mixture.gain
    logs = []
    for s in _mixture_grid(mixture.horizon):
        log = -s * (clicked + u * above)
        for k, count in enumerate(displays):
            log -= count * math.log(1 - (q + g * u) * (1 - math.exp(-s)) - k * q * (1 - math.exp(-s * u)))
        logs.append(log)
    return max(logs) + math.log(sum(math.exp(log - max(logs)) for log in logs) / len(logs))


@pytest.mark.slow
def test_every_attraction_above_the_bound_is_rejected():
    """At 26 of them, in 200 cases, likely ones and others."""
    rng, lowered = np.random.default_rng(1), 0
    for _ in range(200):
        positions, epsilon = int(rng.integers(1, 6)), float(rng.choice([0.1, 0.5, 1.0, 2.0, 4.0, 8.0]))
        q, g = rates(positions, epsilon)
        mixture = ResponseMixture(positions, q, g, 12.0, 100_000)
        displays = np.floor(10 ** rng.uniform(0, 6) * rng.dirichlet(np.ones(positions)))
        above = round(displays.sum() * rng.choice([0.0, rng.random(), 1.0]) * (positions - 1) / positions)
        clicked = round((displays.sum() - above) * min(1.0, q + g * rng.choice([0.0, rng.random(), 1.0])))
        start = float(rng.choice([1.0, rng.uniform(0.3, 1.0)]))
        upper = float(
            mixture.upper(
                np.array([start]), np.array([float(clicked)]), np.array([float(above)]), displays[None]
            )[0]
        )
        assert 0 <= upper <= start
        if upper < start:
            lowered += 1
            for u in np.linspace(upper, start, 26):
                assert log_mixture(mixture, float(u), clicked, above, displays) > 12.0 - 1e-6
    assert lowered > 50


@pytest.mark.parametrize("positions", [1, 4, 12])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 3.0, 12.0])
def test_lines_are_below_what_they_stand_for_and_near(positions, epsilon):
    """At 33 attractions of every cell. Second derivatives are between -s^2 e^s and s^2 e^(2 s), as Phi >= e^-s."""
    q, g = rates(positions, epsilon)
    mixture = ResponseMixture(positions, q, g, 12.0, 10**6)
    s, knots = mixture.grid, mixture.knots
    for cell, (low, high) in enumerate(itertools.pairwise(knots)):
        u = np.linspace(low, high, 33)[:, np.newaxis]
        for k in range(positions):
            value, slope = np.split(mixture.lines[cell, k], 2)
            exact = -np.log1p(-(q + g * u) * -np.expm1(-s) + k * q * np.expm1(-s * u))
            off = exact - (value + slope * (u - low))
            assert (off > 0).all()
            assert (off < ((high - low) * s * np.exp(s)) ** 2 / 4 + 1e-11).all()


def test_tangents_that_fall_do_not_overflow():
    """Where every u is rejected, a smaller one more clearly: 10^11 displays at the last position, never clicked."""
    q, g = rates(5, 1e-9)
    mixture = ResponseMixture(5, q, g, 12.0, 10**9)
    displays = np.array([[0.0, 0.0, 0.0, 0.0, 1e11]])
    with np.errstate(all="raise", under="ignore"):
        upper = mixture.upper(np.ones(1), np.zeros(1), 0.75e11 * np.ones(1), displays)
    assert 0 <= upper[0] < 1


@pytest.mark.parametrize("positions", [1, 3])
def test_it_fails_at_some_display_as_seldom_as_it_says(positions):
    """e^-3 = 5 % of 2,000 items displayed 256 times at any positions; 8 % with probability 1e-7.

    Positions depend on what was sent before, and items above attract at random. And little is given away: the last
    bounds are not far above the largest attraction that is not rejected.
    """
    q, g = rates(positions, 2.0)
    mixture = ResponseMixture(positions, q, g, 3.0, 256)
    rng, items, w = np.random.default_rng(5), 2000, 0.3
    clicked, above, displays = np.zeros(items), np.zeros(items), np.zeros((items, positions))
    failed = np.zeros(items, dtype=bool)
    k = np.zeros(items, dtype=int)
    for n in range(1, 257):
        true = np.where(rng.random(items) < 0.8**k, np.where(rng.random(items) < w, k, positions), k - 1)
        said = np.where(rng.random(items) < g, true, rng.integers(0, positions + 1, items))
        clicked += said == k
        above += said < k
        displays[np.arange(items), k] += 1
        if n & (n - 1) == 0 or n % 16 == 0:
            failed |= mixture.upper(np.ones(items), clicked, above, displays) < w
        k = np.where(said == k, 0, (k + 1) % positions)
    assert 0 < failed.mean() < 0.08
    for item, upper in enumerate(mixture.upper(np.ones(20), clicked[:20], above[:20], displays[:20])):
        counts = clicked[item], above[item], displays[item]
        assert log_mixture(mixture, max(upper - 0.1, 1e-9), *counts) <= 3.0
