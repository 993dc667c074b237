"""Arithmetic rounded towards more privacy loss, so that a float bound never undercuts the exact one."""

from __future__ import annotations

import math
from fractions import Fraction


def up(exact: Fraction) -> float:
    """Return the smallest float that is at least ``exact``."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


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
