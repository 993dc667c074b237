"""Declared plans: what they cost, and how a run is held to them."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reopened import reopened

from accountant import Accountant, BasicComposition, Budget, BudgetExceeded, Plan, PlanStep, TheoremMissing
from accountant.plans.plan import PlannedComposition
from mechanisms import (
    Box,
    Categories,
    DiscreteLaplace,
    Gaussian,
    GaussianProfile,
    Integers,
    Interval,
    Laplace,
    ParameterError,
    RandomizedResponse,
    Sensitivity,
)
from mechanisms.composition.composed_loss import ComposedLoss

UNIT = Sensitivity(1, 1, 1)
LAPLACE = Laplace(scale=20.0, sensitivity=UNIT)
GAUSSIAN = Gaussian(sigma=20.0, sensitivity=UNIT)


def open_with(plan, budget=None):
    return Accountant(budget or Budget(20.0, 1e-6), plan=plan, noise=np.random.default_rng(0))


def release(accountant, mechanism, record="a", size=1):
    return accountant.release(mechanism, accountant.private([0.5] * size, Box(0, 1, size), record))


def test_a_thousand_laplace_releases_have_the_published_epsilon():
    """8.20444034393393581444876 at 1e-6, by residues with 1,300 digits."""
    accountant = open_with(Plan((PlanStep(LAPLACE, 1000),)))
    found = accountant.guarantee(1e-6)
    assert found.lower <= 8.20444034393393581444876 <= found.upper
    assert found.width < 1e-7


@pytest.mark.slow
@given(st.integers(1, 10**6), st.floats(0.5, 1000.0))
def test_gaussian_plans_have_the_closed_form(count, sigma):
    mechanism = Gaussian(sigma=sigma, sensitivity=UNIT)
    found = Plan((PlanStep(mechanism, count),)).epsilon(1e-6)
    mu = math.sqrt(count) / sigma
    assert found.upper == pytest.approx(GaussianProfile(mu).epsilon(1e-6), rel=1e-8)
    assert found.lower <= found.upper


def test_a_release_outside_the_plan_is_refused_before_anything_is_charged():
    accountant = open_with(Plan((PlanStep(LAPLACE, 2),)))
    release(accountant, LAPLACE)
    with pytest.raises(TheoremMissing, match=r"not in the plan.*filter theorem"):
        release(accountant, GAUSSIAN)
    release(accountant, LAPLACE)
    with pytest.raises(BudgetExceeded, match="Laplace") as refusal:
        release(accountant, LAPLACE)
    assert refusal.value.record == "a"
    release(accountant, LAPLACE, "b")  # every record has the whole plan
    assert len(accountant.ledger) == 3
    assert accountant.remaining_spend("a").values == (0,)
    assert accountant.remaining_spend("b").values == (1,)


def test_a_plan_must_fit_in_the_budget():
    with pytest.raises(ValueError, match=r"the plan alone comes to epsilon = 8\.20445"):
        open_with(Plan((PlanStep(LAPLACE, 1000),)), Budget(8.2, 1e-6))
    open_with(Plan((PlanStep(LAPLACE, 1000),)), Budget(8.205, 1e-6))
    open_with(Plan((PlanStep(LAPLACE, 20),)), Budget(1.0))  # exactly: 20 * Fraction(1, 20)
    with pytest.raises(ValueError, match="the plan alone"):
        open_with(Plan((PlanStep(LAPLACE, 21),)), Budget(1.0))


def test_a_plan_and_a_composition_exclude_each_other():
    with pytest.raises(ValueError, match="not both"):
        Accountant(Budget(1.0), plan=Plan((PlanStep(LAPLACE),)), composition=BasicComposition())


def test_what_was_used_so_far_and_the_whole_plan():
    accountant = open_with(Plan((PlanStep(LAPLACE, 100), PlanStep(GAUSSIAN, 50))))
    assert accountant.spent("a").epsilon == 0
    for _ in range(10):
        release(accountant, GAUSSIAN)
    used = GaussianProfile(math.sqrt(10) / 20).epsilon(1e-6)
    assert float(accountant.spent("a").epsilon) == pytest.approx(used, rel=1e-8)
    whole = accountant.guarantee()
    assert float(accountant.odometer("a").epsilon) == whole.upper > used
    release(accountant, LAPLACE, "b")
    assert accountant.worst()[0] == "a"


def test_a_declassification_is_in_no_plan():
    accountant = open_with(Plan((PlanStep(LAPLACE, 2),)))
    with pytest.raises(BudgetExceeded):
        accountant.declassify(accountant.private([0.5], Interval(0, 1), "a"), "a test")


def test_a_release_of_many_coordinates_uses_one_planned_release_for_each():
    wide = Laplace(scale=4.0, sensitivity=Sensitivity.of_box([1.0] * 4))
    accountant = open_with(Plan((PlanStep(wide, 4, UNIT),)), Budget(1.0))
    release(accountant, wide, "a", 3)
    assert accountant.remaining_spend("a").values == (1,)
    with pytest.raises(BudgetExceeded):
        release(accountant, wide, "a", 2)
    release(accountant, wide, "a", 1)


def test_fewer_units_than_coordinates_suffice_for_small_movements():
    """Movements of at most 1 per coordinate and 2.5 in all are covered by three whole ones."""
    step = PlanStep(Laplace(scale=1.0, sensitivity=Sensitivity(4, 2, 1)), 4, UNIT)
    assert step.uses(Sensitivity(2.5, 1.6, 1.0)) == 3
    assert step.uses(Sensitivity(0.5, 0.5, 0.5)) == 1
    assert step.uses(Sensitivity(2.0, 2.0, 2.0)) is None
    lattice = DiscreteLaplace(scale=1.0, sensitivity=Sensitivity(4, 2, 1))
    assert (
        PlanStep(lattice, 4, UNIT).uses(Sensitivity(2.0, math.sqrt(2), 1.0)) is None
    )  # not log-concave on the line


@pytest.mark.slow
@given(st.integers(1, 4), st.floats(0.1, 3.0))
def test_units_cover_the_joint_release(size, scale):
    """δ of a vector of movements (1, .., 1) against the units it is charged: never smaller.

    The vector's exact profile is the composition of its coordinates, each Laplace with movement 1.
    """
    from mechanisms.composition.composed_loss import compose

    mechanism = Laplace(scale=scale, sensitivity=Sensitivity.of_box([1.0] * size))
    step = PlanStep(mechanism, size, UNIT)
    moved = Sensitivity.of_box([1.0] * size)
    units = step.uses(moved)
    coordinates = compose([(mechanism.profile(UNIT), size)])
    for epsilon in (0.0, 0.3, 1.0):
        assert compose([(step.profile, units)]).delta(epsilon).upper >= coordinates.delta(epsilon).lower


def test_records_that_move_further_than_planned_are_refused():
    mechanism = DiscreteLaplace(scale=3.0, sensitivity=Sensitivity(2, 2, 2))
    accountant = open_with(Plan((PlanStep(mechanism, 3, UNIT),)), Budget(1.0))
    value = accountant.private([1], Integers(0, 2), "a")
    with pytest.raises(TheoremMissing, match="records that move the value by"):
        accountant.release(mechanism, value)


def test_steps_of_one_mechanism_are_put_together():
    wide = Laplace(scale=4.0, sensitivity=Sensitivity(4, 4, 4))
    plan = Plan((PlanStep(wide, 2, UNIT), PlanStep(wide, 3, Sensitivity(2, 2, 2))))
    assert plan == Plan((PlanStep(wide, 5, Sensitivity(2, 2, 2)),))


@pytest.mark.parametrize("count", [0, -1, 1.5, True, math.nan])
def test_counts_are_whole(count):
    with pytest.raises(ParameterError, match="count"):
        PlanStep(LAPLACE, count)


def test_bad_plans():
    with pytest.raises(ParameterError, match="steps"):
        Plan(())
    with pytest.raises(ParameterError, match="calibrated"):
        PlanStep(LAPLACE, 1, Sensitivity(2, 2, 2))


def test_saving_and_loading_keeps_the_plan(tmp_path):
    response = RandomizedResponse(size=3, epsilon=0.3)
    plan = Plan((PlanStep(LAPLACE, 3), PlanStep(GAUSSIAN, 2), PlanStep(response)))
    accountant = open_with(plan)
    release(accountant, LAPLACE)
    accountant.release(response, accountant.private([2], Categories(3), "a"))
    again = reopened(accountant, tmp_path, noise=np.random.default_rng(0))
    assert again.composition == PlannedComposition(plan)
    assert again.to_dict() == accountant.to_dict()
    assert again.spent("a") == accountant.spent("a")
    assert again.guarantee() == accountant.guarantee()
    with pytest.raises(BudgetExceeded):
        again.release(response, again.private([2], Categories(3), "a"))


def test_a_plan_of_unknown_mechanisms_is_not_written_down(tmp_path):
    class Mine(Laplace):
        pass

    accountant = open_with(Plan((PlanStep(Mine(scale=2.0)),)))
    with pytest.raises(ValueError, match="'Mine': must be one of"):
        accountant.export(tmp_path / "ledger.json")


def test_the_sum_of_largest_losses_is_compared_exactly():
    plan = Plan((PlanStep(Laplace.for_epsilon(0.1, sensitivity=UNIT), 3),))
    assert Fraction(0.1) * 3 > Fraction(0.3)
    with pytest.raises(ValueError, match="the plan alone"):
        open_with(plan, Budget(0.3))
    open_with(plan, Budget(0.1 + 0.1 + 0.1))


def test_the_epsilon_of_a_plan_is_computed_once(monkeypatch):
    plan = Plan((PlanStep(LAPLACE, 20),))
    first = plan.epsilon(1e-6)
    monkeypatch.setattr(ComposedLoss, "epsilon", lambda *args, **settings: pytest.fail("computed again"))
    assert plan.epsilon(1e-6) is first
    assert plan.part([20]) is plan
    assert pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: PlanStep(7), "mechanism = 7: must be a mechanism"),
        (lambda: PlanStep(Laplace(scale=1.0), sensitivity="x"), "sensitivity"),
        (lambda: Plan(7), "steps = 7: must be PlanSteps"),
        (lambda: Plan((Laplace(scale=1.0),)), "steps = .*: must be PlanSteps"),
        (lambda: Accountant(Budget(1.0), rules=7), "rules = 7: must be a list of Rule"),
        (lambda: Integers(math.inf, 3), "lower = inf: must be a whole number"),
        (lambda: Integers(0, "x"), "upper = 'x': must be one real number"),
        (lambda: Integers(0, 2.5), "upper = 2.5: must be a whole number"),
    ],
)
def test_what_is_no_plan_rule_or_range_is_refused_by_name(build, said):
    with pytest.raises(ParameterError, match=said):
        build()
