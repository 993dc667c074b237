"""Numbers that stand in a function's code, and in what it names, are found without a call."""

import functools

import numpy as np
import pytest

from mechanisms import Categories, Integers, Interval
from verify import Within, claimed, verify
from verify.functions.written_numbers import written_numbers
from verify.neighbouring.point_profiles import written_pairs

RARE = 617
SEVERAL = {71, 73}


def helper(value):
    return value in (11, 13)


def decorated(function):
    @functools.wraps(function)
    def outer(data, rng):
        return function(data, rng)

    return outer


def test_numbers_of_code_inner_functions_helpers_and_named_values_are_found():
    def subject(data, rng):
        inner = lambda value: value == 29  # noqa: E731
        return helper(data) or inner(data) or data == RARE or data in SEVERAL or data == 10**400

    assert {11.0, 13.0, 29.0, 617.0, 71.0, 73.0} <= set(written_numbers(subject))
    assert 29.0 in written_numbers(decorated(subject))


def test_numbers_that_a_function_is_given_are_found():
    held, not_set = np.int64(41), {"a key": 43}

    def subject(data, other=31, *, more=37):
        return data in (held, not_set["a key"]) or late

    assert {31.0, 37.0, 41.0, 43.0} <= set(written_numbers(subject))
    late = functools.partial(subject, 47, more=53)
    assert {31.0, 47.0, 53.0} <= set(written_numbers(late))


def test_values_that_hold_themselves_or_are_long_or_deep_hide_nothing():
    loop, deep = [], []
    loop.append(loop)
    for _ in range(5_000):
        deep = [deep]
    long = list(range(100, 100_000))

    def subject(data):
        return data == 29 and (loop, deep, long)

    numbers = list(written_numbers(subject))
    assert 29.0 in numbers
    assert len(numbers) == 16
    assert list(written_numbers(lambda data: deep and loop)) == []


def test_numbers_are_asked_for_where_data_are_whole_numbers_or_labels():
    def never():
        raise AssertionError
        yield

    adjacency = Within(Interval(0, 100), linf=1)
    assert written_pairs(adjacency, list(adjacency.seeds()), never()) == []


def test_what_has_no_code_has_no_numbers():
    assert list(written_numbers(np.random.default_rng(0).laplace)) == []


@claimed(data=Integers(0, 1_000))
def rare_number(data, rng):
    return float(data[0] == RARE) * 3.0 + rng.laplace()


@claimed(data=Categories(1_001))
def rare_label(data, rng):
    return int(rng.random() < (0.9 if data in (12, 617) else 0.5))


@pytest.mark.slow_cells("rare_number")
@pytest.mark.parametrize("subject", [rare_number, rare_label])
def test_a_leak_on_one_datum_of_a_thousand_is_found(subject):
    assert verify(subject, epsilon=1.0, effort="quick", seed=3).verdict == "refuted"


@claimed(data=Integers(0, 1_000))
def private_number(data, rng):
    return float(data[0] == RARE) + rng.laplace()


def test_where_a_rare_datum_costs_no_more_than_is_claimed_the_bound_is_nearly_that():
    result = verify(private_number, epsilon=1.0, effort="quick", seed=3)
    assert result.verdict == "unproven"
    assert 0.9 < result.lower.epsilon <= 1.0
