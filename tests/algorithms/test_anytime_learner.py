"""Learners that are not told how many rounds there will be: whose indices, when, and that nothing else changes."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, BasicComposition, Budget, GaussianComposition, Simulation, Trust
from algorithms import CUCBLDP1, CascadeUCBRR, CUCBBatch, DurableRun
from algorithms.anytime_learner import AnytimeLearner
from algorithms.catalogue.learner_entry import ANYTIME
from algorithms.catalogue.named_run import NamedLearner, begin_named_run, load_named_run
from algorithms.catalogue.structured_entries import learners
from algorithms.epochs import EPOCHS, FIRST_EPOCH, epoch_end, epoch_horizon, epoch_of
from algorithms.problems import (
    Arms,
    Cascade,
    Problem,
    RankedLists,
    SemiBandit,
    TopK,
    UniformMatroid,
    build_problem,
)
from algorithms.simulate import simulate
from algorithms.theory.level_free_regret import ReleaseCounts
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import LaneStreams
from verify import verify
from verify.regret_claims.proof import check_proof

SEMI = SemiBandit(TopK(5, 2), [0.2, 0.9, 0.5, 0.4, 0.7])
ONE = SemiBandit(Arms(4), [0.2, 0.9, 0.5, 0.4])
LISTS = Cascade(5, 2, [0.2, 0.7, 0.1, 0.5, 0.3])
BY_EPOCHS: dict[str, Problem] = {
    "cucb-ldp-gaussian": SEMI,
    "cucb-ldp1": SEMI,
    "cucb-ldp2": SEMI,
    "cascade-ucb-batch": LISTS,
    "cascade-ucb-batch-gaussian": LISTS,
    "cascade-ucb-batch-shuffle": LISTS,
    "cascade-ucb-rr": LISTS,
}
AT_ONCE: dict[str, Problem] = {
    "cucb-batch": SEMI,
    "cucb-batch-gaussian": SEMI,
    "cucb-ldp-bit": SEMI,
    "dp-bandit": ONE,
    "dp-bandit-gaussian": ONE,
    "dp-bandit-ldp": ONE,
    "dp-bandit-shuffle": ONE,
}
CASES = BY_EPOCHS | AT_ONCE
PHASED = [name for name in CASES if hasattr(learners[name].make, "committed_rounds")]
DELTA = 1e-3
LEVEL = {"index": "confidence"}


def builder(name: str, epsilon: float = 2.0, horizon: int | None = None) -> Any:
    settings = LEVEL if name.startswith("cascade-ucb-batch") else {}
    return learners[name].build(CASES[name], epsilon=epsilon, delta=DELTA, horizon=horizon, settings=settings)


def accountant(name: str, seed: int = 2) -> Accountant:
    theorem = GaussianComposition() if "gaussian" in name else BasicComposition()
    return Accountant(Budget(2.0, DELTA), composition=theorem, noise=np.random.default_rng(seed), seed=seed)


@pytest.fixture
def short_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epoch 0 have 8 rounds, so that short runs have several."""
    monkeypatch.setattr("algorithms.epochs.FIRST_EPOCH", 8)


