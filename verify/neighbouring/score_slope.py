"""The calibration slope of a score: by how much it overstates the log-likelihood ratio."""

from __future__ import annotations

import numpy as np
from scipy import special

from mechanisms.arrays import FloatArray

_STEPS = 8  # of Newton's method; the loss is convex in two numbers, and a few suffice


def slope(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the factor in [0, 1] that makes a score the best log-likelihood ratio among its multiples.

    A score that adds up the log ratios of its readings counts evidence twice that two of them share: a word and its
    letters, a sum and its parts. Logistic regression of the world on the score (Platt, *Probabilistic outputs for
    support vector machines*, 1999) finds by how much it exaggerates. It may not be too modest by much, and is never
    made bolder.

    Parameters
    ----------
    ours, theirs
        The score of draws of the world that it favours, and of the other one, that it was not fitted to.
    """
    score = np.concatenate([ours, theirs])
    spread = float(score.std()) if np.isfinite(score).all() else 0.0
    if not spread > 0.0:
        return 0.0
    x = (score - score.mean()) / spread
    label = np.repeat([1.0, 0.0], [ours.size, theirs.size])
    weight = offset = 0.0
    for _ in range(_STEPS):
        chance = special.expit(weight * x + offset)
        gradient, curvature = label - chance, chance * (1.0 - chance) + 1e-9
        a, b, c = (float(np.sum(curvature * power)) for power in (x * x, x, np.ones_like(x)))
        up, right = float(np.sum(gradient * x)), float(np.sum(gradient))
        determinant = a * c - b * b
        if not determinant > 0.0:
            break
        weight += (c * up - b * right) / determinant
        offset += (a * right - b * up) / determinant
    return min(1.0, max(0.0, weight / spread)) if np.isfinite(weight) else 0.0
