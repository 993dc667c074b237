"""The leader is played to the end where that has the least bound on regret; printed forms explore on."""

import dataclasses
import functools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, Simulation
from accountant.refusals import Refusal
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear import report_noise
from algorithms.linear.dp_pe import PE, DPPECentral
from algorithms.linear.elimination import _commits
from algorithms.linear.linear_phases import PopulationTooSmall
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import linear_problems
from mechanisms import ParameterError
from verify.learners.linear_data import same_phase

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
    assert _commits(left, rounds, widths) == (every[0] <= min(every) * (1 + 1e-12)) or every[
        0
    ] == pytest.approx(min(every))


def test_halving_widths_commit_within_the_known_factor():
    """Doubling phases whose widths shrink by r: the leader is played from left = n (2 - r) / (1 - r) on."""
    for r in (0.5, 0.5**0.5, 0.9):
        edge = 1000 * (2 - r) / (1 - r)
        for left, expected in ((0.999 * edge, True), (1.001 * edge, False)):
            assert _commits(int(left), [1000], [1.0, r]) == expected


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
    """`continuation` for every outcome of 20 first phases, of which some commit, at horizons around the rule's edge."""
    seen = set()
    for horizon in (60, 100, 150, 300):
        for seed in range(5):
            gate = Simulation(seed, 1)
            learner = DPPECentral(PROBLEM.actions, gate, epsilon=5.0, delta=0.1, horizon=horizon)
            phase = learner.act()
            known = learner.continuation
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


def test_nothing_follows_at_the_horizon_or_before_a_phase():
    """The horizon is that of the first phase, in which all report; a round later, something follows."""
    kept = np.ones(30, dtype=bool)
    rounds = DPPECentral(PROBLEM.actions, Simulation(0, 1), epsilon=5.0, delta=0.1, horizon=300).act().rounds
    for more in (0, 1):
        learner = DPPECentral(
            PROBLEM.actions, Simulation(0, 1), epsilon=5.0, delta=0.1, horizon=rounds + more
        )
        assert learner.continuation(kept) is None
        assert learner.act().rounds == rounds
        assert (learner.continuation(kept) is None) == (more == 0)


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


@pytest.mark.parametrize("name", ["published/dpe", "published/dp-dpe-central"])
def test_nobody_reports_in_the_phase_that_the_horizon_cuts(name):
    gate, phases, client = Simulation(1, 1), [], 0
    learner = built(name, gate, 300)
    while (phase := learner.act()) is not None:
        phases.append(phase)
        client = report_all(learner, gate, phase, client)
    assert len(phases) > 1
    assert [phase.clients > 0 for phase in phases] == [True] * (len(phases) - 1) + [False]
    assert sum(phase.rounds for phase in phases) == learner.played == 300
    assert learner.reported == client > 0


# --- without a horizon -------------------------------------------------------------------------------

CERTIFIED = [name for name in linear_learners if not name.startswith("published/")]


def built(name, gate, horizon, population=10**5):
    problem = dataclasses.replace(PROBLEM, population=population)
    return linear_learners[name].build(problem, epsilon=20.0, delta=0.1, horizon=horizon)(gate)


def report_all(learner, gate, phase, client):
    """Let all clients of a phase report what is expected, and a little that follows from who they are."""
    means = PROBLEM.means[phase.order if hasattr(phase, "order") else phase.support]
    for number in range(client, client + phase.clients):
        own = means[[number - client]] if hasattr(phase, "order") else means
        values = own + 0.01 * np.cos(number + np.arange(own.size))
        learner.observe(gate.private(phase.report(values)[np.newaxis], phase.domain, number))
    return client + phase.clients


@pytest.fixture
def short_epochs(monkeypatch):
    """Let epochs have 600, 360,000 rounds."""
    monkeypatch.setattr("algorithms.restarts.FIRST_RUN", 600)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", CERTIFIED)
