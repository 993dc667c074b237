"""Replay of a function that takes a gate: recorded on one data set and run on its neighbour; a difference is a leak.

The function holds raw data and releases through a gate. Given the same released values and the same draws of
the gate, everything that it does must be the same on both data sets: the number of its calls, their lines,
mechanisms and shapes, and its output. A difference is reported only if it comes back every time
(`verify.conduct.effort.CONFIRMATIONS`), while replays on the recorded data set show none: a function with a
generator of its own differs there, too, and gets only a finding that says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from accountant import Recorder, Replay
from algorithms.claim import Claim
from mechanisms.numerics.printed_numbers import as_given, at_least
from verify.conduct.conduct import Conduct
from verify.conduct.effort import CONFIRMATIONS, FALSE_ALARM
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.findings.finding import Finding, FindingKind, Statement, add_once
from verify.functions.function_subject import FunctionSubject
from verify.functions.probe_result import describe_data
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.raised import Raised
from verify.outputs.read_outputs import read_outputs
from verify.sampling.sampled_losses import LossBound, loss_lower_bound

_Run = Callable[[Data, Recorder | Replay], Any]
"""Function that runs the subject on data and a gate, and returns its output as a value that can be compared."""

_LOSES_ITS_MEANING = frozenset({FindingKind.MORE_CALLS, FindingKind.FEWER_CALLS, FindingKind.SHAPE})
_REPLAYED = 6  # pairs on which runs are recorded and replayed


def replay_gate(
    subject: FunctionSubject, pairs: Sequence[Pair], claim: Claim, conduct: Conduct
) -> list[Finding]:
    """Record on one data set of each of a few pairs, replay on the other, and report the remaining differences."""
    replayed = _replay_function(
        lambda data, gate: _output_row(subject, data, gate),
        pairs[:_REPLAYED],
        replays=conduct.effort.replays,
        seed=conduct.seed,
    )
    too_much = replayed.releases_finding(claim.epsilon, claim.delta)
    return [*replayed.findings, *([too_much] if too_much else [])]


def _output_row(subject: FunctionSubject, data: Data, gate: Recorder | Replay) -> Any:
    """Run the function with a gate; return its output, or its error, as a row of `Readings.rows`."""
    given = data.item() if data.ndim == 0 else np.array(data)
    try:
        with subjects_own():
            output = subject.function(given, gate)
    except subject_exceptions() as error:  # an adversary that sees outputs sees which calls raise
        output = Raised.from_error(error)
    return read_outputs([output]).rows[0]


@dataclass
class _Replayed:
    """The findings and privacy losses of all replays of a function.

    Attributes
    ----------
    findings
        One per kind and line.
    losses
        Samples under D of ``ln P_D(releases) / P_D'(releases)``, a list for each pair and order; -inf where the
        calls do not match or a density is unknown.
    """

    findings: list[Finding] = field(default_factory=list)
    losses: list[list[float]] = field(default_factory=list)

    def loss_bound(self, delta: float) -> LossBound | None:
        """Return a lower bound on the epsilon of all releases together; None without a replay."""
        rows = [row for row in self.losses if len(row) > 1]
        if not rows:
            return None
        shortest = min(map(len, rows))
        return loss_lower_bound(np.array([row[:shortest] for row in rows]), delta, FALSE_ALARM)

    def releases_finding(self, epsilon: float, delta: float) -> Finding | None:
        """Return a finding if the releases together cost more than the claim, as where a scale of noise is too small.

        It is a remark and refutes nothing: the output may reveal less than the releases, as a noisy maximum does.
        """
        bound = self.loss_bound(delta)
        if bound is None or not bound.epsilon > epsilon:
            return None
        return Statement.RELEASES_LOSE_MORE.finding(
            epsilon=at_least(bound.epsilon),
            delta=as_given(delta),
            claimed=as_given(epsilon),
            confidence=bound.confidence,
        )


def _replay_function(run: _Run, pairs: Sequence[Pair], *, replays: int, seed: int) -> _Replayed:
    """Record on one data set of each pair and replay on the other, in both orders by turns.

    Parameters
    ----------
    run
        The function.
    pairs
        Neighbouring data sets.
    replays
        Recorded runs per pair.
    seed
        The seed of everything random.

    Returns
    -------
    _Replayed
        Findings and losses; replaying stops at the first run that does not repeat itself.
    """
    replayed = _Replayed()
    for index, pair in enumerate(pairs):
        rows: tuple[list[float], list[float]] = ([], [])
        replayed.losses.extend(rows)
        for turn, child in enumerate(np.random.SeedSequence([seed, index]).spawn(replays)):
            first, second = (pair.data, pair.other) if turn % 2 == 0 else (pair.other, pair.data)
            recorded = _Recorded(run, first, second, child)
            if not recorded.repeats():
                add_once(replayed.findings, Statement.GATE_RUNS_DIFFER.finding())
                return replayed
            loss, found = recorded.compare()
            new = [f for f in found if f.kind not in {known.kind for known in replayed.findings}]
            if new and not recorded.confirms(found):
                add_once(replayed.findings, Statement.GATE_RUNS_DIFFER.finding())
                return replayed
            for finding in found:
                add_once(replayed.findings, finding)
            rows[turn % 2].append(loss)
    return replayed


class _Recorded:
    """One recorded run, to be replayed."""

    def __init__(self, run: _Run, data: Data, other: Data, seed: np.random.SeedSequence) -> None:
        self._run, self._seed = run, seed
        self._data, self._other = data, other
        recorder = Recorder(seed)
        self._output = run(data, recorder)
        self._calls = recorder.calls

    def _replay(self, data: Data) -> tuple[float, list[Finding]]:
        """Replay on `data`; return the privacy loss of the releases, and the differences."""
        gate = Replay(self._seed, self._calls)
        output = self._run(data, gate)
        gate.finish()
        found = [Finding.of_gate(difference) for difference in gate.differences]
        if not found and output != self._output:
            found.append(
                Statement.OUTPUT_DIFFERS.finding(
                    which=f"between {describe_data(self._data)} and {describe_data(self._other)}"
                )
            )
        meaningless = any(finding.kind in _LOSES_ITS_MEANING for finding in found) or math.isnan(gate.loss)
        return (-math.inf if meaningless else gate.loss), found

    def repeats(self) -> bool:
        """Return whether a replay on the recorded data set shows no difference."""
        return not self._replay(self._data)[1]

    def compare(self) -> tuple[float, list[Finding]]:
        """Replay on the neighbour; return the privacy loss of the releases, and the differences."""
        return self._replay(self._other)

    def confirms(self, found: Sequence[Finding]) -> bool:
        """Return whether all replays on the neighbour show `found`, and those on the recorded data set nothing."""
        return all(self.compare()[1] == list(found) and self.repeats() for _ in range(CONFIRMATIONS))
