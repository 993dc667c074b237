"""Numbers read from several measurements together: a weighted sum, a product, the distance from a point."""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.readings import Reading, decode, encode, listed
from verify.events.view_sample import Column, ViewSample, column_index

_TERMS = 6  # of a weighted sum, that are said


@dataclass(frozen=True, slots=True)
class Distance(Reading):
    """The Euclidean distance from a point, each coordinate divided by a scale first.

    Attributes
    ----------
    indices, columns
        The coordinates.
    centre, scales
        The point, and the scale of each coordinate (above 0).
    """

    kind: ClassVar[str] = "distance"
    indices: tuple[int, ...]
    columns: tuple[Column, ...]
    centre: tuple[float, ...]
    scales: tuple[float, ...]

    def of(self, sample: ViewSample) -> FloatArray:
        square = np.zeros(len(sample.values))
        with np.errstate(over="ignore"):
            for index, centre, scale in zip(self.indices, self.centre, self.scales, strict=True):
                square += ((sample.values[:, index] - centre) / scale) ** 2
        return np.sqrt(square)

    @property
    def words(self) -> str:
        names = listed([column.words for column in self.columns], 4)
        point = ", ".join(f"{centre:.6g}" for centre in self.centre)
        units = (
            "" if set(self.scales) == {1.0} else f" in units of {', '.join(f'{s:.6g}' for s in self.scales)}"
        )
        return f"the distance of {names} from ({point}){units}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": [column.name for column in self.columns],
            "centre": [encode(centre) for centre in self.centre],
            "scales": [encode(scale) for scale in self.scales],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Distance:
        indices = tuple(column_index(name, columns) for name in data["columns"])
        centre, scales = (tuple(decode(x) for x in data[key]) for key in ("centre", "scales"))
        return cls(indices, tuple(columns[i] for i in indices), centre, scales)


@dataclass(frozen=True, slots=True)
class Product(Reading):
    """The product of two columns."""

    kind: ClassVar[str] = "product"
    index: int
    column: Column
    other_index: int
    other_column: Column

    def of(self, sample: ViewSample) -> FloatArray:
        with np.errstate(invalid="ignore", over="ignore"):  # 0 times inf is NaN: such a product is absent
            return sample.values[:, self.index] * sample.values[:, self.other_index]

    @property
    def words(self) -> str:
        return f"the product of {self.column.words} and {self.other_column.words}"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": self.column.name, "times": self.other_column.name}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Product:
        index, other = column_index(data["column"], columns), column_index(data["times"], columns)
        return cls(index, columns[index], other, columns[other])


@dataclass(frozen=True, slots=True)
class Combination(Reading):
    """A sum of columns, each times a weight.

    Attributes
    ----------
    indices, columns, weights
        The columns, and the weight of each.
    step
        If it is not 0, the sum is rounded to a multiple of it: where the sum would be free of noise in real arithmetic,
        what is left of it in floating point is that of rounding, and says nothing about the mechanism as written.
    """

    kind: ClassVar[str] = "combination"
    indices: tuple[int, ...]
    columns: tuple[Column, ...]
    weights: tuple[float, ...]
    step: float = 0.0

    def of(self, sample: ViewSample) -> FloatArray:
        total = np.zeros(len(sample.values))
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN: such a sum is absent
            for index, weight in zip(self.indices, self.weights, strict=True):
                total += weight * sample.values[:, index]
        return total if self.step == 0.0 else np.asarray(np.round(total / self.step) * self.step + 0.0)

    @property
    def words(self) -> str:
        said = ""
        for weight, column in list(zip(self.weights, self.columns, strict=True))[:_TERMS]:
            sign = " - " if weight < 0.0 else " + " if said else ""
            said += f"{sign}{'' if abs(weight) == 1.0 else f'{abs(weight):.6g} times '}{column.words}"
        more = len(self.weights) - _TERMS
        said = said.strip() + (f" and {more} more terms" if more > 0 else "")
        return said if self.step == 0.0 else f"{said} (to {self.step:.6g})"

    def to_dict(self) -> dict[str, Any]:
        names = [column.name for column in self.columns]
        weights = [encode(weight) for weight in self.weights]
        return {"kind": self.kind, "columns": names, "weights": weights, "step": self.step}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Combination:
        indices = tuple(column_index(name, columns) for name in data["columns"])
        named, weights = tuple(columns[i] for i in indices), tuple(map(decode, data["weights"]))
        return cls(indices, named, weights, float(data["step"]))
