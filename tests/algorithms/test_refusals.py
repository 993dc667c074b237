"""A refused record is refused before anything changes: the learner goes on as if it had never come."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accountant import (
    Accountant,
    Budget,
    BudgetExceeded,
    ForeignValue,
    RecordWaiting,
    Simulation,
    Trust,
    TrustViolation,
)
from algorithms import (
    CUCBLDP1,
    CascadeUCBBatch,
    CascadeUCBRR,
    CUCBBatch,
    CUCBLDPBit,
    DPDPECentral,
    DPDPELocal,
    DPDPEShuffle,
    DPPECentral,
    DPPELocal,
    DPPEShuffle,
    NothingPlayed,
    PrivateHybridSums,
    PrivateTreeSums,
    published,
)
from algorithms.catalogue.linear_entries import linear_learners
from algorithms.catalogue.structured_entries import learners
from algorithms.catalogue.suggestion import suggest
from algorithms.play import start_warm
from algorithms.problems import (
    ProblemError,
    RankedLists,
    SemiBandit,
    TopK,
    UniformMatroid,
    build_problem,
    linear_problems,
    problems,
)
from algorithms.simulate import simulate
from mechanisms import BinaryTree, Box, DomainError, Hybrid, Laplace, OneHot

ROUNDS = 14
TOP, LISTS, BASES = TopK(arms=6, size=3), RankedLists(items=6, positions=3), UniformMatroid(6, 3)
RETURNING: dict[str, tuple[type, Any]] = {
    "batches": (CUCBBatch, TOP),
    "bases": (CUCBBatch, BASES),
    "bit": (CUCBLDPBit, TOP),
    "laplace": (CUCBLDP1, TOP),
    "response": (CascadeUCBRR, LISTS),
    "phases": (CascadeUCBBatch, LISTS),
}
LINEAR = [DPDPECentral, DPDPELocal, DPDPEShuffle, DPPECentral, DPPELocal, DPPEShuffle]
BANDIT = linear_problems["linear"].build(
    actions=8, dimension=3, length=0.8, sigma=0.0, population=1000, instance=1, rewards="signs"
)


class Recording(Accountant):
    """An accountant that keeps what it has released."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.outputs: list[Any] = []

    def release(self, mechanism: Any, private: Any, where: Any = None) -> Any:
        outputs = super().release(mechanism, private, where)
        self.outputs.append(outputs.tolist())
        return outputs


def charges(gate: Recording) -> list[Any]:
    """Return who paid what, in order, and what was released."""
    paid = [(entry.mechanism, entry.charge, entry.records) for entry in gate.ledger.entries]
    return [*paid, *gate.outputs]


def outcomes(learner: Any, record: int) -> np.ndarray:
    """Return a user's feedback, whatever was played."""
    size = learner.feedback_domain.size
    if isinstance(learner.feedback_domain, OneHot):
        return np.eye(size + 1, size)[record % (size + 1)]
    return (np.arange(size) + record) % 3 / 2


# --- feedback that is none --------------------------------------------------------------------------


def unfit(gate: Accountant, learner: Any) -> list[tuple[type[ValueError], Any]]:
    """Return what no learner takes, and how it is refused."""
    domain, size = learner.feedback_domain, learner.feedback_domain.size
    good = outcomes(learner, 1)
    other = Accountant(Budget(1.0))
    return [
        (ForeignValue, good[np.newaxis]),
        (ForeignValue, good.tolist()),
        (ForeignValue, other.private(good, domain, "odd")),
        (DomainError, gate.private(np.zeros(size + 1), Box(0, 1, size + 1), "odd")),
        (DomainError, gate.private(np.full(size, 5.0), Box(0, 10, size), "odd")),
        (DomainError, gate.private(np.full(size, -0.5), Box(-0.5, 0.5, size), "odd")),
        (DomainError, gate.private(good, domain, "odd") * 0.5),
        (ValueError, gate.private(good, domain, "odd") + gate.private(good, domain, "even")),
    ]


@pytest.mark.few(3)
@pytest.mark.parametrize("name", learners)
def test_feedback_from_elsewhere_is_refused_and_changes_nothing(name: str) -> None:
    entry = learners[name]
    problem = problems[entry.default_problem].build()
    build = entry.build(problem, epsilon=1.0, horizon=100)

    def play(disturbed: bool) -> tuple[list[Any], list[Any]]:
        trust = Trust.LOCAL if entry.claim.model == "local" else Trust.CENTRAL
        gate = Recording(Budget(math.inf, 1.0), trust=trust, noise=np.random.default_rng(1), seed=2)
        learner: Any = build(gate)
        if hasattr(learner, "observe_initial"):
            start_warm(learner, gate, problem, problem.draw_records(np.random.default_rng(3), 1))
        shown = []
        for record in range(1, ROUNDS):
            shown.append(learner.act().tolist())
            for error, value in unfit(gate, learner) if disturbed else ():
                with pytest.raises(error, match="feedback"):
                    learner.observe(value)
            learner.observe(gate.private(outcomes(learner, record), learner.feedback_domain, record))
        assert gate.closure is None
        return shown, charges(gate)

    assert play(True) == play(False)


