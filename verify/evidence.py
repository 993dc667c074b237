"""What the layers of a verification find, collected for the verdict rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from verify.verdict import Finding, LowerBound, UpperBound, Witness

Progress = Callable[[float, str], None]
"""Called with the share that is done and what is being done."""

FALSE_ALARM = 1e-4
"""The largest probability with which a true claim is refuted, all looks of one verification together."""


@dataclass
class Evidence:
    """Everything that the layers found."""

    upper: UpperBound | None = None
    lower: LowerBound | None = None
    witness: Witness | None = None
    findings: list[Finding] = field(default_factory=list)
    declassified: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def offer(self, lower: LowerBound, witness: Witness) -> None:
        """Keep the better lower bound: one in the claim's view first, then decisive, larger, surer."""
        if self.lower is None or _rank(lower) > _rank(self.lower):
            self.lower, self.witness = lower, witness


def _rank(lower: LowerBound) -> tuple[bool, bool, float, float]:
    return lower.in_view, lower.decisive, lower.epsilon, lower.confidence
