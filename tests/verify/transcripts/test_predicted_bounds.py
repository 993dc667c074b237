"""Events, pairs and rounds that a scan prefers, against slow, literal readings."""

import itertools
import math

import numpy as np
import pytest

from verify.transcripts.action_features import ActionAt, PlayCount, PlayTime
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.predicted_bounds import (
    PlannedTest,
    ScoredFeature,
    best_events,
    best_pair,
    distinct_values,
    predicted_bound,
)
from verify.transcripts.transcript import ActionSpace

PLANNED = PlannedTest(delta=0.01, hidden=False, units=1e6, most_draws=50_000)
FEATURES = (ActionAt(4, 1, 1), PlayTime(0, 1, 0, 5), PlayCount(0, 1, 5))


def bound(event, final, more):
    likely, rare = event if more else event[::-1]
    return predicted_bound(likely, rare, final, PLANNED.delta)


def literal_events(feature, values, ratio):
    """Sets of places that may be an event, with the rounds that it takes: half-lines, or labels by their ratio."""
    order = np.argsort(ratio, kind="stable") if feature.column.kind == "category" else np.arange(len(values))
    for cut in range(1, len(values)):
        known = (
            min(values[cut - 1], feature.last_round) if isinstance(feature, PlayTime) else feature.last_round
        )
        yield order[:cut], known
        yield order[cut:], known


@pytest.mark.parametrize("feature", FEATURES)
def test_the_best_event_of_a_feature_is_the_best_of_all(feature):
    rng = np.random.default_rng(0)
    values = np.arange(1, 6)
    shares = [rng.dirichlet(np.full(5, 3.0), size=4), rng.dirichlet(np.full(5, 3.0), size=4)]
    bounds, rounds = best_events(feature, values, shares, bound, PLANNED)
    for row in range(4):
        p, q = (each[row] for each in shares)
        expected = max(
            (float(bound((p[event].sum(), q[event].sum()), PLANNED.draws(known), more)), int(known))
            for event, known in literal_events(feature, values, q / p)
            for more in (True, False)
        )
        assert bounds[row] == pytest.approx(expected[0])
        assert rounds[row] == expected[1]


def test_a_bound_is_the_log_ratio_less_two_standard_errors():
    exact = math.log((0.5 - 0.01) / 0.2)
    assert predicted_bound(0.5, 0.2, 1e18, 0.01) == pytest.approx(exact)
    spread = math.sqrt(1 / (100 * 0.5) + 1 / (100 * 0.2))
    assert predicted_bound(0.5, 0.2, 100.0, 0.01) == pytest.approx(exact - 2 * spread)
    assert predicted_bound(0.01, 0.001, 1e6, 0.01) == -math.inf
    assert predicted_bound(0.5, 0.0, 100.0, 0.0) < predicted_bound(0.5, 0.0, 1e6, 0.0) < math.inf


def test_draws_are_what_the_rounds_cost_and_no_more_than_there_may_be():
    planned = PlannedTest(delta=0.0, hidden=False, units=1200.0, most_draws=100, round_cost=3.0)
    assert planned.draws(np.array([0, 1, 4, 8, 400])).tolist() == [100, 100, 100, 50, 1]


def test_rare_labels_are_one_and_rare_numbers_are_not():
    values = np.repeat([0, 1, 2, 3], [10, 2, 6, 3])
    found, index, hits = distinct_values(FEATURES[0], values)
    assert (found.tolist(), hits.tolist()) == ([0, 2, -1], [10, 6, 5])
    assert np.bincount(index).tolist() == hits.tolist()
    assert set(index[(values == 1) | (values == 3)].tolist()) == {2}
    found, index, hits = distinct_values(FEATURES[2], values)
    assert found[index].tolist() == values.tolist()
    assert hits.tolist() == [10, 2, 6, 3]


DATA = np.arange(22.0).reshape(11, 2)
BACKGROUND = Background(DATA, tuple(Neighbour(record, np.ones(2), "") for record in (2, 5)), "the others")


def test_the_most_telling_neighbour_is_kept_with_the_features_that_its_rounds_show():
    early, late = PlayTime(1, 1, 0, 10), PlayCount(1, 1, 10)
    scored = [
        [ScoredFeature(0.3, 8, late), ScoredFeature(0.1, 4, early)],
        [ScoredFeature(0.4, 10, late), ScoredFeature(0.9, 7, early)],
    ]
    pair = best_pair(BACKGROUND, scored, ActionSpace(2, 1))
    assert (pair.record, pair.rounds, pair.predicted, pair.others) == (5, 7, 0.9, "the others")
    assert np.array_equal(pair.data, DATA[:8])
    assert np.array_equal(pair.data_prime[5], np.ones(2))
    assert (pair.data != pair.data_prime).any(axis=1).sum() == 1
    names = [feature.column.name for feature in pair.features]
    assert names == ["time[1,1,0]", *(f"action[{number}]" for number in range(2, 8))]
    assert pair.features[0].last_round == 7


def test_a_pair_is_played_past_its_changed_record():
    scored = [[], [ScoredFeature(0.2, 1, ActionAt(1, 1, 1))]]
    assert best_pair(BACKGROUND, scored, ActionSpace(2, 1)).rounds == 6
    assert best_pair(BACKGROUND, [[], []], ActionSpace(2, 1)) is None


def test_the_best_features_stand_first():
    features = [PlayCount(0, 1, last) for last in range(1, 11)]
    for order in itertools.islice(itertools.permutations(range(10)), 0, 10_000, 3_000):
        scored = [[ScoredFeature(0.1 * k, 10, features[k]) for k in order], []]
        pair = best_pair(BACKGROUND, scored, ActionSpace(2, 1))
        assert pair.features[:8] == tuple(features[:1:-1])
