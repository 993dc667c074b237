"""One user's message: frequency oracles, RAPPOR's filter, sketches of hashes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from held_out_entry import held_out, impossible
from oracle import Masses, Oracle, by_likelihood_ratio

from mechanisms import Categories, Integers
from mechanisms.arrays import FloatArray
from verify import AnyTwo

E = math.e
BEST = "the message is among the best"
ERLINGSSON = "Erlingsson, Pihur, Korolova 2014, RAPPOR"
WANG = "Wang, Blocki, Li, Jha 2017, Locally differentially private protocols for frequency estimation"
ACHARYA = "Acharya, Sun, Zhang 2019, Hadamard response"


def value(index: int) -> FloatArray:
    return np.array(index)


VALUES, BITS = 12, 16
FILTERS = np.zeros((VALUES, BITS), dtype=bool)
for word in range(VALUES):
    FILTERS[word, [5 * word % BITS, (7 * word + 3) % BITS]] = True


def four_bits() -> Masses:
    """The number of the four differing bits that are right."""
    right = np.arange(5)
    law = np.array([math.comb(4, k) for k in right]) * 0.75**right * 0.25 ** (4 - right)
    return by_likelihood_ratio(law, law[::-1])


@held_out(
    data=AnyTwo(Categories(VALUES)),
    epsilon=2.0 * math.log(3.0),
    true_epsilon=4.0 * math.log(3.0),
    source=f"{ERLINGSSON}, Theorem 1 with h = 1",
    oracle=Oracle(value(11), value(10), "at least t of the differing bits are right", four_bits),
    limit=4.377,
)
def bloom_filter_of_two_hashes(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: a Bloom filter's bits are flipped with probability 1/4; two hashes differ in four bits, not in two."""
    return FILTERS[data] ^ (rng.random((lanes, BITS)) < 0.25)


FALSE_ONE = 0.5 / (E + 1.0)


def unary_masses() -> Masses:
    """The two bits in which the values differ."""
    p, q = [], []
    for true_bit, other_bit in product((0, 1), repeat=2):
        half, rare = 0.5, FALSE_ONE if other_bit else 1.0 - FALSE_ONE
        p.append(half * rare)
        q.append(half * (FALSE_ONE if true_bit else 1.0 - FALSE_ONE))
    return by_likelihood_ratio(np.array(p), np.array(q))


@held_out(
    data=AnyTwo(Categories(6)),
    epsilon=1.0,
    true_epsilon=math.log((1.0 - FALSE_ONE) / FALSE_ONE),
    source=f"{WANG}, optimized unary encoding",
    oracle=Oracle(value(0), value(1), BEST, unary_masses),
    limit=1.836,
)
def unary_rare_ones(data: int, rng: np.random.Generator) -> str:
    """Wrong: a false bit is 1 with probability 1/(2(e^ε + 1)) in place of 1/(e^ε + 1); a word of six bits."""
    chances = [0.5 if position == data else FALSE_ONE for position in range(6)]
    return "".join("1" if rng.random() < chance else "0" for chance in chances)


HADAMARD = np.array([[(-1) ** (row & column).bit_count() for column in range(8)] for row in range(8)])


def hadamard_law(row: int, else_all: bool) -> FloatArray:
    inside, outside = E / (E + 1) / 4, 1 / (E + 1) / 4
    if else_all:
        return np.where(HADAMARD[row] == 1, inside + outside / 2, outside / 2)
    return np.where(HADAMARD[row] == 1, inside, outside)


def hadamard_oracle(else_all: bool) -> Oracle:
    laws = hadamard_law(1, else_all), hadamard_law(2, else_all)
    return Oracle(value(0), value(1), BEST, lambda: by_likelihood_ratio(*laws))


def hadamard_reply(data: int, rng: np.random.Generator, lanes: int, else_all: bool) -> FloatArray:
    """A column where the value's row is 1, with probability e/(e + 1); else another, or any."""
    row = HADAMARD[int(data) + 1]
    inside = rng.choice(np.flatnonzero(row == 1), size=lanes)
    other = rng.integers(8, size=lanes) if else_all else rng.choice(np.flatnonzero(row == -1), size=lanes)
    return np.where(rng.random(lanes) < E / (E + 1), inside, other)