def test_an_action_comes_before_its_feedback() -> None:
    for build, structure in RETURNING.values():
        gate = Accountant(Budget(1.0), noise=np.random.default_rng(1))
        learner = build(structure, gate, epsilon=1.0, horizon=20)
        with pytest.raises(NothingPlayed, match="call act before observe"):
            learner.observe(gate.private(outcomes(learner, 1), learner.feedback_domain, "ann"))
        assert not len(gate.ledger)


def test_what_is_no_structure_or_no_gate_is_refused() -> None:
    gate = Accountant(Budget(1.0))
    for build, structure in RETURNING.values():
        for wrong in (7, None, gate, TopK):
            with pytest.raises(ProblemError, match=r"structure = .*: must be a structure"):
                build(wrong, gate, epsilon=1.0, horizon=20)
        with pytest.raises(ValueError, match=r"gate = .*: must be a gate"):
            build(structure, structure, epsilon=1.0, horizon=20)
    with pytest.raises(ProblemError, match="pass the problem's structure"):
        CUCBBatch(SemiBandit(TOP, np.full(6, 0.5)), gate, epsilon=1.0, horizon=20)  # type: ignore[arg-type]


# --- users who cannot pay, or come back ---------------------------------------------------------------


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RETURNING)
def test_a_user_without_budget_and_one_who_comes_back_change_nothing(name: str) -> None:
    build, structure = RETURNING[name]

    def play(disturbed: bool) -> tuple[list[Any], list[Any]]:
        gate = Recording(Budget(1.0), noise=np.random.default_rng(1), seed=2)
        learner = build(structure, gate, epsilon=1.0, horizon=20)
        domain = learner.feedback_domain
        whole = Laplace.for_epsilon(1.0, sensitivity=domain.sensitivity)
        gate.release(whole, gate.private(outcomes(learner, 0), domain, "spent"))
        shown = []
        for record in range(1, ROUNDS):
            shown.append(learner.act().tolist())
            if disturbed:
                with pytest.raises(BudgetExceeded, match="'spent'"):
                    learner.observe(gate.private(outcomes(learner, 0), domain, "spent"))
            learner.observe(gate.private(outcomes(learner, record), domain, record))
            if disturbed:
                learner.act()  # a phase may be over
                with pytest.raises((RecordWaiting, BudgetExceeded), match=f"record {record} "):
                    learner.observe(gate.private(outcomes(learner, 0), domain, record))
        return shown, charges(gate)

    assert play(True) == play(False)


def linear_learner(make: Any, gate: Any) -> Any:
    settings = {"population": 1000, "sigma": 0.0} if make.__name__.startswith("DPDPE") else {}
    return make(BANDIT.actions, gate, epsilon=1.0, delta=1e-6, horizon=120, reward_bound=1.0, **settings)


def reports(learner: Any, gate: Any, client: Any) -> Any:
    domain = learner.open_phase.domain
    seed = client if isinstance(client, int) else 10**6
    return gate.private(np.random.default_rng(seed).uniform(-1, 1, (1, domain.size)), domain, client)


@pytest.mark.few(2)
@pytest.mark.parametrize("make", LINEAR)
def test_clients_of_linear_learners_who_cannot_pay_or_come_back_change_nothing(make: Any) -> None:
    def play(disturbed: bool) -> tuple[list[Any], list[Any], Any]:
        gate = Recording(Budget(1.0001, 1e-6), noise=np.random.default_rng(1), seed=2)
        learner = linear_learner(make, gate)
        one = Box(0, 1, 1)
        gate.release(Laplace.for_epsilon(1.0, sensitivity=one.sensitivity), gate.private([1.0], one, "spent"))
        shown, client = [], 0
        while (phase := learner.act()) is not None:
            shown.append((phase.support.tolist(), phase.counts.tolist(), learner.active.tolist()))
            for _ in range(phase.clients):
                if disturbed:
                    with pytest.raises(BudgetExceeded, match="'spent'"):
                        learner.observe(reports(learner, gate, "spent"))
                learner.observe(reports(learner, gate, client))
                if disturbed and learner.open_phase is not None:
                    with pytest.raises((RecordWaiting, BudgetExceeded), match=f"record {client} "):
                        learner.observe(reports(learner, gate, client))
                client += 1
        return shown, charges(gate), learner.communication

    assert play(True) == play(False)


