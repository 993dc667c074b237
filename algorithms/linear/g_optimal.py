"""Near G-optimal experimental designs with small support, for estimating every linear reward.

A design is a probability vector π on actions x; with V(π) = Σ π(x) x xᵀ the leverage of an action is
‖x‖²_{V(π)⁻¹}, and g(π) the largest. Kiefer & Wolfowitz 1960: the least g is the dimension d. Todd 2016,
"Minimum-volume ellipsoids"; Lattimore, Szepesvári & Weisz 2020: g <= 2d with support at most
4d ln ln d + 16 by Wolfe-Atwood steps from a few extreme points. From d actions of large volume (Awerbuch & Kleinberg
2008, barycentric spanners) the same steps end with about half of that support: of 1,000 directions in R^20 25 for 44.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import DPWitnessError

_RANK_TOLERANCE = 1e-9  # of a residual, relative to the longest action
_FIRST_LOOK = 2_000  # actions among which extreme points are sought first
_REFRESH = 200  # Wolfe-Atwood steps between exact inverses
_TOO_FLAT = "actions: too close to a lower dimension for floating-point numbers"
_EXCHANGE = 1.05  # by how much an exchange makes the volume larger, at least
_EXCHANGES = 20  # for each dimension, at most


class DesignError(DPWitnessError, ValueError):
    """A set of actions has no design, or none was found that satisfies its guarantee."""


@dataclass(frozen=True, eq=False)
class Design:
    """G-optimal design with its verified leverage.

    Attributes
    ----------
    support
        Ids of the actions of positive weight, ascending; shape (s,).
    weights
        π on the support; positive, they add up to 1.
    leverage
        g(π), the largest leverage of ALL given actions, computed afresh from ``weights``.
    dimension
        The dimension of the span of the actions; leverages are taken in it.
    """

    support: IntArray
    weights: FloatArray
    leverage: float
    dimension: int


def support_bound(dimension: int) -> int:
    """Return ⌊4d ln ln d + 16⌋ (16 for d <= 2, where ln ln d is negative or undefined)."""
    return 16 if dimension <= 2 else math.floor(4 * dimension * math.log(math.log(dimension)) + 16)


def g_optimal_design(
    actions: npt.ArrayLike, *, factor: float = 2.0, start: Literal["extremes", "volume"] = "extremes"
) -> Design:
    """Return a design with g(π) <= factor · d and support at most 4d ln ln d + 16.

    If the actions do not span R^d, d is the dimension of their span. Deterministic; ties go to the lowest id.

    Parameters
    ----------
    actions
        Shape (k, d), finite, not all zero.
    factor
        Above 1; small factors may need more actions than the bound allows.
    start
        The first actions: up to 2d extreme points (Kumar & Yildirim 2005), or d actions of large volume; from
        there again at extreme points, where the design would have more actions than the bound.

    Raises
    ------
    DesignError
        If actions are not such an array, the factor is not above 1, or the support needed exceeds the bound.

    Examples
    --------
    >>> design = g_optimal_design([[1.0, 0.0], [0.0, 1.0], [0.1, 0.1]])
    >>> design.support.tolist(), round(design.leverage, 9)
    ([0, 1], 2.0)
    """
    points = np.ascontiguousarray(actions, dtype=np.float64)
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():
        raise DesignError(f"actions of shape {points.shape}: must be finite numbers of shape (k, d)")
    if not factor > 1.0:
        raise DesignError(f"factor = {factor!r}: must be above 1")
    if start == "volume":
        with suppress(DesignError):  # the bound on the support is proved for the other start
            return _small_design(points, factor, volume=True)
    return _small_design(points, factor, volume=False)


def _small_design(points: FloatArray, factor: float, *, volume: bool) -> Design:
    """Return a design of a support within the bound, or raise."""
    for look in (_FIRST_LOOK, points.shape[0]):
        chosen, basis = _extreme_points(points, look, pivots=volume)
        inside = points if basis.shape[1] == points.shape[1] else points @ basis
        if volume:
            chosen = _of_large_volume(inside, chosen, _looked_at(points, look))
        design = _wolfe_atwood(inside, np.unique(chosen), factor)
        if design.support.size <= support_bound(design.dimension):
            return design
    raise DesignError(
        f"the design needs {design.support.size} actions for g <= {factor:g} d, more than "
        f"{support_bound(design.dimension)} for d = {design.dimension}"
    )


def _looked_at(points: FloatArray, look: int) -> IntArray:
    """Return the ids of up to `look` actions: the longest, and some of all."""
    k = points.shape[0]
    if look >= k:
        return np.arange(k)
    squares = np.einsum("ij,ij->i", points, points)
    return np.union1d(np.argpartition(-squares, look // 2)[: look // 2], np.arange(0, k, -(-2 * k // look)))


def _extreme_points(points: FloatArray, look: int, *, pivots: bool) -> tuple[IntArray, FloatArray]:
    """Return up to 2d actions that span all of them, and an orthonormal basis of their span.

    Pivoted Gram-Schmidt: each direction is that of the action farthest from the span so far, the pivot; its extreme
    actions on both sides are kept, or the pivots only. If the actions looked at first span R^d, the others need not be.
    """
    k, d = points.shape
    ids = _looked_at(points, look)
    seen = points[ids]
    rest = seen.copy()  # each action's part outside the span so far
    residual = np.einsum("ij,ij->i", rest, rest)
    smallest = _RANK_TOLERANCE**2 * float(residual.max())
    if not smallest > 0.0:
        raise DesignError("actions: are all zero, or too short for floating-point numbers")
    basis = np.zeros((d, 0))
    chosen: list[int] = []
    while basis.shape[1] < d:
        pivot = int(np.argmax(residual))
        if residual[pivot] <= smallest:
            break
        direction = rest[pivot] - basis @ (basis.T @ rest[pivot])
        direction /= np.linalg.norm(direction)
        basis = np.column_stack([basis, direction])
        along = seen @ direction
        rest -= np.outer(rest @ direction, direction)
        residual = np.einsum("ij,ij->i", rest, rest)
        ends = (int(np.argmax(along)), int(np.argmin(along)))
        chosen += [pivot] if pivots else [pivot, *(end for end in ends if along[end] ** 2 > smallest)]
    if basis.shape[1] < d and look < k:
        return _extreme_points(points, k, pivots=pivots)
    if basis.shape[1] == d:
        basis = np.eye(d)
    return ids[chosen], basis


def _of_large_volume(points: FloatArray, chosen: IntArray, ids: IntArray) -> IntArray:
    """Exchange d actions that span R^d for others of `ids` while that makes their volume larger.

    By Cramer's rule the exchange of the j-th for an action multiplies the volume by the action's j-th coordinate in
    their basis.
    """
    seen, chosen = points[ids], chosen.copy()
    try:
        coordinates = np.linalg.solve(points[chosen].T, seen.T).T
    except np.linalg.LinAlgError:
        raise DesignError(_TOO_FLAT) from None
    for _ in range(_EXCHANGES * chosen.size):
        i, j = np.unravel_index(np.argmax(np.abs(coordinates)), coordinates.shape)
        if not abs(coordinates[i, j]) > _EXCHANGE:
            break
        taken = coordinates[i].copy()
        taken[j] -= 1.0
        coordinates -= np.outer(coordinates[:, j] / coordinates[i, j], taken)
        chosen[j] = ids[i]
    return chosen


def _leverages(points: FloatArray, support: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return V⁻¹ and the leverages of all points: squared norms after the inverse Cholesky factor."""
    chosen = points[support]
    information = (chosen.T * weights) @ chosen
    try:
        factor = np.linalg.inv(np.linalg.cholesky(information))
    except np.linalg.LinAlgError:
        raise DesignError(_TOO_FLAT) from None
    scaled = points @ factor.T
    return factor.T @ factor, np.einsum("ij,ij->i", scaled, scaled)


