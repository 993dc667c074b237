"""Outcomes that arms share: structures with their oracles, laws, gaps."""

import itertools

import numpy as np
import pytest

from algorithms.problems import DisjointPaths, ProblemError, PublicArms, SharedOutcomes, TopK, build_problem
from algorithms.theory.gaps import problem_gaps
from mechanisms import LaneStreams

PATHS = DisjointPaths(3, 2)
PROBLEM = SharedOutcomes(PATHS, [0.2, 0.2, 0.3, 0.3, 0.5, 0.5], [0, 0, 1, 1, 2, 2])


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
        SharedOutcomes(PATHS, [0.2, 0.3, 0.3, 0.3, 0.5, 0.5], [0, 0, 1, 1, 2, 2])
    for groups in ([0], [0, -1], [0.0, 1.0], [[0, 1]]):
        with pytest.raises(ProblemError, match="groups"):
            SharedOutcomes(TopK(2, 1), [0.2, 0.3], groups)
    with pytest.raises(ProblemError, match="paths"):
        DisjointPaths(0, 2)
    assert list(itertools.chain(*PATHS.super_arms())) == list(range(6))


@pytest.mark.parametrize("structure", [PublicArms(6, 3), PublicArms(7, 2), PublicArms(4, 1)])
def test_the_oracle_of_public_arms_is_exact(structure):
    rng = np.random.default_rng(0)
    listed = list(structure.super_arms())
    assert len(listed) == structure.arms - 2 * structure.size + 2 == len(set(listed))
    for weights in rng.random((30, structure.arms)):
        best = max(listed, key=lambda arms: weights[list(arms)].sum())
        assert tuple(structure.solve(weights[np.newaxis])[0]) == best
        assert structure.optimum(weights) == pytest.approx(weights[list(best)].sum())
    assert tuple(structure.solve(np.full((1, structure.arms), np.inf))[0]) == listed[0]


def test_public_arms_by_name():
    """Public arms share an outcome; every super arm with a private one loses the gap."""
    problem = build_problem("public-arms", {"arms": 8, "size": 3, "gap": 0.2})
    assert problem.means.tolist() == [0.5, 0.5, 0.3, 0.3, 0.3, 0.5, 0.5, 0.5]
    records = problem.draw_records(LaneStreams(1, 256, 0, key=(9,)), 256)
    same = [(i, j) for i, j in itertools.combinations(range(8), 2) if (records[:, i] == records[:, j]).all()]
    assert same == [(0, 1)]
    gaps = problem_gaps(problem)
    assert gaps.members == pytest.approx([0.2] * 5)
    assert gaps.largest_regret == pytest.approx(0.2)
    with pytest.raises(ProblemError, match="2 size"):
        build_problem("public-arms", {"arms": 5, "size": 3})
