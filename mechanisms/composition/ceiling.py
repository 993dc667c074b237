"""δ(ε) just below the largest loss: closed forms of nonnegative terms.

The total loss is L = C - X, C its largest value and X = Σ X_i >= 0, so δ = E(1 - e^{X-g})^+ with the exact distance
g = C - ε sees only X < g. A finite loss has an X_i with the atoms 0 = x_0 < x_1 < ...; a Laplace loss of parameter e
has an atom 1/2 at 0 and the density e^{-x/2}/4 up to 2e, the same for every e.

Theorem. For g <= 2 min e_i over n Laplace losses, whatever the e_i, and sums x of the atoms of all others,

    δ = Σ_{x < g} P(x) 2^{-n} Σ_{k=0}^n C(n,k) A_k(g - x),
    A_k(a) = 2 e^{-a/2} Σ (a/2)^i / i! over i = k+1, k+3, k+5, ...

    *Proof.* k of the Laplace losses come from their density, 2^{-n} C(n,k) of the time. A_0(a) = 1 - e^{-a}, and
    A_{k+1} is the convolution of A_k with e^{-x/2}/2, which shifts the series by one. []

Rounding. All terms are nonnegative: the relative error is that of one term. The distance g - x has 2u, which counts
at most n + 1 times; the series 4(n + 160) u; probabilities their own, once for each release.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import ROUNDING, UNDERFLOW, CeilingLaw, PrivacyLoss

_MOST_SUMS = 100
_MOST_LAPLACE = 500
_FARTHEST = 60.0
_MORE = 160  # terms of the series beyond the n-th: (_FARTHEST / 2)^160 / 160! is below e^{-110}


class NearCeiling:
    """Certified bounds on δ within ``horizon`` of the largest loss (the finite part of the loss only)."""

    name = "near the largest loss"

    def __init__(self, law: CeilingLaw, sums: dict[Fraction, float], horizon: Fraction, s: float) -> None:
        """Take the results of `near_ceiling`."""
        self.s, self._ceiling, self._horizon = s, law.ceiling, horizon
        self._sums = sorted(sums.items())
        self._laplace = sum(n for _, n in law.laplace)
        n = self._laplace
        self._relative = law.rounding + ROUNDING * (
            2.0 * (n + 1.0) + 4.0 * (n + _MORE) + 4.0 * len(sums) + 60.0
        )
        k = np.arange(n + 1, dtype=np.float64)
        # C(n, k) by its ratios; 2^{-n} is exact. At most 500: no overflow.
        self._weights: FloatArray = np.cumprod(np.append(1.0, (n - k[:-1]) / (k[:-1] + 1.0))) * 2.0**-n

    def _parts(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Return the distances g - x > 0 and the probabilities of x."""
        g = self._ceiling - Fraction(epsilon)
        kept = [(float(g - x), p) for x, p in self._sums if x < g]
        gaps, masses = np.array(kept, dtype=np.float64).reshape(-1, 2).T
        return gaps, masses

    def _series(self, gaps: FloatArray) -> FloatArray:
        """Return A_k(a) for k = -1 .. n (rows; A_{-1} = 2 e^{-a/2} cosh(a/2)) and each distance a."""
        last = self._laplace + 1 + _MORE
        terms = np.empty((last + 1, gaps.size))
        terms[0] = 2.0 * np.exp(-0.5 * gaps)
        terms[1:] = 0.5 * gaps / np.arange(1.0, last + 1.0)[:, None]
        np.cumprod(terms, axis=0, out=terms)
        out = np.empty((self._laplace + 2, gaps.size))
        for parity in (0, 1):
            tails = np.cumsum(terms[parity::2][::-1], axis=0)[::-1]
            rows = out[parity::2]
            rows[:] = tails[: len(rows)]
        return out

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its derivative, not certified."""
        gaps, masses = self._parts(epsilon)
        series = self._series(gaps)
        value = float((self._weights @ series[1:]) @ masses)
        return value, 0.5 * (value - float((self._weights @ series[:-1]) @ masses))

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper."""
        if self._ceiling - Fraction(epsilon) > self._horizon:
            return 0.0, 1.0
        gaps, masses = self._parts(epsilon)
        value = float((self._weights @ self._series(gaps)[1:]) @ masses)
        # The terms left out are below e^{-100} of the first, for any k: (a/2)^_MORE / _MORE! and less.
        error = value * self._relative + UNDERFLOW
        return max(0.0, value - error), min(1.0, value + error)


def near_ceiling(
    loss: PrivacyLoss, s: float, *, epsilon: float | None = None, delta: float | None = None
) -> NearCeiling | None:
    """Return bounds near the largest loss that reach as far as ε, or as ε(delta); None if these are too far away.

    With q = P(X = 0), δ >= q (1 - e^{-g}), so ε(δ) is at most -ln(1 - δ/q) away.
    """
    law = loss.below_ceiling
    if law is None or sum(n for _, n in law.laplace) > _MOST_LAPLACE:
        return None
    if epsilon is not None:
        horizon = law.ceiling - Fraction(epsilon)
    else:
        assert delta is not None
        top = law.top_probability * (1.0 - law.rounding - 1e-12)
        if not delta < top:
            return None
        # A little further, so that a float on the other side is within reach.
        horizon = Fraction(-1.01 * math.log1p(-delta / top)) + Fraction(64 * math.ulp(float(law.ceiling)))
    reach = min((2 * e for e, _ in law.laplace), default=None)
    if horizon <= 0 or horizon > _FARTHEST or (reach is not None and horizon > reach):
        return None
    sums = law.sums_below(horizon, _MOST_SUMS)
    return None if sums is None else NearCeiling(law, sums, horizon, s)
