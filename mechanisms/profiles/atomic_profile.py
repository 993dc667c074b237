"""Finite privacy-loss distributions: exact profiles, exact composition."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.losses.atomic_loss import AtomicLoss
from mechanisms.numerics.rounding import Ceiling, either_up
from mechanisms.parameters import ParameterError, check_largest_loss
from mechanisms.profiles.privacy_profile import PrivacyProfile

_LARGEST = 100_000  # atoms of an exact convolution
_LARGEST_PRODUCT = 20_000_000  # pairs of atoms summed one by one
_LARGEST_TABLE = 1_000_000  # numbers held at once; at more points the curve is read from tail sums


def _add_up_other_law(losses: tuple[Fraction, ...], probabilities: tuple[float, ...]) -> float:
    """Return Σ p e^{-loss}: the probability under the other law of all outputs that both can have.

    Each p is lowered by the smallest float: one that is hardly above it may have been rounded up.
    """
    masses, sizes = np.array(probabilities) - 2.0**-1074, np.array(losses, dtype=np.float64)
    some = masses > 0.0
    with np.errstate(over="ignore"):
        return float(np.sum(np.exp(np.log(masses[some]) - sizes[some])))


@dataclass(frozen=True)
class AtomicProfile(PrivacyProfile):
    """The profile of a privacy loss that takes finitely many values.

    δ(x) = m_∞ + Σ_{lᵢ > x} pᵢ (1 - e^{x - lᵢ}): every term is positive and lᵢ - x is exact but for one
    rounding, so δ is as accurate as the probabilities for every real x. Losses are exact rationals: sums of
    losses that are equal are recognised as equal, and composition is a convolution without any grid.

    Parameters
    ----------
    losses : tuple of Fraction (or floats, taken exactly)
        Values of ln P/Q; of equal ones the probabilities are added up.
    probabilities : tuple of float
        Their probabilities under P. They and ``infinite_mass`` add up to one.
    infinite_mass : float
        Probability under P of outputs impossible under Q.
    bound : str
        Empty if exact, else the theorem that makes it an upper bound.
    relative_rounding : float
        Relative rounding error of each probability (the default: they come from a few operations).
    mirrored : bool
        True if the mass of -l is, exactly, that of l times e^{-l}, for every loss l: given probabilities are rounded.

    Raises
    ------
    ParameterError
        If lengths differ, a probability is negative or NaN, or they do not add up to one (within 1e-9), or those of the
        other law, Σ p e^{-loss}, are above one; of a bound these are not checked.
    """

    losses: tuple[Fraction, ...]
    probabilities: tuple[float, ...]
    infinite_mass: float = 0.0
    bound: str = ""
    relative_rounding: float = 2.0**-48
    mirrored: bool = False

    def __post_init__(self) -> None:
        losses = tuple(loss if type(loss) is Fraction else Fraction(loss) for loss in self.losses)
        probabilities = tuple(map(float, self.probabilities))
        if not losses or len(losses) != len(probabilities):
            raise ParameterError(
                f"{len(losses)} losses, {len(probabilities)} probabilities: must be as many, at least one"
            )
        if not min(probabilities) >= 0.0 or not self.infinite_mass >= 0.0:
            raise ParameterError("probabilities: must not be negative")
        total = math.fsum(probabilities) + self.infinite_mass
        if not abs(total - 1.0) <= 1e-9 + self.relative_rounding:
            raise ParameterError(f"probabilities add up to {total!r}: must add up to 1")
        check_largest_loss("losses", max(map(abs, losses)))
        other = 0.0 if self.bound else _add_up_other_law(losses, probabilities)
        if not other <= 1.0 + 1e-9 + self.relative_rounding:
            raise ParameterError(
                f"probabilities: of the outputs on the other data they add up to {other!r} (sum of p exp(-loss)): "
                f"must be at most 1"
            )
        if len(set(losses)) < len(losses):  # as of ±ε at ε = 0: sums of atoms are found by their values
            together: dict[Fraction, float] = {}
            for loss, p in zip(losses, probabilities, strict=True):
                together[loss] = together.get(loss, 0.0) + p
            losses, probabilities = tuple(together), tuple(together.values())
        object.__setattr__(self, "losses", losses)
        object.__setattr__(self, "probabilities", probabilities)
        object.__setattr__(self, "infinite_mass", float(self.infinite_mass))

    @cached_property
    def _hash(self) -> int:
        return hash((self.losses, self.probabilities, self.infinite_mass, self.bound))

    @cached_property
    def symmetric(self) -> bool:
        """True if -l has the mass of l times e^{-l}, for every loss l, up to rounding."""
        return AtomicLoss(
            self.losses,
            self.probabilities,
            self.infinite_mass,
            self.relative_rounding,
            mirrored=self.mirrored,
        ).symmetric

    @property
    def covers_both_directions(self) -> bool:
        """Also a bound, which is a theorem's for the relation."""
        return self.bound != "" or self.symmetric

    @property
    def relative_error(self) -> float:
        """The relative error of the probabilities, and of a sum of all of them."""
        return self.relative_rounding + 2.0**-53 * (8.0 * len(self.losses) + 20.0)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def largest_finite(self) -> Fraction:
        """The largest value, at least 0."""
        return max(max(self.losses), Fraction(0))

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The largest loss; None if infinite losses have positive probability."""
        return None if self.infinite_mass else self.largest_finite

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Losses as sums of two floats, and probabilities."""
        ceilings = [Ceiling.from_fraction(loss) for loss in self.losses]
        near, rest = (np.array([getattr(c, part) for c in ceilings]) for part in ("near", "rest"))
        return near, rest, np.array(self.probabilities)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._everywhere(epsilon)

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return losses in order, as sums of two floats with an infinite one more, and `tail_sums`."""
        near, rest, probabilities = self._arrays
        order = np.lexsort((rest, near))
        near, rest = near[order], rest[order]
        sums = tail_sums(np.diff(near) + np.diff(rest), probabilities[order])
        return np.append(near, np.inf), np.append(rest, 0.0), *sums

    def _everywhere(self, epsilon: FloatArray) -> FloatArray:
        near, rest, probabilities = self._arrays
        flat = np.ravel(epsilon)
        if flat.size * near.size <= _LARGEST_TABLE:
            gaps = np.maximum((near - flat[:, None]) + rest, 0.0)
            finite = np.sum(-np.expm1(-gaps) * probabilities, axis=1)
        else:
            near, rest, kept, lost = self._sums
            first, last = (np.searchsorted(near, flat, side=side) for side in ("left", "right"))
            below = np.append(0, np.cumsum(rest <= 0.0))  # of those with a larger part equal to the argument
            j = first + below[last] - below[first]
            finite = lost[j] - np.expm1(-np.maximum((near[j] - flat) + rest[j], 0.0)) * kept[j]
        return np.asarray(self.infinite_mass + finite.reshape(np.shape(epsilon)))

    def atoms(self) -> AtomicProfile:
        """Return itself."""
        return self

    def convolved(self, other: AtomicProfile) -> AtomicProfile | None:
        """Return the distribution of the sum of independent losses, or None above `_LARGEST` atoms.

        Probabilities below the smallest float vanish; their losses stay, so `pure_epsilon` is exact.
        """
        mass = either_up(self.infinite_mass, other.infinite_mass)
        denominator, (a, b) = _on_common_lattice(self.losses, other.losses)
        summed = _convolve(a, np.array(self.probabilities), b, np.array(other.probabilities))
        if summed is None:
            return None
        numerators, probabilities = summed
        losses = tuple(Fraction(n, denominator) for n in numerators)
        bound = self.bound or other.bound
        terms = min(len(self.losses), len(other.losses)) + 4.0  # of each sum
        error = self.relative_rounding + other.relative_rounding + 2.0**-53 * terms
        return AtomicProfile(
            losses,
            tuple(probabilities.tolist()),
            mass,
            bound,
            error,
            self.mirrored and other.mirrored,
        )


def _on_common_lattice(*groups: tuple[Fraction, ...]) -> tuple[int, list[list[int]]]:
    denominator = math.lcm(*(loss.denominator for group in groups for loss in group))
    return denominator, [[loss.numerator * (denominator // loss.denominator) for loss in g] for g in groups]


def _convolve(
    a: list[int], p: FloatArray, b: list[int], q: FloatArray
) -> tuple[list[int], FloatArray] | None:
    """Convolve two distributions on whole numbers; None if the result is too large."""
    low_a, low_b = min(a), min(b)
    step = math.gcd(*(x - low_a for x in a), *(x - low_b for x in b)) or 1
    a = [(x - low_a) // step for x in a]
    b = [(x - low_b) // step for x in b]
    low = low_a + low_b
    length = max(a) + max(b) + 1
    pairs = len(a) * len(b)
    if (
        length <= _LARGEST and max(a) * max(b) <= 100 * pairs
    ):  # a dense pair costs a hundredth of a sorted one
        dense_p, dense_q = np.zeros(max(a) + 1), np.zeros(max(b) + 1)
        np.add.at(dense_p, a, p)
        np.add.at(dense_q, b, q)
        # Direct, not by FFT: sums of positive terms keep every probability's relative accuracy.
        dense: FloatArray = np.convolve(dense_p, dense_q).astype(np.float64)
        keep = np.flatnonzero(dense)
        ends = np.union1d(keep, [length - 1])  # the largest loss stays even if its probability underflows
        return [low + step * int(i) for i in ends], dense[ends]
    if pairs > _LARGEST_PRODUCT:
        return None
    kind: npt.DTypeLike = np.int64 if length < 2**62 else object
    sums = np.add.outer(np.array(a, dtype=kind), np.array(b, dtype=kind)).ravel()
    distinct, place = np.unique(sums, return_inverse=True)
    if distinct.size > _LARGEST:
        return None
    weights = np.zeros(distinct.size)
    np.add.at(weights, place.ravel(), np.outer(p, q).ravel())
    return [low + step * int(i) for i in distinct], weights


def tail_sums(steps: FloatArray, masses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return C_j = Σ_{i>=j} m_i e^{l_j - l_i} and D_j = δ(l_j) - m_∞ for rising losses, with 0 at the end of both.

    From the top: D_j = D_{j+1} + (1 - e^{l_j - l_{j+1}}) C_{j+1} and C_j = m_j + e^{l_j - l_{j+1}} C_{j+1}, all terms
    nonnegative; for l_{j-1} <= x < l_j it is δ(x) = m_∞ + D_j + (1 - e^{x - l_j}) C_j.

    Parameters
    ----------
    steps
        l_{j+1} - l_j.
    masses
        m_j, one more.
    """
    c, d = np.zeros(masses.size + 1), np.zeros(masses.size + 1)
    fall = np.append(steps, 0.0)
    keep, lose = np.exp(-fall).tolist(), (-np.expm1(-fall)).tolist()
    own = masses.tolist()
    for j in range(masses.size - 1, -1, -1):
        d[j] = d[j + 1] + lose[j] * c[j + 1]
        c[j] = own[j] + keep[j] * c[j + 1]
    return c, d


def lower_hull(x: Sequence[Any], y: Sequence[Any]) -> list[int]:
    """Return the indices of the lower convex hull of points in rising order of (x, y) (Andrew's monotone chain)."""
    hull: list[int] = []
    for i, (place, height) in enumerate(zip(x, y, strict=True)):
        if hull and x[hull[-1]] == place:
            continue  # the lowest one of a place came first
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (y[b] - y[a]) * (place - x[a]) < (height - y[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return hull


def convolved(curves: Iterable[tuple[PrivacyProfile, int]]) -> AtomicProfile | None:
    """Return the finite loss of finite ones; None if one is not, or there are too many atoms."""
    total: AtomicProfile | None = None
    for curve, count in curves:
        power, left = curve.atoms(), count
        while power is not None:
            if left & 1:
                total = power if total is None else total.convolved(power)
                if total is None:
                    return None
            left >>= 1
            if not left:
                break
            power = power.convolved(power)
        else:
            return None
    return total
