"""Fourier sums of positive point masses: finite losses, lattice losses, quadrature rules."""

from __future__ import annotations

import math

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import ROUNDING, ComplexArray


def fourier_of_masses(
    log_masses: FloatArray,
    points: FloatArray,
    relative: FloatArray,
    absolute: FloatArray | float,
    t: FloatArray,
) -> tuple[ComplexArray, FloatArray]:
    """Return ln Σ_j m_j e^{it l_j} for equally spaced t from 0, with its error.

    With weights w_j = m_j / Σ m the sum is (Σ m) φ(t), φ = Σ w_j e^{itl_j}. Nodes t_k = kh with
    k = aB + b make e^{it_k l} = e^{iaBhl} e^{ibhl}: one matrix product and 2√N exponentials per point.
    Each product has relative error (5|t l| + 12) u, their sum of J terms J u more, all relative to
    Σ w_j = 1; hence |computed φ - φ| <= e := Σ w_j (relative_j + u (5|t||l_j| + J + 16)) + absolute, and
    |computed - true| <= |computed| (e^E - 1) with E = ln(1 + e / |computed φ|).

    Parameters
    ----------
    log_masses, points
        ln m_j and l_j, one-dimensional.
    relative
        Relative error of each m_j.
    absolute
        Further error of the sum (truncation, quadrature), relative to Σ m; scalar or one for each t.
    """
    top = float(np.max(log_masses))
    weights = np.exp(log_masses - top)
    total = float(np.sum(weights))
    weights /= total
    if t.size == 1:
        phi = np.ones(1, dtype=np.complex128)
    else:
        h = float(t[1])
        block = math.isqrt(t.size - 1) + 1
        rows = -(-t.size // block)
        inner = np.exp(1j * np.outer(points, h * np.arange(block))) * weights[:, None]
        outer = np.exp(1j * np.outer(h * block * np.arange(rows), points))
        phi = (outer @ inner).ravel()[: t.size]
    scatter = float(weights @ relative)
    slope = 5.0 * float(weights @ np.abs(points))
    error = scatter + ROUNDING * (slope * t + points.size + 16.0) + absolute
    size = np.abs(phi)
    with np.errstate(divide="ignore", over="ignore"):
        value = np.log(np.where(size > 0.0, phi, 1e-300))
        bound = np.log1p(error / np.maximum(size, 1e-300))
    value += top + math.log(total)
    return value, bound + 4 * ROUNDING * (1.0 + abs(top))
