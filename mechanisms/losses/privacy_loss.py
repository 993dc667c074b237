"""Privacy losses: the laws that simply add up when mechanisms are composed.

For a dominating pair (P, Q) the privacy loss is L = ln dP/dQ under P (Dwork & Rothblum 2016; Zhu, Dong, Wang
2022). If the i-th mechanism is dominated by (P_i, Q_i) given any earlier releases, the product pair
dominates the adaptive composition; its loss is the sum of independent L_i. So a composition is described
by the sum of the logarithms of M(z) = E[e^{zL}; L < ∞], and δ(ε) = P(L = ∞) + E[(1 - e^{ε-L})^+; L < ∞].
"""

from __future__ import annotations

import abc
import enum
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.losses.oscillation import Oscillations
from mechanisms.numerics.deadline import GRACE, time_is_over
from mechanisms.numerics.rounding import exact_sum

ComplexArray = npt.NDArray[np.complex128]

LEAST_DIVERGENCE = 1e-300
"""Divergences below it count as this large: they underflow, or lose digits."""
ROUNDING = 2.0**-53
"""Unit roundoff of doubles."""
UNDERFLOW = 1e-310
"""More than the errors of a sum of terms of which some, or all, are too small for floats of full precision."""


LatticeValues = tuple[tuple[tuple[Fraction, ...], int], ...]
"""The possible losses of one release, in increasing order, with its count; for each release."""


Atoms = tuple[tuple[Fraction, float], ...]
"""Places and probabilities."""