@pytest.fixture
def epochs_of_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it have 16, and checks of proofs 288 rounds, with five epochs."""
    monkeypatch.setattr("algorithms.epochs.FIRST_EPOCH", 16)


# --- epochs ------------------------------------------------------------------------------------------


def test_every_round_is_in_one_epoch_and_failures_sum_to_one() -> None:
    """N_k and H_k by their definition, and what the proof takes from them; exact numbers."""
    before, failures = 0, Fraction(0)
    for k in range(EPOCHS):
        rounds = FIRST_EPOCH if k == 0 else before
        assert epoch_horizon(k) == rounds * (k + 1) * (k + 2)
        assert [int(epoch_of(before + r)) for r in (0, rounds - 1)] == [k, k]
        assert int(epoch_end(k)) == before + rounds
        assert before + rounds <= epoch_horizon(k)
        failures += Fraction(rounds, epoch_horizon(k))
        before += rounds
    assert failures == 1 - Fraction(1, EPOCHS + 1)
    np.testing.assert_array_equal(epoch_of(np.array([0, 1023, 1024, 10**6])), [0, 0, 1, 10])


def test_phases_that_outlast_their_epoch_are_paid_for() -> None:
    """2 N_0 and 3 N_i rounds for N_i: 5/2, where the bound for a known horizon has 1."""
    for name in ("cascade-ucb-batch", "cascade-ucb-batch-gaussian"):
        terms = [Fraction(3 if k else 2, (k + 1) * (k + 2)) for k in range(2000)]
        more = BOUNDS[name].constant + BOUNDS[name].outlasting
        assert float(sum(terms)) == pytest.approx(float(more), abs=2e-3)
        assert sum(terms) <= more


# --- which learners ----------------------------------------------------------------------------------


def test_those_that_need_no_horizon_are_known() -> None:
    free = {name for name, entry in learners.items() if ANYTIME in entry.parameters}
    assert free == {*CASES, "hedge", "dp-hedge"}  # these have tests of their own
    assert {name for name in free if issubclass(learners[name].make, AnytimeLearner)} == set(BY_EPOCHS)


# --- indices -----------------------------------------------------------------------------------------


def literal_exponent(name: str, horizon: int) -> float:
    """Return x as its class's docstring writes it."""
    if name in ("cucb-ldp1", "cucb-ldp2"):
        return math.log(horizon)
    if name == "cucb-ldp-gaussian":
        return math.log(2 * 5 * horizon**2)
    if name == "cascade-ucb-rr":
        return math.log(6 * 5 * horizon**2)
    if name.startswith("cascade"):
        return math.log(3 * 5 * 5 * (2 + math.log2(horizon)) * horizon**2)
    raise ValueError(name)


def told(name: str, learner: Any, horizon: int) -> Any:
    """Return a learner with a horizon, which has seen what another one has."""
    twin = builder(name, horizon=horizon)(learner.gate)
    if hasattr(twin, "batches"):
        twin.batches = learner.batches
    else:
        twin.estimates = copy.deepcopy(learner.estimates)
    twin.renew(np.ones(learner.gate.lanes, dtype=bool))
    return twin


def shown(learner: Any) -> np.ndarray:
    return (learner if hasattr(learner, "batches") else learner.estimates).index


@pytest.mark.few(4)
@pytest.mark.parametrize("name", BY_EPOCHS)
def test_an_epoch_begins_with_all_indices_of_its_horizon(name: str, short_epochs: None) -> None:
    """Those of a learner that was told H_k and has seen the same, bit for bit; and x is what its class says."""
    gate, rng, changed = Simulation(3, 64), LaneStreams(3, 64, key=(2,)), 0
    learner = builder(name)(gate)
    assert learner.exponent == pytest.approx(literal_exponent(name, 8 * 2), rel=1e-12)
    for t in range(1, 301):
        action = learner.act()
        before = shown(learner).copy()
        values = CASES[name].draw_feedback(action, rng)
        learner.observe(gate.private(values, learner.feedback_domain, t))
        if t in (8, 16, 32, 64, 128, 256):
            k = t.bit_length() - 3
            horizon = 4 * 2**k * (k + 1) * (k + 2)
            assert learner.exponent == pytest.approx(literal_exponent(name, horizon), rel=1e-12)
            np.testing.assert_array_equal(shown(learner), shown(told(name, learner, epoch_horizon(k))))
            changed += int((shown(learner) != before).sum())
    assert changed > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("name", AT_ONCE)
def test_without_confidence_levels_only_first_batches_are_of_a_horizon(name: str) -> None:
    """Those of 2048 rounds: so it is the learner that was told 2048, in every round, however many there are."""
    problem = CASES[name]
    runs = {"runs": 64, "seed": 3, "checkpoints": 5}
    free = simulate(builder(name), problem, horizon=2100, **runs)
    with pytest.warns(UserWarning, match="more rounds than horizon=2048"):
        of_2048 = simulate(builder(name, horizon=2048), problem, horizon=2100, **runs)
    np.testing.assert_array_equal(free.regret, of_2048.regret)


