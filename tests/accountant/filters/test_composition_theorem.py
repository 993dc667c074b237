"""Basic composition: what it charges for which mechanism."""

from fractions import Fraction

import pytest

from accountant import BasicComposition, Budget, Cost, UnsupportedCharge
from mechanisms import Gaussian, Laplace, RandomizedResponse, Sensitivity

UNIT = Sensitivity(1.0, 1.0, 1.0)
FOUR = Sensitivity.of_box([1.0] * 4)
theorem = BasicComposition()


def test_pure_mechanisms_cost_their_exact_loss_at_the_records_own_movement():
    mechanism = Laplace.for_epsilon(0.3, sensitivity=FOUR)
    assert theorem.charge(mechanism, UNIT) == Cost(1 / Fraction(mechanism.scale), Fraction(0))
    assert theorem.charge(mechanism, FOUR) == Cost(4 / Fraction(mechanism.scale), Fraction(0))
    assert theorem.charge(RandomizedResponse(size=5, epsilon=0.7), UNIT) == Cost(Fraction(0.7), Fraction(0))


def test_others_are_read_at_their_nominal_delta():
    mechanism = Gaussian.for_epsilon_delta(0.5, 1e-6, sensitivity=FOUR)
    assert theorem.charge(mechanism, FOUR) == Cost(Fraction(mechanism.epsilon), Fraction(1e-6))
    less = theorem.charge(mechanism, UNIT)
    assert mechanism.profile(UNIT).delta(float(less.epsilon)) <= 1e-6
    assert less.epsilon < Fraction(0.3)


def test_without_delta_there_is_no_charge():
    with pytest.raises(UnsupportedCharge, match="Gaussian has unbounded privacy loss and names no delta"):
        theorem.charge(Gaussian(sigma=1.0, sensitivity=UNIT), UNIT)


def test_an_infinite_loss_is_no_number():
    assert (
        theorem.charge(Gaussian(sigma=1.0, sensitivity=UNIT, delta=0.1), Sensitivity(9, 9, 9)).epsilon
        is not None
    )
    unbounded = Sensitivity(float("inf"), float("inf"), float("inf"))
    assert theorem.charge(Gaussian(sigma=1.0, sensitivity=UNIT, delta=0.1), unbounded).epsilon is None


def test_left_never_falls_below_zero():
    budget = Budget(1.0, 0.5)
    spent = Cost(Fraction(1, 4), Fraction(3, 4))
    assert theorem.remaining_spend(spent, budget) == Cost(Fraction(3, 4), Fraction(0))
    assert theorem.remaining_spend(Cost(None, Fraction(0)), budget) == Cost(Fraction(0), Fraction(1, 2))
    assert theorem.remaining_spend(spent, Budget.unlimited()).epsilon is None
    assert theorem.fits(Cost(Fraction(1), Fraction(1, 2)), budget)
    assert not theorem.fits(spent, budget)
    assert theorem.guarantee(spent, budget) == spent
