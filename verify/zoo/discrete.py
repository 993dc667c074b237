"""Integer and staircase noise: the geometric mechanism, its truncated form, and versions with misread parameters."""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Integers, Interval
from mechanisms.arrays import FloatArray, IntArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_GHOSH = "Ghosh, Roughgarden, Sundararajan 2009, Universally utility-maximizing privacy mechanisms"
_BALCER = "Balcer, Vadhan 2018, Differential privacy on finite computers, Alg. 4.8"

EPSILON = 0.5
STAIRCASE_EPSILON = 1.0
TRUNCATED_EPSILON = 0.1
PEOPLE = 5
COUNT = Within(Integers(0, 10), linf=1)
TRUNCATED_COUNT = Within(Integers(0, PEOPLE), linf=1)
REAL = Within(Interval(-10, 10), linf=1)
_RECORD = "one individual, who moves the count by at most 1"


def _two_sided(success: float, rng: np.random.Generator, lanes: int) -> IntArray:
    """Difference of two geometric variables: P(k) = (1 - α) / (1 + α) α^|k|, α = 1 - success."""
    return np.asarray(rng.geometric(success, size=lanes) - rng.geometric(success, size=lanes))


@specimen(
    "geometric",
    epsilon=EPSILON,
    source=_GHOSH,
    why="one step changes the probability by the factor e^-ε",
)
@claimed(data=COUNT, comment=_RECORD)
def _geometric(data: IntArray, rng: np.random.Generator, lanes: int) -> IntArray:
    """Geometric mechanism: P(k) ∝ e^(-ε |k|). Correct; the success probability is 1 - e^-ε."""
    return int(data[0]) + _two_sided(-math.expm1(-EPSILON), rng, lanes)


@specimen(
    "geometric-linear",
    epsilon=EPSILON,
    true_epsilon=-math.log1p(-EPSILON),
    source=f"{_GHOSH}; a mistake of practice: geometric(p=ε)",
    why="one step changes the probability by the factor 1 - ε, which is below e^-ε",
)
@claimed(data=COUNT, comment=_RECORD)
def _geometric_linear(data: IntArray, rng: np.random.Generator, lanes: int) -> IntArray:
    """Geometric mechanism with success probability ε in place of 1 - e^-ε: α = 1 - ε, so the loss is -ln(1 - ε)."""
    return int(data[0]) + _two_sided(EPSILON, rng, lanes)


def truncated_table(count: int, bits: int) -> IntArray:
    """F(z) for z = 0 .. n: GeoSample returns the first z with F(z) ≥ U, U uniform on 1 .. F(n)."""
    step, n = 2**bits, PEOPLE
    total = (2 * step + 1) * (step + 1) ** (n - 1)
    table = [step ** (count - z) * (step + 1) ** (n - count + z) for z in range(count)]
    table += [total - step ** (z - count + 1) * (step + 1) ** (n - 1 - z + count) for z in range(count, n)]
    return np.array([*table, total], dtype=np.int64)


BITS = math.ceil(math.log(2.0 / TRUNCATED_EPSILON))  # 3: the natural logarithm, as in DP-Sniper


@specimen(
    "truncated-geometric",
    epsilon=math.log1p(2.0**-BITS),
    source=f"{_BALCER}, with the claim of DP-Sniper's docstring",
    why="one step changes the probability by the factor 1 + 2^-3",
)
@specimen(
    "truncated-geometric-ln",
    epsilon=TRUNCATED_EPSILON,
    true_epsilon=math.log1p(2.0**-BITS),
    source=f"{_BALCER}, k = ⌈ln(2/ε)⌉ in place of ⌈log₂(2/ε)⌉, as DP-Sniper has it",
    why="k = 3 where ε = 0.1 needs 2^-k ≤ e^ε - 1, k ≥ 4: ln(1 + 2^-3) = 0.118",
)
@claimed(data=TRUNCATED_COUNT, comment=_RECORD)
def _truncated_geometric(data: IntArray, rng: np.random.Generator, lanes: int) -> IntArray:
    """Truncated geometric mechanism by integer arithmetic (Balcer and Vadhan 2018, Alg. 4.8), with 2^-3.

    Neighbouring outputs' probabilities are in the ratio 1 + 2^-3, so ε = ln(9/8) = 0.1178: a correct claim. But for
    a target of 0.1 the paper takes 2^-k with k = ⌈log₂(2/ε)⌉ = 5; 3 = ⌈ln(2/ε)⌉ is a misread logarithm.
    """
    table = truncated_table(int(data[0]), BITS)
    return np.searchsorted(table, rng.integers(1, table[-1] + 1, size=lanes), side="left")


GAMMA = 1.0 / (1.0 + math.exp(STAIRCASE_EPSILON / 2.0))


@specimen(
    "staircase",
    epsilon=STAIRCASE_EPSILON,
    source="Geng, Viswanath 2016, The optimal noise-adding mechanism in differential privacy, Alg. 1",
    why="the density at distance d + 1 is e^-ε times that at d",
)
@claimed(data=REAL, comment=_RECORD)
def _staircase(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Staircase mechanism: the density falls by e^-ε once per unit of distance, in steps. Correct."""
    b = math.exp(-STAIRCASE_EPSILON)
    sign = 2.0 * rng.integers(0, 2, size=lanes) - 1.0
    step = rng.geometric(1.0 - b, size=lanes) - 1
    place = rng.random(lanes)
    first = rng.random(lanes) < GAMMA / (GAMMA + (1.0 - GAMMA) * b)
    within = np.where(first, GAMMA * place, GAMMA + (1.0 - GAMMA) * place)
    return np.asarray(data + sign * (step + within), dtype=np.float64)
