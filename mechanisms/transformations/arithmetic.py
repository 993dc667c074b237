"""Transformations of numbers that keep them numbers: affine maps, clipping, linear maps, choosing coordinates."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.domains.choices import Integers, OneHot
from mechanisms.domains.domain import Ball, Box, Domain
from mechanisms.numerics.rounding import down, square_root_up, up
from mechanisms.parameters import DomainError, ParameterError
from mechanisms.transformations.transformation import (
    Transformation,
    bounds_of_coordinates,
    interval_or_box,
    plain_real,
    public_array,
    public_index,
)


@dataclass(frozen=True, eq=False)
class Affine(Transformation):
    """``factor x + shift`` for every coordinate.

    Domain out: between the images of the ends, the computed and the exact ones, rounded outward. Proof: multiplication
    by a number, addition of a number and rounding to the nearest float are monotone, so computed images lie between the
    computed images of the ends. Stability:
    ``|factor x + shift - (factor y + shift)| = |factor| |x - y|`` in every coordinate, hence in every norm.

    Parameters
    ----------
    factor, shift
        Public finite numbers.
    """

    factor: float
    shift: float = 0.0
    coordinatewise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "factor", plain_real("factor", self.factor))
        object.__setattr__(self, "shift", plain_real("shift", self.shift))

    @property
    def stability(self) -> float:
        """``|factor|``."""
        return abs(self.factor)

    def output_domain(self, domain: Domain) -> Domain:
        """Return the interval or box between the images of the ends."""
        lower, upper, size = bounds_of_coordinates(domain, "Affine")
        if self.factor == 0.0:
            lower = upper = 0.0
        computed = [float(end) for end in self.apply(np.array([lower, upper]))]
        if math.isinf(lower) or math.isinf(upper):
            return interval_or_box(min(computed), max(computed), size)
        exact = [Fraction(self.factor) * Fraction(end) + Fraction(self.shift) for end in (lower, upper)]
        low, high = min(*computed, down(min(exact))), max(*computed, up(max(exact)))
        return interval_or_box(low, high, size)

    def apply(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``factor values + shift``."""
        with np.errstate(over="ignore"):
            result: FloatArray = np.multiply(values, self.factor, dtype=np.float64) + self.shift
        return result


@dataclass(frozen=True, eq=False)
class Clip(Transformation):
    """Each coordinate, or the end of [lower, upper] that it lies beyond. Exact: nothing is rounded.

    Domain out: the part of [lower, upper] that values of the domain reach, as clipping is monotone. Stability 1:
    ``x -> min(max(x, lower), upper)`` never lengthens the distance of two numbers, so in every norm none of vectors.

    Parameters
    ----------
    lower, upper
        Public finite numbers, ``lower <= upper``.
    """

    lower: float
    upper: float
    coordinatewise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", plain_real("lower", self.lower))
        object.__setattr__(self, "upper", plain_real("upper", self.upper))
        if not self.lower <= self.upper:
            raise ParameterError(
                f"(lower, upper) = ({self.lower!r}, {self.upper!r}): lower must not exceed upper"
            )

    @property
    def stability(self) -> float:
        """1."""
        return 1.0

    def output_domain(self, domain: Domain) -> Domain:
        """Return the clipped interval or box; of whole numbers between whole ends, whole numbers."""
        lower, upper, size = bounds_of_coordinates(domain, "Clip")
        low, high = (min(max(end, self.lower), self.upper) for end in (lower, upper))
        if isinstance(domain, Integers) and low.is_integer() and high.is_integer():
            return Integers(int(low), int(high), domain.size)
        return interval_or_box(low, high, size)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the clipped values."""
        if values.dtype.kind in "iu" and self.lower.is_integer() and self.upper.is_integer():
            # Whole numbers stay whole, and numbers of a gate's domains are below 2^52.
            clipped: npt.NDArray[Any] = np.clip(values.astype(np.float64), self.lower, self.upper).astype(
                np.int64
            )
            return clipped
        return np.clip(np.asarray(values, dtype=np.float64), self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class Choose(Transformation):
    """The coordinates of a vector at a public index, in its order; a negative entry is padding and gives 0.

    Domain out: that of the chosen coordinates. Stability: the largest number of times that one coordinate is
    chosen, as it appears so often in the L1 distance of results; 1 if all differ.

    Parameters
    ----------
    index
        Whole numbers, shape (k,), or (lanes, k) with one row for every entry of the axis before the last.
    """

    index: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", public_index("index", self.index))

    @property
    def stability(self) -> float:
        """The largest number of times that a coordinate is chosen."""
        return float(max(map(_most_equal, self.index.reshape(-1, self.index.shape[-1])), default=1))

    def output_domain(self, domain: Domain) -> Domain:
        """Return the domain of the chosen coordinates: of the same kind, where none is chosen twice."""
        lower, upper, size = bounds_of_coordinates(domain, "Choose")
        if size is None or self.index.max(initial=-1) >= size:
            raise DomainError(
                f"index = {self.index.tolist()}: must be below the length of the vectors that it chooses from, "
                f"and these are {domain}"
            )
        chosen = self.index.shape[-1]
        padded = bool(self.index.min(initial=0) < 0)
        if isinstance(domain, Ball) and self.stability <= 1.0:
            return Ball(domain.radius, chosen, domain.order)
        if isinstance(domain, OneHot) and self.stability <= 1.0:
            return OneHot(chosen, allow_none=domain.allow_none or chosen < domain.size or padded)
        if padded:
            lower, upper = min(lower, 0.0), max(upper, 0.0)
        if isinstance(domain, Integers | OneHot):
            return Integers(int(lower), int(upper), chosen)
        return Box(lower, upper, chosen)

    def apply(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the chosen coordinates."""
        index = self.index
        padded = bool(index.min(initial=0) < 0)
        safe = np.maximum(index, 0) if padded else index
        if index.ndim == 2:
            lanes = index.shape[0]
            if values.ndim < 2 or values.shape[-2] != lanes:
                values = np.broadcast_to(values, (*values.shape[:-2], lanes, values.shape[-1]))
            chosen = values[..., np.arange(lanes)[:, None], safe]
        else:
            chosen = values[..., safe]
        return np.where(index >= 0, chosen, 0) if padded else chosen


