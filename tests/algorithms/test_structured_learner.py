"""Mistakes in a production loop are reported plainly, before any privacy is spent."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from accountant import Accountant, Budget, Simulation, Trust
from algorithms import (
    CUCBLDP1,
    CUCBLDP2,
    CascadeUCBBatch,
    CascadeUCBRR,
    CUCBBatch,
    CUCBLDPGaussian,
    DurableRun,
    HorizonPassed,
    NothingPlayed,
)
from algorithms.catalogue import learner_builder
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_phases
from algorithms.problems import ProblemError, RankedLists, TopK, UniformMatroid, build_problem
from mechanisms.parameters import ParameterError

HORIZON = 9


def accountant() -> Accountant:
    return Accountant(Budget(math.inf, 1.0), noise=np.random.default_rng(1), seed=2)


def make(name: str, gate: Any, horizon: int = HORIZON) -> tuple[Any, Any]:
    """Return a learner on its own problem, warm if it starts so, and the problem."""
    entry = learners[name]
    problem = build_problem(entry.default_problem, {})
    learner: Any = learner_builder(entry.make, problem, epsilon=1.0, delta=1e-3, horizon=horizon)(gate)
    return learner, problem


def test_what_was_played_is_asked_for_by_name() -> None:
    learner = CUCBLDP2(TopK(arms=4, size=2), accountant(), epsilon=1.0, horizon=9)
    assert not hasattr(learner, "action")
    with pytest.raises(NothingPlayed, match="CUCBLDP2 has played nothing yet: call act before observe"):
        _ = learner.action
    action = learner.act()
    assert learner.action is action


def test_a_phase_that_is_over_takes_no_more_feedback() -> None:
    """Else its clicks would be added to sums that are never released."""
    gate = accountant()
    learner = CascadeUCBBatch(
        RankedLists(items=4, positions=2), gate, epsilon=1.0, horizon=100, index="confidence"
    )
    learner.act()
    learner.observe(gate.private([1.0, 0.0], learner.feedback_domain, "ann"))
    with pytest.raises(ValueError, match="call act for the next one"):
        learner.observe(gate.private([1.0, 0.0], learner.feedback_domain, "bob"))
    assert gate.spent("bob").epsilon == 0
    learner.act()
    learner.observe(gate.private([1.0, 0.0], learner.feedback_domain, "bob"))


@pytest.mark.parametrize("name", ["cucb-batch", "cascade-ucb-batch"])
def test_every_lane_has_its_own_clock(name: str) -> None:
    gate = Simulation(3, 64)
    learner, problem = make(name, gate, horizon=50)
    for _ in play_phases(learner, problem, gate, np.random.default_rng(0), 50):
        pass
    assert learner.rounds.observed.tolist() == [50] * 64
    with pytest.warns(HorizonPassed):
        for _ in play_phases(learner, problem, gate, np.random.default_rng(0), 1):
            pass


def test_a_restart_remembers_that_it_warned(tmp_path: Path) -> None:
    def build(gate: Any) -> CUCBBatch:
        return CUCBBatch(TopK(arms=4, size=2), gate, epsilon=1.0, horizon=1)

    def play(run: Any, user: str) -> None:
        run.learner.act()
        run.learner.observe(run.accountant.private([1.0, 0.0], run.learner.feedback_domain, user))

    with DurableRun(build, accountant()) as run:
        play(run, "ann")
        run.save(tmp_path / "run")
    with DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0)) as run:
        with pytest.warns(HorizonPassed):
            play(run, "bob")
        run.save()
    with (
        DurableRun.load(tmp_path / "run", build, noise=np.random.default_rng(0)) as run,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        play(run, "cid")


def test_the_learner_of_the_issue() -> None:
    with pytest.raises(
        ProblemError, match=r"CascadeUCBRR plays cascade structures, not a TopK \(semi-bandit\)"
    ):
        CascadeUCBRR(TopK(arms=4, size=2), accountant(), epsilon=1.0, horizon=9)  # type: ignore[arg-type]


class _Mislaid(UniformMatroid):
    """Sets of 2 of 5, until the oracle returns something else."""

    answer: ClassVar[Any] = None

    def solve(self, weights: Any) -> Any:
        return super().solve(weights) if self.answer is None else self.answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([[0, 5]], r"_Mislaid: solve returned \[0, 5\]; must be different arms from 0 to 4"),
        ([[-2, 1]], "must be different arms"),
        ([[1, 1]], "must be different arms"),
        ([[-1, 1]], "padding must be at the end"),
        (
            [[0, 1], [0, 1]],
            r"int64 of shape \(2, 2\); must be whole numbers of shape \(lanes, size\) = \(1, 2\)",
        ),
        ([[0.0, 1.0]], "float64 of shape"),
        ([[True, False]], "bool of shape"),
        ([0, 1], r"shape \(2,\)"),
    ],
)
@pytest.mark.parametrize("way", ["act", "issue"])
@pytest.mark.parametrize("kind", [CUCBLDP1, CUCBBatch])
def test_an_oracle_that_loses_its_way_is_refused_before_anything_is_shown(
    monkeypatch, kind, way, answer, words
):
    """CUCBLDP1 charged feedback on an arm that is none, released it, and failed, with its ticket still open."""
    gate = accountant()
    learner = kind(_Mislaid(5, rank=2), gate, epsilon=1.0, horizon=HORIZON)
    first = learner.issue()
    monkeypatch.setattr(_Mislaid, "answer", np.array(answer))
    with pytest.raises(ProblemError, match=words):
        getattr(learner, way)()
    assert list(learner.tickets) == [first.number]
    monkeypatch.undo()
    assert learner.act().max() < 5


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([[0, 0]], r"_Astray: choose returned \[0, 0\]; must be different arms from 0 to 4"),
        ([[0, 5]], r"_Astray: choose returned \[0, 5\]; must be different arms"),
        ([[-1, 0]], r"_Astray: choose returned \[-1, 0\]; padding must be at the end"),
        ([[0.0, 1.0]], "_Astray: choose returned float64"),
        ([0, 1], r"of shape \(2,\); must be whole numbers of shape \(lanes, size\) = \(1, 2\)"),
        (None, "_Astray: choose returned object"),
    ],
)
def test_a_learner_of_ones_own_that_chooses_no_super_arm_is_refused_before_it_is_shown(
    chosen: Any, words: str
) -> None:
    """It would be paid for before anybody sees that nothing can be learned of it."""

    class _Astray(CUCBLDP2):
        def choose(self, *_: Any) -> Any:
            return chosen if chosen is None else np.array(chosen)

    learner = _Astray(TopK(5, 2), accountant(), epsilon=1.0, horizon=9)
    for ask in (learner.act, learner.issue):
        with pytest.raises(ProblemError, match=words):
            ask()
    assert (len(learner.waiting), learner.waiting.issued, learner.waiting.asked) == (0, 0, 0)


def test_a_learner_s_epsilon_is_one_real_number() -> None:
    gate = Accountant(Budget(1.0))
    assert CUCBBatch(TopK(3, 1), gate, epsilon=np.float32(0.5), horizon=9).horizon == 9  # type: ignore[arg-type]
    for wrong in (b"1", np.array(1.0), Decimal(1)):
        with pytest.raises(ParameterError, match=r"^epsilon = .*: must be a number from 1e-07 to 1e\+09"):
            CUCBBatch(TopK(3, 1), gate, epsilon=wrong, horizon=9)  # type: ignore[arg-type]


def test_a_delta_below_what_charges_are_exact_for_is_refused_at_once() -> None:
    for delta in (1e-62, 1e-300):
        with pytest.raises(ParameterError, match=f"^delta = {delta}: must be at least 7.78e-62"):
            CUCBLDPGaussian(TopK(3, 1), Accountant(Budget(1.0, delta)), epsilon=1.0, delta=delta, horizon=9)
    gate = Accountant(Budget(1.0, 1e-61), trust=Trust.LOCAL, noise=np.random.default_rng(1))
    learner = CUCBLDPGaussian(TopK(3, 1), gate, epsilon=1.0, delta=1e-61, horizon=9)
    learner.act()
    learner.observe(gate.private([1.0], learner.feedback_domain, "ann"))
    assert gate.worst()[1].delta > 0  # type: ignore[index]
