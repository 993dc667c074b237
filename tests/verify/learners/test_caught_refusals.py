"""A learner that catches what every accountant refuses is not played on gates that do not refuse it."""

from typing import Any

import numpy as np
import pytest

from accountant import Refusal
from algorithms.claim import ClaimForm, View
from mechanisms import Box, Laplace, Sensitivity
from verify import verify

FEW = {"epsilon": 1.0, "effort": "quick", "samples": 5_000, "horizon": 40}


class FallsBack:
    """Asks for a release that every accountant refuses, and then releases with noise for epsilon = 1."""

    family = "semi-bandit"
    claim = ClaimForm(model="local", view=View.MESSAGE, unit="one report", source="a test")
    initial_records = "none"

    def __init__(self, structure: Any, gate: Any, *, epsilon: float) -> None:
        self.structure, self.gate, self.size = structure, gate, float(structure.size)
        self.feedback_domain = Box(0, 1, structure.size)
        self.total = np.zeros((gate.lanes, structure.arms))
        self.lane = np.arange(gate.lanes)[:, np.newaxis]

    def act(self) -> Any:
        self.played = self.structure.solve(self.total)
        return self.played

    def noise(self, moved: float) -> Laplace:
        return Laplace(scale=moved, sensitivity=Sensitivity(moved, moved, min(moved, 1.0)))

    def ask(self, feedback: Any) -> Any:
        return self.gate.release(self.noise(0.2), feedback)

    def observe(self, feedback: Any) -> None:
        try:
            released = self.ask(feedback)
        except Refusal:
            released = self.gate.release(self.noise(self.size), feedback)
        self.total[self.lane, self.played] += released


class TwoUsers(FallsBack):
    """Asks for two users' sum, which local trust refuses."""

    kept: Any = None

    def ask(self, feedback: Any) -> Any:
        both = feedback if self.kept is None else feedback + self.kept
        self.kept = feedback
        return self.gate.release(self.noise(self.size), both)


@pytest.mark.few(1)
@pytest.mark.parametrize("learner", [FallsBack, TwoUsers])
def test_what_no_accountant_releases_refutes_nothing(learner: Any) -> None:
    """They were refuted as exact, at 20 and at 2, beside an enforced bound of 1: coupled gates had not refused."""
    result = verify(learner, **FEW)  # type: ignore[arg-type]
    assert result.verdict == "unproven"
    assert result.lower is None
    assert result.upper.epsilon == pytest.approx(1.0)
    assert any("catches this refusal" in finding.message for finding in result.findings)
