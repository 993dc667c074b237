"""The outputs of a function, read as numbers and words at numbered places.

Outputs may be numbers, truth values, words, nothing (None), arrays, and lists, tuples or dictionaries of these,
of one length or of several. A number that is absent is NaN, as are masked entries of an array.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray
from verify.outputs.entries import SINGLE, entries_of, is_flat, take_apart
from verify.outputs.output_readings import (
    LEAST_INEXACT,
    Readings,
    as_float,
    distinct_names,
    flat_names,
)
from verify.outputs.raised import Raised
from verify.outputs.read_arrays import read_arrays
from verify.outputs.shapes import Shape, shape_of
from verify.outputs.word_columns import Words


def read_outputs(outputs: Sequence[Any], known: Collection[str] | None = None) -> Readings:
    """Read outputs that were returned one at a time.

    Entries of the same name share a place: in a dictionary those of the same key, however many others there are.

    Parameters
    ----------
    outputs
        The outputs.
    known
        Names of the entries that are wanted; others are passed over, so that outputs with ever new keys do not fill the
        memory. All, if not given.

    Raises
    ------
    UnreadableOutput
        If one is of another type, or lists lie too deep within lists.
    """
    quick = _alike_arrays(outputs) or _single_values(outputs)
    if quick is not None:
        return quick
    # Outputs of one form, with the same kinds of entries under the same names, are read together.
    alike: dict[tuple[Any, ...], tuple[list[int], list[list[Any]]]] = {}
    for i, output in enumerate(outputs):
        entries: list[Any] = []
        marks: list[Any] = []
        take_apart(output, entries, marks)
        numbers, rows = alike.setdefault(tuple(marks), ([], []))
        numbers.append(i)
        rows.append(entries)
    columns = _Columns(len(outputs), None if known is None else frozenset(known))
    for numbers, rows in alike.values():
        columns.add(outputs[numbers[0]], np.array(numbers), rows)
    raised = {i: output for i, output in enumerate(outputs) if isinstance(output, Raised)}
    return columns.readings(raised, _orders(outputs))


def _orders(outputs: Sequence[Any]) -> Words | None:
    """Return the keys of dictionaries in their order, which can be seen where they are printed; None without any."""
    if not any(isinstance(output, Mapping) and len(output) > 1 for output in outputs):
        return None
    return Words.of_list(
        ", ".join(map(str, output)) if isinstance(output, Mapping) and len(output) > 1 else None
        for output in outputs
    )


class _Columns:
    """The places of n outputs, filled in one form of output after the other."""

    def __init__(self, n: int, known: frozenset[str] | None = None) -> None:
        self.n = n
        self.known = known
        self.places: dict[str, int] = {}
        self.values = np.full((n, 1), np.nan)  # grows to the right
        self.words: dict[int, npt.NDArray[np.object_]] = {}
        self.whole: dict[int, npt.NDArray[np.object_]] = {}
        self.shapes: list[tuple[npt.NDArray[np.intp], Shape]] = []
        self.truth: dict[int, BoolArray] = {}
        self.integer: dict[int, BoolArray] = {}
        self.flat = 0  # the entries of lists no longer than this have the places 0, 1, ...

    def add(self, example: Any, which: npt.NDArray[np.intp], rows: Sequence[Sequence[Any]]) -> None:
        """Add outputs of one form: one of them, their numbers, and the entries of each in order."""
        self.shapes.append((which, shape_of(example)))
        if is_flat(example):
            self._add_flat(which, rows)
            return
        named = list(entries_of(example))
        names = distinct_names(name for name, _ in named)
        wanted = [name for name in names if self.known is None or name in self.known]
        places = dict(zip(wanted, self.numbered(wanted), strict=True))
        for name, (_, value), column in zip(names, named, zip(*rows, strict=True), strict=True):
            if name in places:
                self.fill(places[name], which, column, type(value))

    def _add_flat(self, which: npt.NDArray[np.intp], rows: Sequence[Sequence[Any]]) -> None:
        """Add lists of numbers."""
        length = len(rows[0])
        values = _as_floats(rows)
        entries = list(range(length))
        if self.known is not None:
            names = flat_names(length)
            entries = [j for j in entries if names[j] in self.known]
        places = entries
        if length > self.flat:
            places = self.numbered([flat_names(length)[j] for j in entries])
            if places == list(range(length)):
                self.flat = length
        self.values[which[:, None], places] = values[:, entries]
        kinds = set(map(type, rows[0]))  # of every row
        if int in kinds:
            for j, place in zip(entries, places, strict=True):
                integers = len(kinds) == 1 or np.array([type(row[j]) is int for row in rows])
                self._mark_integers(place, which, integers)
        inexact = (np.abs(values[:, entries]) >= LEAST_INEXACT).any(axis=0)
        for at in np.flatnonzero(inexact).tolist():
            self._keep_whole(places[at], which, [row[entries[at]] for row in rows])

    def _mark_integers(self, place: int, which: npt.NDArray[np.intp], integers: BoolArray | bool) -> None:
        """Mark which of some outputs' entries at a place are of a type of whole numbers."""
        self.integer.setdefault(place, np.zeros(self.n, dtype=bool))[which] = integers

    def _keep_whole(self, place: int, which: npt.NDArray[np.intp], column: Sequence[Any]) -> None:
        """Keep whole numbers that may not be floats as they are."""
        exact = [int(value) if isinstance(value, int | np.integer) else None for value in column]
        if any(value is not None for value in exact):
            self.whole.setdefault(place, np.full(self.n, None, dtype=object))[which] = exact

    def fill(self, place: int, which: npt.NDArray[np.intp], column: Sequence[Any], kind: type[Any]) -> None:
        """Fill in values of one kind at a place."""
        if issubclass(kind, str):
            self.words.setdefault(place, np.full(self.n, None, dtype=object))[which] = column
            return
        if issubclass(kind, bool):
            self.truth.setdefault(place, np.zeros(self.n, dtype=bool))[which] = True
        elif issubclass(kind, int | np.integer):
            self._mark_integers(place, which, True)
        values = _as_floats(column)
        self.values[which, place] = values
        if bool((np.abs(values) >= LEAST_INEXACT).any()):
            self._keep_whole(place, which, column)

    def numbered(self, names: Sequence[str]) -> list[int]:
        """Return the places of some names, making those that are new."""
        places = [self.places.setdefault(name, len(self.places)) for name in names]
        wanted = len(self.places) - self.values.shape[1]
        if wanted > 0:
            more = max(wanted, self.values.shape[1]) if self.values.shape[1] > 1 else wanted
            self.values = np.concatenate([self.values, np.full((self.n, more), np.nan)], axis=1)
        return places

    def readings(self, raised: Mapping[int, Raised], orders: Words | None = None) -> Readings:
        """Return all that was added."""
        if len({shape for _, shape in self.shapes}) == 1:
            shapes: tuple[Shape, ...] = (self.shapes[0][1],)
        else:
            by_number = np.empty(self.n, dtype=object)
            for which, shape in self.shapes:
                by_number[which] = shape
            shapes = tuple(by_number.tolist())
        return Readings(
            self.values[:, : len(self.places)],
            {place: Words.of_list(words) for place, words in self.words.items()},
            shapes,
            tuple(self.places),
            self.truth,
            raised,
            self.whole,
            orders,
            self.integer,
        )


