"""Numbers that can be read from a view: a value, a weighted sum, and others (`verify.events.summaries`, ...).

A reading is code-free data, as an event is: `Reading.to_dict` writes it, `Reading.rebuild`
reads it back, and `Reading.description` describes it as part of a sentence.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column, ViewSample
from verify.events.written import Written

_TERMS = 6  # of a weighted sum, that are described


class Reading(Written):
    """A number read from each draw of a view; absent (NaN) where the values that it is read from are absent.

    Its `description` is "the largest of output 1 and output 2".
    """

    __slots__ = ()

    @abc.abstractmethod
    def values(self, sample: ViewSample) -> FloatArray:
        """The reading of each of the n draws; shape (n,). It may share memory with the sample."""


@dataclass(frozen=True, slots=True)
class ColumnValue(Reading):
    """The value of one column."""

    kind: ClassVar[str] = "value"
    column: Column

    def values(self, sample: ViewSample) -> FloatArray:
        return sample.values[:, sample.places[self.column.name]]

    @property
    def description(self) -> str:
        return self.column.words


@dataclass(frozen=True, slots=True)
class Combination(Reading):
    """A sum of columns, each times a weight."""

    kind: ClassVar[str] = "combination"
    columns: tuple[Column, ...]
    weights: tuple[float, ...]

    def values(self, sample: ViewSample) -> FloatArray:
        total = np.zeros(len(sample.values))
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN: such a sum is absent
            for at, weight in zip(sample.places_of(self.columns), self.weights, strict=True):
                total += weight * sample.values[:, at]
        return total

    @classmethod
    def difference(cls, column: Column, minus: Column) -> Combination:
        """The value of one column minus that of another."""
        return cls((column, minus), (1.0, -1.0))

    @property
    def description(self) -> str:
        if self.weights == (1.0, -1.0):
            return f"({self.columns[0].words} − {self.columns[1].words})"
        said = ""
        for weight, column in list(zip(self.weights, self.columns, strict=True))[:_TERMS]:
            sign = " − " if weight < 0.0 else " + " if said else ""
            said += f"{sign}{'' if abs(weight) == 1.0 else f'{abs(weight):.6g}·'}{column.words}"
        more = len(self.weights) - _TERMS
        return f"({said.strip()}{f' + … {more} more terms' if more > 0 else ''})"


@dataclass(frozen=True, slots=True)
class Where(Reading):
    """A reading of those draws in which another reading has a given value; absent in the others."""

    kind: ClassVar[str] = "where"
    reading: Reading
    condition: Reading
    value: float

    def values(self, sample: ViewSample) -> FloatArray:
        return np.where(
            sample.read_values(self.condition) == self.value, sample.read_values(self.reading), np.nan
        )

    @property
    def description(self) -> str:
        return (
            f"({self.reading.description}, given {self.condition.description} = {format_value(self.value)})"
        )


def join_names(parts: Sequence[str], limit: int) -> str:
    """Parts with commas and "and"; all those beyond `limit` as their number; "nothing" if there are none."""
    if len(parts) > limit:
        return ", ".join(parts[:limit]) + f" and {len(parts) - limit} more"
    if not parts:
        return "nothing"
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def format_value(value: float) -> str:
    """Return a number as it is written in sentences: NaN is "absent"."""
    return "absent" if math.isnan(value) else f"{value:.6g}"
