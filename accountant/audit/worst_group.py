"""Search for the worst-case group of records, without composing the releases of every group.

A platform has a group for nearly every record. An upper bound on each group's loss follows from numbers that add up
(Rényi divergences, largest losses, squares of μ of Gaussian DP): one product of matrices for all groups. Exact
compositions are computed in the order of that bound, until no remaining group can lose more than one was shown to; and
after the first one, a contour of all remaining groups proves this of many of them (`largest_deltas`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import erf, ndtr, ndtri

from accountant.audit.releases import Group, Releases, is_within
from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.conversions import deltas_of_renyi, gaussian_dp_of
from mechanisms.composition.enclosure import Bound, Enclosure, lower_end
from mechanisms.composition.many_compositions import largest_deltas
from mechanisms.composition.risk import attack_accuracy, checked_rate, true_positive_rate
from mechanisms.composition.theorems import RENYI_ORDERS
from mechanisms.numerics.deadline import time_is_over
from mechanisms.profiles.privacy_profile import PrivacyProfile

_AT_ONCE = 4_096  # groups
_NARROW = 1e-6
_MOST_TRIED = 8  # groups composed only for the lower end
_UP = 1.0 + 1e-12  # the most that the sums of a product of matrices round off


@dataclass(frozen=True)
class CompositionSums:
    """Sums over the releases of several groups, rounded up; infinite where a release has no such number.

    Attributes
    ----------
    divergences
        Rényi divergences at `RENYI_ORDERS`, shape (groups, orders).
    largest_losses
        Shape (groups,).
    squared_mus
        Squares of μ of Gaussian DP, shape (groups,).
    """

    divergences: FloatArray
    largest_losses: FloatArray
    squared_mus: FloatArray


class LossNumber(Protocol):
    """A number of a composition that grows with its privacy loss: an epsilon, a delta, the success of an attack."""

    def evaluate(self, loss: ComposedLoss) -> Enclosure | Bound:
        """Return the number of a composition."""

    def by_every_theorem(self, loss: ComposedLoss, answer: Enclosure | Bound) -> Enclosure | Bound:
        """Tighten the known number of a composition by the bounds of all theorems; by default there are none."""
        return answer

    def at_most(self, sums: CompositionSums) -> FloatArray:
        """Return upper bounds on the numbers of some groups."""

    def point(self, most: float) -> tuple[float, float] | None:
        """Return (ε, δ) so that a composition with at most this δ(ε) has at most that number; None if there is none."""


@dataclass(frozen=True)
class WorstGroup:
    """The largest number over groups of records, the group that has it, and the privacy loss of that group."""

    answer: Enclosure | Bound
    group: Group
    loss: ComposedLoss


@dataclass(frozen=True)
class TruePositiveRate(LossNumber):
    """The largest true positive rate of any attack at a false positive rate."""

    false_positive_rate: float

    def __post_init__(self) -> None:
        checked_rate(self.false_positive_rate)

    def evaluate(self, loss: ComposedLoss) -> Enclosure | Bound:
        """Return the `true_positive_rate` of a composition at this false positive rate."""
        return true_positive_rate(loss, self.false_positive_rate)

    def at_most(self, sums: CompositionSums) -> FloatArray:
        """The least of two bounds.

        P(E) <= (Q(E) exp(D_α(P‖Q)))^((α-1)/α): processing raises no divergence (van Erven, Harremoës 2014, Thm 9).
        P(E) <= Φ(Φ⁻¹(Q(E)) + μ): Gaussian DP (Dong, Roth, Su 2022, Def. 2.6 and Cor. 3.3).
        """
        k = self.false_positive_rate
        logs = (RENYI_ORDERS - 1.0) / RENYI_ORDERS * (math.log(k) + sums.divergences)
        renyi = np.exp(np.minimum(0.0, logs.min(axis=1)))
        least: FloatArray = np.minimum(renyi, ndtr(ndtri(k) + np.sqrt(sums.squared_mus)))
        return np.minimum(1.0, least * _UP)

    def point(self, most: float) -> None:
        """None: where on the curve it is decided depends on the composition."""


@dataclass(frozen=True)
class AttackAccuracy(LossNumber):
    """The largest share of right answers of any attack if the record takes part in half of all cases."""

    def evaluate(self, loss: ComposedLoss) -> Enclosure | Bound:
        """Return the `attack_accuracy` of a composition."""
        return attack_accuracy(loss)

    def at_most(self, sums: CompositionSums) -> FloatArray:
        """Half of 1 + the total variation."""
        return (0.5 + 0.5 * advantages(sums)) * _UP

    def point(self, most: float) -> tuple[float, float]:
        """Return (0, δ): the total variation is δ(0)."""
        return 0.0, (2.0 * most - 1.0) * (1.0 - 1e-12)


def advantages(sums: CompositionSums) -> FloatArray:
    """Return upper bounds on the total variation: by Rényi divergences, and Φ(μ/2) - Φ(-μ/2)."""
    renyi = deltas_of_renyi(RENYI_ORDERS, sums.divergences, 0.0)
    gaussian = erf(np.sqrt(sums.squared_mus / 8.0)) * _UP
    return np.minimum(renyi, gaussian)


def find_worst_group(
    releases: Releases, number: LossNumber, factor: float = 1.0, *, every_theorem: bool = False
) -> WorstGroup:
    """Return the largest number over all groups, all noise multiplied by ``factor``, and the group that has it.

    The answer is proved for the largest number. When the time of `mechanisms.numerics.deadline` is over, groups that
    were not composed count with their upper bounds.
    """
    groups = releases.groups
    most = at_most(releases, number, factor) if len(groups) > 1 else np.array([math.inf])
    composed: list[WorstGroup] = []
    left = np.argsort(-most, kind="stable").tolist()
    while left:
        position = left.pop(0)
        group = groups[position]
        if any(is_within(group, other.group) for other in composed):
            continue
        if composed and time_is_over():
            worst = _find_largest(composed)
            bound = float(np.max(most[[position, *left]]))
            if bound > worst.answer.upper:
                answer = replace(worst.answer, upper=bound, by="Renyi DP of every group left")
                worst = replace(worst, answer=answer)
            return worst
        loss = compose(releases.profile_counts(group, factor))
        answer = number.evaluate(loss)
        if composed and answer.upper <= _find_largest(composed).answer.upper:
            composed.append(WorstGroup(answer, group, loss))
            continue
        if every_theorem:
            answer = number.by_every_theorem(loss, answer)
        composed.append(WorstGroup(answer, group, loss))
        # The worst group gets a lower end as tight as its upper one, if it has any.
        shown = answer.lower if isinstance(answer, Enclosure) and _is_narrow(answer) else answer.upper
        left = [other for other in left if most[other] > shown]
        left = _undecided_groups(releases, number, factor, position, answer.upper, left)
    worst = _find_largest(composed)
    if every_theorem and len(groups) > 1 and not _is_narrow(worst.answer):
        worst = replace(worst, answer=_raise_lower_end(releases, number, factor, worst.answer, composed))
    return worst


def _is_narrow(answer: Enclosure | Bound) -> bool:
    return isinstance(answer, Enclosure) and answer.width <= _NARROW


def _raise_lower_end(
    releases: Releases,
    number: LossNumber,
    factor: float,
    answer: Enclosure | Bound,
    composed: Sequence[WorstGroup],
) -> Enclosure | Bound:
    """Return the answer with the largest lower end that is found for any group.

    The group with the largest upper bound may have no lower end, if it has mere bounds, while another group's data
    attain a loss. A lower end comes from attained releases, so the groups that lose most in these are composed.
    """
    low = max((one.answer for one in composed), key=lambda found: lower_end(found) or 0.0)
    done = {id(one.group) for one in composed}
    most = at_most(releases, number, factor, attained=True)
    others = [i for i in np.argsort(-most, kind="stable").tolist() if id(releases.groups[i]) not in done]
    for position in others[:_MOST_TRIED]:
        if most[position] <= (lower_end(low) or 0.0) or time_is_over():
            break
        found = number.evaluate(compose(releases.profile_counts(releases.groups[position], factor)))
        low = max(low, found, key=lambda one: lower_end(one) or 0.0)
    if (lower_end(low) or 0.0) <= (lower_end(answer) or 0.0):
        return answer
    assert isinstance(low, Enclosure)
    return Enclosure(low.lower, answer.upper, low.attained_by, answer.by, answer.neighbouring)


def _undecided_groups(
    releases: Releases, number: LossNumber, factor: float, worst: int, most: float, left: list[int]
) -> list[int]:
    """Return the positions of groups for which one contour does not prove that their number is at most this one.

    The group with the largest bound comes first.
    """
    point = number.point(most)
    if point is None or not left or not 0.0 < point[1] < 1.0:
        return left
    counts = _counts([releases.groups[i] for i in [worst, *left]], len(releases.kinds))
    used = np.flatnonzero(counts.any(axis=0))
    profiles = [releases.kinds[i].build(factor) for i in used.tolist()]
    deltas = largest_deltas(profiles, counts[:, used], *point)[1:]
    order = np.argsort(-deltas, kind="stable")
    return [left[i] for i in order.tolist() if deltas[i] > point[1]]


def _find_largest(composed: Sequence[WorstGroup]) -> WorstGroup:
    return max(composed, key=lambda one: one.answer.upper)


def at_most(
    releases: Releases, number: LossNumber, factor: float = 1.0, *, attained: bool = False
) -> FloatArray:
    """Return an upper bound on the number of each group, shape (groups,); infinite or 1 where it is unknown.

    With ``attained``, only releases count whose profile is attained by a known pair of data sets.
    """
    profiles = [kind.build(factor) for kind in releases.kinds]
    columns = np.array([_summands(profile) for profile in profiles])
    if attained:
        columns[[not profile.attained() for profile in profiles]] = 0.0
    unknown = np.isinf(columns)
    known = np.where(unknown, 0.0, columns)
    bounds: list[FloatArray] = []
    for start in range(0, len(releases.groups), _AT_ONCE):
        counts = _counts(releases.groups[start : start + _AT_ONCE], len(columns))
        with np.errstate(over="ignore"):
            total = counts @ known * _UP
        total[(counts > 0).astype(np.float64) @ unknown > 0] = math.inf
        bounds.append(number.at_most(CompositionSums(total[:, 2:], total[:, 0], total[:, 1])))
    return np.concatenate(bounds)


def _counts(groups: Sequence[Group], kinds: int) -> FloatArray:
    """Return how often each group takes part in each kind of release, shape (groups, kinds)."""
    counts = np.zeros((len(groups), kinds))
    for row, group in enumerate(groups):
        counts[row, list(group.counts)] = list(group.counts.values())
    return counts


def _summands(profile: PrivacyProfile) -> FloatArray:
    """Return the largest loss, the square of μ and the divergences of one release."""
    largest = math.inf if profile.pure_epsilon is None else float(profile.pure_epsilon)
    mu = gaussian_dp_of(profile)
    return np.array([largest, math.inf if mu is None else mu * mu, *profile.renyi(RENYI_ORDERS)])
