"""Phases in one draw: the same law and the same code as single rounds, at a cost that does not grow with rounds."""

import math

import numpy as np
import pytest

from accountant import Accountant, BasicComposition, Budget, GaussianComposition, Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.learner import DEFAULT_DELTA
from algorithms.play import play_fresh, play_phases
from algorithms.problems import Arms, Cascade, SemiBandit, ShortestPath, TopK
from algorithms.simulate import simulate
from mechanisms import LaneStreams
from mechanisms.parameters import ParameterError

PATHS = ShortestPath([("s", "t"), ("s", "a"), ("a", "t")], "s", "t")
CASES = {
    "dp-bandit": SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4]),
    "dp-best-arm": SemiBandit(Arms(3), [0.5, 0.6, 0.55]),
    "dp-bandit-gaussian": SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4]),
    "published/adap-klucb": SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4]),
    "published/dp-imed": SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4]),
    "cucb-batch": SemiBandit(TopK(5, 3), [0.2, 0.9, 0.5, 0.4, 0.7]),
    "cucb-batch-gaussian": SemiBandit(TopK(4, 2), [0.2, 0.9, 0.5, 0.4]),
    "cucb-kl": SemiBandit(TopK(5, 3), [0.2, 0.9, 0.5, 0.4, 0.7]),
    "cascade-ucb-kl": Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3]),
    "cascade-ucb-batch": Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3]),
    "cascade-ucb-batch-gaussian": Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3]),
    "cascade-ucb-batch-shuffle": Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3]),
}
PHASED = sorted(name for name, entry in learners.items() if hasattr(entry.make, "committed_rounds"))


def test_every_learner_in_batches_holds_its_actions():
    assert sorted(CASES) == PHASED


