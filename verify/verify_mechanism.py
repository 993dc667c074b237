"""Verify a mechanism: its profile is the upper bound, a black-box test of its output the lower one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Place, compose
from accountant.proofs.proof_document import DerivedReleases, NoProof, forms_of_mechanism, planned_theorem
from algorithms.claim import Claim, ClaimForm, View
from algorithms.unit import ONE_REPORT
from mechanisms import (
    Categories,
    Composed,
    Domain,
    Mechanism,
    Neighbouring,
    NumpyNoise,
    OpenDPMeasurement,
    PostProcessed,
    PrivacyProfile,
    Repeated,
    Sensitivity,
    Transformed,
    assumptions_of,
)
from mechanisms.losses.composed_profile import ComposedProfile
from mechanisms.losses.enclosure import lower_end
from mechanisms.mechanism import (
    is_categorical,
    mechanism_from_dict,
    needs_whole_numbers,
    neighbouring_of,
)
from mechanisms.parameters import ParameterError
from mechanisms.printed_numbers import at_least, at_most
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.process_state import subjects_own
from verify.conduct.progress import no_progress
from verify.events.view_sample import Column, ViewSample
from verify.farthest_records import farthest_records
from verify.findings import Finding, LowerBound, Statement, UpperBound, Witness
from verify.proof_checker import claim_as_data
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.tester import Candidates, SingleLook, Tester
from verify.sampling.worlds import NeighbouringWorlds
from verify.statistics.likeliest_event import likeliest_event, ratio_event
from verify.verdict.evidence import Evidence, UpperProfile
from verify.verdict.references import EXACT_COMPOSITION, PROFILE
from verify.verdict.stopping import stopped_by_hand, stopped_in_time

_MOST_COORDINATES = 8
_MOST_SINGLE = 100_000  # draws, of about 0.2 ms each, where each takes a call of another library
_FEWEST_SAMPLES = 20_000  # of a test of a declared profile


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
            # What it kept of its parameters as they were is not asked; nor do functions get many draws at once.
            mechanism = rebuilt(mechanism.to_dict())
            evidence.details["proof"] = mechanism_proof(mechanism, claim)
        evidence.upper = upper_bound(mechanism, claim.delta)
        profile = _declared(mechanism)
        with stopped_by_hand(evidence):
            if tester is not None:
                candidates = Candidates(_worlds(mechanism), _samples(mechanism, effort))
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


@subjects_own()
def _declared(mechanism: Mechanism) -> PrivacyProfile:
    """Return the profile that a mechanism has, or that a user's own says it has."""
    return mechanism.profile()


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
    profile = _declared(mechanism)
    method = EXACT_COMPOSITION if isinstance(profile, ComposedProfile) else PROFILE
    return UpperBound(profile.epsilon(delta), delta, method)


def mechanism_proof(mechanism: Mechanism, claim: Claim) -> dict[str, Any] | str:
    """Return the proof of a claim about a mechanism of this library as data, else the reason why there is none."""
    releases = DerivedReleases()
    try:
        releases.add_planned("one report", forms_of_mechanism(mechanism))
        return releases.document(claim_as_data(claim), planned_theorem(), {})
    except NoProof as error:
        return str(error)