def test_every_epoch_is_a_run_that_was_told_its_horizon(name, short_epochs):
    """The same reports and noise: the same phases, estimates and widths, bit for bit."""
    gate, twin_gate = Simulation(1, 1), Simulation(1, 1)
    learner, client, fewest = built(name, gate, None), 0, 30
    for epoch, horizon in enumerate((600, 360_000)):
        twin = built(name, twin_gate, horizon)
        for _ in range(2 if epoch else 9):
            other = twin.act()
            if other is None:
                assert learner.played == 600
                break
            phase = learner.act()
            assert same_phase(phase, other)
            assert (learner.epoch, learner.horizon) == (epoch, horizon)
            np.testing.assert_array_equal(phase.bounds, other.bounds)
            report_all(twin, twin_gate, other, client)
            client = report_all(learner, gate, phase, client)
            np.testing.assert_array_equal(learner.active, twin.active)
            fewest = min(fewest, learner.active.size)
            if phase.clients:
                np.testing.assert_array_equal(learner.learned.values, twin.learned.values)
                np.testing.assert_array_equal(learner.learned.widths, twin.learned.widths)
    assert learner.epoch == 1
    assert learner.reported == client
    if name in ("dpe", "dp-dpe-central"):
        assert fewest < 30  # some were eliminated in epoch 0, and are back


def test_clients_run_out_in_the_phase_that_needs_more():
    """It is refused, again and again, with the numbers; nothing changes, and nobody was asked."""
    gate = Simulation(1, 1)
    learner = built("dp-dpe-central", gate, None, population=60)
    phases = iter(learner.act, None)
    with pytest.raises(PopulationTooSmall) as refused:
        client = functools.reduce(lambda first, phase: report_all(learner, gate, phase, first), phases, 0)
    client = learner.reported
    before = (learner.played, learner.reported, learner.epoch, learner.active.size)
    assert client == learner.reported <= 60
    assert str(refused.value).startswith(
        f"population = 60: after {learner.played} rounds {client} clients have reported, and phase "
    )
    with pytest.raises(PopulationTooSmall, match=re.escape(str(refused.value))):
        learner.act()
    assert before == (learner.played, learner.reported, learner.epoch, learner.active.size)
    with pytest.raises(PopulationTooSmall, match="phases within horizon"):  # who is told sees it at once
        built("dp-dpe-central", gate, 10**6, population=60)


@pytest.mark.parametrize("name", ["dp-dpe-central", "dp-pe-local"])
def test_a_client_pays_once_in_all_epochs(name, short_epochs):
    gate = Accountant(Budget(20.0, 0.1), noise=np.random.default_rng(1), seed=1)
    learner, client = built(name, gate, None), 0
    while learner.epoch == 0 or learner.learned is None:
        client = report_all(learner, gate, learner.act(), client)
    assert gate.worst()[1].epsilon <= 20.0
    assert all(gate.spent(number).epsilon > 0 for number in range(client))
    phase = learner.act()
    values = np.zeros((1, *phase.domain.shape))
    with pytest.raises(Refusal):  # client 0 reported in another phase, or epoch
        learner.observe(gate.private(values, phase.domain, 0))
    assert learner.open_phase is phase


@pytest.mark.parametrize("name", ["dpe", "pe"])
def test_rounds_cut_the_last_phase_and_nobody_reports_in_it(name):
    build = functools.partial(built, name, horizon=None)
    for rounds in (1, 31, 200, 3000):
        trace = simulate_phases(build, PROBLEM, runs=2, seed=1, rounds=rounds)
        assert [int(path[0, -1]) for path in trace.paths] == [rounds, rounds]
    with pytest.raises(ValueError, match="rounds = None: must be given: the learner has no horizon"):
        simulate_phases(build, PROBLEM, runs=2, seed=1)
    with pytest.raises(ValueError, match="horizon = 0"):
        simulate_phases(build, PROBLEM, runs=2, seed=1, rounds=0)


def test_a_phase_that_cannot_be_shuffled_is_refused_and_nothing_changes(monkeypatch):
    """It left a phase open in which nobody could report, and rounds that were never played."""
    gate = Simulation(1, 1)
    learner = built("dp-dpe-shuffle", gate, 200, population=1000)
    report_all(learner, gate, learner.act(), 0)
    before = (learner.played, learner.reported, learner.open_phase)

    def refuse(*_):
        raise ParameterError("epsilon: must be larger")

    with monkeypatch.context() as patched:
        patched.setattr(report_noise, "calibrated_bits", refuse)
        for _ in range(2):
            with pytest.raises(ParameterError, match="epsilon: must be larger"):
                learner.act()
    assert before == (learner.played, learner.reported, learner.open_phase)
    assert learner.act().number == 2


@pytest.mark.parametrize("name", ["dp-dpe-shuffle", "dp-pe-shuffle"])
def test_a_claim_with_too_many_bits_is_refused_before_anybody_reports(name):
    with pytest.raises(ParameterError, match=r"epsilon = 1e-06, .* random bits"):
        linear_learners[name].build(PROBLEM, epsilon=1e-6, delta=1e-6, horizon=None)(Simulation(1, 1))