def _wolfe_atwood(points: FloatArray, start: IntArray, factor: float) -> Design:
    """Add weight to the action of largest leverage κ, by the optimal step (κ/d - 1) / (κ - 1), until κ <= factor d."""
    d = points.shape[1]
    weights = np.zeros(points.shape[0])
    weights[start] = 1.0 / start.size
    target = factor * d
    steps = 0
    while True:
        support = np.flatnonzero(weights)
        inverse, leverage = _leverages(points, support, weights[support])
        if leverage.max() <= target:  # verified on a fresh inverse
            return Design(
                support.astype(np.int64), weights[support] / weights.sum(), float(leverage.max()), d
            )
        for _ in range(_REFRESH):
            worst = int(np.argmax(leverage))
            largest = float(leverage[worst])
            if largest <= target * (1.0 - 1e-9):
                break
            step = (largest / d - 1.0) / (largest - 1.0)
            across = inverse @ points[worst]
            ratio = step / (1.0 - step)
            # Sherman-Morrison: V' = (1 - step) (V + ratio x xᵀ).
            shrink = ratio / (1.0 + ratio * largest)
            seen = points @ across
            inverse = (inverse - shrink * np.outer(across, across)) / (1.0 - step)
            leverage = (leverage - shrink * seen * seen) / (1.0 - step)
            weights *= 1.0 - step
            weights[worst] += step
            steps += 1
        if steps > 10_000:
            raise DesignError(f"no design with g <= {factor:g} d found in {steps} steps")
