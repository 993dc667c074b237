"""Upper bounds on δ(ε) of many compositions of the same kinds of releases at once, from one contour.

Theorem 2 of `mechanisms.composition.contour` bounds δ from above by a sum over the nodes of any line Re z = s; aliases
only add to it. A composition's transform there is the product of those of its kinds, so that of all compositions is one
product of matrices, and so are the bounds on its rounding and on what lies beyond the last node.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.composition.contour import TiltedLoss, log_weights, plan_contour, rounding_of_terms
from mechanisms.composition.saddle import saddle_for_epsilon
from mechanisms.domains.neighbouring import common_neighbouring
from mechanisms.losses.privacy_loss import ROUNDING, UNDERFLOW, PrivacyLoss, add_losses
from mechanisms.numerics.deadline import OutOfTime
from mechanisms.profiles.privacy_profile import PrivacyProfile

_TOLERANCE = 1e-4
"""Relative errors of δ of the composition that the contour is planned for."""
_MOST_WORK = 4e6
_AT_ONCE = 2**19
"""Nodes of compositions, at a time."""


def largest_deltas(
    profiles: Sequence[PrivacyProfile], counts: FloatArray, epsilon: float, delta: float
) -> FloatArray:
    """Return upper bounds on δ(ε) of many compositions; 1 where this contour proves no bound.

    They are tight for compositions similar to the first, whose δ(ε) should be about ``delta``.

    Parameters
    ----------
    profiles
        The kinds of releases.
    counts : array, shape (compositions, kinds)
        The count of each kind in each composition.

    Raises
    ------
    MixedNeighbours
        If two profiles hold for different neighbouring relations.
    """
    common_neighbouring(profiles)
    sides = [profile.directions() for profile in profiles]
    bounds = np.zeros(len(counts))
    for i in range(max(map(len, sides))):
        losses = [own[min(i, len(own) - 1)].loss() for own in sides]
        try:
            bounds = np.maximum(bounds, _of_a_direction(losses, counts, epsilon, delta))
        except OutOfTime:
            return np.ones(len(counts))
    return np.asarray(np.minimum(1.0, bounds))


def _of_a_direction(
    losses: Sequence[PrivacyLoss | None], counts: FloatArray, epsilon: float, delta: float
) -> FloatArray:
    known = np.array([loss is not None and loss.infinite_mass == 0.0 for loss in losses])
    within = (counts[:, ~known] == 0.0).all(axis=1)
    out = np.ones(len(counts))
    first = [(loss, int(n)) for loss, n in zip(losses, counts[0], strict=True) if loss is not None and n]
    if not within[0] or not first:
        return out
    kinds = [loss for loss in losses if loss is not None and loss.infinite_mass == 0.0]
    total = add_losses([loss for loss, _ in first], [n for _, n in first])
    saddle = replace(saddle_for_epsilon(total, epsilon), log_delta=math.log(delta))
    plan = plan_contour(TiltedLoss(total, saddle.s), saddle, _TOLERANCE, _MOST_WORK)
    if plan is None:
        return out
    s, t = plan.s, plan.step * np.arange(plan.nodes + 1.0)
    z = s + 1j * t
    lines, errors = (
        np.array(part) for part in zip(*(loss.log_mgf_line(s, t) for loss in kinds), strict=True)
    )
    ends = np.array(
        [
            float(loss.log_envelope(s, np.array([plan.height]))[0]) - 0.5 * loss.precision * plan.height**2
            for loss in kinds
        ]
    )
    log_scale = log_weights(plan) - np.log(z * (z + 1.0)) - epsilon * z
    beyond = math.log(math.atan2(s, plan.height) / s / math.pi) - s * epsilon
    own, sizes = counts[:, known], np.abs(lines)
    places, rows = np.flatnonzero(within), max(1, _AT_ONCE // t.size)
    for start in range(0, places.size, rows):
        some = places[start : start + rows]
        n = own[some]
        log_m = n @ lines.real + 1j * (n @ lines.imag)
        size = n @ sizes
        error = n @ errors + rounding_of_terms(plan, size)
        error += ROUNDING * ((len(kinds) + 2.0) * size + 4.0 * epsilon * np.abs(z))
        w = np.exp(log_m + log_scale)
        tails = n @ ends + beyond
        tails += 1e-12 * (1.0 + n @ np.abs(ends) + abs(s * epsilon))
        slack = np.sum(np.abs(w) * np.expm1(np.minimum(error, 700.0)), axis=1) + np.exp(
            np.minimum(tails, 700.0)
        )
        out[some] = np.sum(w.real, axis=1) + (slack * (1.0 + 1e-9) + UNDERFLOW)
    return np.where(np.isfinite(out), out, 1.0)
