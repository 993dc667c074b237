"""Selection of one option: noisy maxima, permute-and-flip, the exponential mechanism."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import laplace_cdf, laplace_density, quadrature
from oracle import Oracle, by_likelihood_ratio
from scipy.special import ndtr

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify import Listed, Within

FOUR = Within(Box(-5, 5, 4), linf=1)
WORDS = np.array(["ann", "bob", "cy", "dee"])
MCKENNA = "McKenna and Sheldon 2020, Permute-and-flip"


@held_out(
    data=FOUR,
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="Ding, Wang, Zhang, Kifer 2019, Free gap information, Algorithm 1",
)
def noisy_max_gap(data: FloatArray, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, FloatArray]:
    """Correct: the index of the largest of four with Lap(2/ε), and for free its gap to the second."""
    noisy = data + rng.laplace(scale=2.0, size=(lanes, 4))
    ordered = np.sort(noisy, axis=1)
    return np.argmax(noisy, axis=1), ordered[:, -1] - ordered[:, -2]


@held_out(
    data=Within(Box(-10, 10, 2), linf=1),
    epsilon=1.0,
    true_epsilon=math.log(ndtr(-18 / math.sqrt(2)) / ndtr(-20 / math.sqrt(2))),
    source="code that swaps Laplace noise for Gaussian noise and keeps the claim",
    oracle=Oracle(
        np.array([2.15, -2.15]), np.array([3.15, -3.15]), "the second is chosen",
        lambda: (np.array([ndtr(-4.3 / math.sqrt(2))]), np.array([ndtr(-6.3 / math.sqrt(2))])),
    ),
    limit=5.104,
)  # fmt: skip
def noisy_max_gaussian(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the index of the larger of two with N(0, 1); there is no pure guarantee, the loss grows with the gap."""
    return np.argmax(data + rng.standard_normal((lanes, 2)), axis=1)


def one_below(gap: float) -> float:
    """P(the first of five with Lap(1) wins that is `gap` above the four others): t is its noise."""
    t, weights = quadrature([0.0, -gap], -40.0, 40.0, 1.0)
    return float(np.sum(weights * laplace_density(t) * laplace_cdf(t + gap) ** 4))


@held_out(
    data=Within(Box(0, 8, 5), linf=1),
    epsilon=1.0,
    true_epsilon=1.97,
    exact=False,
    source="report noisy max, Dwork and Roth 2014, section 3.3, as in github.com/menisadi/pydp (basicdp.noisy_max)",
    oracle=Oracle(
        np.ones(5), np.array([0.0, 2.0, 2.0, 2.0, 2.0]), "the first wins",
        lambda: (np.array([one_below(0.0)]), np.array([one_below(-2.0)])),
    ),
    limit=1.9374,
)  # fmt: skip
def noisy_max_half_noise(data: FloatArray, rng: np.random.Generator) -> int:
    """Wrong: Lap(1/ε) where utilities may rise and fall, which needs Lap(2/ε)."""
    noisy = [utility + rng.laplace(0, 1) for utility in data]
    return noisy.index(max(noisy))


def permute_and_flip(
    data: FloatArray, rng: np.random.Generator, lanes: int, rate: float, permute: bool = True
) -> FloatArray:
    """In random order, take an option with probability exp(rate (q - max q)); the first taken is the answer."""
    accepted = rng.random((lanes, 4)) < np.exp(rate * (data - np.max(data)))
    order = rng.random((lanes, 4)) if permute else np.broadcast_to(np.arange(4.0), (lanes, 4))
    return WORDS[np.argmin(np.where(accepted, order, np.inf), axis=1)]


