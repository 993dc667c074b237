"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries beyond the longest output that was seen, words at
a place where there were none) makes events coarser, never wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from verify.events.event import Column, ViewSample
from verify.functions.outputs import FloatArray, Readings

FEW_VALUES = 12  # a place that shows no more than so many different whole numbers holds labels
_UNSEEN = 2.0**32  # codes of words that were not seen when the layout was made lie above


@dataclass(frozen=True)
class Layout:
    """Which column holds what.

    Attributes
    ----------
    numbers
        Places whose numbers are columns.
    words
        Places whose words are columns, with the code of each word.
    shapes
        Codes of the output's shapes; None if there is only one.
    errors
        Codes of what is raised; None if nothing was.
    columns
        All columns: numbers, words, shape, error.
    """

    numbers: tuple[int, ...]
    words: tuple[tuple[int, Mapping[str, int]], ...]
    shapes: Mapping[str, int] | None
    errors: Mapping[str, int] | None
    columns: tuple[Column, ...]

    def sample(self, readings: Readings) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns)."""
        n = len(readings)
        if (
            not self.words
            and self.shapes is None
            and self.errors is None
            and readings.values.shape[1] == len(self.numbers)
        ):
            return ViewSample(readings.values, self.columns)
        values = np.full((n, len(self.columns)), np.nan)
        at = 0
        for place in self.numbers:
            if place < readings.values.shape[1]:
                values[:, at] = readings.values[:, place]
            at += 1
        for place, codes in self.words:
            if place in readings.words:
                values[:, at] = [_code(codes, word) for word in readings.words[place]]
            at += 1
        if self.shapes is not None:
            shapes = readings.shapes if len(readings.shapes) == n else readings.shapes * n
            values[:, at] = [_code(self.shapes, shape) for shape in shapes]
            at += 1
        if self.errors is not None:
            for i, raised in readings.raised.items():
                values[i, at] = _code(self.errors, raised.error)
        return ViewSample(values, self.columns)


def layout_of(seen: Sequence[Readings]) -> Layout:
    """Return the layout for outputs like those seen."""
    longest = max(seen, key=lambda readings: len(readings.names))
    names = longest.names
    single = len(names) == 1
    numbers, words, columns = [], [], []
    for place, name in enumerate(names):
        values = np.concatenate([r.values[:, place] for r in seen if place < r.values.shape[1]])
        values = values[~np.isnan(values)]
        if values.size or not any(place in r.words for r in seen):
            truth = all(place in r.truths for r in seen if place < r.values.shape[1])
            numbers.append(place)
            columns.append(_number_column(name, single, values, truth))
    for place, name in enumerate(names):
        here = [word for r in seen for word in r.words.get(place, ()) if word is not None]
        if here:
            codes = _codes(here)
            words.append((place, codes))
            key, said = _said(name, single)
            key = f"{key}:word" if place in numbers else key
            columns.append(Column(key, said, "category", _labels(codes)))
    shapes = _codes(shape for r in seen for shape in r.shapes)
    errors = _codes(raised.error for r in seen for raised in r.raised.values())
    if len(shapes) > 1:
        columns.append(Column("shape", "the shape of the output", "category", _labels(shapes)))
    if errors:
        columns.append(Column("raised", "what the call raised", "category", _labels(errors)))
    return Layout(
        tuple(numbers), tuple(words), shapes if len(shapes) > 1 else None, errors or None, tuple(columns)
    )


def _number_column(name: str, single: bool, values: FloatArray, truth: bool) -> Column:
    key, said = _said(name, single)
    distinct = np.unique(values)
    kind: Literal["category", "real"] = "real"
    if distinct.size and distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all()):
        kind = "category"
    return Column(key, said, kind, ((0.0, "False"), (1.0, "True")) if truth and values.size else ())


def _said(name: str, single: bool) -> tuple[str, str]:
    """Return a column's name and words: ``output[2]``, "output 2"."""
    if single and not name:
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
