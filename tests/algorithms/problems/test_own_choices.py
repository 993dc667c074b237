"""Choices of users' own learners and oracles are played only if they are super arms of available arms."""

import re
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation
from algorithms import CUCBBatch
from algorithms.play import ActionError, play_fresh, play_phases, play_records
from algorithms.problems import (
    Arms,
    Cascade,
    MaximumCoverage,
    PartitionMatroid,
    ProblemError,
    SemiBandit,
    TopK,
    UniformMatroid,
)
from algorithms.simulate import simulate
from mechanisms import Box

SETS = SemiBandit(TopK(4, 2), [0.2, 0.4, 0.6, 0.8])
MATROID = SemiBandit(PartitionMatroid([[0, 1], [2, 3]], [1, 1]), [0.2, 0.4, 0.6, 0.8])
COVERAGE = SemiBandit(MaximumCoverage(3, 2, 1), [0.9, 0.1, 0.1, 0.9, 0.1, 0.1])


class Fixed:
    """Plays one row, whatever it sees."""

    def __init__(self, row: Any, gate: Any, committed: int | None = None) -> None:
        self.row, self.gate, self.rounds = row, gate, committed
        self.feedback_domain = Box(0, 1, 2)

    @property
    def committed_rounds(self) -> Any:
        return np.full(self.gate.lanes, self.rounds)

    def act(self) -> Any:
        return None if self.row is None else np.tile(self.row, (self.gate.lanes, 1))

    def observe(self, feedback: Any, rounds: Any = None) -> None:
        pass


@pytest.mark.parametrize(
    ("problem", "row", "rule"),
    [
        (SETS, [3, 3], "returned [3, 3]; must be different arms"),
        (SETS, [3, -1], "returned [3, -1]; must be 2 arms, as TopK(arms=4, size=2) has"),
        (Cascade(4, 2, SETS.means), [3, -1], "returned [3, -1]; must be 2 arms, as RankedLists("),
        (MATROID, [2, 3], "returned [2, 3]; must be a basis of PartitionMatroid("),
        (MATROID, [3, -1], "returned [3, -1]; must be a basis of PartitionMatroid("),
        (COVERAGE, [0, 3], "returned [0, 3], which earns 1.8, above the optimum 1: must be a super arm"),
        (SETS, None, "returned object of shape (); must be whole numbers"),
    ],
)
def test_what_is_no_super_arm_is_not_played(problem: Any, row: Any, rule: str) -> None:
    """Two good arms of one part, or a good one twice, would earn more than the best that there is."""
    gate, records = Simulation(0, 64), np.zeros((3, problem.structure.arms))
    rng = np.random.default_rng(1)
    for played in (
        play_fresh(Fixed(row, gate), problem, gate, rng, 2),
        play_phases(Fixed(row, gate, 2), problem, gate, rng, 2),
        play_records(Fixed(row, gate), problem, gate, records),
    ):
        with pytest.raises(ActionError, match=re.escape(rule)):
            next(played)  # type: ignore[call-overload]


def test_super_arms_are_played() -> None:
    for problem, row in (
        (SETS, [3, 0]),
        (MATROID, [3, 1]),
        (COVERAGE, [2, 3]),
        (Cascade(4, 2, SETS.means), [1, 0]),
    ):
        gate = Simulation(0, 64)
        shown = next(play_fresh(Fixed(row, gate), problem, gate, np.random.default_rng(1), 1))
        assert shown.tolist() == [row] * 64


def test_bases_are_told_from_others_row_by_row() -> None:
    matroid = PartitionMatroid([[0, 1, 2], [3, 4]], [2, 1])
    rows = np.array([[0, 1, 3], [0, 1, 2], [4, 2, 0], [0, 3, 4], [0, 3, -1], [-1, -1, -1]])
    assert matroid.are_bases(rows).tolist() == [True, False, True, False, False, False]
    assert matroid.are_bases(rows[:0]).tolist() == []
    assert UniformMatroid(3, 2).are_bases(np.array([[2, 0]])).tolist() == [True]


class Deaf(CUCBBatch):
    """Passes over which arms are there."""

    def choose(self, available: Any = None) -> Any:
        return super().choose()


class Former(CUCBBatch):
    """Written before arms came and went."""

    def choose(self) -> Any:  # type: ignore[override]
        return super().choose()


class Broken(CUCBBatch):
    """Plays what is no super arm."""

    def choose(self, available: Any = None) -> Any:
        return np.repeat(super().choose(available)[:, :1], self.structure.size, axis=1)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (Deaf, "Deaf: choose returned [0, 1]; must be of the arms that are available, [1, 2, 3]"),
        (Former, "available: Former plays with all arms: its choose must take `available`"),
        (Broken, "Broken: choose returned [1, 1]; must be different arms"),
    ],
)
def test_a_choice_of_ones_own_keeps_to_what_is_available(kind: type[Any], rule: str) -> None:
    learner = kind(TopK(4, 2), Accountant(Budget(1.0)), epsilon=1.0, horizon=100)
    for ask in (learner.act, learner.issue):
        with pytest.raises(ProblemError, match=re.escape(rule)):
            ask(available=[1, 2, 3])
    assert learner.waiting.issued == learner.waiting.asked == 0


def test_arms_that_are_there_may_be_chosen() -> None:
    class Mine(CUCBBatch):
        def choose(self, available: Any = None) -> Any:
            return super().choose(available)

    learner = Mine(Arms(4), Accountant(Budget(1.0)), epsilon=1.0, horizon=100)
    assert learner.act(available=[2]).tolist() == [[2]]
    assert learner.act(available=[0, 3]).tolist() == [[0]]


def test_nobody_has_less_regret_than_none() -> None:
    """What would be certified as regret below any bound: the best arm as all of a set."""
    with pytest.raises(ActionError, match="must be different arms"):
        simulate(lambda gate: Fixed([3, 3], gate), SETS, horizon=10, runs=1, seed=0)  # type: ignore[arg-type, return-value]
