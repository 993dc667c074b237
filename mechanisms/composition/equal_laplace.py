"""n equal Laplace releases: an exact series for δ(ε), all terms nonnegative.

Theorem 5. One Laplace loss is an atom (mass (1 + e^{-e})/2 at ±e) or comes from a density. Let T_j(ε) be
E[(1 - e^{ε-L})^+; exactly j of the n losses come from their density], so that δ = Σ_j T_j, T_j >= 0. With
y = z + 1/2 the transform of one loss is A + C, A = e^{-e/2} cosh ey, C = e^{-e/2} sinh(ey)/2y, and
z(z+1) = y² - 1/4; expanding C(n,j) A^{n-j} C^j in powers of e^{-2ey} and inverting term by term,

    T_j(ε) = Σ_{m: v e > ε} 2^{-n} C(n,m) K_j(v) e^{(ε - ne)/2} κ_j(ve - ε),   v = n - 2m,

K_j(v) = [x^j] (1-x)^m (1+x)^{n-m} the Krawtchouk polynomial, (j+1) K_{j+1} = v K_j - (n-j+1) K_{j-1};
κ_j the inverse of (2y)^{-j} / (y² - 1/4): κ_j(a) = 2 Σ_{i >= j+1, i = j+1 mod 2} (a/2)^i / i!, κ_j' = κ_{j-1}/2.

Remainder. For J < n and every s > 0, with c(s) of the Chernoff bound and p = C(s) / M(s),

    0 <= δ - Σ_{j<=J} T_j <= c(s) e^{-sε} Σ_{j>J} C(n,j) A(s)^{n-j} C(s)^j = c(s) e^{-sε} M(s)^n P(Bin(n, p) > J),

and P(Bin(n,p) >= k) <= e^{-n KL(k/n ‖ p)} for k > np. No contour, no aliases.

Rounding. Σ K̂_j with plus signs in the recursion bounds the cancellation. ve - ε = (ne - ε) - 2me, the first
exactly known: off by at most η = 4u(ne - ε + 2me), which moves κ_j by at most η κ_{j-1}/2, taken where it is largest.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.composition.saddle import Saddle, log_chernoff_factor
from mechanisms.losses.privacy_loss import ROUNDING, UNDERFLOW, PrivacyLoss
from mechanisms.numerics.binomial_law import log_binomial

_LARGEST_TABLE = 6_000_000
_MOST_TERMS = 4000
_LOG_SMALL = -690.0
"""The logarithm of a small float of full precision."""


class EqualLaplace:
    """Certified bounds on δ for ``count`` Laplace releases of parameter ``epsilon`` each."""

    name = "series over n equal Laplace"

    def __init__(
        self, exact: Fraction, count: int, saddle: Saddle, terms: int, remainder: float, lowest: int
    ) -> None:
        """Tabulate the numbers that do not depend on ε; use `equal_laplace` to choose the table."""
        epsilon = float(exact)
        self.s, self._ceiling, self._terms = saddle.s, count * exact, terms
        self._fall: FloatArray = 2.0 * epsilon * np.arange(lowest, count // 2 + 1, dtype=np.float64)
        self._log_remainder = remainder
        m = np.arange(lowest, count // 2 + 1, dtype=np.float64)
        self._v: FloatArray = count - 2.0 * m
        log_pmf = log_binomial(m, count, 0.5)
        log_weight = log_pmf - epsilon * m
        self._relative: FloatArray = ROUNDING * (72.0 - 64.0 * log_pmf + 4.0 * epsilon * m)
        k, k_hat = np.empty((terms + 1, m.size)), np.empty((terms + 1, m.size))
        # The numbers that multiply a weight are as large as C(n, j): it may vanish only after that.
        k[0] = k_hat[0] = np.exp(np.maximum(log_weight, _LOG_SMALL))
        for j in range(terms):
            before, before_hat = (k[j - 1], k_hat[j - 1]) if j else (0.0, 0.0)
            k[j + 1] = (self._v * k[j] - (count - j + 1.0) * before) / (j + 1.0)
            k_hat[j + 1] = (self._v * k_hat[j] + (count - j + 1.0) * before_hat) / (j + 1.0)
        rest = np.exp(np.minimum(log_weight - _LOG_SMALL, 0.0))
        self._k, self._k_hat = k * rest, k_hat * rest

    def _places(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """Return b = (ve - ε)/2 and its rounding, for all v at which b may be positive (b falls with m)."""
        gap = float(self._ceiling - Fraction(epsilon))
        off = 2.0 * ROUNDING * (gap + self._fall)
        b = 0.5 * (gap - self._fall)
        used = int(np.count_nonzero(b + off > 0.0))
        return b[:used], off[:used]

    def _kappa(self, b: FloatArray) -> tuple[FloatArray, int]:
        """Return e^{-b} κ_j(2b) for j = -1 .. terms (rows), b >= 0; and the number of series terms."""
        top = float(b[0]) if b.size else 0.0
        last = self._terms + 42 + math.ceil(top + 12.0 * math.sqrt(top))
        series = np.empty((last + 1, b.size))
        series[0] = np.exp(-b)
        series[1:] = b / np.arange(1.0, last + 1.0)[:, None]
        np.cumprod(series, axis=0, out=series)
        kappa = np.empty((self._terms + 2, b.size))
        for parity in (0, 1):
            # i = j + 1 = parity, parity + 2, ...: sums from the smallest term upwards
            tails = np.cumsum(series[parity::2][::-1], axis=0)[::-1]
            rows = kappa[parity::2]
            rows[:] = 2.0 * tails[: len(rows)]
        return kappa, last

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its derivative, not certified."""
        kappa, _ = self._kappa(np.maximum(self._places(epsilon)[0], 0.0))
        k = self._k[:, : kappa.shape[1]]
        value = float(np.einsum("ij,ij->", k, kappa[1:]))
        return value, 0.5 * (value - float(np.einsum("ij,ij->", k, kappa[:-1])))

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper."""
        b, off = self._places(epsilon)
        kappa, last = self._kappa(np.maximum(b, 0.0))
        steepest, _ = self._kappa(b + off)
        used = kappa.shape[1]
        total = float(np.einsum("ij,ij->", self._k[:, :used], kappa[1:]))
        # einsum adds rows of `used` terms one after the other
        terms = 4.0 * last + 7.0 * self._terms + 40.0 + used
        relative = self._relative[:used] + ROUNDING * terms
        k_hat = self._k_hat[:, :used]
        sizes = np.einsum("ij,ij->j", k_hat, kappa[1:])
        # e^{-b} κ_j(2b) has the derivative e^{-b} (κ_{j-1} - κ_j), and κ e^{b} increases.
        slopes = np.einsum("ij,ij->j", k_hat, steepest[:-1] + steepest[1:])
        slack = (float(sizes @ relative) + 2.0 * float(slopes @ off)) * (1.0 + 1e-9)
        left_out = math.exp(min(700.0, self._log_remainder - self.s * epsilon * (1.0 - 1e-12)))
        slack += UNDERFLOW
        return max(0.0, total - slack), min(1.0, total + slack + left_out)


def equal_laplace(loss: PrivacyLoss, exact: Fraction, count: int, saddle: Saddle) -> EqualLaplace | None:
    """Return the series for ``count`` releases, or None if it would need too large a table.

    J is the least with a remainder below 1e-15 δ. For large n small m are left out: with pmf <= e^{-v²/2n},
    K̂_j <= r^{-j} e^{rv + nr²/2} (generating function, r = √(J/n)) and e^{-b} κ_j <= 2 min(1, b^{j+1}/(j+1)!).
    """
    if float(exact) < 1e-300:  # powers of it are taken by logarithms of floats
        return None
    s, epsilon = saddle.s, float(exact)
    y = s + 0.5
    ratio = math.tanh(epsilon * y) / (2.0 * y)  # C / A
    p = ratio / (1.0 + ratio)
    value, error = loss.log_mgf_line(s, np.zeros(1))
    log_all = float(value[0].real + error[0]) + float(log_chernoff_factor(np.array(s)))
    target = saddle.log_delta + s * saddle.epsilon - log_all - 15.0 * math.log(10.0)
    first = math.ceil(count * p)
    k = np.arange(first + 1, min(count, first + _MOST_TERMS) + 1, dtype=np.float64)
    log_tail = -count * _divergence(k / count, p)
    enough = np.flatnonzero(log_tail <= target)
    if enough.size == 0:
        terms, remainder = count, -math.inf
    else:
        terms = int(k[enough[0]]) - 1
        remainder = log_all + float(log_tail[enough[0]]) + 1e-9
    if terms > _MOST_TERMS:
        return None
    lowest, left_out = _lowest(count, epsilon, terms, saddle.log_delta - 40.0)
    remainder = float(np.logaddexp(remainder, left_out + s * saddle.epsilon + 1.0)) if lowest else remainder
    width = count // 2 + 1 - lowest
    series = 2 * terms + 42 + math.ceil(0.5 * count * epsilon + 12.0 * math.sqrt(0.5 * count * epsilon))
    if width * series > _LARGEST_TABLE or count * epsilon > 1000.0:
        return None
    ends = np.array([lowest, count // 2], dtype=np.float64)  # a weight's logarithm is concave in m
    if float(np.min(log_binomial(ends, count, 0.5) - epsilon * ends)) < 2.0 * _LOG_SMALL:
        return None
    return EqualLaplace(exact, count, saddle, terms, remainder, lowest)


def _divergence(x: FloatArray, p: float) -> FloatArray:
    """Return KL(x ‖ p) of two coins, rounded down."""
    with np.errstate(divide="ignore", invalid="ignore"):
        first = x * (np.log(x) - math.log(max(p, 5e-324)))
        second = np.where(x < 1.0, (1.0 - x) * (np.log1p(-x) - math.log1p(-p)), 0.0)
    return (first + second) * (1.0 - 1e-9)


def _lowest(count: int, epsilon: float, terms: int, target: float) -> tuple[int, float]:
    """Return the first m to keep and ln of a bound on all terms before it, for every ε >= 0."""
    if count <= 100:
        return 0, -math.inf
    root = math.sqrt(count)
    size = max(terms, 1)
    j = np.arange(terms + 1, dtype=np.float64)
    log_factorial = np.cumsum(np.log(np.arange(1.0, terms + 2.0)))  # ln (j+1)!
    for deviation in range(math.ceil(math.sqrt(size)) + 6, 200, 2):
        v = deviation * root
        if v >= count:
            break
        fall = (deviation - math.sqrt(size)) - (terms + 1.0) / deviation
        if fall <= 0.0:
            continue
        b = 0.5 * v * epsilon
        logs = j * 0.5 * math.log(count / size) + np.minimum(0.0, (j + 1.0) * math.log(b) - log_factorial)
        most = -0.5 * deviation**2 + math.sqrt(size) * deviation + 0.5 * size
        total = most + float(np.logaddexp.reduce(logs)) + math.log(2.0)
        total -= math.log(-math.expm1(-2.0 * fall / root))
        if total <= target:
            return max(0, math.floor((count - v) / 2.0)), total
    return 0, -math.inf
