"""Feedback that comes late, out of order or never is credited to its own action, and every record pays once."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from accountant import Accountant, Budget, BudgetExceeded, Coupled, Simulation
from algorithms import (
    CUCBLDP1,
    AmbiguousFeedback,
    CascadeUCBBatch,
    CUCBBatch,
    DurableRun,
    TicketRefused,
)
from algorithms.estimates.doubling_batches import released_counts
from algorithms.problems import RankedLists, TopK

ALMOST_EXACT = 1e7
"""An epsilon whose noise cannot be told from none, so that what was credited can be read off."""

ARMS, SIZE = 5, 2


def accountant(epsilon: float = math.inf) -> Accountant:
    return Accountant(
        Budget(epsilon, 1.0 if math.isinf(epsilon) else 0.0), noise=np.random.default_rng(1), seed=2
    )


def batches(gate: Any) -> CUCBBatch:
    return CUCBBatch(TopK(ARMS, SIZE), gate, epsilon=ALMOST_EXACT, horizon=10_000)


def messages(gate: Any) -> CUCBLDP1:
    return CUCBLDP1(TopK(ARMS, SIZE), gate, epsilon=ALMOST_EXACT, horizon=10_000)


def send(learner: Any, user: str, values: list[float], ticket: Any = None) -> None:
    feedback = learner.gate.private(values, learner.feedback_domain, user)
    learner.observe(feedback, ticket=ticket)


def test_feedback_that_could_be_on_two_actions_is_refused() -> None:
    """Two users are shown [0 1]; after the first one's feedback the learner plays [2 3]."""
    gate = accountant()
    learner = CUCBLDP1(TopK(arms=4, size=2), gate, epsilon=ALMOST_EXACT, horizon=100)
    first, bobs = learner.act(), learner.act()
    assert first.tolist() == bobs.tolist() == [[0, 1]]
    user = 0
    while learner.act().tolist() == [[0, 1]]:  # one after the other answers, but not bob
        user += 1
        send(learner, f"user-{user}", [0.0, 0.0])
    before = learner.estimates.count.tolist()
    with pytest.raises(AmbiguousFeedback, match=r"2 earlier calls of act returned other actions"):
        send(learner, "bob", [1.0, 1.0])
    assert gate.spent("bob").epsilon == 0
    assert learner.estimates.count.tolist() == before == [[user, user, 0, 0]]
    learner.withdraw()
    send(learner, "cid", [1.0, 1.0])
    assert learner.estimates.count.tolist() == [[user, user, 1, 1]]


def test_users_who_were_shown_the_same_may_answer_one_after_the_other() -> None:
    learner = messages(accountant())
    for _ in range(3):
        learner.act()
    for user in ("ann", "bob", "cid"):
        send(learner, user, [0.0, 1.0])
    assert learner.estimates.count[0].tolist() == [3, 3, 0, 0, 0]
    learner.act()
    send(learner, "dan", [0.0, 1.0])


def test_who_is_refused_is_not_waited_for() -> None:
    gate = accountant(ALMOST_EXACT)
    learner = messages(gate)
    for user in range(20):
        learner.act()
        send(learner, f"user-{user}", [1.0, 0.0])
        learner.act()
        with pytest.raises(BudgetExceeded):
            send(learner, "user-0", [1.0, 0.0])


def test_a_refused_record_leaves_its_ticket_open() -> None:
    learner = messages(accountant(ALMOST_EXACT))
    one, other = learner.issue(), learner.issue()
    send(learner, "ann", [1.0, 1.0], one)
    with pytest.raises(BudgetExceeded):
        send(learner, "ann", [1.0, 1.0], other)
    send(learner, "bob", [1.0, 1.0], other)
    assert not learner.tickets


def test_a_ticket_in_turn_is_the_protocol_without_tickets() -> None:
    with_tickets, without = (
        CUCBBatch(TopK(arms=4, size=2), Simulation(3, 64), epsilon=1.0, horizon=100) for _ in range(2)
    )
    for user in range(60):
        values = np.random.default_rng(user).random((64, 2))
        ticket, action = with_tickets.issue(), without.act()
        assert (ticket.action == action).all()
        for learner, its in ((with_tickets, ticket), (without, None)):
            learner.observe(learner.gate.private(values, learner.feedback_domain, user), ticket=its)
    assert with_tickets.index.tobytes() == without.index.tobytes()


def test_late_feedback_costs_its_record_no_more() -> None:
    """Exact losses of two neighbours, in 2,560 lanes: feedback comes in an order that was fixed in advance."""
    gate = Coupled(8, 64 * 40, 1)
    learner = CUCBBatch(TopK(4, 2), gate, epsilon=1.0, horizon=40)
    order = np.random.default_rng(0).permutation(40)
    tickets: dict[int, Any] = {}
    for step in range(50):
        if step < 40:
            tickets[step] = learner.issue()
        if step >= 10:
            user = int(order[step - 10])
            if user not in tickets:
                continue
            values = np.zeros((2, 64 * 40, 2))
            values[0] = user == 3  # the record that differs
            feedback = gate.private(values, learner.feedback_domain, user)
            learner.observe(feedback, ticket=tickets.pop(user))
    assert not gate.divergences
    assert gate.loss.max() <= 1 + 1e-9
    assert gate.loss.max() >= 0.9


