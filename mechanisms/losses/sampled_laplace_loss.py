"""The privacy loss of Laplace noise on a Poisson sample, for records that are removed, added or replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.gaussian_mixture_loss import binomial_mixture
from mechanisms.losses.point_masses import fourier_of_masses
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, SampledPair
from mechanisms.numerics.log_sum import log_mixture, log_sum
from mechanisms.numerics.quadrature import REAL_AXIS, Panels
from mechanisms.numerics.rounding import up

_HALVINGS = 3
"""Halvings, in the logarithm, of the interval of widths in which the widest panel of small error is sought."""


@dataclass(frozen=True)
class LaplacePiece:
    """A part of the outputs where the loss is L = ±m, m = o + ln(p + q e^{l0}), p + q = 1.

    There l0 has density e^{λ - (e+l0)/2}/4 between its start and e, under a law under which e^{zL} is weighed by e^{bm}
    for M(z): b = z+1 for +m, -z for -m.

    Attributes
    ----------
    shares
        p and q, each to a few digits less than all.
    end, start
        e, and where l0 starts.
    sign
        1 or -1.
    offset, log_weight
        o and λ.
    off
        The error of m because of p, q and o.
    """

    shares: tuple[float, float]
    end: float
    start: float
    sign: int
    offset: float
    log_weight: float
    off: float

    def tilt(self, s: float) -> float:
        """Return b at z = s."""
        return s + 1.0 if self.sign > 0 else -s

    def log_ratio(self, l0: FloatArray) -> FloatArray:
        """Return m."""
        return self.offset + log_mean(*self.shares, l0)

    @property
    def odds(self) -> float:
        """P/q."""
        return self.shares[0] / self.shares[1]

    def slope(self, l0: FloatArray) -> FloatArray:
        """Return κ = dm/dl0."""
        return np.asarray(1.0 / (1.0 + self.odds * np.exp(-l0)))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return m at both ends."""
        low, high = self.log_ratio(np.array([self.start, self.end])).tolist()
        return low, high

    def panels(self, b: float, height: float) -> Panels:
        """Return panels of the density, narrow where e^{bm} is large.

        From the end where it is largest they go to the point where less than e^{-51} of it remains.
        """
        e, start = self.end, self.start
        whole, odds = e - start, self.odds
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
            if abs(b) * abs(top - float(self.log_ratio(np.array(at)))) >= 51.0 + e:
                break  # below 2e^{-51} of the mass outside of this end, or below e^{-51}
            own = half_width(distance, 0.5 * distance)
            rest = 0.5 * (whole - distance)
            half.append(rest if own > 0.7 * rest else own)
        halves = np.array(half)
        near = np.concatenate(([0.0], np.cumsum(2.0 * halves)[:-1])) + halves
        return Panels(e - near if b >= 0.0 else start + near, halves)

    def log_error(self, b: float, height: float, panels: Panels) -> float:
        """Return ln of the error of the panels' rules."""
        angles, reach = panels.height, panels.reach
        growth = b * self.log_ratio(panels.centres + (reach if b >= 0.0 else -reach))
        kappa = self.slope(panels.centres + reach)
        growth = growth + angles * height * np.where(kappa < 0.5, kappa, 1.0)
        if b < 0.0:
            bend = 1.0 - (1.0 - 2.0 * np.minimum(kappa, 0.5)) ** 2  # 4 κ(1-κ) at its largest
            growth = growth + 0.5 * b * np.log1p(-bend * np.sin(0.5 * angles) ** 2)
        logs = growth + self.log_weight - 0.5 * (self.end + panels.centres - reach) - math.log(4.0)
        return panels.log_error(logs)

    def masses(self, b: float, panels: Panels) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return L, ln(mass e^{bm}) at the nodes, and a bound on the error of L in units of 2^-53."""
        nodes, log_weights = panels.rule()
        m = self.log_ratio(nodes)
        logs = log_weights + self.log_weight - 0.5 * (self.end + nodes) - math.log(4.0) + b * m
        inner = self.slope(nodes) * (4.0 * np.abs(nodes) + 1e-14 / ROUNDING)
        inner = inner + 4.0 * (np.abs(m) + 2.0 * abs(self.offset)) + self.off / ROUNDING
        return self.sign * m, logs, inner

    def cost(self, s: float, height: float) -> float:
        """Return about a tenth of the number of quadrature nodes."""
        (low, top), begin = self._ends, math.exp(self.start)
        (p, q), length = self.shares, self.end - self.start
        # Of m, within the panels.
        fall = min((51.0 + self.end) / (s + 1.0 if self.sign > 0 else max(s, 1e-300)), top - low)
        if self.sign > 0:
            end = math.exp(top - self.offset - fall) - p
            kept = self.end - math.log(end / q) if end > q * begin else length
        else:
            kept = math.log1p((p + q * begin) * math.expm1(fall) / q / begin)
        return 3.2 * (10.0 + 0.85 * min(kept, length) + fall * (height + 1.0) / 16.0)

    def variation(self, s: float, log_m: float) -> float:
        """Return ρ(l-) + ρ(l+) + TV ρ of the tilted density of the loss, over M(s).

        ln ρ = -3 l0/2 + (b+1) m + const is convex in l0 for b + 1 > 0 (dm/dl0 increases) and decreasing otherwise, so
        TV is found from both ends and the minimum.
        """
        b, e = self.tilt(s), self.end
        rest = self.log_weight - self.offset - math.log(4.0 * self.shares[1]) - log_m

        def density(l0: float) -> float:
            log_ratio = float(self.log_ratio(np.array(l0)))
            return math.exp(min(600.0, -0.5 * e - 1.5 * l0 + (b + 1.0) * log_ratio + rest))

        ends = [density(self.start), density(e)]
        low = min(ends)
        if b + 1.0 > 1.5:
            # dm/dl0 = q e^{l0} / (p + q e^{l0}) = κ = 1.5 / (b+1)
            kappa = 1.5 / (b + 1.0)
            bottom = math.log(kappa / (1.0 - kappa) * self.odds)
            if self.start < bottom < e:
                low = min(low, density(bottom))
        return 2.0 * sum(ends) - 2.0 * low


@dataclass(frozen=True)
class SampledLaplaceLoss(PrivacyLoss):
    """Loss of Laplace noise on a sample with rate q, for records that are removed, added or replaced.

    Let P and Q be Laplace laws of scale 1, e apart. Under Q the loss l0 = ln P/Q is e with probability e^{-e}/2, -e
    with probability 1/2, and has density e^{-(e+l0)/2}/4 between. With m(l0) = ln(1-q + q e^{l0}), A(w) = E_Q[e^{wm}]:

    - *removed*, the pair ((1-q) Q + q P, Q): L = m, and M(z) = A(z+1);
    - *added*, its reverse: L = -m, and M(z) = A(-z);
    - *replaced*, ((1-q) F(x) + q F(x-e), (1-q) F(x) + q F(x+e)), F Laplace noise: with c = m(-e) the loss is
      m(2x-e) - c for noise x in (0, e), m(e) - c beyond, and x < 0 mirrors it:
      M(z) = e^{-zc} Ã(z+1) + e^{(z+1)c} Ã(-z), Ã being A without the atom at -e;
    - *fixed size* (`mechanisms.losses.fixed_size_loss`): M(z) = H(z+1) + H(-z) + (1-q)(1 - e^{-e/2}), H being A for l0
      > 0.

    *Groups of k* (`mechanisms.amplification.sampled_group`). With p_j of Bin(k, q) the pairs are (Σ_j p_j F(x-je),
    F(x)), its reverse, and (Σ_j p_j F(x-je), Σ_j p_j F(x+je)). For x in (ie, (i+1)e), i < k, Σ_j p_j F(x-je)/F(x) is α
    + β e^{l0}, l0 = 2x - (2i+1)e in (-e, e), α = Σ_{j<=i} p_j e^{je}, β = Σ_{j>i} p_j e^{(2i+1-j)e}: of the same form,
    with β/(α+β) for q, ln(α+β) added, and the density e^{-ie} times that above. For x < 0 it is e^{kc}, beyond ke it is
    e^{k m(e)}.

    *Quadrature.* The integral of e^{bm}, b = z+1 or -z, is taken by Gauss-Legendre rules on panels of half-width H
    (`Panels`). With α = H (r - 1/r) / 2 < π, |Im l0| <= α in the ellipse: there |Im m| <= α, and Re m lies between
    m' + ln(1 - 4κ(1-κ) sin²(α/2)) / 2 and m' = m(Re l0), κ = dm/dl0 at Re l0. Where κ < 1/2 even |Im m| <= κα: at
    y = Im l0 >= 0 dm/dl0 has the real part (κ² + κ(1-κ) cos y) / |1 - κ + κ e^{iy}|², which grows with cos y up to κ,
    and Im m is not negative. Panels far from the end where e^{bm} is largest, with less than e^{-50} of M, are left
    out: m increases with x, so that what lies beyond that end has at least the weight of the end itself.

    Parameters
    ----------
    rate : float
        q in (0, 1).
    epsilon : Fraction
        e, the largest loss of the Laplace mechanism, positive: of a record that joins or leaves a Poisson sample, or of
        one that is replaced in a sample of fixed size.
    pair : SampledPair
        The pair of laws.
    size : int
        k; 1 of a sample of fixed size.
    """

    rate: float
    epsilon: Fraction
    pair: SampledPair = SampledPair.REMOVED
    size: int = 1

    @cached_property
    def _e(self) -> float:
        return up(self.epsilon)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return the least and the largest ±L, without the shift of a replaced record."""
        start = 0.0 if self.pair is SampledPair.FIXED_SIZE else -self._e
        low, high = log_mixture(self.rate, np.array([start, self._e])).tolist()
        return self.size * low, self.size * high

    @cached_property
    def _shift(self) -> float:
        """Return kc, or 0."""
        return self._ends[0] if self.pair is SampledPair.REPLACED else 0.0

    @cached_property
    def _pieces(self) -> list[LaplacePiece]:
        """Return where the loss has a density: once, or for both signs."""
        e, shift = self._e, self._shift
        start = 0.0 if self.pair is SampledPair.FIXED_SIZE else -e
        more = 4.0 * ROUNDING * e if shift else 0.0
        return [
            LaplacePiece(shares, e, start, sign, offset - shift, shift - i * e, off + more)
            for sign in self._signs
            for i, (shares, offset, off) in enumerate(laplace_parts(self.rate, e, self.size))
        ]

    @cached_property
    def _signs(self) -> tuple[int, ...]:
        """The signs of m in the loss: 1 where its law is tilted by b = z + 1, and -1 by b = -z."""
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

    def _log_atoms(self, s: float) -> list[tuple[float, float]]:
        """Return L and ln(mass e^{sL}) of the atoms."""
        e, (low, high), shift, found = self._e, self._ends, self._shift, []
        for sign in self._signs:
            b = s + 1.0 if sign > 0 else -s
            log_mass = b * high + (1.0 - b) * shift - self.size * e - math.log(2.0)
            found.append((sign * (high - shift), log_mass))
            if len(self._signs) == 1:
                found.append((sign * low, b * low - math.log(2.0)))
        if self.pair is SampledPair.FIXED_SIZE:
            found.append((0.0, math.log1p(-self.rate) + math.log(-math.expm1(-0.5 * e))))
        return found

    def _masses(self, s: float, height: float) -> tuple[FloatArray, FloatArray, FloatArray, list[Panels]]:
        """Return L, ln(mass e^{sL}) and a bound on the error of L, of atoms and nodes, and the panels of each piece."""
        losses, logs = np.array(self._log_atoms(s)).T
        steep = max(float(piece.slope(np.array(self._e))) for piece in self._pieces)
        moved = steep * self.size * self._e + (self._e + 2.0 * abs(self._shift) if self._shift else 0.0)
        parts = [(losses, logs, 4.0 * (np.abs(losses) + moved))]
        rules = [piece.panels(piece.tilt(s), height) for piece in self._pieces]
        for piece, panels in zip(self._pieces, rules, strict=True):
            parts.append(piece.masses(piece.tilt(s), panels))
        losses, logs, inner = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return losses, logs, ROUNDING * inner, rules

    def _quadrature_error(self, s: float, height: float, rules: list[Panels]) -> float:
        """Return it over M(s), which is at least 1 and at least the largest atom's share."""
        floor = max(0.0, *(log_mass for _, log_mass in self._log_atoms(s)))
        error = len(rules) * 2.0 * math.exp(-50.0)
        for piece, panels in zip(self._pieces, rules, strict=True):
            error += math.exp(min(700.0, piece.log_error(piece.tilt(s), height, panels) - floor))
        return error

    def cost(self, s: float, height: float) -> float:
        """The quadrature nodes, at a tenth (a matrix product); their number grows with the height."""
        return sum(piece.cost(s, height) for piece in self._pieces)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum over the atoms and the quadrature nodes.

        Nodes and weights of rules are taken to be within 1e-14 (relative to the half-width, below 1, and to the
        weight).
        """
        height = float(t[-1])
        losses, log_masses, inner, rules = self._masses(s, height)
        relative = ROUNDING * (20.0 + 4.0 * np.abs(log_masses) + 8.0 * (self.size - 1) * self._e) + 2e-14
        relative = relative + (s + 1.0 + height) * inner
        error = self._quadrature_error(s, height, rules)
        return fourier_of_masses(log_masses, losses, relative, error, t)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M on the real line, one rule for each s."""
        return np.array([float(log_sum(self._masses(own, 0.0)[1])) for own in s.tolist()])

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound: the atoms in full, the densities ρ by their variation.

        A density of bounded variation on [l-, l+] has |transform| <= (ρ(l-) + ρ(l+) + TV ρ) / τ.
        """
        log_m = self.log_top(s)
        variation = sum(piece.variation(s, log_m) for piece in self._pieces)
        atoms = math.fsum(math.exp(log_mass - log_m) for _, log_mass in self._log_atoms(s))
        density = np.maximum(0.0, 1.0 - atoms)
        decayed = np.minimum(density, variation * (1.0 + 1e-9) / np.maximum(heights, 1e-300))
        return log_m + np.log(np.minimum(1.0, (atoms + decayed) * (1.0 + 1e-12)))


def log_mean(p: float | FloatArray, q: float | FloatArray, l0: FloatArray) -> FloatArray:
    """Return ln(p + q e^{l0}), p + q = 1, from the smaller of both."""
    less = np.asarray(q) <= 0.5
    return np.where(less, log_mixture(np.minimum(q, 0.5), l0), l0 + log_mixture(np.minimum(p, 0.5), -l0))


def laplace_parts(rate: float, e: float, size: int) -> list[tuple[tuple[float, float], float, float]]:
    """Return (α/(α+β), β/(α+β)), ln(α+β), and a bound on the error of m, for x in (ie, (i+1)e), i < k.

    See `SampledLaplaceLoss`. Each term of α and β is off by 8u (1 + |ln p_j| + |its logarithm|) of itself, sums by
    (k+4)u more, so both shares by as much: m moves by that, times the smaller share and e^e - 1 if this is less. Where
    α + β is about 1, α + β - 1 is Σ p_j (e^{...} - 1). A share below e^{-600} counts as that, which moves m by less
    than e^{e-600}, and e.
    """
    if size == 1:
        return [((1.0 - rate, rate), 0.0, 0.0)]
    movements, weights = np.array(binomial_mixture(size, rate)).T
    found = []
    for i in range(size):
        grown = e * np.where(movements <= i, movements, 2.0 * i + 1.0 - movements)
        logs = weights + grown
        terms = ROUNDING * (8.0 * (1.0 + np.abs(weights) + np.abs(logs)) + size + 4.0)
        sides = [
            (float(log_sum(logs[own])), logs[own], terms[own]) for own in (slice(i + 1), slice(i + 1, None))
        ]
        wrong = max(float(np.exp(own - total) @ off) for total, own, off in sides)
        (alpha, _, _), (beta, _, _) = sides
        apart = min(max(alpha - beta, -600.0), 600.0)
        shares = 1.0 / (1.0 + math.exp(-apart)), 1.0 / (1.0 + math.exp(apart))
        wrong += 4.0 * ROUNDING * (1.0 + abs(alpha) + abs(beta))
        moved = 2.0 * wrong * min(1.0, min(shares) * math.expm1(min(e, 700.0)))
        moved += min(e, math.exp(min(e - 600.0, 700.0)))
        parts = np.exp(weights) * np.expm1(np.minimum(grown, 700.0))
        if abs(float(np.sum(parts))) < 0.3:
            offset, off = math.log1p(float(np.sum(parts))), 2.0 * float(np.abs(parts) @ terms)
        else:
            offset, off = float(np.logaddexp(alpha, beta)), wrong
        found.append((shares, offset, off + moved))
    return found
