"""Gaussian noise on batches of which each record is in exactly one, drawn uniformly and by itself: random allocation.

**Theorem.** Let each record be in exactly one of the t steps of an epoch, uniformly and independently of all others;
let each step release a query of its batch and of what was released before, plus N(0, σ²I), that moves by at most 1 (in
L2) if a record joins its batch, and that uses the size of no batch. For adding, removing or zeroing out a record an
epoch is dominated, at every real ε, by ((1/t) Σ_i N(e_i, σ²I), N(0, σ²I)) in t dimensions and by its reverse.

*Proof.* Given where the others are (δ is jointly convex), let P_j be the law of all outputs with the record in step j,
Q that without it. P/Q = (1/t) Σ_i r_i, r_i = P_i/Q. Under Q, and given what was released before step i, r_i is
lognormal of mean 1, ln r_i of variance |u_i|²/σ² <= 1/σ², as the record moves the query of step i by u_i, known by
then. One of variance 1/σ² is this times an independent one of mean 1, hence larger in convex order. For ψ convex,
replace r_t, then r_{t-1} and so on by independent ones of variance 1/σ²: every conditional mean of ψ is convex in what
was not replaced yet, and never falls. δ is E_Q ψ(P/Q), ψ(x) = (x - w)^+, or (1 - w x)^+ for the reverse. []

*In k of the t steps*, uniformly: P/Q = Σ_S Π_{i in S} r_i over the sets S of k steps, divided by their number, of which
the same is true: it is affine in each r_i. Let the steps be divided at random, whatever the data, into k blocks of
⌊t/k⌋ or ⌈t/k⌉, and let S have one step of each, drawn by itself: then S is uniform, too, as every order of the steps is
as likely. Given the blocks, on which δ depends convexly, P/Q is the product of what is known of each block: an epoch is
dominated by k epochs of so many steps, each with a record in one. No data attain that: the blocks are no output.

Every u_i = e_1 attains it, for data of one record and a query that sums. Epochs compose if each draws anew. *Shuffled
batches are not this*: there the other records move when one does (`mechanisms.amplification.shuffled_batches`). Feldman
and Shenfeld 2025, "Privacy amplification by random allocation"; Chua et al. 2024, "Balls-and-bins sampling for DP-SGD".

**Curve.** With S = Σ r_i, p(v) = E(v - S)^+ and w = e^ε: δ(ε) = 1 - w + p(tw)/t if the record is removed and
w p(t/w)/t if it is added. p is convex, its slope in [0, 1], p(v) >= v - t. With φ(z) = E e^{-z r}, z_k = c + 2πik/T and
x = e^{-cT} the sum rule of Poisson gives, for 0 <= v < T,

    (1/T) Σ_k e^{z_k v} φ(z_k)^t / z_k² = Σ_{n>=0} x^n p(v + nT),

as p(v) = 0 for v <= 0. Of the terms n >= 1, x^n (v + nT - t) are subtracted, so that the rest is at least p(v), and at
most p(v) + (p(T) - T + t) x/(1 - x). Between nodes p, being convex, lies below the chord and above both neighbouring
ones. So polygons are below and above it; the convex hull of one is the put function of a law of few values of S, with
which δ at every ε, and so composed (Zhu, Dong, Wang 2022, Thm 10), is below or above.

*Smoothed* where else too many terms are needed: with Ξ normal of standard deviation b, independent of S, the terms
times e^{b²z²/2} sum up to q(v) = E(v - S - Ξ)^+. As 0 <= E(a - Ξ)^+ - a^+ <= b n(a/b), q - b² q'' <= p <= q, and q'',
the density of S + Ξ, is the sum of the terms times z². (q(v - T) is no float above 0 for v <= T/4.)

**φ.** With X = e^{m y - m²/2}, m = 1/σ, and n the normal density, φ(z) - 1 = ∫ n(y - iθ/m) (e^{-ζX} - 1) dy,
ζ = z e^{-iθ}, for 0 <= arg z <= π/2 and 0 <= θ < π/2 (no ζX on the way has a negative real part). *Quadrature:* for
θ = ma <= π/4 the same holds for all lines within a of this one. There |n| is at most e^{2a²} n(y), and |e^{-ζX} - 1| at
most min(|z|X, 2): the trapezoid rule of step h is off by 2 e^{2a²} min(|z|, 2) / (e^{2πa/h} - 1). *Truncation:* for all
heights >= τ, |φ| <= e^{θ²/2m²} φ(c cos θ + τ sin θ), whatever θ, and Σ_{k>K} k^{-2} <= 1/K.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from operator import sub

import numpy as np
from scipy.special import ndtr

from mechanisms.arrays import FloatArray
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.delegation import delegated
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, PrivacyLoss, log1p_complex
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile, lower_hull
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import BoundedCurve, PrivacyProfile
from mechanisms.profiles.related_profile import HeldProfile, SameCurve, bare
from mechanisms.profiles.subsampled import BothDirections, OneDirection, check_sampled

BOUND = "random allocation, by chords"
MOST_STEPS = 100_000
_LARGEST_MOVEMENT = 2.5
"""The ratio of a movement to sigma."""
_LEAST_MOVEMENT = 5e-4
"""The least movement times √t: below, the summands oscillate too often."""
_NEED = 40.0
"""Quadrature rules have a relative error of e^{-40}."""
_DAMPING = 16.0
"""cT: terms of the next period count e^{-16}, those of a quarter of this one e^4."""
_WIDE = 8.0
"""Standard deviations on both sides of the mean where nodes are close together."""
_NODES = 1024
_FURTHER_NODES = 320
_GROWTH = 4.0
"""Each further period over the one before."""
_SMOOTHING = 4096.0
"""A period over b."""
_NUMBERS = np.unique(np.ceil(32.0 * 1.2 ** np.arange(35.0)))
"""Numbers of terms, in the order in which they are tried: with the smoothing the last one is always enough."""
_UNIT = 2**1074
"""Every float is a multiple of its inverse."""
_BLOCK = 2**20
"""Numbers held at once."""
_FURTHEST, _APART = 37.0, 0.1
"""Standard deviations of one lognormal factor up to which noise alone is used, and the distance of nodes there."""
_FAR = 7.5
"""Standard deviations of one lognormal factor up to which the curve is computed: beyond are 3e-14."""


@dataclass(frozen=True)
class _LognormalTransform:
    """φ(z) - 1 = E e^{-z r} - 1 of a lognormal r of mean 1, ln r of standard deviation ``movement``."""

    movement: float

    @cached_property
    def _half_width(self) -> float:
        return min(1.5, 0.25 * math.pi / self.movement)

    @cached_property
    def _rule(self) -> tuple[ComplexArray, ComplexArray]:
        """Return the values of X and the weights, on y - ia."""
        m, a = self.movement, self._half_width
        h = 2.0 * math.pi * a / (_NEED + 2.0 * a * a)
        y = h * np.arange(math.floor(-9.0 / h), math.ceil((9.0 + m) / h) + 1.0)
        values = np.exp(m * (y - 1j * a) - 0.5 * m * m)
        weights = np.exp(-0.5 * (y - 1j * a) ** 2) * (h / math.sqrt(2.0 * math.pi))
        return values, weights

    @cached_property
    def relative_error(self) -> float:
        """Error over min(|z|, 2), at most.

        The rule: e^{-40}, and what is left out beyond 9 standard deviations of r, or of the same under its own weight,
        below 1e-18. On the line Re ζX >= |ζ| X sin(ma), so that an error of ζX by a relative e moves its exponential by
        e min(|ζ| X, 1/sin(ma)). X and the weights are off by 4u (3 + m|y|) and 4u (3 + y²), of which the means count;
        expm1 by 16u of min(|ζ| X, 2), and pairwise sums of at most 512 terms by 80u. |Σ weights| <= 1.01 e^{a²/2}.
        """
        a, m = self._half_width, self.movement
        rounding = 4.0 * (3.0 + 2.0 * m + m * m) / math.sin(m * a) + 4.0 * (5.0 + m * m) + 16.0 + 80.0
        return 1.01 * math.exp(0.5 * a * a) * rounding * ROUNDING + 4.0 * math.exp(-_NEED) + 1e-17

    def rise(self, z: ComplexArray) -> tuple[ComplexArray, FloatArray]:
        """Return φ(z) - 1, for 0 <= arg z <= π/2, and a bound on its error."""
        values, weights = self._rule
        found = np.empty(z.shape, dtype=np.complex128)
        for part in np.array_split(np.arange(z.size), max(1, math.ceil(z.size * values.size / _BLOCK))):
            found[part] = (np.expm1(-z[part, None] * values) * weights).sum(axis=1)
        return found, self.relative_error * np.minimum(np.abs(z), 2.0)

    def largest_log(self, damping: float, heights: FloatArray) -> FloatArray:
        """Return bounds on ln |φ(c + it)| for all t at least the heights."""
        turned = np.append(0.0, np.geomspace(5e-4, 1.5, 48))
        y = damping * np.cos(turned) + np.multiply.outer(heights, np.sin(turned))
        rise, error = self.rise(y.ravel().astype(np.complex128))
        real = np.log1p(np.maximum(rise.real + error, -1.0 + 1e-300)).reshape(y.shape)
        return np.asarray(np.min(real + 0.5 * (turned / self.movement) ** 2, axis=1) + 1e-12)


@dataclass(frozen=True)
class _PeriodSums:
    """The sums over one period at some v: of q, with a bound on its error, and an upper bound on b² q''."""

    values: FloatArray
    off: FloatArray
    smoothed: FloatArray

    @staticmethod
    def for_points(v: FloatArray, transform: _LognormalTransform, steps: int, period: float) -> _PeriodSums:
        """Return the sums, smoothed if else too many terms are needed."""
        c, unit = _DAMPING / period, 2.0 * math.pi / period
        numbers = _NUMBERS
        tops = steps * transform.largest_log(c, unit * numbers)
        b = 0.0 if tops[-1] <= -_NEED else period / _SMOOTHING
        tops = tops - 0.5 * b * b * ((unit * numbers) ** 2 - c * c)
        last = int(np.flatnonzero(tops <= -_NEED)[0])
        number = int(numbers[last])
        z: ComplexArray = np.asarray(c + 1j * unit * np.arange(number + 1.0), dtype=np.complex128)
        rise, off = transform.rise(z)
        size = np.maximum(np.abs(1.0 + rise), 1e-100)
        log_phi = np.where(size > 1e-100, log1p_complex(rise), math.log(1e-100))
        off = off / size + ROUNDING * (8.0 * np.abs(rise) / size + 4.0 * np.abs(log_phi))
        weights = np.where(np.arange(number + 1) == 0, 1.0, 2.0) / period
        logs = steps * log_phi + 0.5 * b * b * z * z
        terms = weights * np.exp(logs) / (z * z)
        # |ln φ - its value| <= 2 off where off <= 1/2; elsewhere |φ| has its bound of the last height that was tried.
        sizes, certain = np.abs(terms), off <= 0.5
        error = np.where(certain, sizes * np.expm1(np.minimum(2.0 * steps * off, 300.0)), sizes)
        tried = np.searchsorted(numbers, np.arange(number + 1), side="right")
        most = np.append(1.001, np.exp(tops))[tried]
        error = error + np.where(certain, 0.0, weights * most / np.abs(z * z))
        digits = number + 24.0 + 4.0 * steps * np.abs(log_phi) + 4.0 * np.abs(b * z) ** 2
        error = error + ROUNDING * sizes * digits
        tail = math.exp(tops[last]) * period / (2.0 * math.pi**2 * number)
        # Rows: terms, and those times b²z². Beyond x, y e^{-y/2} is at most max(2, x) e^{-x/2}.
        factors = np.stack((np.ones(z.shape), (b * np.abs(z)) ** 2))
        steady = factors @ error + tail * np.maximum(2.0, factors[:, -1])
        slopes = factors @ (sizes * np.abs(z))
        grown = np.exp(c * v)
        table = np.stack((terms, b * b * terms * z * z))
        sums = np.empty((2, v.size))
        for part in np.array_split(np.arange(v.size), max(1, math.ceil(v.size * z.size / _BLOCK))):
            turns = np.multiply.outer(z.imag, v[part])
            sums[:, part] = table.real @ np.cos(turns) - table.imag @ np.sin(turns)
        spread = grown * (steady[:, None] + 8.0 * ROUNDING * np.multiply.outer(slopes, v)) * (1.0 + 1e-9)
        found = sums * grown
        return _PeriodSums(found[0], spread[0], np.maximum(found[1], 0.0) + spread[1])


@lru_cache(maxsize=64)
def put_bounds(movement: float, steps: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return nodes v, and bounds on E(v - S)^+ there, S the sum of `steps` lognormal factors of mean 1."""
    transform, x = _LognormalTransform(movement), math.exp(-_DAMPING)
    spread = min(math.sqrt(steps * math.expm1(movement * movement)), float(steps))
    near = steps + _WIDE * spread
    furthest = math.exp(0.5 * movement * movement + _FAR * movement)
    first = np.linspace(max(0.0, steps - _WIDE * spread), near, _NODES)
    places = np.unique(np.concatenate((np.linspace(0.0, first[0], 64), first)))
    period, known = 4.0 * near, []
    while True:
        sums = _PeriodSums.for_points(places, transform, steps, period)
        value = sums.values - (places - steps) * (x / (1.0 - x)) - period * x / (1.0 - x) ** 2
        off = sums.off + 16.0 * ROUNDING * (np.abs(value) + period)
        high = np.maximum(value + off, 0.0)
        over = high[-1] - (places[-1] - steps) + 8.0 * ROUNDING * (places[-1] + steps)
        low = value - off - sums.smoothed - over * x * (1.0 + 1e-6)
        known.append((places, np.maximum(low, np.maximum(places - steps, 0.0)), np.minimum(high, places)))
        if 0.25 * period >= furthest or over <= 2.0 * (off[-1] + sums.smoothed[-1]):
            break  # the rest is below the error of its bounds
        places = np.geomspace(0.25 * period, 0.25 * _GROWTH * period, _FURTHER_NODES + 1)[1:]
        period *= _GROWTH
    v, low, high = (np.concatenate(parts) for parts in zip(*known, strict=True))
    return v, np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]


