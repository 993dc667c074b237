"""What a linear learner's ledger says of its worst client: an upper bound, and the exact loss with a witness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accountant import Entry
from algorithms.claim import Claim
from algorithms.linear.linear_phases import Phase
from mechanisms import Binomial, Gaussian, Mechanism, PrivacyProfile, Sensitivity, ShuffledMean
from mechanisms.losses.composed_loss import compose
from mechanisms.losses.enclosure import lower_end
from verify.findings import LowerBound, Statement, UpperBound, Witness
from verify.learners.accounting_run import Accounting, add_accounting
from verify.learners.coupled_run import RELEASED_VIEWS
from verify.statistics.likeliest_event import likeliest_event
from verify.verdict.evidence import Evidence

_SURE = 1.0 - 1e-9  # of a lower end, beside the rounding of a profile


def add_composed(evidence: Evidence, accounting: Accounting, claim: Claim, *, of: str = "a client") -> None:
    """Add what accounting runs showed of a record: the least epsilon at the claimed delta that the ledger proves."""
    add_accounting(evidence, accounting, claim)
    if accounting.worst is None:
        return
    paid = accounting.paid
    evidence.details["accounting"]["releases_of_worst"] = len(paid)
    if accounting.worst.epsilon is None:
        return
    if len(paid) <= 1:
        epsilon = max((profile.epsilon(claim.delta) for profile in _profiles_of(paid)), default=0.0)
        method = f"exact profile of the one release of {of}, {accounting.how}"
    else:
        epsilon = _composed_epsilon(_profiles_of(paid), claim.delta)
        method = f"composition of the {len(paid)} releases of {of}, {accounting.how}"
    evidence.upper = UpperBound(epsilon, claim.delta, method)


def _profiles_of(paid: tuple[Entry, ...]) -> list[PrivacyProfile]:
    """Return the profile of each release at what the record can move it by."""
    return [entry.mechanism.profile(entry.sensitivity) for entry in paid if entry.mechanism is not None]


def _composed_epsilon(profiles: list[PrivacyProfile], delta: float) -> float:
    """Return epsilon of several releases, whose mechanisms may depend on earlier ones.

    Gaussian ones add up in mu² (a filter, so this holds). For others each gets its share of delta (basic composition).
    """
    if all(profile.gaussian_mu is not None for profile in profiles):
        return float(compose([(profile, 1) for profile in profiles]).epsilon(delta).upper)
    return sum(profile.epsilon(delta / len(profiles)) for profile in profiles) * (1.0 + 1e-15 * len(profiles))


def add_exact(
    evidence: Evidence,
    paid: tuple[Entry, ...],
    open_phase: tuple[Any, Phase] | None,
    claim: Claim,
    reproduce: str,
) -> None:
    """Offer the exact loss of the worst record's releases, where its data reach what noise is calibrated for."""
    profiles = _profiles_of(paid)
    protocol = None if open_phase is None else getattr(open_phase[0], "protocol", None)
    if all(isinstance(entry.mechanism, Gaussian) for entry in paid):
        counted = [(profile, 1) for profile in profiles]
    elif len(paid) == 1 and isinstance(paid[0].mechanism, Binomial) and isinstance(protocol, ShuffledMean):
        if protocol.half_range != protocol.bound:  # inputs do not reach whole numbers
            return
        noise = paid[0].mechanism
        one = Binomial(trials=noise.trials, shift=noise.shift, dimension=1, probability=noise.probability)
        counted = [(one.profile(), noise.dimension)]
    else:
        return
    composed = compose(counted)
    epsilon = max(0.0, (lower_end(composed.epsilon(claim.delta)) or 0.0) * _SURE)
    evidence.details["exact"] = {"epsilon": epsilon, "delta": claim.delta, "releases_of_a_client": len(paid)}
    times = f" in all {len(paid)} phases in which it reports" if len(paid) > 1 else ""
    everything = "every average reward is" if "average" in claim.unit else "the reward is"
    _offer(
        evidence,
        claim,
        epsilon,
        "the exact privacy loss of what is released of one client",
        lambda at: lower_end(composed.delta(at)) or 0.0,
        data=f"one client: {everything} at its upper bound{times}; all others alike",
        data_prime=f"the same client: {everything} at its lower bound{times}",
        reproduce=reproduce,
    )


def add_unbounded(evidence: Evidence, open_phase: tuple[Any, Phase], claim: Claim, reproduce: str) -> None:
    """Without clipping two clients can be any distance apart: name a pair that breaks the claim."""
    learner, phase = open_phase
    mechanism: Mechanism = learner.mechanism
    evidence.findings.append(Statement.UNCLIPPED.finding())
    if not isinstance(mechanism, Gaussian):
        return
    mu = 20.0 + 2.0 * claim.epsilon
    apart = mu * mechanism.sigma
    profile = mechanism.profile(Sensitivity(apart, apart, apart))
    action = int(phase.support[0])
    each = 0.5 * apart * float(phase.bounds[0])
    _offer(
        evidence,
        claim,
        profile.epsilon(claim.delta) * _SURE,
        "the exact privacy loss of a client far beyond the assumed bound",
        lambda at: float(profile.delta(at)),
        data=f"one client of phase 1: its average reward of action {action} is {each:.4g}",
        data_prime=f"the same client: it is {-each:.4g}",
        reproduce=reproduce,
    )


def _offer(
    evidence: Evidence,
    claim: Claim,
    epsilon: float,
    method: str,
    delta: Callable[[float], float],
    *,
    data: str,
    data_prime: str,
    reproduce: str,
) -> None:
    """Offer an exact lower bound of all releases, with the event that shows it."""
    p, q = likeliest_event(delta, claim.epsilon)
    lower = LowerBound(
        epsilon=epsilon,
        delta=claim.delta,
        confidence=1.0,
        method=method,
        samples=0,
        in_view=claim.view in RELEASED_VIEWS,
        decisive=True,
    )
    witness = Witness(
        neighbours={"data": data, "data_prime": data_prime},
        event=f"what is released is more than e^{claim.epsilon:g} times likelier on D than on D′",
        probability=p,
        probability_prime=q,
        reproduce=reproduce,
    )
    evidence.offer(lower, witness)
