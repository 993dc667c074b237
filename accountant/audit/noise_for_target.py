"""The least noise with which a written-down composition meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from accountant.audit.releases import Counted, Releases, maximal
from accountant.losses.composed_loss import compose
from accountant.losses.deadline import OutOfTime, deadline, time_is_over
from accountant.losses.least_noise import Compositions, OutOfReach, least_noise, least_noise_for_risk
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
        What the composition then guarantees at `delta`; at most the target, if that is one for epsilon.
    delta
        The target's delta, or where epsilon was asked for.
    neighbouring
        The neighbouring relation of the target and of `epsilon`.
    complete
        Whether the search ended before its time limit; if not, the target is met, and less noise may do.
    """

    factor: float
    parameters: Mapping[str, Mapping[str, float]]
    epsilon: float
    delta: float
    neighbouring: Neighbouring
    complete: bool = True


def calibrate(
    releases: Releases, epsilon: float, delta: float, *, time_limit: float = math.inf
) -> Calibration:
    """Return the least common factor on all noise with which every record has at most (epsilon, delta).

    Each factor that is tried is certified by the upper bound on δ. After ``time_limit`` seconds it is the least one
    that was found to be enough.

    Raises
    ------
    ValueError
        If epsilon is not a finite number above 0, delta outside [0, 1), no amount of noise is enough, or none was
        proved to be within the time limit.
    """
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon={epsilon!r}: must be a finite number above 0")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: must lie in [0, 1)")
    target = f"epsilon={epsilon:g} at delta={delta:g}"
    found = _calibrated(releases, lambda at: least_noise(at, epsilon, delta), target, delta, time_limit)
    return replace(found, epsilon=min(epsilon, found.epsilon))


def calibrate_advantage(
    releases: Releases, advantage: float, delta: float, *, time_limit: float = math.inf
) -> Calibration:
    """Return the least common factor with which no attack tells a record's presence by more than ``advantage``.

    Parameters
    ----------
    advantage
        The largest true positive rate - false positive rate, in (0, 1).
    delta
        Where to say epsilon.

    Raises
    ------
    ValueError
        If the advantage is not in (0, 1), delta outside [0, 1), no amount of noise is enough, or none was proved to
        be within the time limit.
    """
    if not 0 < advantage < 1:
        raise ValueError(f"advantage={advantage!r}: must lie in (0, 1)")
    return _calibrated(
        releases, lambda at: least_noise(at, 0.0, advantage), f"advantage={advantage:g}", delta, time_limit
    )


def calibrate_risk(
    releases: Releases,
    true_positive: float,
    false_positive: float,
    delta: float,
    *,
    time_limit: float = math.inf,
) -> Calibration:
    """Return the least common factor with which no attack on any record reaches a true positive rate.

    Parameters
    ----------
    true_positive, false_positive
        The true positive rate not to be exceeded at this false positive rate.
    delta
        Where to say epsilon.

    Raises
    ------
    ValueError
        If the rates are not 0 < false_positive < true_positive < 1, delta outside [0, 1), no noise is enough, or
        none was proved to be within the time limit.
    """
    return _calibrated(
        releases,
        lambda at: least_noise_for_risk(at, true_positive, false_positive),
        f"a true positive rate of {true_positive:g} at a false positive rate of {false_positive:g}",
        delta,
        time_limit,
    )


def _calibrated(
    releases: Releases, search: Callable[[Compositions], float], target: str, delta: float, time_limit: float
) -> Calibration:
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: must lie in [0, 1)")
    groups = maximal(releases.groups)

    def compositions(factor: float) -> list[Counted]:
        return [releases.counted(group, factor) for group in groups]

    try:
        with deadline(time_limit):
            factor = search(compositions)
            complete = not time_is_over()
            reached = max(compose(one).epsilon(delta).upper for one in compositions(factor))
    except OutOfReach:
        raise ValueError(f"no amount of noise gives {target}") from None
    except OutOfTime:
        raise ValueError(f"time_limit={time_limit:g}: no noise was proved to give {target} by then") from None
    parameters = {kind.name: kind.at(factor) for kind in releases.kinds}
    return Calibration(factor, parameters, reached, delta, releases.neighbouring, complete)
