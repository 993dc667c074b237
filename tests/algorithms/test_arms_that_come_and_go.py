"""Arms that come and go: who can leave some out does, at the same price; who cannot says so, and nothing changes."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled
from algorithms import AmbiguousFeedback, CUCBBatch, CUCBLDPBit, DPBandit, DurableRun
from algorithms.catalogue.structured_entries import learners
from algorithms.problems import (
    Arms,
    MaximumCoverage,
    ProblemError,
    TopK,
    UniformMatroid,
)

CAN = {
    *("cucb-batch", "cucb-batch-gaussian", "cucb-ldp1", "cucb-ldp2", "cucb-ldp-bit", "cucb-ldp-gaussian"),
    *("dp-bandit", "dp-bandit-gaussian", "dp-bandit-shuffle", "dp-bandit-ldp", "cascade-ucb-rr"),
}
"""The certified learners that play without some arms."""
EPSILON, DELTA, ROUNDS = 1.0, 1e-3, 60


def accountant(budget: Budget = Budget(math.inf, 1.0), **options: Any) -> Accountant:  # noqa: B008
    return Accountant(budget, noise=np.random.default_rng(1), seed=2, **options)


def test_who_can_is_who_says_so() -> None:
    assert {name for name, each in learners.items() if not each.make.needs_all_arms} == CAN
    assert not {name for name in CAN if name.startswith("published/")}


def test_a_refused_set_of_arms_draws_nothing() -> None:
    gate = accountant()
    learner = CUCBLDPBit(UniformMatroid(5, 2), gate, epsilon=1.0, horizon=100)
    before = gate.random.bit_generator.state
    for wrong in ([], [1], [1, 1], [1, 5], [True] * 5):
        with pytest.raises(ProblemError):
            learner.act(available=wrong)
        with pytest.raises(ProblemError):
            learner.issue(available=wrong)
    assert gate.random.bit_generator.state == before
    assert not vars(learner).get("action")


def test_a_structure_that_cannot_leave_arms_out_says_which_can() -> None:
    learner = CUCBBatch(MaximumCoverage(3, 2, 1), accountant(), epsilon=1.0, horizon=100)
    with pytest.raises(ProblemError, match="MaximumCoverage cannot leave arms out; those of TopK"):
        learner.act(available=range(4))


def test_arms_that_are_there_do_not_tell_of_a_neighbour() -> None:
    """What is released is the same function of the feedback: the exact loss of a record is at most epsilon."""
    gate = Coupled(5, 64, 1)
    learner = CUCBBatch(TopK(4, 2), gate, epsilon=EPSILON, horizon=100)
    for user in range(30):
        learner.act(available=[user % 4, (user + 1) % 4, (user + 2) % 4])
        values = np.zeros((2, 64, 2))
        values[1, :, :] = float(user == 7)
        learner.observe(gate.private(values, learner.feedback_domain, user))
    assert 0.5 < np.abs(gate.loss).max() <= EPSILON * (1 + 1e-9)
    assert not gate.divergences


def test_an_arm_s_batch_waits_while_it_is_not_there() -> None:
    gate = accountant()
    learner = DPBandit(Arms(3), gate, epsilon=1.0, horizon=1000)

    def play(user: int, **options: Any) -> int:
        arm = int(learner.act(**options)[0, 0])
        assert learner.committed_rounds[0] == learner.batches.values_until_full(np.array([[arm]]))[0]
        learner.observe(gate.private([0.0], learner.feedback_domain, user))
        return arm

    assert [play(1), play(2)] == [0, 0]
    assert [play(3, available=[2, 1]), play(4, available=[1, 2])] == [1, 1]
    assert [play(5), play(6, available=[0, 2])] == [0, 0]
    user = 7
    while not learner.batches.releases[0, 1]:  # the others are gone for good: it is learned from all the same
        assert play(user, available=[1]) == 1
        user += 1
    assert play(user) == 0
    assert play(user + 1, available=[1, 2]) == 2


def test_feedback_on_another_round_s_arms_is_ambiguous_without_a_ticket() -> None:
    gate = accountant()
    learner = CUCBBatch(TopK(4, 2), gate, epsilon=1.0, horizon=100)
    learner.act(available=[0, 1])
    learner.act(available=[2, 3])
    with pytest.raises(AmbiguousFeedback):
        learner.observe(gate.private([1.0, 1.0], learner.feedback_domain, "ann"))


def test_a_saved_run_goes_on_with_its_tickets_and_arms(tmp_path: Path) -> None:
    def build(gate: Accountant) -> CUCBBatch:
        return CUCBBatch(TopK(5, 2), gate, epsilon=1.0, horizon=100)

    def goes_on(run: DurableRun[CUCBBatch], names: list[str]) -> list[list[int]]:
        for user, name in enumerate(reversed(names)):
            private = run.accountant.private([1.0, 0.0], run.learner.feedback_domain, f"late-{user}")
            run.learner.observe(private, ticket=name)
        return [run.learner.act(available=each)[0].tolist() for each in ([4, 3, 1], [0, 2], range(5))]

    with DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(1), seed=2)) as run:
        names = [run.learner.issue(available=each).name for each in ([1, 4], [2, 3, 4], [0, 1])]
        run.save(tmp_path / "run")
        with run.turn():
            never_stopped = goes_on(run, names)
            run.close()
    with DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(1)) as again:
        shown = [each.action[0].tolist() for each in again.learner.tickets.values()]
        assert shown == [[1, 4], [2, 3], [0, 1]]
        assert goes_on(again, names) == never_stopped
