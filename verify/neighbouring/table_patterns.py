"""Telling changes of tables: which record is replaced or removed, and what the others are.

One record at an end of its domain is replaced by the other end, or removed, among others that are equal, alternate, or
are tied. Where a record has several coordinates, some of them go up while the others go down: the first two thirds
against the last, the halves, one against the rest, among others that are split in the same way. There the sparse
vector technique that counts records loses most: many counts below the threshold rise, and the few above it fall
(Lyu, Su, Li 2017, VLDB 10(6), section 4.3: only where all counts move the same way is half of the noise enough).
Tables of one, two, three equal records tell most where a count is compared with a small threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms import Domain
from verify.neighbouring.point_patterns import Move, ends_of, telling_points, typed

Data = npt.NDArray[Any]

PART = 0.1  # of the way between two ends: a value in between
LEAST_TIED = 5  # records of which some are at both ends and two in between
LEAST_SWINGING = 4  # records of which there are two batches of two
MOST_POINTS = 3  # values of a record that is removed
FEW = (3, 2)  # equal records
MOST_SIZES = 12  # numbers of equal records that are all tried
FIRST_CHANGES = 5  # of a record, that come before its other places in the table


def replacements(record: Domain, records: int, changes: Sequence[Move]) -> Iterator[Move]:
    """Yield tables of which one record is changed, and what it is; the most telling first, and some of them repeated.

    Parameters
    ----------
    record
        The domain of a record.
    records
        How many there are.
    changes
        What a record is replaced by, the most telling first.
    """
    tables = list(tables_of(record, records))
    split = split_replacements(record, records)
    # Where every draw is a call, there are draws for the first dozen or two only: one of each sort first.
    yield from _replaced(changes[:1], [0], tables)
    yield from islice(split, 4)
    if math.prod(record.shape) > 1:
        yield from _replaced(changes[:1], [records - 1], tables)
    yield from split
    yield from _replaced(changes[:FIRST_CHANGES], [0], tables[:2])
    yield from _replaced(changes, doubling(records), tables)


def _replaced(
    changes: Sequence[Move], places: Sequence[int], tables: Sequence[tuple[str, Data]]
) -> Iterator[Move]:
    for (first, second, what), i, (words, table) in product(changes, places, tables):
        data, other = table.copy(), table.copy()
        data[i], other[i] = first, second
        yield data, other, f"record {i + 1} replaced ({what}), the others {words}"


def split_replacements(record: Domain, records: int) -> Iterator[Move]:
    """Yield replacements of record 1 that move the first coordinates up and the last down; none of single numbers."""
    ends, size = ends_of(record), math.prod(record.shape)
    if ends is None or size < 2:
        return
    low, high = ends
    counts = [size - size // 3, size // 2, 1, size - 1]
    splits = []
    for count in dict.fromkeys(count for count in counts if 0 < count < size):
        first = (np.arange(size) < count).reshape(record.shape)
        up, down = np.where(first, high, low), np.where(first, low, high)
        splits.append((count, typed(record, down), typed(record, up)))
    others = records - 1
    below, above = typed(record, low), typed(record, high)
    for which, (count, down, up) in product(range(5), splits):
        words, rest = (
            ("equal to the new one", [up] * others),
            ("all highest", [above] * others),
            (
                "half highest, half equal to the new one",
                [above] * (others - others // 2) + [up] * (others // 2),
            ),
            ("equal to the old one", [down] * others),
            ("all lowest", [below] * others),
        )[which]
        what = f"the first {count} of {size} above, the rest below"
        yield (
            np.stack([down, *rest]),
            np.stack([up, *rest]),
            f"record 1 replaced ({what}), the others {words}",
        )


def removals(record: Domain, records: int) -> Iterator[Move]:
    """Yield tables of at most so many records, and the same without one of them; some of them repeated."""
    points = [point for _, point in telling_points(record)][:MOST_POINTS]
    alone = [("", points[0][None])]
    yield from _removed(points, 1, [0], alone)
    yield from _removed(points[:1], records, [0], list(tables_of(record, records)))
    half = (records + 1) // 2
    for size, point in product((*FEW, half, records), points[:2]):
        if 1 < size <= records:
            yield from _removed([point], size, [0], [("equal to it", np.repeat(point[None], size, axis=0))])
    # A block, a floor or a threshold in the number of records shows at one number of them only.
    for size in range(2, min(records, MOST_SIZES) + 1):
        table = np.repeat(points[0][None], size, axis=0)
        yield from _removed(points[:1], size, [0], [("equal to it", table)])
    for size in dict.fromkeys((1, records, half)):
        yield from _removed(
            points, size, doubling(size), list(tables_of(record, size)) if size > 1 else alone
        )


def _removed(
    points: Sequence[Data], size: int, places: Sequence[int], tables: Sequence[tuple[str, Data]]
) -> Iterator[Move]:
    for point, i, (words, table) in product(points, places, tables):
        data = table.copy()
        data[i] = point
        others = f", the others {words}" if words else ""
        yield data, np.delete(data, i, axis=0), f"record {i + 1} of {size} removed{others}"


def doubling(records: int) -> list[int]:
    """Return the places of records 1, 2, 4, ... and of the last."""
    places = [2**j - 1 for j in range(records.bit_length())]
    return list(dict.fromkeys([*places, records - 1]))


def tables_of(record: Domain, records: int) -> Iterator[tuple[str, Data]]:
    """Yield data sets whose records are all equal, alternate (ties), or all but one equal (gaps of 1/n)."""
    points = telling_points(record)
    for words, point in points[:3]:
        yield f"all {words}", np.repeat(point[None], records, axis=0)
    if len(points) > 1 and records > 1:
        low, high = points[0][1], points[1][1]
        bits = np.arange(records) % 2 == 1
        yield "alternating", _mixed(low, high, bits)
        inside = low + PART * (high - low)
        if records >= LEAST_TIED and _strictly_between(low, inside, high):
            # Records at both ends, and one value in between that several have (medians and other quantiles).
            others = np.array([0] * ((records - 3) // 2) + [1] * 2 + [2] * (records - 3 - (records - 3) // 2))
            yield (
                "at both ends and tied in between",
                np.stack([(low, inside, high)[k] for k in (0, *others)]),
            )
        if ends_of(record) is None and len(points) > MOST_POINTS:
            # As many different values as there can be, and one more (sketches with a few counters).
            rest = [point for _, point in points[1:]]
            yield "each of the other values in turn", np.stack([rest[k % len(rest)] for k in range(records)])
        yield "half and half", _mixed(low, high, np.arange(records) >= records // 2)
        yield "all but one equal", _mixed(low, high, np.arange(records) == records // 2)
        if records >= LEAST_SWINGING and _strictly_between(low, inside, high):
            # Sums of two records in turn have one sign, and the other where they begin one record later: what is
            # worked out of batches or windows, in order, changes in all of them with the first record.
            swing = (-1.0) ** np.arange(records) * np.linspace(1.0, -1.0, records)
            middle = low + (high - low) / 2.0
            swung = np.stack([np.clip(middle + s * (low - middle), low, high) for s in swing])
            yield "swinging less and less, then more", swung


def _strictly_between(low: Data, inside: Data, high: Data) -> bool:
    return low.dtype.kind == "f" and bool(((low < inside) & (inside < high)).all())


def _mixed(low: Data, high: Data, bits: npt.NDArray[np.bool_]) -> Data:
    return np.stack([high if bit else low for bit in bits])
