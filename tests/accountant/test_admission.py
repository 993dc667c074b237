"""Values that wait for their release: who could not pay is refused at the door, by name."""

from __future__ import annotations

import numpy as np
import pytest

from accountant import Accountant, Budget, BudgetExceeded, RecordWaiting, SensitivityExceeded, Simulation
from algorithms import CascadeUCBBatch, CUCBBatch, HorizonPassed
from algorithms.problems import RankedLists, TopK, UniformMatroid
from mechanisms import Box, Laplace

PAIR = Box(0, 1, 2)
HALF = Laplace.for_epsilon(0.5, sensitivity=PAIR.sensitivity)
AT = np.array([[0, 2]])


def accountant(epsilon: float = 1.0) -> Accountant:
    return Accountant(Budget(epsilon), noise=np.random.default_rng(0))


def test_a_record_that_waits_is_refused_until_it_was_released() -> None:
    gate = accountant()
    sums = gate.sums(3)
    sums.add(gate.private([1, 1], PAIR, "ann"), at=AT, release=HALF)
    with pytest.raises(RecordWaiting, match="'ann' is in these sums already") as refused:
        sums.add(gate.private([1, 0], PAIR, "ann"), at=np.array([[1, -1]]), release=HALF)
    assert refused.value.record == "ann"
    first = np.array([[True, False, False]])
    gate.release(HALF, sums, where=first)
    sums.clear(first)
    with pytest.raises(RecordWaiting):  # half of it is still there
        sums.add(gate.private([1, 0], PAIR, "ann"), at=AT, release=HALF)
    rest = np.array([[False, False, True]])
    gate.release(HALF, sums, where=rest)
    sums.clear(rest)
    sums.add(gate.private([1, 0], PAIR, "ann"), at=AT, release=HALF)


def test_who_cannot_pay_or_moves_too_far_is_refused_and_nothing_is_added() -> None:
    gate = accountant(0.75)
    sums = gate.sums(3)
    gate.release(HALF, gate.private([1, 1], PAIR, "ann"))
    with pytest.raises(BudgetExceeded, match="'ann'"):
        sums.add(gate.private([1, 1], PAIR, "ann"), at=AT, release=HALF)
    with pytest.raises(SensitivityExceeded):
        sums.add(gate.private([1, 2], Box(0, 2, 2), "bob"), at=AT, release=HALF)
    before = len(gate.ledger)
    gate.release(HALF, sums)  # empty: nobody is charged
    assert len(gate.ledger) == before
    assert gate.spent("bob").epsilon == 0


def test_gates_without_a_ledger_admit_everybody() -> None:
    gate = Simulation(0, 64)
    sums = gate.sums(3)
    for _ in range(2):
        value = gate.private(np.ones((64, 2)), PAIR, "ann")
        sums.add(value, at=np.repeat(AT, 64, axis=0), release=HALF)


LEARNERS = {
    "least": lambda gate: CUCBBatch(TopK(arms=20, size=5), gate, epsilon=1.0, horizon=1000),
    "matroid": lambda gate: CUCBBatch(UniformMatroid(20, 5), gate, epsilon=1.0, horizon=1000),
    "cascade": lambda gate: CascadeUCBBatch(
        RankedLists(items=20, positions=5), gate, epsilon=1.0, horizon=1000
    ),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LEARNERS)
def test_users_who_come_back_stop_nobody_else(name: str) -> None:
    """As long as a budget allows one visit, each first visit is taken and each further one refused by name."""
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0), seed=1)
    learner = LEARNERS[name](gate)
    rng = np.random.default_rng(3)
    seen: set[str] = set()
    for _ in range(250):
        user = f"user-{rng.integers(120)}"
        learner.act()
        value = gate.private(np.eye(5)[0], learner.feedback_domain, user)
        if user in seen:
            with pytest.raises((RecordWaiting, BudgetExceeded), match=f"'{user}'"):
                learner.observe(value)
        else:
            learner.observe(value)
            seen.add(user)
    assert gate.worst()[1].epsilon == 1


def test_a_batch_with_somebody_who_paid_elsewhere_is_lost_and_the_next_one_starts() -> None:
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    learner = CUCBBatch(TopK(arms=1, size=1), gate, epsilon=1.0, horizon=2)
    whole = Laplace.for_epsilon(1.0, sensitivity=learner.feedback_domain.sensitivity)

    def visit(user: str) -> None:
        learner.act()
        learner.observe(gate.private([1.0], learner.feedback_domain, user))

    visit("one")  # the first batch has one outcome, the second two
    visit("two")
    gate.release(whole, gate.private([1.0], learner.feedback_domain, "two"))
    with pytest.raises(BudgetExceeded, match="'two'"):
        visit("three")
    assert gate.spent("three").epsilon == 0
    with pytest.warns(HorizonPassed):
        visit("four")
    visit("five")
    assert gate.spent("five").epsilon == 1
