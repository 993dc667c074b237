"""The privacy loss of Laplace noise: two atoms at ±ε and a density between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.oscillation import Oscillations
from mechanisms.losses.privacy_loss import (
    ROUNDING,
    CeilingLaw,
    ComplexArray,
    PrivacyLoss,
    SampledPair,
    log1p_complex,
)
from mechanisms.losses.sampled_laplace_loss import SampledLaplaceLoss

_BLOCK = 2**15
"""Complex numbers that are worked on at a time."""
_LARGEST_OF_GROUPS = 300
"""The largest e of a group on a sample: see `mechanisms.losses.sampled_laplace_loss.laplace_parts`."""


@dataclass(frozen=True)
class LaplaceLoss(PrivacyLoss):
    """The sum of independent losses of Laplace mechanisms with parameters ε_i (in all ``counts[i]`` times).

    One of them is +ε with probability 1/2, -ε with probability e^{-ε}/2, and has density e^{(l-ε)/2}/4
    between: M(z) = ((z+1) e^{zε} + z e^{-(z+1)ε}) / (2z+1).

    Parameters
    ----------
    epsilons : tuple of Fraction
        Largest losses shift/scale, positive and distinct.
    counts : tuple of int
        At least 1 each.
    """

    epsilons: tuple[Fraction, ...]
    counts: tuple[int, ...] = (1,)

    @cached_property
    def _hash(self) -> int:
        # Not of the fractions themselves, each of which takes an inverse modulo a prime.
        return hash((tuple(map(float, self.epsilons)), self.counts))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _columns(self) -> tuple[FloatArray, FloatArray]:
        e = np.array([float(epsilon) for epsilon in self.epsilons])[:, None]
        return e, np.array(self.counts, dtype=np.float64)[:, None]

    @cached_property
    def _total(self) -> float:
        e, n = self._columns
        return math.nextafter(math.fsum((e * n).ravel()) * (1.0 + 8 * ROUNDING), math.inf)  # never 0

    @property
    def supremum(self) -> float:
        """Sum of n_i ε_i, rounded up."""
        return self._total

    @property
    def infimum(self) -> float:
        """Minus the sum of n_i ε_i, rounded down."""
        return -self._total

    @property
    def equal_laplace(self) -> tuple[Fraction, int] | None:
        """The common ε and the count, if all are equal."""
        return (self.epsilons[0], self.counts[0]) if len(self.epsilons) == 1 else None

    @property
    def below_ceiling(self) -> CeilingLaw:
        """All parameters."""
        terms = tuple(zip(self.epsilons, self.counts, strict=True))
        return CeilingLaw(terms, terms)

    def cost(self, s: float, height: float) -> float:
        """One for each different parameter."""
        return float(len(self.epsilons))

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Sum of n_i (s ε_i + ln(1 + s (e^{-(2s+1)ε_i} - 1) / (2s+1)))."""
        e, n = self._columns
        return np.asarray(
            np.sum(n * (s * e + np.log1p(s * np.expm1(-(2.0 * s + 1.0) * e) / (2.0 * s + 1.0))), axis=0)
        )

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum of n_i ln M_i, from the exponential form or, for tiny ε, from the difference M - 1.

        Exponential form: ln M = zε + ln(1+w), w = z (e^x - 1) / (2z+1), x = -(2z+1)ε. Errors: zε (with ε
        rounded): 4u|z|ε; w: 10u|w| + 5u|x||e^x||z/(2z+1)|, divided by |1+w| in the logarithm.
        Its absolute error grows like Σ n ε |z| u while ln M is only about Σ n ε² |z|² / 2; where that
        matters the second form is used for |ε(z+1/2)| <= 1.
        """
        e, n = self._columns
        z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        if (
            8 * ROUNDING * self._total * float(np.max(np.abs(z))) > 1e-12
            and float(np.min(e)) * (s + 0.5) < 1.0
        ):
            return self._line_by_blocks(s, t)
        value, error = _log_mgf_far(e, z)
        size = np.sum(n * np.abs(value), axis=0)
        return np.sum(n * value, axis=0), np.sum(n * error, axis=0) + ROUNDING * (len(n) + 2.0) * size

    def _line_by_blocks(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Use the form without cancellation, where it applies, a block of scales at a time."""
        z = s + 1j * t
        total, error = np.zeros(t.shape, dtype=np.complex128), np.zeros(t.shape)
        size = np.zeros(t.shape)
        all_e, all_n = self._columns
        rows = max(1, _BLOCK // z.size)
        for start in range(0, len(self.counts), rows):
            n = all_n[start : start + rows]
            e, points = np.broadcast_arrays(all_e[start : start + rows], z)
            small = e * np.abs(points + 0.5) <= 1.0
            value, own = np.empty(small.shape, dtype=np.complex128), np.empty(small.shape)
            value[small], own[small] = _log_mgf_near_one(e[small], points[small])
            value[~small], own[~small] = _log_mgf_far(e[~small], points[~small])
            total += np.sum(n * value, axis=0)
            error += np.sum(n * own, axis=0)
            size += np.sum(n * np.abs(value), axis=0)
        return total, error + (len(self.counts) + 2) * ROUNDING * size

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return Σ n_i ln(e^{sε_i} r(τ) + e^{-(s+1)ε_i} / 2), at most ln M(s).

        r(τ) = |z+1| / |2z+1| at s + iτ. As |t| grows |z+1|/|2z+1| falls to 1/2 and |z|/|2z+1| rises to
        1/2, so both terms of M are bounded for all |t| >= τ. No decay below half: at t = πj/ε the two
        atoms align again.
        """
        e, n = self._columns
        square = heights * heights
        ratio = 0.5 * np.log(((s + 1.0) ** 2 + square) / ((2.0 * s + 1.0) ** 2 + 4.0 * square))
        logs = np.logaddexp(s * e + ratio, -(s + 1.0) * e - math.log(2.0))
        top = self.log_mgf_real(np.array([s]))[0]
        total = np.minimum(np.sum(n * logs, axis=0), top)
        return np.asarray(total + 16 * ROUNDING * float(np.sum(n * (s + 2.0) * (e + 1.0))))

    def oscillations(self, s: float) -> Oscillations:
        """Return the pairs of atoms, e^{-e/2} e^{±e(s+1/2)} / 2 at ±e, and the share of the densities.

        With x = s + 1/2 the atoms have C = e^{-e/2} cosh(ex) and 4 w_1 w_2 = 1/cosh²(ex); the density adds
        e^{-e/2} sinh(ey)/2y, y = x + it, of modulus at most C tanh(ex)/2x (its value at t = 0) and at most C/2t, as
        |sinh(ey)|² = sinh²(ex) + sin²(et) <= cosh²(ex).
        """
        e, n = (column[:, 0] for column in self._columns)
        x = s + 0.5
        log_cosh = e * x + np.log1p(np.exp(-2.0 * e * x)) - math.log(2.0)
        caps = n * (log_cosh - 0.5 * e)
        log_caps = math.fsum(caps) + 16 * ROUNDING * float(n @ (e * (x + 1.0) + 1.0))
        amplitudes = n * np.exp(-2.0 * log_cosh)
        shares = np.tanh(e * x) / (2.0 * x) * (1.0 + 1e-12)
        return Oscillations(float(np.sum(n)), log_caps, 2.0 * e, amplitudes, shares, n)

    @property
    def distinct_count(self) -> int:
        """Number of distinct parameters."""
        return len(self.epsilons)

    def pieces(self, most: int) -> list[tuple[PrivacyLoss, int]]:
        """Return sums over ``most`` parameters each, if that is more than one."""
        starts = range(0, len(self.epsilons), most)
        if len(starts) <= 1:
            return [(self, 1)]
        return [(LaplaceLoss(self.epsilons[i : i + most], self.counts[i : i + most]), 1) for i in starts]

    def on_sample(self, rate: float, pair: SampledPair, size: int = 1) -> PrivacyLoss | None:
        """Return the loss of a single release, of which the exponential of the largest loss is a float."""
        single = self.counts == (1,) and self.epsilons[0] <= (700 if size == 1 else _LARGEST_OF_GROUPS)
        return SampledLaplaceLoss(rate, self.epsilons[0], pair, size) if single else None

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Count equal parameters together."""
        counted: dict[tuple[int, int], tuple[Fraction, int]] = {}
        for loss, count in zip(losses, counts, strict=True):
            assert isinstance(loss, LaplaceLoss)
            for epsilon, own in zip(loss.epsilons, loss.counts, strict=True):
                key = epsilon.numerator, epsilon.denominator  # a fraction's own hash is slow
                counted[key] = epsilon, count * own + (counted[key][1] if key in counted else 0)
        epsilons, totals = zip(*counted.values(), strict=True)
        return cls(epsilons, totals)


def _log_mgf_far(e: FloatArray, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Return ln M and its error from the exponential form; see `LaplaceLoss.log_mgf_line`."""
    w = (z / (2.0 * z + 1.0)) * np.expm1(-e * (2.0 * z + 1.0))
    logs = log1p_complex(w)
    size = np.abs(z)
    spread = 12.0 * np.abs(w) + 5.0 * np.exp(-(2.0 * z.real + 1.0) * e) * e * size
    value = z * e + logs
    error = 6.0 * e * size + spread * np.exp(-logs.real) + 4.0 * np.abs(logs)
    return value, ROUNDING * (error + 3.0 * np.abs(value))


def _log_mgf_near_one(e: FloatArray, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
    """Return ln M and its error for |ε(z+1/2)| <= 1, from M - 1 without cancellation.

    With y = z + 1/2: M = e^{-ε/2} (cosh εy + sinh(εy)/(2y)) and M(0) = 1, hence
    M - 1 = e^{-ε/2} (2 sinh(ε(z+1)/2) sinh(εz/2) + (ε/2) Σ_k (p^k - q^k)/(2k+1)!), p = ε²y², q = ε²/4,
    where p^k - q^k = (p - q) h_k, p - q = ε² z(z+1), h_{k+1} = p h_k + q^k. As |p|, q <= 1, |h_k| <= k and
    nine terms leave less than 1e-18 of the first.
    """
    product = e * e * (z * (z + 1.0))
    p, q = (e * (z + 0.5)) ** 2, 0.25 * e * e
    h = np.ones(z.shape, dtype=np.complex128)
    series = h / 6.0
    factorial, power = 6.0, np.ones(q.shape)
    for k in range(2, 10):
        power = power * q
        h = p * h + power
        factorial *= (2 * k) * (2 * k + 1)
        series = series + h / factorial
    w = np.exp(-0.5 * e) * (
        2.0 * np.sinh(0.5 * e * (z + 1.0)) * np.sinh(0.5 * e * z) + 0.5 * e * product * series
    )
    value = log1p_complex(w)
    # |M| >= e^{-ε/2} (cos 1 - sin 1 / 2 ...) > 1/4 here; both terms of w are at most 1.2 |product|.
    return value, ROUNDING * (160.0 * np.abs(product) + 4.0 * np.abs(value))