@pytest.mark.parametrize("make", LINEAR)
def test_reports_from_elsewhere_are_refused_and_change_nothing(make: Any) -> None:
    def play(disturbed: bool) -> tuple[list[Any], list[Any]]:
        gate = Recording(Budget(1.0001, 1e-6), noise=np.random.default_rng(1), seed=2)
        learner = linear_learner(make, gate)
        shown, client = [], 0
        while (phase := learner.act()) is not None:
            shown.append((phase.support.tolist(), phase.counts.tolist()))
            for _ in range(phase.clients):
                size = phase.domain.size
                for domain in (Box(-100, 100, size), Box(-1, 1, size + 1)) if disturbed else ():
                    with pytest.raises(DomainError, match="report comes from"):
                        learner.observe(gate.private(np.zeros((1, domain.size)), domain, "odd"))
                if disturbed:
                    with pytest.raises(ForeignValue, match="report of type ndarray: must be private"):
                        learner.observe(np.zeros((1, size)))
                learner.observe(reports(learner, gate, client))
                client += 1
        return shown, charges(gate)

    assert play(True) == play(False)


# --- a budget that was there at the door, and is spent elsewhere before the release -------------------


def lose_a_phase(make: Any) -> tuple[Any, Accountant]:
    gate = Accountant(Budget(1.0001, 1e-6), noise=np.random.default_rng(1), seed=2)
    learner, one = linear_learner(make, gate), Box(0, 1, 1)
    clients = learner.act().clients
    for client in range(clients - 1):
        learner.observe(reports(learner, gate, client))
    gate.release(Laplace.for_epsilon(1.0, sensitivity=one.sensitivity), gate.private([1.0], one, 0))
    with pytest.raises(BudgetExceeded, match="record 0 "):
        learner.observe(reports(learner, gate, clients - 1))
    return learner, gate


@pytest.mark.parametrize("make", [DPDPECentral, DPDPEShuffle, DPPECentral, DPPEShuffle])
def test_a_phase_with_somebody_who_paid_elsewhere_is_lost_and_the_next_one_starts(make: Any) -> None:
    learner, gate = lose_a_phase(make)
    assert learner.open_phase is None
    assert learner.active.size == 8
    client = 1000
    phase = learner.act()
    assert phase.number == 2
    while learner.open_phase is phase:
        learner.observe(reports(learner, gate, client))
        client += 1
    assert 0.97 < gate.spent(1000).epsilon <= 1  # of shuffled bits there are whole numbers


def test_a_list_of_somebody_who_paid_elsewhere_is_lost_and_the_next_one_is_shown() -> None:
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    learner = CascadeUCBBatch(
        RankedLists(items=2, positions=2), gate, epsilon=1.0, horizon=1000, index="confidence"
    )
    whole = Laplace.for_epsilon(1.0, sensitivity=learner.feedback_domain.sensitivity)

    def visit(user: str) -> None:
        learner.act()
        learner.observe(gate.private([1.0, 0.0], learner.feedback_domain, user))

    visit("one")  # the first list is shown once, the second once, the third twice
    visit("two")
    visit("three")
    gate.release(whole, gate.private([1.0, 0.0], learner.feedback_domain, "three"))
    with pytest.raises(BudgetExceeded, match="'three'"):
        visit("four")
    for user in ("five", "six"):
        visit(user)
    assert gate.spent("four").epsilon == 0
    assert gate.spent("six").epsilon == 1


def test_a_tree_with_somebody_who_paid_elsewhere_starts_afresh() -> None:
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    learner = published.CUCBDP(TopK(arms=3, size=3), gate, epsilon=1.0, horizon=1000)
    whole = Laplace.for_epsilon(1.0, sensitivity=learner.feedback_domain.sensitivity)

    def visit(user: str) -> None:
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


def test_a_restarted_tree_sums_what_came_since() -> None:
    """With next to no noise: running sums of all values after the release that failed."""
    gate = Accountant(Budget(1e12), noise=np.random.default_rng(0))
    pair = Box(0, 1, 2)
    at = np.array([[0, 1]])
    for sums in (
        PrivateTreeSums(gate, BinaryTree.for_epsilon(1e11, horizon=40, sensitivity=pair.sensitivity), 2),
        PrivateHybridSums(gate, Hybrid(epsilon=1e11, sensitivity=pair.sensitivity), 2),
    ):
        kind = type(sums).__name__
        for i in range(5):
            sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
        left = float(gate.remaining_spend(f"{kind}-4").epsilon)
        gate.release(
            Laplace.for_epsilon(left - 1.0, sensitivity=pair.sensitivity),
            gate.private([1.0, 0.5], pair, f"{kind}-4"),
        )
        i, lost = 5, False
        while not lost:
            try:
                sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
            except BudgetExceeded as refused:
                lost = refused.record == f"{kind}-4"
                assert lost
            i += 1
        for since in range(1, 25):
            running = sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
            np.testing.assert_allclose(running, [[since, 0.5 * since]], atol=1e-6)
            i += 1


