"""Finite laws: what is no law, and draws that contradict one."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import ParameterError
from verify.likelihood.finite_law import FiniteLaw


def law_of_weights(counts):
    return FiniteLaw.of({i: Fraction(count, sum(counts)) for i, count in enumerate(counts)})


@given(st.lists(st.integers(1, 10**20), min_size=2, max_size=4))
def test_fractions_lie_between_their_floats(counts):
    law = law_of_weights(counts)
    for low, high, count in zip(law.low, law.high, counts, strict=True):
        assert Fraction(low) <= Fraction(count, sum(counts)) <= Fraction(high)


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ({0: 0.5, 1: 0.4}, "must sum to 1 within their stated rounding"),
        ({0: Fraction(1, 3), 1: Fraction(1, 3)}, "must sum to 1"),
        ({0: 1.5, 1: -0.5}, "numbers of at least 0"),
        ({0: math.nan, 1: 1.0}, "numbers of at least 0"),
        ({(0, 1): 0.5, 1: 0.5}, "must be of one"),
    ],
)
def test_what_is_no_law_is_refused(probabilities, words):
    with pytest.raises(ParameterError, match=words):
        FiniteLaw.of(probabilities)


def test_draws_of_the_law_do_not_contradict_it():
    """2,000 looks at error 0.01 contradict at most 20 times on average: more than 45 has probability below 1e-6."""
    law = law_of_weights([60, 30, 8, 1, 1])
    rng = np.random.default_rng(5)
    said = [law.contradiction(law.sample(rng, 300), 0.01) for _ in range(2000)]
    assert sum(words is not None for words in said) <= 45


def test_draws_of_another_law_contradict_it():
    law, other = law_of_weights([5, 5]), law_of_weights([52, 48])
    views = other.sample(np.random.default_rng(1), 40_000)
    assert "occurred" in law.contradiction(views, 1e-6)
    assert "impossible by the law" in law.contradiction(np.array([[0.0], [2.0]]), 1e-6)
    assert "2 numbers, 1 by the law" in law.contradiction(np.zeros((5, 2)), 1e-6)


def test_rare_views_are_counted_together():
    law = FiniteLaw.of({i: Fraction(1, 2000) for i in range(2000)})
    skewed = np.random.default_rng(1).integers(0, 512, size=(20_000, 1)).astype(float)
    assert law.contradiction(skewed, 1e-6) is not None
    assert law.contradiction(law.sample(np.random.default_rng(2), 20_000), 1e-6) is None
    rng = np.random.default_rng(4)
    rarer_too_often = np.where(rng.random(20_000) < 0.8, rng.integers(512, 2000, 20_000), skewed[:, 0])
    assert "any of the rarer views" in law.contradiction(rarer_too_often[:, None], 1e-6)
