"""Plans of linear learners: proved or refuted for all numbers, and what the ledger charges agrees."""

import doctest
import math

import numpy as np
import pytest

from accountant import Accountant, Budget, GaussianComposition, Trust
from accountant.plans.symbolic import find_counterexample
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_play import play_linear
from algorithms.problems import linear_problems
from algorithms.theory import linear_plans
from algorithms.theory.linear_plans import LINEAR_PLANNED, _linear_symbols, linear_claim, linear_plan
from algorithms.theory.plans import plan_and_claim, plan_counterexample
from mechanisms import Gaussian, Sensitivity
from verify.learners.learner_subject import _proved_plan

CERTIFIED = [name for name in LINEAR_PLANNED if not name.startswith("published/")]
PRINTED = [name for name in LINEAR_PLANNED if name.startswith("published/")]
S, M, MU, EPSILON = _linear_symbols()


def test_every_linear_learner_that_claims_privacy_has_a_plan() -> None:
    private = {name for name, entry in linear_learners.items() if entry.certified_form}
    assert private == set(LINEAR_PLANNED)
    with pytest.raises(ValueError, match="name = 'dpe': no plan is known"):
        linear_plan("dpe")


@pytest.mark.parametrize("name", CERTIFIED)
def test_certified_claims_are_proved_and_fail_with_replacement(name: str) -> None:
    proved = _proved_plan(name)
    assert proved == plan_and_claim(name)
    plan, _ = proved
    cost = EPSILON if name.endswith("shuffle") else MU**2
    assert plan.costs() == {"one client": cost}
    assert [said.rpartition(" ")[2] for said in plan.promises] == ["_shuffled"] * name.endswith("shuffle")
    assert plan_counterexample(name) is None
    twice = find_counterexample(linear_plan(name, replacement=True), linear_claim(name))
    assert twice is not None
    assert twice.formula == M * cost
    assert twice.point[M] == 2


@pytest.mark.parametrize("name", PRINTED)
def test_printed_gaussian_claims_fail_at_epsilon_10(name: str) -> None:
    assert _proved_plan(name) is None
    found = plan_counterexample(name)
    if name.endswith("shuffle"):
        assert found is None
        return
    assert found is not None
    assert found.point[EPSILON] == 10
    assert float(found.cost) == pytest.approx(10**2 / (2 * math.log(5)))  # mu² of the classical noise


@pytest.mark.parametrize("name", [name for name in LINEAR_PLANNED if not name.endswith("shuffle")])
def test_the_ledger_agrees_with_the_formula(name: str) -> None:
    """The worst client of a run pays the plan's mu², with as many coordinates as its design has."""
    problem = linear_problems["linear"].build(dimension=2, actions=6)
    accountant = Accountant(
        Budget(math.inf, 0.25),
        composition=GaussianComposition(),
        trust=Trust.LOCAL if name.endswith("local") else Trust.CENTRAL,
        noise=np.random.default_rng(0),
        seed=1,
    )
    learner = linear_learners[name].build(problem, epsilon=2.0, delta=0.25, horizon=60)(accountant)
    for _ in play_linear(learner, problem, accountant, np.random.default_rng(2)):
        pass
    record, _ = accountant.worst()
    plan = linear_plan(name)
    analytic = 1.0 / Gaussian.for_epsilon_delta(2.0, 0.25, sensitivity=Sensitivity(1.0, 1.0, 1.0)).sigma
    assert float(accountant.ledger.spent(record).values[0]) == pytest.approx(
        float(plan.costs()["one client"].subs(plan.values.exact_point({S: 3, EPSILON: 2.0, MU: analytic}))),
        rel=1e-9,
    )


def test_a_calibrated_release_can_be_built() -> None:
    plan = linear_plan("dp-dpe-shuffle").evaluate({S: 3, EPSILON: 1.0}, "one client")
    assert plan is not None
    assert plan.epsilon(1e-6).upper <= 1.0


def test_documented_examples_run() -> None:
    result = doctest.testmod(linear_plans)
    assert (result.failed, result.attempted) == (0, 5)
