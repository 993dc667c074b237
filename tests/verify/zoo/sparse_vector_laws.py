"""Exact output laws of the sparse vector technique: given ρ all replies are independent, so one integral each.

Everything is for the queries' answers q, threshold T, ρ ~ Lap(b) and ν_i ~ Lap(s):

    P(transcript) = ∫ f(ρ) Π_{i FALSE} F(T + ρ - q_i) Π_{i TRUE} (1 - F(T + ρ - q_i)) dρ.

With the masses of the best events of the zoo's specimens.
"""

from __future__ import annotations

import math

import numpy as np
from noise_laws import TAIL, laplace_cdf, laplace_cells, laplace_density, laplace_survival, quadrature
from oracle import Masses, by_likelihood_ratio

from mechanisms.arrays import FloatArray
from verify.zoo.sparse_vector import EPSILON, GAP_VALUE_EPSILON, MOST_TRUE, NUMERICAL_MOST_TRUE, QUERIES


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


SVT5_PAIRS = QUERIES // 2


SCALES = {  # T, scale of ρ, scale of ν, most TRUEs
    "svt1": (0.5, 2.0 / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt2": (1.0, 2.0 * MOST_TRUE / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt3": (1.0, 2.0 / EPSILON, 2.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt4": (1.0, 4.0 / EPSILON, 4.0 / (3.0 * EPSILON), MOST_TRUE),
    "svt6": (1.0, 2.0 / EPSILON, 2.0 / EPSILON, None),
    "numerical-svt": (1.0, 3.0 / EPSILON, 6.0 * NUMERICAL_MOST_TRUE / EPSILON, NUMERICAL_MOST_TRUE),
    "gap-svt": (1.0, 2.0 / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "gap-svt-value": (1.0, 2.0 / GAP_VALUE_EPSILON, 4.0 * MOST_TRUE / GAP_VALUE_EPSILON, MOST_TRUE),
}
"""Parameters of the specimens, as `transcripts` takes them."""


def transcript_masses(name: str, data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best sets of transcripts."""
    law, other_law = transcripts(data, *SCALES[name]), transcripts(other, *SCALES[name])
    return by_likelihood_ratio(np.array(list(law.values())), np.array(list(other_law.values())))


def value_masses(name: str, data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best events on the number of FALSEs and the value after them."""
    threshold, b, s, _ = SCALES[name]
    step = 2.0 ** round(math.log2(b / 160.0))  # a power of two: whole numbers are edges
    reach = int(30.0 * b / step)
    edges = np.asarray(step * np.arange(-reach, reach + 1), dtype=np.float64)
    return _with_rest(
        *first_value_cells(data, threshold, b, s, edges), *first_value_cells(other, threshold, b, s, edges)
    )


def gap_masses(data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best events on the number of FALSEs and the gap after them."""
    threshold, b, s, _ = SCALES["gap-svt"]
    edges = np.concatenate([np.linspace(0.0, 12.0 * s, 481), [math.inf]])
    return _with_rest(*gap_cells(data, threshold, b, s, edges), *gap_cells(other, threshold, b, s, edges))


def _with_rest(cells: FloatArray, rest: float, other_cells: FloatArray, other_rest: float) -> Masses:
    return by_likelihood_ratio(
        np.append(cells.reshape(-1), rest), np.append(other_cells.reshape(-1), other_rest)
    )


def numerical_masses(data: FloatArray, other: FloatArray, cells: int = 8) -> Masses:
    """Masses of the best events on the transcript and, for each TRUE, the cell of its value.

    Given the transcript the values are independent: Lap(3c/ε) around each answer. A value's loss is constant below
    and above both answers; between them it is cut into cells.
    """
    scale = 3.0 * NUMERICAL_MOST_TRUE / EPSILON
    law, other_law = transcripts(data, *SCALES["numerical-svt"]), transcripts(other, *SCALES["numerical-svt"])
    p, q = [], []
    for word, mass in law.items():
        joint, other_joint = np.array([mass]), np.array([other_law[word]])
        for i in (i for i, reply in enumerate(word) if reply == "1"):
            inner = np.linspace(min(data[i], other[i]), max(data[i], other[i]), cells + 1)
            edges = np.concatenate([[-math.inf], inner, [math.inf]])
            joint = np.outer(joint, laplace_cells((edges - data[i]) / scale)).reshape(-1)
            other_joint = np.outer(other_joint, laplace_cells((edges - other[i]) / scale)).reshape(-1)
        p.append(joint)
        q.append(other_joint)
    return by_likelihood_ratio(np.concatenate(p), np.concatenate(q))


def svt5_masses(half_width: float = SVT5_PAIRS) -> Masses:
    """P(|ρ| ≤ half_width): the thresholds at which the transcript is impossible under the neighbour.

    Five pairs of equal answers, two apart from each other, are split by 2 each: the gaps fill T ± 5, and a threshold
    in a gap gives the two of a pair different replies. (All ten answers equal and split in halves: T ± 1.)
    """
    b = 2.0 / EPSILON
    return np.atleast_1d(laplace_cdf(half_width / b) - laplace_cdf(-half_width / b)), np.array([0.0])
