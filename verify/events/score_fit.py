"""Fit additive scores: naive Bayes, and a logistic model for readings that depend on each other.

Both add one table entry per reading. Naive Bayes takes each table to be the reading's own log ratio, which
is right for independent readings; penalised logistic regression (by Newton's method) fits all tables at
once, and a penalty on their roughness, chosen on draws set aside, keeps noise out of them: where the
log-likelihood ratio is a hundredth, 16 free numbers per reading drown it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from verify.events.binned import Bins
from verify.events.features import Draws, Feature
from verify.events.scores import AdditiveScore, ScoreTable


@dataclass(frozen=True, slots=True)
class _Regression:
    """Settings of the fit of the logistic model: they keep a fit cheap, and its noise small.

    Attributes
    ----------
    hessian_rows
        Draws from which the Hessian is estimated.
    penalties
        On the roughness of tables, from almost straight lines to almost free.
    ridge
        On every table entry.
    negligible
        Share of the largest spread of any reading's table entries, below which a reading may be dropped.
    missed
        Log-likelihood of the validating draws that may be lost by it.
    newton_steps
        The number of Newton steps for each penalty.
    least_gain
        Gain of log-likelihood that is worth another step: far below its standard error.
    stale
        Mean relative change of p(1-p) from which the Hessian is estimated again.
    products
        Matrix-vector products of one Newton step, at most.
    """

    hessian_rows: int = 20_000
    penalties: tuple[float, ...] = (3e5, 1e4, 3e2, 1e1)
    ridge: float = 1.0
    negligible: float = 0.1
    missed: float = 1.0
    newton_steps: int = 4
    least_gain: float = 0.1
    stale: float = 0.1
    products: int = 200


SETTINGS = _Regression()


def naive_bayes(found: Sequence[Feature], draws: Draws) -> AdditiveScore:
    """For each reading the log ratio of its smoothed bin frequencies."""
    tables = []
    first = draws.label == 1.0
    for feature in found:
        frequencies = []
        for world in (first, ~first):
            count = np.bincount(feature.bins[world], minlength=feature.size)
            frequencies.append((count + 1.0) / (count.sum() + feature.size))
        tables.append(_table(feature, np.log(frequencies[0]) - np.log(frequencies[1])))
    return AdditiveScore(tuple(tables))


def logistic(found: Sequence[Feature], draws: Draws) -> AdditiveScore | None:
    """Penalised logistic regression on all bins of all readings.

    Starting from the strongest of `_Regression.penalties`, the penalty is relaxed as long as the log-likelihood of the
    validating draws improves.

    Returns
    -------
    AdditiveScore or None
        None if no penalty improves on the score 0.
    """
    model = _Model.from_features(found, draws)
    weights = np.zeros(model.offsets[-1])
    best: tuple[float, FloatArray] = (_log_loss(np.zeros(draws.label.size), draws), weights)
    for penalty in SETTINGS.penalties:
        weights = model.newton(model.roughness(penalty), weights)
        loss = _log_loss(model.score(weights), draws)
        if loss >= best[0]:
            break
        best = (loss, weights)
    if not best[1].any():
        return None
    weights, kept = _without_negligible(model, draws, *best)
    return AdditiveScore(tuple(_table(found[j], weights[model.parts[j]]) for j in kept))


def _without_negligible(
    model: _Model, draws: Draws, loss: float, weights: FloatArray
) -> tuple[FloatArray, list[int]]:
    """Drop the readings that add next to nothing to a score, unless the validating draws miss them.

    Every reading of a score is taken again of each draw on which the score is counted.

    Returns
    -------
    tuple
        The weights, 0 for dropped readings, and the indices of the others.
    """
    parts = list(zip(model.parts, model.found, strict=True))
    spread = [_spread(weights[part], feature) for part, feature in parts]
    kept = [j for j, size in enumerate(spread) if size >= SETTINGS.negligible * max(spread)]
    fewer = np.zeros_like(weights)
    for j in kept:
        fewer[model.parts[j]] = weights[model.parts[j]]
    allowed = loss + SETTINGS.missed / int(np.count_nonzero(~draws.train))
    if _log_loss(model.score(fewer), draws) <= allowed:
        return fewer, kept
    return weights, list(range(len(spread)))


def _spread(weights: FloatArray, feature: Feature) -> float:
    """The standard deviation of a table's entries over the draws."""
    share = np.bincount(feature.bins, minlength=feature.size) / feature.bins.size
    centred = weights - float(np.sum(share * weights))
    return float(np.sqrt(np.sum(share * centred**2)))


def _log_loss(score: FloatArray, draws: Draws) -> float:
    """Mean of ln(1 + e^(-±score)) over the validating draws."""
    validate = ~draws.train
    sign = 1.0 - 2.0 * draws.label[validate]
    return float(np.mean(np.logaddexp(0.0, sign * score[validate])))


