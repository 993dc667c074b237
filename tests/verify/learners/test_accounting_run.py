"""Accounting runs: every theorem prices them once, and the least bound is the one that is said."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from accountant import Accountant, BasicComposition, Budget, Composition, GaussianComposition, Trust
from mechanisms import Gaussian, Interval
from verify.learners.accounting_run import AccountedRun, EnforcedTerms, run_accounting

ONE = Interval(0.0, 1.0)
NOISE = Gaussian(sigma=3.0, sensitivity=ONE.sensitivity, delta=0.01)


class Releases:
    """A learner of whom nothing is asked but its methods."""

    def act(self) -> None: ...
    def observe(self, feedback: object) -> None: ...


def play(learner: Any, gate: Accountant) -> Iterator[None]:
    for record in (1, 1, 2):
        gate.release(NOISE, gate.private(np.zeros((1, 1)), ONE, record))
        yield


def curve(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def test_each_theorem_prices_a_run_once_and_the_least_is_taken() -> None:
    """Two releases of one record, each of the Gaussian mechanism that moves by 1/3 standard deviation."""
    own, other = BasicComposition(), GaussianComposition()
    theorems: list[Composition] = [own, other]
    budget = Budget(2.0, 0.02)
    terms = EnforcedTerms(budget, Trust.CENTRAL, own)
    result = run_accounting(
        lambda gate: Releases(),
        [AccountedRun(play)],
        terms,
        theorems,
        budget=budget,
        rounds=3,
        seed=np.random.SeedSequence(0),
    )
    assert not result.refused
    assert (result.runs, result.rounds, result.releases) == (1, 3, 3)
    assert [pricing.theorem for pricing in result.pricings] == theorems
    basic, gaussian = (pricing.cost for pricing in result.pricings)
    assert curve(1 / 3, basic.epsilon_up / 2) == pytest.approx(0.01, rel=1e-6)
    assert basic.delta_up == 0.02
    assert curve(math.sqrt(2) / 3, gaussian.epsilon_up) == pytest.approx(0.02, rel=1e-6)
    assert gaussian.delta_up == 0.02
    assert result.least_pricing(0.02).theorem is other
    assert [payer.record for payer in result.own_pricing.payers] == [1]
    assert result.dearest(1) == [1, 1]