def _polygon_below(
    v: FloatArray, low: FloatArray, high: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Return nodes of a polygon below p, which goes on with slope 1; the first of them are at 0.

    A chord is lowered by how far it may be above both neighbouring ones, extended.
    """
    width = np.diff(v)
    slopes = np.diff(low) / width
    least = np.append(0.0, (low[1:-1] - high[:-2]) / width[:-1])
    most = np.append((high[2:] - low[1:-1]) / width[1:], 1.0)
    before, after = np.maximum(slopes - least, 0.0), np.maximum(most - slopes, 0.0)
    gaps = width * before * after / np.maximum(before + after, 1e-300) + 16.0 * ROUNDING * v[1:]
    y = low - np.maximum(np.append(0.0, gaps), np.append(gaps, 0.0))
    negative = np.flatnonzero(y < 0.0)
    zeros = int(negative[-1]) + 2 if negative.size else 1
    y[:zeros] = 0.0
    # From the last node before y falls to v - t on a line that rises by no more than p does there, until both meet.
    beyond = np.append(np.flatnonzero((v > steps) & (y <= v - steps)), v.size)
    last = int(beyond[0]) - 1
    slope = max(0.0, float((low[last] - high[last - 1]) / width[last - 1]) * (1.0 - 1e-11) if last else 0.0)
    meeting = (float(y[last]) - slope * float(v[last]) + steps) / (1.0 - slope) if slope < 1.0 else 0.0
    meeting = meeting * (1.0 - 4e-16) - 1e-15 * steps
    if meeting <= v[last]:
        y[last] = max(0.0, float(v[last]) - steps)
        return v[: last + 1], y[: last + 1]
    return np.append(v[: last + 1], meeting), np.append(y[: last + 1], max(0.0, meeting - steps))


def _nodes_above(movement: float, steps: int) -> tuple[FloatArray, list[int]]:
    """Return nodes, and heights above p there in units of 1 / `_UNIT`: the computed ones, or those of noise alone.

    S/t is smaller in convex order than one lognormal factor r (the mean of t such factors given their sum). With
    a = ln(v/t)/m + m/2, E(v - S)^+ is at most v Φ(a) - t Φ(a - m), and E(S - v)^+ at most t Φ(m - a) - v Φ(-a). Above
    t heights are v - t plus an excess: as one float they would lose that.
    """
    v, _, high = put_bounds(movement, steps)
    known = {place: int(Fraction(top) * _UNIT) for place, top in zip(v.tolist(), high.tolist(), strict=True)}
    places = np.arange(-_FURTHEST, _FURTHEST + movement, _APART)
    v = np.union1d(v, steps * np.exp(movement * (places - 0.5 * movement)))
    side = np.where(v < steps, 1.0, -1.0)
    with np.errstate(divide="ignore"):
        a = np.log(v / steps) / movement + 0.5 * movement
    near, far = v * ndtr(side * a), steps * ndtr(side * (a - movement))
    alone = np.abs(near - far) + 1e-10 * np.maximum(near, far) + 1e-305
    heights = []
    for place, own in zip(v.tolist(), alone.tolist(), strict=True):
        least = max(0, int(Fraction(place) * _UNIT) - steps * _UNIT)
        found = least + int(Fraction(own) * _UNIT)
        heights.append(min(found, known.get(place, found)))
    return v, heights


def _law_of_hull(v: FloatArray, heights: Sequence[int]) -> tuple[FloatArray, FloatArray, Fraction]:
    """Return values of S and their probabilities: the bends of the convex hull of some nodes, and their sizes.

    Beyond the last node its slope is 1, and nodes that say more than slopes of at most 1 do are lowered; return also
    the last one's distance from its height, which is E S. In whole numbers: probabilities are rounded once.
    """
    xs = [int(Fraction(one) * _UNIT) for one in v.tolist()]
    ys = [x + least for x, least in zip(xs, accumulate(map(sub, heights, xs), min), strict=True)]
    hull = lower_hull(xs, ys)
    slopes = [Fraction(0), *(Fraction(ys[b] - ys[a], xs[b] - xs[a]) for a, b in pairwise(hull)), Fraction(1)]
    masses = np.array([float(b - a) for a, b in pairwise(slopes)])
    return v[hull], masses, Fraction(xs[-1] - ys[-1], _UNIT)


@lru_cache(maxsize=64)
def _losses_of_epoch(movement: float, steps: int, added: bool) -> tuple[AtomicProfile, AtomicProfile]:
    """Return losses of finitely many values below and above that of an epoch, in one direction."""
    places, y = _polygon_below(*put_bounds(movement, steps), steps)
    heights = [int(Fraction(one) * _UNIT) for one in y.tolist()]
    heights[-1] = max(0, int(Fraction(float(places[-1])) * _UNIT) - steps * _UNIT)  # v - t, without rounding
    polygons = (places, heights), _nodes_above(movement, steps)
    found = []
    for nodes, side in zip(polygons, (-1.0, 1.0), strict=True):
        values, masses, mean = _law_of_hull(*nodes)
        some = (masses > 0.0) & (values > 0.0)
        losses = np.log(values[some] / steps) * (-1.0 if added else 1.0)
        losses = losses + side * 4.0 * ROUNDING * (2.0 + np.abs(losses))
        if added:
            # S = 0 is an infinite loss.
            own, infinite = masses[some], float(np.sum(masses[values == 0.0]))
        else:
            # E S of the law above is less than t, by what p is above v - t at the end.
            own = masses[some] * values[some] / steps
            infinite = max(0.0, up(1 - mean / steps))
        found.append(
            AtomicProfile(
                tuple(map(Fraction, losses.tolist())),
                tuple(own.tolist()),
                infinite if side > 0.0 else 0.0,
                bound=BOUND,
            )
        )
    below, above = found
    return replace(below, bound=""), above


@dataclass(frozen=True)
class RandomAllocationDirection(BoundedCurve, OneDirection):
    """One direction of `RandomAllocationProfile`: a record is removed, or it is added."""

    base: PrivacyProfile
    steps: int
    added: bool
    is_block: bool = False

    neighbouring = delegated("base.neighbouring")

    bound = BOUND

    @cached_property
    def _gaussian(self) -> GaussianProfile:
        curve = bare(self.base)
        if not isinstance(curve, GaussianProfile) or not curve.mu:
            raise ParameterError(
                "sampling: random allocation has a price for Gaussian noise that moves, and for no other"
            )
        return curve

    @property
    def pure_epsilon(self) -> None:
        """None: the loss is unbounded in both directions."""
        return None

    gaussian_mu = delegated("_gaussian.gaussian_mu")
    rho = delegated("_gaussian.rho")

    @property
    def outdoes_its_curve(self) -> bool:
        """False: ρ is that of the noise alone."""
        return False

    @property
    def _above(self) -> AtomicProfile:
        return _losses_of_epoch(self._gaussian.mu, self.steps, self.added)[1]

    infinite_mass = delegated("_above.infinite_mass")

    def loss(self) -> PrivacyLoss | None:
        """Return the law of a loss that is larger."""
        return self._above.loss()

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return a law below that of a record which moves the query as far as it may, in any step it is in."""
        if self.is_block:
            return ()
        below, _ = _losses_of_epoch(self._gaussian.mu, self.steps, self.added)
        return (HeldProfile(below, self.neighbouring),)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound δ by both laws. That of the noise alone (t = 1: joint convexity) bounds it by `gaussian_mu`."""
        below, above = _losses_of_epoch(self._gaussian.mu, self.steps, self.added)
        return below.bounds(epsilon)[0], above.bounds(epsilon)[1]


@dataclass(frozen=True)
class RandomAllocationProfile(BothDirections):
    """Profile of an epoch of random allocation; see the module's theorem.

    Parameters
    ----------
    base : PrivacyProfile
        Gaussian: of a step for a record that joins its batch, or is zeroed out in it. Its movement over sigma is at
        most 2.5, and at least √t / 2000.
    steps : int
        t, from 2 to 100,000.
    is_block : bool
        True if this is one of several blocks of an epoch, which only bound it.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule, or the base is stated for replacing a record.
    """

    base: PrivacyProfile
    steps: int
    is_block: bool = False

    def __post_init__(self) -> None:
        if not 2 <= whole_number("steps", self.steps, least=2) <= MOST_STEPS:
            raise ParameterError(f"steps = {self.steps}: must be at most {MOST_STEPS:,}")
        check_sampled(self.base, 1.0 / self.steps)
        if self.base.neighbouring is Neighbouring.REPLACE_ONE:
            raise ParameterError(
                "base: is for 'replace one'; random allocation needs the movement of a record that joins a batch"
            )
        mu, least = self._sides[0]._gaussian.mu, _LEAST_MOVEMENT * math.sqrt(self.steps)
        if not least <= mu <= _LARGEST_MOVEMENT:
            raise ParameterError(
                f"sigma: a record moves the query by {mu:g} sigma; for {self.steps} steps of random allocation it must "
                f"be {least:g} to {_LARGEST_MOVEMENT:g}"
            )

    gaussian_mu = delegated("_removed.gaussian_mu")
    rho = delegated("_removed.rho")

    @cached_property
    def _sides(self) -> tuple[RandomAllocationDirection, RandomAllocationDirection]:
        removed = RandomAllocationDirection(self.base, self.steps, False, self.is_block)
        return removed, removed.reversed()


@dataclass(frozen=True)
class SelectedStepsProfile(SameCurve):
    """Upper curve of an epoch in which each record is in exactly k of t steps: that of its blocks, composed.

    Parameters
    ----------
    base : PrivacyProfile
        As of `RandomAllocationProfile`.
    steps : int
        t, at most 100,000.
    selected : int
        k, from 2 to t/2.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule, or the base is stated for replacing a record.
    """

    profile: PrivacyProfile = field(init=False, repr=False, compare=False)
    base: PrivacyProfile
    steps: int
    selected: int

    def __post_init__(self) -> None:
        if 2 * whole_number("selected", self.selected, least=1) > whole_number("steps", self.steps, least=2):
            raise ParameterError(
                f"selected = {self.selected}: must be at most half of the {self.steps} steps; for more nothing is "
                "known here that is less than a release in each of them"
            )
        size, more = divmod(self.steps, self.selected)
        blocks = [(size, self.selected - more), *([(size + 1, more)] if more else [])]
        own = [(RandomAllocationProfile(self.base, steps, is_block=True), n) for steps, n in blocks]
        object.__setattr__(self, "profile", composed_profile(own))

    neighbouring = delegated("profile.neighbouring")
    parts = delegated("profile.parts")
    directions = delegated("profile.directions")
    attained = delegated("profile.attained")
