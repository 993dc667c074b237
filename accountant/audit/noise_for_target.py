"""The least noise with which a written-down composition meets a target."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from accountant.audit.releases import Counted, Releases, maximal
from accountant.losses.composed_loss import compose
from accountant.losses.least_noise import OutOfReach, least_noise
from mechanisms.neighbouring import Neighbouring


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
    neighbouring
        The neighbouring relation of the target and of `epsilon`.
    """

    factor: float
    parameters: Mapping[str, Mapping[str, float]]
    epsilon: float
    delta: float
    neighbouring: Neighbouring


def calibrate(releases: Releases, epsilon: float, delta: float) -> Calibration:
    """Return the least common factor on all noise with which every record has at most (epsilon, delta).

    Each factor that is tried is certified by the upper bound on δ.

    Raises
    ------
    ValueError
        If epsilon is not a finite number above 0, delta outside [0, 1), or no amount of noise is enough.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number above 0")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: must lie in [0, 1)")
    groups = maximal(releases.groups)

    def compositions(factor: float) -> list[Counted]:
        return [releases.counted(group, factor) for group in groups]

    try:
        factor = least_noise(compositions, epsilon, delta)
    except OutOfReach:
        raise ValueError(
            f"no amount of noise gives epsilon={epsilon:g} at delta={delta:g}, neighbours: {releases.neighbouring}"
        ) from None
    reached = min(epsilon, max(compose(one).epsilon(delta).upper for one in compositions(factor)))
    parameters = {kind.name: kind.at(factor) for kind in releases.kinds}
    return Calibration(factor, parameters, reached, delta, releases.neighbouring)
