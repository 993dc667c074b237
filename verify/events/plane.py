"""Events of two measurements together: disks, bands along a diagonal, and what lies beyond a hyperbola.

What tells may be a small spot, such as the true place to which noise was added: no half-plane and no box that is laid
out by quantiles comes close to it. Its middle is looked for among the draws themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.families import Family, Sorted
from verify.events.joint_readings import Distance, Product
from verify.events.line_families import half_line_family, interval_family, score_family
from verify.events.rounded_readings import Rounding
from verify.events.summaries import Summary
from verify.events.table_families import shrunken_log_ratio
from verify.events.view_sample import WorldSamples

FEW_COLUMNS = 3
"""Measurements up to which every two are read together."""

_MOST_CELLS = 16  # quantiles of either coordinate, between which a spot is looked for first
_LEAST = 200  # draws of a disk from which its middle is known well enough to look at a smaller one
_STEP = 0.7  # of a disk's radius, that the next one has
_MOST_STEPS = 60
_TIDY = 2  # digits kept of a disk's radius in its middle: 1 rather than 0.9999


def plane_families(fit: WorldSamples, choose: WorldSamples, columns: Sequence[int]) -> Iterator[Family]:
    """Sums, products and distances from a telling point of every two of a few columns."""
    if not 2 <= len(columns) <= FEW_COLUMNS:
        return
    named, rounding = fit[0].columns, Rounding(fit)
    for i, j in combinations(columns, 2):
        total = rounding.applied(Summary("sum", (i, j), (named[i], named[j])), (i, j))
        sums = Sorted.of(total, fit, choose)
        if len(named) > 2:  # of all columns, it is looked at anyway
            yield from half_line_family(sums)
        yield from interval_family(sums)
        yield from half_line_family(Sorted.of(Product(i, named[i], j, named[j]), fit, choose))
        points = [world.values[:, (i, j)] for world in fit]
        points = [place[np.isfinite(place).all(axis=1)] for place in points]
        scales = _scales(np.concatenate(points))
        if scales is None:
            continue
        for first, second in (points, points[::-1]):
            centre = telling_point(first / scales, second / scales)
            if centre is not None:
                middle = Distance(
                    (i, j), (named[i], named[j]), tuple((centre * scales).tolist()), tuple(scales.tolist())
                )
                yield score_family(middle, choose)


def telling_point(first: FloatArray, second: FloatArray) -> FloatArray | None:
    """Return a point around which draws of the first world lie closest together, where it is the likelier one.

    The search begins in the cell of a grid of quantiles in which the first world is the likeliest in proportion, and
    goes on in disks that become smaller and smaller: the middle of each is the median of the draws in the one before.

    Parameters
    ----------
    first, second
        Draws of both worlds, shape (n, 2), all finite.

    Returns
    -------
    FloatArray or None
        Shape (2,); None if there are too few draws.
    """
    if len(first) < _LEAST or len(second) < _LEAST:
        return None
    cells = []
    pooled = np.concatenate([first, second])
    rows = min(_MOST_CELLS, math.isqrt(len(pooled) // (2 * _LEAST)))
    cuts = [np.quantile(axis, np.linspace(0.0, 1.0, rows + 1)[1:-1]) for axis in pooled.T]
    for world in (first, second):
        places = [np.searchsorted(cut, axis, side="right") for cut, axis in zip(cuts, world.T, strict=True)]
        cells.append(places[0] * rows + places[1])
    counts = [np.bincount(cell, minlength=rows**2).astype(np.int64) for cell in cells]
    ratios = shrunken_log_ratio((counts[0], counts[1]), (len(first), len(second)))
    ratios[counts[0] < _LEAST // 4] = -np.inf
    best = int(np.argmax(ratios))
    if not np.isfinite(ratios[best]):
        return None
    inside = first[cells[0] == best]
    centre = np.median(inside, axis=0)
    radius = float(np.median(_distances(inside, centre)))
    for _ in range(_MOST_STEPS):
        near = first[_distances(first, centre) <= radius]
        if len(near) < _LEAST or radius == 0.0:
            break
        centre, radius = np.median(near, axis=0), radius * _STEP
    if radius == 0.0:
        return np.asarray(centre)
    digits = _TIDY - int(np.floor(np.log10(radius)))
    return np.asarray(np.round(centre, digits) + 0.0)


def _scales(points: FloatArray) -> FloatArray | None:
    """Return 1 for coordinates of like spread, else powers of 2 that make them alike; None if one has no spread."""
    if len(points) < _LEAST:
        return None
    low, high = np.quantile(points, [0.25, 0.75], axis=0)
    spread = high - low
    if not (spread > 0.0).all():
        return None
    if spread.max() <= 4.0 * spread.min():
        return np.ones(spread.size)
    return np.asarray(2.0 ** np.round(np.log2(spread)))


def _distances(points: FloatArray, centre: FloatArray) -> npt.NDArray[np.float64]:
    return np.asarray(np.hypot(points[:, 0] - centre[0], points[:, 1] - centre[1]))
