"""Exact linear relations between noisy columns are found, said and written down."""

import json
import math

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, claimed, verify
from verify.events.event import Event
from verify.events.predicted_bound import ComingTest
from verify.events.readings import Combination, Reading
from verify.events.relations import MOST_COLUMNS, _null_directions, relation_families
from verify.events.search import search_events
from verify.events.view_sample import Column, ViewSample

COLUMNS = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, 9))
NAN = math.nan


def view(values):
    return ViewSample(values, COLUMNS[: values.shape[1]])


def total(rng, world, n):
    """Three parts with much noise, and their exact weighted sum, which differs by 1 between the worlds."""
    parts = rng.laplace(0.0, 50.0, (n, 3))
    return np.column_stack([parts, parts @ [3.0, -1.0, 2.0] + world])


def test_a_combination_is_what_it_says():
    combination = Combination((COLUMNS[0], COLUMNS[2]), (-1.0, 2.5))
    values = np.array([[1.0, 9.0, 2.0], [NAN, 9.0, 2.0], [math.inf, 9.0, math.inf]])
    np.testing.assert_equal(combination.values(view(values)), [4.0, NAN, NAN])
    assert combination.description == "(− output 1 + 2.5·output 3)"
    again = Reading.rebuild(json.loads(json.dumps(combination.to_dict(), allow_nan=False)), COLUMNS)
    assert again == combination
    assert Combination(COLUMNS, (1.0,) * 8).description.endswith("output 6 + … 2 more terms)")


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e8])
def test_relations_are_found_at_any_scale(scale):
    values = total(np.random.default_rng(1), 0, 500) * scale
    (weights,) = _null_directions(values)
    np.testing.assert_allclose(weights / weights[3], [-3.0, 1.0, -2.0, 1.0], atol=1e-9)
    assert np.array_equal(weights, np.round(weights))


def test_several_relations_are_told_apart():
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 400))
    found = _null_directions(np.column_stack([a, b, a + b, c, 2.0 * c]))
    assert len(found) == 2
    assert sorted(int(np.count_nonzero(weights)) for weights in found) == [2, 3]
    for weights in found:
        assert np.ptp(np.column_stack([a, b, a + b, c, 2.0 * c]) @ weights) < 1e-9


def test_noise_has_no_relations():
    rng = np.random.default_rng(3)
    assert _null_directions(rng.normal(size=(400, 5))) == []
    assert _null_directions(rng.normal(size=(400, 1))) == []
    assert _null_directions(np.ones((400, 2))) == []
    assert _null_directions(np.full((400, 2), NAN)) == []
    assert _null_directions(rng.normal(size=(4, 5))) == []  # any four points satisfy a linear equation
    assert _null_directions(np.repeat(rng.normal(size=(400, 1)), MOST_COLUMNS + 1, axis=1)) == []
    almost = rng.normal(size=400)
    assert _null_directions(np.column_stack([almost, almost + 1e-6 * rng.normal(size=400)])) == []


def test_what_a_relation_gives_away_is_the_event():
    """ε of infinity; no column, difference or sum tells more than e^.06."""
    fit, choose = (
        tuple(view(total(np.random.default_rng([seed, world]), world, 4_000)) for world in (0, 1))
        for seed in (0, 1)
    )
    assert len(list(relation_families(fit, choose))) == 2
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 1_000_000))
    best = max(found.best, key=lambda event: event.predicted)
    assert isinstance(best.event.reading, Combination)
    assert best.predicted > 4.0


def test_rounding_is_no_relation():
    """fl(a + b) - a - b is about 1e-16 of the larger; how large the terms are tells the worlds apart, in bits only."""

    def rounded(rng, world, n):
        a, b = rng.normal(size=(2, n)) * 3.0**world
        return np.column_stack([a, b, a + b])

    fit, choose = (
        tuple(view(rounded(np.random.default_rng([seed, world]), world, 4_000)) for world in (0, 1))
        for seed in (0, 1)
    )
    assert _null_directions(fit[0].values)
    assert list(relation_families(fit, choose)) == []


def shared_noise(rng, world, n, columns=16):
    """Prefix sums with one noise for each level of a binary tree: sixteen columns, five noises, eleven relations."""
    noise = rng.laplace(0.0, 50.0, (n, 5))
    levels = np.array([[at >> bit & 1 for bit in range(5)] for at in range(1, columns + 1)], dtype=float)
    return noise @ levels.T + world * (np.arange(1, columns + 1) > 4)


def test_noise_of_low_rank_is_given_away_by_many_relations():
    columns = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, 17))
    fit, choose = (
        tuple(
            ViewSample(shared_noise(np.random.default_rng([seed, world]), world, 6_000), columns)
            for world in (0, 1)
        )
        for seed in (2, 3)
    )
    assert len(_null_directions(fit[0].values)) == 11
    for family in relation_families(fit, choose):
        shares = [family.hits[0] / family.trials[0], family.hits_prime[0] / family.trials[1]]
        assert sorted(shares) == [0.0, 1.0]
        event = family.build(0)
        assert {abs(weight) for weight in event.reading.weights} <= {
            1.0,
            2.0,
            3.0,
        }  # in words that can be read


