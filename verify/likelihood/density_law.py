"""Laws of scalar views with a density, and what two of them say about privacy, by quadrature.

The error of an integral is *stated*, not proved: the difference of two Gauss-Legendre rules on every piece, ten
times over, and whatever of the two densities lies outside the range. A lower bound is the value less that error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from accountant import CertifiedInterval
from mechanisms import Mechanism, ParameterError
from verify.events.event import Interval
from verify.events.readings import Value
from verify.events.view_sample import Column
from verify.statistics.privacy_loss import ROUNDING

FloatArray = npt.NDArray[np.float64]

_FEW = np.polynomial.legendre.leggauss(15)
_MANY = np.polynomial.legendre.leggauss(31)
_PIECES = 256  # between two neighbouring breakpoints
_BY = "quadrature, error stated"


@dataclass(frozen=True, eq=False)
class DensityLaw:
    """A law on the line with a density that is smooth between breakpoints.

    Attributes
    ----------
    log_density
        ``log_density(x)`` for an array of points; -inf where the density is 0.
    breakpoints
        Increasing, at least two; outermost the range that is integrated over (the mass outside is counted as
        an error), in between every point at which the density jumps or has a kink.
    """

    log_density: Callable[[FloatArray], FloatArray]
    breakpoints: tuple[float, ...]

    def __post_init__(self) -> None:
        points = tuple(float(point) for point in self.breakpoints)
        if len(points) < 2 or not all(a < b for a, b in pairwise(points)):
            raise ParameterError(
                f"breakpoints = {self.breakpoints!r}: must be at least two increasing numbers"
            )
        if not all(map(math.isfinite, points)):
            raise ParameterError(f"breakpoints = {self.breakpoints!r}: must be finite")
        object.__setattr__(self, "breakpoints", points)

    def at(self, x: FloatArray) -> FloatArray:
        """The log density."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.log_density(x), dtype=np.float64)

    def cumulative(self, x: FloatArray) -> FloatArray:
        """P(view ≤ x), by quadrature, to about 1e-9; shape of x."""
        edges, masses = self._table
        left = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        part = (np.clip(x, edges[0], edges[-1]) - edges[left]) / (edges[left + 1] - edges[left])
        points, weights = _FEW
        nodes = (
            edges[left, None] + (edges[left + 1] - edges[left])[:, None] * part[:, None] * (points + 1) / 2
        )
        inside = np.exp(self.at(nodes)) @ weights * (edges[left + 1] - edges[left]) * part / 2
        return np.asarray(np.clip(np.cumsum(np.append(0.0, masses))[left] + inside, 0.0, 1.0))

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        edges = _edges(self.breakpoints)
        return edges, _integrals(edges, _MANY, lambda x: np.exp(self.at(x)))

    def contradiction(self, views: FloatArray, error: float) -> str | None:
        """Say what in independent draws of the view contradicts the law; None if nothing does.

        Kolmogorov's distance between the law and the draws' distribution function exceeds √(ln(2/error) / 2n)
        with probability at most `error` (Massart 1990, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz
        inequality"); 10⁻⁸ is added for the quadrature.
        """
        if views.shape[1] != 1:
            return f"views have {views.shape[1]} numbers, 1 by the law"
        x = np.sort(views[:, 0])
        if np.isnan(x[-1]):
            return "a view is NaN, which has no density"
        n = len(x)
        f = self.cumulative(x)
        above, below = np.arange(1, n + 1) / n - f, f - np.arange(n) / n
        worst = int(np.argmax(np.maximum(above, below)))
        if max(above[worst], below[worst]) <= math.sqrt(math.log(2.0 / error) / (2 * n)) + 1e-8:
            return None
        return (
            f"a share of {(worst + 1) / n:.4g} of {n:,} draws is at most {x[worst]:.6g}; by the law it is "
            f"{f[worst]:.4g}"
        )

    def compared(self, other: DensityLaw) -> DensityPair:
        """The pair of this law and another."""
        return DensityPair(self, other)


