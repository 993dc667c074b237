"""Verification of a mechanism: its profile is the upper bound, a black-box test of its output the lower one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from accountant import compose
from accountant.proofs.proof_document import DerivedReleases, NoProof, forms_of_mechanism
from algorithms.claim import Claim, ClaimForm, View
from algorithms.unit import ONE_REPORT
from mechanisms import (
    Categories,
    Domain,
    Mechanism,
    Neighbouring,
    PrivacyProfile,
    Sensitivity,
    Transformed,
    assumptions_of,
)
from mechanisms.composition.composed_profile import ComposedProfile
from mechanisms.composition.enclosure import lower_end
from mechanisms.noise.mechanism import is_categorical, mechanism_from_dict, neighbouring_of
from verify.conduct.conduct import Conduct
from verify.conduct.process_state import subjects_own
from verify.findings.finding import LowerBound, UpperBound, Witness
from verify.findings.proof_checker import claim_as_data
from verify.findings.references import EXACT_COMPOSITION, PROFILE
from verify.sampling.evidence import Evidence, UpperProfile
from verify.sampling.farthest_records import farthest_records
from verify.sampling.likeliest_event import likeliest_event, loss_laws, ratio_event
from verify.sampling.mechanism_worlds import declared_profile, mechanism_draws, mechanism_worlds
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.stopping import stopped_by_hand, stopped_in_time
from verify.sampling.tester import Candidates, Tester

_FEW = 16
"""The most releases with a finer check of a proof: their claim lies far out in the tail of the loss."""


def verify_mechanism(
    mechanism: Mechanism,
    claim: Claim,
    conduct: Conduct,
    tester: Tester | None,
) -> Evidence:
    """Compare a claim with a mechanism's profile, and, if there is a tester, with draws of its output."""
    evidence, effort = Evidence(), conduct.effort
    with stopped_in_time(evidence, conduct.seconds, conduct.elapsed_seconds):
        evidence.assume(*assumptions_of(mechanism))
        if not evidence.assumptions:
            # State that it keeps beside its parameters has no effect; nor do functions get many draws at once.
            mechanism = rebuilt(mechanism.to_dict())
            evidence.details["proof"] = mechanism_proof(mechanism, claim)
        evidence.upper = upper_bound(mechanism, claim.delta)
        profile = declared_profile(mechanism)
        with stopped_by_hand(evidence):
            if tester is not None:
                candidates = Candidates(mechanism_worlds(mechanism), mechanism_draws(mechanism, effort))
                known = not profile.bound and not evidence.assumptions
                second = second_unless(known, effort)
                tests = hold_tests(tester, candidates, claim, conduct, second=second)
                evidence.profile = UpperProfile(
                    lambda epsilon: float(profile.bounds(np.array(epsilon))[1]), PROFILE
                )
                for result in tests:
                    evidence.keep(result, conduct.reproduce)
        if not evidence.assumptions:
            for lower, witness in _exact_lowers(mechanism, claim, conduct.reproduce):
                evidence.offer(lower, witness)
    return evidence


