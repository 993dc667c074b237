"""Refusals quote values of any length, and counts are below what is counted in 64 bits."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

from accountant import Accountant, Budget, Rule
from accountant.rules.scope import Scope
from algorithms import simulate
from algorithms.off_policy.replay_evaluation import evaluate
from mechanisms import DPWitnessError, Interval, Laplace, ParameterError, Repeated
from mechanisms.parameters import build_from, quoted, shorten, whole_number
from verify import certify, regret, verify

HUGE = 10**5_000
LONG = "x" * 100_000


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.5, "1.5"),
        (HUGE, "a whole number of 16,610 binary digits"),
        (-HUGE, "a whole number of 16,610 binary digits"),
        ([HUGE], "a list that cannot be written"),
        (LONG, f"'{'x' * 24} ... (99952 characters) ... {'x' * 24}'"),
    ],
    ids=["number", "huge", "below", "list", "text"],
)
def test_a_value_is_quoted_in_a_line(value: object, words: str) -> None:
    assert quoted(value) == words


def test_a_message_is_shortened_in_its_middle() -> None:
    assert str(ParameterError(f"name = {LONG}: must be short")).endswith("xxx: must be short")
    assert len(str(DPWitnessError(LONG))) < 1_000
    assert shorten("abc", 3) == "abc"


@pytest.mark.parametrize("value", [HUGE, -HUGE, [HUGE], LONG], ids=["huge", "below", "list", "text"])
@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("scale", lambda value: Laplace(scale=value)),
        ("count", lambda value: Repeated(Laplace(scale=1.0), value)),
        ("upper", lambda value: Interval(0, value)),
        ("epsilon", lambda value: Budget(value)),
        ("days", lambda value: Rule(Budget(1.0), days=value)),
        ("groups", lambda value: Rule(Budget(1.0), groups=value)),
        ("purpose", lambda value: Scope(value)),
        ("trust", lambda value: Accountant(Budget(1.0), trust=value)),
        ("strict", lambda value: Accountant(Budget(1.0), strict=value)),
        ("sensitivity", lambda value: Laplace.for_epsilon(1.0, sensitivity=value)),
    ],
)
def test_whatever_is_refused_is_named_and_the_rule_is_said(name: str, build: Any, value: Any) -> None:
    with pytest.raises(ParameterError) as refused:
        build(value)
    message = str(refused.value)
    assert message.startswith((f"{name} = ", f"{name}: "))
    assert len(message) < 400


def test_counts_are_below_what_64_bits_count() -> None:
    assert whole_number("count", 2**63 - 1, least=1) == 2**63 - 1
    with pytest.raises(ParameterError, match=r"count = 9223372036854775808: must be below 2\^63"):
        whole_number("count", 2**63, least=1)
    with pytest.raises(ParameterError, match=r"size = 8: must be below 2\^3"):
        whole_number("size", 8, least=1, bits=3)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Laplace: missing a required argument: 'scale'"),
        ({"scale": 1, "shape": 2}, "Laplace: got an .* 'shape'"),
    ],
)
def test_what_is_built_from_fields_names_one_that_is_missing_or_unknown(fields: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build_from(Laplace, fields)


@pytest.mark.parametrize("function", [certify, evaluate, regret, simulate, verify])
def test_functions_of_a_value_have_the_type_hints_of_their_signature(function: Callable[..., Any]) -> None:
    assert list(get_type_hints(function)) == [*inspect.signature(function).parameters, "return"]
