"""Obstacles to a certificate for a learner that cannot be sampled."""

from __future__ import annotations

from typing import Any

from accountant import Gate
from algorithms import CUCBLDP2
from algorithms.problems import SuperArms
from verify import verify
from verify.findings.finding import FindingKind


class RefusesMany(CUCBLDP2):
    """Runs under an accountant and coupled, and not in as many lanes as its view is drawn in."""

    def __init__(self, structure: SuperArms, gate: Gate, **settings: Any) -> None:
        if gate.lanes > 1024:
            raise RuntimeError("too many lanes")
        super().__init__(structure, gate, **settings)


def test_a_learner_whose_view_cannot_be_drawn_is_not_certified() -> None:
    found = verify(RefusesMany, epsilon=1.0, effort="quick", horizon=8)
    assert found.upper is not None
    assert found.upper.epsilon <= 1.0
    assert found.verdict == "unproven"
    (finding,) = found.findings
    assert finding.kind is FindingKind.CRASH
    assert "sampling failed: RuntimeError: too many lanes" in finding.message
