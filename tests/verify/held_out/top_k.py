"""Selection of several options at once."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from held_out_entry import held_out
from noise_laws import laplace_cdf, laplace_density, laplace_survival, quadrature
from oracle import Masses, Oracle, by_likelihood_ratio

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify import Within

FOUR = Within(Box(-5, 5, 4), linf=1)
BEHIND, CLOSER = np.array([-3.0, -3.0, 3.0, 3.0]), np.array([-2.0, -2.0, 2.0, 2.0])


def both_ahead(gap: float) -> float:
    """P(two with Lap(2) exceed two others that are ahead by `gap`): t is the larger of the others' noises."""
    t, weights = quadrature([0.0, -gap], -80.0, 80.0, 2.0)
    density = 2.0 * laplace_cdf(t / 2.0) * laplace_density(t / 2.0) / 2.0
    return float(np.sum(weights * density * laplace_survival((t + gap) / 2.0) ** 2))


@held_out(
    data=FOUR,
    epsilon=1.0,
    true_epsilon=1.7,
    exact=False,
    source="Qiao, Su, Zhang 2021, Oneshot differentially private top-k selection, without the factor k",
    oracle=Oracle(
        CLOSER, BEHIND, "the first two are the top two",
        lambda: (np.array([both_ahead(4.0)]), np.array([both_ahead(6.0)])),
    ),
    limit=1.705,
)  # fmt: skip
def top_two(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the two largest in order with one draw of Lap(2/ε) each; it needs Lap(4/ε). 2ε in the limit."""
    return np.argsort(-(data + rng.laplace(scale=2.0, size=(lanes, 4))), axis=1)[:, :2]


@held_out(
    data=FOUR,
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="Durfee and Rogers 2019, Practical differentially private top-k selection, by composition of two maxima",
)
def top_two_more_noise(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the two largest in order, with Lap(4/ε)."""
    return np.argsort(-(data + rng.laplace(scale=4.0, size=(lanes, 4))), axis=1)[:, :2]


def top_three_law(utilities: FloatArray, scale: float) -> dict[frozenset[int], float]:
    """Gumbel noise draws without replacement, with weights e^(q / scale) (Durfee and Rogers 2019)."""
    weights = np.exp(utilities / scale)
    law: dict[frozenset[int], float] = {}
    for order in permutations(range(len(utilities)), 3):
        chance, left = 1.0, weights.sum()
        for option in order:
            chance, left = chance * weights[option] / left, left - weights[option]
        law[frozenset(order)] = law.get(frozenset(order), 0.0) + chance
    return law


AHEAD, NEARER = np.array([-3.0, -3.0, -3.0, -3.0, 4.0]), np.array([-2.0, -2.0, -2.0, -2.0, 3.0])


def top_three_masses() -> Masses:
    law, other = top_three_law(NEARER, 2.0), top_three_law(AHEAD, 2.0)
    return by_likelihood_ratio(np.array(list(law.values())), np.array([other[chosen] for chosen in law]))


@held_out(
    data=Within(Box(-4, 4, 5), linf=1),
    epsilon=1.0,
    true_epsilon=2.5,
    exact=False,
    source="Durfee and Rogers 2019, one-shot top-k by Gumbel noise, without the factor k",
    oracle=Oracle(NEARER, AHEAD, "the three are among the best sets", top_three_masses),
    limit=2.2953,
)
def gumbel_top_three(data: FloatArray, rng: np.random.Generator) -> frozenset[int]:
    """Wrong: the three largest with Gumbel noise of scale 2/ε in place of 6/ε; a frozenset."""
    noisy = np.asarray(data) / 2.0 + rng.gumbel(size=5)
    return frozenset(int(option) for option in np.argsort(-noisy)[:3])


HELD_OUT = (top_two, top_two_more_noise, gumbel_top_three)
