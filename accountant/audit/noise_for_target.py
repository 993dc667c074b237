"""The least noise with which a composition fixed in advance meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from accountant.audit.audit_question import AuditQuestion
from accountant.audit.releases import (
    POWER,
    Group,
    GroupResult,
    ProfileCounts,
    Releases,
    is_within,
    scale_noise,
)
from accountant.audit.worst_group import LossNumber, TruePositiveRate, at_most, find_worst_group
from mechanisms.composition.least_noise import (
    MOST_EPSILON,
    Compositions,
    OutOfReach,
    least_noise,
    least_noise_for_risk,
)
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.numerics.deadline import OutOfTime, deadline, time_is_over, time_limit_text
from mechanisms.parameters import ParameterError


@dataclass(frozen=True)
class Calibration(GroupResult):
    """The noise of a composition that meets a target.

    Attributes
    ----------
    factor
        All noise is multiplied by this number (rounded up, so that the target holds).
    parameters
        The new parameters of each kind of release, by its name.
    epsilon
        The epsilon that the composition then guarantees at `delta`; at most the target, if that is one for epsilon.
    delta
        The target's delta, or the one at which epsilon was asked for.
    neighbouring
        The neighbouring relation of the target and of `epsilon`.
    complete
        True if the search ended before its time limit; if not, the target is met, and less noise may do.
    group_size
        The number of records that change together, in the target and in `epsilon`.
    """

    factor: float
    parameters: Mapping[str, Mapping[str, float]]
    epsilon: float
    delta: float
    neighbouring: Neighbouring
    complete: bool = True
    group_size: int = 1


def calibrate(
    releases: Releases, epsilon: float, delta: float, *, time_limit: float = math.inf
) -> Calibration:
    """Return the least common factor on all noise with which every record has at most (epsilon, delta).

    Each factor that is tried is certified by the upper bound on δ. After ``time_limit`` seconds it is the least one
    that was found to be enough.

    Raises
    ------
    ParameterError
        If epsilon is not a number of at least 0 and at most 1e100, delta outside [0, 1), both are 0, no amount of noise
        is enough, or none was proved to be within the time limit.
    """
    if not 0 <= epsilon <= MOST_EPSILON:
        raise ParameterError(f"epsilon = {epsilon!r}: must be a number from 0 to {MOST_EPSILON:g}")
    if epsilon == 0 == delta:
        raise ParameterError("epsilon = 0.0: must be above 0 at delta=0, as no noise hides everything")
    target = f"epsilon={epsilon:g} at delta={delta:g}"
    number, limit = (
        (AuditQuestion(delta=0.0), epsilon) if delta == 0.0 else (AuditQuestion(epsilon=epsilon), delta)
    )
    goal = _Goal(target, lambda at: least_noise(at, epsilon, delta), number, limit)
    found = _calibrate_to_goal(releases, goal, delta, time_limit)
    return replace(found, epsilon=min(epsilon, found.epsilon))


def calibrate_advantage(
    releases: Releases, advantage: float, delta: float, *, time_limit: float = math.inf
) -> Calibration:
    """Return the least common factor of the noise at which no attack has a larger ``advantage``.

    Parameters
    ----------
    advantage
        The largest true positive rate - false positive rate, in (0, 1).
    delta
        The delta of the epsilon that is returned beside it.

    Raises
    ------
    ParameterError
        If the advantage is not in (0, 1), delta outside [0, 1), no amount of noise is enough, or none was proved to
        be within the time limit.
    """
    if not 0 < advantage < 1:
        raise ParameterError(f"advantage = {advantage!r}: must lie in (0, 1)")
    target = f"advantage={advantage:g}"
    goal = _Goal(target, lambda at: least_noise(at, 0.0, advantage), AuditQuestion(epsilon=0.0), advantage)
    return _calibrate_to_goal(releases, goal, delta, time_limit)


def calibrate_risk(
    releases: Releases,
    true_positive: float,
    false_positive: float,
    delta: float,
    *,
    time_limit: float = math.inf,
) -> Calibration:
    """Return the least common factor of the noise at which no attack exceeds a true at a false positive rate.

    Parameters
    ----------
    true_positive, false_positive
        The true positive rate not to be exceeded at this false positive rate.
    delta
        The delta of the epsilon that is returned beside it.

    Raises
    ------
    ParameterError
        If the rates are not 0 < false_positive < true_positive < 1, delta outside [0, 1), no noise is enough, or
        none was proved to be within the time limit.
    """
    goal = _Goal(
        f"a true positive rate of {true_positive:g} at a false positive rate of {false_positive:g}",
        lambda at: least_noise_for_risk(at, true_positive, false_positive),
        TruePositiveRate(false_positive),
        true_positive,
    )
    return _calibrate_to_goal(releases, goal, delta, time_limit)


@dataclass(frozen=True)
class _Goal:
    words: str
    search: Callable[[Compositions], float]
    """Function that returns the least factor with which some compositions meet the goal."""
    number: LossNumber
    limit: float
    """The largest value of the number that meets the goal."""


def _calibrate_to_goal(releases: Releases, goal: _Goal, delta: float, time_limit: float) -> Calibration:
    if not 0 <= delta < 1:
        raise ParameterError(f"delta = {delta!r}: must lie in [0, 1)")
    try:
        with deadline(time_limit):
            limit = time_limit_text()
            factor = _least_factor(releases, goal)
            complete = not time_is_over()
            reached = find_worst_group(releases, AuditQuestion(delta=delta), factor).answer.upper
    except OutOfReach as error:
        fixed = [repr(kind.name) for kind in releases.kinds if not kind.parameters]
        why = (
            f": release {', '.join(fixed[:3])} has no noise that a factor changes ({', '.join(POWER)})"
            if fixed
            else f": {error}"
        )
        raise ParameterError(f"no amount of noise was found that gives {goal.words}{why}") from None
    except OutOfTime:
        raise ParameterError(f"no noise was proved to give {goal.words} within {limit}") from None
    parameters = {kind.name: scale_noise(kind.parameters, factor) for kind in releases.kinds}
    return Calibration(
        factor, parameters, reached, delta, releases.neighbouring, complete, releases.group_size
    )


def _least_factor(releases: Releases, goal: _Goal) -> float:
    """Return the least factor: search with few groups, until all others meet the goal at the factor that these need.

    The factor is then the least for all: it is enough for every group, and less is not enough for the few.
    """
    left = releases.groups
    worst = left[int(np.argmax(at_most(releases, goal.number)))]
    few: list[Group] = []

    def compositions(factor: float) -> list[ProfileCounts]:
        try:
            return [releases.profile_counts(group, factor) for group in few]
        except ParameterError as error:
            raise OutOfReach(f"{factor:g} times the noise would be {error}") from None

    while True:
        few.append(worst)
        left = tuple(group for group in left if not is_within(group, worst))
        factor = goal.search(compositions)
        if not left:
            return factor
        most = find_worst_group(replace(releases, groups=left), goal.number, factor)
        if most.answer.upper <= goal.limit:
            return factor
        worst = most.group
        if time_is_over():
            raise OutOfTime("the groups that need most noise were not found within the time limit")
