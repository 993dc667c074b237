"""The columns of a function's view, fixed once from a few outputs and kept for all draws.

A layout is a function of the output: what it leaves out (entries of a name that was not seen, words at a place where
there were none, most of the entries of a very long list) makes events coarser, never wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from verify.events.view_sample import Column, ViewSample
from verify.functions.readings import EXACT, FloatArray, Readings
from verify.functions.shapes import shown
from verify.functions.whole import LOW_BITS, digits, integers_of, less, low_bits
from verify.functions.wide import MOST_COLUMNS, Blocks, blocks_of, most_telling_names
from verify.functions.words import Words

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
        All columns: numbers, words, the low bits of whole numbers, sums of blocks, shape, unknown entries, error.
    offsets
        For each of the numbers that is a whole number too large for floats, what is subtracted from it first.
    low
        Names of the places whose whole numbers are too far apart for that: their lowest 12 bits are a column, too.
    blocks
        Places that are looked at only as sums, where there are too many of them.
    places
        Names of all places that were seen.
    """

    numbers: tuple[str, ...]
    words: tuple[tuple[str, Mapping[str, int]], ...]
    shapes: Mapping[str, int] | None
    errors: Mapping[str, int] | None
    columns: tuple[Column, ...]
    offsets: Mapping[str, int] = field(default_factory=dict)
    low: tuple[str, ...] = ()
    blocks: Blocks = field(default_factory=Blocks)
    places: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many places outputs have."""
        return max(1, len(self.places))

    def sample(self, readings: Readings) -> ViewSample:
        """Return the view that n outputs are, shape (n, columns)."""
        n = len(readings)
        if readings.names == self.numbers and len(self.columns) == len(self.numbers) and not self.offsets:
            return ViewSample(readings.values, self.columns)
        values = np.full((n, len(self.columns)), np.nan)
        places = {name: place for place, name in enumerate(readings.names)}
        known = [(at, places[name]) for at, name in enumerate(self.numbers) if name in places]
        if known:
            columns, sources = map(list, zip(*known, strict=True))
            values[:, columns] = readings.values[:, sources]
        for at, name in enumerate(self.numbers):
            if name in self.offsets and name in places:
                place = places[name]
                values[:, at] = less(readings.values[:, place], readings.whole.get(place), self.offsets[name])
        at = len(self.numbers)
        for name, codes in self.words:
            words = readings.words.get(places.get(name, -1))
            if words is not None:
                values[:, at] = _coded(codes, words)
            at += 1
        for name in self.low:
            if name in places:
                place = places[name]
                values[:, at] = low_bits(readings.values[:, place], readings.whole.get(place))
            at += 1
        values[:, at : at + len(self.blocks)] = self.blocks.sums(readings)
        at += len(self.blocks)
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
        """Return how many entries of each output have a name that was not seen before."""
        known = set(self.places)
        count = np.zeros(len(readings))
        for place, name in enumerate(readings.names):
            if name not in known:
                present = ~np.isnan(readings.values[:, place])
                if place in readings.words:
                    present |= readings.words[place].present
                count += present
        return count


def layout_of(seen: Sequence[Readings]) -> Layout:
    """Return the layout for outputs like those seen, some on each of several data sets.

    Of more than 256 places with numbers (or words), only those stay columns that differ most between the data sets;
    beside them, sums of all numbers in blocks.
    """
    names = _all_names(seen)
    single = len(names) == 1
    places = [{name: place for place, name in enumerate(r.names)} for r in seen]
    numbers = [name for name in names if _holds_numbers(name, seen, places)]
    spoken = [
        name for name in names if any(at.get(name, -1) in r.words for r, at in zip(seen, places, strict=True))
    ]
    blocks = blocks_of(numbers) if len(numbers) > MOST_COLUMNS else Blocks()
    numbers = most_telling_names(numbers, seen)
    spoken = most_telling_names(spoken, seen)
    columns: list[Column] = []
    low_columns: list[Column] = []
    offsets: dict[str, int] = {}
    low: list[str] = []
    both = {*numbers} & {*spoken}
    for name in numbers:
        here = [(r, at[name]) for r, at in zip(seen, places, strict=True) if name in at]
        values = np.concatenate([r.values[:, place] for r, place in here])
        whole = [integers_of(r.values[:, place], r.whole.get(place)) for r, place in here]
        key, said = _said(name, single)
        said = f"{said} as a number" if name in both else said
        if any(place in r.whole for r, place in here):
            integers = [x for column in whole for x in column if x is not None]
            smallest, largest = min(integers), max(integers)
            offsets[name] = smallest
            values = np.concatenate(
                [less(r.values[:, place], r.whole.get(place), smallest) for r, place in here]
            )
            if largest - smallest >= EXACT:
                low.append(name)
                low_columns.append(
                    Column(f"{key}:low", f"{said} modulo 2^{LOW_BITS}", _kind_of_low(here), ())
                )
            if smallest != 0:
                key, said = f"{key} - {smallest:#x}", f"{said} minus {digits(smallest)}"
        truth = all(place in r.truths for r, place in here)
        columns.append(_number_column(key, said, values[~np.isnan(values)], truth))
    words = []
    for name in spoken:
        used = {
            word
            for r, at in zip(seen, places, strict=True)
            if at.get(name, -1) in r.words
            for word in r.words[at[name]].spoken
        }
        codes = _codes(used)
        words.append((name, codes))
        key, said = _said(name, single)
        key, said = (f"{key}:word", f"{said} as a word") if name in both else (key, said)
        columns.append(Column(key, said, "category", _labels(codes)))
    columns += [*low_columns, *blocks.columns]
    shapes = _codes(shape for r in seen for shape in r.shapes)
    errors = _codes(raised.error for r in seen for raised in r.raised.values())
    if len(shapes) > 1:
        columns.append(
            Column("shape", "the shape of the output", "category", _labels(shapes, "a single value"))
        )
        columns.append(
            Column("unknown", "the number of entries that the first outputs did not have", "category")
        )
    if errors:
        columns.append(Column("raised", "what the call raised", "category", _labels(errors)))
    return Layout(
        tuple(numbers),
        tuple(words),
        shapes if len(shapes) > 1 else None,
        errors or None,
        tuple(columns),
        offsets,
        tuple(low),
        blocks,
        names,
    )


def _all_names(seen: Sequence[Readings]) -> tuple[str, ...]:
    """Return the names of all places: in order those of the outputs with most, then what the others add."""
    by_length = sorted(seen, key=lambda readings: -len(readings.names))
    names = dict.fromkeys(name for readings in by_length for name in readings.names)
    # Entries of a dictionary come in the order in which outputs happen to show them.
    return tuple(sorted(names) if all(name.startswith(".") for name in names) else names)


def _holds_numbers(name: str, seen: Sequence[Readings], places: Sequence[Mapping[str, int]]) -> bool:
    """Return whether a number was seen at a place, or nothing at all."""
    here = [(r, at[name]) for r, at in zip(seen, places, strict=True) if name in at]
    return not any(place in r.words for r, place in here) or not all(
        np.isnan(r.values[:, place]).all() for r, place in here
    )


def _number_column(key: str, said: str, values: FloatArray, truth: bool) -> Column:
    distinct = np.unique(values)
    kind: Literal["category", "real"] = "real"
    if distinct.size and distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all()):
        kind = "category"
    return Column(key, said, kind, ((0.0, "False"), (1.0, "True")) if truth and values.size else ())


def _kind_of_low(here: Sequence[tuple[Readings, int]]) -> Literal["category", "real"]:
    low = np.concatenate([low_bits(r.values[:, place], r.whole.get(place)) for r, place in here])
    return "category" if np.unique(low[~np.isnan(low)]).size <= FEW_VALUES else "real"


def _said(name: str, single: bool) -> tuple[str, str]:
    """Return a column's name and words: ``output[2]``, "output 2"."""
    if not name or (single and name == "[1]"):
        return "output", "the output"
    if name.startswith("[") and name.count("[") == 1 and name.endswith("]"):
        return f"output{name}", f"output {name[1:-1]}"
    return f"output{name}", f"output {name.removeprefix('.')}"


def _codes(words: Iterable[str]) -> dict[str, int]:
    return {word: code for code, word in enumerate(sorted(set(words)))}


def _labels(codes: Mapping[str, int], empty: str = "") -> tuple[tuple[float, str], ...]:
    return tuple((float(code), shown(word) if word else empty) for word, code in codes.items())


def _coded(codes: Mapping[str, int], words: Words) -> npt.NDArray[np.float64]:
    return words.numbers({word: _code(codes, word) for word in words.vocabulary})


def _code(codes: Mapping[str, int], word: Any) -> float:
    """Return a word's code; of one that was not seen before, a number that depends on nothing but the word."""
    known = codes.get(word)
    return float(known) if known is not None else _UNSEEN + zlib.crc32(word.encode())
