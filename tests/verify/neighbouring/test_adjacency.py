"""Neighbouring relations: what they offer is neighbours, what is not is refused, and the known patterns are there."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mechanisms import Ball, Box, Categories, Integers, Interval, OneHot
from mechanisms.parameters import ParameterError
from verify import AddOrRemoveOne, AnyTwo, Listed, Pair, ReplaceOne, Within, claimed
from verify.neighbouring.adjacency import MOST_SEEDS, Adjacency, NotNeighbours

DOMAINS = [
    Interval(0, 1),
    Interval(-math.inf, math.inf),
    Interval(2, math.inf),
    Interval(0.1, 0.3),
    Box(-10, 10, 5),
    Box(0, 1, 1),
    Integers(0, 100, 4),
    Integers(-3, 2),
    Categories(2),
    Categories(100),
    OneHot(5),
    OneHot(2, allow_none=False),
    Ball(1, 4),
    Ball(0.3, 3, 1),
    Ball(2, 3, math.inf),
]
ADJACENCIES = [
    *map(AnyTwo, DOMAINS),
    Within(Box(-10, 10, 5), linf=1),
    Within(Box(0.1, 0.7, 3), linf=0.1),
    Within(Box(-10, 10, 10), l1=1),
    Within(Box(-5, 5, 7), l2=1 / 3),
    Within(Integers(0, 100, 5), linf=1),
    Within(Integers(0, 9, 5), l1=2, linf=1),
    Within(Interval(-10, 10), linf=1),
    Within(OneHot(5), l1=1),
    Within(Ball(1, 4), l2=0.5),
    *(ReplaceOne(domain, 5) for domain in DOMAINS),
    ReplaceOne(Interval(0, 1), 1),
    *(AddOrRemoveOne(domain, 4) for domain in DOMAINS),
    AddOrRemoveOne(Interval(0, 1), 1),
    Listed([(0.0, 1.0), ([1, 2], [1, 3])]),
]


def clip(vector, norm=1.0):
    return vector * min(1.0, norm / max(float(np.linalg.norm(vector)), 1e-300))


def gradients(label):
    """Gradients of squared errors at 0, of records of features and a label: minus their product."""
    return lambda data: -np.sum(np.delete(data, label, axis=1) * data[:, [label]], axis=0)


def means(data):
    return data.mean(axis=0) if len(data) else np.zeros(data.shape[1:])


@pytest.mark.parametrize("records", [2, 30])
@pytest.mark.parametrize(
    ("domain", "statistic", "width"),
    [
        (Interval(-10, 10), lambda data: np.clip(data.sum(), -1.0, 1.0), 2.0),
        (Interval(-1, 10), lambda data: np.clip(data.sum(), -1.0, 1.0), 2.0),
        (Integers(-5, 3), lambda data: np.sign(data.sum()), 2.0),
        (Box(-10, 10, 5), lambda data: clip(data.sum(axis=0)), 2.0),
        (Box(-10, 10, 5), lambda data: np.sign(data.sum(axis=0)), 2.0 * math.sqrt(5.0)),
        (Box(-9, 9, 4), lambda data: clip(means(data)), 2.0),
        (Ball(10, 3), lambda data: clip(data.sum(axis=0)), 2.0),
        (Ball(10, 3, 1), lambda data: clip(data.sum(axis=0)), 2.0),
        (Box(-3, 3, 4), lambda data: clip(gradients(-1)(data)), 2.0),
        (Box(-3, 3, 4), lambda data: clip(gradients(0)(data)), 2.0),
    ],
)
def test_a_record_that_outweighs_an_opposite_one_is_among_the_first(domain, statistic, width, records):
    """A sum that is clipped, and not each record, moves by twice its bound, to the opposite side."""
    seeds = AddOrRemoveOne(domain, records).seeds()[:7]
    moves = [np.linalg.norm(statistic(seed.data) - statistic(seed.other)) for seed in seeds]
    assert max(moves) == pytest.approx(width)


def has(adjacency, data, other):
    pair = Pair(np.asarray(data, dtype=float), np.asarray(other, dtype=float))
    seeds = [Pair(seed.data.astype(float), seed.other.astype(float)) for seed in adjacency.seeds()]
    return any(pair.key == seed.key for seed in seeds)


@pytest.mark.few(4)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_seeds_are_different_neighbours(adjacency):
    assert isinstance(adjacency, Adjacency)
    seeds = adjacency.seeds()
    assert 1 <= len(seeds) <= MOST_SEEDS
    assert len({seed.key for seed in seeds}) == len(seeds)
    for seed in seeds:
        adjacency.check(seed)


@pytest.mark.slow_cells("ReplaceOne(record=Integers(lower=-3, upper=2, size=1), records=5)")
@pytest.mark.few(10)
@pytest.mark.parametrize("adjacency", ADJACENCIES, ids=repr)
def test_generated_pairs_are_neighbours(adjacency):
    @given(adjacency.pairs())
    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    def check(pair):
        if pair.data.shape == pair.other.shape and not (pair.data != pair.other).any():
            return  # two drawn points may be the same
        adjacency.check(pair)

    check()


def test_the_patterns_of_the_literature():
    queries = Within(Box(-10, 10, 5), linf=1)
    ones = np.ones(5)
    assert has(queries, ones, [2, 1, 1, 1, 1])
    assert has(queries, ones, [0, 1, 1, 1, 1])
    assert has(queries, ones, [2, 0, 0, 0, 0])
    assert has(queries, ones, [0, 2, 2, 2, 2])
    assert has(queries, ones, [0, 0, 2, 2, 2])
    assert has(queries, ones, [2] * 5)
    assert has(queries, ones, [0] * 5)
    assert has(queries, [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]), "the X shape"
    assert any(seed.data[0] <= -8 and seed.data[1] == 0 for seed in queries.seeds()), "one far behind"


def test_records_one_two_and_four_are_flipped_and_ties_are_there():
    table = ReplaceOne(Interval(0, 1), 6)
    for place in (0, 1, 3, 5):
        flipped = np.zeros(6)
        flipped[place] = 1
        assert has(table, np.zeros(6), flipped), place
    assert any(len(set(seed.data)) == 2 and seed.data.sum() == 3 for seed in table.seeds()), "ties"
    assert has(AddOrRemoveOne(Interval(0, 1), 6), [1.0], [])


@pytest.mark.parametrize("domain", [Box(-10, 10, 5), Box(0, 20, 5), Integers(0, 20, 5), Integers(-9, 0, 5)])
def test_gaps_of_one_two_and_four_steps_are_closed(domain):
    seeds = Within(domain, linf=1).seeds()
    one = {(float(s.data[0] - s.data[1]), float(s.other[0] - s.other[1])) for s in seeds}
    assert {(2, 0), (4, 2)} <= one | {(b, a) for a, b in one}
    assert {(-2, 0), (-4, -2)} <= one | {(b, a) for a, b in one}
    assert {(1, -1)} <= one | {(b, a) for a, b in one}, "across the tie"
    points = [point for s in seeds for point in (s.data, s.other)]
    halves = [p for p in points if p[0] == p[1] and p[1] != p[2] == p[4]]
    assert {2, 4} <= {abs(float(p[0] - p[4])) for p in halves}
    assert len({abs(float(s.data[0] - s.data[1])) for s in seeds[:8]}) >= 4, "of each sort one comes early"


@pytest.mark.parametrize("domain", [Box(-10, 10, 8), Integers(-9, 9, 8)])
def test_parts_of_a_vector_come_closer(domain):
    """The last third ahead of the rest, as few answers above a threshold are, and every fourth behind."""
    queries = Within(domain, linf=1)
    assert has(queries, [-2] * 6 + [2] * 2, [-1] * 6 + [1] * 2)
    assert has(queries, [2, 2, 2, -2] * 2, [1, 1, 1, -1] * 2)
    assert has(queries, [-6] + [0] * 7, [-5] + [-1] * 7)
    assert not any("third" in seed.words for seed in Within(Box(-10, 10, 4), linf=1).seeds())


@pytest.mark.parametrize("record", [Integers(0, 1, 6), Box(0, 1, 6)])
def test_records_of_several_coordinates_move_up_and_down_at_once(record):
    """Counts that rise and counts that fall, among others that put them near, far below or far above each other."""
    table = ReplaceOne(record, 5)
    high, low, old, new = [1] * 6, [0] * 6, [0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 0, 0]
    for rest in ([high] * 4, [low] * 4, [old] * 4, [new] * 4, [high, high, new, new]):
        assert has(table, [old, *rest], [new, *rest]), rest
    for count in (1, 3, 5):
        one, other = [0] * count + [1] * (6 - count), [1] * count + [0] * (6 - count)
        assert has(table, [one, *[high] * 4], [other, *[high] * 4]), count
    seeds = table.seeds()
    assert "all above" in seeds[0].words
    assert any("the first 4 of 6 above" in seed.words for seed in seeds[:12]), "where every draw is a call"
    assert has(table, [*[low] * 4, low], [*[low] * 4, high]), "what there was before"
    assert has(table, [[0] * 6, *[low] * 4], [[1, 0, 0, 0, 0, 0], *[low] * 4])


def test_few_equal_records_come_early():
    """Counts are compared with small thresholds."""
    table = AddOrRemoveOne(Interval(0, 1), 6)
    early = {(seed.data.tobytes(), seed.other.tobytes()) for seed in table.seeds()[:16]}
    for size, value in ((1, 0.0), (1, 1.0), (2, 0.0), (2, 1.0), (3, 0.0), (3, 1.0)):
        assert (np.full(size, value).tobytes(), np.full(size - 1, value).tobytes()) in early
    assert AddOrRemoveOne(Interval(0, 1), 2).seeds()


@pytest.mark.parametrize(("records", "most"), [(1, 1), (6, 6), (11, 11), (40, 12)])
def test_every_small_number_of_records_is_tried(records, most):
    """A floor of the number of records, or blocks of them, may show at one number only."""
    tried = {len(seed.data) for seed in AddOrRemoveOne(Interval(0, 1), records).seeds()[:30]}
    assert set(range(1, most + 1)) <= tried


@pytest.mark.parametrize("record", [Box(-1, 7, 3), Integers(0, 5, 4), Box(0, 1, 2)])
def test_a_record_alone_whose_coordinates_differ(record):
    """Where coordinates are keys, a record of equal ones has one key, and one of different ones has several."""
    alone = [seed.data[0] for seed in AddOrRemoveOne(record, 5).seeds()[:8] if len(seed.data) == 1]
    assert any(len(set(point.tolist())) == record.size for point in alone)


def test_a_value_more_than_all_the_others():
    """A sketch with three counters is full of the others' values when the fourth comes, first or last."""
    table = AddOrRemoveOne(Categories(4), 7)
    others = [(place, seed) for seed in table.seeds() for place in (0, 6) if len(seed.data) == 7]
    for place in (0, 6):
        rests = [
            np.delete(seed.data, place).tolist()
            for at, seed in others
            if at == place and seed.data[place] == 0
        ]
        assert any(set(rest) == {1, 2, 3} and min(map(rest.count, (1, 2, 3))) == 2 for rest in rests), place


