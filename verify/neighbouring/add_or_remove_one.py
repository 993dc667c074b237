"""Data sets of up to so many records, one of which has one record more than the other.

One record at an end of its domain is removed, the first, second, fourth ... or last, among others that are equal,
alternate, or are tied; and one alone whose coordinates all differ. Tables of one, two, three equal records tell most
where a count is compared with a small threshold. A record that outweighs an opposite one turns a sum, and
results computed from sums, to the other side: a clipped sum or mean, a direction or a sign moves by all of its width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mechanisms import Ball, Box, Domain, Integers, Interval, Neighbouring
from mechanisms.parameters import whole_number
from verify.neighbouring.adjacency import Data, NotNeighbours, Pair, check_points, first_pairs
from verify.neighbouring.path import Path
from verify.neighbouring.point_patterns import as_domain_data, extreme_points, rising_point
from verify.neighbouring.table_patterns import MOST_POINTS, TablePattern, doubling_places, tables_of
from verify.neighbouring.within import AnyTwo

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_FEW = (3, 2)  # equal records
_MOST_SIZES = 12  # numbers of equal records that are all tried


@dataclass(frozen=True)
class AddOrRemoveOne:
    """Data sets of up to `records` records, one of which has one record more than the other.

    Data have shape ``(k, *record.shape)`` with k from 0 to `records`; the others keep their order.
    """

    written: ClassVar[str] = "add_or_remove_one(domain, records)"
    neighbouring: ClassVar[Neighbouring] = Neighbouring.ADD_OR_REMOVE

    record: Domain
    records: int

    def __post_init__(self) -> None:
        AnyTwo(self.record)
        object.__setattr__(self, "records", whole_number("records", self.records, least=1))

    @property
    def description(self) -> str:
        """One record more or less, and how many there may be."""
        return f"one record (in {self.record}) more or less, of at most {self.records}"

    def seeds(self) -> Sequence[Pair]:
        """Return pairs with the first, second, fourth ... or last record removed, of one, of few and of many."""
        return first_pairs(_removals(self.record, self.records))

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of tables from which one record is removed."""
        from hypothesis import strategies as st

        from verify.neighbouring.strategies import tables

        def of_size(size: int) -> SearchStrategy[Pair]:
            return st.builds(_removal, tables(self.record, size), st.integers(0, size - 1))

        return st.integers(1, self.records).flatmap(of_size)

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless one data set is the other without one record."""
        for name, data in (("data", pair.data), ("other", pair.other)):
            if data.ndim < 1 or len(data) > self.records:
                raise NotNeighbours(
                    f"{name} has shape {data.shape}: must hold at most {self.records} records"
                )
            check_points(self.record, data, (len(data),), name)
        shorter, longer = sorted((pair.data, pair.other), key=len)
        if not any(np.array_equal(np.delete(longer, i, axis=0), shorter) for i in range(len(longer))):
            raise NotNeighbours(
                f"data sets of {len(pair.data)} and {len(pair.other)} records: neighbours are {self.description}"
            )

    def path(self, start: Data, end: Data) -> Path:
        """Remove the records one by one, then add the others one by one."""
        gone = len(start)
        return Path(lambda i: start[: gone - i] if i <= gone else end[: i - gone], gone + len(end))


def _removals(record: Domain, records: int) -> Iterator[Pair]:
    """Yield tables of at most `records` records, and the same without one of them; some of them repeated."""
    points = [point for _, point in extreme_points(record)][:MOST_POINTS]

    def removed(
        points: Sequence[Data], places: Sequence[int], tables: Sequence[TablePattern]
    ) -> Iterator[Pair]:
        for point, i, table in product(points, places, tables):
            data = table.data.copy()
            data[i] = point
            others = f", the others {table.words}" if table.words else ""
            yield _removal(data, i, f"record {i + 1} of {len(data)} removed{others}")

    alone = [TablePattern(points[0][None], "")]
    one = removed([*points, *rising_point(record)], [0], alone)
    # Where every draw is a call, there are draws for the first three or seven only: one of each sort first.
    yield from islice(one, 1)
    if records > 1:
        yield from _outweighing_removals(record, 2)
    yield from one
    if records > 2:
        yield from _outweighing_removals(record, records)
    yield from removed(points[:1], [0], list(tables_of(record, records)))
    half = (records + 1) // 2
    for size, point in product((*_FEW, half, records), points[:2]):
        if 1 < size <= records:
            yield _among_equal(point, size)
    # A block, a floor or a threshold in the number of records shows at one number of them only.
    for size in range(2, min(records, _MOST_SIZES) + 1):
        yield _among_equal(points[0], size)
    for size in dict.fromkeys((1, records, half)):
        yield from removed(
            points, doubling_places(size), list(tables_of(record, size)) if size > 1 else alone
        )


def _outweighing_removals(record: Domain, size: int) -> Iterator[Pair]:
    """Yield removals of a record that outweighs an opposite one, the others being zero; none if none are opposite.

    The other is half as large. Both are on the first axis, where one coordinate of an output says all; or they are
    opposite in all coordinates, or in the last or first alone: a product of two of them, as in the gradient of a
    regression, has the opposite sign where one of them has.
    """
    ends = [point for _, point in extreme_points(record)[:2]]
    if not isinstance(record, Interval | Box | Integers | Ball) or not np.any(ends[0] * ends[-1] < 0):
        return
    light, heavy = sorted(ends, key=lambda end: float(np.abs(end).max()))
    share = min(0.5, np.abs(light).max() / np.abs(heavy).max())
    place = np.arange(heavy.size).reshape(heavy.shape)
    every, first, last = place >= 0, place == 0, place == heavy.size - 1
    for words, turned, kept in (
        ("opposite on the first axis", every, first),
        ("opposite", every, every),
        ("opposite in the last coordinate", last, every),
        ("opposite in the first coordinate", first, every),
    ):
        table = np.zeros((size, *heavy.shape), heavy.dtype)
        table[0] = np.where(kept, heavy, 0)
        table[1] = as_domain_data(record, np.where(turned, -share, share) * table[0])
        yield _removal(table, 0, f"record 1 of {size} removed, record 2 smaller and {words}, the others zero")


def _among_equal(point: Data, size: int) -> Pair:
    words = f"record 1 of {size} removed, the others equal to it"
    return _removal(np.repeat(point[None], size, axis=0), 0, words)


def _removal(table: Data, place: int, words: str = "") -> Pair:
    return Pair(table, np.delete(table, place, axis=0), words)
