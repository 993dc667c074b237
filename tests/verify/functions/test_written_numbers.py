"""Numbers that stand in a function's code, and in what it names, are found without a call."""

import functools

import numpy as np
import pytest

from mechanisms import Categories, Integers
from verify import claimed, verify
from verify.functions.written_numbers import written_numbers

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


def test_what_has_no_code_has_no_numbers():
    assert written_numbers(np.random.default_rng(0).laplace) == []
    assert written_numbers(functools.partial(helper, 3)) == []


@claimed(data=Integers(0, 1_000))
def rare_number(data, rng):
    return float(data[0] == RARE) * 3.0 + rng.laplace()


@claimed(data=Categories(1_001))
def rare_label(data, rng):
    return int(rng.random() < (0.9 if data in (12, 617) else 0.5))


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
