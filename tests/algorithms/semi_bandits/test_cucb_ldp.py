import math
from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation, Trust
from algorithms import CUCBLDP1, CUCBLDP2
from algorithms.play import play_records
from algorithms.problems import MaximumCoverage, SemiBandit, ShortestPath, TopK, UniformMatroid

# Ids do not ascend along these paths: s-b-t walks edges 1, 2 but s-a-c-t walks 4, 3, 0.
PATHS = ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "one arm": SemiBandit(TopK(1, 1), [0.4]),
    "all arms": SemiBandit(TopK(3, 3), [0.4, 0.1, 0.9]),
    "matroid": SemiBandit(UniformMatroid(5, 3), [0.4, 0.1, 0.9, 0.5, 0.6]),
    "paths of different length": SemiBandit(PATHS, [0.8, 0.6, 0.7, 0.9, 0.8, 0.3]),
    "coverage": SemiBandit(MaximumCoverage(4, 2, 2), [0.1, 0.5, 0.4, 0.3, 0.9, 0.2, 0.1, 0.6]),
}
EPSILON, HORIZON = 20.0, 300


def oracle(structure, index):
    if isinstance(structure, TopK):
        return sorted(sorted(range(structure.arms), key=lambda i: (-index[i], i))[: structure.size])
    return [int(i) for i in structure.solve(np.array([index]))[0] if i >= 0]


def printed(structure, records, noise, *, least_pulled):
    """Run Algorithm 1, or 2 if `least_pulled`, on one lane; yield the actions and at last the means."""
    size = 1 if least_pulled else structure.size
    pulls = [0] * structure.arms
    mean = [0.0] * structure.arms
    for t in range(1, HORIZON + 1):
        index = [
            min(mean[i] + 4 * math.sqrt(2 * size**2 * math.log(HORIZON) / (EPSILON**2 * pulls[i])), 1.0)
            if pulls[i]
            else 1.0
            for i in range(structure.arms)
        ]
        # "else any S": the learner's choice is the oracle's for the clipped indices.
        played = oracle(structure, [max(u, 0.0) for u in index])
        yield played
        chosen = [min(played, key=lambda i: (pulls[i], i))] if least_pulled else played
        for k, i in enumerate(chosen):
            mean[i] = (pulls[i] * mean[i] + records[t, i] + noise[t, k]) / (pulls[i] + 1)
            pulls[i] += 1
    yield mean, pulls


@pytest.mark.few(2)
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("learner", [CUCBLDP1, CUCBLDP2])
def test_it_plays_as_the_pseudocode(name, learner, recorded_run):
    problem = PROBLEMS[name]

    def make(structure, gate):
        return learner(structure, gate, epsilon=EPSILON, horizon=HORIZON)

    run = recorded_run(make, problem, HORIZON, 3)
    scale = (1 if learner is CUCBLDP2 else problem.structure.size) / EPSILON
    assert all(release.mechanism.scale == pytest.approx(scale, rel=1e-15) for release in run.releases)
    for lane in (0, 17, 63):
        least_pulled = learner is CUCBLDP2
        replay = printed(problem.structure, run.records[:, lane], run.noise(lane), least_pulled=least_pulled)
        *actions, (mean, pulls) = replay
        for t, played in enumerate(actions):
            assert [i for i in run.actions[t, lane] if i >= 0] == played
        np.testing.assert_allclose(run.learner.estimates.mean[lane], mean, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(run.learner.estimates.count[lane], pulls)


def test_with_one_arm_in_a_super_arm_both_are_the_same_algorithm(recorded_run):
    problem = SemiBandit(TopK(5, 1), [0.2, 0.9, 0.5, 0.5, 0.7])
    runs = [
        recorded_run(lambda s, g, make=make: make(s, g, epsilon=5.0, horizon=200), problem, 200, 4)
        for make in (CUCBLDP1, CUCBLDP2)
    ]
    np.testing.assert_array_equal(runs[0].actions, runs[1].actions)


def test_a_path_sends_one_number_per_edge_walked(recorded_run):
    problem = PROBLEMS["paths of different length"]
    run = recorded_run(lambda s, g: CUCBLDP1(s, g, epsilon=EPSILON, horizon=50), problem, 50, 5)
    for action, release in zip(run.actions, run.releases, strict=True):
        np.testing.assert_array_equal(release.where, action >= 0)
    lengths = {int(n) for n in (run.actions >= 0).sum(axis=2).ravel()}
    assert lengths == {1, 2, 3}


@pytest.mark.parametrize("learner", [CUCBLDP1, CUCBLDP2])
def test_a_horizon_of_one_round_has_radius_zero(learner):
    gate = Simulation(0, 64)
    built = learner(TopK(3, 2), gate, epsilon=1.0, horizon=1)
    played = built.act()
    np.testing.assert_array_equal(played, np.tile([0, 1], (64, 1)))
    built.observe(gate.private(np.ones((64, 2)), built.feedback_domain, 1))
    assert np.all((built.estimates.index >= 0) & (built.estimates.index <= 1))


def test_a_user_on_a_shorter_path_pays_less_to_ldp1():
    """|S_t| epsilon / K; the longest path pays epsilon, which is large here so that both are walked."""
    problem = SemiBandit(ShortestPath([("s", "t"), ("s", "a"), ("a", "t")], "s", "t"), [0.5, 0.5, 0.5])
    accountant = Accountant(Budget(128.0), trust=Trust.LOCAL, noise=np.random.default_rng(5), seed=6)
    learner = CUCBLDP1(problem.structure, accountant, epsilon=128.0, horizon=40)
    records = (np.random.default_rng(7).random((41, 3)) < 0.5).astype(float)
    assert len(list(play_records(learner, problem, accountant, records))) == 40
    paid = {accountant.spent(record).epsilon for record in range(1, 41)}
    assert paid == {Fraction(64), Fraction(128)}
