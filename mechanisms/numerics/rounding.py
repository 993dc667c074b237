"""Arithmetic rounded towards more privacy loss, so that a float bound never undercuts the exact one."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray


def up(exact: Fraction) -> float:
    """Return the smallest float that is at least ``exact``."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -sys.float_info.max
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def down(exact: Fraction) -> float:
    """Return the largest float that is at most ``exact``; zero without a sign."""
    return -up(-exact) + 0.0


def exact_sum(terms: Iterable[tuple[Fraction, int]]) -> Fraction:
    """Return Σ n_i x_i exactly, in a balanced tree: one by one, denominators that grow make it quadratic."""
    parts = [(n * x.numerator, x.denominator) for x, n in terms]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        added = [(a + c, b) if b == d else (a * d + c * b, b * d) for (a, b), (c, d) in pairs]
        parts = added + parts[len(parts) - len(parts) % 2 :]
    return Fraction(*parts[0]) if parts else Fraction(0)


def add_up(a: float, b: float) -> float:
    """Return the smallest float that is at least ``a + b`` (Knuth's two-sum gives the rounding error)."""
    total = a + b
    if not math.isfinite(total):
        return total
    shadow = total - a
    error = (a - (total - shadow)) + (b - shadow)
    return math.nextafter(total, math.inf) if error > 0.0 else total


def multiply_up(a: float, b: float) -> float:
    """Return the smallest float that is at least ``a * b``, for nonnegative ``a`` and ``b``; 0 * inf is 0."""
    if a == 0.0 or b == 0.0:
        return 0.0
    nearest = a * b
    if math.isinf(nearest):
        return math.inf
    # Whole-number arithmetic on numerators and denominators: ten times faster than Fraction.
    (a_top, a_low), (b_top, b_low), (top, low) = map(float.as_integer_ratio, (a, b, nearest))
    return math.nextafter(nearest, math.inf) if a_top * b_top * low > top * a_low * b_low else nearest


def either_up(a: float, b: float) -> float:
    """Return the smallest float that is at least ``a + b - ab``, the probability of either of two events."""
    return up(Fraction(a) + Fraction(b) - Fraction(a) * Fraction(b)) if a and b else a + b


def divide_up(a: float, b: float) -> float:
    """Return the smallest float that is at least ``a / b``, for nonnegative ``a`` and positive ``b``."""
    if math.isinf(a):
        return math.inf
    return up(Fraction(a) / Fraction(b))


def square_root_up(exact: Fraction) -> float:
    """Return a float at or just above the root of ``exact``; the root itself if that is a float."""
    if exact == 0:
        return 0.0
    # sqrt(n / d) = sqrt(n * d) / d, and isqrt on n * d * 4^shift keeps at least 64 significant bits.
    product = exact.numerator * exact.denominator
    shift = max(0, 72 - product.bit_length() // 2)
    scaled = product << (2 * shift)
    root = math.isqrt(scaled)
    if root * root != scaled:
        root += 1
    return up(Fraction(root, exact.denominator << shift))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A rational as the sum of two floats, from which floats just below it can be subtracted without cancellation.

    Attributes
    ----------
    near
        The nearest float.
    rest
        The rest, to the nearest float: at most half a unit in the last place of ``near``.
    """

    near: float
    rest: float

    @classmethod
    def from_fraction(cls, exact: Fraction) -> Ceiling:
        """Split a rational; one beyond all floats becomes infinite."""
        try:
            near = float(exact)
        except OverflowError:
            return cls(math.inf if exact > 0 else -math.inf, 0.0)
        top, low = near.as_integer_ratio()
        # Division of whole numbers is correctly rounded, and twice as fast as a Fraction.
        return cls(near, (exact.numerator * low - top * exact.denominator) / (exact.denominator * low))

    def gap(self, below: FloatArray) -> FloatArray:
        """Return ceiling - below to a relative error of 4u and with the exact sign, element by element.

        near - below is exact within a factor of 2 (Sterbenz's lemma), and large beside ``rest`` elsewhere. If it is
        positive, it is at least twice |rest| for a negative ``rest``, so at most half of it cancels.
        """
        return (self.near - below) + self.rest


def product_gap(ceiling: Ceiling, factor: float, below: FloatArray) -> FloatArray:
    """Return ceiling - factor · below to a relative error of 4u, element by element, for factor · below >= 0."""
    product, error = exact_product(factor, below)
    return (ceiling.near - product) + (ceiling.rest - error)


def exact_product(factor: float, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded products and their rounding errors, element by element.

    The rounding error is found exactly (Dekker's product of halves, after powers of 2 are taken out).
    """
    mantissa, power = math.frexp(factor)
    scaled = np.ldexp(values, power)
    product = mantissa * scaled
    splitter = 2.0**27 + 1.0
    high = splitter * mantissa - (splitter * mantissa - mantissa)
    low = mantissa - high
    own = splitter * scaled - (splitter * scaled - scaled)
    rest = scaled - own
    return product, ((high * own - product) + high * rest + low * own) + low * rest
