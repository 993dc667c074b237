"""Outputs with very many entries: a choice of entries with columns of their own, and sums for the others.

A search for events reads every column; with thousands of them it would spend its time on places where nothing
differs. All columns are functions of the output, so that bounds hold; they may be smaller than they would be
if every entry had a column of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.column_source import ColumnSource
from verify.outputs.output_readings import Readings

MOST_PLACES = 256
"""Places up to which all are columns."""

KEPT = 128
"""The number of places that are columns where outputs have more than `MOST_PLACES`."""

BLOCKS = 64
"""The number of blocks of neighbouring places over which all numbers are summed then."""

_SMALL = 1e-12  # a spread beside which any difference of means counts as certain


def block_sums(names: Sequence[str]) -> ColumnSource:
    """Return the sums of blocks of neighbouring places. Absent entries are passed over."""
    ends = np.linspace(0, len(names), BLOCKS + 1).astype(int).tolist()
    blocks = [names[start:stop] for start, stop in pairwise(ends) if stop > start]
    columns = tuple(
        Column(
            f"sum of output{block[0]} to output{block[-1]}",
            f"the sum of the {len(block)} entries from {block[0].lstrip('.')} to {block[-1].lstrip('.')}",
            "real",
            is_entry=False,
        )
        for block in blocks
    )
    return ColumnSource(columns, partial(_block_sums, blocks))


def _block_sums(blocks: Sequence[Sequence[str]], readings: Readings) -> FloatArray:
    """Return the sums of n outputs, shape (n, blocks); absent (NaN) where all entries are."""
    sums = np.full((len(readings), len(blocks)), np.nan)
    for at, block in enumerate(blocks):
        here = [readings.places[name] for name in block if name in readings.places]
        if here:
            values = readings.values[:, here]
            absent = np.isnan(values)
            with np.errstate(invalid="ignore", over="ignore"):  # inf - inf: such a sum is absent
                total = np.where(absent, 0.0, values).sum(axis=1)
            sums[:, at] = np.where(absent.all(axis=1), np.nan, total)
    return sums


def most_telling_names(names: Sequence[str], seen: Sequence[Readings]) -> list[str]:
    """Return all names, or of more than 256 the 128 with entries that differ most between the data sets, in order.

    Means, spreads and the frequency with which an entry is present are compared, each in its standard errors.
    """
    if len(names) <= MOST_PLACES:
        return list(names)
    means: list[FloatArray] = []
    spreads: list[FloatArray] = []
    shares: list[FloatArray] = []
    for readings in seen:
        values = np.full((len(readings), len(names)), np.nan)
        for j, name in enumerate(names):
            place = readings.places.get(name, -1)
            if place in readings.words:
                values[:, j] = readings.words[place].numbers(lambda word: zlib.crc32(word.encode()) / 2.0**32)
            elif place >= 0:
                values[:, j] = readings.values[:, place]
        here = np.isfinite(values)
        count = here.sum(axis=0)
        mean = np.where(here, values, 0.0).sum(axis=0) / np.maximum(count, 1)
        square = np.where(here, (np.where(here, values, 0.0) - mean) ** 2, 0.0).sum(axis=0)
        means.append(np.where(count > 0, mean, np.nan))
        spreads.append(np.sqrt(square / np.maximum(count - 1, 1)))
        shares.append(count / len(readings))
    pooled = np.maximum(np.mean(spreads, axis=0), _SMALL)
    # In standard errors, but for √n, which all share.
    scores = np.maximum.reduce(
        [_range(means) / pooled, _range(np.log(np.maximum(spreads, _SMALL))), _range(shares)]
    )
    kept = np.sort(np.argsort(-scores, kind="stable")[:KEPT])
    return [names[j] for j in kept]


def _range(values: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """Return the largest minus the smallest over data sets, 0 where there is no number."""
    stacked = np.asarray(values)
    spread = np.fmax.reduce(stacked) - np.fmin.reduce(stacked)  # they pass over NaN
    return np.where(np.isnan(spread), 0.0, spread)