@pytest.mark.slow_cells("dp-bandit", "cascade-ucb-batch-shuffle", "cucb-kl")
@pytest.mark.few(4)
@pytest.mark.parametrize("name", CASES)
def test_phases_have_the_law_of_single_rounds(name):
    """Mean regret at 4 checkpoints within 5 s.e. of the difference, 20 comparisons: false alarm 1.2e-5 at most."""
    problem, horizon, lanes = CASES[name], 300, 64 * 16
    build = learners[name].build(problem, epsilon=8.0, horizon=horizon)
    trace = simulate(build, problem, horizon=horizon, runs=lanes, seed=3, checkpoints=4)
    gate = Simulation(4, lanes)
    total, kept = np.zeros(lanes), []
    fresh = play_fresh(build(gate), problem, gate, LaneStreams(4, lanes, key=(2,)), horizon)
    for played, action in enumerate(fresh, start=1):
        total += problem.benchmark - problem.expected_reward(action)
        if played in trace.rounds:
            kept.append(total.copy())
    assert len(kept) == len(trace.rounds)
    for phased, single in zip(trace.regret, kept, strict=True):
        error = math.sqrt((phased.var() + single.var()) / lanes)
        assert abs(phased.mean() - single.mean()) <= 5 * error + 1e-9
    assert np.std(kept[-1]) > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_an_action_is_held_for_exactly_as_long_as_single_rounds_repeat_it(name):
    """Round by round, `committed_rounds` counts down to 1 while the action stays; then the lane may change."""
    problem, horizon = CASES[name], 200
    gate = Simulation(5, 64)
    learner = learners[name].build(problem, epsilon=8.0, horizon=horizon)(gate)
    rng = LaneStreams(5, 64, key=(2,))
    before, action_before = None, None
    for t in range(1, horizon + 1):
        action = learner.act()
        held = learner.committed_rounds.copy()
        assert (held >= 1).all()
        if before is not None:
            inside = before > 1
            np.testing.assert_array_equal(held[inside], before[inside] - 1)
            np.testing.assert_array_equal(action[inside], action_before[inside])
        before, action_before = held, action.copy()
        feedback = problem.draw_feedback(action, rng)
        learner.observe(gate.private(feedback, learner.feedback_domain, t))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_totals_of_records_under_an_accountant_are_single_rounds(name):
    """The same users, one by one and as totals of private values: same releases, every user pays epsilon once."""
    problem, horizon = CASES[name], 80
    arms = problem.structure.arms
    records = (np.random.default_rng(1).random((horizon, 1, arms)) < problem.means).astype(float)
    build = learners[name].build(problem, epsilon=2.0, horizon=horizon)
    budget = Budget(2.0, DEFAULT_DELTA)  # that of pure learners, too, with no delta to spend
    if learners[name].make.claim.is_none:
        budget = Budget.unlimited()
    theorem = GaussianComposition() if "gaussian" in name else BasicComposition()
    single = Accountant(budget, composition=theorem, noise=np.random.default_rng(2))
    one = build(single)
    actions = []
    for t in range(horizon):
        actions.append(one.act().copy())
        feedback = problem.feedback(records[t], actions[-1])
        one.observe(single.private(feedback, one.feedback_domain, t))
    together = Accountant(budget, composition=theorem, noise=np.random.default_rng(2))
    many = build(together)
    t = 0
    while t < horizon:
        action = many.act().copy()
        held = np.minimum(many.committed_rounds, horizon - t)
        parts = [
            together.private(problem.feedback(records[u], action), many.feedback_domain, u)
            for u in range(t, t + int(held[0]))
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        for u in range(t, t + int(held[0])):
            np.testing.assert_array_equal(action, actions[u])
        many.observe(total, held)
        t += int(held[0])
    for u in range(horizon):
        assert together.spent(u) == single.spent(u)


@pytest.mark.parametrize("name", CASES)
def test_a_total_of_more_rounds_than_committed_is_refused(name):
    problem = CASES[name]
    gate = Simulation(5, 64)
    learner = learners[name].build(problem, epsilon=8.0, horizon=100)(gate)
    size = learner.act().shape[1]
    nothing = gate.private(np.zeros((64, size)), learner.feedback_domain, 1)
    for rounds, message in (
        (learner.committed_rounds + 1, "must be from 0 to the"),
        (learner.committed_rounds * 0 - 1, r"rounds\[0\] = -1"),
        (np.ones(64), "must be whole numbers"),
        (np.ones((64, 1), dtype=np.int64), "must be whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.observe(nothing, rounds)


@pytest.mark.slow_cells("cascade-ucb-batch-shuffle")
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_lanes_do_not_depend_on_each_other(name):
    problem = CASES[name]
    build = learners[name].build(problem, epsilon=2.0, horizon=5000)
    few = simulate(build, problem, horizon=5000, runs=64, seed=3, checkpoints=6)
    many = simulate(build, problem, horizon=5000, runs=64 * 5, seed=3, checkpoints=6)
    np.testing.assert_array_equal(few.regret, many.regret[:, :64])


@pytest.mark.few(4)
@pytest.mark.slow_cells(
    "cascade-ucb-batch-shuffle", "dp-best-arm", "dp-bandit-gaussian", "dp-bandit", "cucb-kl"
)
@pytest.mark.parametrize("name", CASES)
def test_a_billion_rounds_are_played_in_phases(name):
    """Round by round they would take days."""
    problem = CASES[name]
    build = learners[name].build(problem, epsilon=2.0, horizon=10**9)
    trace = simulate(build, problem, horizon=10**9, runs=8, seed=3, checkpoints=10)
    assert (np.diff(trace.regret_mean) >= -1e-3).all()
    second_half = trace.regret_mean[-1] - trace.regret_mean[-2]
    assert second_half < 1e-3 * trace.rounds[-1]


@pytest.mark.few(3)
@pytest.mark.parametrize("horizon", [1, 2, 7])
@pytest.mark.parametrize("name", CASES)
def test_the_shortest_runs(name, horizon):
    problem = CASES[name]
    gate = Simulation(1, 64)
    learner = learners[name].build(problem, epsilon=2.0, horizon=horizon)(gate)
    played = np.zeros(64, dtype=np.int64)
    for action, held in play_phases(learner, problem, gate, LaneStreams(1, 64, key=(2,)), horizon):
        assert action.shape == (64, problem.structure.size)
        played += held
    assert (played == horizon).all()


def test_binomial_draws_of_a_lane_do_not_depend_on_the_other_lanes():
    n, p = np.full((64 * 3, 2), 10**9), np.linspace(0, 1, 64 * 6).reshape(64 * 3, 2)
    all_lanes = LaneStreams(1, 64 * 3).binomial(n, p)
    last = LaneStreams(1, 64, first_block=2).binomial(n[128:], p[128:])
    np.testing.assert_array_equal(all_lanes[128:], last)
    assert (all_lanes[0, 0], all_lanes[-1, -1]) == (0, 10**9)
    with pytest.raises(ParameterError, match="leading axis"):
        LaneStreams(1, 64).binomial(n, p)


# --- totals ------------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("rounds", [0, 1, 7, 1000, 10**9])
@pytest.mark.parametrize("name", CASES)
def test_totals_have_the_moments_of_sums_of_rounds(name, rounds):
    """Means and second moments of totals and of single rounds: 5 s.e. at no more than 10 numbers a case."""
    problem, lanes = CASES[name], 64 * 200
    rng = LaneStreams(7, lanes)
    shown = np.tile(problem.structure.solve(np.full((1, problem.structure.arms), 0.5))[0], (lanes, 1))
    totals = problem.draw_totals(shown, np.full(lanes, rounds), rng)
    single = problem.draw_feedback(shown, rng)
    assert totals.shape == single.shape
    if rounds == 0:
        assert not totals.any()
        return
    expected = problem.means[shown[0]] * (shown[0] >= 0)
    if isinstance(problem, Cascade):
        expected = expected * np.concatenate([[1], np.cumprod(1 - expected)[:-1]])
        covariance = np.diag(expected) - np.outer(expected, expected)
    else:
        covariance = np.diag(expected * (1 - expected))
    centred = (totals - rounds * expected) / math.sqrt(rounds)
    single_centred = single - expected
    for sample in (centred, single_centred):
        deviation = np.sqrt(np.diag(covariance))
        assert (np.abs(sample.mean(axis=0)) <= 5 * deviation / math.sqrt(lanes) + 1e-12).all()
        products = sample[:, :, None] * sample[:, None, :]
        error = 5 * products.std(axis=0) / math.sqrt(lanes) + 1e-12
        assert (np.abs(products.mean(axis=0) - covariance) <= error).all()
    assert (totals >= 0).all()
    assert (totals.sum(axis=1) <= rounds * (1 if isinstance(problem, Cascade) else totals.shape[1])).all()
