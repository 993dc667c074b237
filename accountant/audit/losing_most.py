"""The group of records that loses most, without composing the releases of every group.

A platform has a group for nearly every record. What a group can lose at most is known at once from Rényi divergences,
which add up: one product of matrices for all groups. Exact compositions are asked for in the order of that bound, until
no group that is left can lose more than one was shown to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from accountant.audit.releases import Group, Releases, is_within
from accountant.filters.conversions import deltas_of_renyi, epsilons_of_renyi
from accountant.filters.theorems import RENYI_ORDERS
from accountant.losses.certified_interval import CertifiedInterval
from accountant.losses.deadline import time_is_over
from mechanisms import PrivacyProfile
from mechanisms.arrays import FloatArray

if TYPE_CHECKING:
    from accountant.audit.audit_of_releases import Question

_AT_ONCE = 4_096  # groups
_UP = 1.0 + 1e-12  # what the sums of a product of matrices may round off


def losing_most(releases: Releases, question: Question) -> tuple[CertifiedInterval, Group]:
    """Return the answer for the group that loses most, and the group.

    Both ends are proved of the largest answer over all groups. When the time of `accountant.losses.deadline` is over,
    groups that were not composed count with what they can lose at most.
    """
    groups = releases.groups
    most = at_most(releases, question) if len(groups) > 1 else np.array([math.inf])
    composed: list[tuple[CertifiedInterval, Group]] = []
    lower = 0.0
    for number in np.argsort(-most, kind="stable").tolist():
        group = groups[number]
        if composed and most[number] <= lower:
            break
        if any(is_within(group, other) for _, other in composed):
            continue
        if composed and time_is_over():
            answer, worst = _largest(composed)
            if most[number] > answer.upper:
                answer = replace(answer, upper=float(most[number]), upper_by="Renyi DP of every group left")
            return answer, worst
        answer = question.answer(releases.counted(group))
        composed.append((answer, group))
        lower = max(lower, answer.lower)
    return _largest(composed)


def _largest(composed: Sequence[tuple[CertifiedInterval, Group]]) -> tuple[CertifiedInterval, Group]:
    return max(composed, key=lambda pair: (pair[0].upper, pair[0].lower))


def at_most(releases: Releases, question: Question) -> FloatArray:
    """Return an upper bound on the answer for each group, shape (groups,); infinite (or a delta of 1) where unknown."""
    profiles = [kind.build(1.0) for kind in releases.kinds]
    if question.asked == "epsilon" and question.given == 0.0:
        curves = np.array([[_largest_loss(profile)] for profile in profiles])
    else:
        curves = np.array([_renyi(profile) for profile in profiles])
    unknown = np.isinf(curves)
    known = np.where(unknown, 0.0, curves)
    bounds: list[FloatArray] = []
    for start in range(0, len(releases.groups), _AT_ONCE):
        some = releases.groups[start : start + _AT_ONCE]
        counts = np.zeros((len(some), len(profiles)))
        for row, group in enumerate(some):
            counts[row, list(group.counts)] = list(group.counts.values())
        total = counts @ known * _UP
        total[(counts > 0).astype(np.float64) @ unknown > 0] = math.inf
        bounds.append(_answers(total, question))
    return np.concatenate(bounds)


def _answers(divergences: FloatArray, question: Question) -> FloatArray:
    """Return the answers that curves of shape (groups, orders) imply."""
    if question.asked == "delta":
        return deltas_of_renyi(RENYI_ORDERS, divergences, question.given)
    if question.given == 0.0:
        return divergences[:, 0]
    return epsilons_of_renyi(RENYI_ORDERS, divergences, question.given)


def _largest_loss(profile: PrivacyProfile) -> float:
    return math.inf if profile.pure_epsilon is None else float(profile.pure_epsilon) * _UP


def _renyi(profile: PrivacyProfile) -> FloatArray:
    """Return a profile's Rényi divergences; infinite if a loss is infinite with some probability."""
    losses = [side.loss() for side in profile.directions()]
    if any(loss is not None and loss.infinite_mass > 0.0 for loss in losses):
        return np.full(RENYI_ORDERS.shape, math.inf)
    return profile.renyi(RENYI_ORDERS)
