"""δ(ε) when only the curves are known: losses rounded to a grid, upwards and downwards.

Write φ(w) = δ(ln w): convex, decreasing, φ(0) = 1. A loss on the nodes x_j = jh with masses P_j (and P_∞) has the
piecewise linear φ with nodes w_j = e^{x_j} and P_j = w_j (slope to the right - slope to the left).

Composition is monotone: E(1 - w ΠV_i)^+, V_i = e^{-L_i}, is convex and decreasing in each V_i, so larger φ_i pointwise
give a larger δ of the composition, also for measures that do not add up to one.

Upwards (connect the dots; Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): join corners of the lower convex hull of
(0, 1) and the points (w_j, φ(w_j)); P_∞ = φ at the last node. The true φ is convex, as sup (P(S) - w Q(S)) over pairs
of data sets and events S, and at most the curve, hence below every chord between two of the points, also if the curve
is an upper bound and not convex. Whichever corners are joined this holds, and negative masses (rounding) set to 0 only
raise φ: the hull is taken in floats.

Downwards. In the cell [w_j, w_{j+1}] φ is above both neighbouring chords, extended; the cell's chord, lowered by its
largest distance to them, is a line below φ everywhere. In the first cell 1 - w is taken, in the last 0, and
so wherever the line ends below one of them. y_j is the lower of the two lines at node j; each cell's chord is then
below its line, and so is the lower convex hull of these points. Where φ bends much in one cell that line may end so low
that the hull loses all further right. Then the right neighbour's chord, extended, is taken in such cells, which is φ at
the right end; and a node is put right below most of the loss, if that lies close together.

Rounding. Dots are certified bounds on the curve near the node; a chord is extended from an upper bound through a lower
one. With w_j computed as e^{x_j}, all is exact for nodes within 4u (|x_j| + 1) of those meant; composed, the loss is
off by the sum of that, and δ is read that much to the side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import logsumexp

from mechanisms.arrays import FloatArray
from mechanisms.composition.contour import TiltedLoss
from mechanisms.composition.inversion import newton
from mechanisms.composition.lattice import LatticeContour, lattice_contour
from mechanisms.composition.saddle import Saddle, saddle_for_delta, saddle_for_epsilon
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray, LatticeValues, LossSum, PrivacyLoss
from mechanisms.numerics.deadline import check_time
from mechanisms.profiles.atomic_profile import lower_hull
from mechanisms.profiles.privacy_profile import PrivacyProfile
from mechanisms.profiles.subsampled import OneDirection

_MOST_NODES = 2**16
_TIGHT = 1e-12  # aliases, relative to δ
_BENT = 1e-2
_MATTERS = 1e3  # times what is left out at the ends, 1e-7 of δ
_SADDLES = 3
_NEAR = 3.0  # units of 1/s below its saddle's ε at which a contour is used: aliases are small down to 4
_AT_ZERO = Fraction(0)


@dataclass(frozen=True, eq=False)
class GridLoss(PrivacyLoss):
    """A loss on the nodes offset + (first + j) · spacing with the given masses, 0 <= offset < spacing.

    The masses are taken as exact; they need not add up to one.
    """

    first: int
    spacing: Fraction
    masses: FloatArray
    mass_at_infinity: float = 0.0
    offset: Fraction = Fraction(0)

    @property
    def supremum(self) -> float:
        """The last node, rounded up."""
        last = self.offset + (self.first + self.masses.size - 1) * self.spacing
        return math.nextafter(float(last), math.inf)

    @property
    def infimum(self) -> float:
        """The first node, rounded down."""
        return math.nextafter(float(self._first_loss), -math.inf)

    @property
    def _first_loss(self) -> Fraction:
        return self.offset + self.first * self.spacing

    @property
    def infinite_mass(self) -> float:
        """The mass at infinity."""
        return self.mass_at_infinity

    @property
    def lattice(self) -> LatticeValues:
        """The first two nodes: the grid."""
        return (((self._first_loss, self._first_loss + self.spacing), 1),)

    def _tilted(self, s: float) -> tuple[FloatArray, float]:
        """Return masses times e^{s(l - l_0)}, scaled to add up to one, and ln of the factor taken out."""
        check_time()
        with np.errstate(divide="ignore"):
            logs = np.log(self.masses) + s * float(self.spacing) * np.arange(self.masses.size)
        total = float(logsumexp(logs))
        return np.exp(logs - total), total + s * float(self._first_loss)

    def log_mgf_line(self, s: float, t: FloatArray) -> tuple[ComplexArray, FloatArray]:
        """Return ln M at the frequencies of the grid, t_k = 2πk / Nh for some k <= N/2, by one FFT of length N.

        The tilted masses are wrapped modulo N first, which changes nothing at these frequencies. Rounding:
        ‖computed F - F‖_2 <= 8u lg N √N ‖x‖_2 (Higham, "Accuracy and stability of numerical algorithms",
        Thm 24.2, with a factor of 4 for NumPy's mixed radices), and each element's error is at most that.
        """
        tilted, log_total = self._tilted(s)
        if t.size == 1:
            alone: ComplexArray = np.array([log_total], dtype=np.complex128)
            return alone, np.array([ROUNDING * (self.masses.size + 20.0 + 4.0 * abs(log_total))])
        spacing = float(self.spacing)
        count = round(2.0 * math.pi / (spacing * float(t[1])))
        wrapped = np.bincount(np.arange(tilted.size) % count, weights=tilted, minlength=count)
        phi = np.fft.rfft(wrapped)
        norm = math.sqrt(count) * float(np.linalg.norm(wrapped))
        relative = ROUNDING * (20.0 + tilted.size / count + 4.0 * s * spacing * tilted.size)
        error = 32.0 * ROUNDING * math.log2(count + 1.0) * norm + relative
        size = np.abs(phi)
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(size > 0.0, phi, 1e-300)) + log_total
        # The phase of the first node, reduced modulo 2π in whole numbers. np.fft uses e^{-i...}: conjugate.
        k = np.arange(phi.size)
        turns = ((k * self.first) % count + k * float(self.offset / self.spacing)) / count
        value: ComplexArray = np.asarray(np.conj(logs) + 2j * np.pi * turns, dtype=np.complex128)
        errors = np.log1p(error / np.maximum(size, 1e-300)) + ROUNDING * (40.0 + 4.0 * abs(log_total))
        return value[: t.size], errors[: t.size]

    def log_mgf_real(self, s: FloatArray) -> FloatArray:
        """Ln of the sum of tilted masses."""
        return np.array([self._tilted(float(own))[1] for own in s])


def rounded_up(
    profile: PrivacyProfile, spacing: Fraction, first: int, last: int, offset: Fraction = _AT_ZERO
) -> GridLoss:
    """Round the profile up to a loss on the grid, with the chords between its values there as curve."""
    check_time()
    x = _nodes(spacing, first, last, offset)
    values = np.minimum.accumulate(_nodes_bounds(profile, x)[1])
    corners, places = np.arange(x.size), float(spacing) * np.arange(x.size, dtype=np.float64)
    bends, off = _bends(values, places)
    if (bends < -off).any():
        hull = lower_hull([0.0, *np.exp(x).tolist()], [1.0, *values.tolist()])
        corners = np.array(hull[1:]) - 1
        bends, off = _bends(values[corners], places[corners])
    masses = np.zeros(x.size)
    masses[corners] = np.maximum(bends + off, 0.0)
    return GridLoss(first, spacing, masses, float(values[-1]), offset)


def _bends(values: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return by how much the slope of chords through (0, 1) and (e^x, values) changes, times e^x; and its error.

    Each slope is off by 8u (1 + length of the chord in x), relatively.
    """
    gaps, falls = np.diff(x), -np.diff(values)
    left = np.append(1.0 - values[0], falls / -np.expm1(-gaps))
    right = np.append(falls / np.expm1(gaps), 0.0)
    off = (1.0 + np.append(0.0, gaps)) * left + (1.0 + np.append(gaps, 0.0)) * right
    return left - right, 8.0 * ROUNDING * off


def rounded_down(
    profile: PrivacyProfile,
    spacing: Fraction,
    first: int,
    last: int,
    offset: Fraction = _AT_ZERO,
    *,
    most_lowered: float | None = None,
) -> GridLoss:
    """Round the profile down to a loss on the grid with a curve that is never above the profile's.

    A chord that would be lowered by more than ``most_lowered`` times the curve at its right end is replaced by the
    next.
    """
    check_time()
    x = _nodes(spacing, first, last, offset)
    values, above = _nodes_bounds(profile, x)
    w, values = np.exp(x), np.minimum.accumulate(values)
    slopes = np.diff(values) / np.diff(w)
    # Below φ: the line through an upper and then a lower bound, beyond the second; mirrored, before the first.
    before = np.append(-1.0, np.maximum(-1.0, (values[1:-1] - above[:-2]) / np.diff(w)[:-1]))
    after = np.append(np.minimum(0.0, (above[2:] - values[1:-1]) / np.diff(w)[1:]), 0.0)
    # Where the two neighbouring chords meet inside the cell; heights are relative to the cell's left end.
    width = np.diff(w)
    fall = np.diff(values)
    spread = np.where(after == before, 1e-300, after - before)
    meet = np.clip((fall - after * width) / -spread, 0.0, width)
    lowest = np.maximum(before * meet, fall - after * (width - meet))
    gap = np.maximum(0.0, slopes * meet - lowest) + 8.0 * ROUNDING * values[:-1]
    left, right = values[:-1] - gap, values[:-1] - gap + fall
    bent = np.zeros(gap.shape, dtype=np.bool_) if most_lowered is None else gap > most_lowered * values[1:]
    left, right = np.where(bent, values[1:] - after * width, left), np.where(bent, values[1:], right)
    # 1 - w and 0 are below φ too; a line that ends below one of them in its cell is replaced by it.
    start = -np.expm1(x)
    low = (left < start[:-1]) & ~bent
    low[0] = True
    left, right = np.where(low, start[:-1], left), np.where(low, start[1:], right)
    none = right < 0.0
    none[-1] = True
    left, right = np.where(none, 0.0, left), np.where(none, 0.0, right)
    y = np.minimum(np.append(np.inf, right), np.append(left, np.inf))
    # No slope may be below -1: its mass would be negative.
    high = y + w
    least = np.minimum.accumulate(high[::-1])[::-1]
    y = np.where(least < high, least - w - 4.0 * ROUNDING * high, y)
    keep = lower_hull(w.tolist(), y.tolist())
    hull_slopes = np.diff(y[keep]) / np.diff(w[keep])
    own = w[keep] * (np.append(hull_slopes, 0.0) - np.append(-1.0, hull_slopes))
    masses = np.zeros(w.size)
    size = w[keep] * np.abs(np.append(hull_slopes, 0.0)) + w[keep] * np.abs(np.append(-1.0, hull_slopes))
    masses[keep] = np.maximum(0.0, own - 8.0 * ROUNDING * size)
    return GridLoss(first, spacing, masses, offset=offset)


def _nodes(spacing: Fraction, first: int, last: int, offset: Fraction) -> FloatArray:
    return float(offset) + float(spacing) * np.arange(first, last + 1, dtype=np.float64)


def _nodes_bounds(profile: PrivacyProfile, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the curve near the nodes."""
    off = 4.0 * ROUNDING * (np.abs(x) + 1.0)
    return profile.bounds(x + off)[0], profile.bounds(x - off)[1]


class Grid:
    """Certified bounds on δ from a composition rounded up and some rounded down (infinite losses included)."""

    name = "grid"

    def __init__(
        self, above: LatticeContour, below: Sequence[LatticeContour], mass: float, off: float, start: float
    ) -> None:
        """Take the engines, P_∞ of the upper one, a bound on the nodes' total error, and a guess."""
        self._above, self._below, self._mass, self._off = above, below, mass, off
        self.s, self.start = above.s, start

    def estimate(self, epsilon: float) -> tuple[float, float]:
        """Return δ(ε) and its derivative from the composition rounded up."""
        value, slope = self._above.estimate(epsilon)
        return value + self._mass, slope

    def bounds(self, epsilon: float) -> tuple[float, float]:
        """Return (lower, upper) with lower <= δ(ε) <= upper."""
        off = self._off + 2.0 * ROUNDING * abs(epsilon)
        high = (self._above.bounds(epsilon - off)[1] + self._mass) * (1.0 + 4.0 * ROUNDING)
        low = max((engine.bounds(epsilon + off)[0] for engine in self._below), default=0.0)
        return low, min(1.0, high)


def grid(
    profiles: Sequence[PrivacyProfile],
    counts: Sequence[int],
    *,
    width: float,
    delta: float | None = None,
    epsilon: float | None = None,
    upper_only: bool = False,
) -> Grid | None:
    """Return grid bounds near ε(delta) or at epsilon, of about the given width in ε; None if out of reach.

    A coarse grid gives the tilt s; then h = √(12 width / (n (s+1))), from the leading error
    n h² s(s+1)/12 of the composition rounded up, relative to δ.
    """
    total = sum(counts)
    small = 1e-7 * (1e-10 if delta is None else delta) / total
    ends = [_range(profile, small) for profile in profiles]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    if not max(high, -low) <= 700.0:
        return None  # e^loss would overflow
    spacing = Fraction(max(high - low, 1e-6) / 1024.0)
    coarse = _losses(rounded_up, profiles, ends, spacing)
    rough = LossSum(coarse, tuple(counts))
    saddle = _saddle(rough, delta, epsilon)
    if saddle is None:
        return None
    period, _ = TiltedLoss(rough, saddle.s).period(saddle, _TIGHT)
    h = math.sqrt(12.0 * width / (total * (saddle.s + 1.0)))
    h = max(h, (high - low) / _MOST_NODES, 1.1 * period / _MOST_NODES)
    if h < float(spacing):
        exact = [profile.pure_epsilon for profile in profiles if profile.pure_epsilon]
        unit, spacing = min(exact, default=None), Fraction(h)
        if unit is not None and h <= float(unit) < h * _MOST_NODES:
            # Nodes at ±ε of the smallest pure mechanism keep its atoms in place, unless they lie too close.
            spacing = unit / math.ceil(float(unit) / h)
    above = LossSum(_losses(rounded_up, profiles, ends, spacing), tuple(counts))
    found = _engine(above, spacing, delta, epsilon)
    if found is None:
        return None
    off = 8.0 * ROUNDING * total * (max(high, -low) + 1.0)
    if upper_only:
        return Grid(found[0], (), above.infinite_mass, off, found[1].epsilon)
    plain = _losses(rounded_down, profiles, ends, spacing)
    bent = tuple(
        _bent(profile, spacing, end) if _lost(profile, loss) > _MATTERS * small else loss
        for profile, end, loss in zip(profiles, ends, plain, strict=True)
    )
    lower = [
        _engine(LossSum(losses, tuple(counts)), spacing, delta, epsilon)
        for losses in dict.fromkeys((plain, bent))
    ]
    below = [engine for engine, _ in filter(None, lower)]
    return Grid(found[0], below, above.infinite_mass, off, found[1].epsilon)


def _engine(
    loss: PrivacyLoss, spacing: Fraction, delta: float | None, epsilon: float | None
) -> tuple[LatticeContour, Saddle] | None:
    """Return the contour of a loss on a grid, and its saddle: near ε, of which a saddle knows a bound first."""
    saddle, found = _saddle(loss, delta, epsilon), None
    for _ in range(_SADDLES):
        if saddle is None:
            break
        line, most = TiltedLoss(loss, saddle.s), 2 * _MOST_NODES
        if line.period(saddle, _TIGHT)[0] > most * float(spacing):
            break  # a transform on a grid is that of a whole period
        engine = lattice_contour(line, saddle, _TIGHT, most)
        if engine is None:
            break
        found = engine, saddle
        if delta is None:
            break
        near, _ = newton(engine, delta - loss.infinite_mass, saddle.epsilon, loss.supremum)
        if saddle.s * (saddle.epsilon - near) <= _NEAR:
            break
        saddle = replace(saddle_for_epsilon(loss, near), log_delta=saddle.log_delta)
    return found


def _saddle(loss: PrivacyLoss, delta: float | None, epsilon: float | None) -> Saddle | None:
    if epsilon is not None:
        return saddle_for_epsilon(loss, epsilon)
    assert delta is not None
    finite = delta - loss.infinite_mass
    return saddle_for_delta(loss, finite) if finite > 0.0 else None


def _losses(
    build: Callable[[PrivacyProfile, Fraction, int, int], GridLoss],
    profiles: Sequence[PrivacyProfile],
    ends: Sequence[tuple[float, float]],
    spacing: Fraction,
) -> tuple[GridLoss, ...]:
    pairs = zip(profiles, ends, strict=True)
    return tuple(build(profile, spacing, *_cells(spacing, end)) for profile, end in pairs)


def _cells(spacing: Fraction, ends: tuple[float, float]) -> tuple[int, int]:
    """Return the first and the last node, for any offset: the loss is not in the first cell."""
    return math.floor(ends[0] / float(spacing)) - 2, math.ceil(ends[1] / float(spacing)) + 1


def _bent(profile: PrivacyProfile, spacing: Fraction, ends: tuple[float, float]) -> GridLoss:
    """Return the loss rounded down so that its tail is kept."""
    offset = _anchor(profile, *ends) % spacing
    return rounded_down(profile, spacing, *_cells(spacing, ends), offset, most_lowered=_BENT)


def _lost(profile: PrivacyProfile, below: GridLoss) -> float:
    """Return the curve where a loss that was rounded down ends."""
    last = int(np.max(np.flatnonzero(below.masses), initial=0)) + 1
    return float(profile.delta(float(below.spacing) * (below.first + last)))


def _anchor(profile: PrivacyProfile, low: float, high: float) -> Fraction:
    """Return about the first percentile of the loss: if most of it lies close together, then right above.

    P(L > x) = δ(x) - δ'(x), the derivative from differences: nothing is proved by it.
    """
    step = 1e-6 * (high - low) or 1e-6  # a loss of a single finite value has no width
    first, last = low, high
    for _ in range(30):
        middle = 0.5 * (first + last)
        here, beyond = profile.delta(np.array([middle, middle + step])).tolist()
        above = here - (beyond - here) / step
        first, last = (middle, last) if above >= 0.99 else (first, middle)
    loss = profile.loss()
    return Fraction(first if loss is None else max(first, loss.infimum))


def _range(profile: PrivacyProfile, small: float) -> tuple[float, float]:
    """Return losses between which all but ``small`` of the mass lies."""
    check_time()
    largest = profile.pure_epsilon
    least = max(small, 1e-15)
    if largest is not None:
        # A little further, where the curve is exactly 0: no mass at infinity from rounding. The other
        # direction's largest loss is minus the least loss, and need not be the same.
        high = float(largest) * (1.0 + 1e-9)
        lows = (high * 1.25**k for k in range(40))
        return -next((x for x in lows if _mass_below(profile, x) <= least or x > 40.0), 40.0), high
    if profile.infinite_mass > small:
        small = profile.infinite_mass * (1.0 + 1e-9)
    high = next(
        (x for x in itertools.accumulate([2.0] * 18, lambda a, b: a * b) if profile.delta(x) <= small),
        math.inf,
    )
    low = next(
        (
            x
            for x in (2.0**k for k in range(1, 10))
            if math.exp(-x) <= 1e-16 or _mass_below(profile, x) <= small
        ),
        64.0,
    )
    loss = profile.loss()
    if loss is not None:
        low = min(low, -loss.infimum)
    points = np.linspace(0.0, high, 65) if math.isfinite(high) else np.zeros(1)
    if math.isfinite(high):
        enough = np.flatnonzero(np.asarray(profile.delta(points)) <= small)
        high = float(points[enough[0]]) if enough.size else high  # none if the time has been over since
    return -min(low, 64.0), high


def _mass_below(profile: PrivacyProfile, x: float) -> float:
    """Return δ(-x) - (1 - e^{-x}): e^{-x} times δ at x of the reversed pair, where that is known."""
    reverse = profile.reversed() if isinstance(profile, OneDirection) else profile
    if reverse is not profile or profile.symmetric:
        return math.exp(-x) * float(reverse.delta(x))
    return float(profile.delta(-x)) + math.expm1(-x)
