"""Products of independent privacy losses on a grid: an upper curve with every error term added.

Each loss is put on a common grid so that its pair is dominated, tilted, convolved by FFT and tilted back:
δ is then accurate relative to itself, however small it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import ROUNDING

DROPPED = 1e-30  # mass of each tail that is rounded up to the grid's end or to infinity
_WIDTH = 14.0  # standard deviations above ε that are summed one by one


@dataclass(frozen=True, eq=False)
class GridMasses:
    """A loss on the points ``(first + i) step`` of probability ``masses[i]``, infinite with the rest."""

    first: int
    masses: FloatArray
    infinite: float
    step: float


def grid_range(losses: FloatArray, probabilities: FloatArray) -> tuple[float, float]:
    """Return the losses between which all but `DROPPED` of the mass lies on each side (losses ascend)."""
    below = np.cumsum(probabilities)
    above = np.cumsum(probabilities[::-1])
    low = min(int(np.searchsorted(below, DROPPED)), losses.size - 1)
    high = max(losses.size - 1 - int(np.searchsorted(above, DROPPED)), low)
    return float(losses[low]), float(losses[high])


def on_grid(
    losses: FloatArray, probabilities: FloatArray, infinite: float, step: float, ends: tuple[float, float]
) -> GridMasses:
    """Round a loss to a grid so that the pair of the result dominates the given pair.

    An atom of mass p at l between grid points a and a + h is split so that both p and p e^{-l} (its mass
    under Q) stay: w = p (1 - e^{a-l}) / (1 - e^{-h}) goes up, the rest down. δ(ε) is the mean of the
    convex function (1 - e^ε x)^+ of x = e^{-l}, so spreading x can only raise it ("connect the dots",
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022, Thm 3.1); its error is O(h²), not O(h). Losses
    below the range are raised to its end, losses above count as infinite.
    """
    low, high = ends
    above = losses > high
    infinite += float(np.sum(probabilities[above]))
    kept = np.maximum(losses[~above], low)
    p = probabilities[~above]
    cell = np.floor(kept / step)
    up = p * np.clip(np.expm1(cell * step - kept) / math.expm1(-step), 0.0, 1.0)
    first = int(cell.min())
    index = (cell - first).astype(np.int64)
    size = int(index.max()) + 2
    masses = np.zeros(size)
    masses += np.bincount(index, p - up, size)
    masses += np.bincount(index + 1, up, size)
    return GridMasses(first, np.trim_zeros(masses, "b"), infinite, step)


class LossProduct:
    """The sum of independent grid losses, ``counts[i]`` times ``parts[i]``: a certified upper curve δ(ε)."""

    def __init__(self, parts: Sequence[GridMasses], counts: Sequence[int]) -> None:
        self._step = parts[0].step
        self._parts = [(part, count) for part, count in zip(parts, counts, strict=True) if count > 0]
        self._first = sum(part.first * count for part, count in self._parts)
        self._points: list[FloatArray] = [
            (part.first + np.arange(part.masses.size, dtype=np.float64)) * self._step
            for part, _ in self._parts
        ]
        self._top = sum(
            points[-1] * count for points, (_, count) in zip(self._points, self._parts, strict=True)
        )
        self._count = sum(count for _, count in self._parts)
        self._reach = sum(
            float(np.max(np.abs(points))) * count
            for points, (_, count) in zip(self._points, self._parts, strict=True)
        )
        log_finite = sum(count * math.log1p(-min(part.infinite, 1.0 - 1e-16)) for part, count in self._parts)
        self.infinite_mass = min(1.0, -math.expm1(log_finite) * (1.0 + 1e-12))
        self._mean, self._deviation = self._moments(0.0)
        self._rungs: dict[int, tuple[float, float, float, FloatArray, FloatArray, float]] = {}

    def _moments(self, tilt: float) -> tuple[float, float]:
        mean = variance = 0.0
        for points, (part, count) in zip(self._points, self._parts, strict=True):
            weights, _ = _tilted(part, points, tilt)
            own = float(weights @ points)
            mean += count * own
            variance += count * float(weights @ (points - own) ** 2)
        return mean, math.sqrt(variance)

    def _rung(self, number: int) -> tuple[float, float, float, FloatArray, FloatArray, float]:
        """Return the tilted product with a mean ``number / 2`` deviations above that of the untilted one.

        The L2 error of the product is at most (k + 2) η with η = 8 u log2 n the relative error of one
        transform (Higham 2002, Thm 24.2, a factor 4 beyond it) and k the number of parts: a power s of
        |F| <= 1 multiplies the error of F by at most s.
        """
        known = self._rungs.get(number)
        if known is not None:
            return known
        aim = min(self._mean + 0.5 * number * self._deviation, self._top - 0.25 * self._deviation)
        tilt = 0.0
        if aim > self._mean:
            high = 1.0 / self._deviation
            while self._moments(high)[0] < aim and high < 1e8:
                high *= 2.0
            if self._moments(high)[0] >= aim:
                high = scipy.optimize.brentq(lambda s: self._moments(s)[0] - aim, 0.0, high, rtol=1e-6)
            tilt = float(high)
        length = sum((part.masses.size - 1) * count for part, count in self._parts) + 1
        size = int(scipy.fft.next_fast_len(length, real=True))
        spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
        log_mgf = 0.0
        for points, (part, count) in zip(self._points, self._parts, strict=True):
            weights, log_total = _tilted(part, points, tilt)
            log_mgf += count * log_total
            spectrum *= scipy.fft.rfft(weights, size) ** count
        product = scipy.fft.irfft(spectrum, size)[:length]
        error = (self._count + 2) * 8.0 * ROUNDING * math.log2(size)
        suffix = np.concatenate([np.cumsum(np.maximum(product, 0.0)[::-1])[::-1], [0.0]])
        _, deviation = self._moments(tilt)
        self._rungs[number] = known = (tilt, log_mgf, error, product, suffix, deviation)
        return known

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of δ(ε), certified, for finite ε >= 0.

        δ(ε) = m_∞ + M(s) e^{-sε} Σ_{l > ε} p̂(l) e^{-s(l-ε)} (1 - e^{ε-l}), p̂ the tilted product.
        """
        if epsilon >= self._top:
            return self.infinite_mass
        above = epsilon - self._mean
        number = max(0, round(2.0 * above / self._deviation)) if self._deviation else 0  # 0: one finite loss
        tilt, log_mgf, error, product, suffix, deviation = self._rung(number)
        start = max(0, math.floor(epsilon / self._step) + 1 - self._first)
        end = min(product.size, start + math.ceil(_WIDTH * deviation / self._step) + 1)
        if start >= product.size:
            return self.infinite_mass
        excess = (self._first + np.arange(start, end)) * self._step - epsilon
        weights = -np.expm1(-excess) * np.exp(-tilt * excess)
        finite = float(product[start:end] @ weights) + error * float(np.linalg.norm(weights))
        beyond = (float(suffix[end]) + error * math.sqrt(product.size)) if end < product.size else 0.0
        finite += beyond * math.exp(-tilt * float(excess[-1]))
        exponent = log_mgf - tilt * epsilon
        # Of s l in every part and the sums of it; and of ln of each mass, which is above 1e-30 where it counts.
        rounding = 8.0 * ROUNDING * (tilt * (self._reach + epsilon) + abs(log_mgf) + 80.0 * self._count)
        finite = max(finite, 0.0) * math.exp(min(exponent + rounding, 700.0)) * (1.0 + 1e-11)
        return min(1.0, self.infinite_mass + finite)


def _tilted(part: GridMasses, points: FloatArray, tilt: float) -> tuple[FloatArray, float]:
    """Return the masses times e^{sl}, scaled to add up to one, and ln of their sum before."""
    with np.errstate(divide="ignore"):
        logs = np.log(part.masses) + tilt * points
    top = float(np.max(logs))
    weights = np.exp(logs - top)
    total = float(weights.sum())
    return weights / total, top + math.log(total)
