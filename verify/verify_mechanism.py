"""Verify a mechanism: its profile is the upper bound, a black-box test of its output the lower one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from accountant import Place, compose
from algorithms.claim import Claim, ClaimForm, View
from mechanisms import (
    Composed,
    Mechanism,
    NumpyNoise,
    OpenDPMeasurement,
    PostProcessed,
    Repeated,
    Transformed,
    Wishart,
    assumptions_of,
)
from mechanisms.losses.composed_profile import ComposedProfile
from mechanisms.losses.enclosure import lower_end
from mechanisms.mechanism import (
    is_categorical,
    mechanism_from_dict,
    needs_domain,
    needs_whole_numbers,
    neighbouring_of,
)
from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.progress import silent
from verify.events.view_sample import Column, ViewSample
from verify.findings import Finding, LowerBound, Statement, UpperBound, Witness
from verify.sampling.second_test import hold_tests, second_unless
from verify.sampling.tester import Candidates, SingleLook, Tester
from verify.sampling.worlds import NeighbouringWorlds
from verify.statistics.likeliest_event import likeliest_event
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
    with stopped_in_time(evidence, conduct.seconds, conduct.spent):
        evidence.assume(*assumptions_of(mechanism))
        if not evidence.assumptions:
            # What it kept of its parameters as they were is not asked; nor do functions get many draws at once.
            mechanism = rebuilt(mechanism.to_dict())
        evidence.upper = upper_bound(mechanism, claim.delta)
        profile = mechanism.profile()
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
        if not evidence.assumptions and not profile.bound:
            evidence.offer(*_exact_lower(mechanism, claim, conduct.reproduce))
    return evidence


class _Identities(dict[str, Callable[[Any], Any]]):
    """The identity under every name."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Callable[[Any], Any]:
        return lambda released: released


def rebuilt(saved: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that ``to_dict`` wrote, without functions of what it releases: they cost nothing.

    Raises
    ------
    ParameterError
        If it is none of this library's, or a parameter is wrong.
    """
    return mechanism_from_dict(saved, _Identities())


def upper_bound(mechanism: Mechanism, delta: float) -> UpperBound:
    """Return the least epsilon at `delta` that the profile proves, of several releases that of their composition."""
    profile = mechanism.profile()
    method = EXACT_COMPOSITION if isinstance(profile, ComposedProfile) else PROFILE
    return UpperBound(profile.epsilon(delta), delta, method)


def _exact_lower(mechanism: Mechanism, claim: Claim, reproduce: str) -> tuple[LowerBound, Witness]:
    """Return what an exact profile says: the least epsilon at the claimed delta, and the best event."""
    profile = mechanism.profile()
    p, q = likeliest_event(lambda at: float(profile.delta(at)), claim.epsilon)
    lower = LowerBound(
        epsilon=lower_end(compose([(profile, 1)]).epsilon(claim.delta)) or 0.0,
        delta=claim.delta,
        confidence=1.0,
        method="the exact privacy profile",
        samples=0,
        decisive=True,
    )
    moved = mechanism.sensitivity
    witness = Witness(
        neighbours={
            "data": "any value",
            "data_prime": f"the value moved by {moved.l1:g} (L1), {moved.l2:g} (L2)",
        },
        event=f"the output is more than e^{claim.epsilon:g} times likelier on D than on D′",
        probability=p,
        probability_prime=q,
        reproduce=reproduce,
    )
    return lower, witness


def add_false_profiles(
    evidence: Evidence, mechanisms: Mapping[Mechanism, Place], conduct: Conduct, seed: np.random.SeedSequence
) -> None:
    """Test mechanisms that rest on assumptions against the profiles they declare, and add what is refuted.

    Where nothing is, the assumptions still stand in the way of a certificate.
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
    epsilon = mechanism.profile().epsilon(delta)
    if math.isinf(epsilon):
        return None
    candidates = Candidates(_worlds(mechanism), max(_FEWEST_SAMPLES, conduct.effort.samples // 4))
    quiet = replace(conduct, seed=int(seed.generate_state(1)[0]), progress=silent)
    result = SingleLook().test(candidates, quiet, epsilon=epsilon, delta=delta)
    if not result.refuted:
        return None
    data, data_prime = result.likelier_first
    return Statement.FALSE_PROFILE.finding(
        place,
        mechanism=name,
        declared=epsilon,
        lost=result.epsilon_lower,
        event=result.event.words,
        probability=result.probability,
        data=data,
        probability_prime=result.probability_prime,
        data_prime=data_prime,
    )


def _worlds(mechanism: Mechanism) -> list[NeighbouringWorlds]:
    """Return the pairs of values that a sampled test should look at."""
    return [
        NeighbouringWorlds(
            (f"the value {start.tolist()}", f"the value {end.tolist()}"), _drawer(mechanism, start, end)
        )
        for start, end in _moves(mechanism)
    ]


def _moves(mechanism: Mechanism) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return pairs of values as far apart as the mechanism is calibrated for: one coordinate, and spread.

    Values have at least two coordinates, so that noise shared between coordinates shows, unless the mechanism
    takes fewer.
    """
    if is_categorical(mechanism):
        return [(np.array([0]), np.array([1]))]
    allowed = mechanism.sensitivity
    step = min(allowed.linf, allowed.l1, allowed.l2)
    if step == 0.0 and isinstance(mechanism, OpenDPMeasurement):
        raise ParameterError(
            f"mechanism = {mechanism}: is a query on data sets; verify the function that calls it, and say which of "
            "them are neighbours: verify.claimed(data=AddOrRemoveOne(...))"
        )
    if step == 0.0 and needs_domain(mechanism):
        raise ParameterError(
            f"mechanism = {mechanism}: transforms the value first, and how far apart that leaves neighbours follows "
            "from a domain, which it does not know; verify what is behind it, or a function that releases it and says "
            "what its data are: verify.claimed(data=...)"
        )
    if not 0.0 < step < math.inf:
        raise ParameterError(
            f"mechanism = {mechanism}: its sensitivity must be finite and above 0, as no value moves by {allowed}"
        )
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
    """Return how many coordinates a value has: so many, unless a part of the mechanism takes fewer or other numbers."""
    parts = list(_innermost(mechanism))
    exact = [part.coordinates for part in parts if isinstance(part, Wishart)]
    return exact[0] if exact else min([wanted, *(getattr(part, "dimension", wanted) for part in parts)])


def _innermost(mechanism: Mechanism) -> Iterator[Mechanism]:
    """Yield what adds noise, behind whatever it is wrapped in."""
    if isinstance(mechanism, Composed):
        for part in mechanism.parts:
            yield from _innermost(part)
    elif isinstance(mechanism, Repeated | PostProcessed | Transformed):
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
    releases = mechanism.release(start[np.newaxis], NumpyNoise(np.random.default_rng(0))).shape[:-2]
    outputs = math.prod(releases) * start.size  # composed mechanisms stack their releases in front
    columns = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, outputs + 1))
    if outputs == 1:
        columns = (Column("output", "the output", "category" if is_categorical(mechanism) else "real"),)

    def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        value = np.tile(end if other else start, (n, 1))
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
    def form(self) -> ClaimForm:
        """A mechanism's claim is about its output."""
        return ClaimForm(
            "central",
            View.OUTPUT,
            "whatever moves the value by at most the sensitivity that the mechanism is calibrated for",
            "the mechanism's own parameters",
            neighbouring_of(self.mechanism),
        )
