"""Laws of local reports, against closed forms and mechanisms' profiles."""

import math
from fractions import Fraction

import numpy as np
import pytest

from mechanisms import RandomizedResponse
from verify.likelihood.finite_law import largest_epsilon
from verify.likelihood.local_laws import (
    local_hashing_law,
    randomized_response_law,
    rappor_law,
    subset_selection_law,
    unary_encoding_law,
)


def both(law, other, delta=0.0):
    pair = law.compared(other)
    return max(pair.epsilon(delta).lower, pair.swapped.epsilon(delta).lower)


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
