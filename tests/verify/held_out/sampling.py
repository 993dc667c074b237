"""Sampled records: amplification, batches of a fixed size, a batch's own size."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out
from noise_laws import gaussian_epsilon, laplace_survival
from oracle import Masses, Oracle
from scipy.special import chdtrc, ndtr

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne

FEW = AddOrRemoveOne(Interval(0, 1), 3)
BALLE = "Balle, Barthe, Gaboardi 2018, Privacy amplification by subsampling, Theorem 8"


AMPLIFIED = math.log1p(0.1 * math.expm1(3.0))


def sampled_laplace_masses() -> Masses:
    t = np.linspace(-3.0, 6.0, 4001)
    none = laplace_survival(3.0 * t)
    return 0.9 * none + 0.1 * laplace_survival(3.0 * (t - 1.0)), none


ONE_OR_NONE = Oracle(np.ones(1), np.zeros(0), "the sum is at least t", sampled_laplace_masses)


def sampled_sum(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Σ of the records that are kept, each with probability 0.1."""
    return (rng.random((lanes, len(data))) < 0.1) @ np.asarray(data)


@held_out(
    data=FEW,
    epsilon=0.3,
    true_epsilon=AMPLIFIED,
    source=BALLE,
    oracle=ONE_OR_NONE,
    limit=1.060,
)
def sampled_laplace_claims_product(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Laplace with ε = 3 after Poisson sampling at 0.1 is claimed to be 0.1 · 3; it is ln(1 + 0.1 (e^3 - 1))."""
    return sampled_sum(data, rng, lanes) + rng.laplace(scale=1 / 3, size=lanes)


@held_out(
    data=FEW,
    epsilon=AMPLIFIED,
    true_epsilon=AMPLIFIED,
    source=BALLE,
    oracle=ONE_OR_NONE,
    limit=1.060,
)
def sampled_laplace(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the same with its true epsilon."""
    return sampled_sum(data, rng, lanes) + rng.laplace(scale=1 / 3, size=lanes)


def sampled_gaussian_masses() -> Masses:
    t = np.linspace(-4.0, 8.0, 8001)
    none = ndtr(-t / 0.5)
    return 0.9 * none + 0.1 * ndtr(-(t - 1.0) / 0.5), none


SAMPLED_GAUSSIAN = Oracle(np.ones(1), np.zeros(0), "the sum is at least t", sampled_gaussian_masses)


@held_out(
    data=FEW,
    epsilon=0.1 * gaussian_epsilon(2.0, 1e-3),
    delta=1e-4,
    true_epsilon=SAMPLED_GAUSSIAN.epsilon(1e-4),
    source=f"{BALLE}; (q ε, q δ) is what the theorem does not say",
    oracle=SAMPLED_GAUSSIAN,
    limit=4.442,
)
def sampled_gaussian(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: σ = 1/2 after Poisson sampling at 0.1, with both ε and δ multiplied by 0.1."""
    return sampled_sum(data, rng, lanes) + 0.5 * rng.standard_normal(lanes)


def fixed_batch_masses() -> Masses:
    """The batch holds the replaced record with probability 1/2; then the sum is 0, and else -2."""
    t = np.linspace(-4.0, 8.0, 6001)
    low = laplace_survival(t + 2.0)
    return 0.5 * low + 0.5 * laplace_survival(t), low


@held_out(
    data=ReplaceOne(Interval(-1, 1), 4),
    epsilon=0.6201,
    true_epsilon=math.log(0.5 + 0.5 * math.exp(2.0)),
    source=f"{BALLE} is for Poisson sampling; training loops shuffle and account as if they sampled",
    oracle=Oracle(np.array([1.0, -1, -1, -1]), np.full(4, -1.0), "the sum is at least t", fixed_batch_masses),
    limit=1.4294,
)
def fixed_batch(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the sum of two of four records + Lap(1), accounted as ln(1 + (e - 1)/2); a replaced one moves it by 2."""
    chosen = np.argsort(rng.random((lanes, 4)), axis=1)[:, :2]
    return np.asarray(data)[chosen].sum(axis=1) + rng.laplace(size=lanes)


RECORDS = 5  # at which neighbours differ most


def scaled_by_batch(records: int, t: FloatArray) -> FloatArray:
    """P(|output| ≥ t): noise of scale 10, divided by the number of sampled records, at least 1."""
    sizes = np.arange(records + 1)
    chances = np.array([math.comb(records, size) for size in sizes]) * 0.5**records
    return 2.0 * ndtr(-np.outer(t, np.maximum(sizes, 1)) / 10.0) @ chances


def batch_masses() -> Masses:
    t = np.linspace(0.01, 60.0, 6000)
    return scaled_by_batch(RECORDS, t), scaled_by_batch(RECORDS + 1, t)


@held_out(
    data=AddOrRemoveOne(Interval(-1, 1), 6),
    epsilon=0.2,
    delta=1e-3,
    true_epsilon=0.49,
    exact=False,
    source="what Opacus issue 420 asks for: gradients divided by the actual size of a Poisson batch",
    oracle=Oracle(np.zeros(RECORDS), np.zeros(RECORDS + 1), "the output is at least t in size", batch_masses),
    limit=0.48312,
)
def step_divided_by_batch(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: σ = 10 would do for the sum, but the scale after the division tells the batch's size."""
    sampled = rng.random((lanes, len(data))) < 0.5
    noisy = sampled @ np.asarray(data) + 10.0 * rng.standard_normal(lanes)
    return noisy / np.maximum(sampled.sum(axis=1), 1)


def floored_masses() -> Masses:
    """P(norm ≥ 4 √t): eight N(0, 4²) divided by 1 (of nine records) or by 2 (of ten)."""
    t = np.linspace(0.1, 80.0, 4000)
    return chdtrc(8, t), chdtrc(8, 4.0 * t)


@held_out(
    data=AddOrRemoveOne(Box(-1, 1, 8), 11),
    epsilon=1.0,
    delta=1e-3,
    true_epsilon=10.0,
    exact=False,
    source="Opacus issues 571 and 819: the expected size of a batch comes from the private number of records",
    oracle=Oracle(np.zeros((9, 8)), np.zeros((10, 8)), "the norm is at least t", floored_masses),
    limit=11.61,
)
def floored_batch_size(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: a noisy sum of sampled gradients is divided by int(n / 5), which tells nine records from ten."""
    gradients = np.asarray(data) / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    sampled = rng.random((lanes, len(gradients))) < 0.2
    return (sampled @ gradients + 4.0 * rng.standard_normal((lanes, 8))) / max(1, len(gradients) // 5)


HELD_OUT = (
    sampled_laplace_claims_product,
    sampled_laplace,
    sampled_gaussian,
    fixed_batch,
    step_divided_by_batch,
    floored_batch_size,
)
