"""δ(ε) where all privacy losses lie on a lattice: one period of the contour, for any count.

Theorem 7. If L lies in l_0 + dZ, x the first lattice point above ε, g = x - ε in (0, d], then with m nodes
z_j = s + 2πij/(md)

    S = (1/m) Σ_{j<m} M(z_j) e^{-z_j x} k(z_j) = Σ_n δ(ε + nmd) e^{snmd},
    k(z) = ((1 - e^{-g}) + e^{-zd-g} (1 - e^{-(d-g)})) / ((1 - e^{-zd}) (1 - e^{-(z+1)d})),

n over all whole numbers: k is Σ_{i>=0} e^{-zid} (1 - e^{-g-id}), and the sum over j is an inverse discrete Fourier
transform of the tilted masses. As in Theorem 2 of `mechanisms.composition.contour` S is never below δ, and the same
aliases are subtracted for the lower end (none from the right once md exceeds L's largest value - ε).

Truncation. |k| <= 1/(1 - e^{-sd}), so that the nodes more than N from the real axis add up to at most
e^{-sx} sup |M(s+it)| / (1 - e^{-sd}), over 2πN/(md) <= t <= π/d (`PrivacyLoss.log_lattice_envelope`).

Positions. Rationals with a common step are used exactly. Otherwise every value may be moved to a lattice point
by at most η in sum; the mechanism's δ then lies between the lattice's δ(ε + η) and δ(ε - η). M is evaluated at the
original values, which is off by M(s) (e^{|z|η} - 1) at most, and no node is left out.

Rounding. Of k u (24 + 8|z|d) times what its numerator is at s, over the denominator's modulus; the exponent as in the
contour.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.composition.contour import TiltedLoss
from mechanisms.composition.saddle import Saddle, log_chernoff_factor
from mechanisms.losses.privacy_loss import ROUNDING, UNDERFLOW, ComplexArray, LatticeValues, PrivacyLoss
from mechanisms.numerics.rounding import exact_sum
from mechanisms.profiles.privacy_profile import HARDLY_ANY

_MOST_NODES = 2**18
_CLOSE = Fraction(1, 10**13)
_MOST_POINTS = 2**1000
_NODES = np.unique(np.ceil(16.0 * 1.1 ** np.arange(110.0)))
"""Numbers of nodes, in the order in which they are tried."""
_LOWER = 4.0
"""Largest distance below its saddle's ε, in 1/s, at which a contour is used."""


@dataclass(frozen=True, slots=True)
class CommonLattice:
    """Every total loss is within ``moved`` of origin + spacing · whole number."""

    origin: Fraction
    spacing: Fraction
    moved: float


