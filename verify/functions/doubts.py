"""Doubts about what a test of a function drew: do its draws repeat, drift, or depend on each other?

Drift is looked for by a placebo: the test of two data sets repeated on one and the same, where nothing must be found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from verify.conduct.spawn_keys import SpawnKey
from verify.findings import Finding, Statement
from verify.functions.probe_result import Probe
from verify.functions.repeats import repeats_an_event
from verify.functions.runs import FunctionRuns
from verify.sampling.count_events import count_events
from verify.sampling.counted_event import CountedEvent
from verify.sampling.draws import batch_sizes
from verify.sampling.independence import dependence


@dataclass(frozen=True, kw_only=True)
class _Placebo:
    """How much is drawn anew to doubt a result; the values were chosen by hand.

    Attributes
    ----------
    batch
        Draws that are made at once.
    most_values
        Values of one half that are held in memory.
    fewest_marked, most_marked
        Draws of each world, of which it is noted whether an event occurred.
    marked_columns
        Columns for which batches are sized, so that they are those of the smallest size.
    standard_errors
        By which counts must differ; by chance they do with probability below 4e-8 each.
    """

    batch: int = 1 << 13
    most_values: int = 1 << 22
    fewest_marked: int = 1 << 12
    most_marked: int = 1 << 18
    marked_columns: int = 32
    standard_errors: float = 5.5


_PLACEBO = _Placebo()


def doubt_of(result: CountedEvent, runs: FunctionRuns, looked: Probe, seed: int) -> Finding | None:
    """Return why draws that say something are not independent; None if nothing speaks against it, or it was stopped."""
    if result.interrupted:
        return None
    says_something = result.refuted or result.dependent is not None
    if says_something and runs.together and repeats_an_event(result, runs.width, seed):
        return Statement.REPEATS.finding(share="a part")
    if (says_something or not looked.repeatable) and _drifts(result, seed):
        return Statement.DRIFT.finding()
    if result.refuted and not result.looked_for_dependence:
        how = _dependence(result, seed)
        if how is not None:
            return Statement.DEPENDENT_DRAWS.finding(how=how)
    return None


def _drifts(result: CountedEvent, seed: int) -> bool:
    """Return whether outputs on one data set change from call to call.

    Draws are made in two halves, one after the other, as many as the test made. Counted are the tested event, and for
    each column the values below the median of both halves: memory may have carried the outputs beyond the event by now.
    For independent draws both halves have one law, and all counts agree within 5.5 standard errors with a probability
    of at least 1 - 4e-8 for each; a counter, a clock or a cache in the function makes them differ.
    """
    halves = [_half(result, half, seed) for half in range(2)]
    (hits, first), (hits_prime, second) = halves
    counts = [(hits, hits_prime)]
    for ours, theirs in zip(first, second, strict=True):
        counts += [_below_median(ours, theirs)] if not np.isnan(ours).all() else []
    n = first.shape[1]
    return any(_differ(ours, theirs, n) for ours, theirs in counts)


def _dependence(result: CountedEvent, seed: int) -> str | None:
    """Return how draws of the tested worlds depend on each other; None if nothing speaks for it (`independence`).

    For a test that does not keep where its event occurred: as many draws as it made are made anew, 2^12 to 2^18 of
    each world, both in turn.
    """
    marks: tuple[list[BoolArray], list[BoolArray]] = [], []
    draws = min(max(result.trials, _PLACEBO.fewest_marked), _PLACEBO.most_marked)
    for part, size in enumerate(batch_sizes(draws, _PLACEBO.marked_columns)):
        for world, found in enumerate(marks):
            sequence = SpawnKey.PLACEBO.sequence(seed, 2, world, part)
            found.append(result.event.holds(result.worlds.draw(bool(world), size, sequence)))
    return dependence(marks)


def _half(result: CountedEvent, half: int, seed: int) -> tuple[int, FloatArray]:
    """How many draws lie in the tested event, and the draws; shape (columns, n)."""
    values, hits, done, wanted = np.empty((0, 0)), 0, 0, result.trials
    for part in count():
        sequence = SpawnKey.PLACEBO.sequence(seed, half, part)
        sample = result.worlds.draw(False, min(_PLACEBO.batch, wanted - done), sequence)
        if part == 0:
            wanted = min(wanted, max(_PLACEBO.batch, _PLACEBO.most_values // len(sample.columns)))
            values = np.empty((len(sample.columns), wanted))
        hits += int(count_events([result.event], sample)[0])
        values[:, done : done + len(sample.values)] = sample.values.T
        done += len(sample.values)
        if done >= wanted:
            break
    return hits, values


def _below_median(ours: FloatArray, theirs: FloatArray) -> tuple[int, int]:
    median = np.nanmedian(np.concatenate([ours, theirs]))
    return int(np.count_nonzero(ours < median)), int(np.count_nonzero(theirs < median))


def _differ(ours: int, theirs: int, n: int) -> bool:
    pooled = (ours + theirs) / 2
    return abs(ours - theirs) > _PLACEBO.standard_errors * math.sqrt(2 * pooled * (1 - pooled / n)) + 1e-9
