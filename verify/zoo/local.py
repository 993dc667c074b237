"""Local randomizers of one category, of one number in [-1, 1], and of one direction.

Randomized response, unary encodings, local hashing, subset selection; Duchi's two points and the piecewise mechanism;
the hemisphere, whose message is a vector. With the mistakes that LDP-Audit (Arcolezi and Gambs 2024) and its like find.
Outputs are one user's message.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from mechanisms import Categories, Interval
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import AnyTwo
from verify.zoo.specimen import specimen

_WANG = "Wang, Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation"
_DUCHI = "Duchi, Jordan, Wainwright 2018, Minimax optimal procedures for locally private estimation"


EPSILON = 1.0
SIZE = 4
BUCKETS = 4  # of local hashing: the whole number nearest to e^ε + 1 = 3.7
PRIME = 5
SUBSET_SIZE = 6
SUBSET = 2  # of subset selection: the whole number nearest to 6 / (e^ε + 1) = 1.6
CATEGORY = AnyTwo(Categories(SIZE))
SUBSET_CATEGORY = AnyTwo(Categories(SUBSET_SIZE))
NUMBER = AnyTwo(Interval(-1, 1))
DIMENSION = 5
DIRECTION = AnyTwo(Categories(2 * DIMENSION))
_RECORD = "one user's category"


GRR_TRUE = math.exp(EPSILON) / (math.exp(EPSILON) + SIZE - 1)
SUE = math.exp(EPSILON / 2) / (math.exp(EPSILON / 2) + 1), 1 / (math.exp(EPSILON / 2) + 1)
OUE = 0.5, 1 / (math.exp(EPSILON) + 1)
OLH_TRUE = math.exp(EPSILON) / (math.exp(EPSILON) + BUCKETS - 1)
INCLUDE = SUBSET * math.exp(EPSILON) / (SUBSET * math.exp(EPSILON) + SUBSET_SIZE - SUBSET)


_on_category = partial(specimen, epsilon=EPSILON, make=claimed(data=CATEGORY, model="local", comment=_RECORD))


@_on_category(
    "grr",
    source="Kairouz, Oh, Viswanath 2016, k-RR",
    why="truth and lie have probabilities in the ratio e^ε",
)
def _grr(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """Generalized randomized response: the truth with p = e^ε / (e^ε + k - 1), else one of the others. Correct."""
    shift = rng.integers(1, SIZE, size=lanes)
    return np.where(rng.random(lanes) < GRR_TRUE, data, (data + shift) % SIZE)


@_on_category(
    "grr-too-honest",
    true_epsilon=math.log1p(SIZE * math.exp(EPSILON) / (SIZE - 1)),
    source="a mistake of practice: the lie drawn from all categories",
    why="a lie may be the truth by chance: the ratio is 1 + k e^ε / (k - 1)",
)
def _grr_too_honest(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """GRR with its lie drawn from all k categories, the true one among them.

    The truth has probability p + (1 - p)/k and a lie (1 - p)/k: ln(1 + k e^ε / (k - 1)).
    """
    return np.where(rng.random(lanes) < GRR_TRUE, data, rng.integers(0, SIZE, size=lanes))


def _unary(data: int, rates: tuple[float, float], rng: np.random.Generator, lanes: int) -> BoolArray:
    """One-hot bits, each reported 1 with probability p if it is 1 and q if it is 0."""
    p, q = rates
    return rng.random((lanes, SIZE)) < np.where(np.arange(SIZE) == data, p, q)


@_on_category(
    "sue",
    source=f"{_WANG}, SUE",
    why="two bits differ, each with the ratio e^(ε/2)",
)
def _sue(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Symmetric unary encoding (basic one-time RAPPOR): p = e^(ε/2) / (e^(ε/2) + 1), q = 1 - p. Correct."""
    return _unary(data, SUE, rng, lanes)


