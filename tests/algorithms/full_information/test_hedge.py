"""Hedge: weights, regret below the theorem on several tables of outcomes, and what its ledger charges."""

import math

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms import DPHedge, Hedge
from algorithms.full_information.hedge import expert_counter
from algorithms.full_information.leader_regret import last_deviation
from algorithms.problems import Experts
from algorithms.theory.expert_regret import _mean_of_largest

EXPERTS = 10


def table(kind: str, horizon: int, rng: np.random.Generator) -> np.ndarray:
    """Return outcomes of all experts that are fixed in advance, shape (horizon, EXPERTS)."""
    means = np.full((horizon, EXPERTS), 0.5)
    if kind == "gap":
        means[:, 3] = 0.6
    elif kind == "switch":
        means[: horizon // 2, 2] = 0.7
        means[horizon // 2 :, 7] = 0.8
    elif kind == "walk":
        means = np.clip(0.5 + np.cumsum(rng.normal(0, 0.02, (horizon, EXPERTS)), axis=0), 0, 1)
    return (rng.random((horizon, EXPERTS)) < means).astype(float)


def mean_regret(make: type[Hedge], outcomes: np.ndarray, lanes: int, **claim: float) -> tuple[float, float]:
    """Return the mean regret of the weights to the best expert of a table, and its standard error."""
    gate = Simulation(8, lanes)
    learner = make(Experts(EXPERTS), gate, horizon=len(outcomes), **claim)
    earned = np.zeros(lanes)
    for round_, row in enumerate(outcomes):
        earned += learner.weights @ row
        action = learner.act()
        learner.observe(gate.private(row[action], learner.feedback_domain, record=round_))
    regret = outcomes.sum(axis=0).max() - earned
    return float(regret.mean()), float(regret.std() / math.sqrt(lanes))


def bound(horizon: int, epsilon: float) -> float:
    counter = expert_counter(EXPERTS, epsilon=epsilon, delta=1e-6, horizon=horizon)
    return math.sqrt(horizon * math.log(EXPERTS) / 2) + _mean_of_largest(EXPERTS) * last_deviation(counter)


@pytest.mark.slow_cells("20.0-walk", "0.2-gap")
@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["gap", "ties", "switch", "walk"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0, 20.0])
def test_regret_is_below_the_theorem(kind: str, epsilon: float) -> None:
    """The mean of 64 lanes less 4 standard errors: false alarm below 4e-5 a cell where the bound is attained."""
    outcomes = table(kind, 400, np.random.default_rng(5))
    mean, error = mean_regret(DPHedge, outcomes, 64, epsilon=epsilon, delta=1e-6)
    assert mean - 4 * error <= bound(400, epsilon)
    raw, _ = mean_regret(Hedge, outcomes, 64)
    assert raw <= math.sqrt(400 * math.log(EXPERTS) / 2)
    if epsilon == 20.0:
        assert abs(mean - raw) < 0.1 * bound(400, epsilon)


@pytest.mark.slow
def test_regret_where_the_tree_has_two_hundred() -> None:
    """One mean .6, others .5, T = 10,000, epsilon = 1: half of a tree's 200 at most, in 64 lanes."""
    outcomes = table("gap", 10_000, np.random.default_rng(5))
    mean, error = mean_regret(DPHedge, outcomes, 64, epsilon=1.0, delta=1e-6)
    assert mean + 2 * error <= 120
    assert mean <= bound(10_000, 1.0)


def test_experts_are_drawn_by_their_weights() -> None:
    gate = Simulation(3, 64 * 64)
    learner = Hedge(Experts(3), gate, horizon=9)
    learner.weights = np.tile([0.2, 0.5, 0.3], (gate.lanes, 1))
    counts = np.bincount(learner.act()[:, 0], minlength=3)
    # Four standard errors each: false alarm below 2e-4; seeded.
    assert (np.abs(counts - gate.lanes * np.array([0.2, 0.5, 0.3])) < 4 * 0.5 * math.sqrt(gate.lanes)).all()


def test_without_a_horizon_it_begins_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs of 4 and 16 rounds: each is a run that was told its horizon, and every record pays once."""
    monkeypatch.setattr("algorithms.restarts.FIRST_RUN", 4)
    accountant = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0), seed=0)
    learner = DPHedge(Experts(3), accountant, epsilon=1.0, delta=1e-6, horizon=None)
    for user in range(12):
        equal = learner.weights == 1 / 3
        assert equal.all() == (user in (0, 4))
        learner.act()
        learner.observe(accountant.private(np.array([1.0, 0.0, 0.5]), learner.feedback_domain, record=user))
    assert learner.rate == math.sqrt(8 * math.log(3) / 16)
    assert all(float(accountant.spent(user).epsilon) == pytest.approx(1, abs=1e-8) for user in range(12))
