"""Many reports at once are the same reports."""

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, Simulation, Trust
from algorithms.catalogue import learner_builder
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.linear_play import play_linear
from algorithms.problems import linear_problems
from mechanisms import Box, Gaussian

PROBLEM = linear_problems["linear"].build(
    actions=6, dimension=3, length=0.7, sigma=0.05, population=2000, instance=1, rewards="signs"
)
HORIZON = 600


@pytest.mark.parametrize("name", ["dp-dpe-local", "dp-pe-central"])
def test_an_accountant_takes_one_report_at_a_time(name):
    build = learner_builder(linear_learners[name].make, PROBLEM, epsilon=1.0, delta=1e-3, horizon=HORIZON)
    gate = Accountant(Budget(epsilon=1.0, delta=1e-3), seed=0)
    learner = build(gate)
    phase = learner.act()
    two = gate.private(np.zeros((1, 2 * phase.domain.size)), phase.domain_of(2), "two")
    with pytest.raises(ValueError, match="only a Simulation"):
        learner.observe_many(two, 2)


@pytest.mark.parametrize("name", ["dp-dpe-local", "dp-pe-central"])
def test_no_more_reports_than_are_missing(name):
    gate = Simulation(0, 1)
    learner = learner_builder(linear_learners[name].make, PROBLEM, epsilon=1.0, delta=1e-3, horizon=HORIZON)(
        gate
    )
    phase = learner.act()
    clients = phase.clients + 1
    reports = gate.private(np.zeros((1, clients * phase.domain.size)), phase.domain_of(clients), 1)
    with pytest.raises(ValueError, match="must be from 1 to"):
        learner.observe_many(reports, clients)


def noisy(epsilon, delta):
    return learner_builder(
        linear_learners["dp-dpe-local"].make, PROBLEM, epsilon=epsilon, delta=delta, horizon=100
    )


def test_a_client_of_other_rewards_loses_what_it_moves_on_a_coupled_gate():
    """One client at both ends of the cube moves its report by the diameter: twice the root of its size."""
    moved = []

    def worlds(records, averages):
        ends = np.full((2, averages.shape[1]), 1e9)
        ends[1] *= -1.0
        moved.append(averages.shape[1])
        return [
            ends if not number and len(moved) == 1 else row[np.newaxis] for number, row in enumerate(averages)
        ]

    gate = Coupled(7, 1, 1)
    learner = noisy(1.0, 0.1)(gate)
    list(play_linear(learner, PROBLEM, gate, np.random.default_rng(0), worlds=worlds))
    mu = Gaussian.for_epsilon_delta(1.0, 0.1, sensitivity=Box(-1.0, 1.0, moved[0]).sensitivity)
    spread = 2.0 * np.sqrt(moved[0]) / mu.sigma
    assert abs(gate.loss[0, 0] - spread**2 / 2.0) < 6.0 * spread  # six standard deviations of one draw


@pytest.mark.parametrize("name", ["dp-dpe-local", "dp-pe-local"])
def test_names_that_come_again_pay_again(name):
    build = learner_builder(linear_learners[name].make, PROBLEM, epsilon=1.0, delta=0.1, horizon=100)
    paid = []
    for record_of in (None, lambda number: number % 2):
        accountant = Accountant(Budget.unlimited(), trust=Trust.LOCAL, noise=np.random.default_rng(0), seed=1)
        named = {} if record_of is None else {"record_of": record_of}
        list(
            play_linear(build(accountant), PROBLEM, accountant, np.random.default_rng(0), rounds=100, **named)
        )
        paid.append(accountant.worst()[1].epsilon_up)
    assert paid[0] == pytest.approx(1.0)
    assert paid[1] > 1.5