def test_a_phase_waits_for_its_clicks_and_needs_no_more() -> None:
    gate = accountant()
    learner = CascadeUCBBatch(
        RankedLists(items=4, positions=2), gate, epsilon=1.0, horizon=100, index="confidence"
    )
    first, second = learner.issue(), learner.issue()
    assert (first.action == second.action).all()  # a phase of one round; meanwhile its list stays
    send(learner, "ann", [1.0, 0.0], second)
    third = learner.issue()
    assert set(third.action[0].tolist()).isdisjoint(first.action[0].tolist())
    send(learner, "bob", [1.0, 0.0], first)  # its phase is over
    assert gate.spent("bob").epsilon == 0
    assert learner.estimates.displays.tolist() == [[1.0, 1.0, 0.0, 0.0]]
    send(learner, "cid", [0.0, 0.0], third)
    assert learner.estimates.displays.tolist() == [[1.0, 1.0, 1.0, 1.0]]


def test_a_crash_with_a_hundred_open_tickets_loses_none(tmp_path: Path) -> None:
    run = DurableRun(batches, accountant())
    tickets = [run.learner.issue() for _ in range(100)]
    run.save(tmp_path / "run")
    shown = {ticket.name: ticket.action for ticket in tickets}
    run.close()  # all that is left of it is the folder, and what the users were shown
    with DurableRun.load(tmp_path / "run", batches, noise=np.random.default_rng(0)) as again:
        assert {ticket.name for ticket in again.learner.tickets.values()} == set(shown)
        for number, name in enumerate(np.random.default_rng(0).permutation(list(shown)).tolist()):
            assert (again.learner.waiting.find(name).action == shown[name]).all()
            send(again.learner, f"user-{number}", [1.0, 0.0], name)
            with pytest.raises(TicketRefused):
                send(again.learner, "late", [1.0, 0.0], name)
        assert not again.learner.tickets
        assert again.learner.batches.size.sum() > 0


@pytest.mark.parametrize("adopted", [False, True])
def test_a_ticket_of_what_a_backup_has_forgotten_is_of_no_other_action(tmp_path: Path, adopted: bool) -> None:
    """Its number is handed out again: for another action, shown to somebody else."""
    folder, backup = tmp_path / "run", tmp_path / "backup"
    run = DurableRun(batches, accountant())
    kept = run.learner.issue()
    run.save(folder)
    run.close()
    shutil.copytree(folder, backup)
    with DurableRun.load(folder, batches, noise=np.random.default_rng(0)) as run:
        forgotten = run.learner.issue()
        run.save()
    if adopted:  # as a folder moved over the first
        shutil.rmtree(folder)
        backup.rename(folder)
    else:  # written over it in place, which is not noticed
        (folder / "ledger.db").write_bytes((backup / "ledger.db").read_bytes())
    with DurableRun.load(folder, batches, noise=np.random.default_rng(0), adopt=adopted) as run:
        again = run.learner.issue()
        assert again.number == forgotten.number
        with pytest.raises(TicketRefused, match="it is not of this run"):
            send(run.learner, "late", [1.0, 0.0], forgotten.name)
        send(run.learner, "bob", [1.0, 0.0], again.name)
        send(run.learner, "ann", [1.0, 0.0], kept.name)
        assert not run.learner.tickets


@pytest.mark.slow
def test_tickets_of_many_restarts_stay_open_and_used_ones_are_known(tmp_path: Path) -> None:
    run = DurableRun(batches, accountant())
    first, used = run.learner.issue(), run.learner.issue()
    send(run.learner, "bob", [1.0, 0.0], used)
    shown = [first.name]
    run.save(tmp_path / "run")
    for restart in range(40):
        run.close()
        run = DurableRun.load(tmp_path / "run", batches, noise=np.random.default_rng(0))
        shown.append(run.learner.issue().name)
        if restart % 2:  # of every other one a ticket is open
            run.learner.withdraw(shown.pop())
            last = run.learner.issue()
            run.learner.withdraw(last)
        with pytest.raises(TicketRefused, match="it was used or withdrawn"):
            run.learner.withdraw(used)
        run.save()
    assert [ticket.name for ticket in run.learner.tickets.values()] == shown
    assert len({name.partition("-")[0] for name in shown}) == len(shown) == 21
    with pytest.raises(TicketRefused, match="it was used or withdrawn"):
        run.learner.withdraw(last)
    with pytest.raises(TicketRefused, match="it was never issued"):
        run.learner.withdraw(f"{last.word}-{last.number + 1}")
    for number, name in enumerate(reversed(shown)):
        send(run.learner, f"user-{number}", [1.0, 0.0], name)
    run.close()


