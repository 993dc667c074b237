"""Learning: sufficient statistics of a regression, clipped gradients."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out
from noise_laws import analytic_mu, gaussian_epsilon, gaussian_masses
from oracle import Oracle

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne

DELTA = 1e-3
MU = analytic_mu(1.0, DELTA)  # sensitivity / σ at which the Gaussian mechanism is (1, 0.001)-private
PAIRS = ReplaceOne(Box(-2, 2, 2), 4)
GRADIENTS = ReplaceOne(Box(-5, 5, 3), 8)
LINE = "a linear function of the output is at most t"
WANG = "Wang 2018, Revisiting differentially private linear regression (AdaSSP)"
ABADI = "Abadi et al. 2016, Deep learning with differential privacy, Algorithm 1"
FLIPPED = np.zeros((4, 2)), np.zeros((4, 2))
FLIPPED[0][0], FLIPPED[1][0] = (2.0, 2.0), (2.0, -2.0)
OPPOSITE = np.zeros((8, 3)), np.zeros((8, 3))
OPPOSITE[0][0], OPPOSITE[1][0] = 5.0, -5.0


def sums_of_products(
    data: FloatArray, rng: np.random.Generator, lanes: int, sigma: float
) -> tuple[FloatArray, FloatArray]:
    """Σ x² and Σ x y, each with N(0, σ²)."""
    x, y = data[:, 0], data[:, 1]
    return x @ x + sigma * rng.standard_normal(lanes), x @ y + sigma * rng.standard_normal(lanes)


@held_out(
    data=PAIRS,
    epsilon=1.0,
    delta=DELTA,
    true_epsilon=gaussian_epsilon(MU * 8.0 / math.sqrt(8.0), DELTA),
    source=f"{WANG}, Algorithm 2, in one dimension",
    oracle=Oracle(*FLIPPED, LINE, lambda: gaussian_masses(MU * 8.0 / math.sqrt(8.0))),
    limit=3.412,
)
def regression_sums(data: FloatArray, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, FloatArray]:
    """Wrong: with |x|, |y| ≤ 2 both sums are taken to move by 2, but Σ x y moves by 8."""
    return sums_of_products(data, rng, lanes, math.sqrt(8.0) / MU)


@held_out(
    data=PAIRS,
    epsilon=1.0,
    delta=DELTA,
    true_epsilon=1.0,
    source=f"{WANG}, Algorithm 2, in one dimension",
    oracle=Oracle(*FLIPPED, LINE, lambda: gaussian_masses(MU)),
    limit=0.9761,
)
def regression_sums_diameter(
    data: FloatArray, rng: np.random.Generator, lanes: int
) -> tuple[FloatArray, FloatArray]:
    """Correct: (x², x y) = x (x, y) lies in a set of L2 diameter 8."""
    return sums_of_products(data, rng, lanes, 8.0 / MU)


def clip(vectors: FloatArray) -> FloatArray:
    """Scale each vector down to norm 1."""
    return vectors / np.maximum(1.0, np.linalg.norm(vectors, axis=-1, keepdims=True))


@held_out(
    data=GRADIENTS,
    epsilon=1.0,
    delta=DELTA,
    true_epsilon=1.0,
    source=ABADI,
    oracle=Oracle(*OPPOSITE, LINE, lambda: gaussian_masses(MU)),
    limit=0.9761,
)
def gradient_step(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: each of eight gradients is clipped to norm 1; the mean moves by 2/8."""
    return clip(data).mean(axis=0) + 0.25 / MU * rng.standard_normal((lanes, 3))


@held_out(
    data=GRADIENTS,
    epsilon=1.0,
    delta=DELTA,
    true_epsilon=gaussian_epsilon(8.0 * MU, DELTA),
    source=f"{ABADI}; the mistake of training loops that clip after averaging",
    oracle=Oracle(*OPPOSITE, LINE, lambda: gaussian_masses(8.0 * MU)),
    limit=9.784,
)
def gradient_step_clips_mean(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the mean gradient is clipped, not each: it moves by 2 in place of 2/8."""
    return clip(data.mean(axis=0)) + 0.25 / MU * rng.standard_normal((lanes, 3))


PATTERN = np.array([5.0, -2.0, 0.0, 3.0, -5.0, -4.0, 3.0, -2.0])


@held_out(
    data=AddOrRemoveOne(Interval(-5, 5), 8),
    epsilon=1.0,
    delta=DELTA,
    true_epsilon=7.29,
    exact=False,
    source=f"{ABADI} with micro-batches in the order of the data",
    oracle=Oracle(PATTERN, PATTERN[1:], LINE, lambda: gaussian_masses(5.0 * MU)),
    limit=6.545,
)
def micro_batches_shift(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: means of two in order are clipped to [-1, 1], with noise for 1; a missing record shifts the rest."""
    clipped = [np.clip(np.mean(data[i : i + 2]), -1.0, 1.0) for i in range(0, len(data), 2)]
    return sum(clipped) + rng.standard_normal(lanes) / MU


LAYERS = AddOrRemoveOne(Box(-3, 3, 6), 3)
LAYER_MU = analytic_mu(1.0, 0.01)
LARGE_OR_NONE = np.full((1, 6), 3.0), np.zeros((0, 6))


def noisy_layers(clipped: FloatArray, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, ...]:
    """The sum of the records' gradients + N(0, σ²), for a norm of 1; an array for each of three layers."""
    noisy = clipped.sum(axis=0) + rng.standard_normal((lanes, 6)) / LAYER_MU
    return noisy[:, :2], noisy[:, 2:4], noisy[:, 4:]


@held_out(
    data=LAYERS,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=1.0,
    source=ABADI,
    oracle=Oracle(*LARGE_OR_NONE, LINE, lambda: gaussian_masses(LAYER_MU)),
    limit=0.98977,
)
def clip_globally(data: FloatArray, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, ...]:
    """Correct: a record's gradients of three layers have norm 1 together."""
    return noisy_layers(clip(np.asarray(data)), rng, lanes)


@held_out(
    data=LAYERS,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=gaussian_epsilon(math.sqrt(3.0) * LAYER_MU, 0.01),
    source=f"{ABADI}; the mistake of Fed-BioMed issue 1443",
    oracle=Oracle(*LARGE_OR_NONE, LINE, lambda: gaussian_masses(math.sqrt(3.0) * LAYER_MU)),
    limit=2.0592,
)
def clip_per_layer(data: FloatArray, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, ...]:
    """Wrong: each of three layers is clipped to norm 1, √3 together, with noise for 1."""
    return noisy_layers(clip(np.reshape(data, (-1, 3, 2))).reshape(-1, 6), rng, lanes)


HELD_OUT = (
    regression_sums,
    regression_sums_diameter,
    gradient_step,
    gradient_step_clips_mean,
    micro_batches_shift,
    clip_globally,
    clip_per_layer,
)
