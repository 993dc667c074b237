"""Local randomizers of one category: randomized response, unary encodings, local hashing, subset selection.

With the mistakes that LDP-Audit (Arcolezi and Gambs 2024) and its like find. Outputs are one user's message.
"""

from __future__ import annotations

import math

import numpy as np

from mechanisms import Categories
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import AnyTwo

EPSILON = 1.0
SIZE = 4
BUCKETS = 4  # of local hashing: the whole number nearest to e^ε + 1 = 3.7
PRIME = 5
SUBSET_SIZE = 6
SUBSET = 2  # of subset selection: the whole number nearest to 6 / (e^ε + 1) = 1.6
CATEGORY = AnyTwo(Categories(SIZE))
SUBSET_CATEGORY = AnyTwo(Categories(SUBSET_SIZE))
UNIT = "one user's category"


GRR_TRUE = math.exp(EPSILON) / (math.exp(EPSILON) + SIZE - 1)
SUE = math.exp(EPSILON / 2) / (math.exp(EPSILON / 2) + 1), 1 / (math.exp(EPSILON / 2) + 1)
OUE = 0.5, 1 / (math.exp(EPSILON) + 1)
OLH_TRUE = math.exp(EPSILON) / (math.exp(EPSILON) + BUCKETS - 1)
INCLUDE = SUBSET * math.exp(EPSILON) / (SUBSET * math.exp(EPSILON) + SUBSET_SIZE - SUBSET)


@claimed(data=CATEGORY, model="local", unit=UNIT)
def grr(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """Generalized randomized response: the truth with p = e^ε / (e^ε + k - 1), else one of the others. Correct."""
    shift = rng.integers(1, SIZE, size=lanes)
    return np.where(rng.random(lanes) < GRR_TRUE, data, (data + shift) % SIZE)


@claimed(data=CATEGORY, model="local", unit=UNIT)
def grr_too_honest(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """GRR whose lie is drawn from all k categories, the true one among them.

    The truth has probability p + (1 - p)/k and a lie (1 - p)/k: ln(1 + k e^ε / (k - 1)).
    """
    return np.where(rng.random(lanes) < GRR_TRUE, data, rng.integers(0, SIZE, size=lanes))


def unary(data: int, rates: tuple[float, float], rng: np.random.Generator, lanes: int) -> BoolArray:
    """One-hot bits, each reported 1 with probability p if it is 1 and q if it is 0."""
    p, q = rates
    return rng.random((lanes, SIZE)) < np.where(np.arange(SIZE) == data, p, q)


@claimed(data=CATEGORY, model="local", unit=UNIT)
def sue(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Symmetric unary encoding (basic one-time RAPPOR): p = e^(ε/2) / (e^(ε/2) + 1), q = 1 - p. Correct."""
    return unary(data, SUE, rng, lanes)


@claimed(data=CATEGORY, model="local", unit=UNIT)
def oue(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Optimized unary encoding: p = 1/2, q = 1 / (e^ε + 1). Correct: ln(p (1 - q) / (q (1 - p))) = ε."""
    return unary(data, OUE, rng, lanes)


@claimed(data=CATEGORY, model="local", unit=UNIT)
def oue_pure_ldp(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Optimized unary encoding as in the pure-LDP library (found by LDP-Audit).

    All bits are drawn with q, then the user's own is set to 1 with probability p: it is not cleared otherwise, so
    that it is 1 with probability p + (1 - p) q. ln((1 + q) / q) = ln(e^ε + 2).
    """
    p, q = OUE
    bits = rng.random((lanes, SIZE)) < q
    bits[:, data] |= rng.random(lanes) < p
    return bits


@claimed(data=CATEGORY, model="local", unit=UNIT)
def olh(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """Optimized local hashing: a random hash function (a, b), and GRR on the hash among g values. Correct.

    The hash is ((a x + b) mod 5) mod g; the message is (a, b, report).
    """
    a = rng.integers(1, PRIME, size=lanes)
    b = rng.integers(0, PRIME, size=lanes)
    bucket = (a * data + b) % PRIME % BUCKETS
    lie = (bucket + rng.integers(1, BUCKETS, size=lanes)) % BUCKETS
    return np.column_stack([a, b, np.where(rng.random(lanes) < OLH_TRUE, bucket, lie)])


@claimed(data=SUBSET_CATEGORY, model="local", unit=UNIT)
def subset_selection(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """ω-subset mechanism: a random subset of size ω that holds the truth with ω e^ε / (ω e^ε + k - ω). Correct."""
    order = rng.random((lanes, SUBSET_SIZE))
    # The truth is put first or last in a random order of which the first ω are sent.
    order[:, data] = np.where(rng.random(lanes) < INCLUDE, -1.0, 2.0)
    places = np.argsort(np.argsort(order, axis=1), axis=1)
    sent: BoolArray = places < SUBSET
    return sent


# --- exact laws: every message and its probability -----------------------------------------------


def grr_law(value: int, too_honest: bool = False) -> FloatArray:
    """Probability of each category, shape (k,)."""
    lie = (1 - GRR_TRUE) / (SIZE if too_honest else SIZE - 1)
    law = np.full(SIZE, lie)
    law[value] = GRR_TRUE + (lie if too_honest else 0.0)
    return law


def unary_law(value: int, rates: tuple[float, float]) -> FloatArray:
    """Probability of each bit string, shape (2^k,); the first category's bit is the highest."""
    p, q = rates
    law = np.ones(1)
    for category in range(SIZE):
        one = p if category == value else q
        law = np.outer(law, [1 - one, one]).reshape(-1)
    return law


def pure_ldp_rates() -> tuple[float, float]:
    """The rates at which the pure-LDP library's bits are really 1."""
    p, q = OUE
    return p + (1 - p) * q, q


def olh_law(value: int) -> FloatArray:
    """Probability of each message (a, b, report), shape (4 · 5 · g,)."""
    a, b, report = np.meshgrid(np.arange(1, PRIME), np.arange(PRIME), np.arange(BUCKETS), indexing="ij")
    bucket = (a * value + b) % PRIME % BUCKETS
    law = np.where(report == bucket, OLH_TRUE, (1 - OLH_TRUE) / (BUCKETS - 1)) / ((PRIME - 1) * PRIME)
    return np.asarray(law.reshape(-1))


def subset_law(value: int) -> FloatArray:
    """Probability of each pair of categories (i < j) in lexicographic order, shape (15,)."""
    rows, columns = np.triu_indices(SUBSET_SIZE, 1)
    holds = (rows == value) | (columns == value)
    with_truth = INCLUDE / math.comb(SUBSET_SIZE - 1, SUBSET - 1)
    without = (1 - INCLUDE) / math.comb(SUBSET_SIZE - 1, SUBSET)
    return np.where(holds, with_truth, without)
