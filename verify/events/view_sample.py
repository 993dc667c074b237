"""An adversary's view: named columns, and independent draws of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError

_Result = TypeVar("_Result")
_Result_co = TypeVar("_Result_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Column:
    """One value of a view.

    Attributes
    ----------
    name
        Short and unique within the view, such as ``"action[1,0]"``.
    words
        Its description, as part of a sentence: ``"the item shown at position 1 in round 1"``.
    kind
        ``"category"`` for labels, ``"real"`` for measurements.
    labels
        Words for some of the values, as (value, word): a category that is a word is a number in a sample.
    is_entry
        False of another reading of an entry, such as its length or a part of it: such readings are not counted.
    """

    name: str
    words: str
    kind: Literal["category", "real"]
    labels: tuple[tuple[float, str], ...] = ()
    is_entry: bool = True

    @property
    def is_listed(self) -> bool:
        """True of an entry, and of one of the parts of one: not of a length, or of another reading of a whole."""
        return self.is_entry or self.name.endswith("]")


@dataclass(frozen=True, slots=True, eq=False)
class ViewSample:
    """Independent draws of an adversary's view.

    Attributes
    ----------
    values
        Shape (n, p): row i is one whole view. NaN means that nothing was sent at that place.
    columns
        The p columns.
    places
        The place of each column, by its name.

    Raises
    ------
    ParameterError
        If the shapes do not agree, or two columns have one name.
    """

    values: FloatArray
    columns: tuple[Column, ...]
    places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {column.name: at for at, column in enumerate(self.columns)})
        if self.values.ndim != 2 or self.values.shape[1] != len(self.columns) or not self.columns:
            raise ParameterError(
                f"values of shape {self.values.shape}: must be (n, {len(self.columns)}), a place for each of at least "
                "one column"
            )
        if len(self.places) != len(self.columns):
            raise ParameterError("columns: must have different names")

    def places_of(self, columns: Iterable[Column]) -> list[int]:
        """Return the places of these columns, found by their names."""
        return [self.places[column.name] for column in columns]

    def rows(self, start: int, stop: int | None = None) -> ViewSample:
        """The draws start, ..., stop - 1, or all from start on (no copy)."""
        return ViewSample(self.values[start:stop], self.columns)

    def read_values(self, reading: _Readable[_Result]) -> _Result:
        """Return the reading of each draw."""
        return reading.values(self)


WorldSamples = tuple[ViewSample, ViewSample]
"""Draws of one view in two neighbouring worlds."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadOnce(ViewSample):
    """Draws that keep each reading, for events that share readings; columns are contiguous.

    Readings are known by their identity: a score is long, and its hash as dear as a count.
    """

    known: dict[int, tuple[object, Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_sample(cls, sample: ViewSample) -> ReadOnce:
        """The same draws."""
        if isinstance(sample, cls):
            return sample
        return cls(np.asfortranarray(sample.values), sample.columns)

    def read_values(self, reading: _Readable[_Result]) -> _Result:
        """Return the reading of each draw, from memory if it was read before; not to be changed."""
        if id(reading) not in self.known:
            # Kept with the reading itself, so that no other one gets its id.
            self.known[id(reading)] = reading, reading.values(self)
        result: _Result = self.known[id(reading)][1]
        return result


class _Readable(Protocol[_Result_co]):
    """Something that can be read of each draw."""

    def values(self, sample: ViewSample, /) -> _Result_co:
        """Return the reading of each of the n draws, along the first axis."""
        ...


def column_named(name: str, columns: Sequence[Column]) -> Column:
    """The column of this name.

    Raises
    ------
    ParameterError
        If there is none.
    """
    for column in columns:
        if column.name == name:
            return column
    raise ParameterError(f"column = {name!r}: must be one of the view's columns")
