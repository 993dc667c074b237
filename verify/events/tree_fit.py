"""Fit a few small trees on top of an additive score: gradient boosting on binned readings.

Each tree is grown greedily, level by level, on histograms of the gradient of the logistic loss; its leaf
values are shrunken Newton steps (Friedman, *Greedy function approximation: a gradient boosting machine*,
Annals of Statistics 29, 2001). Trees are added while draws set aside say that they help.

Nothing else sees measurements that matter only together: trees show 5.40 of planar-exponential (without them 4.90).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from verify.events.features import Draws, Feature
from verify.events.score_fit import log_loss
from verify.events.scores import NEVER, AdditiveScore, Tree, TreeScore


@dataclass(frozen=True, slots=True)
class _Boosting:
    """How trees are grown; few and small ones, as each is one more evaluation of every draw.

    Attributes
    ----------
    depth
        Questions on every path of a tree.
    trees
        Trees at most.
    readings
        Readings that trees ask about, at most.
    step
        Share of the Newton step that a leaf takes.
    leaf_ridge
        In units of p(1-p) summed over draws.
    least_leaf
        p(1-p) summed over the draws of a leaf, at least.
    earned
        Of log-likelihood, that trees must gain on the validating draws.
    patience
        Trees without improvement before growing ends.
    width
        Bins of a histogram: all that a byte can count.
    """

    depth: int = 3
    trees: int = 40
    readings: int = 12
    step: float = 0.3
    leaf_ridge: float = 50.0
    least_leaf: float = 10.0
    earned: float = 3.0
    patience: int = 6
    width: int = 256


_SETTINGS = _Boosting()


def boosted_trees(
    found: Sequence[Feature], draws: Draws, base: AdditiveScore, base_score: FloatArray
) -> TreeScore | None:
    """Return trees that improve on the score `base` with the values `base_score` at the draws.

    Returns
    -------
    TreeScore or None
        None if the first trees do not help on the validating draws.
    """
    train = draws.train
    label = draws.label[train]
    score = base_score.copy()
    residual = label - special.expit(score[train])
    kept = _telling(found, train, residual)
    bins = [found[j].bins[train].astype(np.intp) for j in kept]
    # Trees cost an evaluation of everything: they have to earn it beyond what luck gives.
    least, trees, best = log_loss(score, draws) - _SETTINGS.earned / int(np.count_nonzero(~train)), [], 0
    for number in range(1, _SETTINGS.trees + 1):
        grown = _grow(bins, [found[j] for j in kept], residual, label - residual)
        if grown is None:
            break
        trees.append(grown)
        score += grown.values([found[j].bins for j in kept])
        residual = label - special.expit(score[train])
        loss = log_loss(score, draws)
        if loss < least:
            least, best = loss, number
        elif number - best >= _SETTINGS.patience:
            break
    if best == 0:
        return None
    used = sorted({j for tree in trees[:best] for j in tree.readings})
    renamed = tuple(
        Tree(tuple(used.index(j) for j in tree.readings), tree.bins, tree.leaves) for tree in trees[:best]
    )
    return TreeScore(base, tuple(found[kept[j]].binned for j in used), renamed)


def _telling(found: Sequence[Feature], train: npt.NDArray[np.bool_], residual: FloatArray) -> list[int]:
    """The readings whose bins explain most of the residual, in their order."""
    gains = []
    for feature in found:
        bins = feature.bins[train]
        total = np.bincount(bins, weights=residual, minlength=feature.size)
        count = np.bincount(bins, minlength=feature.size)
        gains.append(float(np.sum(total**2 / (count + _SETTINGS.leaf_ridge))))
    return sorted(np.argsort(-np.asarray(gains), kind="stable")[: _SETTINGS.readings].tolist())


def _grow(
    bins: Sequence[npt.NDArray[np.intp]],
    found: Sequence[Feature],
    residual: FloatArray,
    probability: FloatArray,
) -> Tree | None:
    """One tree; None if nothing can be split."""
    curvature = probability * (1.0 - probability)
    leaf = np.zeros(residual.size, dtype=np.intp)
    readings: list[int] = []
    firsts: list[int] = []
    for level in range(_SETTINGS.depth):
        nodes = 1 << level
        gain = np.full(nodes, -np.inf)
        choice = np.zeros((nodes, 2), dtype=np.intp)
        for j, (column, feature) in enumerate(zip(bins, found, strict=True)):
            where = leaf * _SETTINGS.width + column
            gradient = np.bincount(where, weights=residual, minlength=nodes * _SETTINGS.width).astype(
                np.float64
            )
            weight = np.bincount(where, weights=curvature, minlength=nodes * _SETTINGS.width).astype(
                np.float64
            )
            at, value = _best_cut(
                gradient.reshape(nodes, _SETTINGS.width),
                weight.reshape(nodes, _SETTINGS.width),
                feature.size - 2,
            )
            better = value > gain
            gain[better], choice[better, 0], choice[better, 1] = value[better], j, at[better]
        if level == 0 and not gain[0] > 0.0:
            return None
        answer = np.zeros(leaf.size, dtype=np.bool_)
        for node in range(nodes):
            j, first = (int(entry) for entry in choice[node])
            possible = gain[node] > -np.inf and found[j].size > 2
            readings.append(j)
            firsts.append(first if possible else NEVER)
            if possible:
                yes = bins[j] >= first
                answer |= yes if nodes == 1 else yes & (leaf == node)
        leaf = 2 * leaf + answer
    total = np.bincount(leaf, weights=residual, minlength=1 << _SETTINGS.depth)
    curvatures = np.bincount(leaf, weights=curvature, minlength=1 << _SETTINGS.depth)
    leaves = _SETTINGS.step * total / (curvatures + _SETTINGS.leaf_ridge)
    return Tree(tuple(readings), tuple(firsts), tuple(leaves.tolist()))


def _best_cut(
    gradient: FloatArray, curvature: FloatArray, cuts: int
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """For each node the first bin to be answered yes with the largest gain, and the gain; absent, bin 0, is "no"."""
    nodes = len(gradient)
    if cuts == 0:
        return np.zeros(nodes, dtype=np.intp), np.full(nodes, -np.inf)
    yes_gradient, yes_curvature = (
        np.cumsum(table[:, cuts + 1 : 1 : -1], axis=1)[:, ::-1] for table in (gradient, curvature)
    )
    all_gradient, all_curvature = gradient.sum(axis=1, keepdims=True), curvature.sum(axis=1, keepdims=True)
    gain = (
        yes_gradient**2 / (yes_curvature + _SETTINGS.leaf_ridge)
        + (all_gradient - yes_gradient) ** 2 / (all_curvature - yes_curvature + _SETTINGS.leaf_ridge)
        - all_gradient**2 / (all_curvature + _SETTINGS.leaf_ridge)
    )
    gain[
        (yes_curvature < _SETTINGS.least_leaf) | (all_curvature - yes_curvature < _SETTINGS.least_leaf)
    ] = -np.inf
    at = np.argmax(gain, axis=1)
    return at + 2, gain[np.arange(nodes), at]