# --- phases, lanes, restarts, tickets ----------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.slow_cells("cascade-ucb-batch-shuffle", "dp-bandit-gaussian", "cucb-batch-gaussian")
@pytest.mark.parametrize("name", PHASED)
def test_an_action_is_held_to_the_end_of_its_epoch_at_most(name: str) -> None:
    gate = Simulation(5, 64)
    learner = builder(name)(gate)
    problem, rng = CASES[name], LaneStreams(5, 64, key=(2,))
    seen = np.zeros(64, dtype=np.int64)
    for record in range(1, 60 if name in BY_EPOCHS else 600):
        action = learner.act()
        held = learner.committed_rounds
        assert (held >= 1).all()
        if name in BY_EPOCHS:
            assert (epoch_of(seen + held - 1) == epoch_of(seen)).all()
        values = problem.draw_totals(action, held, rng)
        learner.observe(gate.private(values, learner.feedback_domain, record), held)
        seen = seen + held
    assert (epoch_of(seen) > 0).any()
    assert len(np.unique(seen)) > 1
    np.testing.assert_array_equal(learner.rounds.observed, seen)
    for k in np.unique(epoch_of(seen)) if name in BY_EPOCHS else ():
        own = epoch_of(seen) == k  # and each lane has the indices of its own epoch
        twin = told(name, learner, epoch_horizon(int(k)))
        np.testing.assert_array_equal(shown(learner)[own], shown(twin)[own])


def test_a_saved_run_with_a_horizon_is_not_gone_on_with_without(tmp_path: Path) -> None:
    with DurableRun(builder("cucb-batch", horizon=100), accountant("")) as run:
        run.save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"horizon \(100 then, None now\)"):
        DurableRun.load(tmp_path / "run", builder("cucb-batch"), noise=np.random.default_rng(1))


def test_epochs_count_what_was_observed_whenever_it_comes(short_epochs: None) -> None:
    """Tickets that wait or are withdrawn count nothing, and what outcomes say does not either."""
    for outcome in (0.0, 1.0):
        gate = accountant("")
        learner = CUCBLDP1(UniformMatroid(4, 2), gate, epsilon=2.0, horizon=None)
        open_ = [learner.issue() for _ in range(12)]
        learner.withdraw(open_.pop())
        assert learner.epoch == 0
        for late, ticket in enumerate(reversed(open_)):
            values = gate.private([outcome, outcome], learner.feedback_domain, late)
            learner.observe(values, ticket=ticket)
            assert learner.epoch == (late + 1 >= 8)
        assert learner.exponent == pytest.approx(math.log(48))  # H_1 = 8 * 6


def test_messages_of_devices_count_too(short_epochs: None) -> None:
    gate = Accountant(Budget(2.0), trust=Trust.LOCAL)
    learner = CascadeUCBRR(RankedLists(4, 2), gate, epsilon=2.0, horizon=None)
    for user in range(9):
        ticket = learner.issue()
        question = learner.pose(ticket)
        device = Accountant(Budget(2.0), trust=Trust.LOCAL)
        message = question.answer(device, [1.0, 0.0], user)
        learner.observe_message(question, message, user, ticket=ticket)
    assert learner.epoch == 1
    assert learner.exponent == pytest.approx(math.log(6 * 4 * (8 * 6) ** 2))


def test_a_named_run_needs_no_horizon(tmp_path: Path) -> None:
    named = NamedLearner("cucb-batch", "top-k", 1.0, None)
    begin_named_run(tmp_path / "run", named, Accountant(Budget(1.0))).close()
    with load_named_run(tmp_path / "run") as run:
        assert isinstance(run.learner, CUCBBatch)
        assert run.learner.rounds.horizon is None
    with pytest.raises(ValueError, match="horizon = None: must be given"):
        NamedLearner("published/cucb-dp", "top-k", 1.0, None)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_it_is_certified_as_with_a_horizon(name: str) -> None:
    """The plan is the same, and every record of the runs that are looked at pays what it says."""
    delta = DELTA if name.endswith(("gaussian", "shuffle")) else 0.0
    found = verify(name, epsilon=1.0, delta=delta, effort="quick", settings={"anytime": "yes"}, horizon=24)
    assert found.verdict == "certified"


