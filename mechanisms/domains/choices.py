"""Domains of counts and choices: vectors of integers, one category of several, or at most one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.domain import Vectors, as_numbers, as_values, box_corners, check_within
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.numerics.rounding import square_root_up
from mechanisms.parameters import DomainError, ParameterError, real, whole_number


@dataclass(frozen=True)
class Integers(Vectors):
    """Vectors of ``size`` whole numbers, each from lower to upper: counts."""

    lower: int
    upper: int
    size: int = 1

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            number = real(name, getattr(self, name))
            if abs(number) > _LARGEST or not number.is_integer():
                raise ParameterError(f"{name} = {number!r}: must be a whole number of at most 2^52 in size")
            object.__setattr__(self, name, int(number))
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))
        if self.lower > self.upper:
            raise ParameterError(
                f"(lower, upper) = ({self.lower}, {self.upper}): lower must not exceed upper"
            )

    @property
    def widths(self) -> FloatArray:
        """``upper - lower`` for every coordinate, shape (size,)."""
        return np.full(self.size, float(self.upper - self.lower))

    @property
    def sensitivity(self) -> Sensitivity:
        """l1 = size·w, l2 = √size·w, linf = w."""
        return Sensitivity.of_box(self.widths)

    def check(self, values: npt.ArrayLike, name: str = "value") -> IntArray:
        """Return the values as int64; raise `DomainError` on fractions or numbers outside."""
        array = as_values(values, self.shape, name, self)
        check_within(array, self.lower, self.upper, name, self)
        numbers = array.astype(np.int64)
        if not (numbers == array).all():
            raise DomainError(f"{name} holds a number that is not whole: outside {self}")
        return numbers

    def clip(self, values: npt.ArrayLike) -> IntArray:
        """Return the nearest whole numbers in the range."""
        nearest: IntArray = np.clip(np.rint(as_numbers(values)), self.lower, self.upper).astype(np.int64)
        return nearest

    def extremes(self) -> IntArray:
        """Return all-lowest and all-highest, then each corner with one coordinate high and its complement."""
        return np.asarray(box_corners(self.lower, self.upper, self.size), dtype=np.int64)


_LARGEST = 2**52  # whole numbers up to here survive the way through a float


@dataclass(frozen=True)
class OneHot(Vectors):
    """0/1 vectors with at most one 1 (exactly one if ``allow_none`` is false): one choice, or none."""

    size: int
    allow_none: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))

    @property
    def widths(self) -> FloatArray:
        """1 for every coordinate (0 if the domain is a single point), shape (size,)."""
        return np.full(self.size, self.sensitivity.linf)

    @property
    def sensitivity(self) -> Sensitivity:
        """Distance of two choices: l1 = 2, l2 = √2, linf = 1; at size 1 they are 1, or 0 without a null choice."""
        if self.size == 1:
            return Sensitivity(1.0, 1.0, 1.0) if self.allow_none else Sensitivity(0.0, 0.0, 0.0)
        return Sensitivity(2.0, square_root_up(Fraction(2)), 1.0)

    def check(self, values: npt.ArrayLike, name: str = "value") -> FloatArray:
        """Return the values as float64; raise `DomainError` unless each vector is one-hot (or zero)."""
        array = as_values(values, self.shape, name, self)
        if not ((array == 0.0) | (array == 1.0)).all():
            raise DomainError(f"{name} holds a coordinate other than 0 and 1: outside {self}")
        ones = array.sum(axis=-1)
        if not (ones <= 1.0).all() or not (self.allow_none or (ones == 1.0).all()):
            raise DomainError(f"{name} holds a vector with {int(ones.max(initial=0.0))} ones: outside {self}")
        return array

    def clip(self, values: npt.ArrayLike) -> FloatArray:
        """Raise `TypeError`: a vector that is not one-hot has no nearest choice."""
        raise TypeError("OneHot.clip: one-hot vectors cannot be clipped; check them instead")

    def extremes(self) -> FloatArray:
        """Return no choice (if allowed), then each choice."""
        choices = np.eye(self.size)
        return np.vstack([np.zeros((1, self.size)), choices]) if self.allow_none else choices


@dataclass(frozen=True)
class Categories:
    """Domain of the integers 0 .. size - 1, which name categories; distances are in the discrete metric."""

    size: int
    shape: ClassVar[tuple[int, ...]] = ()
    """The value is one category."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))

    @property
    def widths(self) -> FloatArray:
        """1 (0 for a single category), shape ``()``."""
        return np.array(self.sensitivity.linf)

    @property
    def sensitivity(self) -> Sensitivity:
        """1 in every norm: one record changes one category, and two categories are 1 apart."""
        distance = 1.0 if self.size > 1 else 0.0
        return Sensitivity(distance, distance, distance)

    def check(self, values: npt.ArrayLike, name: str = "value") -> IntArray:
        """Return the values as int64; raise `DomainError` on fractions or categories outside."""
        plain = type(values) is np.ndarray and values.dtype.kind in "iu"
        array = np.asarray(values) if plain else as_values(values, (), name, self)
        check_within(array, 0.0, self.size - 1.0, name, self)
        categories = array.astype(np.int64)
        if not (plain or (categories == array).all()):
            raise DomainError(f"{name} holds a number that is not whole: outside {self}")
        return categories

    def clip(self, values: npt.ArrayLike) -> IntArray:
        """Raise `TypeError`: categories have no order to clip along."""
        raise TypeError("Categories.clip: categories cannot be clipped; check them instead")

    def extremes(self) -> IntArray:
        """Return each category, shape (size,)."""
        return np.arange(self.size)
