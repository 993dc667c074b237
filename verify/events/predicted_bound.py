"""The predicted bound of a test of an event, quickly and for thousands of events at once.

Estimates of probabilities come from the draws that an event was chosen on, and are moved towards the harmless side
before a bound is predicted from them: `wilson_shifted_pair` for all events of a search, `promised_epsilon` for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray

_MOST_SPLIT = 2.0
"""Largest variance with the same random numbers in both worlds, in units of that with independent draws."""

_SHARES = np.array([0.5, 0.02, 0.15, 0.85])
"""Shares of the error that the bound on p gets; that on q gets the rest."""


@dataclass(frozen=True, slots=True)
class ComingTest:
    """The test that events and pairs are sought for.

    Attributes
    ----------
    delta, error
        Its delta, and its error.
    draws
        Its draws a side.
    """

    delta: float
    error: float
    draws: float

    def predicted(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """`predicted_epsilon` of this test."""
        return predicted_epsilon(p, q, self.draws, self.delta, self.error)

    def rough_ratio(self, p: FloatArray, q: FloatArray, share: float) -> FloatArray:
        """Roughly (p - δ)/q as the test will show it, p and q bearing this share of the score each."""
        z = -share * float(special.ndtri(self.error))
        low, up = (wilson_bound(x, self.draws, np.full(p.shape, side)) for x, side in ((p, -z), (q, z)))
        return np.asarray(np.maximum(low - self.delta, 0.0) / up)


def predicted_epsilon(p: npt.ArrayLike, q: npt.ArrayLike, n: float, delta: float, error: float) -> FloatArray:
    """The lower bound on ε to expect from `n` fresh draws a side that show the estimates p and q again.

    It is the larger of the bounds of the two inversions: the union of two one-sided bounds, at the best of a few
    splits of the error, and the joint region (`verify.sampling.stouffer`), where neither count is nearly known. It
    serves to *choose* among thousands of events and decides nothing, so that the bounds are approximate ones
    (Paulson, Camp and Pratt: three correct digits or more).

    Parameters
    ----------
    p, q
        Estimated probabilities of the events under D and D′; arrays of one shape.
    n
        Draws a side of the coming test.
    delta, error
        As in `epsilon_lower`.
    """
    first, second = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    k, other = np.minimum(first * n, n), np.minimum(second * n, n)
    # The edge of the joint region touches the line of the best ε at the scores (w₁ z, w₂ z), w the weights.
    with np.errstate(divide="ignore", invalid="ignore"):
        p_error = np.sqrt(first * (1.0 - first)) / np.maximum(first - delta, 1e-300)
        q_error = np.sqrt((1.0 - second) / second)
        weight = p_error / np.hypot(p_error, q_error)
    usable = (weight >= 0.05) & (weight <= 0.98) & (k >= 1.0)
    weight = np.where(usable, weight, 0.5)
    z = -float(special.ndtri(error))
    # All splits of the error at once, the joint region last: where it is of no use, the first split again.
    splits = special.ndtri(error * np.stack([_SHARES, 1.0 - _SHARES]))
    scores = np.empty((2, _SHARES.size + 1, *k.shape))
    scores[:, :-1] = -splits.reshape((2, _SHARES.size) + (1,) * k.ndim)
    scores[:, -1] = weight * z, np.sqrt(1.0 - weight * weight) * z
    scores[:, -1] = np.where(usable, scores[:, -1], scores[:, 0])
    p_low, q_up = approximate_lower(k, n, scores[0]), approximate_upper(other, n, scores[1])
    ratio = np.where(p_low > delta, (p_low - delta) / q_up, 1.0)
    return np.asarray(np.where(p_low > delta, np.log(ratio), -np.inf).max(axis=0))


def promised_epsilon(
    hits: int,
    other: int,
    counted: int,
    test: ComingTest,
    caution: float,
    split: int | None = None,
    *,
    few_known: bool = False,
) -> float:
    """The lower bound on ε to expect from fresh draws of an event that was fixed before it was counted.

    Parameters
    ----------
    hits, other
        Numbers of the `counted` draws of either world in the event; one hit is added to the other.
    test
        The coming test.
    caution
        Standard errors by which ln((p - δ)/q) is taken to be below its estimate.
    split
        The number of the `counted` pairs of draws, one of either world, with exactly one in the event; one is added.
        If given, the standard error is theirs (`_coupled_variance`). If not, the draws are taken to be independent.
    few_known
        True if q is moved no farther than to Clopper and Pearson's bound at as many standard errors: on the scale of
        logarithms a count of few draws is moved too far. False for comparing the best of very many events.
    """
    p, q = hits / (counted + 1.0), min((other + 1.0) / (counted + 1.0), 1.0)
    excess = p - test.delta
    if excess <= 0.0:
        return -np.inf
    # Near δ, the relative error of p - δ is far larger than that of p: a large estimate may be luck.
    p_error, q_error = p * (1.0 - p) / (counted * excess * excess), (1.0 - q) / (counted * q)
    move = caution / np.sqrt(p_error + q_error + 1e-300)
    if split is not None:
        share = _coupled_variance(p, q, excess, (split + 1.0) / (counted + 1.0))
        move *= np.sqrt(np.minimum(share, _MOST_SPLIT))
    p_moved, q_moved = test.delta + excess * np.exp(-move * p_error), min(q * np.exp(move * q_error), 1.0)
    score = move * np.sqrt(q_error)
    if few_known and score > 0.0:  # a count of 0 is not e² at two errors: its logarithm is skew
        q_moved = min(q_moved, max(q, float(approximate_upper(other, counted, score))))
    return float(predicted_epsilon(p_moved, q_moved, test.draws, test.delta, test.error))


def wilson_shifted_pair(
    p: FloatArray,
    q: FloatArray,
    trials: tuple[FloatArray, FloatArray],
    split: FloatArray,
    alternatives: FloatArray,
    delta: float,
    caution: float,
) -> tuple[FloatArray, FloatArray]:
    """Return estimates of p and q of each event, corrected for the selection of the best of them.

    The best of many noisy estimates is too good on average (the winner's curse): among K unrelated ones by
    about sqrt(2 ln K) standard errors. So ln((p - δ)/q) is moved by as many; p and q share the move in
    proportion to their variances, as they do in the final bound. The moves are Wilson's score bounds, which
    stay sound at counts of zero.

    Where both worlds were drawn with the same random numbers, the standard error of the ratio is that of the pairs that
    the event splits: at δ = 0 the variance of ln(p/q) is s/(p q n), s their share. (Independent draws have
    s = p + q - 2 p q on average, which gives the sum of both variances; for δ > 0 see `_coupled_variance`.)

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
    share = np.where(np.isnan(split), 1.0, _coupled_variance(p_one, q_one, excess, split))
    coupled = np.sqrt(np.minimum(share, _MOST_SPLIT))
    move = caution * np.sqrt(2.0 * np.log1p(alternatives)) * coupled
    return wilson_bound(p, n, -move * p_error / both), wilson_bound(q, m, move * q_error / both)


def _coupled_variance(
    p: npt.ArrayLike, q: npt.ArrayLike, excess: npt.ArrayLike, split: npt.ArrayLike
) -> FloatArray:
    """The variance of ln((p - δ)/q) from pairs of draws, one of either world, relative to that of independent draws.

    With n pairs, e = p - δ and s the share of pairs that have exactly one draw in the event, both draws of a pair are
    in it with probability (p + q - s)/2, so that their covariance is c = (p + q - s)/2 - p q, and the variance is

        [p (1 - p)/e² + (1 - q)/q - 2 c/(e q)] / n,

    which is s/(p q n) at δ = 0. At least a thousandth of independent draws: the
    three estimates need not fit together.

    Parameters
    ----------
    p, q
        The event's probabilities in the two worlds.
    excess
        p - δ, above 0.
    split
        s.
    """
    first, second, above = (np.asarray(x, dtype=np.float64) for x in (p, q, excess))
    both = (first + second - np.asarray(split, dtype=np.float64)) / 2.0
    apart = first * (1.0 - first) / np.square(above) + (1.0 - second) / second + 1e-300
    return np.asarray(
        np.maximum(1.0 - 2.0 * (both - first * second) / (above * second) / apart, 1e-3), dtype=np.float64
    )


def approximate_upper(successes: npt.ArrayLike, trials: float, score: npt.ArrayLike) -> FloatArray:
    """Clopper and Pearson's upper bound at error Φ(-score), approximately; counts need not be whole.

    Paulson, Camp and Pratt's cube-root approximation (Pratt, JASA 63, 1968): off by less than 3 % of a
    standard error at scores up to 2, and by less than 5 % of the bound at counts near 0 and scores up to 4.
    """
    k, z = np.asarray(successes, dtype=np.float64), np.asarray(score, dtype=np.float64)
    r, m, z2 = k + 1.0, np.where(k < trials, trials - k, 1.0), np.square(z)
    spread = np.sqrt(np.maximum(9.0 * r * m * (9.0 * trials + 5.0 - z2) + trials + 1.0, 0.0))
    above = 81.0 * r * m - 9.0 * trials - 8.0 - 3.0 * z * spread
    below = 81.0 * r * r - 9.0 * r * (2.0 + z2) + 1.0  # changes its sign together with `above`
    below = np.where(below == 0.0, 1e-9, below)
    odds_against = np.square(r / m) * np.maximum(above / below, 1e-12) ** 3
    return np.asarray(np.where(k < trials, 1.0 / (1.0 + odds_against), 1.0), dtype=np.float64)


def approximate_lower(successes: npt.ArrayLike, trials: float, score: npt.ArrayLike) -> FloatArray:
    """Clopper and Pearson's lower bound at error Φ(-score), approximately: one minus failures' upper bound."""
    return 1.0 - approximate_upper(trials - np.asarray(successes, dtype=np.float64), trials, score)


def wilson_bound(p: FloatArray, n: float | FloatArray, z: FloatArray) -> FloatArray:
    """Wilson's score bound |z| standard errors above (z > 0) or below (z < 0) the estimate p."""
    square = z * z / n
    centre = p + 0.5 * square
    half = np.sign(z) * np.sqrt(square * (p * (1.0 - p) + 0.25 * square))
    return np.asarray(np.clip((centre + half) / (1.0 + square), 0.0, 1.0))
