"""Pairs go on for their lower bounds and for their upper ones; no draw finds an event and counts it."""

import numpy as np
import pytest
from hypothesis import strategies as st

from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import Column, ViewSample
from verify.neighbouring import successive_halving
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.neighbour_search import search_neighbours
from verify.neighbouring.pair_draws import PairDraws
from verify.neighbouring.pair_score import PairScore, score_pair
from verify.neighbouring.successive_halving import ComparedPair, PairComparison, _take_in_turns

LOWER, UPPER = (5.0, 4.0, 3.0, 0.0, 0.0), (5.5, 0.0, 3.5, 9.0, 3.6)


@pytest.mark.parametrize(
    ("places", "named", "chosen"),
    [
        (1, 0, [0]),
        (2, 0, [0, 3]),
        (3, 0, [0, 3, 1]),
        (4, 0, [0, 3, 1, 4]),
        (9, 0, [0, 3, 1, 4, 2]),
        (3, 3, [0, 1, 2]),
        (3, 1, [0, 3, 1]),
        (4, 2, [0, 3, 1, 4]),
    ],
)
def test_places_go_to_lower_and_upper_bounds_in_turns(places, named, chosen):
    assert _take_in_turns((LOWER, UPPER), places, named) == chosen


def test_of_equal_scores_those_named_first_go_on_and_the_named_take_the_last_places():
    assert _take_in_turns(((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)), 2) == [0, 1]
    assert _take_in_turns(((0.0, 0.0, 1.0, 2.0), (0.0, 0.0, 1.0, 2.0)), 3, named=1) == [3, 2, 0]


COLUMN = (Column("output", "the output", "category"),)


class Labels:
    """Pairs of a label 0, ..., 11 and the same behind it; pair 7 alone has an event that is rare and tells much."""

    def seeds(self):
        return [Pair(np.array(i), np.array(i + 100)) for i in range(12)]

    def pairs(self):
        return st.sampled_from(self.seeds())


def rare_leak(pair, other, n, seed):
    """Randomized response at epsilon 0.4; of pair 7, at 0.1, but with a third output of probabilities 0.004 and 0."""
    label = int(pair.data)
    rng = np.random.default_rng(seed)
    epsilon = 0.1 if label == 7 else 0.4
    u = 1.0 - rng.random(n) if other else rng.random(n)  # no help from common random numbers
    values = (u < 1.0 / (1.0 + np.exp(-epsilon if other else epsilon))).astype(float)
    if label == 7 and not other:
        values[rng.random(n) < 0.004] = 2.0
    return ViewSample(values[:, None], COLUMN)


def search(seed):
    test = ComingTest(0.0, 5e-5, 1_000_000)
    return search_neighbours(Labels(), rare_leak, test, Conduct(EFFORTS["quick"], seed, ""), samples=600_000)


@pytest.mark.slow
def test_a_pair_with_a_rare_event_is_not_lost(monkeypatch):
    """Seen once or twice in the first round, its lower bound is nothing there, but the upper one is large."""
    assert [int(search(seed).pairs[0].data) for seed in range(3)] == [7, 7, 7]

    def lower_only(*given, coupled):
        lower = score_pair(*given, coupled=coupled).lower
        return PairScore(lower, lower)

    monkeypatch.setattr(successive_halving, "score_pair", lower_only)
    assert 7 not in [int(search(seed).pairs[0].data) for seed in range(3)], "by lower bounds alone it is"


def test_kept_draws_find_events_that_all_new_draws_count(monkeypatch):
    looks = []

    def watched(sample, fresh, test, coupled):
        looks.append((sample, fresh))
        return PairScore(0.0, 0.0)

    monkeypatch.setattr(successive_halving, "score_pair", watched)
    comparison = PairComparison(PairDraws(rare_leak, 0), ComingTest(0.0, 1e-4, 10_000))
    pairs = [ComparedPair(pair) for pair in Labels().seeds()[:1]]
    comparison.score_pairs(pairs, 512, keep=True)
    comparison.score_pairs(pairs, 640)
    comparison.score_pairs(pairs, 640)
    sizes = [(len(sample[0].values), len(fresh[0].values)) for sample, fresh in looks]
    assert sizes == [(256, 256), (512, 640), (320, 320)]
    drawn = [fresh[0].values for _, fresh in looks]
    assert not np.array_equal(drawn[1][320:], drawn[2]), "every look has draws of its own"
    for sample, fresh in looks:
        assert not any(np.shares_memory(a.values, b.values) for a, b in zip(sample, fresh, strict=True))


def test_draws_that_are_too_many_are_not_kept(monkeypatch):
    monkeypatch.setattr(successive_halving, "_MOST_KEPT", 500)
    comparison = PairComparison(PairDraws(rare_leak, 0), ComingTest(0.0, 1e-4, 10_000))
    pairs = [ComparedPair(pair) for pair in Labels().seeds()[:1]]
    comparison.score_pairs(pairs, 512, keep=True)
    assert pairs[0].kept is None