# --- what a tree asks for at the door is what it charges ------------------------------------------------


def ask_at_the_door(
    build: Callable[[Accountant], Any], node: Laplace, paid: Fraction, leaf: int, steps: int
) -> None:
    """Bring a user with just enough, and one with a hair less, to a counter at this leaf; play on to the end."""
    pair = Box(0, 1, 2)
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    counter = build(gate)
    at = np.array([[0, 1]])
    value = [1.0, 0.5]
    for i in range(1, leaf):
        counter.step(gate.private(value, pair, i), at)
    for name, rest in (("short", paid - Fraction(1, 10**6)), ("exact", paid + Fraction(1, 10**6))):
        elsewhere = Laplace.for_epsilon(float(1 - rest), sensitivity=pair.sensitivity)
        gate.release(elsewhere, gate.private(value, pair, name))
    before = gate.spent("exact").epsilon
    with pytest.raises(BudgetExceeded, match="'short'"):
        counter.step(gate.private(value, pair, "short"), at)
    counter.step(gate.private(value, pair, "exact"), at)
    for i in range(leaf + 1, steps + 1):
        counter.step(gate.private(value, pair, i), at)
    charged = gate.spent("exact").epsilon - before  # type: ignore[operator]
    assert charged == pytest.approx(paid, rel=1e-36, abs=0.0)  # charges are rounded up


def test_a_tree_asks_for_all_nodes_that_it_will_release_and_no_more() -> None:
    pair = Box(0, 1, 2).sensitivity
    tree = BinaryTree.for_epsilon(0.9, horizon=13, sensitivity=pair)
    nodes = tree.materialize(13).right.sum(axis=0)
    for leaf in range(1, 14):
        paid = int(nodes[leaf - 1]) * Fraction(2) / Fraction(tree.mechanism.scale)
        ask_at_the_door(lambda gate: PrivateTreeSums(gate, tree, 2), tree.mechanism, paid, leaf, 13)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_hybrid_counter_does_too() -> None:
    pair = Box(0, 1, 2).sensitivity
    hybrid = Hybrid(epsilon=0.9, sensitivity=pair)
    for leaf in range(1, 17):
        levels = leaf.bit_length() - 1
        inside = leaf - (1 << levels)
        tree = BinaryTree(horizon=max((1 << levels) - 1, 1), mechanism=hybrid.node(1))
        nodes = int(tree.materialize(tree.horizon).right.sum(axis=0)[inside - 1]) if inside else 0
        paid = Fraction(2) / Fraction(hybrid.node(1).scale)
        if nodes:
            paid += nodes * Fraction(2) / Fraction(hybrid.node(levels).scale)
        ask_at_the_door(lambda gate: PrivateHybridSums(gate, hybrid, 2), hybrid.node(1), paid, leaf, 32)


# --- trust --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*learners, *linear_learners])
def test_a_gate_that_trusts_nobody_takes_local_learners_only(name: str) -> None:
    entry: Any = learners.get(name) or linear_learners[name]
    problem: Any = BANDIT if name in linear_learners else problems[entry.default_problem].build()
    build = entry.build(problem, epsilon=1.0, horizon=50)
    gate = Accountant(Budget(math.inf, 1.0), trust=Trust.LOCAL, noise=np.random.default_rng(0))
    if entry.claim.model == "local":
        build(gate)
    else:
        with pytest.raises(TrustViolation, match=f"works in the {entry.claim.model} model"):
            build(gate)
    build(Simulation(0, 1))
    assert not len(gate.ledger)


@pytest.mark.parametrize("name", ["dp-bandit", "cucb-ldp-bit", "cascade-ucb-rr"])
@pytest.mark.parametrize("horizon", [10**5000, 2**63], ids=["huge", "64 bits"])
def test_horizons_beyond_64_bits_are_refused(name, horizon):
    """They were an OverflowError, of `simulate` and `suggest`, too."""
    problem = build_problem(learners[name].default_problem)
    with pytest.raises(ValueError, match=r"horizon = .*: must be below 2\^63"):
        learners[name].build(problem, epsilon=1.0, horizon=horizon)
    with pytest.raises(ValueError, match="must be below"):
        suggest(problem, trust="central", epsilon=1.0, horizon=horizon)
    build = learners[name].build(problem, epsilon=1.0, horizon=10)
    with pytest.raises(ValueError, match="must be below"):
        simulate(build, problem, horizon=horizon, runs=1, seed=1)
