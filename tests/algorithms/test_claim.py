import math

import pytest

from algorithms import CUCBLDP1
from algorithms.claim import Claim, ClaimForm, View


def test_a_form_becomes_a_claim_with_its_numbers():
    claim = CUCBLDP1.claim.at(0.5, 1e-6)
    assert (claim.model, claim.epsilon, claim.delta) == ("local", 0.5, 1e-6)
    assert claim.view == View.MESSAGE.value
    assert claim.neighbours == "one record replaced by any other"
    assert "Theorem 1" in claim.source


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_is_a_finite_number_above_0(epsilon):
    with pytest.raises(ValueError, match="epsilon="):
        CUCBLDP1.claim.at(epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1.0, math.nan])
def test_delta_is_in_the_half_open_unit_interval(delta):
    form = ClaimForm("central", View.OUTPUT, "one value", "a test")
    with pytest.raises(ValueError, match="delta="):
        form.at(1.0, delta)


@pytest.mark.parametrize("number", ["1", None, True, [0.5], 1j])
def test_what_is_no_number_is_refused(number):
    with pytest.raises(ValueError, match=r"epsilon=.*: must be a number"):
        CUCBLDP1.claim.at(number)
    with pytest.raises(ValueError, match=r"delta=.*: must be a number"):
        CUCBLDP1.claim.at(1.0, number)


def test_claims_are_values():
    assert CUCBLDP1.claim.at(1.0) == Claim(
        "local",
        1.0,
        0.0,
        CUCBLDP1.claim.unit,
        CUCBLDP1.claim.neighbours,
        "one user's message",
        CUCBLDP1.claim.source,
    )
