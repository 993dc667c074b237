"""Lower bounds from exact samples of the privacy-loss random variable."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from verify.sampling.binomial_bounds import clopper_pearson_lower

ROUNDING = 1e-9
"""Taken off every observed loss: sums of log density ratios are good to about 1e-13."""


@dataclass(frozen=True)
class LossBound:
    """A lower bound on epsilon from privacy losses, for the view that the losses are of.

    Attributes
    ----------
    epsilon
        The bound at the delta it was asked for.
    neighbour
        The number of the neighbour that shows it.
    threshold
        The event is "the privacy loss exceeds this".
    probability, trials
        Share of lanes (under D) in the event, and of how many.
    confidence
        1 where a single loss proves the bound (delta = 0), else the confidence of the share.
    """

    epsilon: float
    neighbour: int
    threshold: float
    probability: float
    trials: int
    confidence: float


def loss_lower_bound(losses: FloatArray, delta: float, error: float) -> LossBound:
    """Return a lower bound on epsilon at `delta`.

    For delta = 0 one loss above l proves that l-differential privacy does not hold: the density ratio is
    above e^l at a released value of positive density, and densities here are continuous or discrete.
    For delta > 0 and the event {loss > l} with probability p under D, its probability under D' is at most
    ``e^-l p``, so ``delta(epsilon) >= p (1 - e^(epsilon - l))``, that is ``epsilon >= l + ln(1 - delta / p)``.
    The neighbour and l are chosen on the first half of the lanes, p is bounded (Clopper-Pearson) on the other.

    Parameters
    ----------
    losses
        Shape (neighbours, lanes): ``ln P_D(releases) / P_D'(releases)``, sampled under D; may be inf.
    delta
        In [0, 1).
    error
        The probability with which the bound may fail, for delta > 0.
    """
    if delta == 0:
        worst = int(np.argmax(losses.max(axis=1)))
        shown = max(0.0, float(losses[worst].max()) - ROUNDING)
        share = float((losses[worst] >= shown).mean())
        return LossBound(shown, worst, shown, share, losses.shape[1], 1.0)
    half = losses.shape[1] // 2
    best, neighbour, threshold = -math.inf, 0, math.inf
    # Of lanes with a loss at least this large: the bound that the other half will prove, if this half shows three
    # standard errors too many (the winner's curse: the best of many shares is a lucky one).
    few = clopper_pearson_lower(np.arange(half, 0, -1), half, 0.00135)
    shares = clopper_pearson_lower(few * half, half, error)
    for index, chosen in enumerate(np.sort(losses[:, :half], axis=1)):
        with np.errstate(divide="ignore", invalid="ignore"):
            gains = np.where(shares > delta, chosen + np.log1p(-np.minimum(delta / shares, 1.0)), -math.inf)
        at = int(np.argmax(gains))
        if gains[at] > best:
            best, neighbour, threshold = float(gains[at]), index, float(chosen[at])
    hits = int((losses[neighbour, half:] >= threshold).sum())
    trials = losses.shape[1] - half
    share = float(clopper_pearson_lower(hits, trials, error))
    epsilon = threshold - ROUNDING + math.log1p(-delta / share) if share > delta else 0.0
    return LossBound(max(0.0, epsilon), neighbour, threshold, hits / trials, trials, 1.0 - error)
