"""Public bounds on the floating-point error of private numbers.

A sum of floats may move further, when one record changes, than the sum of the real numbers they stand for: after
2^60 is added and taken away, a number near 1/2 comes back as 0 or 256. Public bounds on private numbers, never their
own size, bound the movement: see `FloatBounds`. Values that enter a gate lie on a grid of their domain (`grid_of`), on
which honest sums are exact.
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.domains.choices import Categories, Integers, OneHot
from mechanisms.domains.domain import Ball, Box, Domain, Interval
from mechanisms.domains.regression_moments import RegressionMoments
from mechanisms.numerics.rounding import add_up, multiply_up

GRID_BITS = 26
"""Values are multiples of 2^-26 of a power of two between the width and twice the width of their domain.

Rounding changes a value by at most 2^-27 of the width. Sums of numbers no larger than the width are exact, as long as
there are no more than 2^26 of them (2^27 if the width is a power of two); each further bit here would halve that.
"""
NO_GRID = sys.float_info.min_exp - sys.float_info.mant_dig  # every float is a multiple of 2^-1074
_DIGITS = sys.float_info.mant_dig  # 53
_WHOLE_BITS = 62  # whole numbers are kept in 64 bits: more than that could overflow
_SPHERE = 1.0 - 2.0**-40  # norms are computed to better than this for up to 2^11 coordinates
_INSIDE = 1.0 - 2.0**-30


@dataclass(frozen=True, slots=True)
class FloatBounds:
    """Public bounds on floats, each of which is the rounded result of a computation with real numbers.

    Theorem. The sum of two multiples of g = 2^exponent is one, and so is the float nearest to it, as every float of at
    least 2^53 g is. Up to 2^53 g all multiples are floats: the sum is exact then. Else the nearest float is off by at
    most half a unit in the last place of `magnitude`; a whole unit is counted, as half of the smallest positive float
    is no float.

    Attributes
    ----------
    magnitude
        Upper bound on the absolute value of every number.
    error
        Upper bound on the distance of every number from its value in exact arithmetic; 0 if all arithmetic was exact,
        infinity if a number may have overflowed.
    exponent
        All numbers are multiples of 2^exponent.
    """

    magnitude: float
    error: float = 0.0
    exponent: int = NO_GRID

    @property
    def overflowed(self) -> bool:
        """True if a number may have overflowed."""
        return math.isinf(self.error)

    @property
    def are_integers(self) -> bool:
        """True if all numbers are integers."""
        return self.exponent >= 0 and not self.overflowed

    def add(self, other: FloatBounds) -> FloatBounds:
        """Return the bounds of sums."""
        magnitude = add_up(self.magnitude, other.magnitude)
        exponent = min(self.exponent, other.exponent)
        error = add_up(self.error, other.error) if self.error or other.error else 0.0
        return _rounded(magnitude, error, exponent)

    def cover(self, other: FloatBounds) -> FloatBounds:
        """Return the bounds of numbers of both."""
        return FloatBounds(
            max(self.magnitude, other.magnitude),
            max(self.error, other.error),
            min(self.exponent, other.exponent),
        )

    def sum_coordinates(self, count: int) -> FloatBounds:
        """Return the bounds of sums of ``count`` numbers, added in any order."""
        magnitude = multiply_up(self.magnitude, float(count))
        total = _rounded(magnitude, multiply_up(self.error, float(count)), self.exponent)
        if count > 2 and total.error:  # each of count - 1 additions is off by a unit of the largest sum
            return FloatBounds(total.magnitude, multiply_up(total.error, float(count)), total.exponent)
        return total

    def shift_by(self, numbers: npt.NDArray[np.float64]) -> FloatBounds:
        """Return the bounds after public numbers are added."""
        return self.add(FloatBounds(_largest_magnitude(numbers), 0.0, _lowest_bit(numbers)))

    def scale_by(self, factors: npt.NDArray[np.float64]) -> FloatBounds:
        """Return the bounds after multiplication by public factors.

        A product of multiples of 2^a and 2^b is one of 2^(a+b), and a float if it is at most 2^53 as large. An overflow
        stays one: infinity times 0 is no number.
        """
        return self._times(factors, _largest_magnitude(factors), 1.0)

    def combine(self, coefficients: npt.NDArray[np.float64]) -> FloatBounds:
        """Return the bounds of sums of numbers times public coefficients, one number each, added in any order."""
        weight = math.nextafter(math.fsum(np.abs(coefficients).tolist()), math.inf)
        return self._times(coefficients, weight, 2.0 * coefficients.size)

    def _times(self, factors: npt.NDArray[np.float64], weight: float, units: float) -> FloatBounds:
        """Return the bounds of products with `factors`, of at most this weight in all, rounded by so many units."""
        magnitude = multiply_up(self.magnitude, weight)
        error = self.error if self.overflowed else multiply_up(self.error, weight)
        exponent = self.exponent + _lowest_bit(factors)
        if exponent >= NO_GRID and magnitude <= _exact_up_to(exponent):
            return FloatBounds(magnitude, error, exponent)
        return FloatBounds(magnitude, add_up(error, multiply_up(_unit(magnitude), units)), NO_GRID)

    def stretch_by(self, stability: float, size: int, offset: float, units: int) -> FloatBounds:
        """Return the bounds of a function's results.

        Parameters
        ----------
        stability
            Its Lipschitz constant in L1 norm.
        size
            The number of its arguments.
        offset
            The largest size of its results for zeros.
        units
            Its rounding, in units in the last place of the largest result; 0 if `stability` holds for the floats that
            it computes.
        """
        factor = multiply_up(stability, float(size))
        magnitude = add_up(multiply_up(self.magnitude, factor), offset)
        rounded = multiply_up(_unit(magnitude), float(units))
        return FloatBounds(magnitude, add_up(multiply_up(self.error, factor), rounded), NO_GRID)

    def to_list(self) -> list[Any]:
        """Return the bounds as JSON-able data, exact to the last bit."""
        return [self.magnitude.hex(), self.error.hex(), self.exponent]

    @classmethod
    def from_list(cls, saved: list[Any]) -> FloatBounds:
        """Return the bounds from the list that `to_list` made."""
        magnitude, error, exponent = saved
        return cls(float.fromhex(magnitude), float.fromhex(error), int(exponent))


NOTHING = FloatBounds(0.0, 0.0, sys.float_info.max_exp)
"""The bounds of zeros: adding them changes nothing."""


def _rounded(magnitude: float, error: float, exponent: int) -> FloatBounds:
    if exponent >= 0 and magnitude > math.ldexp(1.0, min(exponent + _WHOLE_BITS, 1023)):
        return FloatBounds(magnitude, math.inf, exponent)
    if magnitude <= _exact_up_to(exponent):
        return FloatBounds(magnitude, error, exponent)
    return FloatBounds(magnitude, add_up(error, _unit(magnitude)), exponent)


def _exact_up_to(exponent: int) -> float:
    """Return 2^(exponent + 53), up to which all multiples of 2^exponent are floats; below infinity."""
    power = exponent + _DIGITS
    return math.ldexp(1.0, power) if power < sys.float_info.max_exp else sys.float_info.max


def _unit(magnitude: float) -> float:
    return math.ulp(magnitude) if math.isfinite(magnitude) else math.inf


def _largest_magnitude(numbers: npt.NDArray[np.float64]) -> float:
    return float(np.abs(numbers).max(initial=0.0))


def _lowest_bit(numbers: npt.NDArray[np.float64]) -> int:
    """Return the largest e such that all numbers are multiples of 2^e (1024 for zeros)."""
    return min((_bit_of(number) for number in set(numbers.ravel().tolist())), default=NOTHING.exponent)


def _bit_of(number: float) -> int:
    if number == 0.0:
        return NOTHING.exponent
    top, bottom = number.as_integer_ratio()
    return (top & -top).bit_length() - bottom.bit_length()


# --- the grid of a domain --------------------------------------------------------------------------


def is_bounded(domain: Domain) -> bool:
    """Return True if every coordinate has a finite width."""
    if type(domain) in _KINDS:
        return math.isfinite(grid_of(domain).bounds.magnitude)
    return bool(np.isfinite(domain.widths).all())


@dataclass(frozen=True)
class _Grid:
    """The rounding of the values of one domain.

    Attributes
    ----------
    bounds
        Those of one record's values on the grid; infinite if a width of the domain is.
    ends
        The lowest and highest multiple in the domain, if one of the domain's ends is none.
    radius, order
        The radius and order of a ball: its vectors are rounded towards zero.
    rounds
        True if values are rounded at all.
    """

    bounds: FloatBounds
    ends: tuple[float, float] | None = None
    radius: float = math.inf
    order: float = 0.0
    rounds: bool = True

    def onto(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of the domain as multiples of its grid, in the domain; their trailing axes are its `shape`."""
        if not self.rounds:
            return values
        step = math.ldexp(1.0, self.bounds.exponent)
        finer = math.ldexp(1.0, -self.bounds.exponent)
        if self.order:
            return self._in_ball(values, step, finer)
        rounded = np.asarray(np.multiply(values, finer, dtype=np.float64))  # of a scalar, an array too
        np.rint(rounded, out=rounded)
        rounded *= step
        if self.ends is not None:
            np.clip(rounded, *self.ends, out=rounded)
        return rounded

    def _in_ball(self, values: npt.NDArray[Any], step: float, finer: float) -> FloatArray:
        """Round towards zero, which shortens; vectors at the sphere are shortened first, by more than norms are off."""
        steps = np.asarray(np.multiply(values, finer, dtype=np.float64))
        norms = np.linalg.norm(steps, ord=self.order, axis=-1)[..., None]
        rounded: FloatArray = np.trunc(
            np.where(norms > self.radius * finer * _SPHERE, steps * _INSIDE, steps)
        )
        rounded *= step
        return rounded