@held_out(data=FOUR, epsilon=1.0, true_epsilon=1.0, source=f"{MCKENNA}, Algorithm 1")
def permute_and_flip_word(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: permute-and-flip with rate ε/2; the answer is a word."""
    return permute_and_flip(data, rng, lanes, 0.5)


@held_out(
    data=FOUR,
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{MCKENNA}; the bug is ours",
    oracle=Oracle(
        np.array([-1.0, 1.0, 1.0, 1.0]), np.zeros(4), "the second is chosen", impossible(1 - math.exp(-1))
    ),
    limit=12.86,
)  # fmt: skip
def flip_in_fixed_order(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: no permutation, so the second is impossible where the first is a maximum."""
    return permute_and_flip(data, rng, lanes, 0.5, permute=False)


@held_out(
    data=FOUR,
    epsilon=1.0,
    true_epsilon=2.0,
    source=f"{MCKENNA}; the half is forgotten as in code for monotone utilities",
    oracle=Oracle(
        np.zeros(4), np.array([-1.0, 1.0, 1.0, 1.0]), "the first is chosen",
        lambda: (np.array([1 / 4]), np.array([math.exp(-2) / 4])),
    ),
    limit=1.994,
)  # fmt: skip
def permute_and_flip_no_half(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: rate ε in place of ε/2, where one utility may rise while the others fall. 2ε."""
    return permute_and_flip(data, rng, lanes, 1.0)


def one_coin_law(utilities: FloatArray) -> FloatArray:
    """The coin u decides which options are taken (those with exp((q - max q) / 2) > u); the first of them wins."""
    chances = np.exp((utilities - utilities.max()) / 2.0)
    cuts = np.union1d([0.0], chances)
    law = np.zeros(len(utilities))
    for low, high in pairwise(cuts):
        taken = chances >= high
        law[taken] += (high - low) / taken.sum()
    return law


BELOW, LEVEL = np.array([-2.0, -2.0, 0.0, -2.0, 1.0]), np.array([-1.0, -1.0, -1.0, -1.0, 2.0])


@held_out(
    data=Within(Box(-4, 4, 5), linf=1),
    epsilon=1.0,
    true_epsilon=1.66,
    exact=False,
    source=f"{MCKENNA}; one uniform for a whole row, as in code that saves random numbers",
    oracle=Oracle(
        BELOW, LEVEL, "one of the best options is chosen",
        lambda: by_likelihood_ratio(one_coin_law(BELOW), one_coin_law(LEVEL)),
    ),
    limit=1.6615,
)  # fmt: skip
def permute_and_flip_one_coin(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: permute-and-flip with rate ε/2 and one coin for all options."""
    accepted = rng.random((lanes, 1)) < np.exp((data - np.max(data)) / 2.0)
    return np.argmin(np.where(accepted, rng.random((lanes, 5)), np.inf), axis=1)


def own_range_law(utilities: FloatArray) -> FloatArray:
    weights = np.exp(utilities / max(np.ptp(utilities), 1e-3))
    return weights / weights.sum()


FIRST, OTHERS = np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0, 1.0])


@held_out(
    data=Within(Box(0, 10, 4), linf=1),
    epsilon=1.0,
    true_epsilon=1.470,
    exact=False,
    source="exponential mechanism of code that has no sensitivity to give",
    oracle=Oracle(
        FIRST, OTHERS, "one of the best options is chosen",
        lambda: by_likelihood_ratio(own_range_law(FIRST), own_range_law(OTHERS)),
    ),
    limit=1.467,
)  # fmt: skip
def exponential_own_range(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: utilities are divided by their own range in place of their sensitivity."""
    utilities = np.asarray(data) / max(np.ptp(data), 1e-3)
    return np.argmax(utilities + rng.gumbel(size=(lanes, 4)), axis=1)


@held_out(
    data=Listed([([0.0, 0, 0], [1.0, 0, 0]), ([3.0, 1, 1], [2.0, 1, 2]), ([5.0, 1, 1], [4.0, 1, 1])]),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="McSherry and Talwar 2007, by Gumbel noise",
)
def exponential_of_listed(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: exponential mechanism with weights exp(ε u / 2), held to three listed pairs."""
    return np.argmax(np.asarray(data) / 2.0 + rng.gumbel(size=(lanes, 3)), axis=1)


HELD_OUT = (
    noisy_max_gap,
    noisy_max_gaussian,
    noisy_max_half_noise,
    permute_and_flip_word,
    flip_in_fixed_order,
    permute_and_flip_no_half,
    permute_and_flip_one_coin,
    exponential_own_range,
    exponential_of_listed,
)
