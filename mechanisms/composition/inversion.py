"""From certified bounds on δ(ε) to certified bounds on ε(δ), and to the largest number of releases within them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from mechanisms.numerics.deadline import GRACE, time_is_over

_MOST = 10**12
"""The count that fits is taken to be infinite if so many fit."""


class DeltaBounds(Protocol):
    """Certified bounds on the curve ε -> δ(ε) of one composition."""

    name: str
    s: float
    """The scale: ln δ falls at about this rate."""

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper."""

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its derivative, not certified."""


def invert(curve: DeltaBounds, delta: float, start: float, ceiling: float) -> tuple[float, float]:
    """Return (lower, upper) with lower <= ε(δ) <= upper, ε(δ) the smallest ε >= 0 with δ(ε) <= delta.

    δ decreases: upper(x) <= delta proves ε(δ) <= x, lower(x) >= delta proves ε(δ) >= x, at the evaluated x
    alone. Newton's method on ln δ finds the place, while there is time; each end is then moved outwards until it is
    proved.

    Parameters
    ----------
    start : float
        First guess.
    ceiling : float
        A number known to be at least ε(δ) (inf if none).
    """
    x, slope = newton(curve, delta, start, ceiling)
    low, high = curve.bounds(x)
    return _proved(curve, delta, x, slope, low, -1.0, ceiling), _proved(
        curve, delta, x, slope, high, 1.0, ceiling
    )


def newton(curve: DeltaBounds, delta: float, start: float, ceiling: float) -> tuple[float, float]:
    """Return x >= 0 with estimate(x) close to delta, and the derivative there."""
    low, high = 0.0, ceiling
    x = min(max(start, 0.0), ceiling)
    log_delta = math.log(delta)
    slope = -curve.s * delta
    for _ in range(60):
        if time_is_over():
            break
        value, derivative = curve.estimate(x)
        if not math.isfinite(value * derivative):  # far to the left of the tilt
            low = max(low, x)
            step = math.inf
        elif value <= 0.0 or derivative >= 0.0:
            high = min(high, x)
            step = -2.0 / curve.s
        else:
            slope = derivative
            gap = math.log(value) - log_delta
            if gap > 0.0:
                low = max(low, x)
            else:
                high = min(high, x)
            step = -gap * value / derivative
            if abs(gap) < 1e-13:
                break
        new = x + max(-4.0 / curve.s, min(4.0 / curve.s, step))
        if new >= high:
            new = 0.5 * (x + high)
        elif new < low:
            new = 0.5 * (x + low) if low > 0.0 else 0.0
        if abs(new - x) <= 4e-16 * abs(x):
            break
        x = new
    return x, slope


def _proved(
    curve: DeltaBounds, delta: float, x: float, slope: float, bound: float, side: float, ceiling: float
) -> float:
    """Move x >= 0 to the given side until its bound on δ proves it; (0, ceiling) if that fails."""

    def holds(bound: float) -> bool:
        return bound <= delta if side > 0.0 else bound >= delta

    if holds(bound):
        return x
    move = 1.01 * abs(bound - delta) / max(abs(slope), 1e-300) + 4.0 * math.ulp(x)
    for _ in range(60):
        if time_is_over(GRACE):
            break
        at = x + side * move
        if side < 0.0 and at <= 0.0:
            return 0.0
        if side > 0.0 and at >= ceiling:
            return ceiling
        pair = curve.bounds(at)
        if holds(pair[1] if side > 0.0 else pair[0]):
            return at
        move *= 1.5
    return 0.0 if side < 0.0 else ceiling


def most_that_fit(fits: Callable[[int], bool]) -> float:
    """Return the largest whole number that fits, where all smaller ones do; inf if a trillion fits.

    After a deadline it is one that fits, and perhaps not the largest; 0, which is not asked for, at the least.
    """
    low, high = 0, 1
    while not time_is_over() and fits(high):
        if high == _MOST:
            return math.inf
        low, high = high, min(2 * high, _MOST)
    while high - low > 1 and not time_is_over():
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
