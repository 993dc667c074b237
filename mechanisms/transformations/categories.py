"""Transformations from and to category names, and from numbers to whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Box, Domain, Interval
from mechanisms.parameters import DomainError, ParameterError, whole_number
from mechanisms.transformations.transformation import (
    Transformation,
    bounds_of_coordinates,
    plain_real,
    public_array,
    reals,
)


@dataclass(frozen=True, eq=False)
class CategoryToOneHot(Transformation):
    """The one-hot vector of a category.

    Domain out: `OneHot`, never zero. Stability 2: different categories, which are 1 apart, have vectors that differ
    by 1 in two coordinates.

    Parameters
    ----------
    size
        The number of categories.
    """

    size: int
    takes_categories: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))

    @property
    def stability(self) -> float:
        """2."""
        return 2.0

    def output_domain(self, domain: Domain) -> Domain:
        """Return `OneHot`."""
        _check_categories(domain, self.size, "CategoryToOneHot")
        return OneHot(self.size, allow_none=False)

    def apply(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return the vectors."""
        vectors: FloatArray = (values == np.arange(self.size)).astype(np.float64)
        return vectors

    def _public_domain(self, array: npt.NDArray[Any]) -> Domain:
        return Categories(self.size)


@dataclass(frozen=True, eq=False)
class FirstAbove(Transformation):
    """The position of a vector's first coordinate above a threshold; its length where there is none.

    Of a one-hot vector this is its category, of a click vector the first clicked position, or "none".

    Domain out: `Categories`, one more than positions; as many, if a one-hot vector cannot be zero. Stability:
    infinite, as the result jumps.

    Parameters
    ----------
    threshold
        Public; 1/2 for vectors of 0 and 1.
    """

    threshold: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", plain_real("threshold", self.threshold))

    @property
    def stability(self) -> float:
        """Infinite."""
        return math.inf

    def output_domain(self, domain: Domain) -> Domain:
        """Return `Categories`."""
        size = bounds_of_coordinates(domain, "FirstAbove")[2]
        if size is None:
            raise DomainError(f"FirstAbove takes vectors, not the numbers of {domain}")
        always = isinstance(domain, OneHot) and not domain.allow_none and 0.0 <= self.threshold < 1.0
        return Categories(size if always else size + 1)

    def apply(self, values: npt.NDArray[Any]) -> IntArray:
        """Return the positions."""
        above = values > self.threshold
        first = above.argmax(axis=-1)  # 0 also where there is none
        found: IntArray = np.where((first > 0) | above[..., 0], first, values.shape[-1])
        return found[..., None]

    def _public_domain(self, array: npt.NDArray[Any]) -> Domain:
        return reals(array.shape[-1])


@dataclass(frozen=True, eq=False)
class Above(Transformation):
    """Indicator of each coordinate above a public threshold: 1 if it is above, else 0.

    With thresholds drawn uniformly from [0, 1), in public, the bit of a number in [0, 1] is 1 with its probability.

    Domain out: ``Categories(2)`` for one number, whole numbers from 0 to 1 for longer vectors. Stability: infinite, as
    the result jumps.

    Parameters
    ----------
    threshold
        Public numbers, with axes as the values' last ones: a single one, shape (n,) or (lanes, n).
    """

    threshold: FloatArray
    coordinatewise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", public_array("threshold", self.threshold))

    @property
    def stability(self) -> float:
        """Infinite."""
        return math.inf

    def output_domain(self, domain: Domain) -> Domain:
        """Return ``Categories(2)``, or vectors of whole numbers from 0 to 1."""
        size = bounds_of_coordinates(domain, "Above")[2] or 1
        _check_broadcast("threshold", self.threshold, size, domain)
        return Categories(2) if size == 1 else Integers(0, 1, size)

    def apply(self, values: npt.NDArray[Any]) -> IntArray:
        """Return the bits."""
        return (values > self.threshold).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BitsToCategory(Transformation):
    """The category that vectors of bits name: ``sum_j x_j 2^j``.

    Domain out: ``Categories(2^size)``. Stability 1: different vectors of bits are at least 1 apart.

    Parameters
    ----------
    size
        The number of bits, at most 20.
    """

    size: int
    most: ClassVar[int] = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))
        if self.size > self.most:
            raise ParameterError(
                f"size = {self.size}: must be at most {self.most}, of which there are 2^20 vectors"
            )

    @property
    def stability(self) -> float:
        """1."""
        return 1.0

    def output_domain(self, domain: Domain) -> Domain:
        """Return ``Categories(2^size)``."""
        bits = isinstance(domain, OneHot) or (
            isinstance(domain, Integers) and domain.lower >= 0 and domain.upper <= 1
        )
        if not bits or domain.shape != (self.size,):
            raise DomainError(
                f"this BitsToCategory takes {self.size} whole numbers from 0 to 1, not {domain}"
            )
        return Categories(2**self.size)

    def apply(self, values: npt.NDArray[Any]) -> IntArray:
        """Return the categories."""
        categories: IntArray = values.astype(np.int64) @ (1 << np.arange(self.size))
        return categories[..., None]

    def bits(self, categories: npt.NDArray[Any]) -> IntArray:
        """Return the bits of public categories, on a new last axis."""
        bits: IntArray = np.asarray(categories, dtype=np.int64)[..., None] >> np.arange(self.size) & 1
        return bits

    def _public_domain(self, array: npt.NDArray[Any]) -> Domain:
        return Integers(0, 1, array.shape[-1])


