"""Certified Gauss-Legendre rules on panels, and bounds on transforms far out from a density."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.numerics.log_sum import log_sum

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_RATIO = 5.5  # semi-axis sum of the ellipses
REAL_AXIS = 0.5 * (_RATIO + 1.0 / _RATIO)
"""Real semi-axis of a panel's ellipse over the panel's half-width."""
_IMAGINARY_AXIS = 0.5 * (_RATIO - 1.0 / _RATIO)
"""Imaginary semi-axis of a panel's ellipse over the panel's half-width."""
NODE_ERROR = 1e-14
"""Nodes and weights of the rule on [-1, 1] are taken to be within this (the weights relative to themselves)."""
NEED = 46.0
"""Rules are refined until their error is below e^{-46}, about 1e-20, of the whole."""
_MOST_PANELS = 4096
_REFINEMENTS = 24
_LOG_FACTOR = math.log(64.0 / 15.0 / (1.0 - _RATIO**-2)) - 62.0 * math.log(_RATIO)


@dataclass(frozen=True, eq=False)
class Panels:
    """Neighbouring intervals, each with a rule of 32 points.

    A rule of k points on [-1, 1] is off by at most (64/15) m r^{-2(k-1)} / (1 - r^{-2}) for an integrand below
    m in the Bernstein ellipse of semi-axis sum r = 5.5 (Trefethen, "Approximation theory and approximation
    practice", Thm 19.3).

    Attributes
    ----------
    centres, halves
        Centres and half-widths.
    """

    centres: FloatArray
    halves: FloatArray

    @classmethod
    def between(cls, low: float, high: float, half: float) -> Panels:
        """Return panels of equal width, at most 2 ``half`` (unless they would be too many)."""
        count = max(1, math.ceil(min((high - low) / (2.0 * half), _MOST_PANELS)))
        own = (high - low) / (2.0 * count)
        centres: FloatArray = low + own * (2.0 * np.arange(count, dtype=np.float64) + 1.0)
        return cls(centres, np.full(count, own))

    @classmethod
    def refined(
        cls, low: float, high: float, half: float, log_bounds: Callable[[Panels], FloatArray], least: float
    ) -> tuple[Panels, float]:
        """Return panels with rules that err by less than e^{least - `NEED`}, and ln of that error.

        If that would take too many panels the error is larger; it is returned either way.

        Parameters
        ----------
        half
            The first half-width to try.
        log_bounds
            Ln of a bound on the integrand in each ellipse.
        least
            Ln of a lower bound on the whole.
        """
        for _ in range(_REFINEMENTS):
            panels = cls.between(low, high, half)
            error = panels.log_error(log_bounds(panels))
            if error - least <= -NEED or panels.centres.size >= _MOST_PANELS:
                break
            half *= 0.65
        return panels, error

    @property
    def reach(self) -> FloatArray:
        """Distance from each ellipse's centre to its ends on the real axis."""
        return REAL_AXIS * self.halves

    @property
    def height(self) -> FloatArray:
        """Distance from each ellipse's centre to its highest and lowest point."""
        return _IMAGINARY_AXIS * self.halves

    def rule(self) -> tuple[FloatArray, FloatArray]:
        """Return all nodes and the logarithms of their weights."""
        nodes = (self.centres[:, None] + self.halves[:, None] * _NODES).ravel()
        return nodes, np.log(self.halves[:, None] * _WEIGHTS).ravel()

    def log_error(self, log_bounds: FloatArray) -> float:
        """Return ln of the rules' error, given ln of a bound on the integrand in each ellipse."""
        return float(log_sum(log_bounds + np.log(self.halves))) + _LOG_FACTOR


def layer_cake(log_m: float, density: FloatArray, widths: FloatArray, heights: FloatArray) -> FloatArray:
    """Return ln of a bound on |M(s+it)| for |t| >= τ, for each τ, from the density of the tilted loss.

    Running minima outwards from the heaviest cell make a step function r below the density unimodal: a mixture
    of uniform laws of widths W_j with masses (y_j - y_{j+1}) W_j. A uniform law of width W has
    |transform| <= sinc*(τW/2), sinc*(y) = sin(y)/y up to π/2 and 1/y beyond (decreasing); all other mass
    counts in full:

        |M(s+it)| <= M(s) (1 - Σ_j (y_j - y_{j+1}) W_j (1 - sinc*(τ W_j / 2)))  for |t| >= τ.

    Parameters
    ----------
    log_m
        ln M(s), rounded up.
    density
        Lower bounds of the density of the loss tilted by e^{sL} / M(s), on neighbouring cells.
    widths
        Widths of the cells.
    heights
        τ.
    """
    steps = density * (1.0 - 1e-9)
    best = int(np.argmax(steps * widths))
    steps[best:] = np.minimum.accumulate(steps[best:])
    steps[: best + 1] = np.minimum.accumulate(steps[: best + 1][::-1])[::-1]
    order = np.argsort(-steps, kind="stable")
    drops = steps[order] - np.append(steps[order][1:], 0.0)
    layers = np.cumsum(widths[order])
    y = 0.5 * np.outer(heights, layers)
    sinc = np.where(y <= 0.5 * math.pi, np.sinc(np.minimum(y, 2.0) / math.pi), 1.0 / np.maximum(y, 1.0))
    kept = (1.0 - sinc) @ (drops * layers)
    return np.asarray(log_m + np.log1p(-np.clip(kept * (1.0 - 1e-9), 0.0, 1.0 - 1e-9)))
