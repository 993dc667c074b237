"""Filters against adversaries that choose every mechanism by what was released, computed exactly.

Randomized responses have two outcomes, so the whole tree of an adaptive run can be enumerated: δ(ε) is the
sum over leaves of (P - e^ε Q)⁺. An adversary may stop or go on, with small or large losses, depending on the
loss so far; the filter decides which choices it gets.
"""

import contextlib
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from filter_game import Publish
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from reopened import in_a_database

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    BudgetExceeded,
    GaussianComposition,
    Plan,
    PlanStep,
    RenyiComposition,
    TheoremMissing,
    UnsupportedCharge,
    ZeroConcentratedComposition,
)
from accountant.plans.plan import PlannedComposition
from mechanisms import Categories, Gaussian, Interval, Laplace, RandomizedResponse, Sensitivity
from mechanisms.composition.composed_loss import compose

UNIT = Sensitivity(1, 1, 1)
LOSSES = (0.125, 0.25, 0.5, 1.0, 2.0)
RESPONSES = tuple(RandomizedResponse(size=2, epsilon=loss) for loss in LOSSES)
FILTERS = (
    BasicComposition(),
    AdvancedComposition(failures=0.1),
    ZeroConcentratedComposition(failures=0.1),
    RenyiComposition(orders=(1.5, 2.0, 3.0, 5.0, 9.0)),
    RenyiComposition(orders=(1.5, 2.0, 3.0, 5.0, 9.0), expected=3.0, failures=0.2),
    RenyiComposition(orders=(3.0,)),
    GaussianComposition(failures=0.05),
)


@dataclass(frozen=True)
class Greedy:
    """Chooses by the loss so far: up to two choices in each of three bands, in order of preference."""

    bands: tuple[tuple[int, ...], ...]

    def choices(self, loss: float, depth: int) -> tuple[int, ...]:
        band = 0 if loss < -0.3 else 1 if loss < 0.6 else 2
        return self.bands[(band + depth) % 3 if len(self.bands) > 3 else band]


def exact_delta(composition, budget, adversary, depth):
    """Enumerate the tree and return the exact δ of the run at the budget's ε."""
    odds = math.exp(budget.epsilon)
    charges = {}
    for i, response in enumerate(RESPONSES):
        with contextlib.suppress(UnsupportedCharge):  # not in the plan
            charges[i] = composition.charge(response, UNIT)

    known = {}

    def fits(total):
        if total.values not in known:
            known[total.values] = composition.fits(total, budget)
        return known[total.values]

    def visit(total, loss, p, q, level):
        if level < depth:
            for choice in adversary.choices(loss, level):
                after = total + charges[choice] if choice in charges else None
                if after is not None and fits(after):
                    e = LOSSES[choice]
                    truth = 1 / (1 + math.exp(-e))
                    return visit(after, loss + e, p * truth, q * (1 - truth), level + 1) + visit(
                        after, loss - e, p * (1 - truth), q * truth, level + 1
                    )
        return max(0.0, p - odds * q)

    return visit(composition.zero_spend, 0.0, 1.0, 1.0, 0)


band = st.lists(st.integers(0, len(LOSSES) - 1), max_size=3, unique=True).map(tuple)


@pytest.mark.few(2)
@pytest.mark.parametrize("composition", FILTERS, ids=lambda c: f"{c.name} {len(getattr(c, 'orders', ()))}")
@settings(max_examples=15, deadline=None)
@given(
    bands=st.tuples(band, band, band),
    epsilon=st.sampled_from([0.3, 1.0, 2.0]),
    delta=st.sampled_from([0.3, 0.05, 1e-3]),
)
def test_no_adversary_gets_more_than_the_budget(composition, bands, epsilon, delta):
    budget = Budget(epsilon, delta)
    assert exact_delta(composition, budget, Greedy(bands), depth=9) <= delta * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    bands=st.tuples(band, band, band),
    epsilon=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_a_plan_covers_every_order_chosen_on_the_way(counts, bands, epsilon):
    """No adaptive order, nor stopping early, has a larger δ than the whole collection."""
    steps = tuple(PlanStep(RESPONSES[i], n) for i, n in enumerate(counts) if n)
    if not steps:
        return
    plan = Plan(steps)
    found = exact_delta(PlannedComposition(plan), Budget(epsilon, 0.5), Greedy(bands), depth=9)
    assert found <= plan.delta(epsilon).upper * (1 + 1e-12) + 1e-15


# --- the accountant, driven at random ------------------------------------------------------------