@dataclass(frozen=True)
class CeilingLaw:
    """Law of a loss below its largest finite value: L = ceiling - Σ X_i, X_i >= 0 independent.

    Attributes
    ----------
    ceilings
        The largest finite values, each with its count.
    laplace
        Parameters e of Laplace losses, with their counts: X has an atom 1/2 at 0, and the density e^{-x/2}/4 up to 2e.
    atoms
        The atoms of other X_i, increasing, with the count of such X_i.
    rounding
        Relative rounding error of the product of one probability from each atomic X_i.
    """

    ceilings: tuple[tuple[Fraction, int], ...]
    laplace: tuple[tuple[Fraction, int], ...] = ()
    atoms: tuple[tuple[Atoms, int], ...] = ()
    rounding: float = 0.0

    @cached_property
    def ceiling(self) -> Fraction:
        """The largest finite value of the sum."""
        return exact_sum(self.ceilings)

    @property
    def top_probability(self) -> float:
        """P(L = ceiling)."""
        log_top = math.fsum(n * math.log(own[0][1]) for own, n in self.atoms)
        return math.exp(log_top - math.log(2.0) * sum(n for _, n in self.laplace))

    def sums_below(self, horizon: Fraction, most: int) -> dict[Fraction, float] | None:
        """Return the sums of all atomic X_i below a number, with their probabilities; None if too many."""
        # Whole multiples of one number: sums of them are ten times as fast as those of fractions.
        unit = Fraction(1, math.lcm(*(x.denominator for own, _ in self.atoms for x, _ in own[:most])))
        end = math.ceil(horizon / unit)

        def add(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
            out: dict[int, float] = {}
            for x, p in one.items():
                for y, q in other.items():
                    if x + y < end:
                        out[x + y] = out.get(x + y, 0.0) + p * q
            return out

        total: dict[int, float] = {0: 1.0}
        for own, count in self.atoms:
            # Atoms increase; with more than most of them, so many sums lie below, too, as X >= 0.
            if len(own) > most and own[most][0] < horizon:
                return None
            power = {(x / unit).numerator: p for x, p in own[:most] if x < horizon}
            n = count
            while n:
                if n & 1:
                    total = add(total, power)
                n >>= 1
                if n:
                    power = add(power, power)
                if len(power) > most or len(total) > most:
                    return None
        return {x * unit: p for x, p in total.items()}


class SampledPair(enum.Enum):
    """Pairs of records on a sample, q their chance to be in it.

    - *removed* from a Poisson sample, ((1-q) Q + q P, Q), and *added*, its reverse (Zhu, Dong, Wang 2022, Thm 11);
    - *replaced* in a Poisson sample: `mechanisms.amplification.sampled_group.PoissonReplacedProfile`;
    - replaced in a sample of *fixed size*: `mechanisms.losses.fixed_size_loss`.
    """

    REMOVED = "removed"
    ADDED = "added"
    REPLACED = "replaced"
    FIXED_SIZE = "fixed size"


class PrivacyLoss(abc.ABC):
    """The law of a privacy loss, given by its moment generating function; a frozen, hashable value.

    Bounds are certified by these: `log_mgf_line` returns a bound on its own error, `log_envelope` a bound on |M| beyond
    a height, `supremum` and `infimum` bounds on the finite values.
    """

    @property
    def supremum(self) -> float:
        """No finite value of the loss is above this; inf if unbounded."""
        return math.inf

    @property
    def infimum(self) -> float:
        """No value of the loss is below this; -inf if unbounded."""
        return -math.inf

    @property
    def infinite_mass(self) -> float:
        """P(L = ∞)."""
        return 0.0

    @property
    def least_infinite_mass(self) -> float:
        """P(L = ∞), rounded down."""
        return self.infinite_mass * (1.0 - 64 * ROUNDING)

    @property
    def displaced(self) -> float:
        """Largest distance of the true values from those of `lattice` (never counted in `supremum` or `infimum`)."""
        return 0.0

    @property
    def precision(self) -> float:
        """A ρ with sup |M(s+it)| e^{ρt²/2} finite: the loss has an independent Gaussian part of variance ρ."""
        return 0.0

    @property
    def lattice(self) -> LatticeValues | None:
        """All values if they are finitely many, two neighbouring ones if they form a lattice; else None."""
        return None

    @property
    def below_ceiling(self) -> CeilingLaw | None:
        """Law of the finite part below its largest value, if that is known exactly."""
        return None

    @property
    def equal_laplace(self) -> tuple[Fraction, int] | None:
        """(ε, n) if this is the loss of n Laplace releases of parameter ε each; else None."""
        return None

    def cost(self, s: float, height: float) -> float:
        """Return the approximate number of complex exponentials for one value on the line at s, up to this height."""
        return 1.0

    @abc.abstractmethod
    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln M(s + it) (any branch), and E with |computed M - M| <= |computed M| (e^E - 1).

        Parameters
        ----------
        s : float
            Positive.
        t : array
            Equally spaced, starting at 0.
        """

    @abc.abstractmethod
    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Return ln M(s) at real s > 0 (inf where it overflows), to about 1e-12: for choosing, not certifying."""

    def approximation(self) -> PrivacyLoss:
        """Return a loss that is about this one, and cheaper: for choosing, not certifying."""
        return self

    @property
    def distinct_count(self) -> int:
        """Number of different losses of which this is the sum."""
        return 1

    def pieces(self, most: int) -> list[tuple[PrivacyLoss, int]]:
        """Split into independent losses, with counts, that sum to this one.

        Each is one loss or a sum of at most ``most``.
        """
        return [(self, 1)]

    def log_mgf(self, z: npt.ArrayLike) -> ComplexArray:
        """Return ln E[e^{zL}; L < ∞] at complex z with Re z > 0, element by element (any branch)."""
        points = np.asarray(z, dtype=np.complex128)
        flat = points.ravel()
        out = np.empty_like(flat)
        for i, point in enumerate(flat):
            # A line starts at height 0; the second of two nodes is the point itself.
            value, _ = self.log_mgf_line(float(point.real), np.array([0.0, abs(point.imag)]))
            out[i] = value[1] if point.imag >= 0.0 else np.conj(value[1])
        return out.reshape(points.shape)

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Return ln of a bound on sup over |t| >= τ of |M(s+it)| e^{ρt²/2}, ρ = `precision`, for each τ.

        Default: ln M(s), which bounds |M(s+it)| for every law (only if `precision` is 0).
        """
        return np.full(heights.shape, self.log_top(s))

    def log_lattice_envelope(self, s: float, heights: FloatArray, spacing: Fraction) -> FloatArray:
        """Return ln of a bound on |M(s+it)| over τ <= t <= π/d, d = ``spacing`` of the total's lattice, for each τ.

        Default: ln M(s).
        """
        return np.full(heights.shape, self.log_top(s))

    def log_top(self, s: float) -> float:
        """Return ln M(s), rounded up: as the Gaussian part is independent, |M(s+it)| e^{ρt²/2} <= M(s) for every t."""
        value, error = self.log_mgf_line(s, np.zeros(1))
        return float(value[0].real + error[0])

    def oscillations(self, s: float) -> Oscillations | None:
        """Return the oscillations of the atoms at tilt s; None if the part without atoms has no bound."""
        return None

    def renyi(self, order: npt.ArrayLike) -> FloatArray:
        """Return the Rényi divergence D_α(P‖Q) = ln M(α - 1) / (α - 1) for α > 1 (Mironov 2017), rounded up.

        An upper bound: the error of M that `log_mgf_line` certifies is added. Infinite if the loss is infinite
        with positive probability, or M beyond floats; the largest loss some time after a deadline
        (`mechanisms.numerics.deadline`).
        """
        orders = np.asarray(order, dtype=np.float64)
        if self.infinite_mass > 0.0:
            return np.full(orders.shape, np.inf)
        found = [
            self.supremum if time_is_over(GRACE) else self._divergence(float(one)) for one in orders.ravel()
        ]
        return np.array(found).reshape(orders.shape)

    def _divergence(self, order: float) -> float:
        # α - 1 is exact up to 2^53; D increases with α.
        s = order - 1.0 if order < 2.0**53 else order
        with np.errstate(over="ignore", invalid="ignore"):
            top = self.log_top(s)
        # Two roundings of the quotient are below 1e-15 of it, above what underflows. At most the largest loss.
        bound = top / s * (1.0 + 1e-15) if top < math.inf else math.inf
        return max(0.0, min(max(bound, LEAST_DIVERGENCE), self.supremum))

    def on_sample(self, rate: float, pair: SampledPair, size: int = 1) -> PrivacyLoss | None:
        """Return the loss of a pair on a sample, or None if this class has none.

        The base loss is that of one record that joins or leaves a Poisson sample, or of one of a sample of fixed size
        that is replaced; its pair (P, Q) has a reverse with the same loss.

        Parameters
        ----------
        rate
            q in (0, 1).
        pair
            The pair of laws.
        size
            For a Poisson sample, the number of records that are removed, added or replaced together.
        """
        return None

    @classmethod
    def sum_losses(cls, losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
        """Return the sum of independent losses of this class, each ``counts[i]`` times."""
        return LossSum(tuple(losses), tuple(counts))


@dataclass(frozen=True)
class LossSum(PrivacyLoss):
    """A sum of independent losses: the loss of the composition of their mechanisms."""

    losses: tuple[PrivacyLoss, ...]
    counts: tuple[int, ...]

    @cached_property
    def _terms(self) -> list[tuple[PrivacyLoss, float]]:
        return [(loss, float(n)) for loss, n in zip(self.losses, self.counts, strict=True)]

    @cached_property
    def supremum(self) -> float:
        """Sum of the suprema, rounded up."""
        return _outwards(math.fsum(loss.supremum * n for loss, n in self._terms), math.inf)

    @cached_property
    def infimum(self) -> float:
        """Sum of the infima, rounded down."""
        return _outwards(math.fsum(loss.infimum * n for loss, n in self._terms), -math.inf)

    def _mass(self, masses: list[float]) -> float:
        if not any(masses):
            return 0.0
        if max(masses) >= 1.0:
            return 1.0
        return -math.expm1(
            math.fsum(n * math.log1p(-p) for p, (_, n) in zip(masses, self._terms, strict=True))
        )

    @cached_property
    def _masses(self) -> tuple[float, float]:
        low, high = (
            self._mass([getattr(loss, name) for loss in self.losses])
            for name in ("least_infinite_mass", "infinite_mass")
        )
        return low * (1.0 - 16 * ROUNDING), min(1.0, high * (1.0 + 16 * ROUNDING))

    @property
    def infinite_mass(self) -> float:
        """1 - Π (1 - p_i)^{n_i}, rounded up."""
        return self._masses[1]

    @property
    def least_infinite_mass(self) -> float:
        """1 - Π (1 - p_i)^{n_i}, rounded down."""
        return self._masses[0]

    @property
    def displaced(self) -> float:
        """The parts' together."""
        return math.fsum(loss.displaced * n for loss, n in self._terms)

    @property
    def precision(self) -> float:
        """Sum of the precisions, rounded down."""
        total = math.fsum(loss.precision * n for loss, n in self._terms)
        return total * (1.0 - 8 * ROUNDING)

    @property
    def lattice(self) -> LatticeValues | None:
        """The parts' values, if every part has them."""
        parts = [(loss.lattice, n) for loss, n in zip(self.losses, self.counts, strict=True)]
        known = [(part, n) for part, n in parts if part is not None]
        if len(known) < len(parts):
            return None
        return tuple((values, own * n) for part, n in known for values, own in part)

    @property
    def below_ceiling(self) -> CeilingLaw | None:
        """The parts' laws together, if every part has one."""
        laws = [(loss.below_ceiling, n) for loss, n in zip(self.losses, self.counts, strict=True)]
        known = [(law, n) for law, n in laws if law is not None]
        if len(known) < len(laws):
            return None
        return CeilingLaw(
            tuple((e, own * n) for law, n in known for e, own in law.ceilings),
            tuple((e, own * n) for law, n in known for e, own in law.laplace),
            tuple((atoms, own * n) for law, n in known for atoms, own in law.atoms),
            math.fsum(n * law.rounding for law, n in known),
        )

    def cost(self, s: float, height: float) -> float:
        """The sum of the parts' costs."""
        return sum(loss.cost(s, height) for loss in self.losses)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Sum of the parts; adding m numbers of total size A costs (m + 2) u A."""
        total = np.zeros(t.shape, dtype=np.complex128)
        error = np.zeros(t.shape)
        size = np.zeros(t.shape)
        for loss, n in self._terms:
            value, own = loss.log_mgf_line(s, t)
            # Real and imaginary parts by themselves: a count times a complex -inf is nan.
            total.real += n * value.real
            total.imag += n * value.imag
            error += n * own
            size += n * np.abs(value)
        return total, error + (len(self.losses) + 2) * ROUNDING * size

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Sum of the parts."""
        return np.asarray(sum(n * loss.log_mgf_real(s) for loss, n in self._terms))

    def log_envelope(self, s: float, heights: FloatArray) -> FloatArray:
        """Sum of the parts' envelopes: the supremum of a product is at most the product of suprema."""
        total = np.zeros(heights.shape)
        size = np.zeros(heights.shape)
        for loss, n in self._terms:
            part = n * loss.log_envelope(s, heights)
            total += part
            size += np.abs(part)
        return total + (len(self.losses) + 2) * ROUNDING * size

    def log_lattice_envelope(self, s: float, heights: FloatArray, spacing: Fraction) -> FloatArray:
        """Sum of the parts'."""
        parts = [n * loss.log_lattice_envelope(s, heights, spacing) for loss, n in self._terms]
        return np.asarray(sum(parts) + (len(parts) + 2) * ROUNDING * sum(map(np.abs, parts)))

    @cached_property
    def distinct_count(self) -> int:
        """Those of all parts."""
        return sum(loss.distinct_count for loss in self.losses)

    def pieces(self, most: int) -> list[tuple[PrivacyLoss, int]]:
        """Return the parts' pieces, or sums of ``most`` parts, if that is more than one."""
        if self.distinct_count <= most:
            return [(self, 1)]
        if self.distinct_count > len(self.losses):
            return [
                (piece, n * own)
                for loss, n in zip(self.losses, self.counts, strict=True)
                for piece, own in loss.pieces(most)
            ]
        return [
            (type(self)(self.losses[i : i + most], self.counts[i : i + most]), 1)
            for i in range(0, len(self.losses), most)
        ]

    def approximation(self) -> PrivacyLoss:
        """Return the sum of the parts' approximations."""
        parts = tuple(loss.approximation() for loss in self.losses)
        return self if all(map(operator.is_, parts, self.losses)) else LossSum(parts, self.counts)

    def oscillations(self, s: float) -> Oscillations | None:
        """Those of the parts that have any; of the others nothing but their size at s, and their precision."""
        found, others = [], []
        for loss, n in self._terms:
            own = loss.oscillations(s)
            if own is None:
                others.append((loss, n))
            else:
                found.append(own.repeated(n))
        if not found:
            return None
        rest = sum(n * loss.log_top(s) for loss, n in others)
        return Oscillations.concatenate(found).multiply_by(rest)


def _outwards(value: float, direction: float) -> float:
    return value if math.isinf(value) else value + math.copysign(8 * ROUNDING * abs(value), direction)


def add_losses(losses: Sequence[PrivacyLoss], counts: Sequence[int]) -> PrivacyLoss:
    """Return the sum of independent losses; those of one class are summed by that class.

    Equal losses are counted together, in the order of their first appearance, so the same multiset in the
    same order gives the same bits.
    """
    counted: dict[PrivacyLoss, int] = {}
    for loss, n in zip(losses, counts, strict=True):
        counted[loss] = counted.get(loss, 0) + n
    families: dict[type[PrivacyLoss], list[PrivacyLoss]] = {}
    for loss in counted:
        families.setdefault(type(loss), []).append(loss)
    sums = [
        family.sum_losses(members, [counted[member] for member in members])
        for family, members in families.items()
    ]
    return sums[0] if len(sums) == 1 else LossSum(tuple(sums), (1,) * len(sums))


def log1p_complex(w: ComplexArray) -> ComplexArray:
    """Return ln(1 + w), accurate also for small w (NumPy's complex log1p loses the real part there).

    The error is at most 6u |w| / |1 + w| for |1 + w| >= 1/2 and 2u / |1 + w| + 2u |ln(1+w)| below.
    """
    x, y = w.real, w.imag
    square = x * (2.0 + x) + y * y
    out = np.empty(w.shape, dtype=np.complex128)
    with np.errstate(divide="ignore"):
        near = np.log(np.hypot(1.0 + x, y))
    out.real = np.where(square > -0.75, 0.5 * np.log1p(np.maximum(square, -0.75)), near)
    out.imag = np.arctan2(y, 1.0 + x)
    return out
