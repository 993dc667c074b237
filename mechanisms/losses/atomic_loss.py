"""Privacy losses with finitely many values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.losses.oscillation import Oscillations
from mechanisms.losses.point_masses import fourier_of_masses
from mechanisms.losses.privacy_loss import (
    ROUNDING,
    CeilingLaw,
    ComplexArray,
    LatticeValues,
    LossSum,
    PrivacyLoss,
    SampledPair,
    log1p_complex,
)
from mechanisms.numerics.log_sum import log_mixture, log_sum
from mechanisms.numerics.rounding import multiply_up, up

_FEW = 8
_LEFT_OUT = 4e-304
"""More than is added to a mass besides its relative error: binomial outputs too rare to be summed."""


@dataclass(frozen=True)
class AtomicLoss(PrivacyLoss):
    """A loss with values ``losses[j]`` of probability ``probabilities[j]``: M(z) = Σ p_j e^{z l_j}.

    Probabilities are taken to carry a relative error of u (8 + 2 |ln p|), as they come from an exponential, or of
    ``relative_rounding``, if that is more.

    Parameters
    ----------
    losses : tuple of Fraction
        Distinct values.
    probabilities : tuple of float
        Their probabilities; with ``mass`` they add up to one.
    mass : float
        Probability of an infinite loss.
    relative_rounding : float
        Relative rounding error of each probability, and of ``mass``.
    displaced : float
        Largest distance of a true value from the one given (0: they are exact).
    mirrored : bool
        True if the mass of -l is, exactly, that of l times e^{-l}, for every l.
    """

    losses: tuple[Fraction, ...]
    probabilities: tuple[float, ...]
    mass: float = 0.0
    relative_rounding: float = 0.0
    displaced: float = 0.0
    mirrored: bool = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.losses, self.probabilities, self.mass, self.displaced))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray]:
        """Values and log probabilities of the atoms of positive probability."""
        kept = [(float(loss), p) for loss, p in zip(self.losses, self.probabilities, strict=True) if p > 0.0]
        values, masses = np.array(kept, dtype=np.float64).reshape(-1, 2).T
        return np.ascontiguousarray(values), np.log(masses)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        off = Fraction(self.displaced)
        return -up(off - min(self.losses)), up(max(self.losses) + off)

    @property
    def supremum(self) -> float:
        """The largest value, rounded up."""
        return self._ends[1]

    @property
    def infimum(self) -> float:
        """The smallest value, rounded down."""
        return self._ends[0]

    @property
    def infinite_mass(self) -> float:
        """Probability of an infinite loss."""
        return self.mass

    @property
    def least_infinite_mass(self) -> float:
        """Probability of an infinite loss, rounded down."""
        return max(0.0, self.mass * (1.0 - 64 * ROUNDING - self.relative_rounding) - _LEFT_OUT)

    @cached_property
    def _lattice(self) -> LatticeValues:
        return ((tuple(sorted(self.losses)), 1),)

    @property
    def lattice(self) -> LatticeValues | None:
        """All values; None if they are rounded and many, and so on no lattice."""
        return None if self.displaced and len(self.losses) > _FEW else self._lattice

    @cached_property
    def _below_ceiling(self) -> CeilingLaw | None:
        pairs = sorted(zip(self.losses, self.probabilities, strict=True), reverse=True)
        if self.displaced or not pairs[0][1] > 0.0:
            return None  # values are rounded, or the largest one's probability has vanished
        top = pairs[0][0]
        atoms = tuple((top - loss, p) for loss, p in pairs if p > 0.0)
        # One rounding for each product, and one for each of the products that are added.
        rounding = self.relative_rounding + ROUNDING * (12.0 - 2.0 * math.log(atoms[-1][1]) + len(atoms))
        return CeilingLaw(((top, 1),), (), ((atoms, 1),), rounding)

    @property
    def below_ceiling(self) -> CeilingLaw | None:
        """The distances of all atoms from the largest."""
        return self._below_ceiling

    def cost(self, s: float, height: float) -> float:
        """One for each value, at a tenth (a matrix product)."""
        return 1.0 + 0.1 * len(self.losses)

    def on_sample(self, rate: float, pair: SampledPair, size: int = 1) -> PrivacyLoss | None:
        """Return the loss of one record on a sample that is not replaced in a Poisson sample: atoms stay atoms."""
        if pair is SampledPair.FIXED_SIZE:
            return self._in_fixed_size(rate)
        known = size == 1 and pair is not SampledPair.REPLACED
        return self._in_poisson_sample(rate, pair is SampledPair.ADDED) if known else None

    def _in_poisson_sample(self, rate: float, added: bool) -> PrivacyLoss | None:
        """Return the loss of the pair on a Poisson subsample; atoms stay atoms. None if the reverse differs.

        The atom at l has the mass under Q that -l has under P, and the loss ln(1-q + q e^l) under the mixture
        (1-q) Q + q P. What only Q can output has loss ln(1-q), and the mass of an infinite loss.
        """
        if not self.symmetric:
            return None
        of = dict(zip(self.losses, self.probabilities, strict=True))
        mixed: dict[Fraction, float] = {}

        def add(loss: float, own: float) -> None:
            value = float(log_mixture(rate, np.array(loss)))
            key = Fraction(-value if added else value)
            mixed[key] = mixed.get(key, 0.0) + own

        for loss, p in of.items():
            under_q = of.get(-loss, 0.0)
            add(float(loss), under_q if added else (1.0 - rate) * under_q + rate * p)
        if self.mass > 0.0:
            add(-math.inf, self.mass if added else (1.0 - rate) * self.mass)
        mass = 0.0 if added else multiply_up(rate, self.mass)
        return AtomicLoss(tuple(mixed), tuple(mixed.values()), mass, *self._sampled_rounding)

    @cached_property
    def symmetric(self) -> bool:
        """True if (Q, P) has the same loss as (P, Q), up to rounding: the mass of -l is that of l times e^{-l}."""
        if self.mirrored:
            return True
        of = dict(zip(self.losses, self.probabilities, strict=True))
        error = max(self.relative_rounding, ROUNDING * (16.0 - 4.0 * float(np.min(self._arrays[1]))))
        for loss, p in of.items():
            if loss < 0 and -loss in of:
                continue  # checked from the other side
            expected = p * math.exp(-min(float(loss), 745.0))
            allowed = 2.0 * (error + self.displaced + 4.0 * ROUNDING * float(loss)) * expected + 1e-300
            if loss < 0 or abs(of.get(-loss, 0.0) - expected) > allowed:
                return False
        return True

    @property
    def _sampled_rounding(self) -> tuple[float, float]:
        """Return the relative rounding of a sampled loss's probabilities, and the displacement of its values.

        l -> ln(1-q + q e^l) is no expansion, and its parts have a few roundings each.
        """
        size = max(abs(float(loss)) for loss in self.losses)
        own = max(self.relative_rounding, ROUNDING * (8.0 - 2.0 * float(np.min(self._arrays[1]))))
        displaced = math.nextafter(
            self.displaced + 12 * ROUNDING * size, math.inf
        )  # denormal values are, too
        return own + ROUNDING * (12.0 + 4.0 * min(size, 700.0)), displaced

    def _in_fixed_size(self, rate: float) -> PrivacyLoss:
        """Return the loss on a sample of fixed size when one record is replaced; atoms stay atoms.

        A positive loss l of mass p, p e^{-l} under Q, becomes m = ln(1-q + q e^l) with mass (1-q) p e^{-l} + q p
        and -m with mass p e^{-l}; (1-q) (p - p e^{-l}) of it has none, as the mass that had none before.
        """
        mixed: dict[Fraction, float] = {}
        without = [(1.0 - rate) * self.mass]
        for loss, p in zip(self.losses, self.probabilities, strict=True):
            if loss <= 0:
                without += [p] if loss == 0 else []
                continue
            without.append((1.0 - rate) * p * -math.expm1(-min(float(loss), 745.0)))
            under_q = p * math.exp(-float(loss)) if loss < 700 else 0.0
            value = Fraction(float(log_mixture(rate, np.array(float(loss)))))
            mixed[value] = mixed.get(value, 0.0) + (1.0 - rate) * under_q + rate * p
            mixed[-value] = mixed.get(-value, 0.0) + under_q
        mass = multiply_up(rate, self.mass)
        nothing = Fraction(0)  # where a loss has become too small for a float, too
        mixed[nothing] = mixed.get(nothing, 0.0) + math.fsum(without)
        relative, displaced = self._sampled_rounding
        return AtomicLoss(tuple(mixed), tuple(mixed.values()), mass, relative, displaced)

    @cached_property
    def _own_sum(self) -> _AtomicLossSum | None:
        """The sum of this loss alone, if it has few atoms."""
        return _AtomicLossSum((self,), (1,)) if len(self.losses) <= _FEW else None

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the tilted sum; see `fourier_of_masses`, and of few atoms `_AtomicLossSum`."""
        if self._own_sum is not None:
            return self._own_sum.log_mgf_line(s, t)
        values, log_p = self._arrays
        relative = np.maximum(ROUNDING * (8.0 + 2.0 * np.abs(log_p)), self.relative_rounding)
        relative = relative + ROUNDING * (4.0 + np.abs(log_p) + 3.0 * s * np.abs(values))
        moved = np.expm1(np.minimum(self.displaced * np.hypot(s, t), 700.0)) if self.displaced else 0.0
        return fourier_of_masses(log_p + s * values, values, relative, moved, t)

    def log_lattice_envelope(self, s: float, heights: FloatArray, spacing: Fraction) -> FloatArray:
        """Return ln(M(s) √(1 - 2α (1 - cos dτ))), α the sum of products of tilted masses a spacing d apart.

        With w_j the tilted masses |M(s+it) / M(s)|² = 1 - Σ_{jk} w_j w_k (1 - cos((x_j-x_k) t)), of which only
        neighbours are kept; their cosine falls up to π/d.
        """
        top, order = self.log_top(s), np.argsort(self._arrays[0], kind="stable")
        values, log_p = (column[order] for column in self._arrays)
        beside = np.array([gap == spacing for gap in self._gaps], dtype=np.bool_)
        logs = log_p + s * values
        logs = logs - log_sum(logs)
        alpha = float(np.sum(np.exp(logs[:-1] + logs[1:])[beside])) * (1.0 - 1e-9)
        turned = np.sin(0.5 * np.minimum(float(spacing) * heights, math.pi)) ** 2
        return np.asarray(top + 0.5 * np.log1p(-np.minimum(4.0 * alpha * turned, 1.0 - 1e-9)))

    @cached_property
    def _gaps(self) -> list[Fraction]:
        """Differences of neighbouring losses that have a probability."""
        exact = sorted(loss for loss, p in zip(self.losses, self.probabilities, strict=True) if p > 0.0)
        return [b - a for a, b in pairwise(exact)]

    def oscillations(self, s: float) -> Oscillations | None:
        """Return the oscillations of all pairs of atoms if the atoms are few, else None."""
        return None if self._own_sum is None else self._own_sum.oscillations(s)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln Σ p_j e^{s l_j}."""
        if self._own_sum is not None:
            return self._own_sum.log_mgf_real(s)
        values, log_p = self._arrays
        return np.asarray(log_sum(log_p[:, None] + values[:, None] * s, axis=0))

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Return the sum; that of several losses with few atoms each takes their transforms at once."""
        own = [(loss, n) for loss, n in zip(losses, counts, strict=True) if isinstance(loss, AtomicLoss)]
        few = [(loss, n) for loss, n in own if len(loss.losses) <= _FEW]
        if len(few) < 2:
            return LossSum(tuple(losses), tuple(counts))
        small = _AtomicLossSum(tuple(loss for loss, _ in few), tuple(n for _, n in few))
        rest = [(loss, n) for loss, n in own if len(loss.losses) > _FEW]
        if not rest:
            return small
        return LossSum((small, *(loss for loss, _ in rest)), (1, *(n for _, n in rest)))