@held_out(
    data=AnyTwo(Categories(7)),
    epsilon=1.0,
    true_epsilon=1.0,
    source=ACHARYA,
    oracle=hadamard_oracle(else_all=False),
    limit=0.9969,
)
def hadamard_response(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: a column of the 8 x 8 Hadamard matrix, mostly one where the value's row is 1."""
    return hadamard_reply(data, rng, lanes, else_all=False)


@held_out(
    data=AnyTwo(Categories(7)),
    epsilon=1.0,
    true_epsilon=math.log(2 * E + 1),
    source=f"{ACHARYA}; the bug is ours",
    oracle=hadamard_oracle(else_all=True),
    limit=1.858,
)
def hadamard_else_all(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: otherwise one of all eight columns, not one of the complement."""
    return hadamard_reply(data, rng, lanes, else_all=True)


INCLUDE = 3 * E / (3 * E + 5)


def subset_masses() -> Masses:
    """Pairs with the first value only (6), both (1), the second only (6), neither (15)."""
    one, none = INCLUDE / 7, (1 - INCLUDE) / 21
    return by_likelihood_ratio(
        np.array([6 * one, one, 6 * none, 15 * none]), np.array([6 * none, one, 6 * one, 15 * none])
    )


@held_out(
    data=AnyTwo(Categories(8)),
    epsilon=1.0,
    true_epsilon=math.log(INCLUDE / 7 / ((1 - INCLUDE) / 21)),
    source="Ye and Barg 2018, Optimal schemes for discrete distribution estimation (subset selection)",
    oracle=Oracle(value(0), value(1), BEST, subset_masses),
    limit=1.568,
)
def subset_of_wrong_size(data: int, rng: np.random.Generator) -> set[int]:
    """Wrong: pairs of eight values with the inclusion probability of triples; a Python set."""
    others = [each for each in range(8) if each != data]
    if rng.random() < INCLUDE:
        return {int(data), int(rng.choice(others))}
    return {int(each) for each in rng.choice(others, 2, replace=False)}


def hashed_reply(hashed: int, rng: np.random.Generator) -> int:
    """4-ary randomized response with ε = 1."""
    return hashed if rng.random() < E / (E + 3) else int((hashed + rng.integers(1, 4)) % 4)


@held_out(
    data=AnyTwo(Categories(10)),
    epsilon=1.0,
    true_epsilon=1.0,
    source=f"{WANG}, local hashing",
    oracle=Oracle(
        value(0), value(1), BEST,
        lambda: by_likelihood_ratio(np.array([E, 1, 2]) / (E + 3), np.array([1, E, 2]) / (E + 3)),
    ),
    limit=0.9974,
)  # fmt: skip
def hash_for_all(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct, if of little use: all users have the same hash function into four buckets."""
    hashed = (3 * int(data) + 1) % 4
    lies = (hashed + rng.integers(1, 4, size=lanes)) % 4
    return np.where(rng.random(lanes) < E / (E + 3), hashed, lies)


@held_out(
    data=AnyTwo(Categories(10)),
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{WANG}, local hashing; seeds derived from the value occur in code that wants repeatable hashes",
    oracle=Oracle(value(0), value(1), "the seed is the first value's", impossible(1.0)),
    limit=9.697,
)
def hash_seeded_by_value(data: int, rng: np.random.Generator) -> tuple[int, int]:
    """Wrong: the hash function's seed is derived from the value and sent along."""
    seed = 2654435761 * (int(data) + 17) % 2**32
    return seed, hashed_reply(seed % 4, rng)


def two_letters() -> Masses:
    """The two telling letters are both right, one is, none is."""
    right = E / (E + 1)
    law = np.array([right**2, 2 * right * (1 - right), (1 - right) ** 2])
    return by_likelihood_ratio(law, law[::-1])


@held_out(
    data=AnyTwo(Categories(10)),
    epsilon=1.0,
    true_epsilon=2.0,
    source="Apple 2017, Learning with privacy at scale, Algorithm CMS-Client, with e^ε in place of e^(ε/2)",
    oracle=Oracle(value(0), value(3), "at least t of the two telling letters are right", two_letters),
    limit=1.9751,
)
def apple_sketch_flip(data: int, rng: np.random.Generator) -> tuple[int, str]:
    """Wrong: a random row of a sketch as sixteen letters, each flipped with probability 1/(1 + e^ε); two differ."""
    row = int(rng.integers(3))
    cell = ((3, 5, 7)[row] * (int(data) + 1) + row) % 16
    flipped = rng.random(16) < 1.0 / (1.0 + E)
    return row, "".join("+" if (place == cell) != flip else "-" for place, flip in enumerate(flipped))


@held_out(
    data=AnyTwo(Categories(5)),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Kairouz, Bonawitz, Ramage 2016, k-ary randomized response, off by one",
    oracle=Oracle(value(4), value(0), "the message is the last category", impossible(E / (E + 4))),
    limit=12.416,
)
def last_is_never_a_lie(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: a lie is drawn from the first four of five categories."""
    return np.where(rng.random(lanes) < E / (E + 4), int(data), rng.integers(0, 4, size=lanes))


def fake_masses() -> Masses:
    """All 64 messages, for tuples that differ everywhere."""
    messages = list(product(range(4), repeat=3))
    law = np.array([sum(3 * E - 2 if place == 0 else 1.0 for place in message) for message in messages])
    other = np.array([sum(3 * E - 2 if place == 1 else 1.0 for place in message) for message in messages])
    return by_likelihood_ratio(law / law.sum(), other / other.sum())


@held_out(
    data=AnyTwo(Integers(0, 3, 3)),
    epsilon=1.0,
    true_epsilon=math.log(3 * E - 2),
    source="Arcolezi, Couchot, Al Bouna, Xiao 2021, Random sampling plus fake data, RS+FD[GRR]",
    oracle=Oracle(np.zeros(3, dtype=int), np.ones(3, dtype=int), BEST, fake_masses),
    limit=1.8030,
)
def sampled_attribute_with_fakes(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: one of three attributes is told with ε' = ln(3 (e^ε - 1) + 1), amplified as if the others were equal."""
    weight = 3 * E - 2
    message = rng.integers(4, size=(lanes, 3))
    chosen = rng.integers(3, size=lanes)
    truth = np.asarray(data)[chosen]
    lies = (truth + rng.integers(1, 4, size=lanes)) % 4
    message[np.arange(lanes), chosen] = np.where(rng.random(lanes) < weight / (weight + 3), truth, lies)
    return message


PRIME = 2**31 - 1
KEEPS = (E + 0.75) / (E + 3.0)


@held_out(
    data=AnyTwo(Categories(16)),
    epsilon=1.0,
    true_epsilon=math.log((E + 0.75) / 0.75),
    source=f"{WANG}, local hashing with a hash function of one's own, a x + b mod p mod 4",
    oracle=Oracle(
        value(0), value(1), "the bucket is that of the first value, and not of the second",
        lambda: (np.array([0.75 * KEEPS]), np.array([0.25 * (1.0 - KEEPS)])),
    ),
    limit=1.5097,
)  # fmt: skip
def hash_of_ones_own(data: int, rng: np.random.Generator) -> list[int]:
    """Wrong: who does not tell her bucket with e^ε / (e^ε + 3) draws one of all four, her own among them."""
    a, b = int(rng.integers(1, PRIME)), int(rng.integers(PRIME))
    bucket = (a * int(data) + b) % PRIME % 4
    return [a, b, bucket if rng.random() < E / (E + 3) else int(rng.integers(4))]


HELD_OUT = (
    sampled_attribute_with_fakes,
    hash_of_ones_own,
    bloom_filter_of_two_hashes,
    unary_rare_ones,
    hadamard_response,
    hadamard_else_all,
    subset_of_wrong_size,
    hash_for_all,
    hash_seeded_by_value,
    apple_sketch_flip,
    last_is_never_a_lie,
)
