"""An error is an output only on data that are stated: where they are a guess, it shows that the guess was wrong."""

import math

import numpy as np
import pytest

from mechanisms import Box, Categories, Integers, Interval, ParameterError
from verify import ReplaceOne, SubjectError, claimed, verify
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.findings.finding import FindingKind

FEW = {"effort": "quick", "samples": 20_000}
KEEP = math.e / (math.e + 3)


def response(value, rng):
    """Return a category by randomised response to 4 of them, at ε = 1."""
    if rng.random() < KEEP:
        return int(value)
    other = int(rng.integers(3))
    return other + (other >= value)


def of_categories(value, rng):
    if value not in range(4):
        raise ValueError("no category")
    return response(value, rng)


def of_typed_categories(value, rng):
    if not float(value).is_integer():
        raise TypeError("must be an int")
    return response(value, rng)


def of_asserted_range(value, rng):
    assert 0 <= value < 4
    assert value == int(value)
    return response(value, rng)


def of_table(value, rng):
    return [0, 1, 2, 3][response({0: 0, 1: 1, 2: 2, 3: 3}[value], rng)]


def of_ending_process(value, rng):
    if value not in range(4):
        raise SystemExit(3)
    return response(value, rng)


def of_seldom_refused(value, rng):
    if value != int(value) and rng.random() < 0.02:
        raise ValueError("seldom")
    return response(int(value), rng)


CORRECT = [
    of_categories,
    of_typed_categories,
    of_asserted_range,
    of_table,
    of_ending_process,
    of_seldom_refused,
]


def test_a_function_that_always_exits_says_nothing_of_the_guess():
    @claimed(data=Integers(0, 3), guessed=True)
    def exits(data, rng):
        raise SystemExit(3)

    result = verify(exits, epsilon=1.0, **FEW)
    assert [finding.kind for finding in result.findings] == ["ends-process"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("function", "data"),
    [(each, Interval(0, 1)) for each in CORRECT]
    + [(each, Interval(0, 5)) for each in (of_categories, of_asserted_range, of_table)],
)
def test_a_correct_response_is_not_refuted_by_a_wrong_guess(function, data):
    """It was refuted at 8.7: on data = 0.5, which no one had said to occur, it raises an error."""
    result = verify(claimed(data=data, guessed=True)(function), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    assert not any(finding.failing for finding in result.findings)
    (found,) = (finding for finding in result.findings if finding.kind is FindingKind.RAISES)
    assert "a guess, so that these data sets are left out" in found.message
    assert result.lower.epsilon <= 1.0


def of_four(values, rng):
    if len(values) != 4:
        raise ValueError("four values")
    return float(np.clip(values, 0, 1).sum() + rng.laplace())


def test_lengths_may_be_wrong_too():
    guess = claimed(data=ReplaceOne(Interval(0, 1), records=10), guessed=True)
    with pytest.raises(
        SubjectError, match=r"four values.* are a guess; state them with @claimed\(data=\.\.\.\)"
    ):
        verify(guess(of_four), epsilon=1.0, **FEW)


@pytest.mark.few(1)
@pytest.mark.parametrize("number", [0, 1])
def test_one_of_two_neighbours_that_raises_is_no_evidence(number):
    def raises_on_one(value, rng):
        if value == number:
            raise KeyError(value)
        return rng.laplace()

    result = verify(claimed(data=Interval(0, 1), guessed=True)(raises_on_one), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"
    stated = verify(claimed(data=Interval(0, 1))(raises_on_one), epsilon=1.0, **FEW)
    assert stated.verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize(
    "data", [Integers(0, 1), Box(0, 1, 2), Categories(2)], ids=lambda each: type(each).__name__
)
def test_an_error_on_stated_data_is_an_output(data):
    def raises_on_large(value, rng):
        if np.sum(value) >= 1:
            raise ValueError("too large")
        return rng.laplace()

    assert verify(claimed(data=data)(raises_on_large), epsilon=1.0, **FEW).verdict == "refuted"
    # The caller's word is a statement.
    guess = claimed(data=Interval(0, 9), guessed=True)(raises_on_large)
    assert verify(guess, epsilon=1.0, neighbours=data, **FEW).verdict == "refuted"


@pytest.mark.slow
def test_what_leaks_on_data_that_it_takes_is_refuted():
    def leaks(value, rng):
        if value not in range(4):
            raise ValueError("no category")
        return int(value)

    result = verify(claimed(data=Interval(0, 1), guessed=True)(leaks), epsilon=1.0, **FEW)
    assert result.verdict == "refuted"
    assert "0.5" not in str(result.witness.neighbours)


def test_batches_that_raise_are_asked_one_by_one():
    def of_lanes(value, rng, lanes):
        if value not in range(4):
            raise ValueError("no category")
        return np.array([response(value, rng) for _ in range(lanes)])

    result = verify(claimed(data=Interval(0, 1), guessed=True)(of_lanes), epsilon=1.0, **FEW)
    assert result.verdict == "unproven"


def test_a_guess_is_said_as_such():
    with pytest.raises(ParameterError, match="guessed = 'yes': must be True or False"):
        claimed(data=Interval(0, 1), guessed="yes")
    guess = claimed(data=Interval(0, 1), guessed=True)(of_categories)
    assert verify(guess, epsilon=1.0, effort="quick", samples=2_000).claim.source.startswith("guessed")


class OfLargeRewards:
    """A bandit for rewards from 1 to 5."""

    def __init__(self, rng):
        self.rng = rng

    def select_arm(self):
        return int(self.rng.integers(2))

    def update(self, arm, reward):
        if not 1 <= reward <= 5:
            raise ValueError(f"reward {reward}")


def test_rewards_that_a_bandit_was_not_made_for_are_a_wrong_guess():
    guessed = verify(PlainBandit(OfLargeRewards, arms=2, rounds=4), epsilon=1.0, **FEW)
    assert guessed.verdict == "unproven"
    (found,) = guessed.findings
    assert not found.failing
    assert "0, 1, are a guess: state them with PlainBandit(rewards=...)" in found.message
    stated = PlainBandit(OfLargeRewards, arms=2, rounds=4, rewards=(0.0, 1.0))
    found = verify(stated, epsilon=1.0, **FEW).findings[0]
    assert found.failing
    assert "guess" not in found.message
