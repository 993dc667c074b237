"""CUCB-DP as printed against a literal transcription, and what its tree really costs."""

import math
from fractions import Fraction

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded
from algorithms.play import play_records
from algorithms.problems import SemiBandit, ShortestPath, TopK, UniformMatroid
from algorithms.published import CUCBDP, CUCBDPLeast
from mechanisms import HorizonExceeded, Laplace

PATHS = ShortestPath([("c", "t"), ("s", "b"), ("b", "t"), ("a", "c"), ("s", "a"), ("s", "t")], "s", "t")
PROBLEMS = {
    "top-k": SemiBandit(TopK(6, 2), [0.2, 0.9, 0.5, 0.5, 0.7, 0.1]),
    "one arm": SemiBandit(TopK(1, 1), [0.4]),
    "all arms": SemiBandit(TopK(3, 3), [0.4, 0.1, 0.9]),
    "one of four": SemiBandit(TopK(4, 1), [0.4, 0.1, 0.9, 0.3]),
    "matroid": SemiBandit(UniformMatroid(5, 3), [0.4, 0.1, 0.9, 0.5, 0.6]),
    "paths of different length": SemiBandit(PATHS, [0.1, 0.2, 0.1, 0.05, 0.2, 0.1]),
}
EPSILON = 900.0  # at smaller ones the indices stay at 1


class Tree:
    """Tree-based aggregation, literally: all leaves, all complete nodes [first, last], noise drawn once a node."""

    def __init__(self, arms, noise):
        self.leaves, self.noise, self.arms = [], noise, arms

    def append(self, leaf):
        self.leaves.append(leaf)

    def prefix_sum(self, i):
        total, first, t = 0.0, 1, len(self.leaves)
        while first <= t:
            length = 1
            while (first - 1) % (2 * length) == 0 and first + 2 * length - 1 <= t:
                length *= 2
            last = first + length - 1
            total += sum(leaf[i] for leaf in self.leaves[first - 1 : last]) + self.noise[last, i]
            first = last + 1
        return total


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [2, 3, 4, 130])
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_it_plays_as_printed(name, learner, horizon, recorded_run):
    problem = PROBLEMS[name]
    m, T = problem.structure.arms, horizon
    run = recorded_run(lambda s, g: learner(s, g, epsilon=EPSILON, horizon=T), problem, T, 4)
    K = problem.structure.size if learner is CUCBDP else 1
    (mechanism,) = {release.mechanism for release in run.releases}
    assert isinstance(mechanism, Laplace)
    assert mechanism.scale == pytest.approx(2 * K * math.log(T) / EPSILON, rel=1e-15)
    for lane in (0, 63):
        tree = Tree(m, run.noise(lane))
        mu_tilde, pulls = [0.0] * m, [0] * m
        for t in range(1, T + 1):
            mu_bar = [1.0] * m
            for i in range(m):
                if pulls[i] > 0:
                    radius = math.sqrt(4 * math.log(m * T) / pulls[i])
                    radius += 12 * K * math.log(T) ** 3 / (pulls[i] * EPSILON)
                    mu_bar[i] = max(min(mu_tilde[i] + radius, 1.0), 0.0)
            S = [int(i) for i in run.actions[t - 1, lane] if i >= 0]
            assert [int(i) for i in problem.structure.solve(np.array([mu_bar]))[0] if i >= 0] == S
            fed = S if learner is CUCBDP else [min(S, key=lambda i: (pulls[i], i))]
            leaf = [0.0] * m
            for i in fed:
                leaf[i] = run.records[t, lane, i]
                pulls[i] += 1
            tree.append(leaf)
            for i in fed:
                mu_tilde[i] = tree.prefix_sum(i) / pulls[i]
        np.testing.assert_array_equal(run.learner.count[lane], pulls)
        np.testing.assert_allclose(run.learner.mean[lane], mu_tilde, rtol=0, atol=1e-9)
        assert T < 130 or min(mu_bar) < 1


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [2, 3, 4, 5, 37, 128])
@pytest.mark.parametrize(("arms", "size"), [(4, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_the_first_record_pays_for_all_its_nodes(learner, arms, size, horizon):
    """``(floor(log2 T) + 1) / (2 ln T)`` times epsilon; nobody pays more."""
    problem = SemiBandit(TopK(arms, size), np.linspace(0.1, 0.9, arms))
    accountant = Accountant(Budget(math.inf), noise=np.random.default_rng(1), seed=2)
    built = learner(problem.structure, accountant, epsilon=0.8, horizon=horizon)
    for _ in play_records(built, problem, accountant, np.ones((horizon + 1, arms))):
        pass
    nodes = math.floor(math.log2(horizon)) + 1
    record, worst = accountant.worst()
    assert record == 1
    fed = size if learner is CUCBDP else 1
    owed = nodes * fed / Fraction(built.tree.mechanism.scale)
    assert worst.epsilon == pytest.approx(owed, rel=1e-36, abs=0.0)  # charges are rounded up
    assert float(worst.epsilon) == pytest.approx(nodes / (2 * math.log(horizon)) * 0.8, rel=1e-14)
    assert (worst.epsilon > 0.8) == (horizon in (2, 4))


@pytest.mark.parametrize("learner", [CUCBDP, CUCBDPLeast])
def test_one_round_has_no_noise_and_says_so(learner):
    problem = SemiBandit(TopK(3, 2), [0.1, 0.5, 0.9])
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(1), seed=2)
    built = learner(problem.structure, accountant, epsilon=1.0, horizon=1)
    for _ in play_records(built, problem, accountant, np.ones((2, 3))):
        pass
    assert accountant.spent(1).epsilon is None
    (entry,) = accountant.ledger.entries
    assert entry.mechanism is None
    assert "is 0" in entry.note
    built.act()
    with pytest.raises(HorizonExceeded, match="horizon is 1"):
        built.observe(accountant.private(np.ones(2), built.feedback_domain, 2))


def test_a_tree_with_somebody_who_paid_elsewhere_starts_afresh():
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    learner = CUCBDP(TopK(arms=3, size=3), gate, epsilon=1.0, horizon=1000)
    whole = Laplace.for_epsilon(1.0, sensitivity=learner.feedback_domain.sensitivity)

    def visit(user):
        learner.act()
        learner.observe(gate.private([1.0, 0.0, 1.0], learner.feedback_domain, user))

    for i in range(5):
        visit(f"user-{i}")
    spare = Laplace.for_epsilon(
        float(gate.remaining_spend("user-4").epsilon) - 1e-9, sensitivity=whole.sensitivity
    )
    gate.release(spare, gate.private([1.0, 0.0, 1.0], learner.feedback_domain, "user-4"))
    before = learner.index.copy()
    with pytest.raises(BudgetExceeded, match="'user-4'"):
        visit("user-5")
    assert not learner.count.any()
    np.testing.assert_array_equal(learner.index, before)
    assert gate.spent("user-5").epsilon == 0
    for i in range(6, 120):
        visit(f"user-{i}")
        np.testing.assert_array_equal(learner.count, np.full((1, 3), i - 5.0))
    assert (learner.index <= before).all()
    assert gate.worst()[1].epsilon <= 1