def test_relations_do_not_depend_on_the_order_of_the_draws():
    """As they would if they followed from the basis of their space that a decomposition happens to return."""
    values = shared_noise(np.random.default_rng(2), 0, 256)
    first, again = _null_directions(values), _null_directions(values[::-1])
    assert len(first) == 11
    np.testing.assert_array_equal(first, again)


def test_a_relation_that_fails_now_and_then_in_one_world_is_told_by_its_failing():
    """Where it holds says ln(1/.9) = .1; that it fails says everything."""

    def leak(rng, world, n):
        values = total(rng, 0, n)
        values[:, 3] += world * (rng.random(n) < 0.1)
        return values

    fit, choose = (
        tuple(view(leak(np.random.default_rng([seed, world]), world, 8_000)) for world in (0, 1))
        for seed in (4, 5)
    )
    (family,) = relation_families(fit, choose)
    assert family.trials == (8_000 + 8_000 - 4_096,) * 2
    assert family.hits.tolist() == [family.trials[0], 0]
    assert 0.09 < family.hits_prime[1] / family.trials[1] < 0.11
    failing = family.build(1)
    assert failing.description.startswith("|(3·output 1 − output 2 + 2·output 3 − output 4) − 0| >")
    assert Event.rebuild(json.loads(json.dumps(failing.to_dict())), COLUMNS) == failing


def test_what_two_relations_tell_together_is_mixed():
    """Either fails in a third of the draws of the other world, never both at once."""

    def leak(rng, world, n):
        a, b = rng.laplace(0.0, 50.0, (2, n))
        fails = rng.integers(3, size=n)
        return np.column_stack([a, b, 2.0 * a + world * (fails == 0), 3.0 * b + world * (fails == 1)])

    fit, choose = (
        tuple(view(leak(np.random.default_rng([seed, world]), world, 8_000)) for world in (0, 1))
        for seed in (6, 7)
    )
    shares = [family.hits_prime[1] / family.trials[1] for family in relation_families(fit, choose)]
    np.testing.assert_allclose(shares, [1.0 / 3.0, 2.0 / 3.0], atol=0.02)


def test_relations_that_both_worlds_satisfy_with_one_value_tell_nothing():
    fit, choose = (
        tuple(view(total(np.random.default_rng([seed, world]), 7, 2_000)) for world in (0, 1))
        for seed in (8, 9)
    )
    assert _null_directions(fit[0].values)
    assert list(relation_families(fit, choose)) == []


def test_single_precision_is_known_by_its_rounding():
    """Numbers of single precision miss a relation by rounding, which tells nothing; missing it by 1 does."""

    def single(rng, world, n, apart):
        a = rng.normal(0.0, 50.0, n)
        return np.column_stack([a, 3.0 * a + 7.3 + apart * world]).astype(np.float32).astype(float)

    for apart, families in ((0.0, 0), (1.0, 2)):
        fit, choose = (
            tuple(view(single(np.random.default_rng([seed, world]), world, 6_000, apart)) for world in (0, 1))
            for seed in (10, 11)
        )
        found = list(relation_families(fit, choose))
        assert len(found) == families
        assert all(sorted((f.hits[0], f.hits_prime[0])) == [0, f.trials[0]] for f in found)


def test_constant_columns_and_few_values_do_not_hide_a_relation():
    rng = np.random.default_rng(12)
    small = rng.integers(4, size=(400, 2))
    values = np.column_stack([small, np.full(400, 5.0), small @ [1, 2]])
    (weights,) = _null_directions(values)
    assert weights.tolist() == [1.0, 2.0, 0.0, -1.0]


def test_a_combination_is_the_same_whatever_the_batch():
    rng = np.random.default_rng(13)
    combination = Combination(COLUMNS, tuple(rng.normal(size=8).tolist()))
    values = rng.normal(size=(1_003, 8))
    whole = combination.values(view(values))
    parts = [
        combination.values(view(np.asfortranarray(values[start : start + 17])))
        for start in range(0, 1_003, 17)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.slow
def test_a_right_mechanism_is_not_refuted_for_relations_that_always_hold():
    """Laplace noise of scale 1 on a number of [0, 1], published three times over: what else is said follows from it."""

    @claimed(data=AnyTwo(Interval(0.0, 1.0)))
    def thrice(data, rng, lanes):
        noisy = data + rng.laplace(size=lanes)
        other = 7.0 - 3.1 * noisy
        return np.column_stack([noisy, other, noisy + other])

    result = verify(thrice, epsilon=1.0, samples=200_000)
    assert result.verdict == "unproven"
    assert 0.8 < result.lower.epsilon < 1.0
