"""Functions that state their law, through `verify`."""

import math

import numpy as np
import pytest

from mechanisms import Categories, Interval, Laplace, RandomizedResponse
from verify import claimed, verify
from verify.likelihood.density_law import law_of
from verify.likelihood.finite_law import FiniteLaw
from verify.likelihood.local_laws import randomized_response_law

RESPONSE = RandomizedResponse(size=3, epsilon=1.0)


def draw(data, rng, epsilon):
    return (
        data
        if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + 2)
        else (data + rng.integers(1, 3)) % 3
    )


@claimed(data=Categories(3), law=lambda data: randomized_response_law(RESPONSE, data))
def as_stated(data, rng):
    return draw(data, rng, 1.0)


@claimed(data=Categories(3), law=lambda data: randomized_response_law(RESPONSE, data))
def otherwise(data, rng):
    return draw(data, rng, 0.5)


@claimed(data=Interval(0, 1), law=lambda data: law_of(Laplace(scale=0.5), data))
def half_the_noise(data, rng, lanes):
    return data + rng.laplace(scale=0.5, size=lanes)


def kinds(result):
    return {finding.kind for finding in result.findings if finding.failing}


def test_a_stated_law_within_the_claim_adds_its_exact_numbers_and_certifies_nothing():
    result = verify(as_stated, epsilon=1.0, effort="quick", samples=20_000)
    low, high = result.details["likelihood"]["law_epsilon"]
    assert low <= 1.0 <= high
    assert high - low < 1e-12
    assert kinds(result) == set()
    assert result.verdict == "unproven"
    assert result.upper.epsilon == math.inf
    strict = result.details["black_box"]["strict_epsilon_lower"]
    assert strict < 1.0, "the reported bound itself is wrong in 5 % of runs"
    assert result.lower.confidence == 0.95


def test_a_stated_law_above_the_claim_is_refuted_by_draws():
    result = verify(half_the_noise, epsilon=1.0, effort="quick", samples=20_000)
    assert result.verdict == "refuted"
    assert "stated-law" in kinds(result)
    assert result.details["likelihood"]["law_epsilon"][0] == pytest.approx(2.0, abs=1e-6)
    assert result.details["likelihood"]["refuted"]


def test_a_law_that_is_not_the_functions_is_named_and_refutes_nothing():
    result = verify(otherwise, epsilon=0.7, effort="quick", samples=20_000)
    assert result.verdict == "unproven"
    assert kinds(result) == {"law"}
    assert result.details["likelihood"]["law_epsilon"][0] > 0.7


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda data: [1.0][3], "IndexError"),
        (lambda data: 0.5, "is of type float: must be a FiniteLaw"),
        (lambda data: FiniteLaw.of({0: 0.3}), "sum to 0.3"),
        (lambda data: FiniteLaw.of({(0, 1): 0.5, (1, 1): 0.5}), "1 numbers, 2 by the law"),
    ],
)
def test_an_unusable_law_is_a_finding(law, words):
    @claimed(data=Interval(0, 1), law=law)
    def function(data, rng, lanes):
        return data + rng.laplace(size=lanes)

    result = verify(function, epsilon=1.0, effort="quick", samples=20_000)
    (finding,) = [finding for finding in result.findings if finding.kind == "law"]
    assert words in finding.message
    assert result.verdict == "unproven"
    assert np.isfinite(result.lower.epsilon)
