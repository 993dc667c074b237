"""The least noise with which a written-down composition meets a target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from accountant.composed_loss import compose
from verify.release_file import Releases

_RELATIVE = 1e-9  # the factor found is at most this much above the least one


@dataclass(frozen=True)
class Calibration:
    """How much noise it takes.

    Attributes
    ----------
    factor
        All noise is multiplied by this number (rounded up, so that the target holds).
    parameters
        The new parameters of each kind of release, by its name.
    epsilon
        What the composition then guarantees at `delta`; at most the target.
    delta
        The target's delta.
    """

    factor: float
    parameters: Mapping[str, Mapping[str, float]]
    epsilon: float
    delta: float


def calibrate(releases: Releases, epsilon: float, delta: float) -> Calibration:
    """Return the least common factor on all noise with which every record has at most (epsilon, delta).

    More noise never costs more, so bisection finds it: each tried factor is certified by the upper bound.

    Raises
    ------
    ValueError
        If epsilon is not a finite number above 0, delta outside [0, 1), or no amount of noise is enough.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number above 0")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: must lie in [0, 1)")

    def private(factor: float) -> bool:
        for group in releases.groups:
            loss = compose(releases.counted(group, factor))
            if loss.epsilon(delta).upper > epsilon:
                return False
        return True

    low, high = 1.0, 1.0
    while not private(high):
        low, high = high, 2.0 * high
        if high > 2.0**60:
            raise ValueError(f"no amount of noise gives epsilon={epsilon:g} at delta={delta:g}")
    while low == high or private(low):
        low, high = 0.5 * low, low
        if low < 2.0**-60:
            break
    while high > low * (1.0 + _RELATIVE):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    reached = max(compose(releases.counted(group, high)).epsilon(delta).upper for group in releases.groups)
    parameters = {kind.name: kind.at(high) for kind in releases.kinds}
    return Calibration(high, parameters, reached, delta)
