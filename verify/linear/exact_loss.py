"""The exact privacy loss of a linear learner's releases, as a lower bound with a witness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accountant import Entry
from accountant.losses.composed_loss import compose
from algorithms.claim import Claim, View
from algorithms.linear.linear_phases import Phase
from mechanisms import Binomial, Gaussian, Mechanism, Sensitivity, ShuffledMean
from verify.findings import LowerBound, Statement, Witness
from verify.linear.upper_bound import profiles_of
from verify.statistics.likeliest_event import likeliest_event
from verify.verdict.evidence import Evidence

_SURE = 1.0 - 1e-9  # of a lower end, beside the rounding of a profile


def add_exact(
    evidence: Evidence,
    paid: tuple[Entry, ...],
    open_phase: tuple[Any, Phase] | None,
    claim: Claim,
    reproduce: str,
) -> None:
    """Offer the exact loss of the worst record's releases, where its data reach what noise is calibrated for."""
    profiles = profiles_of(paid)
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
    epsilon = max(0.0, composed.epsilon(claim.delta).lower * _SURE)
    evidence.details["exact"] = {"epsilon": epsilon, "delta": claim.delta, "releases_of_a_client": len(paid)}
    times = f" in all {len(paid)} phases in which it reports" if len(paid) > 1 else ""
    everything = "every average reward is" if "average" in claim.unit else "the reward is"
    _offer(
        evidence,
        claim,
        epsilon,
        "the exact privacy loss of what is released of one client",
        lambda at: float(composed.delta(at).lower),
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
        in_view=claim.view != View.ACTIONS.value,
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