@dataclass(frozen=True)
class _AtomicLossSum(LossSum):
    """The sum of independent losses with few atoms each, their transforms in arrays."""

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return values, log probabilities (-inf where there is no atom) and their errors; displacements; counts."""
        shape = len(self.losses), _FEW
        values, log_p = np.zeros(shape), np.full(shape, -np.inf)
        relative = np.zeros(shape)
        for i, loss in enumerate(self.losses):
            assert isinstance(loss, AtomicLoss)
            own, logs = loss._arrays
            values[i, : own.size], log_p[i, : own.size] = own, logs
            relative[i] = loss.relative_rounding
        used = np.maximum(1, np.max(np.count_nonzero(log_p > -np.inf, axis=1)))
        values, log_p, relative = (table[:, :used] for table in (values, log_p, relative))
        size = np.where(log_p > -np.inf, np.abs(log_p), 0.0)
        relative = np.maximum(ROUNDING * (8.0 + 2.0 * size), relative) + ROUNDING * (8.0 + 2.0 * size)
        displaced = np.array([loss.displaced for loss in self.losses])
        return values, log_p, relative, displaced, np.array(self.counts, dtype=np.float64)

    def cost(self, s: float, height: float) -> float:
        """One for each atom."""
        return float(self._table[0].size)

    def _tilted(self, s: float) -> tuple[FloatArray, FloatArray]:
        """Return each loss's probabilities tilted by e^{sl}, which add up to one, and ln of its M(s)."""
        values, log_p = self._table[:2]
        logs = log_p + s * values
        top = np.max(logs, axis=1)
        weights = np.exp(logs - top[:, None])
        total = np.sum(weights, axis=1)
        return weights / total[:, None], top + np.log(total)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return the sum of n_i ln M_i: of losses that are small at this tilt by M_i - 1, of others by tilted sums."""
        n, near = self._table[4], (s + 1.0) * np.max(np.abs(self._table[0]), axis=1) <= 1.0
        value, bound = np.zeros(t.size, dtype=np.complex128), np.zeros(t.size)
        for rows, method in ((near, self._logs_near_one), (~near, self._logs_by_tilting)):
            if rows.any():
                logs, error = method(rows, s, t)
                value += n[rows] @ logs
                bound += n[rows] @ (error + ROUNDING * (np.count_nonzero(rows) + 4.0) * np.abs(logs))
        return value, bound + 2.0 * ROUNDING * np.abs(value)

    @cached_property
    def _infinite_parts(self) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Return the probabilities of infinite losses, their relative errors, and True for mirrored losses."""
        losses = [loss for loss in self.losses if isinstance(loss, AtomicLoss)]
        return (
            np.array([[loss.mass] for loss in losses]),
            np.array([[loss.relative_rounding + 64.0 * ROUNDING] for loss in losses]),
            np.array([[loss.mirrored] for loss in losses]),
        )

    def _logs_near_one(self, rows: BoolArray, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln M_i by M_i - 1 = Σ_j p_ij (e^{zl_ij} - 1) - mass, which does not cancel, and the error.

        e^w - 1 = 2 e^{w/2} sinh(w/2). If masses mirror each other l > 0 and -l together add
        4 p e^{-l/2} sinh(zl/2) sinh((z+1)l/2): it is second order in l, and so is its error, which counts multiply.
        """
        values, log_p, relative, displaced, _ = (table[rows] for table in self._table)
        mass, off_mass, mirrored = (column[rows] for column in self._infinite_parts)
        z = np.asarray(s + 1j * t)
        excess = np.zeros((len(values), t.size), dtype=np.complex128) - mass
        size = np.zeros(excess.shape) + mass * off_mass
        for j in range(values.shape[1]):
            x, p = values[:, j, None], np.exp(log_p[:, j, None])
            p = np.where(mirrored, np.where(x > 0.0, 2.0 * np.exp(-0.5 * x), 0.0), 1.0) * p
            half = 0.5 * x * z
            first = 2.0 * np.sinh(half)
            second = p * np.where(mirrored, np.sinh(half + 0.5 * x), np.exp(half))
            term = first * second
            excess += term
            # Arguments are rounded; cosh is below 1.2 here.
            turned = np.abs(half) * (np.abs(second) + np.abs(term))
            turned += np.where(mirrored, p * np.abs(half + 0.5 * x) * np.abs(first), 0.0)
            size += (relative[:, j, None] + 16.0 * ROUNDING) * np.abs(term) + 8.0 * ROUNDING * turned
        if displaced.any():
            size += 3.0 * np.expm1(np.minimum(np.outer(displaced, np.abs(z)), 700.0))
        logs = log1p_complex(np.where(np.abs(1.0 + excess) > 1e-290, excess, 1e-290 - 1.0))
        modulus = np.maximum(np.abs(1.0 + excess), 1e-300)
        error = np.log1p((size + 8.0 * ROUNDING * np.abs(excess)) / modulus) + 4.0 * ROUNDING * np.abs(logs)
        return logs, error

    def _logs_by_tilting(self, rows: BoolArray, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln M_i by tilted sums, and the error.

        φ_i = Σ_j w_ij e^{itl_ij} is off by at most Σ_j w_ij (r_ij + u (3|t l| + 3 s|l| + 24)) + (e^{|z|d} - 1), d the
        displacement, and ln M_i by the logarithm of 1 + that over |φ_i|.
        """
        values, _, relative, displaced, _ = (table[rows] for table in self._table)
        weights, log_m = (part[rows] for part in self._tilted(s))
        phi = np.zeros((len(values), t.size), dtype=np.complex128)
        for j in range(values.shape[1]):
            phi += weights[:, j, None] * np.exp(1j * np.outer(values[:, j], t))
        spread = np.sum(weights * (relative + ROUNDING * (3.0 * s * np.abs(values) + 24.0)), axis=1)
        slope = 3.0 * ROUNDING * np.sum(weights * np.abs(values), axis=1)
        error = spread[:, None] + slope[:, None] * t
        if displaced.any():
            error += np.expm1(np.minimum(np.outer(displaced, np.hypot(s, t)), 700.0))
        size = np.maximum(np.abs(phi), 1e-300)
        logs: ComplexArray = np.asarray(np.log(np.where(np.abs(phi) > 0.0, phi, 1e-300)) + log_m[:, None])
        return logs, np.log1p(error / size) + 4.0 * ROUNDING * (1.0 + np.abs(log_m[:, None]))

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln M(s): atoms do not decay."""
        return PrivacyLoss.log_envelope(self, s, heights)

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Sum of the parts."""
        return np.array([self.log_mgf_line(own, np.zeros(1))[0][0].real for own in s.tolist()])

    def oscillations(self, s: float) -> Oscillations | None:
        """Return the pairs of atoms of all losses; None if a value is displaced."""
        values, _, relative, displaced, n = self._table
        if displaced.any():
            return None
        weights, log_m = self._tilted(s)
        rounding = np.max(relative, axis=1) + 8.0 * ROUNDING * (s * np.max(np.abs(values), axis=1) + 2.0)
        i, j = np.triu_indices(values.shape[1], 1)
        amplitudes = 4.0 * weights[:, i] * weights[:, j] * (n * (1.0 - 8.0 * rounding))[:, None]
        caps = float(n @ (log_m + 4.0 * rounding + 8.0 * ROUNDING * np.abs(log_m)))
        frequencies = np.abs(values[:, i] - values[:, j])
        return Oscillations(
            float(np.sum(n)), caps, frequencies.ravel(), amplitudes.ravel(), np.zeros(0), np.zeros(0)
        )


NO_LOSS = AtomicLoss((Fraction(0),), (1.0,), mirrored=True)
"""The loss of a release that does not depend on the data."""
