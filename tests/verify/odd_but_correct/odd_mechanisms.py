"""Mechanisms of the literature with a budget of one, as users write them, and compositions of answers."""

import math

import numpy as np
from odd_ingredients import KEEP, geometric, noisy, response


def exponential_mechanism(data, rng):
    """Return the best of five numbers (McSherry and Talwar 2007)."""
    grid = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    weights = np.exp(-np.abs(data - grid) / 2.0)
    return float(rng.choice(grid, p=weights / weights.sum()))


def permute_and_flip(data, rng):
    """Return the better of two (McKenna and Sheldon 2020)."""
    scores = np.array([data, 1.0 - data])
    order = rng.permutation(2).tolist()
    return next(i for i in order * 1_000 if rng.random() < math.exp((scores[i] - scores.max()) / 2.0))


def staircase(data, rng):
    """Return the data with staircase noise (Geng and Viswanath 2014)."""
    share = 1.0 / (1.0 + math.exp(0.5))
    sign, step, u = rng.choice([-1, 1]), int(rng.geometric(1.0 - math.exp(-1.0))) - 1, rng.random()
    first = rng.random() < share / (share + (1.0 - share) * math.exp(-1.0))
    return data + sign * (step + (share * u if first else share + (1.0 - share) * u))


def piecewise(data, rng):
    """Return a number by the piecewise mechanism (Wang et al. 2019)."""
    truth, root = 2.0 * data - 1.0, math.exp(0.5)
    edge = (root + 1.0) / (root - 1.0)
    low = (edge + 1.0) / 2.0 * truth - (edge - 1.0) / 2.0
    high = low + edge - 1.0
    if rng.random() < root / (root + 1.0):
        return low + (high - low) * rng.random()
    place = (low + edge + edge - high) * rng.random()
    return place - edge if place < low + edge else high + place - low - edge


def two_ends(data, rng):
    """Return one of two numbers whose mean is the data (Duchi, Jordan and Wainwright 2018)."""
    edge = (math.e + 1.0) / (math.e - 1.0)
    return edge if rng.random() < 0.5 + (2.0 * data - 1.0) / (2.0 * edge) else -edge


def subset(data, rng):
    """Return two of four labels, the true one with probability e / (e + 1) (Ye and Barg 2018)."""
    truth = round(data)
    others = [i for i in range(4) if i != truth]
    if rng.random() < KEEP:
        return sorted([truth, int(rng.choice(others))])
    return sorted(rng.choice(others, 2, replace=False).tolist())


def hadamard(data, rng):
    """Return a row of a Hadamard matrix, and the entry of the data's column by a response (Acharya et al. 2019)."""
    row = int(rng.integers(4))
    entry = 1 - 2 * ((row & (1 + round(data))).bit_count() & 1)
    return [row, entry if rng.random() < KEEP else -entry]


def local_hash(data, rng):
    """Return a public hash, and the bit that it gives by a response (Wang et al. 2017)."""
    seed = int(rng.integers(1, 10**6))
    bit = (seed * (1 + round(data)) >> 3) % 2
    return [seed, bit if rng.random() < KEEP else 1 - bit]


def one_of_five(data, rng):
    """Return a label by generalized randomized response."""
    truthful = rng.random() < (math.e - 1.0) / (math.e + 4.0)
    return 4 * round(data) if truthful else int(rng.integers(5))


def two_bits(data, rng):
    """Return two bits, each by a response of half the budget (RAPPOR)."""
    keep = math.exp(0.5) / (1.0 + math.exp(0.5))
    return [int((data > 0.5) == (rng.random() < keep)), int((data <= 0.5) == (rng.random() < keep))]


def unary(data, rng):
    """Return two bits by optimized unary encoding (Wang et al. 2017)."""
    return [int(rng.random() < (0.5 if i == round(data) else 1.0 / (1.0 + math.e))) for i in range(2)]


def sparse_vector(data, rng):
    """Return the first of three questions above a noisy threshold (Lyu, Su and Li 2017, Algorithm 1)."""
    threshold = 0.5 + rng.laplace(scale=2.0)
    return next((i for i in range(3) if data + rng.laplace(scale=4.0) >= threshold), "none")


def by_half(data, rng):
    """Return a coin, or with probability 1/2 a response that half of the draws amplify to a budget of one."""
    return (
        bool(rng.random() < 0.5) if rng.random() < 0.5 else (data > 0.5) == (rng.random() < 2.0 * KEEP - 0.5)
    )


def adaptive(data, rng):
    """Return two answers of half the budget or less, the second by what the first was."""
    first = noisy(data, rng, 2.0)
    return [first, noisy(data, rng, 2.0 if first > 0.5 else 3.0)]


def until_it_is_large(data, rng):
    """Return answers of a half, a quarter, ... of the budget until one is large."""
    answers, budget = [], 0.5
    while budget > 1.0 / 64.0:
        answers.append(noisy(data, rng, 1.0 / budget))
        if answers[-1] > 1.0:
            break
        budget /= 2.0
    return answers


def filtered(data, rng):
    """Return answers of random budgets until there is too little left."""
    answers, left = [], 1.0
    while left > 0.3:
        budget = min(left, 0.25 + 0.25 * rng.random())
        left -= budget
        answers.append(round(noisy(data, rng, 1.0 / budget), 2))
    return answers


def quantile(data, rng):
    """Return the data with Laplace noise by its quantile function."""
    u = rng.random() - 0.5
    return data - math.copysign(math.log1p(-2.0 * abs(u)), u)


SUBJECTS = {
    "exponential-mechanism": exponential_mechanism,
    "gumbel-maximum": lambda data, rng: int(
        np.argmax(np.array([data, 1.0 - data]) / 2.0 + rng.gumbel(size=2))
    ),
    "permute-and-flip": permute_and_flip,
    "noisy-maximum": lambda data, rng: int(
        np.argmax(np.array([data, 0.5, 1.0 - data]) + rng.exponential(scale=2.0, size=3))
    ),
    "staircase": staircase,
    "piecewise": piecewise,
    "two-ends": two_ends,
    "subset": subset,
    "hadamard": hadamard,
    "local-hash": local_hash,
    "one-of-five": one_of_five,
    "two-bits": two_bits,
    "unary": unary,
    "sparse-vector": sparse_vector,
    "by-half": by_half,
    "adaptive": adaptive,
    "until-it-is-large": until_it_is_large,
    "filtered": filtered,
    "quantile": quantile,
    "difference-of-exponentials": lambda data, rng: data + rng.exponential() - rng.exponential(),
    "shares-of-gammas": lambda data, rng: data + sum(rng.gamma(0.25) - rng.gamma(0.25) for _ in range(4)),
    "normal-of-random-width": lambda data, rng: data + math.sqrt(2.0 * rng.exponential()) * rng.normal(),
    "single-precision": lambda data, rng: float(
        np.float32(data) + np.float32(rng.exponential()) * np.float32(rng.choice([-1, 1]))
    ),
    "snapped": lambda data, rng: max(-50.0, min(50.0, round(8.0 * noisy(data, rng)) / 8.0)),
    "thirds-of-a-geometric": lambda data, rng: geometric(3 * round(data), rng, 1.0 / 3.0) / 3.0,
    "rare-branch": lambda data, rng: (
        ("rare", response(data, rng)) if rng.random() < 1e-3 else ("common", round(noisy(data, rng), 1))
    ),
}
