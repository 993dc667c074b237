"""Costs of records have no order: a claim must cover both numbers of every one."""

import contextlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import BudgetExceeded, Cost
from algorithms.claim import ClaimForm, View
from mechanisms import Gaussian, Laplace
from verify import verify
from verify.learners.payers import Payer, _maximal, covering, within

numbers = st.one_of(st.integers(0, 4), st.sampled_from([Fraction(1, 3), Fraction(9, 10)])).map(Fraction)
costs = st.builds(Cost, st.one_of(st.none(), numbers), numbers.map(lambda each: each / 10))


def covers(large: Cost, small: Cost) -> bool:
    by_epsilon = large.epsilon is None or (small.epsilon is not None and large.epsilon >= small.epsilon)
    return by_epsilon and large.delta >= small.delta


@given(st.lists(costs, max_size=6))
def test_the_covering_cost_is_within_a_claim_exactly_if_every_cost_is(found: list[Cost]) -> None:
    claim = ClaimForm("central", View.ACTIONS, "one report", "a test")
    for epsilon, delta in ((0.9, 0.0), (1.0, 0.1), (3.0, 0.2)):
        stated = claim.with_parameters(epsilon, delta)
        assert within(covering(found), stated) == all(within(cost, stated) for cost in found)


@given(st.lists(costs, max_size=6))
def test_every_cost_is_covered_by_one_of_the_payers_and_no_payer_by_another(found: list[Cost]) -> None:
    kept = _maximal(Payer(number, cost, ()) for number, cost in enumerate(found))
    assert covering(payer.cost for payer in kept) == covering(found)
    assert all(any(covers(payer.cost, cost) for payer in kept) for cost in found)
    assert not any(
        covers(one.cost, other.cost) for one in kept for other in kept if one.record != other.record
    )


class AsksForDelta:
    """Pure noise for 0.9, and in one round of forty noise for (0.8, 0.5), if it may."""

    claim = ClaimForm("central", View.ACTIONS, "one report", "a test")
    family = "bandit"

    def __init__(self, structure: Any, gate: Any, *, epsilon: float) -> None:
        self.structure, self.gate, self.number = structure, gate, 0
        self.total = np.zeros((gate.lanes, structure.arms))
        self.rows = np.arange(gate.lanes)[:, np.newaxis]

    @property
    def feedback_domain(self) -> Any:
        from mechanisms import Interval

        return Interval(0.0, 1.0)

    def act(self) -> Any:
        self.played = self.structure.solve(self.total)
        return self.played

    def observe(self, feedback: Any) -> None:
        self.number += 1
        sent = None
        if self.number % 40 == 7:
            moved = self.feedback_domain.sensitivity
            with contextlib.suppress(BudgetExceeded):
                sent = self.gate.release(Gaussian.for_epsilon_delta(0.8, 0.5, sensitivity=moved), feedback)
        if sent is None:
            sent = self.gate.release(Laplace(scale=1 / 0.9), feedback)
        self.total[self.rows, self.played] += sent


FEW = {"effort": "quick", "samples": 20_000, "horizon": 50, "isolated": False}


@pytest.mark.slow
def test_a_delta_that_is_asked_for_and_caught_is_not_certified_as_pure() -> None:
    """It was certified at (0.9, 0): the record of (0.8, 0.5) is below (0.9, 0) by epsilon."""
    result = verify(AsksForDelta, epsilon=0.9, delta=0.0, **FEW)
    assert result.verdict == "unproven"
    assert not result.upper.every_run
    assert (result.upper.delta, round(result.upper.epsilon, 9)) == (0.5, 0.9)
    within_both = verify(AsksForDelta, epsilon=0.9, delta=0.5, **FEW)
    assert within_both.verdict == "certified"