RECORDS = ("a", "b", 3)
NOISES = (
    Laplace(scale=16.0, sensitivity=UNIT),
    Laplace(scale=2.0, sensitivity=UNIT),
    Gaussian(sigma=8.0, sensitivity=UNIT, delta=1e-8),
    Gaussian(sigma=2.0, sensitivity=UNIT, delta=1e-8),
    RESPONSES[0],
    RESPONSES[2],
    Publish(probability=3e-8),
)


class FilterMachine(RuleBasedStateMachine):
    """Releases, reservations, saving and loading; afterwards the certified loss of each record is in budget."""

    @initialize(
        composition=st.sampled_from(FILTERS),
        epsilon=st.sampled_from([0.5, 2.0]),
        delta=st.sampled_from([1e-6, 1e-3]),
    )
    def open(self, composition, epsilon, delta):
        self.budget = Budget(epsilon, delta)
        self.accountant = Accountant(self.budget, composition=composition, noise=np.random.default_rng(1))
        self.made = {record: [] for record in RECORDS}

    def value(self, mechanism, record):
        if mechanism.categorical:
            return self.accountant.private([1], Categories(2), record)
        return self.accountant.private([0.25], Interval(0, 1), record)

    @rule(record=st.sampled_from(RECORDS), mechanism=st.sampled_from(NOISES))
    def release(self, record, mechanism):
        before = self.accountant.ledger.spent(record)
        try:
            self.accountant.release(mechanism, self.value(mechanism, record))
        except BudgetExceeded:
            assert self.accountant.ledger.spent(record) == before
        except TheoremMissing:
            assert mechanism is NOISES[-1]
            assert self.accountant.ledger.spent(record) == before
        else:
            assert mechanism is not NOISES[-1] or getattr(self.accountant.composition, "failures", 1.0) > 0.0
            self.made[record].append(mechanism.profile(UNIT))

    @rule(
        record=st.sampled_from(RECORDS),
        mechanism=st.sampled_from(NOISES),
        ending=st.sampled_from(["commit", "cancel", "crash"]),
    )
    def reserve(self, record, mechanism, ending):
        try:
            quote = self.accountant.price(mechanism, self.value(mechanism, record))
        except TheoremMissing:
            assert mechanism is NOISES[-1]
            return
        if not quote.affordable:
            assert quote.refused == record
            with pytest.raises(BudgetExceeded):
                self.accountant.reserve(quote)
            return
        before = self.accountant.ledger.spent(record)
        reservation = self.accountant.reserve(quote)
        if ending == "cancel":
            reservation.cancel()
            assert self.accountant.ledger.spent(record) == before
            return
        self.made[record].append(mechanism.profile(UNIT))  # a crash keeps the charge
        if ending == "commit":
            reservation.release()
            reservation.commit()

    @rule()
    def reload(self):
        saved = self.accountant.to_dict()["ledger"]
        self.accountant = in_a_database(self.accountant, noise=np.random.default_rng(2))
        assert self.accountant.to_dict()["ledger"] == saved

    @invariant()
    def every_account_fits(self):
        for record, profiles in getattr(self, "made", {}).items():
            spent = self.accountant.ledger.spent(record)
            assert (spent != self.accountant.composition.zero_spend) == bool(profiles)
            assert not profiles or self.accountant.composition.fits(spent, self.budget)

    def teardown(self):
        for profiles in getattr(self, "made", {}).values():
            found = compose([(profile, 1) for profile in profiles]).epsilon(self.budget.delta)
            assert found.lower <= self.budget.epsilon
            assert found.width < 0.05  # so that it means something


FilterMachine.TestCase.settings = settings(max_examples=6, stateful_step_count=15, deadline=None)
TestFilterMachine = FilterMachine.TestCase


@pytest.mark.slow
class TestFilterMachineLonger(FilterMachine.TestCase):
    settings = settings(max_examples=60, stateful_step_count=15, deadline=None)


def test_basic_composition_refuses_the_first_release_that_does_not_fit_exactly():
    """The exact reference for sums: a literal loop over fractions."""
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    total = Fraction(0)
    mechanism = Laplace(scale=3.0, sensitivity=UNIT)
    while total + Fraction(1, 3) <= 1:
        accountant.release(mechanism, accountant.private([0.5], Interval(0, 1), "a"))
        total += Fraction(1, 3)
    with pytest.raises(BudgetExceeded):
        accountant.release(mechanism, accountant.private([0.5], Interval(0, 1), "a"))
    assert accountant.spent("a").epsilon == total == 1