def test_values_in_between_are_tied():
    assert has(ReplaceOne(Interval(0, 1), 7), [0, 0, 0, 0.1, 0.1, 1, 1], [1, 0, 0, 0.1, 0.1, 1, 1])
    assert any(sorted(seed.data.tolist()).count(2.0) == 2 for seed in ReplaceOne(Interval(-8, 92), 6).seeds())


def test_labels():
    assert has(AnyTwo(Categories(100)), 0, 99)
    assert has(AnyTwo(Categories(100)), 0, 64)
    assert [len(AnyTwo(Categories(k)).seeds()) for k in (2, 3, 4)] == [1, 3, 6]


@pytest.mark.parametrize(
    ("adjacency", "data", "other", "words"),
    [
        (AnyTwo(Interval(0, 1)), 0.0, 2.0, "outside"),
        (AnyTwo(Interval(0, 1)), 0.5, 0.5, "the same point"),
        (AnyTwo(Interval(0, 1)), [0.5], [0.6], "shape"),
        (Within(Box(0, 5, 2), linf=1), [0, 0], [0, 1.001], "no coordinate further apart than 1"),
        (Within(Box(0, 5, 2), l1=1), [0, 0], [1, 1], "L1 distance at most 1"),
        (ReplaceOne(Interval(0, 1), 3), [0, 0, 0], [1, 1, 0], "differ in 2 records"),
        (ReplaceOne(Interval(0, 1), 3), [0, 0], [1, 0], "shape"),
        (AddOrRemoveOne(Interval(0, 1), 3), [0, 1, 0], [0], "3 and 1 records"),
        (AddOrRemoveOne(Interval(0, 1), 3), [0, 1, 0], [1, 1], "3 and 2 records"),
        (AddOrRemoveOne(Interval(0, 1), 2), [0, 1, 0], [1, 0], "at most 2 records"),
        (Listed([(0.0, 1.0)]), 0.0, 0.5, "the listed pair"),
    ],
)
def test_what_is_no_pair_of_neighbours_is_refused(adjacency, data, other, words):
    with pytest.raises(NotNeighbours, match=words):
        adjacency.check(Pair(np.asarray(data, dtype=float), np.asarray(other, dtype=float)))


