"""What the ledger of a linear learner proves: the composed loss of the releases that the worst client is part of."""

from __future__ import annotations

import math

from accountant import Entry
from accountant.losses.composed_loss import compose
from algorithms.claim import Claim
from mechanisms import PrivacyProfile
from verify.findings import UpperBound
from verify.learners.accounting_run import Accounting
from verify.learners.ledger_profile import ledger_profile
from verify.verdict.evidence import Evidence


def add_accounting(evidence: Evidence, accounting: Accounting, claim: Claim) -> None:
    """Add what accounting runs showed: the least epsilon at the claimed delta that the ledger proves."""
    evidence.findings.extend(accounting.findings)
    evidence.declassified.extend(accounting.declassified)
    if accounting.worst is None:
        evidence.upper = UpperBound(math.inf, 1.0, "the accountant refused: no finite bound")
        return
    evidence.details["accounting"] = {
        "worst_record": accounting.record,
        "releases": accounting.releases,
        "releases_of_worst": len(accounting.paid),
        "runs": accounting.runs,
        "rounds": accounting.rounds,
    }
    worst = accounting.worst
    length = f"largest of {accounting.runs} runs of {accounting.rounds:,} rounds"
    evidence.profile = ledger_profile(accounting.alike, length)
    if worst.epsilon is None:
        evidence.upper = UpperBound(math.inf, 1.0, "no bound: private data were declassified")
    elif len(accounting.paid) <= 1:
        epsilon = max((profile.epsilon(claim.delta) for profile in profiles_of(accounting.paid)), default=0.0)
        evidence.upper = UpperBound(
            epsilon, claim.delta, f"exact profile of the one release of a client, per-record ledger, {length}"
        )
    else:
        many = len(accounting.paid)
        evidence.upper = UpperBound(
            _composed_epsilon(profiles_of(accounting.paid), claim.delta),
            claim.delta,
            f"composition of the {many} releases of a client, per-record ledger, {length}",
        )


def profiles_of(paid: tuple[Entry, ...]) -> list[PrivacyProfile]:
    """Return the profile of each release at what the record can move it by."""
    return [entry.mechanism.profile(entry.sensitivity) for entry in paid if entry.mechanism is not None]


def _composed_epsilon(profiles: list[PrivacyProfile], delta: float) -> float:
    """Return epsilon of several releases, whose mechanisms may depend on earlier ones.

    Gaussian ones add up in mu² (a filter, so this holds). For others each gets its share of delta (basic composition).
    """
    if all(profile.gaussian_mu is not None for profile in profiles):
        return float(compose([(profile, 1) for profile in profiles]).epsilon(delta).upper)
    return sum(profile.epsilon(delta / len(profiles)) for profile in profiles) * (1.0 + 1e-15 * len(profiles))
