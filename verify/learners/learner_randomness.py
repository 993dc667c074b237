"""The origin of a learner's class, and the visibility of its own random draws."""

from __future__ import annotations

from dpwitness import is_of_library
from verify.findings.finding import FindingKind
from verify.sampling.evidence import Evidence


def is_of_algorithms(learner: type) -> bool:
    """Return True if a learner's class is one of this library's `algorithms`: it draws from its gate alone."""
    return learner.__module__.partition(".")[0] == "algorithms" and is_of_library(learner)


def shows_draws(learner: type) -> bool:
    """Return True if a learner's claim holds for an adversary that sees its draws of ``gate.random``.

    Those of this library do: the draws of their protocols (a rounding, a tie) may be known. Another one must declare it
    with ``public_draws = True`` in its class: unseen draws hide a part of the released values.
    """
    return is_of_algorithms(learner) or bool(vars(learner).get("public_draws", False))


def draws_elsewhere(evidence: Evidence) -> bool:
    """Return True if replays showed draws of a learner from elsewhere than its gate, of unknown visibility."""
    return any(finding.kind is FindingKind.UNREPEATABLE for finding in evidence.findings)