@dataclass(frozen=True, eq=False)
class DensityPair:
    """Two densities on the line: what (ε, δ) they force, and what they allow."""

    law: DensityLaw
    other: DensityLaw

    @property
    def swapped(self) -> DensityPair:
        """The pair in the other order."""
        return DensityPair(self.other, self.law)

    @cached_property
    def _edges(self) -> FloatArray:
        return _edges(sorted({*self.law.breakpoints, *self.other.breakpoints}))

    def loss(self, views: FloatArray) -> FloatArray:
        """Ln f / g of each view, shape (n, 1) to (n,)."""
        return self._loss(views.reshape(-1))

    def _loss(self, x: FloatArray) -> FloatArray:
        """Ln f(x) / g(x): inf where only f has mass, -inf where f has none."""
        first, second = self.law.at(x), self.other.at(x)
        with np.errstate(invalid="ignore"):
            loss = first - second
        return np.where(np.isneginf(first), -np.inf, loss)

    def delta(self, epsilon: float) -> CertifiedInterval:
        """δ(ε) = ∫ (f - e^ε g)⁺ of this order, with the error stated.

        Raises
        ------
        ParameterError
            If epsilon is negative or NaN.
        """
        if not epsilon >= 0.0:
            raise ParameterError(f"epsilon = {epsilon!r}: must be at least 0")

        def excess(x: FloatArray) -> FloatArray:
            loss = self._loss(x)
            with np.errstate(invalid="ignore", over="ignore"):
                share = -np.expm1(np.minimum(epsilon - loss, 0.0))
            return np.where(
                loss > epsilon, np.exp(self.law.at(x)) * np.where(np.isinf(loss), 1.0, share), 0.0
            )

        edges = self._cut_at(epsilon)
        few, many = _integrals(edges, _FEW, excess), _integrals(edges, _MANY, excess)
        value, error = math.fsum(many), 10.0 * math.fsum(np.abs(many - few)) + 1e-14 * len(edges)
        mass = math.fsum(_integrals(self._edges, _MANY, lambda x: np.exp(self.law.at(x))))
        outside = max(0.0, 1.0 - mass)
        return CertifiedInterval(max(0.0, value - error), min(1.0, value + error + outside), _BY, _BY)

    def epsilon(self, delta: float = 0.0) -> CertifiedInterval:
        """The least ε with δ(ε) ≤ `delta`, of this order.

        For delta = 0 the lower end is the largest ln f / g at the points looked at: densities are continuous
        between breakpoints, so that a ratio seen at one point is nearly reached on a set of positive mass. The
        upper end is then infinite: between points the ratio is unknown.

        Raises
        ------
        ParameterError
            If delta is not in [0, 1).
        """
        if not 0.0 <= delta < 1.0:
            raise ParameterError(f"delta = {delta!r}: must lie in [0, 1)")
        if delta == 0.0:
            seen = self._loss(_nodes(self._edges, _FEW)[0])
            return CertifiedInterval(max(0.0, float(seen.max()) - ROUNDING), math.inf, _BY, _BY)
        low, high = 0.0, 64.0
        if not self.delta(0.0).lower > delta:
            low = high = 0.0
        elif self.delta(high).lower > delta:
            low = high = self.epsilon(0.0).lower if math.isinf(self.epsilon(0.0).lower) else 64.0
        while high - low > 1e-9 * max(1.0, high):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.delta(middle).lower > delta else (low, middle)
        upper = high
        while upper < 64.0 and self.delta(upper).upper > delta:
            upper = upper * (1.0 + 1e-6) + 1e-6
        if self.delta(upper).upper > delta:
            upper = math.inf
        return CertifiedInterval(low, upper, _BY, _BY)

    def intervals_above(self, loss: float) -> list[tuple[float, float]]:
        """The intervals on which ln f / g exceeds `loss`, left to right; the outermost have no outer end."""
        edges = self._cut_at(loss)
        inside = self._loss((edges[:-1] + edges[1:]) / 2.0) > loss
        edges = np.concatenate([[-math.inf], edges[1:-1], [math.inf]])
        found: list[tuple[float, float]] = []
        for left, right in zip(edges[:-1][inside].tolist(), edges[1:][inside].tolist(), strict=True):
            if found and found[-1][1] == left:
                found[-1] = (found[-1][0], right)
            else:
                found.append((left, right))
        return found

    def event(self, loss: float, columns: Sequence[Column]) -> Interval | None:
        """The event that ln f / g exceeds `loss`, if it is one interval (or one's complement)."""
        found, value = self.intervals_above(loss), Value(0, columns[0])
        if len(found) == 1:
            return Interval(value, *found[0])
        if len(found) == 2 and found[0][0] == -math.inf and found[1][1] == math.inf:
            return Interval(value, found[0][1], found[1][0], complement=True)
        return None

    def mass(self, intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Probabilities of a union of intervals under both laws, by quadrature."""
        both = []
        for law in (self.law, self.other):
            ends = np.nan_to_num(np.array(intervals, dtype=np.float64).reshape(-1, 2))
            both.append(float(np.clip((law.cumulative(ends[:, 1]) - law.cumulative(ends[:, 0])).sum(), 0, 1)))
        return both[0], both[1]

    def _cut_at(self, epsilon: float) -> FloatArray:
        """The edges, and every point at which ln f / g passes ε: bisection where the sign changes."""
        edges = self._edges
        # Just inside each piece: at a breakpoint itself the density may belong to the other side.
        inset = (edges[1:] - edges[:-1]) * 1e-9
        left, right = edges[:-1] + inset, edges[1:] - inset
        above_left, above_right = self._loss(left) > epsilon, self._loss(right) > epsilon
        crossed = above_left != above_right
        left, right, above = left[crossed], right[crossed], above_left[crossed]
        for _ in range(60):
            middle = (left + right) / 2.0
            same = (self._loss(middle) > epsilon) == above
            left, right = np.where(same, middle, left), np.where(same, right, middle)
        return np.unique(np.concatenate([edges, left]))


def law_of(mechanism: Mechanism, value: float) -> DensityLaw:
    """The law of a scalar release of a mechanism with a continuous density, such as a noisy sum.

    The range is 60 of its noise's scales (or standard deviations) to either side, beyond which even a Laplace
    tail holds less than 1e-25.

    Raises
    ------
    ParameterError
        If the mechanism names no ``scale`` or ``sigma``.
    """
    width = getattr(mechanism, "scale", None) or getattr(mechanism, "sigma", None)
    if width is None:
        raise ParameterError(f"mechanism = {mechanism!r}: must have a scale or sigma")
    ends = value - 60.0 * width, value, value + 60.0 * width
    return DensityLaw(lambda x: mechanism.log_density(x, value), ends)


def _edges(breakpoints: Sequence[float]) -> FloatArray:
    pieces = [np.linspace(a, b, _PIECES, endpoint=False) for a, b in pairwise(breakpoints)]
    return np.concatenate([*pieces, [breakpoints[-1]]])


def _nodes(edges: FloatArray, rule: tuple[FloatArray, FloatArray]) -> tuple[FloatArray, FloatArray]:
    points, weights = rule
    half = np.diff(edges)[:, None] / 2.0
    return edges[:-1, None] + half * (points + 1.0), half * weights


def _integrals(
    edges: FloatArray, rule: tuple[FloatArray, FloatArray], of: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    nodes, weights = _nodes(edges, rule)
    return np.asarray((of(nodes.reshape(-1)).reshape(nodes.shape) * weights).sum(axis=1))
