"""Accounts are for replacing one record: what is priced for another relation is refused, and files say so."""

import dataclasses
import json

import numpy as np
import pytest

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    GaussianComposition,
    OtherNeighbours,
    Plan,
    PlanStep,
    RenyiComposition,
    TheoremMissing,
    ZeroConcentratedComposition,
)
from accountant.audit import read_releases
from accountant.plans.plan import PlannedComposition
from accountant.terms import Terms
from mechanisms import (
    Gaussian,
    Interval,
    Laplace,
    MixedNeighbours,
    Neighbouring,
    RelatedProfile,
    Sensitivity,
    sampled,
)

SHARE = Interval(0, 1)


@dataclasses.dataclass(frozen=True)
class Sampled(Gaussian):
    """A user's mechanism that is priced for a record that joins or leaves a sample."""

    def profile(self, sensitivity=None):
        base = RelatedProfile(super().profile(sensitivity), Neighbouring.ADD_OR_REMOVE)
        return sampled(base, 0.01, Neighbouring.ADD_OR_REMOVE)


LEAVING = Sampled(sigma=1.0, sensitivity=Sensitivity(1, 1, 1))
PLAIN = Gaussian(sigma=1.0, sensitivity=Sensitivity(1, 1, 1))

THEOREMS = [
    None,
    BasicComposition(),
    AdvancedComposition(),
    ZeroConcentratedComposition(),
    RenyiComposition(),
    GaussianComposition(),
]


@pytest.mark.parametrize("theorem", THEOREMS, ids=lambda one: "default" if one is None else one.name)
def test_a_release_for_another_relation_is_refused_and_charges_nothing(theorem):
    accountant = Accountant(Budget.unlimited(), composition=theorem, noise=np.random.default_rng(0))
    value = accountant.private([0.5], SHARE, "ann")
    for release in (accountant.release, accountant.price):
        with pytest.raises(OtherNeighbours, match="'add or remove one', the accounts are for 'replace one'"):
            release(LEAVING, value)
    assert len(accountant.ledger) == 0
    assert accountant.neighbouring is accountant.ledger.neighbouring is Neighbouring.REPLACE_ONE


def test_plans_say_their_relation_and_mix_none():
    assert Plan((PlanStep(PLAIN, 3),)).neighbouring is Neighbouring.REPLACE_ONE
    leaving = Plan((PlanStep(LEAVING, 3),))
    assert leaving.neighbouring is Neighbouring.ADD_OR_REMOVE
    assert leaving.to_dict()["neighbours"] == "add or remove one"
    with pytest.raises(MixedNeighbours):
        Plan((PlanStep(PLAIN, 3), PlanStep(LEAVING, 3)))
    for terms in ({"plan": leaving}, {"composition": PlannedComposition(leaving)}):
        with pytest.raises(ValueError, match="plan: is for neighbours 'add or remove one'"):
            Accountant(Budget(10.0, 1e-6), **terms)
    saved = Plan((PlanStep(PLAIN, 3),)).to_dict()
    assert Plan.from_dict(saved) == Plan.from_dict({"steps": saved["steps"]}) == Plan((PlanStep(PLAIN, 3),))
    with pytest.raises(ValueError, match="neighbours = 'zero out'"):
        Plan.from_dict({**saved, "neighbours": "zero out"})


def test_exported_ledgers_say_their_relation(tmp_path):
    accountant = Accountant(Budget(10.0), noise=np.random.default_rng(0))
    file = tmp_path / "ledger.json"
    accountant.release(Laplace(scale=4.0), accountant.private([0.5], SHARE, "ann"))
    accountant.export(file)
    assert (
        json.loads(file.read_text())["entries"][0]["entry"]["begin"]["terms"]["neighbours"] == "replace one"
    )
    assert read_releases(file).neighbouring is Neighbouring.REPLACE_ONE
    for other in ("add or remove one", "bounded", 3):
        with pytest.raises(ValueError, match="neighbours"):
            Terms.from_dict({**accountant.terms().to_dict(), "neighbours": other})


@pytest.mark.parametrize("theorem", THEOREMS[1:], ids=lambda one: one.name)
def test_every_figure_that_is_printed_names_its_relation(theorem):
    if hasattr(theorem, "failures"):
        theorem = dataclasses.replace(theorem, failures=0.5)
    accountant = Accountant(Budget(1.0, 1e-6), composition=theorem, noise=np.random.default_rng(0))
    value = accountant.private([0.5], SHARE, "ann")
    accountant.release(Laplace(scale=16.0), value)
    with pytest.raises(BudgetExceeded) as refused:
        accountant.release(Laplace(scale=0.1), value)
    assert refused.value.neighbouring is Neighbouring.REPLACE_ONE
    with pytest.raises(TheoremMissing) as missing:
        accountant.guarantee(0.0)
    figures = [
        accountant.spent("ann"),
        accountant.remaining_spend("ann"),
        accountant.guarantee(),
        accountant.summary(),
    ]
    figures += [
        accountant.price(Laplace(scale=16.0), value),
        accountant.worst()[1],
        refused.value,
        missing.value,
    ]
    for figure in figures:
        assert str(figure).count("neighbours: replace one") == 1, figure


def test_a_plan_that_does_not_fit_says_for_whom():
    plan = Plan((PlanStep(PLAIN, 100),))
    assert "neighbours: replace one" in str(plan.epsilon(1e-6))
    with pytest.raises(ValueError, match=r"the plan alone comes to epsilon = .*neighbours: replace one"):
        Accountant(Budget(1.0, 1e-6), plan=plan)