def grid_of(domain: Any) -> _Grid:
    """Return the grid of a domain, on which each gate rounds values that it lets in and results of `Private.map`.

    So sums are exact. Each value is rounded on its own, and stays in the domain, so that the domain's sensitivity
    bounds its movement. For classes of users nothing is known, and nothing is done.
    """
    return _cached_grid(domain) if type(domain) in _KINDS else _Grid(_foreign_bounds(domain), rounds=False)


_KINDS = (Interval, Box, Ball, Integers, OneHot, Categories, RegressionMoments)


@functools.lru_cache(maxsize=1024)
def _cached_grid(domain: Any) -> _Grid:
    if isinstance(domain, OneHot | Categories):
        return _Grid(FloatBounds(float(domain.size), 0.0, 0), rounds=False)
    if isinstance(domain, Integers):
        size = max(abs(domain.lower), abs(domain.upper))
        return _Grid(FloatBounds(float(size), 0.0, 0), rounds=False)
    lower, upper = (
        (-domain.radius, domain.radius) if isinstance(domain, Ball) else (domain.lower, domain.upper)
    )
    magnitude, width = max(abs(lower), abs(upper)), float(np.max(domain.widths))
    if math.isinf(magnitude) or math.isinf(width):
        return _Grid(FloatBounds(math.inf), rounds=False)
    # Not finer than floats of this size are.
    exponent = max(_power(magnitude) - _DIGITS, _power(width) - 1 - GRID_BITS if width else NO_GRID)
    if not -sys.float_info.max_exp < exponent < sys.float_info.max_exp - 1:
        return _Grid(FloatBounds(magnitude), rounds=False)
    bounds = FloatBounds(magnitude, 0.0, exponent)
    if isinstance(domain, Ball) and domain.order != math.inf:
        return _Grid(bounds, radius=domain.radius, order=domain.order)
    step = math.ldexp(1.0, exponent)
    first, last = math.ceil(Fraction(lower) / Fraction(step)), math.floor(Fraction(upper) / Fraction(step))
    ends = first * step, last * step
    return _Grid(bounds, ends=None if ends == (lower, upper) else ends)


def _power(number: float) -> int:
    """Return the e with 2^(e-1) <= number < 2^e; the smallest there is for 0."""
    return math.frexp(number)[1] if number else NO_GRID


def _foreign_bounds(domain: Any) -> FloatBounds:
    """Return the bounds of a user's own domain by its extreme points, which are trusted; infinite if it has none."""
    try:
        return FloatBounds(_largest_magnitude(np.asarray(domain.extremes(), dtype=np.float64)))
    except Exception:  # a user's domain may raise anything
        return FloatBounds(math.inf)
