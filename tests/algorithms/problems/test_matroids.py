from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.problems import (
    GraphicMatroid,
    LinearMatroid,
    PartitionMatroid,
    ProblemError,
    UniformMatroid,
)


@st.composite
def uniform(draw):
    elements = draw(st.integers(1, 6))
    return UniformMatroid(elements, draw(st.integers(1, elements)))


@st.composite
def partition(draw):
    part_of = draw(st.lists(st.integers(0, 2), min_size=1, max_size=7))
    parts = [[e for e, p in enumerate(part_of) if p == part] for part in sorted(set(part_of))]
    capacities = draw(st.lists(st.integers(0, 3), min_size=len(parts), max_size=len(parts)))
    return PartitionMatroid(parts, capacities if any(capacities) else [1] * len(parts))


@st.composite
def graphic(draw):
    vertices = draw(st.integers(2, 5))
    vertex = st.integers(0, vertices - 1)
    return GraphicMatroid(vertices, [*draw(st.lists(st.tuples(vertex, vertex), max_size=7)), (0, 1)])


@st.composite
def linear(draw):
    length = draw(st.integers(1, 4))
    vector = st.lists(st.integers(-3, 3), min_size=length, max_size=length)
    return LinearMatroid([*draw(st.lists(vector, max_size=6)), [1] * length])


matroids = st.one_of(uniform(), partition(), graphic(), linear())


def all_sets(matroid):
    return [set(s) for k in range(matroid.arms + 1) for s in combinations(range(matroid.arms), k)]


@pytest.mark.slow
@given(matroids)
def test_matroid_axioms(matroid):
    independent = [s for s in all_sets(matroid) if matroid.independent(s)]
    assert set() in independent
    for smaller in independent:
        assert all(smaller - {e} in independent for e in smaller)
        for larger in independent:
            if len(smaller) < len(larger):
                assert any(smaller | {e} in independent for e in larger - smaller)
    assert matroid.size == max(len(s) for s in independent)
    assert matroid.loops == tuple(e for e in range(matroid.arms) if {e} not in independent)
    assert list(matroid.bases()) == [tuple(sorted(s)) for s in independent if len(s) == matroid.size]
    for members in all_sets(matroid):
        assert matroid.rank_of(members) == max(len(s) for s in independent if s <= members)


@given(matroids, st.data())
def test_no_other_basis_is_heavier(matroid, data):
    levels = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0])
    weights = data.draw(arrays(float, (3, matroid.arms), elements=levels))
    answer = matroid.solve(weights)
    bases = list(matroid.bases())
    for row, chosen in zip(weights, answer, strict=True):
        assert tuple(chosen.tolist()) in bases
        assert row[chosen].sum() == max(row[list(basis)].sum() for basis in bases)
    assert matroid.optimum(weights[0]) == weights[0][answer[0]].sum()


@pytest.mark.slow
@given(matroids, st.data())
def test_greedy_by_decreasing_weight_ties_by_lowest_id(matroid, data):
    levels = st.sampled_from([0.0, 0.5, np.inf])
    weights = data.draw(arrays(float, (2, matroid.arms), elements=levels))
    order = np.argsort(-weights, axis=1, kind="stable")
    np.testing.assert_array_equal(matroid._greedy(order), matroid._greedy_by_table(order))
    for row, chosen in zip(weights, matroid.solve(weights), strict=True):
        basis: set[int] = set()
        for element in sorted(range(matroid.arms), key=lambda e: (-row[e], e)):
            if matroid.independent(basis | {element}):
                basis.add(element)
        assert chosen.tolist() == sorted(basis)


def rational_rank(vectors):
    rows = [[Fraction(entry) for entry in vector] for vector in vectors]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


@given(st.integers(1, 4), st.data())
def test_linear_rank_is_the_rational_rank(length, data):
    entry = st.integers(-60, 60)
    vectors = data.draw(st.lists(st.lists(entry, min_size=length, max_size=length), min_size=1, max_size=5))
    vectors.append([a + 2 * b for a, b in zip(vectors[0], vectors[-1], strict=True)])
    rank = rational_rank(vectors)
    assume(rank > 0)
    assert LinearMatroid(vectors).size == rank


