"""One-sided values: frequent in one world and absent in the other; together they form one event.

Noise that is drawn from a table of a few thousand values gives them away: x + table and x′ + table have hardly a value
in common. Each value shows little, as it is rare; all of them together show nearly everything. Continuous noise may
take one value four times by chance, as a computer's numbers are finitely many, and must not pass for such a table: of
2^19 draws of 24 random bits, half a value on average is drawn four times (n⁴/(24·2⁷²)).

They show 8.8 of ten-random-bits (without them 4.5) and 7.9 of thousand-seeds (6.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.event import Event, RowTable
from verify.events.families import EventFamily, Sorted, nested, occurrences, runs
from verify.events.table_families import MOST_LISTED, SEEN_OFTEN

_LEVELS = (1, 2, 4, 16)  # times `SEEN_OFTEN` that a value must have been seen, to be among the listed ones
_FEWEST = 2  # values together: single ones are events of other families


def one_sided_families(sorted_values: Sorted) -> Iterator[EventFamily]:
    """For each world, the values of one reading that were often seen in it when laid out, and never in the other.

    The most frequent ones, if they are more than can be listed; and only those that were seen more often still, as a
    value that was seen four times may be one that the other world takes, too. Fresh draws alone are counted.
    """
    reading = sorted_values.reading  # `build` outlives the sorted values, and must not keep them
    tables = []
    for own, other in (sorted_values.fit, sorted_values.fit[::-1]):
        values, lengths = _one_sided_values(own, other)
        sizes = [int((lengths >= SEEN_OFTEN * level).sum()) for level in _LEVELS]
        tables += [values[:size] for size in dict.fromkeys(sizes) if size >= _FEWEST]
    if not tables:
        return
    hits = [np.array([occurrences(table, world).sum() for table in tables]) for world in sorted_values.choose]

    def build(at: int) -> Event:
        return RowTable((reading,), tuple((value,) for value in tables[at].tolist()))

    yield EventFamily(hits[0], hits[1], sorted_values.choose_size, build, nested)


def _one_sided_values(own: FloatArray, other: FloatArray) -> tuple[FloatArray, npt.NDArray[np.integer[Any]]]:
    """Return the values frequent in one sorted sample and never in the other, by falling counts, and these."""
    starts, lengths = runs(own)
    often = np.flatnonzero(lengths >= SEEN_OFTEN)
    values, lengths = own[starts[often]] + 0.0, lengths[often]  # -0.0 is 0.0
    if other.size:
        there = other[np.minimum(np.searchsorted(other, values), other.size - 1)] == values
        values, lengths = values[~there], lengths[~there]
    order = np.argsort(-lengths, kind="stable")[:MOST_LISTED]
    return values[order], lengths[order]