def _most_equal(row: IntArray) -> int:
    present = row[row >= 0]
    return int(np.unique(present, return_counts=True)[1].max(initial=1))


@dataclass(frozen=True, eq=False)
class LinearMap(Transformation):
    """``matrix @ x`` for every vector x.

    Domain out: the box around all results. Proof for intervals and boxes: a product, a sum and rounding to the nearest
    float are monotone, and the terms are added in a fixed order, so that computed results lie between the computed
    results of the corners where every ``a_ij x_j`` is least and largest; the exact results there, rounded outward, lie
    in the box, too. Of a one-hot vector the result is a column,
    exactly. Of an L2 ball it is at most ``radius ‖a_i‖₂`` (Cauchy and Schwarz), of an L1 ball ``radius max_j |a_ij|``
    (Hölder), and the box is widened by ``2⁻⁵² (n + 2) Σ_j |a_ij| max |x_j|``, more than the n products and n - 1 sums
    round off together (each is off by at most 2⁻⁵³ of a number not larger than the sum). Stability:
    ``‖A (x - y)‖₁ <= max_j Σ_i |a_ij| ‖x - y‖₁``.

    Parameters
    ----------
    matrix
        Public finite numbers, shape (k, n).
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        matrix = public_array("matrix", self.matrix)
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise ParameterError(f"matrix of shape {matrix.shape}: must be of shape (k, n), both at least 1")
        object.__setattr__(self, "matrix", matrix)

    @property
    def stability(self) -> float:
        """The largest L1 norm of a column, rounded up."""
        return max(
            up(sum((abs(Fraction(entry)) for entry in column), Fraction(0)))
            for column in self.matrix.T.tolist()
        )

    def output_domain(self, domain: Domain) -> Domain:
        """Return the box around all results."""
        lower, upper, size = bounds_of_coordinates(domain, "LinearMap")
        rows, columns = self.matrix.shape
        if (1 if size is None else size) != columns:
            raise DomainError(
                f"matrix of shape {self.matrix.shape}: must have a column for each coordinate of {domain}"
            )
        if math.isinf(lower) or math.isinf(upper):
            return Box(-math.inf, math.inf, rows)
        if isinstance(domain, OneHot):
            reached = np.column_stack([self.matrix, np.zeros(rows)]) if domain.allow_none else self.matrix
            return Box(float(reached.min()), float(reached.max()), rows)
        if isinstance(domain, Ball) and domain.order != math.inf:
            far = max(_reach(row, domain, Fraction(upper)) for row in self.matrix.tolist())
            return Box(-far, far, rows)
        with np.errstate(over="ignore", invalid="ignore"):
            ends = self.matrix * lower, self.matrix * upper
            low, high = _sum_in_order(np.minimum(*ends).T).min(), _sum_in_order(np.maximum(*ends).T).max()
        if not (np.isfinite(low) and np.isfinite(high)):
            return Box(-math.inf, math.inf, rows)
        exact = [
            [sorted(Fraction(entry) * Fraction(end) for end in (lower, upper)) for entry in row]
            for row in self.matrix.tolist()
        ]
        least, most = ([sum((pair[end] for pair in row), Fraction(0)) for row in exact] for end in (0, 1))
        return Box(min(float(low), down(min(least))), max(float(high), up(max(most))), rows)

    def apply(self, values: npt.NDArray[Any]) -> FloatArray:
        """Return ``matrix @ values``, over the last axis."""
        columns = range(self.matrix.shape[1])
        return _sum_in_order(values[..., column, None] * self.matrix[:, column] for column in columns)


def _sum_in_order(terms: Iterable[FloatArray]) -> FloatArray:
    """Return the sum from the first term to the last: it does not depend on how many are computed at once."""
    return functools.reduce(np.add, terms)


def _reach(row: list[float], ball: Ball, radius: Fraction) -> float:
    """Return a bound on the computed product of a row with the vectors of a ball."""
    entries = [abs(Fraction(entry)) for entry in row]
    norm = (
        max(entries)
        if ball.order == 1
        else Fraction(square_root_up(Fraction(sum(entry * entry for entry in entries))))
    )
    slack = sum(entries) * radius * (len(row) + 2) / 2**52 + Fraction(len(row), 2**1073)
    return up(radius * norm + slack)
