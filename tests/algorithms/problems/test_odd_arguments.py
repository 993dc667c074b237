"""Structures and problems refuse what is none of theirs by name, and take whole numbers of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from algorithms.problems import (
    DisjointPaths,
    FailingTopK,
    GraphicMatroid,
    LinearBandit,
    LinearContexts,
    LinearMatroid,
    LoggedUsers,
    PartitionMatroid,
    ProblemError,
    SemiBandit,
    ShortestPath,
    TopK,
    UniformMatroid,
)

ACTIONS, THETA = np.eye(2), [0.1, 0.2]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: GraphicMatroid(3, [(0, 1.5)]), "every entry of edges = 1.5: must be a whole number"),  # type: ignore[list-item]
        (lambda: GraphicMatroid(3, [(0, True)]), "every entry of edges = True"),
        (lambda: GraphicMatroid(3, ["ab"]), "every entry of edges = 'a'"),  # type: ignore[list-item]
        (lambda: GraphicMatroid(3, [(0, 1, 2)]), "edges[0] = (0, 1, 2): must have 2 entries"),  # type: ignore[list-item]
        (lambda: GraphicMatroid(3, 7), "edges = 7: must be rows of whole numbers"),  # type: ignore[arg-type]
        (lambda: PartitionMatroid([[0.0, 1.0]], [1]), "every entry of parts = 0.0"),  # type: ignore[list-item]
        (lambda: PartitionMatroid([[False, True]], [1]), "every entry of parts = False"),
        (lambda: PartitionMatroid([[0, 1]], None), "capacities = (None,): must be rows"),  # type: ignore[arg-type]
        (lambda: ShortestPath(["a"], "a", "b"), "edges = ['a']: must be pairs of vertex names"),  # type: ignore[list-item]
        (lambda: ShortestPath([("a", "b")], ["a"], "b"), "edges = "),  # type: ignore[arg-type]
        (lambda: FailingTopK(3, 1, "0.5"), "beta = '0.5': must be in (0, 1]"),  # type: ignore[arg-type]
        (lambda: SemiBandit(7, [0.1]), "structure = 7: must be a structure"),  # type: ignore[arg-type]
        (lambda: SemiBandit(TopK, [0.1]), "structure = <class"),  # type: ignore[arg-type]
        (lambda: LoggedUsers(TopK(2, 1), [["a", "b"]]), "outcomes = [['a', 'b']]: must be numbers"),
        (lambda: LinearBandit(ACTIONS, THETA, "x", 9), "sigma = 'x': must be one real number"),  # type: ignore[arg-type]
        (lambda: LinearBandit(ACTIONS, THETA, 0.1, 1.5), "population = 1.5: must be a whole number"),  # type: ignore[arg-type]
        (
            lambda: LinearBandit(ACTIONS, THETA, 0.1, 9, replacement="no"),
            "replacement = 'no': must be True or",
        ),  # type: ignore[arg-type]
        (lambda: LinearBandit(ACTIONS, ["x", 1], 0.1, 9), "theta = ['x', 1]: must be numbers"),  # type: ignore[arg-type]
        (lambda: LinearContexts("abc", 3), "parameter = 'abc': must be numbers"),  # type: ignore[arg-type]
        (lambda: TopK(2**24, 1), "arms = 16777216: must be below 2^24"),
        (lambda: TopK(5, 10**5000), "size = a whole number of 16,610 binary digits: must be below 2^24"),
        (lambda: UniformMatroid(2**63, 3), "elements = 9223372036854775808: must be below 2^24"),
        (lambda: GraphicMatroid(2**31, [(0, 1)]), "vertices = 2147483648: must be below 2^24"),
        (lambda: LinearMatroid([[2**63, 0]]), "every entry of vectors = 9223372036854775808: must be below"),
        (lambda: DisjointPaths(2**12, 2**12), "paths times length = 16777216: must be below 2^24"),
        (lambda: ShortestPath.grid(2**12, 2**12), "rows times columns = 16777216: must be below 2^24"),
    ],
)
def test_what_is_no_argument_is_refused_by_name(build: Callable[[], Any], said: str) -> None:
    with pytest.raises(ProblemError) as refused:
        build()
    assert str(refused.value).startswith(said)


def test_vertices_without_edges_take_no_memory() -> None:
    weights = np.array([[1.0, 2.0, 3.0]])
    few, many = (GraphicMatroid(size, [(0, 1), (1, size - 1), (0, size - 1)]) for size in (3, 2**24 - 1))
    assert (
        (few.size, few.solve(weights).tolist()) == (many.size, many.solve(weights).tolist()) == (2, [[1, 2]])
    )
    assert many._empty(1).shape == (1, 3)


def test_the_rank_of_many_elements_takes_no_time() -> None:
    assert (UniformMatroid(200_000, 3).size, PartitionMatroid([[0, 2], [1]], [5, 1]).size) == (3, 3)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert GraphicMatroid(3, np.array([(0, 1), (1, 2)])) == GraphicMatroid(3, [(0, 1), (1, 2)])  # type: ignore[arg-type]
    found = PartitionMatroid([np.arange(2), np.arange(2, 4)], np.array([1, 1]))  # type: ignore[arg-type, list-item]
    assert repr(found) == repr(PartitionMatroid([[0, 1], [2, 3]], [1, 1]))


@pytest.mark.parametrize(
    "problem",
    [
        LinearContexts([0.5, 0.1], 2),
        LinearBandit(ACTIONS, THETA, sigma=0.1, population=10),
        SemiBandit(TopK(2, 1), [0.2, 0.8]),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_arrays_of_a_problem_are_its_own_and_do_not_change(problem: object) -> None:
    """A law that a simulation has drawn from stays the one that regret is measured by."""
    arrays = [each for each in vars(problem).values() if isinstance(each, np.ndarray)]
    assert arrays
    assert not any(each.flags.writeable for each in arrays)
