"""Paths of identical weights: oracle, law, gaps, and a learner on them."""

import itertools

import numpy as np
import pytest

from algorithms.problems import DisjointPaths, IdenticalPaths, ProblemError, TopK, build_problem
from algorithms.theory.gaps import problem_gaps
from mechanisms import LaneStreams

PATHS = DisjointPaths(3, 2)
PROBLEM = IdenticalPaths(PATHS, [0.2, 0.2, 0.3, 0.3, 0.5, 0.5])


def test_the_oracle_is_exact():
    rng = np.random.default_rng(0)
    for weights in rng.random((20, 6)):
        best = max(PATHS.super_arms(), key=lambda path: weights[list(path)].sum())
        assert tuple(PATHS.solve(weights[np.newaxis])[0]) == best
    assert PATHS.solve(np.full((1, 6), np.inf))[0].tolist() == [0, 1]
    assert PATHS.optimum(PROBLEM.means) == pytest.approx(1.0)


def test_arms_of_a_path_have_the_same_outcome():
    """Rates of 6,400 draws, five standard errors each."""
    lanes = 6400
    records = PROBLEM.draw_records(LaneStreams(1, lanes, 0, key=(9,)), lanes).reshape(lanes, 3, 2)
    assert (records[:, :, 0] == records[:, :, 1]).all()
    rates = records.mean(axis=(0, 2))
    assert rates == pytest.approx([0.2, 0.3, 0.5], abs=5 * 0.5 / 80)
    played = np.tile([4, 5], (lanes, 1))
    for drawn in (
        PROBLEM.draw_feedback(played, LaneStreams(2, lanes, 0, key=(9,))),
        PROBLEM.draw_totals(played, np.full(lanes, 4), LaneStreams(3, lanes, 0, key=(9,))) / 4,
    ):
        assert (drawn[:, 0] == drawn[:, 1]).all()
        assert drawn[:, 0].mean() == pytest.approx(0.5, abs=5 * 0.5 / 80)


def test_gaps_by_enumeration():
    gaps = problem_gaps(PROBLEM)
    assert gaps.method == "enumeration"
    assert sorted(gaps.members) == pytest.approx([0.4, 0.4, 0.6, 0.6])  # the best path is in no bad super arm
    assert gaps.largest_regret == pytest.approx(0.6)


def test_by_name_and_wrong_settings():
    problem = build_problem("identical-paths", {"paths": 3, "length": 2, "gap": 0.4})
    assert problem.means.tolist() == [0.3, 0.3, 0.3, 0.3, 0.5, 0.5]
    with pytest.raises(ProblemError, match="means"):
        build_problem("identical-paths", {"length": 1, "gap": 0.8})
    with pytest.raises(ProblemError, match="same for all arms"):
        IdenticalPaths(PATHS, [0.2, 0.3, 0.3, 0.3, 0.5, 0.5])
    with pytest.raises(ProblemError, match="DisjointPaths"):
        IdenticalPaths(TopK(2, 1), [0.2, 0.3])
    with pytest.raises(ProblemError, match="paths"):
        DisjointPaths(0, 2)
    assert list(itertools.chain(*PATHS.super_arms())) == list(range(6))