def common_lattice(values: LatticeValues, least_spacing: Fraction, exactly: bool) -> CommonLattice | None:
    """Return a lattice for all releases: the exact one, else one with ratios of small whole numbers.

    None if its spacing would be below ``least_spacing``; ``exactly`` where all releases have the same, any will do.
    """
    steps = [step for own, _ in values if (step := _spacing(own))]
    exact = _largest_divisor(steps)
    if not exact or exact >= least_spacing or (exactly and exact in steps):
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
        self,
        loss: PrivacyLoss,
        lattice: CommonLattice,
        saddle: Saddle,
        points: int,
        nodes: int,
        further: float,
    ) -> None:
        """Evaluate ln M at the nodes from 0 to N of m; use `lattice_contour` to choose them."""
        self.s = s = saddle.s
        self._lattice, self._d = lattice, float(lattice.spacing)
        self._period = points * self._d
        t: FloatArray = (2.0 * math.pi / self._period) * np.arange(nodes + 1, dtype=np.float64)
        self._z: ComplexArray = np.asarray(s + 1j * t, dtype=np.complex128)
        log_m, error = loss.log_mgf_line(s, t)
        log_weight = np.full(t.shape, math.log(2.0 / points))
        log_weight[0] -= math.log(2.0)
        if 2 * nodes == points:
            log_weight[-1] -= math.log(2.0)
        self._log_w: ComplexArray = log_m + log_weight
        self._log_top = float(log_m[0].real + error[0])
        self._log_tail = -math.inf
        if nodes < points // 2:
            self._log_tail = float(loss.log_lattice_envelope(s, t[-1:], lattice.spacing)[0])
            self._log_tail -= math.log(-math.expm1(-s * self._d)) - 1e-9
        self._abs_z: FloatArray = np.abs(self._z)
        self._error: FloatArray = error + ROUNDING * (6.0 * np.abs(log_m) + 38.0 + math.log2(nodes + 2.0))
        self._fall: ComplexArray = np.exp(-self._z * self._d)
        self._beyond: ComplexArray = -np.expm1(-(self._z + 1.0) * self._d)
        self._denominator: ComplexArray = -np.expm1(-self._z * self._d) * self._beyond
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

    def _terms(self, epsilon: float) -> tuple[ComplexArray, ComplexArray, FloatArray, float, float]:
        """Return the terms, their factor e^{...}, bounds on |k|, the lattice point and the distance to it."""
        exact, lattice = Fraction(epsilon), self._lattice
        steps = math.floor((exact - lattice.origin) / lattice.spacing) + 1
        point = lattice.origin + steps * lattice.spacing
        gap, first_point = float(point - exact), float(point)
        near, far = -math.expm1(-gap), -math.exp(-gap) * math.expm1(-float(lattice.spacing - (point - exact)))
        factor = np.exp(self._log_w - first_point * self._z)
        sizes = (near + math.exp(-self.s * self._d) * far) / np.abs(self._denominator)
        return factor * ((near + self._fall * far) / self._denominator), factor, sizes, first_point, gap

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its right derivative -e^ε Q(L > ε), not certified."""
        with np.errstate(over="ignore", invalid="ignore"):
            terms, factor, _, _, gap = self._terms(epsilon)
            slope = -math.exp(-gap) * float(np.sum((factor / self._beyond).real))
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
        terms, factor, sizes, first_point, _ = self._terms(epsilon)
        total = float(np.sum(terms.real))
        error = self._error + 4.0 * ROUNDING * abs(first_point) * self._abs_z
        size = np.abs(factor)
        slack = float(np.sum(np.abs(terms) * np.expm1(np.minimum(error, 1.0))))
        kernels = size * sizes * (24.0 + 8.0 * self._d * self._abs_z) * np.exp(np.minimum(error, 1.0))
        slack += float(np.sum(kernels)) * ROUNDING
        slack += math.exp(min(700.0, self._log_tail - self.s * first_point * (1.0 - 1e-12)))
        large = error > 1.0
        if large.any():
            logs = self._log_w.real[large] - first_point * self.s + error[large]
            slack += float(np.sum(np.exp(logs) * sizes[large]))
        if self._lattice.moved:
            log_scale = self._log_top - self.s * first_point
            scale = math.inf if log_scale > 700.0 else math.exp(log_scale) * 2.0 / self._period * self._d
            slack += scale * float(np.sum(np.expm1(self._abs_z * self._lattice.moved) * sizes))
        slack = slack * (1.0 + 1e-9) + UNDERFLOW * (1.0 + 1e-12 * float(np.sum(sizes)))
        right = 0.0
        if epsilon + self._period * (1.0 - 1e-12) < self._supremum:
            right = (
                math.exp(min(700.0, self._log_right - self._far * epsilon * (1.0 - 1e-12)))
                if self._far
                else 1.0
            )
        return max(0.0, total - slack - self._left - right), min(1.0, total + slack)


def lattice_contour(
    line: TiltedLoss, saddle: Saddle, tolerance: float, most_nodes: int = _MOST_NODES
) -> LatticeContour | None:
    """Return the engine with aliases and truncation below tolerance·δ, or None if it takes too many nodes."""
    loss = line.loss
    values = loss.lattice
    if values is None:
        return None
    period, further = line.period(saddle, tolerance)
    if math.isinf(period):  # no ε that is so large has a lattice
        return None
    lattice = common_lattice(values, Fraction(period) / most_nodes, exactly=loss.displaced == 0.0)
    if lattice is None:
        return None
    if loss.displaced:
        lattice = CommonLattice(lattice.origin, lattice.spacing, lattice.moved + 1.001 * loss.displaced)
    points = math.ceil(Fraction(period) / lattice.spacing) + 2
    if float(lattice.spacing) < HARDLY_ANY or points > _MOST_POINTS:
        return None  # numbers that are none of floats, or hardly
    nodes = points // 2
    if not lattice.moved:
        heights = 2.0 * math.pi / (points * float(lattice.spacing)) * _NODES[points > 2.0 * _NODES]
        wanted = math.log(tolerance) + saddle.log_delta + line.s * saddle.epsilon - _LOWER
        wanted += math.log(-math.expm1(-line.s * float(lattice.spacing)))
        enough = np.flatnonzero(loss.log_lattice_envelope(line.s, heights, lattice.spacing) <= wanted)
        nodes = int(_NODES[enough[0]]) if enough.size else nodes
    return LatticeContour(loss, lattice, saddle, points, nodes, further) if 2 * nodes <= most_nodes else None
