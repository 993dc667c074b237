"""δ(ε) where all privacy losses lie on a lattice: exact up to rounding and aliases, without truncation.

Theorem 7. If L lies in l_0 + gZ, l_0 the first lattice point above ε, then with N nodes z_k = s + 2πik/(Ng)

    S = (1/N) Σ_{k<N} M(z_k) e^{-z_k l_0} (1/(1 - e^{-z_k g}) - e^{ε-l_0}/(1 - e^{-(z_k+1)g}))
      = Σ_n δ(ε + nNg) e^{snNg},

n over all whole numbers: the bracket is Σ_{m>=0} e^{-z_k m g} (1 - e^{ε-l_0-mg}), and the sum over k is an inverse
discrete Fourier transform of the tilted masses. As in Theorem 2 of `mechanisms.losses.contour` S is never below δ, and
the same aliases are subtracted for the lower end (none from the right once Ng exceeds L's largest value - ε).

Positions. Rationals with a common step are used exactly. Otherwise every value may be moved to a lattice point
by at most η in sum; the mechanism's δ then lies between the lattice's δ(ε + η) and δ(ε - η). M is evaluated at the
original values, which is off by M(s) (e^{|z|η} - 1) at most.

Rounding. The three parts of the bracket (-expm1(ε-l_0), r/(1-r), e^{ε-l_0-g} r/(1-r e^{-g}), r = e^{-zg}) may cancel:
u·8(1 + |z|g) of their sizes; the exponent as in the contour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.contour import TiltedLoss
from mechanisms.losses.saddle import Saddle, log_chernoff_factor
from mechanisms.privacy_loss import ROUNDING, ComplexArray, LatticeValues, PrivacyLoss
from mechanisms.rounding import exact_sum

_MOST_NODES = 2**18
_CLOSE = Fraction(1, 10**13)


@dataclass(frozen=True, slots=True)
class CommonLattice:
    """Every total loss is within ``moved`` of origin + spacing · whole number."""

    origin: Fraction
    spacing: Fraction
    moved: float


def common_lattice(values: LatticeValues, least_spacing: Fraction) -> CommonLattice | None:
    """Return a lattice for all releases: the exact one, else one with ratios of small whole numbers.

    None if its spacing would be below ``least_spacing``.
    """
    exact = _largest_divisor([step for own, _ in values if (step := _spacing(own))])
    if not exact or exact >= least_spacing:
        origin = exact_sum((own[0], n) for own, n in values)
        return CommonLattice(origin, exact or Fraction(1), 0.0)
    differences = {b - own[0] for own, _ in values for b in own[1:] if b != own[0]}
    unit, denominator = min(differences), 1
    for difference in differences:
        denominator = math.lcm(denominator, (difference / unit).limit_denominator(1000).denominator)
        if unit < least_spacing * denominator:
            return None
    spacing = unit / denominator
    span = exact_sum((own[-1] - own[0], n) for own, n in values)
    moved = Fraction(0)
    for own, n in values:
        worst = max(abs(b - own[0] - round((b - own[0]) / spacing) * spacing) for b in own)
        moved += n * worst
    if moved > _CLOSE * span:
        return None
    return CommonLattice(exact_sum((own[0], n) for own, n in values), spacing, float(moved) * 1.001)


@lru_cache(maxsize=256)
def _spacing(own: tuple[Fraction, ...]) -> Fraction:
    """Return the spacing of one loss's own lattice; 0 if it has one value."""
    return _largest_divisor([b - own[0] for b in own[1:]])


