"""Columns of a view, made from what was seen at each place of a function's outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.large_integers import LOW_BITS, digits, integers_of, less, low_bits
from verify.outputs.output_readings import EXACT, Readings

FEW_VALUES = 12
"""Different whole numbers up to which a place holds labels."""


@dataclass(frozen=True)
class Seen:
    """Outputs on some data sets, by the names of their places.

    Attributes
    ----------
    readings
        The outputs on each data set.
    places
        For each of them, the number of the place of each name.
    names
        All names: in order those of the outputs with most, then what the others add.
    """

    readings: Sequence[Readings]
    places: Sequence[Mapping[str, int]]
    names: tuple[str, ...]

    @classmethod
    def of(cls, readings: Sequence[Readings]) -> Seen:
        """Take in outputs."""
        places = [{name: place for place, name in enumerate(r.names)} for r in readings]
        by_length = sorted(readings, key=lambda each: -len(each.names))
        names = dict.fromkeys(name for each in by_length for name in each.names)
        # Entries of a dictionary come in the order in which outputs happen to show them, as members of a set do.
        by_key = all(name.startswith((".", "{")) for name in names)
        return cls(readings, places, tuple(sorted(names) if by_key else names))

    def at(self, name: str) -> list[tuple[Readings, int]]:
        """Return the outputs that have a place of this name, with its number."""
        return [(r, at[name]) for r, at in zip(self.readings, self.places, strict=True) if name in at]

    def holds_numbers(self, name: str) -> bool:
        """Return whether a number was seen at a place, or nothing at all."""
        here = self.at(name)
        return not any(place in r.words for r, place in here) or not all(
            np.isnan(r.values[:, place]).all() for r, place in here
        )

    def holds_words(self, name: str) -> bool:
        """Return whether a word was seen at a place."""
        return any(place in r.words for r, place in self.at(name))

    def words_at(self, name: str) -> set[str]:
        """Return all words seen at a place."""
        return {word for r, place in self.at(name) if place in r.words for word in r.words[place].spoken}


@dataclass
class NumberColumns:
    """Columns of numbers, as they are added.

    Attributes
    ----------
    columns
        One for each place.
    offsets
        For each place with whole numbers too large for floats, what is subtracted from them first.
    low, low_columns
        The places whose whole numbers are too far apart for that, and the columns of their lowest bits.
    """

    columns: list[Column] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)
    low: list[str] = field(default_factory=list)
    low_columns: list[Column] = field(default_factory=list)

    def add(self, name: str, key: str, said: str, here: Sequence[tuple[Readings, int]]) -> None:
        """Add the column of a place, with its name and words as a column, from the outputs that have it."""
        values = np.concatenate([r.values[:, place] for r, place in here])
        if any(place in r.whole for r, place in here):
            whole = [integers_of(r.values[:, place], r.whole.get(place)) for r, place in here]
            integers = [x for column in whole for x in column if x is not None]
            smallest, largest = min(integers), max(integers)
            self.offsets[name] = smallest
            values = np.concatenate(
                [less(r.values[:, place], r.whole.get(place), smallest) for r, place in here]
            )
            if largest - smallest >= EXACT:
                self.low.append(name)
                self.low_columns.append(
                    Column(f"{key}:low", f"{said} modulo 2^{LOW_BITS}", _kind_of_low(here), ())
                )
            if smallest != 0:
                key, said = f"{key} - {smallest:#x}", f"{said} minus {digits(smallest)}"
        truth = all(place in r.truths for r, place in here)
        self.columns.append(_number_column(key, said, values[~np.isnan(values)], truth))


def key_and_words(name: str, single: bool) -> tuple[str, str]:
    """Return a column's name and words: ``output[2]``, "output 2"; of a member of a set, "3 in the output"."""
    if name.endswith("}"):
        of, _, member = name.rpartition("{")
        return f"output{name}", f"{member[:-1]} in {key_and_words(of, single)[1]}"
    if not name or (single and name == "[1]"):
        return "output", "the output"
    if name.startswith("[") and name.count("[") == 1 and name.endswith("]"):
        return f"output{name}", f"output {name[1:-1]}"
    return f"output{name}", f"output {name.removeprefix('.')}"


def _number_column(key: str, said: str, values: FloatArray, truth: bool) -> Column:
    distinct = np.unique(values)
    kind: Literal["category", "real"] = "real"
    if distinct.size and distinct.size <= FEW_VALUES and bool((distinct == np.round(distinct)).all()):
        kind = "category"
    return Column(key, said, kind, ((0.0, "False"), (1.0, "True")) if truth and values.size else ())


def _kind_of_low(here: Sequence[tuple[Readings, int]]) -> Literal["category", "real"]:
    low = np.concatenate([low_bits(r.values[:, place], r.whole.get(place)) for r, place in here])
    return "category" if np.unique(low[~np.isnan(low)]).size <= FEW_VALUES else "real"
