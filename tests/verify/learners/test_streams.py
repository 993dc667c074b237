"""The verifier on learners of private streams: certified as they are, not with half the noise, and faults are found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from accountant import Accountant, Budget, Gate, Private, PrivateStream
from algorithms import DPFTRL, ClaimForm, DPHedge, View
from algorithms.problems import Experts, SemiBandit
from algorithms.structured_learner import HorizonLearner
from algorithms.unit import ONE_REPORT
from mechanisms import Affine, Ball, BandedCounter, Choose
from mechanisms.arrays import IntArray
from verify import verify

EXPERTS, HORIZON = 5, 64
PROBLEM = SemiBandit(Experts(EXPERTS), [0.9, 0.6, 0.5, 0.4, 0.1])
CLAIM = ClaimForm(model="central", view=View.RELEASES, unit=ONE_REPORT, source="a test")


class OnBall(HorizonLearner[Experts]):
    """DP-FTRL whose gradients are the outcomes of all experts, as points of the unit ball: it plays by its weights."""

    claim, family, own_problem, own_horizon = CLAIM, "experts", PROBLEM, HORIZON
    bandwidth: int | None = None
    to_ball = Affine(-0.875, 0.4375)  # a box in the ball: 0.4375 sqrt(5) < 1

    def __init__(self, structure: Experts, gate: Gate, *, epsilon: float, delta: float, horizon: int) -> None:
        super().__init__(structure, gate, horizon)
        self.inner = DPFTRL(
            gate, structure.arms, epsilon=epsilon, delta=delta, horizon=horizon, bandwidth=self.bandwidth
        )
        self.inner.feedback_domain = self.to_ball.output_domain(self.feedback_domain)  # type: ignore[assignment]

    def choose(self) -> IntArray:
        return np.argsort(-self.inner.weights, axis=1, kind="stable")

    def learn(self, action: IntArray, feedback: Private) -> None:
        self.inner.observe(feedback.map(Choose(np.argsort(action, axis=1))).map(self.to_ball))


class OnBallBanded(OnBall):
    bandwidth = 16


class Quiet(DPHedge):
    """Half the noise of the claim."""

    own_problem, own_horizon = PROBLEM, HORIZON

    def begin(self, horizon: int) -> None:
        super().begin(horizon)
        counter = self._sums._counter
        louder = replace(counter.mechanism, sigma=counter.mechanism.sigma / 2)
        self._sums = PrivateStream(self.gate, replace(counter, mechanism=louder), self.structure.arms)


class Peeking(DPHedge):
    """From round 40 on the last outcomes count twice, as they are."""

    own_problem, own_horizon = PROBLEM, HORIZON

    def running_sums(self, outcomes: Private) -> Any:
        total = super().running_sums(outcomes)
        return total + outcomes._values[0] if self._sums.steps >= 40 else total


@pytest.mark.slow
@pytest.mark.parametrize("make", [OnBall, OnBallBanded, DPHedge])
def test_learners_of_streams_are_certified(make: Any) -> None:
    problem = {"problem": PROBLEM} if make is DPHedge else {}
    found = verify(make, epsilon=1.0, delta=1e-6, effort="quick", **problem)
    assert found.verdict == "certified"
    assert 0.2 < found.lower.epsilon <= 1.0


@pytest.mark.slow
def test_half_the_noise_is_not_certified() -> None:
    found = verify(Quiet, epsilon=1.0, delta=1e-6, effort="quick")
    assert found.verdict in ("unproven", "refuted")


@pytest.mark.slow
def test_a_raw_value_beside_the_stream_is_found() -> None:
    found = verify(Peeking, epsilon=1.0, delta=1e-6, effort="quick")
    assert found.verdict != "certified"
    assert {finding.kind for finding in found.findings} >= {"raw-flow", "state"}


class FirstRowOnly(PrivateStream):
    """Charges a record for the row in which it enters: what the exact test of rows is there to catch."""

    def _row_provenance(self, origin: Any) -> Any:
        changed, *others = super()._row_provenance(origin)
        changed.influences = dict(origin.influences)
        return changed, *others


def test_who_is_charged_for_one_row_pays_less_than_the_rows_move() -> None:
    """The mutant of the trusted core: its charge is below what `test_rows_move_as_far_as_is_paid` finds exactly."""
    counter = BandedCounter.for_epsilon_delta(
        1.0, 1e-6, horizon=HORIZON, bandwidth=16, sensitivity=Ball(1.0, 3).sensitivity
    )
    paid = []
    for make in (PrivateStream, FirstRowOnly):
        gate = Accountant(Budget(1.0, 1e-6), noise=np.random.default_rng(0))
        stream = make(gate, counter, 3)
        stream.step(gate.private([0.0, 0.6, 0.8], Ball(1.0, 3), record="ann"))
        (charge,) = (entry.sensitivity.l2 for entry in gate.ledger.entries)
        paid.append(charge)
    assert paid[0] == pytest.approx(2.0 * counter.record_norm, rel=1e-12)
    assert paid[1] < 0.75 * paid[0]
