"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries of a name that was not seen, words at a place where
there were none) makes events coarser, never wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from verify.events.view_sample import Column, ViewSample
from verify.functions.outputs import FloatArray, Readings

FEW_VALUES = 12  # a place that shows no more than so many different whole numbers holds labels
_UNSEEN = 2.0**32  # codes of words that were not seen when the layout was made lie above


@dataclass(frozen=True)
class Layout:
    """Which column holds what.

    Attributes
    ----------
    numbers
        Names of the places whose numbers are columns.
    words
        Names of the places whose words are columns, with the code of each word.
    shapes
        Codes of the output's shapes, which one column holds, and the next how many entries have a name that is not
        known; None if there is only one shape.
    errors
        Codes of what is raised; None if nothing was.
    columns
        All columns: numbers, words, shape, unknown entries, error.
    """

    numbers: tuple[str, ...]
    words: tuple[tuple[str, Mapping[str, int]], ...]
    shapes: Mapping[str, int] | None
    errors: Mapping[str, int] | None
    columns: tuple[Column, ...]

    def sample(self, readings: Readings) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns)."""
        n = len(readings)
        if not self.words and self.shapes is None and self.errors is None and readings.names == self.numbers:
            return ViewSample(readings.values, self.columns)
        values = np.full((n, len(self.columns)), np.nan)
        places = {name: place for place, name in enumerate(readings.names)}
        at = 0
        for name in self.numbers:
            if name in places:
                values[:, at] = readings.values[:, places[name]]
            at += 1
        for name, codes in self.words:
            words = readings.words.get(places.get(name, -1))
            if words is not None:
                values[:, at] = [_code(codes, word) for word in words]
            at += 1
        if self.shapes is not None:
            shapes = readings.shapes if len(readings.shapes) == n else readings.shapes * n
            values[:, at] = [_code(self.shapes, shape) for shape in shapes]
            values[:, at + 1] = self._unknown(readings)
            at += 2
        if self.errors is not None:
            for i, raised in readings.raised.items():
                values[i, at] = _code(self.errors, raised.error)
        return ViewSample(values, self.columns)

    def _unknown(self, readings: Readings) -> FloatArray:
        """Return how many entries of each output have a name that no column has."""
        known = {*self.numbers, *(name for name, _ in self.words)}
        count = np.zeros(len(readings))
        for place, name in enumerate(readings.names):
            if name not in known:
                present = ~np.isnan(readings.values[:, place])
                if place in readings.words:
                    present |= np.array([word is not None for word in readings.words[place]])
                count += present
        return count


def layout_of(seen: Sequence[Readings]) -> Layout:
    """Return the layout for outputs like those seen."""
    names = _all_names(seen)
    single = len(names) == 1
    numbers, words, columns = [], [], []
    places = [{name: place for place, name in enumerate(r.names)} for r in seen]
    for name in names:
        here = [(r, at[name]) for r, at in zip(seen, places, strict=True) if name in at]
        values = np.concatenate([r.values[:, place] for r, place in here])
        values = values[~np.isnan(values)]
        if values.size or not any(place in r.words for r, place in here):
            numbers.append(name)
            columns.append(_number_column(name, single, values, all(place in r.truths for r, place in here)))
    for name in names:
        spoken = [
            word
            for r, at in zip(seen, places, strict=True)
            for word in r.words.get(at.get(name, -1), ())
            if word is not None
        ]
        if spoken:
            codes = _codes(spoken)
            words.append((name, codes))
            key, said = _said(name, single)
            key = f"{key}:word" if name in numbers else key
            columns.append(Column(key, said, "category", _labels(codes)))
    shapes = _codes(shape for r in seen for shape in r.shapes)
    errors = _codes(raised.error for r in seen for raised in r.raised.values())
    if len(shapes) > 1:
        columns.append(Column("shape", "the shape of the output", "category", _labels(shapes)))
        columns.append(Column("unknown", "the number of entries that a first look did not show", "category"))
    if errors:
        columns.append(Column("raised", "what the call raised", "category", _labels(errors)))
    return Layout(
        tuple(numbers), tuple(words), shapes if len(shapes) > 1 else None, errors or None, tuple(columns)
    )


def _all_names(seen: Sequence[Readings]) -> tuple[str, ...]:
    """Return the names of all places: in order those of the outputs with most, then what the others add."""
    by_length = sorted(seen, key=lambda readings: -len(readings.names))
    names = dict.fromkeys(name for readings in by_length for name in readings.names)
    # Entries of a dictionary come in the order in which outputs happen to show them.
    return tuple(sorted(names) if all(name.startswith(".") for name in names) else names)


def _number_column(name: str, single: bool, values: FloatArray, truth: bool) -> Column:
    key, said = _said(name, single)
    distinct = np.unique(values)
    kind: Literal["category", "real"] = "real"
    if distinct.size and distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all()):
        kind = "category"
    return Column(key, said, kind, ((0.0, "False"), (1.0, "True")) if truth and values.size else ())


def _said(name: str, single: bool) -> tuple[str, str]:
    """Return a column's name and words: ``output[2]``, "output 2"."""
    if not name or (single and name == "[1]"):
        return "output", "the output"
    if name.startswith("[") and name.count("[") == 1 and name.endswith("]"):
        return f"output{name}", f"output {name[1:-1]}"
    return f"output{name}", f"output {name.removeprefix('.')}"


def _codes(words: Iterable[str]) -> dict[str, int]:
    return {word: code for code, word in enumerate(sorted(set(words)))}


def _labels(codes: Mapping[str, int]) -> tuple[tuple[float, str], ...]:
    return tuple((float(code), word) for word, code in codes.items())


def _code(codes: Mapping[str, int], word: Any) -> float:
    """Return a word's code; of one that was not seen before, a number that depends on nothing but the word."""
    if word is None:
        return np.nan
    known = codes.get(word)
    return float(known) if known is not None else _UNSEEN + zlib.crc32(word.encode())
