"""The best that a test by sampling can do when it knows the law: the yardstick of every bound of the zoo."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from mechanisms.arrays import FloatArray
from verify.neighbouring.adjacency import Data

Masses = tuple[FloatArray, FloatArray]
"""Probabilities of the same events under two data sets."""


@dataclass(frozen=True, eq=False)
class Oracle:
    """A pair of neighbours and a family of events with their exact probabilities.

    Attributes
    ----------
    data, other
        The pair; the events are likelier under `data`.
    event
        The events in words.
    masses
        Computes the events' probabilities under `data` and under `other`.
    """

    data: Data
    other: Data
    event: str
    masses: Callable[[], Masses]

    def limit(self, samples: int, *, delta: float = 0.0, confidence: float = 0.95) -> float:
        """Return `limit_of_events` of the family."""
        p, q = self.masses()
        return limit_of_events(p, q, samples, delta=delta, confidence=confidence)

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the epsilon that the family's worst event forces: max ln((p - delta) / q)."""
        p, q = self.masses()
        seen = p > delta
        if np.any(seen & (q == 0.0)):
            return math.inf
        return float(np.max(np.log((p[seen] - delta) / q[seen]), initial=0.0))


def limit_of_events(
    p: FloatArray, q: FloatArray, samples: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the lower bound on epsilon expected from the event for which it is largest.

    An event of probabilities p and q is counted in `samples` draws of each world. To first order the bound is
    ln((p - δ)/q) less z standard errors, z the normal quantile of `confidence`:

        ln((p - δ) / q) - z √( p (1 - p) / (n (p - δ)²) + (1 - q) / (n q) ).

    Where no draw of the second world is expected to hit (n q < ln 2), it is what zero hits give: q is below
    ln(2/α) / n at the level α/2, and the bound is ln((p - δ) n / ln(2/α)). Nothing is above ln(n/3).
    """
    useful = (p > delta) & (samples * p > 1.0)  # an event that is not expected to occur says nothing
    if not useful.any():
        return 0.0
    p, q = p[useful], q[useful]
    z, alpha = float(ndtri(confidence)), 1.0 - confidence
    excess = p - delta
    seen = np.maximum(q, 1e-150)
    # Sums of masses may pass 1 by a rounding error.
    spread, other_spread = p * np.maximum(1.0 - p, 0.0), np.maximum(1.0 - q, 0.0)
    variance = (spread / excess) / (samples * excess) + other_spread / (samples * seen)
    bound = np.log(excess / seen) - z * np.sqrt(variance)
    no_hits = np.log(excess * samples / math.log(2.0 / alpha))
    bound = np.where(samples * q < math.log(2.0), np.maximum(bound, no_hits), bound)
    return float(np.clip(np.max(bound), 0.0, math.log(samples / 3.0)))


def by_likelihood_ratio(p: FloatArray, q: FloatArray) -> Masses:
    """Return the masses of the best events of a discrete law: outcomes are added by falling p/q.

    By Neyman and Pearson's lemma no other event has more mass p at the same mass q.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(q > 0.0, p / q, np.where(p > 0.0, np.inf, 0.0))
    order = np.argsort(-ratio, kind="stable")
    return np.cumsum(p[order]), np.cumsum(q[order])


def half_lines(
    cdf: Callable[[FloatArray], FloatArray], other_cdf: Callable[[FloatArray], FloatArray], grid: FloatArray
) -> Masses:
    """Return the masses of "the output is at most t" for every t of the grid."""
    return cdf(grid), other_cdf(grid)
