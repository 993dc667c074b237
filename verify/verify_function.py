"""Verify a function: replay on recorded releases where it takes a gate, a black-box test always."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from accountant import Direct, Recorder, Replay
from algorithms.claim import Claim
from mechanisms import Domain
from verify.accounting_run import failing_place
from verify.black_box import BlackBoxResult, Candidate, black_box_test, count_event
from verify.effort import Effort
from verify.events import Column, ViewSample
from verify.evidence import FALSE_ALARM, Evidence, Progress
from verify.subject import FunctionSubject, SubjectError
from verify.verdict import Finding, UpperBound

FloatArray = npt.NDArray[np.float64]

_PAIRS = 6
_ONE_AT_A_TIME = 400_000  # draws of a function that is called once per draw


def verify_function(
    subject: FunctionSubject,
    claim: Claim,
    *,
    effort: Effort,
    seed: int,
    reproduce: str,
    progress: Progress,
) -> Evidence:
    """Collect findings and a lower bound for a function's claim; nothing gives an upper bound.

    Raises
    ------
    SubjectError
        If the function raises, or returns something that is no array of numbers of one shape.
    """
    evidence = Evidence(upper=UpperBound(math.inf, 1.0, "none: nothing is known of a black box"))
    pairs = _neighbours(subject.data)
    if subject.takes_gate:
        progress(0.0, "replaying recorded runs")
        evidence.findings.extend(_replay(subject, pairs, effort, seed))
    samples = effort.samples if subject.takes_lanes else min(effort.samples, _ONE_AT_A_TIME)
    columns = _columns(subject, pairs[0][0], seed)
    result = black_box_test(
        [
            Candidate(f"{_words(data)} / {_words(other)}", _drawer(subject, data, other, columns))
            for data, other in pairs
        ],
        claim_epsilon=claim.epsilon,
        claim_delta=claim.delta,
        samples=samples,
        false_alarm=FALSE_ALARM,
        seed=seed,
        progress=progress,
    )
    data, other = pairs[result.candidate]
    if result.refuted and _drifts(subject, data, columns, result, seed):
        message = (
            "outputs on one and the same data set drift with the number of calls: draws are not independent"
        )
        evidence.findings.append(Finding("drift", "", message))
        evidence.details["black_box"] = result.to_dict()
        return evidence
    witness = result.witness({"data": _words(data), "data_prime": _words(other)}, reproduce)
    evidence.offer(result.lower_bound(), witness)
    evidence.details["black_box"] = result.to_dict()
    evidence.details["detection_floor"] = result.detection_floor_words
    return evidence


def _neighbours(domain: Domain) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Return the first pairs of a domain's extreme points."""
    extremes = list(domain.extremes())
    return list(combinations(extremes, 2))[:_PAIRS]


def _words(data: npt.NDArray[Any]) -> str:
    return f"data = {np.asarray(data).tolist()}"


def _call(subject: FunctionSubject, data: npt.NDArray[Any], second: object, **more: Any) -> Any:
    """Call the function on a copy of its data, a scalar as a Python number."""
    given = data.item() if np.ndim(data) == 0 else np.array(data)
    try:
        return subject.function(given, second, **more)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        place = failing_place(error)
        raise SubjectError(f"{subject.name} raised {type(error).__name__}: {error} (at {place})") from error


def _drifts(
    subject: FunctionSubject,
    data: npt.NDArray[Any],
    columns: tuple[Column, ...],
    result: BlackBoxResult,
    seed: int,
) -> bool:
    """Count the refuting event on one data set twice, in the order in which both data sets were drawn.

    For independent draws both counts have one law; they differ by more than five standard errors with
    probability below 1e-6. A counter, a clock or a cache in the function makes them differ.
    """
    first, second, _ = count_event(
        Candidate("placebo", _drawer(subject, data, data, columns)),
        result.event,
        index=result.candidate,
        swapped=False,
        trials=result.trials,
        seed=seed + 1,
    )
    pooled = (first + second) / 2
    return abs(first - second) > 5 * math.sqrt(2 * pooled * (1 - pooled / result.trials)) + 1e-9


