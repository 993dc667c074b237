"""Fit additive scores: naive Bayes, and a logistic model that knows that readings go together.

Both add one table entry per reading. Naive Bayes takes each table to be the reading's own log ratio, which
is right for independent readings; penalised logistic regression (by Newton's method) fits all tables at
once, and a penalty on their roughness, chosen on draws set aside, keeps noise out of them: where the
log-likelihood ratio is a hundredth, 16 free numbers per reading drown it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from verify.events.families import Worlds, runs
from verify.events.readings import Reading
from verify.events.scores import AdditiveScore, Bins, ScoreTable, bin_of
from verify.events.view_sample import FloatArray

MOST_BINS = 16  # of one reading, beside those of its tails and of frequent values
TAILS = np.array([1 / 1024, 1 / 256, 1 / 64])  # quantiles at which tails are cut
ATOM = 1.0 / 32.0  # a value with this share of the draws gets a bin of its own
GRAM_ROWS = 20_000  # draws from which the Hessian is estimated
PENALTIES = (3e5, 1e4, 3e2, 1e1)  # on the roughness of tables, from almost straight lines to almost free
RIDGE = 1.0  # on every table entry
NEGLIGIBLE = 0.1  # of the largest spread of any reading's table entries: readings below may be dropped
MISSED = 1.0  # of log-likelihood, that the validating draws may lose by it
NEWTON_STEPS = 4
MOST_PRODUCTS = 200  # matrix-vector products of one Newton step


@dataclass(frozen=True, slots=True)
class Feature:
    """A reading of the pooled draws, in bins.

    Attributes
    ----------
    reading
        The reading.
    cuts
        Bin i holds the values v with cuts[i-1] ≤ v < cuts[i]; bin len(cuts) + 1 is for absent values.
    bins
        Of each draw.
    ordered
        Whether neighbouring bins are expected to be alike.
    """

    reading: Reading
    cuts: FloatArray
    bins: Bins
    ordered: bool

    @property
    def size(self) -> int:
        """The number of bins."""
        return int(self.cuts.size) + 2


@dataclass(frozen=True, slots=True)
class Draws:
    """Pooled draws to fit a score to: the first `train` rows of each world fit, the others validate."""

    label: FloatArray
    train: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, sizes: tuple[int, int]) -> Draws:
        """Draws of the first world (label 1), then of the second (label 0); a quarter of each validates."""
        label = np.repeat([1.0, 0.0], sizes)
        train = np.concatenate([np.arange(size) < size - size // 4 for size in sizes])
        return cls(label, train)


def feature_of(reading: Reading, values: FloatArray) -> Feature:
    """A reading in bins, from its value at each draw."""
    cuts, ordered = bin_cuts(values)
    return Feature(reading, cuts, bin_of(cuts, values), ordered)


def features(fit: Worlds, readings: Sequence[Reading]) -> list[Feature]:
    """Each reading of the pooled draws in bins; readings that are constant are left out."""
    found = []
    for reading in readings:
        feature = feature_of(reading, np.concatenate([reading.of(world) for world in fit]))
        if np.any(feature.bins != feature.bins[0]):
            found.append(feature)
    return found


def most_telling(found: Sequence[Feature], draws: Draws, most: int) -> list[Feature]:
    """The readings whose bins differ most between the worlds (by the chi-squared statistic), in order."""
    if len(found) <= most:
        return list(found)
    gains = []
    for feature in found:
        count = np.bincount(feature.bins, minlength=feature.size)
        first = np.bincount(feature.bins, weights=draws.label, minlength=feature.size)
        gains.append(np.sum((first - count * draws.label.mean()) ** 2 / (count + 1.0)))
    return [found[j] for j in sorted(np.argsort(-np.asarray(gains), kind="stable")[:most])]


def bin_cuts(values: FloatArray) -> tuple[FloatArray, bool]:
    """Cuts between the values if they are few, else at quantiles, with frequent values in bins of their own.

    Returns the cuts, and whether the values were too many for a bin each.
    """
    present = np.sort(values[~np.isnan(values)])
    starts, lengths = runs(present)
    if starts.size <= MOST_BINS:
        return present[starts[1:]], False
    atoms = present[starts[lengths >= max(ATOM * present.size, 2.0)]]
    levels = np.concatenate([TAILS, np.arange(1, MOST_BINS) / MOST_BINS, 1.0 - TAILS])
    even = present[(levels * present.size).astype(np.int64)]
    cuts = np.unique(np.concatenate([even, atoms, np.nextafter(atoms, np.inf)]))
    return cuts[cuts > present[0]], True


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


def logistic(found: Sequence[Feature], draws: Draws) -> tuple[AdditiveScore, FloatArray] | None:
    """Penalised logistic regression on all bins of all readings.

    Starting from the strongest of `PENALTIES`, the penalty is relaxed as long as the log-likelihood of the
    validating draws improves.

    Returns
    -------
    tuple or None
        The score and its value at each draw; None if no penalty improves on knowing nothing.
    """
    offsets = np.concatenate([[0], np.cumsum([feature.size for feature in found])])
    weights = np.zeros(offsets[-1])
    best: tuple[float, FloatArray] = (log_loss(np.zeros(draws.label.size), draws), weights)
    for penalty in PENALTIES:
        roughness = _roughness(found, offsets, penalty)
        weights = _newton(found, offsets, draws, roughness, weights)
        loss = log_loss(_score(found, offsets, weights), draws)
        if loss >= best[0]:
            break
        best = (loss, weights)
    if not best[1].any():
        return None
    weights, kept = _without_negligible(found, offsets, draws, *best)
    tables = [_table(found[j], weights[offsets[j] : offsets[j + 1]]) for j in kept]
    return AdditiveScore(tuple(tables)), _score(found, offsets, weights)


def _without_negligible(
    found: Sequence[Feature],
    offsets: npt.NDArray[np.int64],
    draws: Draws,
    loss: float,
    weights: FloatArray,
) -> tuple[FloatArray, list[int]]:
    """Drop the readings that add next to nothing to a score, unless the validating draws miss them.

    Every reading of a score is taken again of each draw on which the score is counted.

    Returns
    -------
    tuple
        The weights, 0 for what was dropped, and which readings are left.
    """
    parts = [slice(offsets[j], offsets[j + 1]) for j in range(len(found))]
    spread = [float(weights[part][feature.bins].std()) for part, feature in zip(parts, found, strict=True)]
    kept = [j for j, size in enumerate(spread) if size >= NEGLIGIBLE * max(spread)]
    fewer = np.zeros_like(weights)
    for j in kept:
        fewer[parts[j]] = weights[parts[j]]
    allowed = loss + MISSED / int(np.count_nonzero(~draws.train))
    if log_loss(_score(found, offsets, fewer), draws) <= allowed:
        return fewer, kept
    return weights, list(range(len(found)))


def log_loss(score: FloatArray, draws: Draws) -> float:
    """Mean of ln(1 + e^(-±score)) over the validating draws."""
    validate = ~draws.train
    sign = 1.0 - 2.0 * draws.label[validate]
    return float(np.mean(np.logaddexp(0.0, sign * score[validate])))


def _newton(
    found: Sequence[Feature],
    offsets: npt.NDArray[np.int64],
    draws: Draws,
    roughness: FloatArray,
    weights: FloatArray,
) -> FloatArray:
    """Minimise the penalised log loss over the training draws, from `weights`.

    Newton's method with a Hessian from part of the draws; a step that does not improve is halved.
    """
    train = draws.train
    label = draws.label[train]

    def objective(candidate: FloatArray) -> tuple[float, FloatArray]:
        score = _score(found, offsets, candidate, train)
        loss = float(np.sum(np.logaddexp(0.0, score) - label * score))
        return loss + 0.5 * float(np.sum(candidate * _times(roughness, candidate))), score

    value, score = objective(weights)
    for _ in range(NEWTON_STEPS):
        probability = special.expit(score)
        residual = label - probability
        gradient = np.concatenate(
            [np.bincount(f.bins[train], weights=residual, minlength=f.size) for f in found]
        )
        gradient -= _times(roughness, weights)
        hessian = _hessian(found, offsets, train, probability * (1.0 - probability)) + roughness
        step = _solve(hessian, gradient)
        for _ in range(6):
            new_value, new_score = objective(weights + step)
            if new_value <= value:
                break
            step = 0.5 * step
        else:
            return weights
        gain, value, score, weights = value - new_value, new_value, new_score, weights + step
        if gain < 0.1:  # log-likelihood units: far below what the draws can tell
            break
    return weights


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive definite system to three digits: conjugate gradients, scaled by the diagonal.

    A truncated solution is still a direction of descent. Unlike a factorisation in parallel, this gives the
    same bits whatever the number of threads.
    """
    scale = 1.0 / np.diagonal(matrix)
    solution, residual = np.zeros_like(right), right.copy()
    direction = scaled = scale * residual
    size = first = float(np.sum(residual * scaled))
    for _ in range(MOST_PRODUCTS):
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
    return np.asarray((matrix * vector).sum(axis=1))


