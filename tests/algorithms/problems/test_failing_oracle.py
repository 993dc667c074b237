"""An oracle that fails: how often, how, and what regret is measured against."""

import numpy as np
import pytest

from algorithms.problems import FailingTopK, ProblemError, TopK, build_problem
from algorithms.theory.gaps import problem_gaps


def test_it_fails_as_often_as_it_says():
    """Of 4,000 questions; five standard errors."""
    weights = np.random.default_rng(1).random((4000, 6))
    answers = FailingTopK(6, 2, 0.8).solve(weights)
    right = (answers == TopK(6, 2).solve(weights)).all(axis=1)
    assert (answers[~right] == TopK(6, 2).solve(-weights)[~right]).all()
    assert right.mean() == pytest.approx(0.8, abs=5 * (0.8 * 0.2 / 4000) ** 0.5)


def test_answers_are_a_function_of_the_weights_of_their_lane():
    weights = np.random.default_rng(2).integers(-1, 2, (50, 4)).astype(float)
    weights[::7, 2] = np.inf
    oracle = FailingTopK(4, 2, 0.5)
    answers = oracle.solve(weights)
    alone = [oracle.solve(row[np.newaxis])[0].tolist() for row in weights]
    assert answers.tolist() == alone
    assert (oracle.solve(np.where(weights == 0, -0.0, weights)) == answers).all()
    assert (FailingTopK(4, 2, 1.0).solve(weights) == TopK(4, 2).solve(weights)).all()


def test_regret_is_measured_against_beta_times_the_optimum():
    """The gaps are those of the structure, as if the oracle never failed."""
    failing = build_problem("failing-top-k", {"beta": 0.9})
    reliable = build_problem("top-k", {"arms": 8, "size": 2, "good": 0.5, "other": 0.3})
    assert failing.benchmark == pytest.approx(0.9 * reliable.benchmark)
    assert problem_gaps(failing).members == pytest.approx([0.2] * 8)


@pytest.mark.parametrize("beta", [0.0, -0.1, 1.5, float("nan")])
def test_beta_outside_its_range(beta):
    with pytest.raises(ProblemError, match="beta"):
        FailingTopK(4, 2, beta)
