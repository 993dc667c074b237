"""Domains: the possible values of ONE record, and their largest distances.

Arrays of values have any leading axes; their trailing axes are the domain's ``shape``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, plain_copy
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.numerics.rounding import multiply_up, square_root_up, up
from mechanisms.parameters import DomainError, ParameterError, positive, real, whole_number


@runtime_checkable
class Domain(Protocol):
    """Set of the values that one record may have."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one value; arrays of values have it as their trailing axes."""

    @property
    def widths(self) -> FloatArray:
        """Range of each coordinate, of shape `shape`."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Largest distance between two values of the domain."""

    def check(self, values: npt.ArrayLike, name: str = "value") -> npt.NDArray[Any]:
        """Return the values as an array (float64; int64 for categories) or raise `DomainError`."""

    def clip(self, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the values brought into the domain; raise `TypeError` where "nearest" has no meaning."""

    def extremes(self) -> npt.NDArray[Any]:
        """Return extreme points, shape (n, *shape), in an order useful to a search for neighbours."""


def as_values(values: npt.ArrayLike, shape: tuple[int, ...], name: str, domain: object) -> FloatArray:
    """Return the values as float64; raise `DomainError` unless their trailing axes are ``shape``."""
    array = as_numbers(values, name)
    if array.shape[array.ndim - len(shape) :] != shape or array.ndim < len(shape):
        raise DomainError(f"{name} has shape {array.shape}: its trailing axes must be {shape} for {domain}")
    return array


def own_copy(values: npt.ArrayLike, name: str = "value") -> npt.NDArray[Any]:
    """Return a plain copy of an array to which no other reference exists; see `mechanisms.arrays.plain_copy`.

    Raises
    ------
    DomainError
        If no array can be made of them, or some are missing (masked).
    """
    _check_complete(values, name)
    try:
        return plain_copy(values)
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name}: not an array of real numbers ({error})") from None


def as_numbers(values: npt.ArrayLike, name: str = "value") -> FloatArray:
    """Return numbers as float64; raise `DomainError` for values that are not numbers but that NumPy would convert.

    Dates, texts that can be parsed as numbers, and masked values are a caller's mistake, not data.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    _check_complete(values, name)
    try:
        given = np.asarray(values)
        texts = given.dtype == object and any(isinstance(each, str | bytes) for each in given.flat)
        if texts or given.dtype.kind not in "biufO":
            raise TypeError(f"of type {given.dtype}")
        return np.asarray(given, dtype=np.float64)
    except OverflowError:
        raise DomainError(f"{name}: holds a whole number that is larger than every float") from None
    except (TypeError, ValueError) as error:
        raise DomainError(f"{name}: not an array of real numbers ({error})") from None


def _check_complete(values: npt.ArrayLike, name: str) -> None:
    """Raise `DomainError` if some values are missing (masked)."""
    if np.ma.is_masked(values):
        raise DomainError(f"{name}: holds masked values; a missing value is no number")


def _width(lower: float, upper: float) -> float:
    if math.isinf(lower) or math.isinf(upper):
        return math.inf
    return up(Fraction(upper) - Fraction(lower))


def _check_bounds(lower: float, upper: float) -> None:
    if not lower <= upper:
        raise ParameterError(f"(lower, upper) = ({lower!r}, {upper!r}): lower must not exceed upper")
    if lower == upper and math.isinf(lower):
        raise ParameterError(f"(lower, upper) = ({lower!r}, {upper!r}): hold no number between them")


def check_within(array: FloatArray, lower: float, upper: float, name: str, domain: object) -> None:
    """Raise `DomainError` if a number is NaN or outside [lower, upper]."""
    # min and max carry NaN along, and every comparison with NaN is false.
    if array.size and not (array.min() >= lower and array.max() <= upper):
        outside = array[~((array >= lower) & (array <= upper))]
        raise DomainError(f"{name} holds {float(outside[0])!r}: outside {domain}")


def box_corners(lower: float, upper: float, size: int) -> FloatArray:
    """Return all-low, all-high, then each corner with one coordinate high and its complement."""
    corners = [[lower] * size, [upper] * size]
    for i in range(size):
        corner = [lower] * size
        corner[i] = upper
        complement = [upper] * size
        complement[i] = lower
        corners += [corner, complement]
    return np.array(list(dict.fromkeys(map(tuple, corners))), dtype=np.float64)


@dataclass(frozen=True)
class Interval:
    """Real numbers in [lower, upper]."""

    lower: float
    upper: float
    shape: ClassVar[tuple[int, ...]] = ()
    """The value is a scalar."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", real("lower", self.lower))
        object.__setattr__(self, "upper", real("upper", self.upper))
        _check_bounds(self.lower, self.upper)

    def __str__(self) -> str:
        return f"[{self.lower:.12g}, {self.upper:.12g}]"

    @property
    def widths(self) -> FloatArray:
        """``upper - lower``, shape ``()``."""
        return np.array(_width(self.lower, self.upper))

    @property
    def sensitivity(self) -> Sensitivity:
        """All three norms are the width."""
        width = _width(self.lower, self.upper)
        return Sensitivity(width, width, width)

    def check(self, values: npt.ArrayLike, name: str = "value") -> FloatArray:
        """Return the values as float64; raise `DomainError` on NaN or a value outside."""
        array = as_values(values, (), name, self)
        check_within(array, self.lower, self.upper, name, self)
        return array

    def clip(self, values: npt.ArrayLike) -> FloatArray:
        """Return the nearest points of the interval."""
        return np.clip(as_numbers(values), self.lower, self.upper)

    def extremes(self) -> FloatArray:
        """Return the two ends, shape (2,)."""
        return np.array([self.lower, self.upper])


class Vectors:
    """Base class of domains of vectors."""

    size: int

    @property
    def shape(self) -> tuple[int, ...]:
        """``(size,)``."""
        return (self.size,)


@dataclass(frozen=True)
class Box(Vectors):
    """Vectors of ``size`` coordinates, each in [lower, upper]."""

    lower: float
    upper: float
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", real("lower", self.lower))
        object.__setattr__(self, "upper", real("upper", self.upper))
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))
        _check_bounds(self.lower, self.upper)

    def __str__(self) -> str:
        return f"[{self.lower:.12g}, {self.upper:.12g}]^{self.size}"

    @property
    def widths(self) -> FloatArray:
        """``upper - lower`` for every coordinate, shape (size,)."""
        return np.full(self.size, _width(self.lower, self.upper))

    @property
    def sensitivity(self) -> Sensitivity:
        """l1 = size·w, l2 = √size·w, linf = w."""
        width = _width(self.lower, self.upper)
        if math.isinf(width):
            return Sensitivity(math.inf, math.inf, math.inf)
        exact = Fraction(width)
        return Sensitivity(up(self.size * exact), square_root_up(self.size * exact * exact), width)

    def check(self, values: npt.ArrayLike, name: str = "value") -> FloatArray:
        """Return the values as float64; raise `DomainError` on NaN, a wrong shape or a value outside."""
        array = as_values(values, self.shape, name, self)
        check_within(array, self.lower, self.upper, name, self)
        return array

    def clip(self, values: npt.ArrayLike) -> FloatArray:
        """Return the nearest points of the box."""
        return np.clip(as_numbers(values), self.lower, self.upper)

    def extremes(self) -> FloatArray:
        """Return all-low, all-high, then each corner with one coordinate high and its complement."""
        return box_corners(self.lower, self.upper, self.size)


@dataclass(frozen=True)
class Ball(Vectors):
    """Vectors of ``size`` coordinates with norm at most ``radius``; ``order`` is 1, 2 or infinity."""

    radius: float
    size: int
    order: float = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive("radius", self.radius))
        object.__setattr__(self, "size", whole_number("size", self.size, least=1))
        if self.order not in (1, 2, math.inf):
            raise ParameterError(f"order = {self.order!r}: must be 1, 2 or infinity")

    @property
    def widths(self) -> FloatArray:
        """``2 radius`` for every coordinate, shape (size,)."""
        return np.full(self.size, 2.0 * self.radius)

    @property
    def sensitivity(self) -> Sensitivity:
        """The ball's diameter in each norm.

        Order 1: 2r in all three (between r·e₁ and -r·e₁). Order 2: l1 = 2r√size (between opposite
        diagonal points), l2 = linf = 2r. Order ∞: a box of width 2r.
        """
        diameter = 2.0 * self.radius
        if self.order == 1:
            return Sensitivity(diameter, diameter, diameter)
        if math.isinf(diameter):
            return Sensitivity(math.inf, math.inf, math.inf)
        l1_of_l2 = square_root_up(self.size * Fraction(diameter) ** 2)
        if self.order == 2:
            return Sensitivity(l1_of_l2, diameter, diameter)
        return Sensitivity(multiply_up(diameter, float(self.size)), l1_of_l2, diameter)

    @cached_property
    def _power(self) -> int:
        """The power of two that norms are computed in units of: 0 unless squares could vanish or overflow."""
        return 0 if 1e-100 < self.radius < 1e100 else math.frexp(self.radius)[1]

    def _norms(self, array: FloatArray) -> FloatArray:
        scaled = np.ldexp(array, -self._power) if self._power else array
        with np.errstate(over="ignore"):
            return np.asarray(np.linalg.norm(scaled, ord=self.order, axis=-1), dtype=np.float64)

    @property
    def _largest_norm(self) -> float:
        return math.ldexp(self.radius, -self._power)

    def check(self, values: npt.ArrayLike, name: str = "value") -> FloatArray:
        """Return the values as float64; raise `DomainError` on NaN, a wrong shape or a norm above radius."""
        array = as_values(values, self.shape, name, self)
        norms = self._norms(array)
        if not (norms <= self._largest_norm).all():
            worst = float(np.ldexp(norms[~(norms <= self._largest_norm)].flat[0], self._power))
            raise DomainError(f"{name} holds a vector of norm {worst!r}: outside {self}")
        return array

    def clip(self, values: npt.ArrayLike) -> FloatArray:
        """Return the values, those outside brought onto the sphere (order ∞: clipped; 1, 2: rescaled).

        Rescaling is the nearest point for order 2. For order 1 it is a point of the ball, not the
        nearest one. The factor is 2⁻⁵⁰ below one, so that the result passes `check` after rounding.
        """
        array = as_numbers(values)
        if self.order == math.inf:
            return np.clip(array, -self.radius, self.radius)
        norms = self._norms(array)[..., None]
        outside = norms > self._largest_norm
        factor = self._largest_norm / np.where(outside, norms, self._largest_norm) * (1.0 - 2.0**-50)
        return np.where(outside, array * factor, array)

    def extremes(self) -> FloatArray:
        """Return ±radius on each axis (orders 1 and 2), or the corners a box gives (order ∞)."""
        if self.order == math.inf:
            return box_corners(-self.radius, self.radius, self.size)
        axes = self.radius * np.eye(self.size)
        return np.stack([axes, -axes], axis=1).reshape(-1, self.size)
