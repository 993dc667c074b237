"""Upper bounds on the chance of a bit, valid at every count at once: a mixture of likelihood ratios.

Of n independent bits that are 1 with probability p, o are. Averaged over Beta(1/2, 1/2), the likelihood of all chances
over that of p,

``M_n(p) = B(o + 1/2, n - o + 1/2) / (pi p^o (1 - p)^(n - o))``,

is a martingale of mean 1, so ``P(exists n: M_n(p) >= e^x) <= e^-x`` (Ville): no union over counts, and no horizon. As
``ln M_n(u) = n kl(o/n, u) - c`` with ``0 <= c <= ln(n) / 2 + ln 2`` (Krichevsky & Trofimov 1981), the largest u with
``n kl(o/n, u) <= x + c`` bounds p from above, but for that event; and so it does from below.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln, xlogy

from algorithms.estimates.divergence import divergence_upper
from algorithms.estimates.message_means import MessageMeans
from algorithms.lanes import scatter_add
from mechanisms.arrays import FloatArray, IntArray

_STEPS = 3
_ROUNDING = 1e-15  # relative, of ln Gamma(n + 1), the largest number that is added


def redundancy(ones: FloatArray, count: FloatArray) -> FloatArray:
    """Return c, by how much the mixture's likelihood is below the largest one, on the safe side of rounding."""
    whole = gammaln(count + 1.0)
    mixture = gammaln(ones + 0.5) + gammaln(count - ones + 0.5) - whole - math.log(math.pi)
    mean = ones / count
    largest = count * (xlogy(mean, mean) + xlogy(1.0 - mean, 1.0 - mean))
    result: FloatArray = largest - mixture + _ROUNDING * whole
    return result


def bit_upper(ones: FloatArray, count: FloatArray, exponent: float) -> FloatArray:
    """Return a bound on a bit's chance that ever fails, at any count, with probability ``e^-exponent`` at most.

    It is the largest u with ``n kl(o/n, u) <= x + c``, approached from above.

    Parameters
    ----------
    ones, count
        o and n >= 1, of the same shape.
    exponent
        x > 0.
    """
    rate = (exponent + redundancy(ones, count)) / count
    return divergence_upper(ones / count, rate, steps=_STEPS)


class BitMeans(MessageMeans):
    """Means of debiased randomized bits, with the index of the mixture.

    Parameters
    ----------
    lanes, arms
        As for `MessageMeans`.
    gain
        ``1/2 + (Y - 1/2) gain`` is unbiased for a bit Y.
    exponent
        Of the bounds on the bits' chances.
    """

    def __init__(self, lanes: int, arms: int, *, gain: float, exponent: float) -> None:
        super().__init__(lanes, arms, root=0.0)
        self.ones: FloatArray = np.zeros((lanes, arms))
        self._gain, self._exponent = gain, exponent

    def renew(self, exponent: float) -> None:
        """Compute all indices again, with another exponent."""
        self._exponent = exponent
        known = self.count > 0
        self.index[known] = np.clip(self._bound(self.ones[known], self.count[known]), 0.0, 1.0)

    def add(self, arms: IntArray, messages: FloatArray) -> None:
        """Count one more bit for each of `arms`, shape (lanes, k)."""
        scatter_add(self.ones, arms, messages)
        super().add(arms, 0.5 + (messages - 0.5) * self._gain)

    def _upper(self, at: IntArray, mean: FloatArray, count: FloatArray) -> FloatArray:
        return self._bound(self.ones.take(at), count)

    def _bound(self, ones: FloatArray, count: FloatArray) -> FloatArray:
        chance = bit_upper(ones, count, self._exponent)
        upper: FloatArray = 0.5 + (chance - 0.5) * self._gain
        return upper