def _hessian(
    found: Sequence[Feature],
    offsets: npt.NDArray[np.int64],
    train: npt.NDArray[np.bool_],
    curvature: FloatArray,
) -> FloatArray:
    """Σ p(1-p) x xᵀ over one-hot rows x, from every few of the training draws."""
    every = max(1, curvature.size // GRAM_ROWS)
    some = curvature[::every] * every
    bins = [feature.bins[train][::every].astype(np.intp) for feature in found]
    hessian = np.zeros((offsets[-1], offsets[-1]))
    for i, left in enumerate(found):
        for j in range(i, len(found)):
            size = found[j].size
            block = np.bincount(bins[i] * size + bins[j], weights=some, minlength=left.size * size)
            here = slice(offsets[i], offsets[i + 1]), slice(offsets[j], offsets[j + 1])
            hessian[here] = block.reshape(left.size, size)
            hessian[here[1], here[0]] = hessian[here].T
    return hessian


def _roughness(found: Sequence[Feature], offsets: npt.NDArray[np.int64], penalty: float) -> FloatArray:
    """The penalty's matrix: squared second differences of ordered tables, and a ridge on everything."""
    matrix = RIDGE * np.eye(offsets[-1])
    for j, feature in enumerate(found):
        if feature.ordered:
            second = np.diff(np.eye(feature.size - 1), n=2, axis=0)
            here = slice(offsets[j], offsets[j + 1] - 1)
            matrix[here, here] += penalty * second.T @ second
    return matrix


def _score(
    found: Sequence[Feature],
    offsets: npt.NDArray[np.int64],
    weights: FloatArray,
    rows: npt.NDArray[np.bool_] | None = None,
) -> FloatArray:
    score = np.zeros(found[0].bins.size if rows is None else int(np.count_nonzero(rows)))
    for j, feature in enumerate(found):
        bins = feature.bins if rows is None else feature.bins[rows]
        score += weights[offsets[j] : offsets[j + 1]][bins]
    return score


def _table(feature: Feature, weights: FloatArray) -> ScoreTable:
    return ScoreTable(
        feature.reading,
        tuple(feature.cuts.tolist()),
        tuple(weights[:-1].tolist()),
        float(weights[-1]),
    )
