"""The grounds on which a verdict is decided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mechanisms.assumption import Assumption
from verify.findings.finding import Finding, LowerBound, UpperBound, Witness
from verify.findings.sentences import Sentence


@dataclass
class Grounds:
    """Bounds, witness, and obstacles to a proof; the details are shown, and decide nothing."""

    upper: UpperBound | None = None
    lower: LowerBound | None = None
    witness: Witness | None = None
    findings: list[Finding] = field(default_factory=list)
    declassified: list[str] = field(default_factory=list)
    contradictions: list[Sentence] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
