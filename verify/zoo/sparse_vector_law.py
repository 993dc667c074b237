"""Exact output laws of the sparse vector technique: given ρ all replies are independent, so one integral each.

Everything is for the queries' answers q, threshold T, ρ ~ Lap(b) and ν_i ~ Lap(s):

    P(transcript) = ∫ f(ρ) Π_{i FALSE} F(T + ρ - q_i) Π_{i TRUE} (1 - F(T + ρ - q_i)) dρ.
"""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray
from verify.zoo.laws import TAIL, laplace_cdf, laplace_cells, laplace_density, laplace_survival, quadrature


def _threshold_points(q: FloatArray, threshold: float, b: float) -> tuple[FloatArray, FloatArray]:
    """Quadrature points for ρ and weights that hold its density."""
    points, weights = quadrature([0.0, *(q - threshold)], -TAIL * b, TAIL * b, b)
    return points, weights * laplace_density(points / b) / b


def transcripts(q: FloatArray, threshold: float, b: float, s: float, most: int | None) -> dict[str, float]:
    """Probability of every transcript, such as "001" (F, F, T, then stopped); `most` is c."""
    q = np.asarray(q, dtype=np.float64)
    rho, weights = _threshold_points(q, threshold, b)
    x = (threshold + rho - q[:, None]) / s
    false, true = laplace_cdf(x), laplace_survival(x)
    law: dict[str, float] = {}
    open_ends: list[tuple[str, int, FloatArray]] = [("", 0, weights)]
    for i in range(len(q)):
        following: list[tuple[str, int, FloatArray]] = []
        for word, count, mass in open_ends:
            for reply, factor in (("0", false[i]), ("1", true[i])):
                longer, number = word + reply, count + (reply == "1")
                if most is not None and number >= most:
                    law[longer] = float(np.sum(mass * factor))
                else:
                    following.append((longer, number, mass * factor))
        open_ends = following
    for word, _, mass in open_ends:
        law[word] = float(np.sum(mass))
    return law


def first_value_cells(
    q: FloatArray, threshold: float, b: float, s: float, edges: FloatArray
) -> tuple[FloatArray, float]:
    """Alg. 3, c = 1: masses of "k FALSEs, then a value in cell j", shape (queries, cells); and of no TRUE.

    The density at value v is ∫_{ρ ≤ v - T} f(ρ) Π_{i<k} F(T + ρ - q_i) dρ · f_ν(v - q_k). `edges` must be a fine
    lattice that holds every kink (q_i, q_i - T): within a cell the two factors are taken at their means.
    """
    q = np.asarray(q, dtype=np.float64)
    rho = (edges[:-1] + edges[1:]) / 2.0 - threshold
    density = laplace_cells((edges - threshold) / b)
    below = laplace_cdf((threshold + rho - q[:, None]) / s)
    silent = np.cumprod(np.vstack([np.ones_like(rho), below]), axis=0)  # silent[k]: the first k are FALSE
    joint = density * silent
    reached = np.cumsum(joint, axis=1) - joint / 2.0  # ρ below the middle of the cell
    values = laplace_cells((edges - q[:, None]) / s)
    return reached[:-1] * values, float(joint[-1].sum())


def gap_cells(
    q: FloatArray, threshold: float, b: float, s: float, edges: FloatArray
) -> tuple[FloatArray, float]:
    """SVT with gap, c = 1: masses of "k FALSEs, then a gap in cell j", shape (queries, cells); and of no TRUE.

    ∫ f(ρ) Π_{i<k} F(T + ρ - q_i) P(T + ρ + edges_j ≤ q_k + ν ≤ T + ρ + edges_{j+1}) dρ; edges from 0 to infinity.
    """
    q = np.asarray(q, dtype=np.float64)
    rho, weights = _threshold_points(q, threshold, b)
    silent = weights
    cells = []
    for answer in q:
        level = threshold + rho - answer
        exceeding = silent @ laplace_survival((level[:, None] + edges) / s)
        cells.append(exceeding[:-1] - exceeding[1:])
        silent = silent * laplace_cdf(level / s)
    return np.array(cells), float(silent.sum())
