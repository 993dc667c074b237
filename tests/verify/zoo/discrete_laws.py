"""Laws of outputs that can be listed: local randomizers' messages, the index of a noisy maximum, integer noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from noise_laws import TAIL, exponential_cdf, laplace_cdf, laplace_density, quadrature
from oracle import Masses, by_likelihood_ratio

from mechanisms.arrays import FloatArray
from verify.zoo import discrete, local, rappor, selection


def grr_law(value: int, too_honest: bool = False) -> FloatArray:
    """Probability of each category, shape (k,)."""
    lie = (1 - local.GRR_TRUE) / (local.SIZE if too_honest else local.SIZE - 1)
    law = np.full(local.SIZE, lie)
    law[value] = local.GRR_TRUE + (lie if too_honest else 0.0)
    return law


def unary_law(value: int, rates: tuple[float, float]) -> FloatArray:
    """Probability of each bit string, shape (2^k,); the first category's bit is the highest."""
    p, q = rates
    law = np.ones(1)
    for category in range(local.SIZE):
        one = p if category == value else q
        law = np.outer(law, [1 - one, one]).reshape(-1)
    return law


def pure_ldp_rates() -> tuple[float, float]:
    """The rates at which the pure-LDP library's bits are really 1."""
    p, q = local.OUE
    return p + (1 - p) * q, q


def olh_law(value: int) -> FloatArray:
    """Probability of each message (a, b, report), shape (4 · 5 · g,)."""
    a, b, report = np.meshgrid(
        np.arange(1, local.PRIME), np.arange(local.PRIME), np.arange(local.BUCKETS), indexing="ij"
    )
    bucket = (a * value + b) % local.PRIME % local.BUCKETS
    law = np.where(report == bucket, local.OLH_TRUE, (1 - local.OLH_TRUE) / (local.BUCKETS - 1)) / (
        (local.PRIME - 1) * local.PRIME
    )
    return np.asarray(law.reshape(-1))


def subset_law(value: int) -> FloatArray:
    """Probability of each pair of categories (i < j) in lexicographic order, shape (15,)."""
    rows, columns = np.triu_indices(local.SUBSET_SIZE, 1)
    holds = (rows == value) | (columns == value)
    with_truth = local.INCLUDE / math.comb(local.SUBSET_SIZE - 1, local.SUBSET - 1)
    without = (1 - local.INCLUDE) / math.comb(local.SUBSET_SIZE - 1, local.SUBSET)
    return np.where(holds, with_truth, without)


def bit_masses(value: int, other: int, rates: tuple[float, float]) -> Masses:
    """Masses of the best events: only the number of agreeing bits among those that differ matters."""
    first, second = rappor.bloom_filter(value), rappor.bloom_filter(other)
    q, p = rates
    law, other_law = np.ones(1), np.ones(1)
    for bit in first[first != second]:
        # Report 1 agrees with the first value where its bit is 1; the order of outcomes is (agrees, disagrees).
        one, zero = (q, 1 - q), (1 - p, p)
        law = np.outer(law, one if bit else zero).reshape(-1)
        other_law = np.outer(other_law, zero[::-1] if bit else one[::-1]).reshape(-1)
    return by_likelihood_ratio(law, other_law)


def geometric_masses(alpha: float) -> Masses:
    """Masses of "at most k", k = 0, -1, ..., for P(k) ∝ α^|k| around 0 and around 1."""
    below = alpha ** np.arange(60.0) / (1.0 + alpha)
    return below, alpha * below


def truncated_law(count: int) -> list[Fraction]:
    """Exact probability of each output 0 .. n."""
    table = [int(value) for value in discrete.truncated_table(count, discrete.BITS)]
    return [
        Fraction(value - before, table[-1]) for value, before in zip(table, [0, *table[:-1]], strict=True)
    ]


def staircase_masses() -> Masses:
    """Masses of "at most t", t = 0, -1, ..., around 0 and around 1: ½ e^(-ε |t|) at whole numbers."""
    below = 0.5 * np.exp(-discrete.STAIRCASE_EPSILON * np.arange(30))
    return below, below * math.exp(-discrete.STAIRCASE_EPSILON)


_Law = Callable[[FloatArray], FloatArray]


def _exponential_density(x: FloatArray) -> FloatArray:
    return np.where(x >= 0.0, np.exp(-np.maximum(x, 0.0)), 0.0)


def index_law(counts: Sequence[float], density: _Law, cdf: _Law, scale: float) -> FloatArray:
    """P(index i wins) = ∫ f(x - q_i) Π_{j≠i} F(x - q_j) dx, noise of law (f, F) times `scale`; shape (counts,)."""
    q = np.asarray(counts, dtype=np.float64)
    lower, upper = q.min() - TAIL * scale, q.max() + TAIL * scale
    x, w = quadrature(q, lower, upper, scale)
    below = cdf((x - q[:, None]) / scale)
    laws = []
    for i in range(len(q)):
        others = np.prod(np.delete(below, i, axis=0), axis=0)
        laws.append(float(np.sum(w * density((x - q[i]) / scale) / scale * others)))
    return np.array(laws)


def laplace_index_law(counts: Sequence[float], scale: float = 2.0 / selection.EPSILON) -> FloatArray:
    """Law of ReportNoisyMax1's index."""
    return index_law(counts, laplace_density, laplace_cdf, scale)


def exponential_index_law(counts: Sequence[float], scale: float = 2.0 / selection.EPSILON) -> FloatArray:
    """Law of ReportNoisyMax2's index."""
    return index_law(counts, _exponential_density, exponential_cdf, scale)