def _largest_divisor(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest rational of which all of these are whole multiples; 0 if all are 0."""
    least = math.lcm(*(each.denominator for each in numbers))
    return Fraction(math.gcd(*(each.numerator * (least // each.denominator) for each in numbers)), least)


class LatticeContour:
    """Certified bounds on δ of a lattice loss near one ε (the finite part of the loss only)."""

    name = "lattice contour"

    def __init__(
        self, loss: PrivacyLoss, lattice: CommonLattice, saddle: Saddle, nodes: int, further: float
    ) -> None:
        """Evaluate ln M at N nodes; use `lattice_contour` to choose N."""
        self.s = s = saddle.s
        self._lattice, self._g = lattice, float(lattice.spacing)
        self._period = nodes * self._g
        half = nodes // 2
        t: FloatArray = (2.0 * math.pi / self._period) * np.arange(half + 1, dtype=np.float64)
        self._z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        log_m, error = loss.log_mgf_line(s, t)
        log_weight = np.full(t.shape, math.log(2.0 / nodes))
        log_weight[0] -= math.log(2.0)
        if nodes % 2 == 0:
            log_weight[-1] -= math.log(2.0)
        self._log_w: ComplexArray = log_m + log_weight
        self._log_top = float(log_m[0].real + error[0])
        self._abs_z: FloatArray = np.abs(self._z)
        self._error: FloatArray = error + ROUNDING * (6.0 * np.abs(log_m) + 38.0 + math.log2(nodes + 2.0))
        self._r: ComplexArray = np.exp(-self._z * self._g)
        self._first: ComplexArray = self._r / -np.expm1(-self._z * self._g)
        self._second: ComplexArray = math.exp(-self._g) * self._r / -np.expm1(-(self._z + 1.0) * self._g)
        r = math.exp(-s * self._period)
        self._left = r / (1.0 - r) * (1.0 + 1e-9)
        self._supremum, self._far = loss.supremum, further
        if further:
            value, far_error = loss.log_mgf_line(further, np.zeros(1))
            log_r = -(further - s) * self._period
            log_c = float(log_chernoff_factor(np.array(further)))
            self._log_right = (
                float(value[0].real + far_error[0]) + log_c + log_r - math.log1p(-math.exp(log_r)) + 1e-9
            )

    def _terms(self, epsilon: float) -> tuple[ComplexArray, ComplexArray, FloatArray, float]:
        """Return the terms, their factor e^{...} and the sizes of the bracket's parts."""
        exact, lattice = Fraction(epsilon), self._lattice
        steps = math.floor((exact - lattice.origin) / lattice.spacing) + 1
        point = lattice.origin + steps * lattice.spacing
        gap, first_point = float(point - exact), float(point)
        factor = np.exp(self._log_w - first_point * self._z)
        fall = math.exp(-gap)
        bracket = -math.expm1(-gap) + self._first - fall * self._second
        sizes = 1.0 + np.abs(self._first) + np.abs(self._second)
        return factor * bracket, factor, sizes, first_point

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its right derivative -e^ε Q(L > ε), not certified."""
        with np.errstate(over="ignore", invalid="ignore"):
            terms, factor, _, first_point = self._terms(epsilon)
            slope = -math.exp(epsilon - first_point) * float(np.sum((factor * (1.0 + self._second)).real))
            return float(np.sum(terms.real)), slope

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper."""
        moved = self._lattice.moved
        if moved:
            margin = moved + 4.0 * math.ulp(abs(epsilon) + moved)
            return self._on_lattice(epsilon + margin)[0], self._on_lattice(epsilon - margin)[1]
        return self._on_lattice(epsilon)

    def _on_lattice(self, epsilon: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            lower, upper = self._bounds(epsilon)
        if math.isnan(lower) or math.isnan(upper):
            return 0.0, 1.0
        return (lower, upper) if lower <= upper else (0.0, 1.0)  # far from the saddle all may overflow

    def _bounds(self, epsilon: float) -> tuple[float, float]:
        terms, factor, sizes, first_point = self._terms(epsilon)
        total = float(np.sum(terms.real))
        error = self._error + 4.0 * ROUNDING * abs(first_point) * self._abs_z
        size = np.abs(factor)
        slack = float(np.sum(np.abs(terms) * np.expm1(np.minimum(error, 1.0))))
        slack += (
            float(np.sum(size * np.exp(np.minimum(error, 1.0)) * sizes * (8.0 + 8.0 * self._g * self._abs_z)))
            * ROUNDING
        )
        large = error > 1.0
        if large.any():
            logs = self._log_w.real[large] - first_point * self.s + error[large]
            slack += float(np.sum(np.exp(logs) * sizes[large]))
        if self._lattice.moved:
            log_scale = self._log_top - self.s * first_point
            scale = math.inf if log_scale > 700.0 else math.exp(log_scale) * 2.0 / self._period * self._g
            slack += scale * float(np.sum(np.expm1(self._abs_z * self._lattice.moved) * sizes))
        slack *= 1.0 + 1e-9
        right = 0.0
        if epsilon + self._period * (1.0 - 1e-12) < self._supremum:
            right = (
                math.exp(min(700.0, self._log_right - self._far * epsilon * (1.0 - 1e-12)))
                if self._far
                else 1.0
            )
        return max(0.0, total - slack - self._left - right), min(1.0, total + slack)


def lattice_contour(
    line: TiltedLoss, saddle: Saddle, tolerance: float, most_points: int = _MOST_NODES
) -> LatticeContour | None:
    """Return the engine with aliases below tolerance·δ, or None without a lattice of moderate size."""
    loss = line.loss
    values = loss.lattice
    if values is None:
        return None
    period, further = line.period(saddle, tolerance)
    if math.isinf(period):  # no ε that is so large has a lattice
        return None
    lattice = common_lattice(values, Fraction(period) / most_points)
    if lattice is None:
        return None
    if loss.displaced:
        lattice = CommonLattice(lattice.origin, lattice.spacing, lattice.moved + 1.001 * loss.displaced)
    nodes = math.ceil(period / float(lattice.spacing)) + 2
    return LatticeContour(loss, lattice, saddle, nodes, further) if nodes <= most_points else None
