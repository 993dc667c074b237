"""Tables of records on which known bugs show: all equal, alternating, tied, half and half, one record changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mechanisms import Domain
from mechanisms.arrays import BoolArray
from verify.neighbouring.adjacency import Data
from verify.neighbouring.point_patterns import ends_of, extreme_points

MOST_POINTS = 3
"""Values of a record that is removed."""

_PART = 0.1  # of the way between two ends: a value in between
_LEAST_TIED = 5  # records of which some are at both ends and two in between
_LEAST_SWINGING = 4  # records of which there are two batches of two


class TablePattern(NamedTuple):
    """Records, with their description."""

    data: Data
    words: str


def doubling_places(records: int) -> list[int]:
    """Return the places of records 1, 2, 4, ... and of the last; and of record 3.

    Record 3 begins a block of a counter whose blocks double, a short one, in which there is least noise.
    """
    places = [2**j - 1 for j in range(records.bit_length())]
    return sorted({*places, min(2, records - 1), records - 1})


def tables_of(record: Domain, records: int) -> Iterator[TablePattern]:
    """Yield data sets with records that are all equal, alternate (ties), or are all but one equal (gaps of 1/n)."""
    points = extreme_points(record)
    for words, point in points[:3]:
        yield TablePattern(np.repeat(point[None], records, axis=0), f"all {words}")
    if len(points) > 1 and records > 1:
        low, high = points[0][1], points[1][1]
        bits = np.arange(records) % 2 == 1
        yield TablePattern(_table_of_bits(low, high, bits), "alternating")
        inside = low + _PART * (high - low)
        if records >= _LEAST_TIED and _strictly_between(low, inside, high):
            # Records at both ends, and one value in between that several have (medians and other quantiles).
            lowest = (records - 1) // 2
            tied = np.repeat(np.stack([low, inside, high]), [lowest, 2, records - 2 - lowest], axis=0)
            yield TablePattern(tied, "at both ends and tied in between")
        if ends_of(record) is None and len(points) > MOST_POINTS:
            # As many different values as there can be, and one more (sketches with a few counters).
            rest = [point for _, point in points[1:]]
            turns = np.stack([rest[k % len(rest)] for k in range(records)])
            yield TablePattern(turns, "each of the other values in turn")
        yield TablePattern(_table_of_bits(low, high, np.arange(records) >= records // 2), "half and half")
        yield TablePattern(_table_of_bits(low, high, np.arange(records) == records // 2), "all but one equal")
        if records >= _LEAST_SWINGING and _strictly_between(low, inside, high):
            # Sums of two records in turn have one sign, and the other where they begin one record later: results of
            # batches or windows, in order, change in all of them with the first record.
            swing = (-1.0) ** np.arange(records) * np.linspace(1.0, -1.0, records)
            middle = low + (high - low) / 2.0
            swung = np.stack([np.clip(middle + s * (low - middle), low, high) for s in swing])
            yield TablePattern(swung, "swinging less and less, then more")


def _strictly_between(low: Data, inside: Data, high: Data) -> bool:
    return low.dtype.kind == "f" and bool(((low < inside) & (inside < high)).all())


def _table_of_bits(low: Data, high: Data, bits: BoolArray) -> Data:
    return np.stack([high if bit else low for bit in bits])