@_on_category(
    "oue",
    source=f"{_WANG}, OUE",
    why="two bits differ: p (1 - q) / (q (1 - p)) = e^ε",
)
def _oue(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Optimized unary encoding: p = 1/2, q = 1 / (e^ε + 1). Correct: ln(p (1 - q) / (q (1 - p))) = ε."""
    return _unary(data, OUE, rng, lanes)


@_on_category(
    "oue-pure-ldp",
    true_epsilon=math.log(math.exp(EPSILON) + 2.0),
    source="pure-LDP's unary encoding client; found by Arcolezi, Gambs 2024, LDP-Audit",
    why="the user's own bit is set with probability p on top of q, not in place of it: ln(e^ε + 2)",
)
def _oue_pure_ldp(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """Optimized unary encoding as in the pure-LDP library (found by LDP-Audit).

    All bits are drawn with q, then the user's own is set to 1 with probability p: it is not cleared otherwise, so
    that it is 1 with probability p + (1 - p) q. ln((1 + q) / q) = ln(e^ε + 2).
    """
    p, q = OUE
    bits = rng.random((lanes, SIZE)) < q
    bits[:, data] |= rng.random(lanes) < p
    return bits


@_on_category(
    "olh",
    source=f"{_WANG}, OLH",
    why="given the hash function it is randomized response on the hash",
)
def _olh(data: int, rng: np.random.Generator, lanes: int) -> IntArray:
    """Optimized local hashing: a random hash function (a, b), and GRR on the hash among g values. Correct.

    The hash is ((a x + b) mod 5) mod g; the message is (a, b, report).
    """
    a = rng.integers(1, PRIME, size=lanes)
    b = rng.integers(0, PRIME, size=lanes)
    bucket = (a * data + b) % PRIME % BUCKETS
    lie = (bucket + rng.integers(1, BUCKETS, size=lanes)) % BUCKETS
    return np.column_stack([a, b, np.where(rng.random(lanes) < OLH_TRUE, bucket, lie)])


@specimen(
    "subset-selection",
    epsilon=EPSILON,
    source="Ye, Barg 2018, Optimal schemes for discrete distribution estimation under locally differential privacy",
    why="subsets with and without the truth have probabilities in the ratio e^ε",
)
@claimed(data=SUBSET_CATEGORY, model="local", comment=_RECORD)
def _subset_selection(data: int, rng: np.random.Generator, lanes: int) -> BoolArray:
    """ω-subset mechanism: a random subset of size ω that holds the truth with ω e^ε / (ω e^ε + k - ω). Correct."""
    order = rng.random((lanes, SUBSET_SIZE))
    # The truth is put first or last in a random order of which the first ω are sent.
    order[:, data] = np.where(rng.random(lanes) < INCLUDE, -1.0, 2.0)
    places = np.argsort(np.argsort(order, axis=1), axis=1)
    return np.asarray(places < SUBSET)


HALF = math.exp(EPSILON / 2)
WIDTH = (HALF + 1) / (HALF - 1)  # C: outputs lie in [-C, C]


_on_number = partial(
    specimen, epsilon=EPSILON, make=claimed(data=NUMBER, model="local", comment="one user's number")
)


@_on_number(
    "duchi",
    source=_DUCHI,
    why="the two outputs' probabilities at x = 1 are those at x = -1 exchanged, in the ratio e^ε",
)
def _duchi(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Duchi, Jordan and Wainwright's mechanism: ±(e^ε + 1)/(e^ε - 1), + with probability ½ + x (e^ε - 1)/(2(e^ε + 1)).

    Correct: the two probabilities at x = ±1 are e^ε / (e^ε + 1) and 1 / (e^ε + 1).
    """
    slope = math.tanh(EPSILON / 2)
    return np.where(rng.random(lanes) < 0.5 + 0.5 * slope * data, 1.0, -1.0) / slope


def _window(value: float) -> float:
    """Left end l(x) of the likely window, of width C - 1."""
    return (WIDTH + 1) / 2 * value - (WIDTH - 1) / 2


@_on_number(
    "piecewise",
    source="Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, Collecting and analyzing multidimensional data, Alg. 2",
    why="the density takes two values, in the ratio e^ε",
)
def _piecewise(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Piecewise mechanism: uniform on a window [l(x), l(x) + C - 1] with e^(ε/2) / (e^(ε/2) + 1), else outside it.

    Correct: the density in the window is e^ε times the density outside.
    """
    left = _window(data)
    inside = left + (WIDTH - 1) * rng.random(lanes)
    outside = -WIDTH + (WIDTH + 1) * rng.random(lanes)
    outside = np.where(outside < left, outside, outside + (WIDTH - 1))
    return np.where(rng.random(lanes) < HALF / (HALF + 1), inside, outside)


TOWARDS = math.exp(EPSILON) / (math.exp(EPSILON) + 1)  # P(the point is on the direction's side)


def _direction(category: int) -> FloatArray:
    """The unit vector along axis category // 2, negative for odd categories; shape (5,)."""
    axis: FloatArray = np.eye(DIMENSION)[category // 2]
    return -axis if category % 2 else axis


@specimen(
    "hemisphere",
    epsilon=EPSILON,
    source=f"{_DUCHI}, section 4.2",
    why="the density takes two values in the ratio e^ε, exchanged by the opposite direction",
)
@claimed(data=DIRECTION, model="local", comment="one user's direction, one of the ten along the axes")
def _hemisphere(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """A uniform point of the hemisphere around the direction with e^ε / (e^ε + 1), else of the other. Correct."""
    point = rng.standard_normal((lanes, DIMENSION))
    point /= np.linalg.norm(point, axis=1, keepdims=True)
    side = np.where(rng.random(lanes) < TOWARDS, 1.0, -1.0)
    return np.asarray(point * (side * np.sign(point @ _direction(data)))[:, None])
