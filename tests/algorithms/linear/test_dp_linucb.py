"""Jointly private LinUCB: the formulas in plain loops, what a round pays, its widths, and that it learns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import (
    Accountant,
    Budget,
    BudgetExceeded,
    GaussianComposition,
    Simulation,
)
from algorithms import DPLinUCB
from algorithms.claim import View
from algorithms.epochs import epoch_horizon, epoch_of
from algorithms.estimates import doubling_batches
from algorithms.estimates.doubling_batches import released_counts
from algorithms.lanes import scatter_add
from algorithms.linear.contextual_learner import LinearUCB
from algorithms.linear.contextual_play import play_contexts
from algorithms.linear.dp_linucb import LinUCB
from algorithms.problems import LinearContexts, ProblemError
from mechanisms import LaneStreams

THETA = np.array([0.6, -0.3, 0.5])


def made(gate, **changed):
    return DPLinUCB(3, gate, **{"epsilon": 4.0, "delta": 1e-3, "horizon": 400, **changed})


class Kept(Simulation):
    """A simulation that keeps what is released."""

    def release(self, mechanism, private, where=None):
        self.last = super().release(mechanism, private, where)
        return self.last


def test_the_formulas_on_the_same_releases():
    gate, lane = Kept(1, 64), 5
    problem = LinearContexts(THETA, 4)
    learner = made(gate, norm=0.9)
    d, T, s = 3, 400, learner.mechanism.sigma
    J, n = 0, 1
    while n <= T:
        J, n = J + 1, n + math.ceil(n / 2)
    x = math.log(3 * J * T)
    op = s * (math.sqrt(2 * d) + math.sqrt(2 * x))
    batch, total, released, j = math.ceil(op), np.zeros(9), 0, 0
    left = batch
    for t, _ in enumerate(play_contexts(learner, problem, gate, LaneStreams(2, 64), T), start=1):
        left -= 1
        if left:
            continue
        j, released, total = j + 1, t, total + gate.last[lane]
        op = math.sqrt(j) * s * (math.sqrt(2 * d) + math.sqrt(2 * x))
        gam = math.sqrt(j) * s * (math.sqrt(d) + math.sqrt(2 * x))
        lam = max(1.0, op)
        a, b, c, e, f, g = total[:6]
        r = math.sqrt(2)
        V = np.array([[a, b / r, c / r], [b / r, e, f / r], [c / r, f / r, g]]) + (op + lam) * np.eye(3)
        assert np.linalg.eigvalsh(V)[0] > lam
        beta = math.sqrt(
            2 * math.log(J * T)
            + min(math.log(np.linalg.det(V)) - d * math.log(lam), d * math.log(1 + released / (d * lam)))
        )
        beta += 0.9 * math.sqrt(2 * op + lam) + gam / math.sqrt(lam)
        policy = learner.policy
        np.testing.assert_allclose(
            policy.estimate[lane], np.linalg.solve(V, total[6:]), rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(policy.covariance[lane], np.linalg.inv(V), rtol=1e-9, atol=1e-12)
        assert policy.width[lane] == pytest.approx(beta, rel=1e-12)
        offered = np.random.default_rng(t).uniform(-0.5, 0.5, (64, 7, 3))
        upper = [
            z @ policy.estimate[lane] + beta * math.sqrt(z @ np.linalg.solve(V, z)) for z in offered[lane]
        ]
        assert policy.choose(offered)[lane] == int(np.argmax(upper))
        left = max(1, math.ceil(released / 2))
    assert learner.releases == j >= 4
    assert learner.released == released


@pytest.mark.slow
@settings(max_examples=15)
@given(
    epsilon=st.floats(0.3, 20),
    delta=st.floats(1e-9, 0.1),
    features=st.integers(1, 4),
    horizon=st.integers(1, 10**6),
    seed=st.integers(0, 99),
)
def test_every_round_pays_at_most_the_claim_and_once(epsilon, delta, features, horizon, seed):
    accountant = Accountant(
        Budget(epsilon, delta),
        composition=GaussianComposition(),
        noise=np.random.default_rng(seed),
        seed=seed,
    )
    learner = DPLinUCB(features, accountant, epsilon=epsilon, delta=delta, horizon=horizon)
    learner.batches._next_size[:] = (
        2.0  # a first batch that ends soon: the schedule is public, whatever it is
    )
    problem = LinearContexts(np.eye(features)[0], 3)
    environment = LaneStreams(seed, 64)

    def user(record):
        contexts = problem.draw_contexts(environment, 64)[:1]
        action = contexts[[0], learner.policy.choose(contexts)]
        moments = learner.feedback_domain.moments(
            action, problem.draw_rewards(np.repeat(action, 64, 0), environment)[:1]
        )
        learner.observe(accountant.private(moments, learner.feedback_domain, record))

    learner.rounds.passed = True  # of some horizons: the warning has a test of its own
    for record in range(5):
        user(record)
    assert learner.releases == 3
    entries = accountant.ledger.entries
    assert sorted(record for entry in entries for record in entry.records) == list(range(5))
    assert 0.999 * epsilon < accountant.worst()[1].epsilon <= epsilon
    before = len(accountant.ledger)
    with pytest.raises(BudgetExceeded):
        user(0)
    assert len(accountant.ledger) == before


def test_the_widths_hold_in_every_lane_and_release():
    """With T = 1e9 in the widths they fail in one of 64 lanes with probability 2e-7."""
    gate = Simulation(3, 64)
    learner = made(gate, horizon=10**9)
    problem = LinearContexts(THETA, 4)
    for _ in play_contexts(learner, problem, gate, LaneStreams(4, 64), 300):
        policy = learner.policy
        off = policy.estimate - THETA
        distance = np.sqrt(np.einsum("ld,lde,le->l", off, np.linalg.inv(policy.covariance), off))
        assert (distance <= policy.width).all()
    assert learner.releases > 3


@pytest.mark.slow
def test_it_learns():
    """The second half costs less than two thirds of the first; the difference is above 10 s.e. of 64 lanes."""
    gate = Simulation(5, 64)
    learner = made(gate, horizon=8000)
    problem = LinearContexts(THETA / np.linalg.norm(THETA), 8)
    played = play_contexts(learner, problem, gate, LaneStreams(6, 64), 8000)
    regret = np.array([each.regret for each in played])
    excess = regret[:4000].sum(axis=0) - 1.5 * regret[4000:].sum(axis=0)
    assert excess.mean() > 10 * excess.std() / 8


def test_reports_may_come_in_any_order():
    policies = []
    for order in (1, -1):
        learner = made(Simulation(7, 64), epsilon=50.0)
        rng = np.random.default_rng(8)
        reports = learner.feedback_domain.moments(rng.uniform(-0.5, 0.5, (learner.first, 64, 3)), 1.0)
        for record, report in enumerate(reports[::order]):
            learner.observe(learner.gate.private(report, learner.feedback_domain, record))
        assert learner.releases == 1
        policies.append(learner.policy)
    np.testing.assert_array_equal(policies[0].estimate, policies[1].estimate)


def test_what_it_claims():
    assert DPLinUCB.claim.view is View.OTHER_ACTIONS
    assert str(DPLinUCB.claim.unit) == "one report"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("norm", 0.0),
        ("norm", math.inf),
        ("norm", "1"),
        ("norm", None),
        ("norm", 1e200),
        ("norm", 10**400),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} = "):
        made(Simulation(0, 64), **{name: value})


@pytest.mark.parametrize(
    "contexts",
    [
        np.zeros((64, 4)),
        np.zeros((64, 4, 1)),  # would be taken for three equal coordinates
        np.zeros((64, 0, 3)),
        np.zeros((2, 4, 3)),
        np.full((64, 4, 3), math.nan),  # NaN is the largest of all
        "contexts",
    ],
)
def test_contexts_that_are_none_are_refused(contexts):
    with pytest.raises(ValueError, match=r"^contexts"):
        made(Simulation(0, 64)).policy.choose(contexts)


def test_the_environment():
    problem = LinearContexts([0.6, 0.8], 5)
    contexts = problem.draw_contexts(LaneStreams(1, 64), 64)
    np.testing.assert_allclose(np.linalg.norm(contexts, axis=2), 1.0)
    regrets = problem.regrets(contexts)
    assert regrets.min() == 0
    best = contexts[np.arange(64), regrets.argmin(axis=1)]
    np.testing.assert_allclose(best @ [0.6, 0.8], (contexts @ [0.6, 0.8]).max(axis=1))
    ones = problem.draw_rewards(np.repeat([[0.6, 0.8]], 64, axis=0), LaneStreams(2, 64))
    np.testing.assert_array_equal(ones, 1.0)  # of mean 1
    for wrong in ([2.0, 0.0], [[0.1]], [math.nan]):
        with pytest.raises(ProblemError, match="parameter = "):
            LinearContexts(wrong, 5)
    with pytest.raises(ProblemError, match="actions = "):
        LinearContexts([0.5], 0)


@pytest.mark.parametrize("make", [DPLinUCB, LinUCB])
def test_without_a_horizon_only_the_widths_are_of_the_epoch(make, monkeypatch):
    """When an epoch begins, the policy is that of a learner that was told its horizon and has released the same."""
    monkeypatch.setattr("algorithms.epochs.FIRST_EPOCH", 16)
    private = {"epsilon": 5.0, "delta": 0.1} if make is DPLinUCB else {}
    gate = Simulation(1, 1)
    learner = make(2, gate, horizon=None, **private)
    first, widths = learner.first, []
    rng = np.random.default_rng(1)
    for t in range(1, 130):
        moments = learner.feedback_domain.moments(
            *(rng.uniform(-0.5, 0.5, shape) for shape in ((1, 2), (1,)))
        )
        learner.observe(gate.private(moments, learner.feedback_domain, t))
        epoch = int(epoch_of(t))
        assert (learner.epoch, learner.horizon) == (epoch, epoch_horizon(epoch))
        twin = make(2, gate, horizon=epoch_horizon(epoch), **private)
        twin.batches = learner.batches
        twin.renew()
        for name in ("estimate", "covariance", "width"):
            np.testing.assert_array_equal(getattr(learner.policy, name), getattr(twin.policy, name))
        widths.append(float(learner.policy.width[0]))
    assert learner.epoch == 4
    assert learner.first == first == make(2, gate, horizon=32, **private).first
    assert learner.releases > 2
    assert all(widths[t - 1] > widths[t - 2] for t in (16, 32, 64, 128) if t not in _releases(first))


def test_an_epoch_that_was_interrupted_as_it_began_begins_with_the_next_round(monkeypatch):
    monkeypatch.setattr("algorithms.epochs.FIRST_EPOCH", 4)
    gate = Simulation(1, 1)
    learner = LinUCB(2, gate, horizon=None)
    moments = learner.feedback_domain.moments([[0.3, 0.1]], [0.5])

    def observe():
        learner.observe(gate.private(moments, learner.feedback_domain, learner.rounds.observed))

    def stopped():
        raise KeyboardInterrupt

    for _ in range(3):
        observe()
    with monkeypatch.context() as patched:
        patched.setattr(learner, "renew", stopped)
        with pytest.raises(KeyboardInterrupt):
            observe()
    before = learner.policy
    assert (learner.rounds.observed, learner.epoch) == (4, 0)
    observe()
    assert learner.epoch == 1
    assert learner.policy.width[0] > before.width[0]


def _releases(first):
    """After how many rounds batches are released."""
    return released_counts(200, first, 0.5)


def test_a_batch_that_was_interrupted_before_its_release_is_released_with_the_next_round(monkeypatch):
    """Ctrl-C left it full, and no later number of rounds was the batch's: nothing was learned any more."""
    accountant = Accountant(
        Budget(4.0, 1e-3), composition=GaussianComposition(), noise=np.random.default_rng(0)
    )
    learner = made(accountant)

    def play(user):
        learner.observe(accountant.private(np.zeros(9), learner.feedback_domain, user))

    def interrupted(*given):
        scatter_add(*given)
        raise KeyboardInterrupt

    for user in range(learner.first - 1):
        play(user)
    monkeypatch.setattr(doubling_batches, "scatter_add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        play("interrupted")
    monkeypatch.undo()
    play("next")
    assert (learner.releases, learner.released) == (1, learner.first + 1)


def test_actions_outside_the_ball_are_chosen_by_as_they_are_learned_from():
    """(10, -100) is learned from as (0.1, -1), which is worth less than (0.9, 0); squares may overflow."""
    policy = LinearUCB(np.array([[1.0, 0.0]]), 1e-4 * np.eye(2)[np.newaxis], np.ones(1))
    for long in ([10.0, -100.0], [1e307, -1e308], [0.1, -1.0]):
        assert policy.choose([[long, [0.9, 0.0]]]).tolist() == [1]
        assert policy.choose([[long, [1e-3, 0.0]]]).tolist() == [0]
