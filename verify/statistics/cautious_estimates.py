"""Estimates of two probabilities, chosen among many for their ratio, moved towards the harmless side."""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray
from verify.statistics.predicted_bound import coupled_variance

MOST_SPLIT = 2.0
"""Times the pairs that independent draws would split: what the same random numbers can do at worst."""


def moved_apart(
    p: FloatArray,
    q: FloatArray,
    trials: tuple[FloatArray, FloatArray],
    split: FloatArray,
    alternatives: FloatArray,
    delta: float,
    caution: float,
) -> tuple[FloatArray, FloatArray]:
    """Estimates of p and q of each event, moved by what luck gives to the best of them.

    The best of many noisy estimates is too good on average (the winner's curse): among K unrelated ones by
    about sqrt(2 ln K) standard errors. So ln((p - δ)/q) is moved by as many; p and q share the move in
    proportion to their variances, as they do in the final bound. The moves are Wilson's score bounds, which
    stay sound at counts of zero.

    Where both worlds were drawn with the same random numbers, the standard error of the ratio is that of the pairs that
    the event splits: at δ = 0 the variance of ln(p/q) is s/(p q n), s their share. (Independent draws have
    s = p + q - 2 p q on average, which gives the sum of both variances; for δ > 0 see `coupled_variance`.)

    Parameters
    ----------
    p, q
        Shares of the draws that lie in each event, in the likelier world and in the other; shape (events,).
    trials
        Draws of either world, for each event.
    split
        Share of the pairs of draws that each event splits; NaN where it was not counted.
    alternatives
        K for each event.
    delta
        δ of the claim.
    caution
        Standard errors, relative to those expected of luck.
    """
    n, m = trials
    p_one, q_one = (p * n + 1.0) / (n + 2.0), (q * m + 1.0) / (m + 2.0)
    excess = np.maximum(p_one - delta, 1e-3 * p_one)
    p_error = np.sqrt(p_one * (1.0 - p_one) / n) / excess
    q_error = np.sqrt((1.0 - q_one) / (m * q_one))
    both = np.hypot(p_error, q_error)
    share = np.where(np.isnan(split), 1.0, coupled_variance(p_one, q_one, excess, split))
    coupled = np.sqrt(np.minimum(share, MOST_SPLIT))
    move = caution * np.sqrt(2.0 * np.log1p(alternatives)) * coupled
    return wilson_bound(p, n, -move * p_error / both), wilson_bound(q, m, move * q_error / both)


def wilson_bound(p: FloatArray, n: int | FloatArray, z: FloatArray) -> FloatArray:
    """Wilson's score bound |z| standard errors above (z > 0) or below (z < 0) the estimate p."""
    square = z * z / n
    centre = p + 0.5 * square
    half = np.sign(z) * np.sqrt(square * (p * (1.0 - p) + 0.25 * square))
    return np.asarray(np.clip((centre + half) / (1.0 + square), 0.0, 1.0))