def _alike_arrays(outputs: Sequence[Any]) -> Readings | None:
    """Read outputs that are all arrays of numbers of one type and shape at once; None if they are not."""
    first = outputs[0]
    if type(first) is not np.ndarray or first.dtype.kind not in "biuf" or not first.size:
        return None
    for output in outputs:
        if type(output) is not np.ndarray or output.shape != first.shape or output.dtype != first.dtype:
            return None
    return read_arrays([np.stack(outputs)])


def _single_values(outputs: Sequence[Any]) -> Readings | None:
    """Read outputs that are all single values, of one kind or several, at once; None if they are not."""
    kinds = list(map(type, outputs))
    different = dict.fromkeys(kinds)
    if not all(issubclass(kind, SINGLE) for kind in different):
        return None
    columns = _Columns(len(outputs))
    (place,) = columns.numbered([""])
    every = np.arange(len(outputs))
    columns.shapes.append((every, Shape()))
    for kind in different:
        which, column = every, outputs
        if len(different) > 1:
            which = np.array([i for i, other in enumerate(kinds) if other is kind])
            column = [outputs[i] for i in which.tolist()]
        ((_, value),) = entries_of(column[0])
        if issubclass(kind, bytes | type(None)):
            column = [entry for output in column for _, entry in entries_of(output)]
        columns.fill(place, which, column, type(value))
    return columns.readings({})


def _as_floats(numbers: Sequence[Any]) -> FloatArray:
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:
        return np.asarray(np.vectorize(as_float, otypes=[np.float64])(np.array(numbers, dtype=object)))