class _Identities(dict[str, Callable[[Any], Any]]):
    """The identity under every name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Callable[[Any], Any]:
        return lambda released: released


def rebuilt(saved: Mapping[str, Any]) -> Mechanism:
    """Rebuild the mechanism that ``to_dict`` wrote, without functions of its outputs: they cost nothing.

    Raises
    ------
    ParameterError
        If it is none of this library's, or a parameter is wrong.
    """
    return mechanism_from_dict(saved, _Identities())


def upper_bound(mechanism: Mechanism, delta: float) -> UpperBound:
    """Return the least epsilon at `delta` that the profile proves, of several releases that of their composition."""
    profile = declared_profile(mechanism)
    method = EXACT_COMPOSITION if isinstance(profile, ComposedProfile) else PROFILE
    return UpperBound(profile.epsilon(delta), delta, method)


def mechanism_proof(mechanism: Mechanism, claim: Claim) -> dict[str, Any] | str:
    """Return the proof of a claim about a mechanism of this library as data, else the reason why there is none."""
    releases = DerivedReleases()
    try:
        forms = list(forms_of_mechanism(mechanism))
        releases.add_planned("one report", forms)
        resolution = 12 if sum(count for _, count in forms) <= _FEW else 10
        return releases.document(claim_as_data(claim), {"name": "plan", "resolution": resolution}, {})
    except NoProof as error:
        return str(error)


def _exact_lowers(mechanism: Mechanism, claim: Claim, reproduce: str) -> Iterator[tuple[LowerBound, Witness]]:
    """Yield the exact lower bound of pairs of values, the least epsilon at the claimed delta, and the best event.

    Behind a transformation the pairs are of records, and the movement is that of their results: the largest that a
    record is charged for need not be one that any two records make.
    """
    if isinstance(mechanism, Transformed):
        pairs = [
            (mechanism.mechanism, pair.moved, f"the value {pair.record}", f"the value {pair.other}")
            for pair in farthest_records(mechanism)
        ]
    else:
        moved = mechanism.sensitivity
        pairs = [(mechanism, moved, "a value", f"the value moved by {moved.l1:g} (L1), {moved.l2:g} (L2)")]
    for noise, moved, data, data_prime in pairs:
        profile = noise.profile(moved)
        if profile.bound:
            continue
        epsilon = lower_end(compose([(profile, 1)]).epsilon(claim.delta)) or 0.0
        event = likeliest_event(partial(_delta_of, profile), claimed=claim.epsilon, bound=epsilon)
        lower = LowerBound(
            epsilon=epsilon,
            delta=claim.delta,
            confidence=1.0,
            method="the exact privacy profile",
            samples=0,
            decisive=True,
        )
        witness = Witness(
            neighbours={"data": data, "data_prime": data_prime},
            event=ratio_event("output", event.threshold),
            probability=event.probability,
            probability_prime=event.probability_prime,
            reproduce=reproduce,
            details={"largest_loss": event.threshold},
            laws=loss_laws(partial(_delta_of, profile), event),
        )
        yield lower, witness


def _delta_of(profile: PrivacyProfile, epsilon: float) -> float:
    return float(profile.delta(epsilon))


@dataclass(frozen=True)
class MechanismSubject:
    """A mechanism object; it claims no numbers of its own."""

    claimed_epsilon: ClassVar[float | None] = None
    claimed_delta: ClassVar[float] = 0.0

    name: str
    mechanism: Mechanism

    @property
    @subjects_own()
    def form(self) -> ClaimForm:
        """A mechanism's claim is about its output."""
        relation = neighbouring_of(self.mechanism)
        return ClaimForm(
            "central",
            View.OUTPUT,
            ONE_REPORT,
            "the mechanism's own parameters",
            relation,
            _difference(self.mechanism, relation),
        )


def _difference(mechanism: Mechanism, relation: Neighbouring) -> str:
    """Return how far a mechanism's claim lets two neighbours be apart, in words."""
    if isinstance(mechanism, Transformed) and mechanism.takes is not None:
        return (
            f"one record, {_kind_of(mechanism.takes)}, replaced by any other; what noise is added to then moves by at "
            f"most {_size_of(mechanism.sensitivity)}"
        )
    if is_categorical(mechanism):
        return relation.description
    return (
        f"{relation.description}, as far as that moves the value by at most {_size_of(mechanism.sensitivity)}"
    )


def _kind_of(domain: Domain) -> str:
    if isinstance(domain, Categories):
        return f"one of {domain.size} categories"
    return f"a vector of {domain.shape[0]} numbers" if domain.shape else "a number"


def _size_of(moved: Sensitivity) -> str:
    if moved.l1 == moved.linf:
        return f"{moved.l1:g}"
    norms = (moved.l1, "in L1 norm"), (moved.l2, "in L2 norm"), (moved.linf, "in one coordinate")
    return ", ".join(f"{size:g} {norm}" for size, norm in norms if size < math.inf)
