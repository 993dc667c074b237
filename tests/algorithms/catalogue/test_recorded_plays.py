"""Plays of all registered learners, as recorded: the actions of a lane, and what it shows in the end.

A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code: it is the noise, an
index, or a choice that has become another.
"""

from dataclasses import replace

import numpy as np
import pytest

from accountant import Simulation
from accountant.gates.random_streams import RandomStream
from accountant.gates.simulation import lane_randomness
from algorithms.catalogue import learner_builder
from algorithms.catalogue.contextual_entries import contextual_learners
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.linear.contextual_play import play_contexts
from algorithms.linear.linear_play import play_linear
from algorithms.play import play_fresh
from algorithms.problems import (
    Arms,
    Cascade,
    Experts,
    LinearContexts,
    SemiBandit,
    TopK,
    UniformMatroid,
    linear_problems,
)

MEANS = (0.2, 0.45, 0.6, 0.9)
PLAYED = {
    "bandit": SemiBandit(Arms(4), MEANS),
    "experts": SemiBandit(Experts(4), MEANS),
    "semi-bandit": SemiBandit(TopK(4, 2), MEANS),
    "matroid": SemiBandit(UniformMatroid(4, 2), MEANS),
    "cascade": Cascade(4, 2, (0.1, 0.25, 0.4, 0.7)),
}
ROUNDS = 60
TWO_ARMS, EPOCH = SemiBandit(Arms(2), (0.2, 0.9)), 3_600  # of "published/dp-se", which is long


def rounded(values):
    return " ".join(f"{value:.5g}" for value in np.round(np.ravel(values), 9) + 0.0)


@pytest.mark.parametrize("name", learners)
def test_a_learner_plays_as_recorded(name, snapshot):
    entry = learners[name]
    problem = PLAYED[entry.family]
    gate = Simulation(7, 1)
    settings = {"delta": 1e-3} if entry.takes_delta else {}
    rounds = ROUNDS
    if name == "published/dp-se":
        problem, rounds = TWO_ARMS, EPOCH
    learner = learner_builder(entry.make, problem, epsilon=8.0, horizon=rounds, **settings)(gate)
    environment = lane_randomness(7, 1, 0, RandomStream.ENVIRONMENT)
    actions = [action[0].tolist() for action in play_fresh(learner, problem, gate, environment, rounds)]
    lines = [" ".join("".join(map(str, action)) for action in actions[:ROUNDS])]
    for show in ("confidence", "click_confidence"):
        if hasattr(learner, show):
            shown = getattr(learner, show)()
            lines += [
                f"{field}: {rounded(getattr(shown, field)[0])}" for field in type(shown).__annotations__
            ]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", linear_learners)
def test_a_linear_learner_plays_as_recorded(name, snapshot):
    problem = replace(
        linear_problems["linear"].build(dimension=3, actions=8), population=10**6, rewards="signs"
    )
    learner = linear_learners[name].build(problem, epsilon=20.0, delta=0.1, horizon=800)(
        gate := Simulation(7, 1)
    )
    lines = []
    for phase in play_linear(learner, problem, gate, np.random.default_rng(7), together=True):
        plays = " ".join(
            f"{action}x{count}" for action, count in zip(phase.support, phase.counts, strict=True)
        )
        lines.append(f"{plays}, {phase.clients} clients")
        if phase.clients:
            lines += [
                f"    values {rounded(learner.learned.values)}",
                f"    widths {rounded(learner.learned.widths)}",
            ]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", contextual_learners)
def test_a_contextual_learner_plays_as_recorded(name, snapshot):
    problem = LinearContexts([0.6, -0.3], 3)
    build = learner_builder(contextual_learners[name].make, problem, epsilon=10.0, delta=0.01, horizon=ROUNDS)
    learner = build(gate := Simulation(7, 1))
    environment = lane_randomness(7, 1, 0, RandomStream.ENVIRONMENT)
    rounds = list(play_contexts(learner, problem, gate, environment, ROUNDS))
    policy = learner.policy
    lines = [
        "".join(str(each.chosen[0]) for each in rounds),
        *map(rounded, (policy.estimate, policy.covariance, policy.width)),
    ]
    assert "\n".join(lines) == snapshot