def test_entries_as_large_as_the_bound_allows():
    prime = 2**31 - 1
    assert LinearMatroid([[prime - 1]]).size == 1
    with pytest.raises(ProblemError, match="use smaller entries"):
        LinearMatroid([[prime]])
    # det = 1 although both products are near the prime: a float would not see it.
    matroid = LinearMatroid([[46340, 1], [1, 0]])
    assert matroid.size == 2


@pytest.mark.slow
def test_large_matroids_agree_with_the_definition_in_every_lane():
    rng = np.random.default_rng(3)
    matroid = LinearMatroid((rng.random((30, 8)) < 0.2).astype(int).tolist())
    weights = rng.integers(0, 6, (40, 30)).astype(float)
    for row, chosen in zip(weights, matroid.solve(weights), strict=True):
        basis: list[int] = []
        for element in sorted(range(30), key=lambda e: (-row[e], e)):
            vectors = [matroid.vectors[e] for e in [*basis, element]]
            if rational_rank(vectors) == len(vectors):
                basis.append(element)
        assert chosen.tolist() == sorted(basis)


def test_parallel_edges_and_self_loops():
    matroid = GraphicMatroid(3, [(0, 0), (0, 1), (1, 0), (1, 2)])
    assert matroid.loops == (0,)
    assert list(matroid.bases()) == [(1, 3), (2, 3)]
    assert matroid.solve(np.array([[9.0, 0.5, 0.5, 0.1], [9.0, 0.5, 0.6, 0.1]])).tolist() == [[1, 3], [2, 3]]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LinearMatroid([[0, 0], [0, 0]]), "without a basis"),
        (lambda: LinearMatroid([]), "without a basis"),
        (lambda: LinearMatroid([[]]), "without a basis"),
        (lambda: LinearMatroid([[1, 0], [1]]), r"vectors\[1\] = \(1,\): all vectors must have 2 entries"),
        (lambda: LinearMatroid([[1, 0.5]]), "every entry of vectors = 0.5: must be a whole number"),
        (lambda: LinearMatroid([[2**40, 1]]), "must sum to less than"),
        (lambda: GraphicMatroid(2, [(0, 0), (1, 1)]), "without a basis"),
        (lambda: GraphicMatroid(2, []), "without a basis"),
        (lambda: GraphicMatroid(2, [(0, 2)]), r"edges\[0\] = \(0, 2\): both ends must be among 0 .. 1"),
        (lambda: PartitionMatroid([[0], [1]], [0, 0]), "without a basis"),
        (lambda: PartitionMatroid([], []), "without a basis"),
        (lambda: PartitionMatroid([[0], [0, 1]], [1, 1]), "exactly one part"),
        (lambda: PartitionMatroid([[0], []], [1, 1]), "no part empty"),
        (lambda: PartitionMatroid([[0], [1]], [1]), "one for each of the 2 parts"),
        (lambda: PartitionMatroid([[0], [1]], [1, -1]), "capacities = -1: must be at least 0"),
        (lambda: UniformMatroid(3, 4), "rank = 4: must be at most the number of elements, 3"),
        (lambda: UniformMatroid(3, 0), "rank = 0: must be at least 1"),
        (lambda: UniformMatroid(3, 1).independent({3}), "element 3: must be one of 0 .. 2"),
        (lambda: UniformMatroid(60, 30).bases(), "more than 2000000"),
    ],
)
def test_what_is_no_matroid_is_refused(build, message):
    with pytest.raises(ProblemError, match=message):
        build()


def test_matroids_are_values():
    assert UniformMatroid(4, 2) == UniformMatroid(4, 2)
    assert UniformMatroid(4, 2) != UniformMatroid(4, 3)
    assert hash(GraphicMatroid(2, [(0, 1)])) == hash(GraphicMatroid(2, [(0, 1)]))
    assert repr(UniformMatroid(4, 2)) == "UniformMatroid(elements=4, rank=2)"