# --- black box -----------------------------------------------------------------------------------


def _columns(subject: FunctionSubject, data: npt.NDArray[Any], seed: int) -> tuple[Column, ...]:
    """Name the entries of the output, from one call."""
    output = _flat(subject, _one_output(subject, data, np.random.SeedSequence(seed)))
    if output.size == 1:
        return (Column("output", "the output", "real"),)
    return tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(1, output.size + 1))


def _one_output(subject: FunctionSubject, data: npt.NDArray[Any], seed: np.random.SeedSequence) -> Any:
    if subject.takes_gate:
        return _call(subject, data, Direct(np.random.default_rng(seed)))
    if subject.takes_lanes:
        return np.asarray(_call(subject, data, np.random.default_rng(seed), lanes=1))[0]
    return _call(subject, data, np.random.default_rng(seed))


def _flat(subject: FunctionSubject, output: Any) -> FloatArray:
    try:
        if output is None or np.size(output) == 0:
            raise TypeError
        return np.asarray(output, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise SubjectError(
            f"{subject.name} returned {output!r:.80}: must be a number or an array of numbers"
        ) from None


def _drawer(
    subject: FunctionSubject, data: npt.NDArray[Any], other: npt.NDArray[Any], columns: tuple[Column, ...]
) -> Callable[[bool, int, np.random.SeedSequence], ViewSample]:
    def draw(other_world: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
        given = other if other_world else data
        if subject.takes_lanes:
            outputs = np.asarray(
                _call(subject, given, np.random.default_rng(seed), lanes=n), dtype=np.float64
            )
            return ViewSample(_checked(subject, outputs.reshape(n, -1), columns), columns)
        rng = np.random.default_rng(seed)
        source = Direct(rng) if subject.takes_gate else rng
        rows = [_flat(subject, _call(subject, given, source)) for _ in range(n)]
        if len({row.size for row in rows}) > 1:
            raise SubjectError(f"{subject.name} returns outputs of different shapes")
        return ViewSample(_checked(subject, np.stack(rows), columns), columns)

    return draw


def _checked(subject: FunctionSubject, outputs: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    if outputs.shape[1] != len(columns):
        raise SubjectError(
            f"{subject.name} returned {outputs.shape[1]} numbers where it returned {len(columns)} before"
        )
    return outputs


# --- record and replay ---------------------------------------------------------------------------


def _replay(
    subject: FunctionSubject,
    pairs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    effort: Effort,
    seed: int,
) -> list[Finding]:
    """Record each pair's first data set, replay on the second, and report what still differs."""
    findings: dict[tuple[str, str], Finding] = {}

    def note(kind: str, where: str, message: str) -> None:
        findings.setdefault((kind, where), Finding(kind, where, message))

    for number, (data, other) in enumerate(pairs):
        for child in np.random.SeedSequence([seed, number]).spawn(effort.replays):
            recorder = Recorder(child)
            output = _flat(subject, _call(subject, data, recorder))
            again = Replay(child, recorder.calls)
            same = _flat(subject, _call(subject, data, again))
            if not np.array_equal(output, same, equal_nan=True):
                note(
                    "foreign-randomness",
                    "",
                    "two runs on the same data and seed differ: use gate.random for all draws",
                )
                break
            replay = Replay(child, recorder.calls)
            neighbour_output = _flat(subject, _call(subject, other, replay))
            replay.finish()
            for difference in replay.differences:
                note(difference.kind, str(difference.where), difference.message)
            if not replay.differences and not np.array_equal(output, neighbour_output, equal_nan=True):
                note(
                    "raw-output",
                    "",
                    f"the output differs between {_words(data)} and {_words(other)} although every released value is "
                    "the same: it is computed from raw data",
                )
    return list(findings.values())
