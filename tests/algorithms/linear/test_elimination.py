"""The leader is played to the end where that has the least bound on regret; printed forms explore on."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Simulation
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.dp_pe import PE, DPPECentral
from algorithms.linear.elimination import commits
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import linear_problems

PROBLEM = linear_problems["linear"].build(dimension=4, actions=30)


def bounds(left, rounds, widths):
    """The bound of committing after each number of further phases, in a loop."""
    found = []
    for j in range(len(rounds) + 1):
        survivors = sum(4 * n * w for n, w in zip(rounds[:j], widths[:j], strict=True))
        found.append(survivors + 2 * (left - sum(rounds[:j])) * widths[j])
    return found


@given(
    st.lists(st.tuples(st.integers(1, 500), st.floats(0.01, 2.0)), max_size=6),
    st.floats(0.01, 2.0),
    st.integers(1, 4000),
)
@settings(max_examples=50)
def test_the_rule_takes_the_least_bound(further, widest, more):
    rounds, widths = [n for n, _ in further], [widest, *(w for _, w in further)]
    left = sum(rounds) + more
    every = bounds(left, rounds, widths)
    assert commits(left, rounds, widths) == (every[0] <= min(every) * (1 + 1e-12)) or every[
        0
    ] == pytest.approx(min(every))


def test_halving_widths_commit_within_the_known_factor():
    """Doubling phases whose widths shrink by r: the leader is played from left = n (2 - r) / (1 - r) on."""
    for r in (0.5, 0.5**0.5, 0.9):
        edge = 1000 * (2 - r) / (1 - r)
        for left, expected in ((0.999 * edge, True), (1.001 * edge, False)):
            assert commits(int(left), [1000], [1.0, r]) == expected


@pytest.mark.parametrize("name", ["dpe", "dp-dpe-central", "pe", "dp-pe-central", "dp-pe-local"])
def test_the_last_phase_is_the_leaders(name):
    """One action, that of the largest estimate, to the horizon; two runs see the same phases before."""
    learner = linear_learners[name].build(PROBLEM, epsilon=20.0, delta=0.1, horizon=3000)(Simulation(1, 1))
    phases = []
    rng = np.random.default_rng(2)
    while (phase := learner.act()) is not None:
        phases.append(phase)
        for _ in range(phase.clients):
            learner.observe(learner.gate.private(rng.uniform(-1, 1, (1, phase.domain.size)), phase.domain, 0))
        assert phase.clients == 0 or learner.learned.phase is phase
    *before, last = phases
    assert all(phase.clients for phase in before)
    assert before
    assert last.clients == 0
    assert last.support.tolist() == [learner.learned.active[learner.learned.values.argmax()]]
    assert last.support[0] in learner.active
    assert sum(phase.rounds for phase in phases) == 3000


def test_what_follows_is_what_the_learner_plays():
    """`after` for every outcome of 20 first phases, of which some commit, at horizons around the rule's edge."""
    seen = set()
    for horizon in (60, 100, 150, 300):
        for seed in range(5):
            gate = Simulation(seed, 1)
            learner = DPPECentral(PROBLEM.actions, gate, epsilon=5.0, delta=0.1, horizon=horizon)
            phase = learner.act()
            known = learner.after
            for _ in range(phase.clients - 1):
                learner.observe(gate.private(np.ones((1, 1)), phase.domain, 0))
            every = np.ones(30, dtype=bool)
            before = known(every)
            learner.observe(gate.private(np.ones((1, 1)), phase.domain, 0))
            assert learner.active.size == 30  # nothing is eliminated so early
            played = learner.act()
            leader = int(learner.learned.values.argmax())
            for action in range(30):
                assert before.plays(action, leader) == played.counts[played.support == action].sum()
            seen.add(before.exploration is None)
    assert seen == {True, False}


def test_before_there_are_estimates_any_action_is_played():
    learner = PE(PROBLEM.actions, Simulation(0, 1), horizon=5)
    phase = learner.act()
    assert (phase.support.tolist(), phase.counts.tolist(), phase.clients) == ([0], [5], 0)
    assert learner.act() is None


def test_a_printed_form_explores_what_the_horizon_cuts():
    build = functools.partial(linear_learners["published/pe"].make, PROBLEM.actions, horizon=50)
    path = simulate_phases(build, PROBLEM, runs=1, seed=1).paths[0]
    counts = np.diff(path[0])
    assert path[0, -1] == 50
    assert (counts > 0).all()
    assert len(counts) > 10
