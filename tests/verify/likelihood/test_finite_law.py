"""Exact ε and δ of finite laws: against fractions, closed forms of the literature, and mechanisms' profiles."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import ParameterError, RandomizedResponse
from verify.events.event import event_from_dict
from verify.events.view_sample import Column, ViewSample
from verify.likelihood.finite_law import FiniteLaw, largest_epsilon
from verify.likelihood.local_laws import (
    local_hashing_law,
    randomized_response_law,
    rappor_law,
    subset_selection_law,
    unary_encoding_law,
)
from verify.likelihood.selection_laws import noisy_max_law, sparse_vector_law

EPSILON = 0.1


def both(law, other, delta=0.0):
    pair = law.compared(other)
    return max(pair.epsilon(delta).lower, pair.swapped.epsilon(delta).lower)


# --- against fractions ---------------------------------------------------------------------------

weights = st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any)


def law_of_weights(counts):
    return FiniteLaw.of({i: Fraction(count, sum(counts)) for i, count in enumerate(counts)})


@given(weights, weights, st.integers(0, 48).map(lambda k: k / 16))
def test_enumeration_holds_the_exact_value_and_little_else(first, second, epsilon):
    pair = law_of_weights(first).compared(law_of_weights(second))
    length = max(len(first), len(second))
    p = [Fraction(w, sum(first)) for w in first] + [Fraction(0)] * (length - len(first))
    q = [Fraction(w, sum(second)) for w in second] + [Fraction(0)] * (length - len(second))
    # e^ε as a fraction that is good to 1e-30: the exact value is then known far better than in floats.
    power = sum((Fraction(epsilon) ** k / math.factorial(k) for k in range(60)), Fraction(0))
    exact = sum((max(a - power * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
    found = pair.delta(epsilon)
    assert Fraction(found.lower) <= exact <= Fraction(found.upper) or found.upper == 1.0
    assert found.width <= 1e-14
    ratios = [a / b for a, b in zip(p, q, strict=True) if a and b]
    largest = pair.epsilon()
    if any(a and not b for a, b in zip(p, q, strict=True)):
        assert largest.lower == largest.upper == math.inf
    else:
        truth = max(0.0, max(math.log(ratio.numerator) - math.log(ratio.denominator) for ratio in ratios))
        assert largest.lower <= truth + 1e-15
        assert largest.upper >= truth - 1e-15
        assert largest.width <= 2e-14


@given(weights, weights, st.floats(0.001, 0.999))
def test_epsilon_inverts_delta(first, second, delta):
    pair = law_of_weights(first).compared(law_of_weights(second))
    found = pair.epsilon(delta)
    assert found.lower == 0.0 or pair.delta(found.lower).lower > delta
    assert math.isinf(found.upper) or pair.delta(found.upper).upper <= delta
    assert math.isinf(found.upper) or found.width < 1e-12


def test_the_worst_event_is_data_and_has_its_masses():
    pair = law_of_weights([5, 3, 1, 1]).compared(law_of_weights([1, 1, 1, 7]))
    column = Column("output", "the output", "category")
    event = pair.event(math.log(2.0), (column,))
    chosen = pair.outcomes_above(math.log(2.0))
    assert [row[0] for row in event.rows] == pair.outcomes[chosen, 0].tolist() == [0.0, 1.0]
    assert pair.masses(chosen) == pytest.approx((0.8, 0.2))
    p, q = pair.masses(chosen)
    assert pair.delta(math.log(2.0)).lower == pytest.approx(p - 2 * q)
    again = event_from_dict(event.to_dict(), (column,))
    sample = ViewSample(np.array([[0.0], [1.0], [2.0], [3.0]]), (column,))
    assert again.holds(sample).tolist() == [True, True, False, False]
    assert pair.event(10.0, (column,)) is None


def test_outcomes_may_be_absent_and_differ_between_laws():
    law = FiniteLaw.of({(1.0, math.nan): Fraction(1, 2), (0.0, 1.0): Fraction(1, 2)})
    other = FiniteLaw.of({(1.0, math.nan): 1})
    assert other.compared(law).epsilon().lower == pytest.approx(math.log(2))
    assert law.compared(other).epsilon().lower == math.inf
    assert law.compared(other).loss(np.array([[1, math.nan], [0, 1], [7, 7]])).tolist() == pytest.approx(
        [-math.log(2), math.inf, math.nan], nan_ok=True
    )


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


# --- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (3, 0.5), (10, 2.0)])
def test_randomized_response_is_its_profile(size, epsilon):
    mechanism = RandomizedResponse(size=size, epsilon=epsilon)
    laws = [randomized_response_law(mechanism, value) for value in range(size)]
    found = largest_epsilon((a, b) for a in laws for b in laws if a is not b)
    assert found.lower <= epsilon <= found.upper
    assert found.width < 1e-12
    for at in (0.0, 0.3, 0.9 * epsilon):
        exact = laws[0].compared(laws[1]).delta(at)
        assert exact.lower - 1e-12 <= float(mechanism.profile().delta(at)) <= exact.upper + 1e-12


def test_unary_encoding_in_fractions_is_exact():
    p, q = Fraction(3, 4), Fraction(1, 4)
    pair = unary_encoding_law(0, size=4, p=p, q=q).compared(unary_encoding_law(3, size=4, p=p, q=q))
    assert both(*(unary_encoding_law(v, size=4, p=p, q=q) for v in (0, 3))) == pytest.approx(
        math.log(9), abs=2e-14
    )
    assert pair.delta(0.0).lower == pytest.approx(9 / 16 - 1 / 16, abs=1e-15)


def test_one_rappor_report_depends_on_the_bits_that_differ():
    report = {"f": 0.75, "p": 0.45, "q": 0.55}
    six = both(rappor_law([1, 1, 1, 0, 0, 0, 0, 0], **report), rappor_law([0, 0, 0, 1, 1, 1, 0, 0], **report))
    eight = both(
        rappor_law([1, 1, 1, 1, 0, 0, 0, 0], **report), rappor_law([0, 0, 0, 0, 1, 1, 1, 1], **report)
    )
    assert (six, eight) == pytest.approx((0.300063, 0.400083), abs=1e-6)


def test_local_hashing_and_subset_selection_meet_their_formulas():
    hashes = np.random.default_rng(1).integers(0, 4, size=(12, 6))
    p = math.exp(1.0) / (math.exp(1.0) + 3)
    laws = [local_hashing_law(value, hashes=hashes, p=p) for value in (0, 5)]
    assert both(*laws) == pytest.approx(1.0, abs=1e-12)
    # ε = ln p (k - d) / ((1 - p) d) for a subset of d of k
    laws = [subset_selection_law(value, size=6, chosen=2, p=0.6) for value in (0, 5)]
    assert both(*laws) == pytest.approx(math.log(0.6 * 4 / (0.4 * 2)), abs=1e-12)


@pytest.mark.parametrize(
    ("noise", "data", "other", "expected"),
    [
        ("laplace", [1, 1, 1, 1, 1], [0, 2, 2, 2, 2], 0.094615),  # B1
        ("laplace", [1, 9, 9, 9, 9], [0, 10, 10, 10, 10], 0.09840),  # B1, gap 10
        ("exponential", [1, 1, 1, 1, 1], [0, 2, 2, 2, 2], 0.1),  # B2, attained
    ],
)
def test_noisy_max_meets_the_literature(noise, data, other, expected):
    laws = [noisy_max_law(answers, scale=2 / EPSILON, noise=noise) for answers in (data, other)]
    assert both(*laws) == pytest.approx(expected, abs=6e-6)


def test_sparse_vector_meets_the_literature():
    data, other = [1] * 10, [2] * 5 + [0] * 5

    def law(answers, **options):
        return sparse_vector_law(answers, threshold_scale=2 / EPSILON, **options)

    laws = [law(answers, threshold=0.5, query_scale=4 / EPSILON, most=1) for answers in (data, other)]
    assert both(*laws) == pytest.approx(0.088526, abs=1e-6)  # C1
    laws = [law(answers, threshold=1.0, query_scale=0.0) for answers in (data, other)]
    assert both(*laws) == math.inf  # C5, and the mass of what is impossible on D
    impossible = laws[1].compared(laws[0]).delta(50.0)
    assert impossible.lower <= 1 - math.exp(-EPSILON / 2) <= impossible.upper


# --- draws that contradict a law -----------------------------------------------------------------


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