def _exact_lowers(mechanism: Mechanism, claim: Claim, reproduce: str) -> Iterator[tuple[LowerBound, Witness]]:
    """Yield what exact profiles say of pairs of values: the least epsilon at the claimed delta, and the best event.

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
        )
        yield lower, witness


def _delta_of(profile: PrivacyProfile, epsilon: float) -> float:
    return float(profile.delta(epsilon))


def add_false_profiles(
    evidence: Evidence, mechanisms: Mapping[Mechanism, Place], conduct: Conduct, seed: np.random.SeedSequence
) -> None:
    """Test mechanisms that rest on assumptions against the profiles they declare, and add the refuted ones.

    Where none is, the assumptions are still in the way of a certificate.
    """
    found = (_false_profile(mechanism, place, conduct, seed) for mechanism, place in mechanisms.items())
    evidence.findings += [finding for finding in found if finding is not None]


def _false_profile(
    mechanism: Mechanism, place: Place, conduct: Conduct, seed: np.random.SeedSequence
) -> Finding | None:
    if not assumptions_of(mechanism):
        return None
    name = type(mechanism).__name__
    delta = mechanism.nominal_delta
    epsilon = _declared(mechanism).epsilon(delta)
    if math.isinf(epsilon):
        return None
    candidates = Candidates(_worlds(mechanism), max(_FEWEST_SAMPLES, conduct.effort.samples // 4))
    quiet = replace(conduct, seed=int(seed.generate_state(1)[0]), progress=no_progress)
    result = SingleLook().test(candidates, quiet, epsilon=epsilon, delta=delta)
    if not result.refuted:
        return None
    data, data_prime = result.likelier_first
    return Statement.FALSE_PROFILE.finding(
        place,
        mechanism=name,
        declared=at_most(epsilon),
        lost=at_least(result.epsilon_lower),
        confidence=result.confidence,
        draws=result.trials,
        event=result.event.description,
        probability=result.probability,
        data=data,
        probability_prime=result.probability_prime,
        data_prime=data_prime,
    )


def _worlds(mechanism: Mechanism) -> list[NeighbouringWorlds]:
    """Return the pairs of values that a sampled test should look at; behind a transformation, of records."""
    _check_moves(mechanism)
    if isinstance(mechanism, Transformed):
        return [
            NeighbouringWorlds(
                (f"the value {pair.record}", f"the value {pair.other}"),
                _drawer(mechanism.mechanism, pair.start, pair.end),
            )
            for pair in farthest_records(mechanism)
        ]
    return [
        NeighbouringWorlds(
            (f"the value {start.tolist()}", f"the value {end.tolist()}"), _drawer(mechanism, start, end)
        )
        for start, end in _moves(mechanism)
    ]


def _check_moves(mechanism: Mechanism) -> None:
    """Raise `ParameterError` unless a record moves what the mechanism releases, and by how much is known."""
    if is_categorical(mechanism) and not isinstance(mechanism, Transformed):
        return
    allowed = mechanism.sensitivity
    step = min(allowed.linf, allowed.l1, allowed.l2)
    if step == 0.0 and isinstance(mechanism, OpenDPMeasurement):
        raise ParameterError(
            f"mechanism = {mechanism}: is a query on data sets; verify the function that calls it, and say which of "
            "them are neighbours: verify.claimed(data=AddOrRemoveOne(...))"
        )
    if step == 0.0 and isinstance(mechanism, Transformed):
        raise ParameterError(
            f"mechanism = {mechanism}: transforms the value first, and how far apart that leaves neighbours follows "
            "from a domain, which it does not know; clip in front of all, or verify a function that releases it and "
            "says what its data are: verify.claimed(data=...)"
        )
    if not 0.0 < step < math.inf:
        raise ParameterError(
            f"mechanism = {mechanism}: its sensitivity must be finite and above 0, as no value moves by {allowed}"
        )


def _moves(mechanism: Mechanism) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return pairs of values as far apart as the mechanism is calibrated for: one coordinate, and spread.

    Values have at least two coordinates, so that noise shared between coordinates shows, unless the mechanism
    takes fewer.
    """
    if is_categorical(mechanism):
        return [(np.array([0]), np.array([1]))]
    allowed = mechanism.sensitivity
    step = min(allowed.linf, allowed.l1, allowed.l2)
    together = min(_MOST_COORDINATES, allowed.l1 / step, (allowed.l2 / step) ** 2 + 1e-9)
    size = 1 if _is_called_singly(mechanism) else _coordinates(mechanism, max(2, int(together)))
    many = min(max(1, int(together)), size)
    spread = np.zeros(size)
    spread[:many] = step
    single = np.zeros(size)
    single[0] = step
    pairs = [(np.zeros(size), single)]
    if many > 1:
        pairs.append((np.zeros(size), spread))
    if needs_whole_numbers(mechanism):
        return [(start.astype(np.int64), end.astype(np.int64)) for start, end in pairs]
    return pairs


def _coordinates(mechanism: Mechanism, wanted: int) -> int:
    """Return how many coordinates a value has: so many, unless a part of the mechanism takes fewer."""
    return min([wanted, *(getattr(part, "dimension", wanted) for part in _innermost(mechanism))])


def _innermost(mechanism: Mechanism) -> Iterator[Mechanism]:
    """Yield what adds noise, behind whatever it is wrapped in."""
    if isinstance(mechanism, Composed):
        for part in mechanism.parts:
            yield from _innermost(part)
    elif isinstance(mechanism, Repeated | PostProcessed):
        yield from _innermost(mechanism.mechanism)
    else:
        yield mechanism


def _samples(mechanism: Mechanism, effort: Effort) -> int:
    """Return how many draws a test takes: fewer where each takes a call of its own."""
    if not _is_called_singly(mechanism):
        return effort.batch_samples
    return effort.single_samples if effort.given else min(effort.single_samples, _MOST_SINGLE)


def _is_called_singly(mechanism: Mechanism) -> bool:
    """Return whether every number that is released takes a call of another library."""
    return isinstance(mechanism, OpenDPMeasurement) and mechanism.releases_single_numbers


def _drawer(
    mechanism: Mechanism, start: npt.NDArray[Any], end: npt.NDArray[Any]
) -> Callable[[bool, int, np.random.SeedSequence], ViewSample]:
    # Composed mechanisms stack their releases in front.
    with subjects_own():
        outputs = np.size(mechanism.release(start[np.newaxis], NumpyNoise(np.random.default_rng(0))))
    columns = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, outputs + 1))
    if outputs == 1:
        columns = (Column("output", "the output", "category" if is_categorical(mechanism) else "real"),)

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        value = np.tile(end if other else start, (n, 1))
        with subjects_own():
            released = mechanism.release(value, NumpyNoise(np.random.default_rng(seed)))
        views = np.moveaxis(np.asarray(released, dtype=np.float64), -2, 0).reshape(n, -1)
        return ViewSample(views, columns)

    return draw


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
