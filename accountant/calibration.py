"""The least noise that meets a target, in about eight certified evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.optimize import brentq

from mechanisms import ParameterError
from mechanisms.parameters import positive

_FURTHEST = 2.0**60


def least_noise(epsilon_at: Callable[[float], float], target: float, *, relative: float = 1e-9) -> float:
    """Return a noise level that meets the target and is at most about ``relative`` above the least one.

    Parameters
    ----------
    epsilon_at : callable
        A certified upper bound on ε at a noise level (or at a common factor on all noise), not increasing.
    target : float
        The ε to reach, positive.
    relative : float
        How close to the least noise.

    Raises
    ------
    ParameterError
        If target or relative is not positive, or no noise up to 2^60 is enough.
    """
    positive("epsilon", target)
    positive("relative", relative)

    def excess(log_noise: float) -> float:
        epsilon = epsilon_at(math.exp(log_noise))
        return max(-50.0, min(50.0, math.log(epsilon / target))) if epsilon > 0.0 else -50.0

    low = high = 0.0
    step = math.log(2.0)
    while excess(high) > 0.0:
        low, high = high, high + step
        step *= 2.0
        if high > math.log(_FURTHEST):
            raise ParameterError(f"epsilon = {target!r}: no amount of noise is enough")
    while low == high:
        low = high - step
        if excess(low) > 0.0:
            break
        high, step = low, 2.0 * step
        if low < -math.log(_FURTHEST):
            return math.exp(low)
        low = high
    root = float(brentq(excess, low, high, xtol=0.25 * relative, rtol=8.9e-16))
    noise = math.exp(root)
    move = 0.25 * relative
    while epsilon_at(noise) > target:
        noise *= 1.0 + move
        move *= 2.0
    return noise
