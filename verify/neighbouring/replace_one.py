"""Data sets of a fixed number of records, one of them replaced.

One record at an end of its domain is replaced by the other end, among others that are equal, alternate, or are tied.
Where a record has several coordinates, some of them go up while the others go down: the first two thirds against the
last, the halves, one against the rest, among others that are split in the same way. There the sparse vector technique
that counts records loses most: many counts below the threshold rise, and the few above it fall (Lyu, Su, Li 2017, VLDB
10(6), section 4.3: only where all counts move the same way is half of the noise enough).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mechanisms import Domain, Neighbouring
from mechanisms.parameters import whole_number
from verify.neighbouring.adjacency import Data, NotNeighbours, Pair, check_points, first_pairs
from verify.neighbouring.path import Path
from verify.neighbouring.point_patterns import as_domain_data, ends_of
from verify.neighbouring.table_patterns import TablePattern, doubling_places, tables_of
from verify.neighbouring.within import AnyTwo

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_FIRST_CHANGES = 5  # of a record, that come before its other places in the table


@dataclass(frozen=True)
class ReplaceOne:
    """Data sets of a fixed number of records, one of them replaced.

    Data have shape ``(records, *record.shape)``.
    """

    written: ClassVar[str] = "replace_one(domain, records)"
    neighbouring: ClassVar[Neighbouring] = Neighbouring.REPLACE_ONE

    record: Domain
    records: int

    def __post_init__(self) -> None:
        AnyTwo(self.record)
        object.__setattr__(self, "records", whole_number("records", self.records, least=1))

    @property
    def description(self) -> str:
        """One of how many records is replaced by which."""
        if self.records == 1:
            return f"the one record (in {self.record}) replaced"
        return f"one of {self.records} records (each in {self.record}) replaced"

    def seeds(self) -> Sequence[Pair]:
        """Return replacements of records 1, 2, 3, 4, 8, ... and the last, among equal, tied and mixed others.

        Of records of several coordinates also some that go up and down at once.
        """
        return first_pairs(_replacements(self.record, self.records))

    def pairs(self) -> SearchStrategy[Pair]:
        """Return a strategy of tables with one record replaced."""
        from hypothesis import strategies as st

        from verify.neighbouring.strategies import tables

        return st.builds(
            _replacement_pair,
            tables(self.record, self.records),
            st.integers(0, self.records - 1),
            AnyTwo(self.record).pairs(),
        )

    def check(self, pair: Pair) -> None:
        """Raise `NotNeighbours` unless exactly one record differs."""
        for name, data in (("data", pair.data), ("other", pair.other)):
            check_points(self.record, data, (self.records,), name)
        different = np.flatnonzero((pair.data != pair.other).reshape(self.records, -1).any(axis=1))
        if different.size != 1:
            raise NotNeighbours(
                f"data and other differ in {different.size} records: neighbours are {self.description}"
            )

    def path(self, start: Data, end: Data) -> Path:
        """Replace the records one by one."""
        return Path(lambda i: np.concatenate([end[:i], start[i:]]), len(start))


def _replacements(record: Domain, records: int) -> Iterator[Pair]:
    """Yield tables of which one record is changed; the most distinguishing first, and some of them repeated."""
    changes = AnyTwo(record).seeds()
    tables = list(tables_of(record, records))
    split = _split_replacements(record, records)

    def changed(
        changes: Sequence[Pair], places: Sequence[int], tables: Sequence[TablePattern]
    ) -> Iterator[Pair]:
        for change, i, table in product(changes, places, tables):
            words = f"record {i + 1} replaced ({change.words}), the others {table.words}"
            yield _replacement_pair(table.data, i, change, words)

    # Where every draw is a call, there are draws for the first dozen or two only, or for four: one of each sort first.
    yield from changed(changes[:1], [0, min(2, records - 1)], tables[:1])
    yield from changed(changes[:1], [0], tables)
    yield from islice(split, 4)
    yield from changed(changes[1:3], [0], tables[:1])
    if math.prod(record.shape) > 1:
        yield from changed(changes[:1], [records - 1], tables)
    yield from split
    yield from changed(changes[:_FIRST_CHANGES], [0], tables[:2])
    yield from changed(changes, doubling_places(records), tables)


def _replacement_pair(table: Data, place: int, change: Pair, words: str = "") -> Pair:
    data, other = table.copy(), table.copy()
    data[place], other[place] = change.data, change.other
    return Pair(data, other, words)


def _split_replacements(record: Domain, records: int) -> Iterator[Pair]:
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
        splits.append((count, as_domain_data(record, down), as_domain_data(record, up)))
    others = records - 1
    below, above = as_domain_data(record, low), as_domain_data(record, high)
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
        yield Pair(
            np.stack([down, *rest]), np.stack([up, *rest]), f"record 1 replaced ({what}), the others {words}"
        )
