"""Steered and reflected plays, against laws that are known."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from mechanisms import Gaussian, Interval, Laplace, Sensitivity
from verify.learners.pair_gates import Reflected, SteeredPair, Steering, Watched, gaussian_delta
from verify.sampling.binomial_bounds import clopper_pearson_lower

ONE = Interval(0.0, 1.0)
MU = math.sqrt(1.0 / (2.0 * math.log(1250.0)))  # of the classical Gaussian mechanism at (1, 1e-3)
NOISE = Gaussian(sigma=1.0 / MU, sensitivity=Sensitivity(1.0, 1.0, 1.0))


def let_in(gate, value, other):
    return gate.private(np.array([[value], [other]]), ONE, "one")


def steered_noises(seed: int, steering: Steering, releases: int) -> list[float]:
    """Play a few releases of 1 against 0; return the noise of each in standard deviations."""
    gate = SteeredPair(np.random.SeedSequence(seed), steering, sees_draws=True)
    value = let_in(gate, 1.0, 0.0)
    noises = [(float(gate.release(NOISE, value)[0, 0]) - 1.0) * MU for _ in range(releases)]
    assert gate.reached
    return noises


def test_golden_values() -> None:
    m = MU * math.sqrt(3.0) * math.sqrt(1.0 - 1e-9)
    assert m == pytest.approx(0.458641650932, rel=1e-8)
    assert gaussian_delta(m, 1.0) == pytest.approx(0.003825494387, rel=1e-7)
    assert gaussian_delta(50.0, 1.0) == pytest.approx(1.0)


@pytest.mark.slow
def test_steered_paths_have_the_law_of_weighted_plain_ones() -> None:
    """First and second moments of 12,000 paths; a difference of 5 standard errors comes once in a million."""
    m, paths = MU * math.sqrt(3.0), 12_000
    rng = np.random.default_rng(1)
    plain = rng.standard_normal((2_000_000, 3))
    loss = m * m / 2.0 + MU * plain.sum(axis=1)
    weight = np.maximum(0.0, -np.expm1(1.0 - loss))
    steered = np.array([steered_noises(seed, Steering(m, 1.0), 3) for seed in range(paths)])
    for power in (1, 2):
        expected = (weight[:, np.newaxis] * plain**power).sum(axis=0) / weight.sum()
        spread = (steered**power).std(axis=0) / math.sqrt(paths)
        assert np.all(np.abs((steered**power).mean(axis=0) - expected) < 5.0 * spread)
    product = (weight * plain[:, 0] * plain[:, 2]).sum() / weight.sum()
    own = steered[:, 0] * steered[:, 2]
    assert abs(own.mean() - product) < 5.0 * own.std() / math.sqrt(paths)


def test_the_sum_of_steered_noise_tells_the_data_sets_apart() -> None:
    """Each path ends where the loss is above epsilon: seen of all of 300 paths."""
    m = MU * math.sqrt(3.0)
    for seed in range(300):
        assert m * m / 2.0 + MU * sum(steered_noises(seed, Steering(m, 1.0), 3)) > 1.0 - 1e-6


@pytest.mark.slow
def test_where_moves_end_after_a_large_release_the_bound_keeps_below_the_truth() -> None:
    """The second release does not move where the first noise is above 1: T fails in nearly all steered plays.

    The bound may be above the truth in 5 % of 600 times, and three standard errors more.
    """
    m, plays, times, error = MU * math.sqrt(2.0), 24, 600, 0.05
    epsilon = 1.0
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((2_000_000, 2))
    further = np.where(noise[:, 0] <= 1.0, MU * MU / 2.0 + MU * noise[:, 1], 0.0)
    truth = np.maximum(0.0, -np.expm1(epsilon - (MU * MU / 2.0 + MU * noise[:, 0] + further))).mean()
    above = 0
    steering = Steering(m * math.sqrt(1.0 - 1e-9), epsilon)
    for time in range(times):
        reached = 0
        for play in range(plays):
            gate = SteeredPair(np.random.SeedSequence([time, play]), steering, sees_draws=True)
            value = let_in(gate, 1.0, 0.0)
            if (float(gate.release(NOISE, value)[0, 0]) - 1.0) * MU <= 1.0:
                gate.release(NOISE, value)
            reached += gate.reached
        above += float(clopper_pearson_lower(reached, plays, error)) * steering.delta > truth
    assert above <= times * error + 3.0 * math.sqrt(times * error * (1.0 - error))


def test_other_noise_and_hidden_draws_end_a_steered_play() -> None:
    for sees_draws in (False, True):
        gate = SteeredPair(np.random.SeedSequence(0), Steering(1.0, 0.5), sees_draws=sees_draws)
        gate.random.random()
        gate.release(NOISE, let_in(gate, 1.0, 0.0))
        assert gate.lost is not sees_draws
    gate = SteeredPair(np.random.SeedSequence(0), Steering(1.0, 0.5), sees_draws=True)
    gate.release(Laplace(scale=1.0), let_in(gate, 1.0, 0.0))
    assert gate.lost
    gate = SteeredPair(np.random.SeedSequence(0), Steering(1.0, 0.5), sees_draws=True)
    gate.declassify(let_in(gate, 1.0, 0.0), "as it is")
    assert gate.lost


def test_reflected_noise_shows_every_movement() -> None:
    """Eight releases of scale 1 that move by 1 lose 8 exactly, in every play; a plain play hardly ever does."""
    gate = Reflected(np.random.SeedSequence(0), 1)
    value = let_in(gate, 0.0, 1.0)
    for _ in range(8):
        gate.release(Laplace(scale=1.0), value)
    assert gate.loss[0, 0] == pytest.approx(8.0, rel=1e-12)


@pytest.mark.slow
def test_reflected_noise_is_laplace_noise_where_nothing_moves() -> None:
    """Its mean is 0 in 4,000 draws, but for five standard errors."""
    gate = Reflected(np.random.SeedSequence(0), 1)
    value = let_in(gate, 0.5, 0.5)
    drawn = np.array([gate.release(Laplace(scale=1.0), value)[0, 0] for _ in range(4000)])
    assert abs(drawn.mean() - 0.5) < 5.0 * math.sqrt(2.0 / 4000)


def test_what_moves_is_kept_in_order() -> None:
    gate = Watched(np.random.SeedSequence(0), 1)
    same, moved = let_in(gate, 0.5, 0.5), let_in(gate, 1.0, 0.25)
    gate.release(NOISE, same)
    gate.release(NOISE, moved * 2.0)
    gate.random.random()
    gate.declassify(moved, "as it is")
    first, second = gate.moves[0]
    assert (first.mu, first.first, first.drew) == (pytest.approx(1.5 * MU), False, False)
    assert (second.mechanism, second.drew) == (None, True)
    assert first.like(first)
    assert not first.like(second)


def test_the_density_of_the_end() -> None:
    """P(S(m²) > s) under Q, by counting 4,000 draws; five standard errors."""
    steering, rng = Steering(1.0, 0.5), np.random.default_rng(3)
    ends = np.array([steering.end(rng) for _ in range(4000)])
    s = 0.7

    def beyond(at: float) -> float:
        return float(ndtr(-at) - math.exp(0.5) * ndtr(-at - 1.0))

    expected = beyond(s) / beyond(0.0)
    assert ends.min() > 0.0
    assert abs((ends > s).mean() - expected) < 5.0 * math.sqrt(expected * (1.0 - expected) / 4000)
