"""Whose class a learner is, and who sees what it draws itself."""

from __future__ import annotations

from verify.findings import FindingKind
from verify.verdict.evidence import Evidence


def is_of_library(learner: type) -> bool:
    """Whether a learner's class is one of this library: it draws from its gate alone."""
    return learner.__module__.partition(".")[0] == "algorithms"


def shows_draws(learner: type) -> bool:
    """Whether a learner's claim holds for an adversary who sees what it draws of ``gate.random``.

    Those of this library do: what their protocols draw (a rounding, a tie) may be known. Another one must say so by
    itself, with ``public_draws = True`` in its class: what nobody sees hides a part of what is released.
    """
    return is_of_library(learner) or bool(vars(learner).get("public_draws", False))


def draws_elsewhere(evidence: Evidence) -> bool:
    """Whether replays saw that a learner draws from elsewhere than its gate: who sees that, nobody knows."""
    return any(finding.kind is FindingKind.UNREPEATABLE for finding in evidence.findings)
