"""Points are drawn one by one, so that a domain's spelling does not decide which neighbours are looked at."""

import numpy as np
import pytest

from algorithms.blocks import Serial
from mechanisms import Box, Categories, Integers, Interval
from verify import AnyTwo, ReplaceOne, Within
from verify.events.view_sample import Column, ViewSample
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.point_profiles import _differences, profiled_pairs, written_pairs

CODES = np.random.default_rng(3).random((21, 12)) < 0.5
CODES[10:12] = CODES[10]  # 0 and 1 are one word
CODES[[0, -1]] = CODES[10]  # and so are both ends
SPELLINGS = (
    Within(Box(-10, 10, 1), linf=20),
    AnyTwo(Box(-10, 10, 1)),
    AnyTwo(Interval(-10, 10)),
    AnyTwo(Integers(-10, 10)),
)


def word(value, rng, lanes):
    """Flip every bit of a whole number's word with probability 0.4."""
    return CODES[int(value) + 10] ^ (rng.random((lanes, 12)) < 0.4)


def laplace(value, rng, lanes):
    return value + rng.laplace(size=lanes)


def profiled(adjacency, mechanism, samples, seed=0):
    def draw(pair, other, n, sequence):
        counted.append(n)
        (value,) = np.ravel(pair.other if other else pair.data)
        values = np.asarray(mechanism(value, np.random.default_rng(sequence), n), dtype=float).reshape(n, -1)
        columns = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(values.shape[1]))
        return ViewSample(values, columns)

    counted = []
    draws = PairDraws(draw, seed)
    found = profiled_pairs(adjacency, list(adjacency.seeds()), draws, samples, Serial())
    assert sum(counted) == draws.spent <= samples
    return found, draws


@pytest.mark.parametrize("adjacency", SPELLINGS, ids=lambda adjacency: str(adjacency.domain))
def test_every_spelling_leads_to_words_far_apart(adjacency):
    apart = (CODES[:, None] != CODES[None, :]).sum(axis=2)
    found, _ = profiled(adjacency, word, 100_000)
    assert found
    for pair in found:
        adjacency.check(pair)
        (first,), (second,) = np.ravel(pair.data), np.ravel(pair.other)
        assert apart[int(first) + 10, int(second) + 10] >= apart.max() - 2


def test_worlds_differ_by_relative_entropies_of_their_columns():
    """KL(p, q) + KL(q, p) of shares, 1/2 added to each count and to that of absent values, less 2 / n a degree."""
    counts = {0.0: ([6, 2], [3, 3, 2]), 1.0: ([1, 7], [0, 4, 4]), 2.0: ([6, 2], [3, 3, 2])}
    columns = tuple(Column(f"output[{i}]", f"output {i}", "category") for i in range(2))
    worlds = [
        ViewSample(
            np.column_stack([np.repeat(np.arange(len(each)), each) for each in both]).astype(float), columns
        )
        for both in counts.values()
    ]
    found, variance = _differences(worlds)
    assert variance == 8.0 * (2 + 3) / 8**2
    for i, ours in enumerate(counts.values()):
        for j, theirs in enumerate(counts.values()):
            expected = -2.0 * (2 + 3) / 8
            for one, other in zip(ours, theirs, strict=True):
                p, q = ((np.array([0, *each]) + 0.5) / (8 + 0.5 * (1 + len(each))) for each in (one, other))
                expected += float(((p - q) * np.log(p / q)).sum())
            assert found[i, j] == pytest.approx(expected)


def test_labels_are_drawn_one_by_one():
    def one_at_10(label, rng, lanes):
        return (label == 10) + rng.laplace(size=lanes)

    found, _ = profiled(AnyTwo(Categories(21)), one_at_10, 100_000)
    assert found
    assert all(10 in (pair.data, pair.other) for pair in found)


def test_nothing_is_put_forward_where_a_known_pair_is_as_good():
    for seed in range(5):
        assert profiled(AnyTwo(Interval(0, 1)), laplace, 100_000, seed)[0] == []


def test_what_was_lucky_once_is_seldom_lucky_on_fresh_draws():
    """On 256 draws of each point hundreds of pairs next to the ends differ more than the ends do, about always."""
    lucky = [seed for seed in range(20) if profiled(AnyTwo(Interval(0, 1)), laplace, 18_000, seed)[0]]
    assert len(lucky) <= 7  # with probability .08 each


def test_equal_worlds_differ_by_chance_only():
    def noise(value, rng, lanes):
        return rng.laplace(size=(lanes, 3))

    for seed in range(5):
        assert len(profiled(AnyTwo(Interval(0, 1)), noise, 100_000, seed)[0]) <= 6


def test_neighbours_are_no_further_apart_than_they_may_be():
    adjacency = Within(Interval(-10, 10), linf=3)
    found, _ = profiled(adjacency, lambda value, *more: word(round(value), *more), 100_000)
    for pair in found:
        adjacency.check(pair)


@pytest.mark.parametrize("samples", [0, 5_000, 10_000])
def test_few_draws_are_left_to_the_known_pairs(samples):
    found, draws = profiled(AnyTwo(Interval(0, 1)), laplace, samples)
    assert found == []
    assert draws.spent == 0


def test_nothing_is_drawn_where_points_are_too_far_apart():
    found, draws = profiled(Within(Interval(0, 1000), linf=1), laplace, 100_000)
    assert found == []
    assert draws.spent == 0


def test_of_several_numbers_nothing_is_drawn():
    adjacency = AnyTwo(Box(0, 1, 2))
    assert profiled_pairs(adjacency, list(adjacency.seeds()), None, 10**6, Serial()) == []
    replaced = ReplaceOne(Interval(0, 1), 3)
    assert profiled_pairs(replaced, list(replaced.seeds()), None, 10**6, Serial()) == []


def test_numbers_of_the_code_are_points_of_pairs_where_values_are_many():
    near, wide = Within(Integers(0, 1_000), linf=1), AnyTwo(Integers(0, 1_000))
    for adjacency, beside in ((near, 618), (wide, None)):
        known = list(adjacency.seeds())
        pairs = written_pairs(adjacency, known, [617.0, 0.5, -1.0, 5_000.0, 0.0])
        assert [pair.other.tolist() for pair in pairs] == [[617]]
        assert beside is None or pairs[0].data.tolist() == [beside]
    few = AnyTwo(Integers(0, 10))
    assert written_pairs(few, list(few.seeds()), [7.0]) == []


@pytest.mark.parametrize("record", [Integers(0, 1_000), Categories(1_001)])
def test_of_records_one_is_a_number_of_the_code(record):
    adjacency = ReplaceOne(record, 3)
    known = list(adjacency.seeds())
    (pair,) = written_pairs(adjacency, known, [617.0, 0.5, -1.0, 5_000.0])
    assert pair.other.ravel().tolist() == [617, *known[0].data.ravel().tolist()[1:]]
    adjacency.check(pair)
