"""A placebo: the test of two data sets repeated on one and the same, where nothing must be found."""

from __future__ import annotations

import math

import numpy as np

from verify.events.view_sample import FloatArray, ViewSample
from verify.neighbouring.adjacency import Pair
from verify.neighbouring.neighbour_search import Draw
from verify.sampling.anytime_result import AnytimeResult
from verify.sampling.black_box_result import BlackBoxResult

_PLACEBO = 7  # first entry of the spawn keys
_BATCH = 1 << 13
_MOST_VALUES = 1 << 22  # values of one half that are held in memory
_ERRORS = 5.5  # standard errors; by chance beyond them with probability below 4e-8 for each count


def drifts(draw: Draw, pair: Pair, result: BlackBoxResult | AnytimeResult, seed: int) -> bool:
    """Return whether outputs on one data set change from call to call.

    Draws are made in two halves, one after the other, as many as the test made. Counted are the tested event, and for
    each column the values below the median of both halves: memory may have carried the outputs beyond the event by now.
    For independent draws both halves have one law, and all counts agree within 5.5 standard errors with a probability
    of at least 1 - 4e-8 for each; a counter, a clock or a cache in the function makes them differ.
    """
    first, second = (_half(draw, pair, result.trials, half, seed) for half in range(2))
    counts = [tuple(int(np.count_nonzero(result.event.holds(sample))) for sample in (first, second))]
    for ours, theirs in zip(first.values.T, second.values.T, strict=True):
        counts += [_below_median(ours, theirs)] if not np.isnan(ours).all() else []
    n = len(first.values)
    return any(_differ(ours, theirs, n) for ours, theirs in counts)


def _half(draw: Draw, pair: Pair, trials: int, half: int, seed: int) -> ViewSample:
    parts: list[ViewSample] = []
    done, wanted = 0, trials
    while done < wanted:
        sequence = np.random.SeedSequence(seed, spawn_key=(_PLACEBO, half, len(parts)))
        parts.append(draw(pair, False, min(_BATCH, wanted - done), sequence))
        wanted = min(trials, max(_BATCH, _MOST_VALUES // len(parts[0].columns)))
        done += len(parts[-1].values)
    return ViewSample(np.concatenate([part.values for part in parts]), parts[0].columns)


def _below_median(ours: FloatArray, theirs: FloatArray) -> tuple[int, int]:
    median = np.nanmedian(np.concatenate([ours, theirs]))
    return int(np.count_nonzero(ours < median)), int(np.count_nonzero(theirs < median))


def _differ(ours: int, theirs: int, n: int) -> bool:
    pooled = (ours + theirs) / 2
    return abs(ours - theirs) > _ERRORS * math.sqrt(2 * pooled * (1 - pooled / n)) + 1e-9
