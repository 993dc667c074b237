"""The readings of n outputs of a function: numbers and words at numbered places."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.parameters import DPWitnessError
from verify.outputs.raised import Raised
from verify.outputs.shapes import Shape
from verify.outputs.word_columns import Words

WholeArray = npt.NDArray[np.int64] | npt.NDArray[np.uint64] | npt.NDArray[np.object_]

LEAST_INEXACT = 2.0**53
"""Whole numbers of this size and more are not all floats."""


class UnreadableOutput(DPWitnessError, ValueError):
    """An output is nothing that could be read; the message shows it."""


@dataclass(frozen=True, eq=False)
class Readings:
    """n outputs.

    Attributes
    ----------
    values
        The numbers, shape (n, places); NaN where an output holds no number.
    words
        For each place at which an output holds a word, the words of all outputs.
    shapes
        The shape of each output, shape (n,); of length 1 if all have the same.
    names
        A name for each place, such as ``"[2]"`` or ``".count"``; "" for an output that is a single value; of errors
        `verify.outputs.raised.KIND` and ``MESSAGE``. Outputs are compared by name: the same name is the same entry.
        Empty if there are no entries.
    truths
        For each place that holds truth values, whether each output's is one, shape (n,).
    integers
        For each place that holds numbers of a type of whole numbers, whether each output's is one, shape (n,).
    raised
        The exceptions that were raised, by the number of the output.
    whole
        For each place with whole numbers of 2^53 or more, which `values` rounds, the numbers themselves, shape (n,);
        None where an output holds no such number there.
    orders
        The keys of outputs that are dictionaries, in their order; None if there are none.
    """

    values: FloatArray
    words: Mapping[int, Words] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = (Shape(),)
    names: tuple[str, ...] = ("",)
    truths: Mapping[int, BoolArray] = field(default_factory=dict)
    raised: Mapping[int, Raised] = field(default_factory=dict)
    whole: Mapping[int, WholeArray] = field(default_factory=dict)
    orders: Words | None = None
    integers: Mapping[int, BoolArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The number of the place of each name."""
        return {name: place for place, name in enumerate(self.names)}

    @property
    def shape_of_each(self) -> tuple[Shape, ...]:
        """The shape of each output, shape (n,)."""
        return self.shapes if len(self.shapes) == len(self) else self.shapes * len(self)

    def truth_at(self, place: int) -> BoolArray:
        """Return True for each output with a truth value at a place, shape (n,)."""
        return self._marks_at(self.truths, place)

    def integer_at(self, place: int) -> BoolArray:
        """Return True for each output with an entry of a type of whole numbers at a place (1, not 1.0), shape (n,)."""
        return self._marks_at(self.integers, place)

    def _marks_at(self, marks: Mapping[int, BoolArray], place: int) -> BoolArray:
        return marks[place] if place in marks else np.zeros(len(self), dtype=bool)

    def words_at(self, name: str) -> Words | None:
        """Return the words at the place of a name; None if there are none."""
        return self.words.get(self.places.get(name, -1))

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Return each output as a tuple that can be compared: NaN equals NaN."""
        beside = [*self.words.values(), *(column.tolist() for column in self.whole.values())]
        beside += [self.orders] if self.orders is not None else []
        for marks in (self.truths, self.integers):
            beside.append(self._places_with(marks) if marks else [frozenset()] * len(self))
        numbers = [row.tobytes() for row in self.values]
        return list(zip(numbers, self.shape_of_each, *beside, strict=True))

    def _places_with(self, marks: Mapping[int, BoolArray]) -> list[frozenset[int]]:
        """Return the places at which each output is marked."""
        marked = np.stack([self._marks_at(marks, place) for place in range(len(self.names))], axis=1)
        return [frozenset(np.flatnonzero(row).tolist()) for row in marked]


def floats_and_whole(values: npt.NDArray[Any]) -> tuple[FloatArray, dict[int, WholeArray]]:
    """Return numbers as floats, shape (n, places), and the places that hold whole numbers beyond them, as they are."""
    floats = values.astype(np.float64)
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return floats, {}
    beyond = np.flatnonzero((np.abs(floats) >= LEAST_INEXACT).any(axis=0)).tolist()
    return floats, {place: values[:, place] for place in beyond}


def all_marked(n: int, places: Iterable[int]) -> dict[int, BoolArray]:
    """Return `Readings.truths` or `Readings.integers` of places that hold nothing else in n outputs."""
    return dict.fromkeys(places, np.broadcast_to(np.True_, n))


def as_float(value: Any) -> float:
    """Return a number as a float; infinity for a whole number beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


@lru_cache(maxsize=4096)
def flat_names(places: int) -> tuple[str, ...]:
    """Return the names of the entries of a list: ``"[1]"``, ``"[2]"``, ..."""
    return tuple(f"[{i}]" for i in range(1, places + 1))


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names with a mark where one comes again: two keys may read the same, such as 1 and "1"."""
    used: dict[str, None] = {}
    for name in names:
        while name in used:
            name += "'"
        used[name] = None
    return tuple(used)
