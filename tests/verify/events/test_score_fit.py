"""The logistic score against SciPy's optimum of the same penalised likelihood."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import optimize, special

from mechanisms.arrays import FloatArray
from verify.events import score_fit
from verify.events.features import Draws, Feature, features
from verify.events.readings import ColumnValue
from verify.events.score_fit import _Regression
from verify.events.view_sample import Column, ViewSample

DRAWS, COLUMNS = 1_000, 3


def worlds(apart: float) -> tuple[ViewSample, ViewSample]:
    """Return correlated numbers, two of which lie `apart` from those of the other world."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(2, DRAWS, COLUMNS)) + 1.5 * rng.normal(size=(2, DRAWS, 1))
    values[0, :, 0] += apart
    values[1, :, 1] += apart
    columns = tuple(Column(f"v{i}", f"value {i}", "real") for i in range(COLUMNS))
    return ViewSample(values[0], columns), ViewSample(values[1], columns)


def penalty_matrix(found: Sequence[Feature], penalty: float) -> FloatArray:
    """Return K of the penalty w'Kw / 2: a ridge, and squared second differences without the entry of absent values."""
    blocks = []
    for feature in found:
        rows = [np.eye(feature.size)[i] for i in range(1, feature.size)]
        bends = [rows[i - 1] - 2.0 * rows[i] + rows[i + 1] for i in range(1, len(rows) - 1)]
        rough = penalty * sum(np.outer(bend, bend) for bend in bends) if feature.ordered else 0.0
        blocks.append(np.eye(feature.size) + rough)
    size = sum(len(block) for block in blocks)
    matrix, at = np.zeros((size, size)), 0
    for block in blocks:
        matrix[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return matrix


@pytest.mark.few(1)
@pytest.mark.parametrize("apart", [0.3, 1.0, 2.5])
def test_the_logistic_score_is_the_optimum_of_the_penalised_likelihood(
    apart: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = worlds(apart)
    found = features(fit, [ColumnValue(column) for column in fit[0].columns])
    draws = Draws.from_sizes((DRAWS, DRAWS))
    rows = np.concatenate([np.eye(feature.size)[feature.bins[draws.train]] for feature in found], axis=1)
    label = draws.label[draws.train]
    monkeypatch.setattr(score_fit, "SETTINGS", _Regression(negligible=0.0))  # every reading is kept
    for penalty in _Regression().penalties:
        matrix = penalty_matrix(found, penalty)

        def objective(weights: FloatArray, matrix: FloatArray = matrix) -> tuple[float, FloatArray]:
            score = rows @ weights
            value = np.sum(np.logaddexp(0.0, score) - label * score) + 0.5 * weights @ matrix @ weights
            return float(value), rows.T @ (special.expit(score) - label) + matrix @ weights

        def hessian(weights: FloatArray, matrix: FloatArray = matrix) -> FloatArray:
            probability = special.expit(rows @ weights)
            return (rows * (probability * (1.0 - probability))[:, None]).T @ rows + matrix

        monkeypatch.setattr(score_fit, "SETTINGS", _Regression(penalties=(penalty,), negligible=0.0))
        fitted = score_fit.logistic(found, draws)
        assert fitted is not None
        weights = np.concatenate([[table.absent, *table.weights] for table in fitted.tables])
        # The objective is strictly convex: its optimum is the same from wherever one starts.
        best = optimize.minimize(objective, weights, jac=True, hess=hessian, method="trust-exact")
        assert np.linalg.norm(best.jac) < 1e-3
        # In units of log-likelihood: the last step gained less than 0.1, and each gains but a part of the one before.
        assert objective(weights)[0] - best.fun < 0.01
        assert objective(np.zeros_like(weights))[0] - best.fun > 20.0
