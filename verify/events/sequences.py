"""Sequences among the columns of a view: entry 1, entry 2, ... of a list or of a word, up to its end.

Columns are one sequence where their names differ in one number in square brackets only: ``output[1]``, ``output[2]``;
``output[1][2]``, ``output[2][2]``; ``output:letter[1]``, ``output:letter[2]``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from verify.events.view_sample import Column

_FEWEST = 3
"""Entries from which columns are a sequence of their own, beside all columns together."""

MOST = 4
"""Most sequences that are read, the longest first."""

_PLACE = re.compile(r"\[(\d+)\]")


def sequences(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Return the sequences among columns, each as its entries in order, the longest first.

    A column that belongs to several (the rows and the columns of a matrix) is in each of them.
    """
    found: dict[tuple[str, str], dict[int, Column]] = {}
    for column in columns:
        for place in _PLACE.finditer(column.name):
            around = (column.name[: place.start()], column.name[place.end() :])
            found.setdefault(around, {})[int(place[1])] = column
    long = [entries for entries in found.values() if len(entries) >= _FEWEST]
    long.sort(key=lambda entries: -len(entries))
    return [tuple(entries[number] for number in sorted(entries)) for entries in long[:MOST]]