# --- theorems ----------------------------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BY_EPOCHS)
def test_the_bound_is_that_for_the_epoch_s_horizon(name: str) -> None:
    bound, told = BOUNDS[name], LEVEL if name.startswith("cascade-ucb-batch") else {}
    anytime = {"anytime": "yes"} | told
    for rounds, horizon in ((1, 2048), (1024, 2048), (1025, 6144), (10**5, 65536 * 72)):
        here = bound.evaluate(Instance(CASES[name], 2.0, rounds, DELTA, anytime))
        there = bound.evaluate(Instance(CASES[name], 2.0, horizon, DELTA, told))
        assert here == pytest.approx(there + float(bound.outlasting), rel=1e-12)
        assert here > bound.evaluate(Instance(CASES[name], 2.0, rounds, DELTA, told))


def test_the_bound_says_that_it_is_of_an_epoch() -> None:
    words = BOUNDS["cascade-ucb-batch"].sentence(anytime=True)
    assert words.startswith(
        "In epoch k (from 0) of a learner that does not know the horizon, expected regret is at most 5/2 +"
    )
    assert "T: N (k + 1)(k + 2), N the rounds of the epoch" in words
    told = BOUNDS["dp-bandit"].sentence(anytime=True)
    assert told.startswith("After T rounds")
    assert "T_0: T, and 2048 for a learner without a horizon" in told


def test_the_bound_of_one_arm_at_a_time_holds_at_every_horizon() -> None:
    here = BOUNDS["dp-bandit"].evaluate(Instance(ONE, 0.5, 10**5, DELTA, {"anytime": "yes"}))
    releases, each = ReleaseCounts(10**5, 2 * math.log(2048), 8.0, 2.0), []
    for theta in np.linspace(0.05, 0.9, 35):
        plays = releases.rounds_fed((1 - theta) * np.array([0.7, 0.4, 0.5]))
        behind = releases.behind(0.4, 0.7, theta)
        each.append(float(np.dot(plays, (0.7, 0.4, 0.5))) + behind)
    assert here == pytest.approx(min(each), rel=1e-6)


def proof(make: type[Any], name: str) -> Any:
    settings = {"anytime": "yes"} | (LEVEL if name.startswith("cascade-ucb-batch") else {})
    instance = Instance(CASES[name], 8.0, 5000, DELTA, settings)
    return check_proof(make, BOUNDS[name], instance, problem=name, seed=1, error=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_the_proof_rests_on_holds_over_epochs(name: str, epochs_of_proofs: None) -> None:
    """Every index is computed again, with its epoch's exponent; false alarm 1e-6."""
    checks = proof(learners[name].make, name)
    assert len(checks) > 5
    assert [check.name for check in checks if check.violated] == []
    assert any("288 rounds" in check.description for check in checks) is (name in BY_EPOCHS)


def test_indices_that_stay_as_they_were_are_found_out(epochs_of_proofs: None) -> None:
    class Forgets(CUCBLDP1):
        def renew(self, lanes: Any) -> None:
            pass

    (found,) = proof(Forgets, "cucb-ldp1")
    assert (found.name, found.violated) == ("radius", True)
    assert found.description.startswith("round 16,")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cucb-batch", "dp-bandit"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_not_knowing_the_horizon_costs_a_third_at_most(name: str, epsilon: float) -> None:
    """At T = 10^5, by 5 standard errors of the difference: false alarm 3e-7 for each of 6 cells if it is 1.35."""
    problem = build_problem(learners[name].default_problem)
    runs = {"horizon": 10**5, "runs": 512, "checkpoints": 2}
    entry = learners[name]
    known = simulate(entry.build(problem, epsilon=epsilon, horizon=10**5), problem, seed=1, **runs)
    free = simulate(entry.build(problem, epsilon=epsilon, horizon=None), problem, seed=2, **runs)
    error = math.hypot(float(free.regret_sem[-1]), 1.35 * float(known.regret_sem[-1]))
    assert free.regret_mean[-1] <= 1.35 * known.regret_mean[-1] + 5 * error
