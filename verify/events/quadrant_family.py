"""Families of events of two readings together: the first takes few values, the second is cut at a number."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.events.event import Both, Event, HalfLine
from verify.events.families import EventFamily, nested, quantiles
from verify.events.readings import Reading
from verify.events.view_sample import WorldSamples

_MOST_CELLS = 40  # values of a reading that takes few, at each of which quadrants may begin


def quadrant_family(
    fit: WorldSamples, choose: WorldSamples, cell: Reading, value: Reading
) -> Iterator[EventFamily]:
    """At most or at least c in one reading that takes few values, and at most or above t in another one.

    Where a sequence ends with a number, a low number after many refusals tells much and is rare: all sequences of
    at least some length that end with a number of at most some size are one quadrant. Without them, one seed of three
    misses gap-svt-value (1.24, without them 1.03; its claim is 1): the search for neighbours needs them, too.
    """
    readings = [
        [np.concatenate([reading.values(a), reading.values(b)]) for a, b in zip(fit, choose, strict=True)]
        for reading in (cell, value)
    ]
    cells, values = readings
    numbers = np.unique(np.concatenate(cells))
    numbers = numbers[~np.isnan(numbers)] + 0.0
    pooled = np.concatenate(values)
    pooled = np.sort(pooled[~np.isnan(pooled)])
    if pooled.size == 0 or not 1 < numbers.size <= _MOST_CELLS:
        return
    cuts = quantiles(pooled, 8, 8)
    cuts = cuts[np.isfinite(cuts)]  # nothing lies above infinity
    if cuts.size == 0:
        return
    corners = []
    places = []
    for where, what in zip(cells, values, strict=True):
        here = ~(np.isnan(where) | np.isnan(what))
        bins = np.searchsorted(cuts, what)  # bin i: cuts[i-1] < value <= cuts[i]
        places.append((here, np.searchsorted(numbers, where), bins))
        corners.append(_quadrants(places[-1][1][here], bins[here], numbers.size, cuts.size))

    def build(at: int) -> Event:
        quadrant, c, t = (int(i) for i in np.unravel_index(at, (4, numbers.size, cuts.size)))
        cut = float(np.nextafter(cuts[t], np.inf)) if quadrant >= 2 else float(cuts[t])
        first = HalfLine(cell, float(numbers[c]), quadrant % 2 == 1)
        return Both(first, HalfLine(value, cut, quadrant >= 2))

    split = None
    if cells[0].size == cells[1].size:
        (here, first, bins), (other_here, other_first, other_bins) = places
        both = here & other_here
        ends = [
            (np.maximum(a[both], b[both]), np.minimum(a[both], b[both]))
            for a, b in ((first, other_first), (bins, other_bins))
        ]
        # (largest, largest), (largest, smallest), (smallest, largest), (smallest, smallest)
        alike = [
            _quadrants(*corner, numbers.size, cuts.size) for corner in itertools.product(ends[0], ends[1])
        ]
        size = numbers.size * cuts.size
        # Quadrants come in the order: at most c and at most t, at least c and at most t, then both above t.
        together = [alike[which][k * size : (k + 1) * size] for k, which in enumerate((0, 2, 1, 3))]
        split = (corners[0] + corners[1] - 2 * np.concatenate(together) + 1.0) / cells[0].size
    yield EventFamily(corners[0], corners[1], (cells[0].size, cells[1].size), build, _quadrants_alike, split)


def _quadrants(cells: npt.NDArray[np.int64], bins: npt.NDArray[np.int64], rows: int, cuts: int) -> IntArray:
    """How many draws lie in each quadrant: at most t and at most, at least c; above t and at most, at least c."""
    table = np.bincount(cells * (cuts + 1) + bins, minlength=rows * (cuts + 1)).reshape(rows, -1)
    low, high = np.cumsum(table, axis=1)[:, :-1], np.cumsum(table[:, ::-1], axis=1)[:, ::-1][:, 1:]
    quadrants = [
        total for half in (low, high) for total in (np.cumsum(half, 0), np.cumsum(half[::-1], 0)[::-1])
    ]
    return np.stack(quadrants).ravel().astype(np.int64)


def _quadrants_alike(mass: FloatArray) -> FloatArray:
    """Alternatives of quadrants: a few for every factor e of their probability in either direction."""
    return nested(mass) ** 2
