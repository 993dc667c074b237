"""Tests for repetition, drift and dependence among the draws of a function's test.

Drift is tested by a placebo: the test of two data sets repeated on one and the same, where nothing must be found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from algorithms.blocks import Executor
from mechanisms.arrays import FloatArray
from verify.conduct.spawn_keys import SpawnKey
from verify.events.count_events import count_events
from verify.findings.finding import Finding, Statement
from verify.functions.probe_result import Probe
from verify.functions.repeats import REPEATS_ERROR, repeats_an_event
from verify.functions.runs import FunctionRuns
from verify.sampling.counted_event import CountedEvent


@dataclass(frozen=True, kw_only=True)
class _Placebo:
    """Settings of the test for drift; the values were chosen by hand.

    Attributes
    ----------
    batch, fewest_parts
        Draws of one part, and the smallest number of parts of a half.
    most_values
        Largest number of values of one half: they are held in memory.
    standard_errors
        Smallest difference of two counts, in standard errors, that shows drift; without drift, two counts differ so
        much with probability below 4e-8.
    confidence
        Lower bound on the confidence of a finding of drift, for fewer than 2,500 columns.
    """

    batch: int = 1 << 13
    fewest_parts: int = 4
    most_values: int = 1 << 22
    standard_errors: float = 5.5
    confidence: float = 0.9999


_PLACEBO = _Placebo()


def dependence_reason(
    result: CountedEvent, runs: FunctionRuns, looked: Probe, seed: int, executor: Executor
) -> Finding | None:
    """Return a finding that draws with a result are not independent; None without evidence of it, or if it was stopped.

    The new draws are made in the workers of the test, so that memory of a function from call to call shows in
    them. Nothing is drawn where the test drew one output on each data set in turn, the first of the two by a fair coin:
    no drift can then look like a difference of the two data sets.
    """
    if result.interrupted or result.worlds.one_by_one:
        return None
    says_something = result.refuted or result.dependent is not None
    if says_something and runs.together and repeats_an_event(result, runs.width, seed):
        return Statement.REPEATS.finding(share="a part", confidence=1.0 - REPEATS_ERROR)
    if (says_something or not looked.repeatable) and _drifts(result, seed, executor):
        return Statement.DRIFT.finding(confidence=_PLACEBO.confidence)
    return None


def _drifts(result: CountedEvent, seed: int, executor: Executor) -> bool:
    """Return whether outputs on one data set change from call to call.

    Draws are made in two halves, one after the other, as many as the test made. Workers share them, each a part of the
    first half and then one of the second. Counted are the tested event, and for each column the values below the median
    of both halves: memory may have carried the outputs beyond the event by now. For independent draws both halves have
    one law, and all counts agree within 5.5 standard errors with a probability of at least 1 - 4e-8 for each; a
    counter, a clock or a cache in the function makes them differ.
    """
    columns = len(result.worlds.draw(False, 1, SpawnKey.PLACEBO.sequence(seed, 3)).columns)
    wanted = min(result.trials, max(_PLACEBO.batch, _PLACEBO.most_values // columns))
    batch = min(_PLACEBO.batch, math.ceil(wanted / _PLACEBO.fewest_parts))
    parts = [(number, min(batch, wanted - done)) for number, done in enumerate(range(0, wanted, batch))]
    shares = [
        parts[worker :: executor.parallel_tasks] for worker in range(min(executor.parallel_tasks, len(parts)))
    ]
    with executor.open(partial(_draw_halves, result, seed), most=len(shares)) as pool:
        shared = list(pool.results(shares))
    hits, hits_prime = (sum(share[half].hits for share in shared) for half in range(2))
    first, second = (np.concatenate([share[half].values for share in shared], axis=1) for half in range(2))
    counts = [(hits, hits_prime)]
    for ours, theirs in zip(first, second, strict=True):
        counts += [_below_median(ours, theirs)] if not np.isnan(ours).all() else []
    n = first.shape[1]
    return any(_differ(ours, theirs, n) for ours, theirs in counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Half:
    """The number of draws of a half in the tested event, and all its draws: an array of shape (columns, n)."""

    hits: int
    values: FloatArray


def _draw_halves(result: CountedEvent, seed: int, parts: Sequence[tuple[int, int]]) -> tuple[_Half, _Half]:
    """Draw these parts of the first half, and then of the second; a part is its number and its number of draws."""

    def half_of(half: int) -> _Half:
        samples = [
            result.worlds.draw(False, size, SpawnKey.PLACEBO.sequence(seed, half, number))
            for number, size in parts
        ]
        hits = sum(int(count_events([result.event], sample)[0]) for sample in samples)
        return _Half(hits, np.concatenate([sample.values for sample in samples]).T)

    return half_of(0), half_of(1)


def _below_median(ours: FloatArray, theirs: FloatArray) -> tuple[int, int]:
    median = np.nanmedian(np.concatenate([ours, theirs]))
    return int(np.count_nonzero(ours < median)), int(np.count_nonzero(theirs < median))


def _differ(ours: int, theirs: int, n: int) -> bool:
    pooled = (ours + theirs) / 2
    return abs(ours - theirs) > _PLACEBO.standard_errors * math.sqrt(2 * pooled * (1 - pooled / n)) + 1e-9
