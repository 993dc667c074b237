"""The privacy loss of Laplace noise on a sample: one law under one of both data sets, tilted in one or two ways."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.log_sum import log_mixture, log_sum
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.quadrature import REAL_AXIS, Panels
from mechanisms.rounding import up

_HALVINGS = 3
"""Of the interval in which the widest panel with a small error is looked for, in the logarithm."""


class SampledPair(enum.Enum):
    """Pairs: of a Poisson sample a record is removed, added or replaced; of a sample of fixed size one is replaced."""

    REMOVED = "removed"
    ADDED = "added"
    REPLACED = "replaced"
    FIXED_SIZE = "fixed size"


@dataclass(frozen=True)
class SampledLaplaceLoss(PrivacyLoss):
    """Loss of Laplace noise on a sample with rate q, for a record that is removed, added or replaced.

    Let P and Q be Laplace laws of scale 1, e apart. Under Q the loss l0 = ln P/Q is e with probability e^{-e}/2, -e
    with probability 1/2, and has density e^{-(e+l0)/2}/4 between. With m(l0) = ln(1-q + q e^{l0}), A(w) = E_Q[e^{wm}]:

    - *removed*, the pair ((1-q) Q + q P, Q): L = m, and M(z) = A(z+1);
    - *added*, its reverse: L = -m, and M(z) = A(-z);
    - *replaced*, ((1-q) F(x) + q F(x-e), (1-q) F(x) + q F(x+e)), F Laplace noise: with c = m(-e) the loss is
      m(2x-e) - c for noise x in (0, e), m(e) - c beyond, and x < 0 mirrors it:
      M(z) = e^{-zc} Ã(z+1) + e^{(z+1)c} Ã(-z), Ã being A without the atom at -e;
    - *fixed size* (`mechanisms.fixed_size_loss`): M(z) = H(z+1) + H(-z) + (1-q)(1 - e^{-e/2}), H being A for l0 > 0.

    **Theorem** (the pair of a replaced record). Let a query of one coordinate move by at most D when a record joins or
    leaves the sample, each record taking part with probability q, under symmetric log-concave noise. For replacing one
    record by another the mechanism is dominated, at every real ε, by the pair with movements D and -D.

    *Proof.* As for Gaussian noise (`PoissonReplacedProfile`), for w >= 1, δ = E_u(q - c_0 X - c_1 Y)^+ with
    X = dN_0/dN_u and Y = dN_v/dN_u. By symmetry the law of X depends on |u| only, that of Y on |u-v| only. With 0 and v
    on the same side of u both are monotone in the noise (log-concavity), so c_0 X + c_1 Y is largest in convex order:
    such u, v are worst for given distances. There the best set is [τ, ∞) or (-∞, τ], and its value increases in both
    distances, as the tails do: |u| = D, |u-v| = 2D. For w < 1 exchange the data sets. []

    *Quadrature.* The integral of e^{bm}, b = z+1 or -z, is taken by Gauss-Legendre rules on panels of half-width H
    (`Panels`). With α = H (r - 1/r) / 2 < π, |Im l0| <= α in the ellipse: there |Im m| <= α, and Re m lies between
    m' + ln(1 - 4κ(1-κ) sin²(α/2)) / 2 and m' = m(Re l0), κ = dm/dl0 at Re l0. Where κ < 1/2 even |Im m| <= κα: at
    y = Im l0 >= 0 dm/dl0 has the real part (κ² + κ(1-κ) cos y) / |1 - κ + κ e^{iy}|², which grows with cos y up to κ,
    and Im m is not negative. Panels far from the end where e^{bm} is largest, with less than e^{-50} of M, are left
    out.

    Parameters
    ----------
    rate : float
        q in (0, 1).
    epsilon : Fraction
        e, the largest loss of the Laplace mechanism, positive: of a record that joins or leaves a Poisson sample, or of
        one that is replaced in a sample of fixed size.
    pair : SampledPair
        Which pair.
    """

    rate: float
    epsilon: Fraction
    pair: SampledPair = SampledPair.REMOVED

    @cached_property
    def _e(self) -> float:
        return up(self.epsilon)

    @cached_property
    def _start(self) -> float:
        """The least l0 of the density."""
        return 0.0 if self.pair is SampledPair.FIXED_SIZE else -self._e

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return m at both ends of the density."""
        low, high = log_mixture(self.rate, np.array([self._start, self._e])).tolist()
        return low, high

    @cached_property
    def _shift(self) -> float:
        """Return c, or 0."""
        return self._ends[0] if self.pair is SampledPair.REPLACED else 0.0

    @cached_property
    def _signs(self) -> tuple[int, ...]:
        """The signs of m - c in the loss: 1 where its law is tilted by b = z + 1, and -1 by b = -z."""
        one = {SampledPair.REMOVED: (1,), SampledPair.ADDED: (-1,)}
        return one.get(self.pair, (1, -1))

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Return the least and the largest m - c, rounded outwards."""
        low, high = (end * (1.0 + 16 * ROUNDING) for end in self._ends)
        return (0.0, high - low) if self.pair is SampledPair.REPLACED else (low, high)

    @property
    def supremum(self) -> float:
        """The largest ±(m - c), rounded up."""
        low, high = self._range
        return -low if self.pair is SampledPair.ADDED else high

    @property
    def infimum(self) -> float:
        """The least ±(m - c), rounded down."""
        low, high = self._range
        return low if self.pair is SampledPair.REMOVED else -high

    def _panels(self, b: float, height: float) -> Panels:
        """Return panels of the density, narrow where e^{bm} is large."""
        e, start = self._e, self._start
        whole, odds = e - start, (1.0 - self.rate) / self.rate
        largest = 1.0 / (1.0 + odds * math.exp(-e))
        top = self._ends[1 if b >= 0.0 else 0]

        def half_width(begin: float, most: float) -> float:
            """Return that of a panel that begins so far from the end where e^{bm} is largest."""

            def enough(own: float) -> float:  # how steep m is depends on how far the panel's ellipse goes
                furthest = (
                    e - begin + (REAL_AXIS - 1.0) * own
                    if b >= 0.0
                    else start + begin + (REAL_AXIS + 1.0) * own
                )
                kappa = 1.0 / (1.0 + odds * math.exp(-furthest))
                steep = kappa if kappa < 0.5 else 1.0
                bend = 1.0 - (1.0 - 2.0 * min(kappa, 0.5)) ** 2
                curved = math.sqrt(10.0 / max(-b * bend, 1e-300)) if b < 0.0 else most
                return min(most, 16.0 / (height * steep + 1.0), curved)

            most = min(most, 0.6)
            low = enough(most)
            high = enough(low)
            for _ in range(_HALVINGS if high > low else 0):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if enough(middle) >= middle else (low, middle)
            return low

        half, distance = [min(half_width(0.0, 0.5 * whole), 5.0 / max(abs(b) * largest, 1e-300))], 0.0
        while distance + 2.0 * half[-1] < whole * (1.0 - 1e-12):
            distance += 2.0 * half[-1]
            at = e - distance if b >= 0.0 else start + distance
            if abs(b) * abs(top - float(log_mixture(self.rate, np.array(at)))) >= 51.0 + e:
                break  # what is left is below 2e^{-51} of the larger atom, or below e^{-51}
            own = half_width(distance, 0.5 * distance)
            rest = 0.5 * (whole - distance)
            half.append(rest if own > 0.7 * rest else own)
        halves = np.array(half)
        near = np.concatenate(([0.0], np.cumsum(2.0 * halves)[:-1])) + halves
        return Panels(e - near if b >= 0.0 else start + near, halves)

    def _log_atoms(self, s: float) -> list[tuple[float, float, float]]:
        """Return l0, L and ln(mass e^{sL}) of the atoms."""
        e, q, (low, high), found = self._e, self.rate, self._ends, []
        for sign in self._signs:
            b = s + 1.0 if sign > 0 else -s
            found.append(
                (e, sign * (high - self._shift), b * high + (1.0 - b) * self._shift - e - math.log(2.0))
            )
            if len(self._signs) == 1:
                found.append((-e, sign * low, b * low - math.log(2.0)))
        if self.pair is SampledPair.FIXED_SIZE:
            found.append((0.0, 0.0, math.log1p(-q) + math.log(-math.expm1(-0.5 * e))))
        return found

    def _masses(self, s: float, height: float) -> tuple[FloatArray, FloatArray, FloatArray, list[Panels]]:
        """Return l0, L and ln(mass e^{sL}) of atoms and nodes, and the panels of the nodes, for each sign."""
        parts, rules = [np.array(self._log_atoms(s)).T], []
        for sign in self._signs:
            b = s + 1.0 if sign > 0 else -s
            rules.append(self._panels(b, height))
            nodes, log_weights = rules[-1].rule()
            m = log_mixture(self.rate, nodes)
            log_mass = log_weights - 0.5 * (self._e + nodes) - math.log(4.0)
            logs = log_mass + b * m + (1.0 - b) * self._shift
            parts.append(np.array([nodes, sign * (m - self._shift), logs]))
        l0, losses, log_masses = np.concatenate(parts, axis=1)
        return l0, losses, log_masses, rules

    def _quadrature_error(self, s: float, height: float, rules: list[Panels]) -> float:
        """Return it over M(s), which is at least 1 and at least the largest atom's share."""
        floor, error = max(0.0, *(log_mass for _, _, log_mass in self._log_atoms(s))), 0.0
        for sign, panels in zip(self._signs, rules, strict=True):
            b = s + 1.0 if sign > 0 else -s
            angles, reach = panels.height, panels.reach
            growth = b * log_mixture(self.rate, panels.centres + (reach if b >= 0.0 else -reach))
            kappa = 1.0 / (1.0 + (1.0 - self.rate) / self.rate * np.exp(-panels.centres - reach))
            growth = growth + (1.0 - b) * self._shift + angles * height * np.where(kappa < 0.5, kappa, 1.0)
            if b < 0.0:
                bend = 1.0 - (1.0 - 2.0 * np.minimum(kappa, 0.5)) ** 2  # 4 κ(1-κ) at its largest
                growth = growth + 0.5 * b * np.log1p(-bend * np.sin(0.5 * angles) ** 2)
            logs = growth - 0.5 * (self._e + panels.centres - reach) - math.log(4.0)
            error += math.exp(min(700.0, panels.log_error(logs) - floor)) + 2.0 * math.exp(-50.0)
        return error

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        e, q, start = self._e, self.rate, self._start
        (low, top), total = self._ends, 0.0
        for sign in self._signs:
            # Of m, within the panels.
            fall = min((51.0 + e) / (s + 1.0 if sign > 0 else max(s, 1e-300)), top - low)
            if sign > 0:
                end = math.exp(top - fall) - (1.0 - q)
                length = e - math.log(end / q) if end > q * math.exp(start) else e - start
            else:
                length = math.log1p((1.0 - q + q * math.exp(start)) * math.expm1(fall) / q * math.exp(-start))
            total += 3.2 * (10.0 + 0.85 * min(length, e - start) + fall * (height + 1.0) / 16.0)
        return total

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum over the atoms and the quadrature nodes.

        Nodes and weights of rules are taken to be within 1e-14 (relative to the half-width, below 1, and to the
        weight).
        """
        height = float(t[-1])
        l0, losses, log_masses, rules = self._masses(s, height)
        slope = 1.0 / (1.0 + (1.0 - self.rate) / self.rate * np.exp(-l0))  # dm/dl0
        inner = slope * (4.0 * np.abs(l0) * ROUNDING + 1e-14) + 4.0 * ROUNDING * np.abs(losses)
        if self._shift:
            inner = inner + 4.0 * ROUNDING * (self._e + 2.0 * abs(self._shift))
        relative = ROUNDING * (20.0 + 4.0 * np.abs(log_masses)) + 2e-14
        relative = relative + (s + 1.0 + height) * inner
        error = self._quadrature_error(s, height, rules)
        return fourier_of_masses(log_masses, losses, relative, error, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, one rule for each s."""
        return np.array([float(log_sum(self._masses(own, 0.0)[2])) for own in s.tolist()])

    def _variation(self, sign: int, s: float, log_m: float) -> float:
        """Return ρ(l-) + ρ(l+) + TV ρ of a tilted density over M(s).

        ln ρ = -3 l0/2 + (b+1) m + const is convex in l0 for b + 1 > 0 (dm/dl0 increases) and decreasing otherwise, so
        TV is found from both ends and the minimum.
        """
        b, e, q = s + 1.0 if sign > 0 else -s, self._e, self.rate

        def density(l0: float) -> float:
            log_ratio = float(log_mixture(self.rate, np.array(l0)))
            rest = (1.0 - b) * self._shift - math.log(4.0 * q) - log_m
            return math.exp(min(600.0, -0.5 * e - 1.5 * l0 + (b + 1.0) * log_ratio + rest))

        ends = [density(self._start), density(e)]
        low = min(ends)
        if b + 1.0 > 1.5:
            # dm/dl0 = q e^{l0} / (1-q + q e^{l0}) = κ = 1.5 / (b+1)
            kappa = 1.5 / (b + 1.0)
            bottom = math.log(kappa / (1.0 - kappa) * (1.0 - q) / q)
            if self._start < bottom < e:
                low = min(low, density(bottom))
        return 2.0 * sum(ends) - 2.0 * low

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound: the atoms in full, the densities ρ by their variation.

        A density of bounded variation on [l-, l+] has |transform| <= (ρ(l-) + ρ(l+) + TV ρ) / τ.
        """
        log_m = self.log_top(s)
        variation = sum(self._variation(sign, s, log_m) for sign in self._signs)
        atoms = math.fsum(math.exp(log_mass - log_m) for _, _, log_mass in self._log_atoms(s))
        density = np.maximum(0.0, 1.0 - atoms)
        decayed = np.minimum(density, variation * (1.0 + 1e-9) / np.maximum(heights, 1e-300))
        return log_m + np.log(np.minimum(1.0, (atoms + decayed) * (1.0 + 1e-12)))
