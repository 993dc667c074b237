"""Among some arms, the oracle's answer is that of the structure which has no others."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.problems import (
    Arms,
    DisjointPaths,
    FailingTopK,
    GraphicMatroid,
    MaximumCoverage,
    PartitionMatroid,
    ProblemError,
    PublicArms,
    RankedLists,
    TopK,
)
from algorithms.problems.availability import available_arms, least_among, mask_weights

K4 = GraphicMatroid(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
PARTS = PartitionMatroid([(0, 3), (1, 2, 4), (5,)], (1, 2, 1))
STRUCTURES = [Arms(6), TopK(6, 2), TopK(24, 3), RankedLists(6, 3), K4, PARTS]
some_weights = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 7.0, np.inf]), min_size=24, max_size=24)


def playable(structure: Any, arms: set[int]) -> list[set[int]]:
    """All super arms that consist of these arms."""
    sets = combinations(sorted(arms), structure.size)
    return [
        set(each) for each in sets if not hasattr(structure, "independent") or structure.independent(each)
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
@given(weights=some_weights, arms=st.sets(st.integers(0, 23)))
def test_the_best_super_arm_of_those_that_are_there_is_played(
    structure: Any, weights: list[float], arms: set[int]
) -> None:
    arms = {arm for arm in arms if arm < structure.arms}
    possible = playable(structure, arms)
    if not possible:
        with pytest.raises(ProblemError, match="must hold a super arm"):
            available_arms(structure, arms)
        return
    given_weights = np.array([weights[: structure.arms], weights[: structure.arms][::-1]])
    chosen = structure.solve(mask_weights(given_weights, available_arms(structure, arms)))
    for row, weight in zip(chosen, given_weights, strict=True):
        assert set(row.tolist()) in possible
        best = max(sorted(weight[list(each)], reverse=True) for each in possible)
        assert sorted(weight[row], reverse=True) == best  # greedy is best in every place at once


@given(weights=some_weights, rows=st.integers(1, 300))
def test_among_all_arms_nothing_changes(weights: list[float], rows: int) -> None:
    every = available_arms(TopK(24, 3), range(24))
    index = np.tile(weights, (rows, 1))
    assert (mask_weights(index, every) == index).all()
    assert mask_weights(index, None) is index
    assert (least_among(index, every) == least_among(index, None)).all()


def test_the_least_is_of_those_that_are_there_even_if_nothing_is_known_of_any() -> None:
    index = np.array([[0.0, 3.0, -np.inf, 2.0], [-np.inf] * 4, [np.inf] * 4])
    there = available_arms(Arms(4), [3, 1])
    assert least_among(index, there).tolist() == [[3], [1], [1]]
    assert least_among(index, None).tolist() == [[2], [0], [0]]


@pytest.mark.parametrize(
    "arms", [(4, 0, 2), np.array([4, 2, 0]), {0, 2, 4}, iter([2, 4, 0]), np.uint8([0, 2, 4])]
)
def test_arms_are_taken_in_any_order_and_form(arms: Any) -> None:
    assert available_arms(TopK(5, 2), arms).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([], "0 arms, of which at most 0"),
        (
            [3],
            "available: 1 arm, of which at most 1 can be played together: must hold a super arm, of 2 arms",
        ),
        ([0, 1, 5], "5 is no arm: must be from 0 to 4.*make it with all that may ever come"),
        ([-1, 0, 1], "-1 is no arm"),
        ([0, 1, 1], "1 is given twice"),
        ([True, False, True, True, True], "True must be the whole number of an arm"),
        (np.array([True, True, False, False, False]), "flatnonzero"),
        ([0.0, 1.0], "0.0 must be the whole number"),
        (["0", "1"], "'0' must be"),
        ([None, 1], "None must be"),
        ("01", "must be the arms that are there"),
        (3, "must be the arms that are there"),
        (np.array([[0, 1], [2, 3]]), "the same for all lanes"),
    ],
    ids=str,
)
def test_what_is_no_set_of_arms_is_refused(arms: Any, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        available_arms(TopK(5, 2), arms)


def test_what_can_be_played_together_is_the_matroid_s_own() -> None:
    with pytest.raises(ProblemError, match="3 arms, of which at most 2"):
        available_arms(K4, [0, 1, 3])  # a circle
    assert available_arms(K4, [0, 1, 2]).sum() == 3
    with pytest.raises(ProblemError, match="5 arms, of which at most 3"):
        available_arms(PARTS, [0, 1, 2, 3, 4])  # 5 is in every basis


@pytest.mark.parametrize(
    "structure",
    [FailingTopK(5, 2, 0.9), PublicArms(5, 2), MaximumCoverage(3, 2, 1), DisjointPaths(2, 2)],
    ids=repr,
)
def test_an_oracle_that_does_not_go_by_order_leaves_nothing_out(structure: Any) -> None:
    with pytest.raises(ProblemError, match=f"the oracle of {type(structure).__name__} cannot leave arms out"):
        available_arms(structure, range(structure.arms))