class Interleavings(RuleBasedStateMachine):
    """A shop with many users at once: each outcome is credited to the action that its own user was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.open: dict[str, tuple[int, ...]] = {}
        self.used: list[str] = []
        self.credited: dict[int, list[float]] = {arm: [] for arm in range(ARMS)}
        self.users: list[str] = []

    @initialize(build=st.sampled_from([batches, messages]))
    def start(self, build: Any) -> None:
        self.build = build
        self.run = DurableRun(build, accountant(ALMOST_EXACT * 1.5))
        self.run.save(self.folder / "run")

    def teardown(self) -> None:
        if hasattr(self, "run"):
            self.check()
            self.run.close()
        shutil.rmtree(self.folder)

    @rule()
    def show(self) -> None:
        ticket = self.run.learner.issue()
        self.open[ticket.name] = tuple(ticket.action[0].tolist())

    def answer(self, name: str, values: list[float]) -> None:
        user = f"user-{len(self.users)}"
        send(self.run.learner, user, values, name)
        self.users.append(user)
        for arm, value in zip(self.open.pop(name), values, strict=True):
            self.credited[arm].append(value)
        self.used.append(name)

    @precondition(lambda self: self.open)
    @rule(
        data=st.data(), values=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=SIZE, max_size=SIZE)
    )
    def come_back(self, data: Any, values: list[float]) -> None:
        self.answer(data.draw(st.sampled_from(sorted(self.open))), values)

    @precondition(lambda self: len(self.open) > 1)
    @rule(value=st.sampled_from([0.0, 1.0]))
    def all_come_back_the_last_one_first(self, value: float) -> None:
        for name in reversed(list(self.open)):
            self.answer(name, [value, 1 - value])

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def never_comes_back(self, data: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.open)))
        self.run.learner.withdraw(name)
        del self.open[name]
        self.used.append(name)

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def comes_back_again(self, data: Any) -> None:
        with pytest.raises(TicketRefused):
            send(self.run.learner, "again", [1.0, 1.0], data.draw(st.sampled_from(self.used)))

    @precondition(lambda self: self.open and self.users)
    @rule(data=st.data())
    def a_record_that_paid_comes_back(self, data: Any) -> None:
        with pytest.raises(BudgetExceeded):
            send(self.run.learner, self.users[0], [1.0, 1.0], data.draw(st.sampled_from(sorted(self.open))))

    @rule()
    def crash(self) -> None:
        self.run.save()
        self.run.close()
        self.run = DurableRun.load(self.folder / "run", self.build, noise=np.random.default_rng(1))

    def check(self) -> None:
        learner: Any = self.run.learner
        assert {t.name: tuple(t.action[0].tolist()) for t in learner.tickets.values()} == self.open
        learned = learner.confidence()
        for arm, values in self.credited.items():
            full = [0, *released_counts(len(values), 1, CUCBBatch.growth, CUCBBatch.falling)]
            count = len(values) if self.build is messages else full[-1]
            assert learned.count[0, arm] == count
            if count:
                assert learned.estimate[0, arm] == pytest.approx(np.mean(values[:count]), abs=1e-4)
        gate = self.run.accountant
        assert gate.spent("again").epsilon == 0
        if self.build is messages:
            assert all(gate.spent(user).epsilon == pytest.approx(ALMOST_EXACT) for user in self.users)
        else:
            assert all(gate.spent(user).epsilon <= ALMOST_EXACT * (1 + 1e-9) for user in self.users)


def interleave(examples: int, steps: int) -> None:
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Interleavings,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_interleavings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # what a power cut leaves is tested elsewhere
    interleave(3, 12)


@pytest.mark.slow
def test_ten_thousand_interleavings() -> None:
    """Up to eight users at once; each outcome says whose it is, and the sums of arms say what was credited."""
    rng = np.random.default_rng(3)
    for _ in range(10_000):
        learner = messages(accountant(ALMOST_EXACT))
        expected, held, user = np.zeros(ARMS), [], 0
        for step in rng.integers(3, size=16).tolist():
            if step == 0 or not held:
                held.append(learner.issue())
                continue
            ticket = held.pop(int(rng.integers(len(held))))
            if step == 1:
                learner.withdraw(ticket)
                continue
            values = rng.integers(5, size=SIZE) / 4
            send(learner, f"user-{user}", values.tolist(), ticket)
            expected[ticket.action[0]] += values
            user += 1
        credited = learner.estimates.mean * learner.estimates.count
        assert credited[0] == pytest.approx(expected, abs=1e-4)
        assert set(learner.tickets) == {ticket.number for ticket in held}
        assert len(learner.gate.ledger) == user
        assert all(
            learner.gate.spent(f"user-{i}").epsilon == pytest.approx(ALMOST_EXACT) for i in range(user)
        )