@dataclass(frozen=True, eq=False)
class RandomRounding(Transformation):
    """``⌊(x + shift) factor + uniform⌋``, clipped to [lower, upper]: a whole number.

    With public ``uniform`` drawn from [0, 1), the result's mean is ``(x + shift) factor`` where nothing is clipped.
    For any ``uniform``, each result is a function of its own number.

    Domain out: `Integers` from lower to upper. Stability: infinite, as the result jumps.

    Parameters
    ----------
    shift, factor
        Public numbers.
    uniform
        Public numbers, with axes as the values' last ones: a single one, shape (n,) or (lanes, n).
    lower, upper
        Public whole numbers.
    """

    shift: float
    factor: float
    uniform: FloatArray
    lower: int
    upper: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", plain_real("shift", self.shift))
        object.__setattr__(self, "factor", plain_real("factor", self.factor))
        object.__setattr__(self, "uniform", public_array("uniform", self.uniform))
        ends = Integers(self.lower, self.upper)  # checks them
        object.__setattr__(self, "lower", ends.lower)
        object.__setattr__(self, "upper", ends.upper)

    @property
    def stability(self) -> float:
        """Infinite."""
        return math.inf

    def output_domain(self, domain: Domain) -> Domain:
        """Return the whole numbers from `lower` to `upper`."""
        size = bounds_of_coordinates(domain, "RandomRounding")[2] or 1
        _check_broadcast("uniform", self.uniform, size, domain)
        return Integers(self.lower, self.upper, size)

    def apply(self, values: npt.NDArray[Any]) -> IntArray:
        """Return the whole numbers."""
        floors = np.floor((np.asarray(values, dtype=np.float64) + self.shift) * self.factor + self.uniform)
        rounded: IntArray = np.clip(floors, self.lower, self.upper).astype(np.int64)
        return rounded


@dataclass(frozen=True, eq=False)
class Table(Transformation):
    """Lookup of each category's entry in a public table.

    Domain out: that of the entries. Integers from 0, one for each category, are `Categories`; other numbers an
    `Interval` from the smallest to the largest, or a `Box`. Stability: the largest L1 distance of two entries, and 1
    for an entry that is a category (0 if all are the same).

    Parameters
    ----------
    entries
        Public numbers; the first axis is the category, shape (size,) or (size, k).
    """

    entries: npt.NDArray[Any]
    takes_categories: ClassVar[bool] = True

    def __post_init__(self) -> None:
        named = np.asarray(self.entries).dtype.kind in "iu" and np.ndim(self.entries) == 1
        entries = public_array("entries", self.entries)
        if entries.ndim == 0 or entries.size == 0:
            raise ParameterError(f"entries of shape {entries.shape}: must be of shape (size,) or (size, k)")
        if named and entries.min() >= 0:
            entries = entries.astype(np.int64)
            entries.flags.writeable = False
        object.__setattr__(self, "entries", entries)

    @property
    def stability(self) -> float:
        """The largest distance of two entries."""
        if self.entries.dtype.kind == "i":
            return 1.0 if self.entries.min() < self.entries.max() else 0.0
        rows = self.entries.reshape(len(self.entries), -1)
        apart = max(float(np.abs(rows - row).sum(axis=-1).max()) for row in rows)
        return apart * (1.0 + 2.0**-52 * (rows.shape[1] + 2))  # more than is rounded off

    def output_domain(self, domain: Domain) -> Domain:
        """Return the domain of the table's entries."""
        _check_categories(domain, len(self.entries), "Table")
        if self.entries.dtype.kind == "i":
            return Categories(int(self.entries.max()) + 1)
        ends = float(self.entries.min()), float(self.entries.max())
        return Interval(*ends) if self.entries.ndim == 1 else Box(*ends, self.entries.shape[1])

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the entries."""
        found: npt.NDArray[Any] = self.entries[values[..., 0].astype(np.int64)]
        return found[..., None] if self.entries.ndim == 1 else found

    def _public_domain(self, array: npt.NDArray[Any]) -> Domain:
        return Categories(len(self.entries))


def _check_categories(domain: Domain, size: int, made_for: str) -> None:
    """Raise `DomainError` unless the domain names at most `size` categories."""
    if not isinstance(domain, Categories) or domain.size > size:
        raise DomainError(f"this {made_for} takes {size} categories, not the values of {domain}")


def _check_broadcast(name: str, parameter: npt.NDArray[Any], size: int, domain: Domain) -> None:
    """Raise `DomainError` unless a parameter is a single number or has one for each of `size` coordinates."""
    if parameter.ndim and parameter.shape[-1] not in (1, size):
        raise DomainError(
            f"{name} of shape {parameter.shape}: must have a number for each coordinate of {domain}"
        )
