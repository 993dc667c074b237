"""Kullback-Leibler divergence of Bernoulli laws, its private form, and its bounds on a success probability."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import rel_entr, xlogy

from mechanisms.arrays import FloatArray


def _coin_divergence(mean: FloatArray, chance: FloatArray) -> FloatArray:
    """Return ``kl(p, u) = p ln(p / u) + (1 - p) ln((1 - p) / (1 - u))`` of chances p and u in [0, 1]."""
    result: FloatArray = rel_entr(mean, chance) + rel_entr(1.0 - mean, 1.0 - chance)
    return result


def private_divergence(mean: FloatArray, chance: FloatArray, epsilon: float) -> FloatArray:
    """Return ``d_epsilon(p, u) = inf_z epsilon |z - p| + kl(z, u)`` for u > p, and 0 elsewhere.

    No epsilon-private learner of Bernoulli rewards plays an arm of mean p less than ``ln(T) / d_epsilon(p, u)`` times
    in the limit, with u the largest mean (Azize, Wu, Honda, Orabona, Ito & Basu 2025, Theorem 1).

    In z the slope is ``epsilon + ln(z (1 - u) / (u (1 - z)))``: the least is at p, or where the odds of z are
    ``e^-epsilon`` times those of u.

    Parameters
    ----------
    mean, chance
        p and u in [0, 1].
    epsilon
        Above 0.
    """
    turned = chance * (1.0 - mean) * math.exp(-epsilon) >= mean * (1.0 - chance)
    with np.errstate(divide="ignore"):
        beyond = -epsilon * mean - np.logaddexp(np.log1p(-chance), np.log(chance) - epsilon)
    divergence = np.where(turned, beyond, _coin_divergence(mean, chance))
    return np.where(chance > mean, np.maximum(divergence, 0.0), 0.0)


def divergence_upper(mean: FloatArray, rate: FloatArray, *, steps: int) -> FloatArray:
    """Return at least the largest u with ``kl(p, u) <= rate``, in [p, 1].

    Newton steps: kl is convex in u, so each one stays above it. The start is the least of four bounds on ``kl(p, u)``
    solved for u: ``2 (u - p)^2``, ``(u - p)^2 / (2 u)``, ``(u - p)^2 / (2 (1 - p))``, and ``-(1 - p) ln(1 - u)`` less
    the entropy of p.

    Parameters
    ----------
    mean, rate
        p in [0, 1] and the rate >= 0, of the same shape.
    steps
        The steps of Newton's method: after 3 it is within 1e-4 of the width in random cases.
    """
    own = xlogy(mean, mean) + xlogy(1.0 - mean, 1.0 - mean)
    zeros = 1.0 - mean
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        upper = np.minimum(
            mean + np.sqrt(rate * np.minimum(0.5, 2.0 * zeros)), -np.expm1((own - rate) / zeros)
        )
        upper = np.minimum(upper, mean + rate + np.sqrt(rate * (rate + 2.0 * mean)))
        upper = np.where(zeros > 0, upper, 1.0)
        for _ in range(steps):
            over = own - xlogy(mean, upper) - xlogy(zeros, 1.0 - upper) - rate
            step = over * upper * (1.0 - upper) / np.maximum(upper - mean, 1e-300)
            lower = (over > 0) & (upper < 1)  # at 1, where kl may be infinite, it stays
            upper = upper - np.where(lower, step, 0.0)
    return np.maximum(upper, mean)  # at a rate of 0 rounding leads below
