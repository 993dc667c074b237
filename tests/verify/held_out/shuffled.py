"""Randomized responses that are shuffled: only their histogram is seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations_with_replacement

import numpy as np
from held_out_entry import held_out
from oracle import Oracle, by_likelihood_ratio

from mechanisms import Categories
from mechanisms.arrays import FloatArray
from verify import ReplaceOne

USERS, OPTIONS = 5, 3
TRUTH = math.exp(3.0) / (math.exp(3.0) + OPTIONS - 1)


def histogram_law(votes: Sequence[int]) -> dict[tuple[int, ...], float]:
    """The law of the histogram of 3-ary randomized responses with ε = 3, user by user."""
    law = {(0,) * OPTIONS: 1.0}
    for vote in votes:
        following: dict[tuple[int, ...], float] = {}
        for counts, mass in law.items():
            for reply in range(OPTIONS):
                longer = tuple(count + (k == reply) for k, count in enumerate(counts))
                chance = TRUTH if reply == vote else (1.0 - TRUTH) / (OPTIONS - 1)
                following[longer] = following.get(longer, 0.0) + mass * chance
        law = following
    return law


def shuffled_oracle(first: int, second: int, others: Sequence[int]) -> Oracle:
    law, other_law = histogram_law([first, *others]), histogram_law([second, *others])
    p, q = np.array(list(law.values())), np.array([other_law[counts] for counts in law])
    return Oracle(
        np.array([first, *others]),
        np.array([second, *others]),
        "the histogram is among the best",
        lambda: by_likelihood_ratio(p, q),
    )


SHUFFLED = max(
    (shuffled_oracle(0, 1, others) for others in combinations_with_replacement(range(OPTIONS), USERS - 1)),
    key=lambda oracle: oracle.epsilon(0.01),
)
"""By symmetry the user may change from 0 to 1, and the others' order does not matter."""


def shuffled_histogram(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    votes = np.asarray(data)
    lies = (votes + rng.integers(1, OPTIONS, size=(lanes, USERS))) % OPTIONS
    replies = np.where(rng.random((lanes, USERS)) < TRUTH, votes, lies)
    return np.stack([(replies == option).sum(axis=1) for option in range(OPTIONS)], axis=1)


@held_out(
    data=ReplaceOne(Categories(OPTIONS), USERS),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=SHUFFLED.epsilon(0.01),
    source="Feldman, McMillan, Talwar 2021, Hiding among the clones, with five users, where no bound holds",
    oracle=SHUFFLED,
    limit=2.978,
)
def shuffled(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: five users' 3-ary randomized responses with ε = 3 are shuffled, and that is claimed to give (1, 0.01)."""
    return shuffled_histogram(data, rng, lanes)


@held_out(
    data=ReplaceOne(Categories(OPTIONS), USERS),
    epsilon=SHUFFLED.epsilon(0.01) + 1e-6,
    delta=0.01,
    true_epsilon=SHUFFLED.epsilon(0.01),
    source="enumeration of all histograms",
    oracle=SHUFFLED,
    limit=2.978,
)
def shuffled_exact(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the same with its true epsilon, rounded up."""
    return shuffled_histogram(data, rng, lanes)


HELD_OUT = (shuffled, shuffled_exact)
