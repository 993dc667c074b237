"""The search finds telling pairs that the known patterns miss, says them plainly, and repeats itself exactly."""

import math

import numpy as np
import pytest

from mechanisms import Box, Categories, Interval
from verify import AnyTwo, Listed, Within, claimed, verify
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import Column, ViewSample
from verify.neighbouring.neighbour_search import search_neighbours

BITS = np.random.default_rng(5).random((64, 12)) < 0.5


def drawing(mechanism, columns, counted=None):
    """Turn a mechanism of (data, rng, lanes) into draws of a pair."""
    named = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, columns + 1))

    def draw(pair, other, n, seed):
        if counted is not None:
            counted.append(n)
        outputs = mechanism(pair.other if other else pair.data, np.random.default_rng(seed), n)
        return ViewSample(np.asarray(outputs, dtype=np.float64).reshape(n, -1), named)

    return draw


def codeword(data, rng, lanes):
    """Flip every bit of a label's codeword with probability 0.4."""
    return BITS[int(data)] ^ (rng.random((lanes, 12)) < 0.4)


def quiet_near_twenty(data, rng, lanes):
    """Less noise where the first of three counts is near 20; no known pattern is near it."""
    scale = 0.5 + 0.5 * abs(data[0] - 20.0)
    return data[:1] + rng.laplace(scale=scale, size=(lanes, 1))


def search(adjacency, draw, samples=400_000, seed=0):
    test = ComingTest(0.0, 5e-5, samples // 4)
    return search_neighbours(adjacency, draw, test, Conduct(EFFORTS["quick"], seed, ""), samples=samples)


@pytest.mark.slow
def test_codewords_far_apart_are_found():
    apart = (BITS[:, None] != BITS[None, :]).sum(axis=2)
    found = search(AnyTwo(Categories(64)), drawing(codeword, 12), 150_000)
    data, other = int(found.pairs[0].data), int(found.pairs[0].other)
    assert apart[data, other] >= apart.max() - 2 > apart[0, 1]


@pytest.mark.slow
def test_a_region_without_a_known_pattern_is_climbed_to_and_said_plainly():
    adjacency = Within(Box(0, 64, 3), linf=1)
    found = search(adjacency, drawing(quiet_near_twenty, 1), 1_000_000)
    best = found.pairs[0]
    adjacency.check(best)
    assert all(best.key != seed.key for seed in adjacency.seeds())
    assert abs(best.data[0] - 20.0) <= 4.0
    assert len(set(best.data.tolist())) <= 2, "shrunk to few different values"
    assert found.generated > 10


@pytest.mark.slow
def test_known_patterns_are_kept_where_nothing_beats_them():
    for seed in range(2):
        best = search(AnyTwo(Interval(0, 1)), drawing(laplace, 1), seed=seed).pairs[0]
        assert {float(best.data), float(best.other)} == {0.0, 1.0}


@pytest.mark.slow
def test_a_search_repeats_itself_and_counts_its_draws():
    adjacency = Within(Box(0, 64, 3), linf=1)
    counted = []
    found = search(adjacency, drawing(quiet_near_twenty, 1, counted), 80_000)
    assert sum(counted) == found.samples <= 80_000
    assert len(found.pairs) <= 2
    again = search(adjacency, drawing(quiet_near_twenty, 1), 80_000)
    assert [pair.key for pair in again.pairs] == [pair.key for pair in found.pairs]
    assert (again.samples, again.generated) == (found.samples, found.generated)


@pytest.mark.parametrize("samples", [0, 100, 5_000, 20_000])
def test_small_budgets_are_kept(samples):
    counted = []
    found = search(Within(Box(0, 64, 3), linf=1), drawing(quiet_near_twenty, 1, counted), samples)
    assert sum(counted) == found.samples <= samples
    assert found.pairs


@pytest.mark.slow
def test_the_pair_that_verify_reports_is_found_by_the_search():
    @claimed(data=AnyTwo(Categories(64)))
    def mechanism(data, rng, lanes):
        return codeword(data, rng, lanes)

    apart = (BITS[:, None] != BITS[None, :]).sum(axis=2)
    truth = apart.max() * math.log(0.6 / 0.4)
    result = verify(mechanism, epsilon=1.0, effort="quick", samples=200_000)
    assert result.verdict == "refuted"
    assert 0.6 * truth < result.lower.epsilon < truth
    search_details = result.details["neighbour_search"]
    assert result.lower.samples == result.details["black_box"]["samples"] + search_details["samples"]


def test_listed_pairs_are_not_searched():
    @claimed(data=Listed([(0.0, 1.0)]))
    def mechanism(data, rng, lanes):
        return data + rng.laplace(size=lanes)

    result = verify(mechanism, epsilon=1.0, effort="quick", samples=200_000)
    assert result.details["neighbour_search"] == {"samples": 0, "generated": 0}


def laplace(data, rng, lanes):
    return data + rng.laplace(size=lanes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("adjacency", "mechanism", "columns", "alike"),
    [
        (AnyTwo(Interval(0, 1)), laplace, 1, True),
        pytest.param(AnyTwo(Categories(64)), codeword, 12, False, marks=pytest.mark.slow),
    ],
    ids=["alike", "against"],
)
def test_both_worlds_get_the_same_random_numbers_unless_these_go_against_each_other(
    adjacency, mechanism, columns, alike
):
    """Laplace noise moves with the data; flipped bits of opposite data are opposite, and no draw is counted twice."""
    seeds, counted = {}, []
    plain = drawing(mechanism, columns, counted)

    def draw(pair, other, n, seed):
        seeds.setdefault((pair.key, n), []).append((other, seed.spawn_key))
        return plain(pair, other, n, seed)

    found = search(adjacency, draw, 100_000)
    assert sum(counted) == found.samples
    ways = [len({key for _, key in drawn[-2:]}) for drawn in seeds.values() if len(drawn) >= 2]
    assert len(ways) > 10
    assert ways.count(1 if alike else 2) == len(ways)


@pytest.mark.slow
def test_wide_views_are_drawn_less_often_but_the_search_of_narrow_ones_is_not_cut():
    """Nine tenths of the draws for the main test; of eight columns 7/8 of these, of ten and more 7/10."""

    def main_draws(columns):
        @claimed(data=AnyTwo(Interval(0, 1)))
        def noisy(data, rng, lanes):
            return np.column_stack([data + rng.laplace(size=lanes), rng.random((lanes, columns - 1)) < 0.5])

        result = verify(noisy, epsilon=1.0, effort="quick", samples=20_000)
        return result.details["black_box"]["samples"]

    narrow = main_draws(2)
    assert narrow == pytest.approx(0.9 * 20_000, rel=0.02)
    assert main_draws(8) == pytest.approx(7 / 8 * narrow, rel=0.02)
    assert main_draws(40) == pytest.approx(0.7 * narrow, rel=0.02)
