"""The privacy loss of Laplace noise on a Poisson subsample, both directions, by certified quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.log_sum import log_mixture, log_sum
from mechanisms.neighbouring import Neighbouring
from mechanisms.point_masses import fourier_of_masses
from mechanisms.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss
from mechanisms.rounding import up

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_RATIO = 5.5  # semi-axis sum of the ellipses
_REACH = 0.5 * (_RATIO + 1.0 / _RATIO)  # their real semi-axis, in half-widths


def _bend(steepness: Any) -> Any:
    """Return 4 κ(1-κ) at its largest, where κ is at most the steepness, below 1/2, or anything (1)."""
    return 1.0 - (1.0 - 2.0 * np.minimum(steepness, 0.5)) ** 2


@dataclass(frozen=True)
class SubsampledLaplaceLoss(PrivacyLoss):
    """Loss of the pair ((1-q) Q + q P, Q), or of the reversed pair if ``added``, P and Q Laplace.

    Under Q the Laplace loss l0 is ε with probability e^{-ε}/2, -ε with probability 1/2, and has density
    e^{-(ε+l0)/2}/4 between. With l = ln(1-q + q e^{l0}) and A(w) = E_Q[e^{wl}]: M(z) = A(z+1) if a record is
    removed, A(-z) if one is added.

    The integral over (-ε, ε) is taken by Gauss-Legendre rules of k = 32 points on panels of half-width H.
    A rule on [-1, 1] is off by at most (64/15) m r^{-2(k-1)} / (1 - r^{-2}) for an integrand below m in
    the Bernstein ellipse of semi-axis sum r = 5.5 (Trefethen, "Approximation theory and approximation practice",
    Thm 19.3). With α = H (r - 1/r) / 2 < π, |Im l0| <= α in the ellipse: there |Im l| <= α, and Re l lies between
    l' + ln(1 - 4κ(1-κ) sin²(α/2)) / 2 and l' = ln(1-q + q e^{Re l0}), κ = dl/dl0 at Re l0. Where κ < 1/2 even
    |Im l| <= κα: at y = Im l0 >= 0 dl/dl0 has the real part (κ² + κ(1-κ) cos y) / |1 - κ + κ e^{iy}|², which grows with
    cos y up to κ, and Im l is not negative. Panels far from the end where e^{bl} is largest, with less than e^{-50}
    of A, are left out.

    Parameters
    ----------
    rate : float
        Sampling rate q in (0, 1).
    epsilon : Fraction
        Largest loss of the Laplace mechanism, positive.
    added : bool
        The direction.
    """

    rate: float
    epsilon: Fraction
    added: bool = False

    @property
    def neighbouring(self) -> Neighbouring:
        """Adding or removing a record."""
        return Neighbouring.ADD_OR_REMOVE

    @cached_property
    def _e(self) -> float:
        return up(self.epsilon)

    def _mixture(self, l0: FloatArray) -> FloatArray:
        return log_mixture(self.rate, l0)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Return the least and largest ln(1 - q + q e^{l0}), rounded outwards."""
        low, high = self._mixture(np.array([-self._e, self._e])) * (1.0 + 16 * ROUNDING)
        return float(low), float(high)

    @property
    def supremum(self) -> float:
        """ln(1-q + q e^ε) if removed, -ln(1-q + q e^{-ε}) if added."""
        return -self._range[0] if self.added else self._range[1]

    @property
    def infimum(self) -> float:
        """Minus the other direction's supremum."""
        return -self._range[1] if self.added else self._range[0]

    def _steepness(self, furthest: FloatArray) -> FloatArray:
        """Return a bound on |Im l| / |Im l0| where Re l0 is at most ``furthest``: κ there, which increases, or 1."""
        steepest = self._slope(furthest)
        return np.where(steepest < 0.5, steepest, 1.0)

    def _slope(self, l0: FloatArray) -> FloatArray:
        """Return κ = dl/dl0 at real l0."""
        return np.asarray(1.0 / (1.0 + (1.0 - self.rate) / self.rate * np.exp(-l0)))

    def _power(self, s: float) -> float:
        return -s if self.added else s + 1.0

    def _panels(self, b: float, height: float) -> tuple[FloatArray, FloatArray]:
        """Return centres and half-widths of panels of (-ε, ε), narrow where e^{bl} is large."""
        e = self._e
        largest = float(self._slope(np.array(e)))
        top = float(self._mixture(np.array(e if b >= 0.0 else -e)))

        def half_width(begin: float, most: float) -> float:
            """Return that of a panel that begins so far from the end where e^{bl} is largest."""
            most = own = min(most, 0.6)
            for _ in range(2):  # how steep l is depends on how far the panel's ellipse goes
                furthest = e - begin + (_REACH - 1.0) * own if b >= 0.0 else begin - e + (_REACH + 1.0) * own
                steep = float(self._steepness(np.array(furthest)))
                own = min(most, 16.0 / (height * steep + 1.0))
                if b < 0.0:
                    own = min(own, math.sqrt(10.0 / max(-b * _bend(steep), 1e-300)))
            return own

        half, distance = [min(half_width(0.0, e), 5.0 / (abs(b) * largest))], 0.0
        while distance + 2.0 * half[-1] < 2.0 * e * (1.0 - 1e-12):
            distance += 2.0 * half[-1]
            at = e - distance
            if abs(b) * abs(top - float(self._mixture(np.array(at if b >= 0.0 else -at)))) >= 51.0 + e:
                break  # what is left is below 2e^{-51} of the larger atom
            own = half_width(distance, 0.5 * distance)
            rest = e - 0.5 * distance
            half.append(rest if own > 0.7 * rest else own)
        halves = np.array(half)
        near = np.concatenate(([0.0], np.cumsum(2.0 * halves)[:-1]))
        inner = e - near - halves
        return (inner if b >= 0.0 else -inner), halves

    def _rule(self, s: float, height: float) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return l0, ln(mass e^{bl}) (atoms first) and l, with the truncation error relative to A(b).

        A(b) is at least 1 (b >= 1 or b < 0) and at least the larger atom's share.
        """
        b, e = self._power(s), self._e
        centres, halves = self._panels(b, height)
        l0, log_masses, log_ratio = self._masses(b, centres, halves)
        angles = 0.5 * (_RATIO - 1.0 / _RATIO) * halves
        reach = _REACH * halves  # real semi-axes
        growth = b * self._mixture(centres + (reach if b >= 0.0 else -reach))
        steep = self._steepness(centres + reach)
        angular = angles * height * steep + (
            0.5 * b * np.log1p(-_bend(steep) * np.sin(0.5 * angles) ** 2) if b < 0.0 else 0.0
        )
        logs = growth - 0.5 * (e + centres - reach) + np.log(0.25 * halves) + angular
        log_error = (
            float(log_sum(logs)) + math.log(64.0 / 15.0 / (1.0 - _RATIO**-2)) - 62.0 * math.log(_RATIO)
        )
        floor = max(0.0, float(log_masses[0]), float(log_masses[1]))
        return l0, log_masses, log_ratio, math.exp(min(700.0, log_error - floor)) + 2.0 * math.exp(-50.0)

    def _masses(
        self, b: float, centres: FloatArray, halves: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return l0, ln(mass e^{bl}) and l: of both atoms, then of the panels' nodes."""
        e = self._e
        inner = (centres[:, None] + halves[:, None] * _NODES).ravel()
        log_inner = np.log(0.25 * halves[:, None] * _WEIGHTS).ravel() - 0.5 * (e + inner)
        l0 = np.concatenate(([e, -e], inner))
        mass = np.concatenate(([-e - math.log(2.0), -math.log(2.0)], log_inner))
        log_ratio = self._mixture(l0)
        log_masses = mass + b * log_ratio
        return l0, log_masses, log_ratio

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        b, e, q = self._power(s), self._e, self.rate
        fall = min((51.0 + e) / abs(b), self.supremum - self.infimum)  # of l, within the panels
        if b >= 0.0:
            end = math.exp(self.supremum - fall) - (1.0 - q)
            length = e - math.log(end / q) if end > q * math.exp(-e) else 2.0 * e
        else:
            length = math.log1p((1.0 - q + q * math.exp(-e)) * math.expm1(fall) / q * math.exp(e))
        return 3.2 * (10.0 + 0.85 * min(length, 2.0 * e) + fall * (height + 1.0) / 16.0)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum over both atoms and the quadrature nodes.

        Nodes and weights of Gauss-Legendre rules are taken to be within 1e-14 (relative to the half-width,
        and to the weight).
        """
        l0, log_masses, log_ratio, quadrature = self._rule(s, float(t[-1]))
        steep = np.minimum(1.0, self.rate * np.exp(l0) / np.exp(log_ratio))  # dl/dl0
        inner = steep * (4.0 * np.abs(l0) * ROUNDING + 1e-14) + 4.0 * ROUNDING * np.abs(log_ratio)
        relative = ROUNDING * (20.0 + 4.0 * np.abs(log_masses)) + 2e-14
        relative = relative + (abs(self._power(s)) + float(t[-1])) * inner
        return fourier_of_masses(log_masses, -log_ratio if self.added else log_ratio, relative, quadrature, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln A on the real line, one rule for each s."""
        out = np.empty(s.shape)
        for i, own in enumerate(s.tolist()):
            b = self._power(own)
            out[i] = log_sum(self._masses(b, *self._panels(b, 0.0))[1])
        return out

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound: both atoms in full, the density ρ by its variation.

        A density of bounded variation on [l-, l+] has |transform| <= (ρ(l-) + ρ(l+) + TV ρ) / τ. Tilted,
        ln ρ = -3 l0/2 + (b+1) l + const is convex in l0 for b + 1 > 0 (dl/dl0 increases) and decreasing
        otherwise, so TV is found from both ends and the minimum.
        """
        b, e, q = self._power(s), self._e, self.rate
        log_top, error = self.log_mgf_line(s, np.zeros(1))
        log_m = float(log_top[0].real + error[0])

        def log_density(l0: float) -> float:
            log_ratio = float(self._mixture(np.array(l0)))
            return -0.5 * e - 1.5 * l0 + (b + 1.0) * log_ratio - math.log(4.0 * q) - log_m

        def log_atom(l0: float, log_mass: float) -> float:
            return log_mass + b * float(self._mixture(np.array(l0))) - log_m

        ends = [math.exp(min(600.0, log_density(side * e))) for side in (1.0, -1.0)]
        low = min(ends)
        if b + 1.0 > 1.5:
            # dl/dl0 = q e^{l0} / (1-q + q e^{l0}) = κ = 1.5 / (b+1)
            kappa = 1.5 / (b + 1.0)
            bottom = math.log(kappa / (1.0 - kappa) * (1.0 - q) / q)
            if -e < bottom < e:
                low = min(low, math.exp(log_density(bottom)))
        variation = 2.0 * sum(ends) - 2.0 * low
        atoms = math.exp(log_atom(e, -e - math.log(2.0))) + math.exp(log_atom(-e, -math.log(2.0)))
        density = np.maximum(0.0, 1.0 - atoms)
        decayed = np.minimum(density, variation * (1.0 + 1e-9) / np.maximum(heights, 1e-300))
        return log_m + np.log(np.minimum(1.0, (atoms + decayed) * (1.0 + 1e-12)))
