"""The worlds of a mechanism, its releases of two values, and the test of a declared profile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Place
from mechanisms import (
    Composed,
    Mechanism,
    NumpyNoise,
    OpenDPMeasurement,
    PostProcessed,
    PrivacyProfile,
    Repeated,
    Transformed,
    assumptions_of,
)
from mechanisms.noise.mechanism import is_categorical, needs_whole_numbers
from mechanisms.numerics.printed_numbers import at_least, at_most
from mechanisms.parameters import ParameterError
from verify.conduct.conduct import Conduct
from verify.conduct.effort import Effort
from verify.conduct.process_state import subjects_own
from verify.conduct.progress import no_progress
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.findings.finding import Finding, Statement
from verify.sampling.evidence import Evidence
from verify.sampling.farthest_records import farthest_records
from verify.sampling.tester import Candidates, SingleLook

_MOST_COORDINATES = 8
_MOST_SINGLE = 100_000  # draws, of about 0.2 ms each, where each takes a call of another library
_FEWEST_SAMPLES = 20_000  # of a test of a declared profile


def mechanism_worlds(mechanism: Mechanism) -> list[NeighbouringWorlds]:
    """Return the pairs of values for a sampled test; behind a transformation, of records."""
    _check_moves(mechanism)
    if isinstance(mechanism, Transformed):
        inner, far = mechanism.mechanism, farthest_records(mechanism)
        pairs = [(pair.record, pair.other, pair.start, pair.end) for pair in far]
    else:
        inner = mechanism
        pairs = [(start.tolist(), end.tolist(), start, end) for start, end in _moves(mechanism)]
    return [
        NeighbouringWorlds((f"the value {one}", f"the value {other}"), _drawer(inner, start, end))
        for one, other, start, end in pairs
    ]


def mechanism_draws(mechanism: Mechanism, effort: Effort) -> int:
    """Return the number of draws of a test: fewer where each takes a call of its own."""
    if not _is_called_singly(mechanism):
        return effort.batch_samples
    return effort.single_samples if effort.given else min(effort.single_samples, _MOST_SINGLE)


@subjects_own()
def declared_profile(mechanism: Mechanism) -> PrivacyProfile:
    """Return the profile of a mechanism; a user's own declares it."""
    return mechanism.profile()


def add_false_profiles(
    evidence: Evidence, mechanisms: Mapping[Mechanism, Place], conduct: Conduct, seed: np.random.SeedSequence
) -> None:
    """Test mechanisms that rest on assumptions against the profiles they declare, and add the refuted ones.

    If none is refuted, the assumptions still prevent a certificate.
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
    epsilon = declared_profile(mechanism).epsilon(delta)
    if math.isinf(epsilon):
        return None
    candidates = Candidates(mechanism_worlds(mechanism), max(_FEWEST_SAMPLES, conduct.effort.samples // 4))
    quiet = replace(conduct, seed=int(seed.generate_state(1)[0]), progress=no_progress)
    result = SingleLook().test(candidates, quiet, epsilon=epsilon, delta=delta)
    if not result.refuted:
        return None
    return Statement.FALSE_PROFILE.finding(
        place,
        mechanism=name,
        declared=at_most(epsilon),
        lost=at_least(result.epsilon_lower),
        **result.finding_values,
    )


def _check_moves(mechanism: Mechanism) -> None:
    """Raise `ParameterError` unless a record moves the released value, by a distance that is known."""
    if is_categorical(mechanism) and not isinstance(mechanism, Transformed):
        return
    allowed = mechanism.sensitivity
    step = min(allowed.linf, allowed.l1, allowed.l2)
    if step == 0.0 and isinstance(mechanism, OpenDPMeasurement):
        raise ParameterError(
            f"mechanism = {mechanism}: is a query on data sets; verify the function that calls it, and state which of "
            "them are neighbours: verify.claimed(data=AddOrRemoveOne(...))"
        )
    if step == 0.0 and isinstance(mechanism, Transformed):
        raise ParameterError(
            f"mechanism = {mechanism}: transforms the value first, and the distance of neighbouring results follows "
            "from the value's domain, which it does not know; clip in front of all, or verify a function that releases "
            "it and states its data: verify.claimed(data=...)"
        )
    if not 0.0 < step < math.inf:
        raise ParameterError(
            f"mechanism = {mechanism}: its sensitivity must be finite and above 0, as no value moves by {allowed}"
        )


def _moves(mechanism: Mechanism) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return pairs of values at the largest distance the mechanism is calibrated for: in one coordinate, and spread.

    Values have at least two coordinates, so that noise shared between coordinates shows, unless the mechanism
    takes fewer.
    """
    if is_categorical(mechanism):
        return [(np.array([0]), np.array([1]))]
    allowed = mechanism.sensitivity
    step = min(allowed.linf, allowed.l1, allowed.l2)
    together = min(_MOST_COORDINATES, allowed.l1 / step, (allowed.l2 / step) ** 2 + 1e-9)
    size = 1 if _is_called_singly(mechanism) else max(2, int(together))
    size = min([size, *(getattr(part, "dimension", size) for part in _noisy_parts(mechanism))])
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


def _noisy_parts(mechanism: Mechanism) -> Iterator[Mechanism]:
    """Yield the mechanisms that add the noise, behind all wrappers."""
    if isinstance(mechanism, Composed):
        for part in mechanism.parts:
            yield from _noisy_parts(part)
    elif isinstance(mechanism, Repeated | PostProcessed):
        yield from _noisy_parts(mechanism.mechanism)
    else:
        yield mechanism


def _is_called_singly(mechanism: Mechanism) -> bool:
    """Return True if every released number takes a call of another library."""
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