@dataclass(slots=True)
class _Model:
    """All bins of all readings, one weight each; and the last Hessian.

    Attributes
    ----------
    found
        The readings.
    offsets, parts
        The beginning of each reading's weights, and their slice.
    train
        The bins of the training draws, of each reading.
    label
        The label of the training draws.
    curvature, hessian
        p(1-p) of the training draws when the Hessian was estimated last, and that Hessian; empty before.
    """

    found: Sequence[Feature]
    offsets: npt.NDArray[np.int64]
    parts: list[slice]
    train: list[Bins]
    label: FloatArray
    curvature: FloatArray = field(default_factory=lambda: np.zeros(0))
    hessian: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def from_features(cls, found: Sequence[Feature], draws: Draws) -> _Model:
        """Return the model of some readings of pooled draws."""
        offsets = np.concatenate([[0], np.cumsum([feature.size for feature in found])])
        parts = [slice(start, stop) for start, stop in pairwise(offsets.tolist())]
        train = [feature.bins[draws.train] for feature in found]
        return cls(found, offsets, parts, train, draws.label[draws.train])

    def score(self, weights: FloatArray, *, train: bool = False) -> FloatArray:
        """The value at each draw, or at each training draw."""
        bins = self.train if train else [feature.bins for feature in self.found]
        score = np.zeros(bins[0].size)
        for part, column in zip(self.parts, bins, strict=True):
            if weights[part].any():
                score += np.take(weights[part], column)
        return score

    def newton(self, roughness: FloatArray, weights: FloatArray) -> FloatArray:
        """Minimise the penalised log loss over the training draws, from `weights`.

        Newton's method with a Hessian from part of the draws, kept as long as it hardly changes; a step that does not
        improve is halved.
        """

        def objective(candidate: FloatArray) -> tuple[float, FloatArray]:
            score = self.score(candidate, train=True)
            loss = float(np.sum(np.logaddexp(0.0, score) - self.label * score))
            return loss + 0.5 * float(np.sum(candidate * _times(roughness, candidate))), score

        value, score = objective(weights)
        for _ in range(SETTINGS.newton_steps):
            probability = special.expit(score)
            residual = self.label - probability
            gradient = np.concatenate(
                [
                    np.bincount(bins, weights=residual, minlength=feature.size)
                    for bins, feature in zip(self.train, self.found, strict=True)
                ]
            )
            gradient -= _times(roughness, weights)
            self._update_hessian(probability * (1.0 - probability))
            step = _solve(self.hessian + roughness, gradient)
            # Half the Newton decrement squared.
            if 0.5 * float(np.sum(gradient * step)) < SETTINGS.least_gain:
                return weights + step  # so little gain is not worth an evaluation on all draws
            for _ in range(6):
                new_value, new_score = objective(weights + step)
                if new_value <= value:
                    break
                step = 0.5 * step
            else:
                return weights
            gain, value, score, weights = value - new_value, new_value, new_score, weights + step
            if gain < SETTINGS.least_gain:
                break
        return weights

    def _update_hessian(self, curvature: FloatArray) -> None:
        """Estimate Σ p(1-p) x xᵀ over one-hot rows x, from every few of the training draws, unless it is known well."""
        if self.curvature.size:
            changed = float(np.sum(np.abs(curvature - self.curvature)))
            if changed <= SETTINGS.stale * float(np.sum(self.curvature)):
                return
        self.curvature = curvature
        every = max(1, curvature.size // SETTINGS.hessian_rows)
        some = curvature[::every] * every
        bins = [column[::every].astype(np.intp) for column in self.train]
        self.hessian = np.zeros((self.offsets[-1], self.offsets[-1]))
        for i, left in enumerate(self.found):
            for j in range(i, len(bins)):
                size = self.found[j].size
                block = np.bincount(bins[i] * size + bins[j], weights=some, minlength=left.size * size)
                here = self.parts[i], self.parts[j]
                self.hessian[here] = block.reshape(left.size, size)
                self.hessian[here[1], here[0]] = self.hessian[here].T

    def roughness(self, penalty: float) -> FloatArray:
        """The penalty's matrix: squared second differences of ordered tables, and a ridge on everything."""
        matrix = SETTINGS.ridge * np.eye(self.offsets[-1])
        for part, feature in zip(self.parts, self.found, strict=True):
            if feature.ordered:
                second = np.diff(np.eye(feature.size - 1), n=2, axis=0)
                here = slice(part.start + 1, part.stop)  # the first is that of absent values
                matrix[here, here] += penalty * second.T @ second
        return matrix


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system to three digits: conjugate gradients, scaled by the diagonal.

    A truncated solution is still a direction of descent. Unlike a factorisation in parallel, this gives the
    same bits for any number of threads.
    """
    scale = 1.0 / np.diagonal(matrix)
    solution, residual = np.zeros_like(right), right.copy()
    direction = scaled = scale * residual
    size = first = float(np.sum(residual * scaled))
    for _ in range(SETTINGS.products):
        if size <= 1e-6 * first:
            break
        product = _times(matrix, direction)
        step = size / float(np.sum(direction * product))
        solution, residual = solution + step * direction, residual - step * product
        scaled = scale * residual
        size, before = float(np.sum(residual * scaled)), size
        direction = scaled + (size / before) * direction
    return solution


def _times(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The product, always added up in one order."""
    product: FloatArray = np.einsum("ij,j->i", matrix, vector)
    return product


def _table(feature: Feature, weights: FloatArray) -> ScoreTable:
    return ScoreTable(feature.binned, tuple(weights[1:].tolist()), float(weights[0]))
