"""A function that takes a gate: recorded on one data set, replayed on its neighbour."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from accountant import Recorder, Replay
from algorithms.claim import Claim
from mechanisms.arrays import FloatArray
from verify.conduct.conduct import Conduct
from verify.findings import Finding
from verify.functions.function_subject import FunctionSubject
from verify.functions.probe_result import words_of
from verify.functions.replay_on_neighbour import releases_finding, replay_function
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.read_outputs import read_outputs
from verify.subject_error import SubjectError, failing_place

_REPLAYED = 6  # pairs on which runs are recorded and replayed


def replay_gate(
    subject: FunctionSubject, pairs: Sequence[Pair], claim: Claim, conduct: Conduct
) -> list[Finding]:
    """Record on one data set of each of a few pairs, replay on the other, and report what still differs."""
    replayed = replay_function(
        lambda data, gate: _flat(subject, data, gate),
        [(pair.data, pair.other) for pair in pairs[:_REPLAYED]],
        words=words_of,
        replays=conduct.effort.replays,
        seed=conduct.seed,
    )
    too_much = releases_finding(replayed, claim.epsilon, claim.delta)
    return [*replayed.findings, *([too_much] if too_much else [])]


def _flat(subject: FunctionSubject, data: Data, gate: Recorder | Replay) -> FloatArray:
    """Run the function on a gate; its output as numbers, words by their codes."""
    given = data.item() if data.ndim == 0 else np.array(data)
    try:
        output = subject.function(given, gate)
    except (Exception, SystemExit) as error:  # whatever a user's function raises
        place = failing_place(error)
        raise SubjectError(f"{subject.name} raised {type(error).__name__}: {error} (at {place})") from error
    readings = read_outputs([output])
    beside = [*readings.words.values(), *readings.whole.values()]
    words = [float(zlib.crc32(repr(column[0]).encode())) for column in beside]
    return np.concatenate([readings.values[0], words])
