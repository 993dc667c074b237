"""Betting against a privacy claim: wealth that a true claim keeps from growing, whenever one looks.

Let X be drawn on data D, Y on its neighbour, S be an event. If (ε, δ)-differential privacy holds, the payoff

    g = 1{X in S} - e^ε 1{Y in S} - δ

has expectation at most 0, given everything seen before, as long as S was chosen before X and Y were drawn. So
the wealth of somebody who stakes a share λ ≥ 0, also chosen before, the product of all 1 + λ g, is a
nonnegative supermartingale that starts at 1 (an e-process), and by Ville's inequality it ever reaches 1/α with
probability at most α: at whatever time one stops, and however the events, stakes and pairs of data sets were
chosen from the past.

Waudby-Smith, Ramdas 2024, "Estimating means of bounded random variables by betting" (JRSS B 86, Sec. 4);
González, Dulce-Rubio, Ramdas, Ribero 2025, "Sequentially auditing differential privacy" (arXiv 2509.07055): bets of
this kind against a privacy claim. The payoff itself is the claim: P(X in S) ≤ e^ε P(Y in S) + δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.parameters import ParameterError

LARGEST_SHARE = 0.95
"""Of the stake that one draw could lose in full: no draw takes more than 95 % of the wealth."""

_HALVINGS = 40  # of the interval of stakes: 2⁻⁴⁰ of it is below any effect


@dataclass(frozen=True, slots=True)
class Payoff:
    """The payoffs of one claim at one δ and one or many ε, by outcome (X in S, Y in S).

    Attributes
    ----------
    growth
        e^ε, shape (m,).
    delta
        The claimed δ.
    """

    growth: FloatArray
    delta: float

    @classmethod
    def for_claims(cls, epsilon: npt.ArrayLike, delta: float) -> Payoff:
        """The payoffs of the claims (ε, delta) for every ε given.

        Raises
        ------
        ParameterError
            If an ε is negative or not finite, or delta outside [0, 1).
        """
        epsilons = np.atleast_1d(np.asarray(epsilon, dtype=np.float64))
        if not np.all((epsilons >= 0.0) & (epsilons < 700.0)):
            raise ParameterError(f"epsilon={epsilon!r}: must lie in [0, 700)")
        if not 0.0 <= delta < 1.0:
            raise ParameterError(f"delta={delta!r}: must lie in [0, 1)")
        # One rounding up keeps the expectation at most 0 in exact arithmetic too.
        return cls(np.nextafter(np.exp(epsilons) * (1.0 + 1e-15), math.inf), delta)

    @property
    def outcomes(self) -> FloatArray:
        """Payoffs g for (X, Y) = (1, 0), (1, 1), (0, 1), (0, 0): shape (4, m)."""
        one = np.ones_like(self.growth)
        return np.stack([one, 1.0 - self.growth, -self.growth, 0.0 * one]) - self.delta

    @property
    def largest_stake(self) -> FloatArray:
        """λ may not exceed this: 1 + λ g ≥ 1 - `LARGEST_SHARE` for every outcome."""
        return LARGEST_SHARE / (self.growth + self.delta)

    def stake(self, p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
        """The λ in [0, `largest_stake`] with the fastest expected growth of the log-wealth.

        X and Y are in the event with probabilities p and q, independently; p and q broadcast against the m
        values of ε. The expectation of ln(1 + λ g) is concave in λ, so that bisection on its slope finds the
        best λ; 0 if the bet is unfavourable.
        """
        chances, outcomes = _chances(p, q), self.outcomes
        high = self.largest_stake + 0.0 * chances[0]
        low = np.zeros_like(high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            rising = (chances * outcomes / (1.0 + middle * outcomes)).sum(axis=0) > 0.0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        return np.asarray(low)

    def quick_stake(self, p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
        """Nearly `stake`, without a search: E g / E g², which maximises E (λ g - λ² g² / 2), if it is allowed."""
        chances, outcomes = _chances(p, q), self.outcomes
        mean, square = (chances * outcomes).sum(axis=0), (chances * outcomes * outcomes).sum(axis=0)
        return np.asarray(np.clip(mean / np.maximum(square, 1e-300), 0.0, self.largest_stake))

    def expected_growth(self, stake: FloatArray, p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
        """E ln(1 + λ g) per pair of draws; shapes as in `stake`."""
        return np.asarray((_chances(p, q) * np.log1p(stake * self.outcomes)).sum(axis=0))

    def log_wealth(self, stake: FloatArray, counts: FloatArray) -> FloatArray:
        """Σ ln(1 + λ g) over draws with these counts of the four outcomes, shape (m,); never rounded up."""
        grown = counts @ np.log1p(stake * self.outcomes)
        lost: FloatArray = grown - 1e-12 * (counts @ np.abs(np.log1p(stake * self.outcomes)))
        return lost

    def steps(self, stake: float, x: BoolArray, y: BoolArray) -> FloatArray:
        """ln(1 + λ g) draw by draw for the first ε, shape (n,)."""
        table = np.log1p(stake * self.outcomes[:, 0])
        table = table - 1e-12 * np.abs(table)
        return np.asarray(table[np.where(x, np.where(y, 1, 0), np.where(y, 2, 3))])


def outcome_counts(x: BoolArray, y: BoolArray) -> FloatArray:
    """Return the counts of the outcomes (X in S, Y in S) = (1, 0), (1, 1), (0, 1), (0, 0), shape (4,)."""
    both, first, second = (int(np.count_nonzero(z)) for z in (x & y, x, y))
    return np.array([first - both, both, second - both, len(x) - first - second + both], dtype=np.float64)


def wilson_shifted(hits: npt.ArrayLike, draws: float, errors: float) -> FloatArray:
    """Frequencies moved by so many standard errors (Wilson's score bound, which knows that 0 of 10 is not 0)."""
    n, square = max(draws, 1.0), errors * errors
    p = np.asarray(hits, dtype=np.float64) / n
    half = errors * np.sqrt(p * (1.0 - p) / n + square / (4.0 * n * n))
    return np.asarray(np.clip((p + square / (2.0 * n) + half) / (1.0 + square / n), 0.0, 1.0))


def _chances(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    p, q = np.atleast_1d(np.asarray(p, dtype=np.float64)), np.atleast_1d(np.asarray(q, dtype=np.float64))
    return np.stack([p * (1.0 - q), p * q, (1.0 - p) * q, (1.0 - p) * (1.0 - q)])
