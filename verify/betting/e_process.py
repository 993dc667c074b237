"""Bets against a privacy claim: under a true claim the wealth is a supermartingale, at all times.

Let X be drawn on data D, Y on its neighbour, S be an event. If (ε, δ)-differential privacy holds, the payoff

    g = 1{X in S} - e^ε 1{Y in S} - δ

has expectation at most 0, given everything seen before, as long as S was chosen before X and Y were drawn. So
the wealth of a bettor that stakes a share λ ≥ 0, also chosen before, the product of all 1 + λ g, is a
nonnegative supermartingale that starts at 1 (an e-process), and by Ville's inequality it ever reaches 1/α with
probability at most α: at any stopping time, and for any choice of events, stakes and pairs of data sets by
the past.

Nothing is asked of the joint law of X and Y but that each has its law given all pairs before. So both may be drawn with
the same random numbers, if every pair has a seed of its own: one stream that goes on from pair to pair would not do,
since draws on D and D′ may take different amounts of it, and the draws on the one would then predict the other's.

*Stakes.* The best stake depends on the size of the violation, which is not known. Stakes are made for the smallest one
that N draws can show: an edge E g = sd(g) sqrt(2 ln(1/α) / N), for which the stake of the fastest growth is

    λ = sqrt(2 ln(1/α) / N) / sd(g).

It needs the size of the payoffs alone, which `Payoff.stake` takes from the past.

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
from verify.events.predicted_bound import ComingTest

LARGEST_SHARE = 0.98
"""Share of the stake that one draw could lose in full: no draw takes more than 98 % of the wealth."""

LONGEST_SHARE = 0.7
"""Share of the wealth that is staked for the whole horizon; the rest is for shorter ones."""

_UNSEEN = np.array([0.25, 0.5, 0.25, 0.25])  # of each outcome, added to the counts


@dataclass(frozen=True, slots=True)
class Payoff:
    """The payoffs of claims at one δ and one or many ε, by the outcome of a pair of draws.

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
            raise ParameterError(f"epsilon = {epsilon!r}: must lie in [0, 700)")
        if not 0.0 <= delta < 1.0:
            raise ParameterError(f"delta = {delta!r}: must lie in [0, 1)")
        # One rounding up keeps the expectation at most 0 in exact arithmetic too.
        return cls(np.nextafter(np.exp(epsilons) * (1.0 + 1e-15), math.inf), delta)

    @property
    def outcomes(self) -> FloatArray:
        """Payoffs g for (X in S, Y in S) = (1, 1), (1, 0), (0, 1), (0, 0): shape (4, m)."""
        one = np.ones_like(self.growth)
        return np.stack([1.0 - self.growth, one, -self.growth, 0.0 * one]) - self.delta

    @property
    def largest_stake(self) -> FloatArray:
        """λ may not exceed this: 1 + λ g ≥ 1 - `LARGEST_SHARE` for every outcome."""
        return LARGEST_SHARE / (self.growth + self.delta)

    def stake(self, joint: npt.ArrayLike, horizon: float, error: npt.ArrayLike) -> FloatArray:
        """Return the λ in [0, `largest_stake`] of fastest growth where `horizon` draws can just reject at `error`.

        Parameters
        ----------
        joint
            Counts of the four outcomes before.
        horizon
            Draws a side.
        error
            The error of the rejection; of every ε, or one for all.
        """
        seen = np.asarray(joint, dtype=np.float64) + _UNSEEN
        size = np.sqrt((seen / seen.sum()) @ self.outcomes**2)
        return np.asarray(
            np.minimum(np.sqrt(-2.0 * np.log(error) / horizon) / size, self.largest_stake), dtype=np.float64
        )

    def seen_stake(self, joint: npt.ArrayLike) -> FloatArray:
        """Return the λ in [0, `largest_stake`] of fastest growth at the past frequencies of outcomes: near E g / E g².

        Their mean payoff is taken to be a standard error smaller.
        """
        seen = np.asarray(joint, dtype=np.float64) + _UNSEEN
        mean, square = (seen / seen.sum()) @ self.outcomes, (seen / seen.sum()) @ self.outcomes**2
        safe = mean - np.sqrt(square / seen.sum())
        return np.asarray(np.clip(safe / square, 0.0, self.largest_stake), dtype=np.float64)

    def log_wealth(self, stake: FloatArray, counts: npt.ArrayLike) -> FloatArray:
        """Σ ln(1 + λ g) over draws with these counts of the four outcomes, shape (..., m); never rounded up."""
        seen, steps = np.asarray(counts, dtype=np.float64), np.log1p(stake[..., None, :] * self.outcomes)
        return np.asarray(seen @ steps - 1e-12 * (seen @ np.abs(steps)), dtype=np.float64)


def promised_epsilon(joint: npt.ArrayLike, test: ComingTest, *, caution: float) -> FloatArray:
    """The ε that bets over some more draws are expected to reject, for each of some events; below 0 if none.

    Parameters
    ----------
    joint
        Counts of the four outcomes; shape (events, 4).
    test
        The delta of the claims, the error of their rejection, and the draws a side to come.
    caution
        Standard errors by which the mean payoff is taken to be below its estimate.
    """
    unseen = np.array([0.0, 0.25, 0.25 + caution**2 / 2.0, 0.25])
    seen = np.atleast_2d(np.asarray(joint, dtype=np.float64)) + unseen
    n = seen.sum(axis=1, keepdims=True)
    outcomes = Payoff.for_claims(_PROMISED, test.delta).outcomes
    mean, size = (seen / n) @ outcomes, np.sqrt((seen / n) @ outcomes**2)
    left = (
        mean - (math.sqrt(-2.0 * math.log(test.error) / max(test.draws, 1.0)) + caution / np.sqrt(n)) * size
    )
    stop = np.where((left < 0.0).any(axis=1), np.argmax(left < 0.0, axis=1), _PROMISED.size - 1)
    before, rows = np.maximum(stop - 1, 0), np.arange(len(left))
    gain, loss = left[rows, before], left[rows, stop]
    share = np.where(loss < 0.0, gain / np.maximum(gain - loss, 1e-300), 1.0)
    between = _PROMISED[before] + (_PROMISED[stop] - _PROMISED[before]) * share
    return np.asarray(np.where(stop == 0, left[:, 0], between), dtype=np.float64)


_PROMISED = np.concatenate([[0.0], np.geomspace(1e-3, 24.0, 60)])


def joint_counts(x: BoolArray, y: BoolArray) -> tuple[int, int, int, int]:
    """Return the counts of the outcomes (X in S, Y in S) = (1, 1), (1, 0), (0, 1), (0, 0)."""
    both, first, second = (int(np.count_nonzero(z)) for z in (x & y, x, y))
    return both, first - both, second - both, len(x) - first - second + both