def test_listed_pairs_have_no_order():
    Listed([(0.0, 1.0)]).check(Pair(np.array(1.0), np.array(0.0)))


@pytest.mark.slow
@given(st.floats(1e-3, 10), st.integers(1, 6), st.sampled_from(["l1", "l2", "linf"]))
@settings(max_examples=40)
def test_distances_hold_in_exact_arithmetic(limit, size, norm):
    for seed in Within(Box(-3, 11, size), **{norm: limit}).seeds():
        moves = [abs(Fraction(a) - Fraction(b)) for a, b in zip(seed.data, seed.other, strict=True)]
        reached = {"l1": sum(moves), "l2": sum(m * m for m in moves), "linf": max(moves)}[norm]
        assert reached <= Fraction(limit) ** (2 if norm == "l2" else 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Within(Box(0, 1, 2), linf=0), "linf = 0"),
        (lambda: Within(Box(0, 1, 2), l1=-1), "l1 = -1"),
        (lambda: Within(Box(0, 1, 2), l2=math.nan), "nan"),
        (lambda: Within(Box, linf=1), "must be a domain"),
        (lambda: AnyTwo(Interval(1, 1)), "no two points"),
        (lambda: AnyTwo(3), "must be a domain"),
        (lambda: ReplaceOne(Interval(0, 1), 0), "records = 0"),
        (lambda: ReplaceOne(Interval(0, 1), 2.5), "records = 2.5"),
        (lambda: Listed([]), "at least one pair"),
        (
            lambda: Listed([(0, 1), ([1, [2, 3]], [1, [2, 4]])]),
            r"pair 2 holds no array, \(\[1, \[2, 3\]\]",
        ),
        (lambda: Listed([(0, 1), 3]), "pair 2 is 3: must be two data sets"),
        (lambda: Listed([(0, 1), (0, 1, 2)]), r"pair 2 is \(0, 1, 2\): must be two data sets"),
        (
            lambda: Listed([([2**60 + 1, 0.5], [0, 0.5])]),
            "pair 1 holds 1152921504606846977, which an array of floats",
        ),
        (lambda: Listed([(0, 1), ([0, 0], [0, 0])]), r"pair 2 holds the same data set twice, \[0, 0\]"),
        (lambda: claimed(data="interval"), "must be a domain"),
    ],
)
def test_wrong_parameters_are_refused(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_whole_numbers_that_are_floats_may_be_mixed():
    (pair,) = Listed([([2**63, -1], [0, 0])]).seeds()
    assert pair.data.tolist() == [2.0**63, -1.0]


def test_objects_have_keys_of_their_contents():
    first, second = (Pair(np.asarray({"a": 10**30}), np.asarray({"a": 1})) for _ in range(2))
    assert first.key == second.key
    assert Pair(np.asarray({"a": 2}), np.asarray({"a": 1})).key != first.key


def test_minus_zero_is_zero():
    assert Pair(np.array(-0.0), np.array(1.0)).key == Pair(np.array(1.0), np.array(0.0)).key


def test_a_single_record_is_no_one_of_some() -> None:
    assert ReplaceOne(Interval(0, 1), 1).description == "the one record (in [0, 1]) replaced"
    assert ReplaceOne(Interval(0, 1), 3).description == "one of 3 records (each in [0, 1]) replaced"
