import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.problems import ProblemError, ShortestPath


@st.composite
def graphs(draw):
    """Acyclic graphs whose every edge lies on a path from vertex 0 to the last one, edges in any order."""
    last = draw(st.integers(1, 5))
    pairs = [(a, b) for a in range(last) for b in range(a + 1, last + 1)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9))
    reached, reaching = {0}, {last}
    for a, b in sorted(edges):
        if a in reached:
            reached.add(b)
    for a, b in sorted(edges, key=lambda edge: -edge[1]):
        if b in reaching:
            reaching.add(a)
    kept = [(a, b) for a, b in edges if a in reached and b in reaching]
    return ShortestPath(kept or [(0, last)], 0, last)


def all_paths(graph, at=None):
    """Every path as a list of edges, in lexicographic order."""
    at = graph.source if at is None else at
    if at == graph.sink:
        return [[]]
    return [
        [edge, *rest]
        for edge, (tail, head) in enumerate(graph.edges)
        if tail == at
        for rest in all_paths(graph, head)
    ]


@pytest.mark.slow
@given(graphs(), st.data())
def test_the_first_of_the_best_paths(graph, data):
    # Multiples of 1/4 add up exactly, so that ties are ties.
    level = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 1.25])
    weights = np.array(data.draw(st.lists(level, min_size=graph.arms, max_size=graph.arms)))
    paths = all_paths(graph)
    assert graph.size == max(len(path) for path in paths)
    value = [sum(weights[edge] - 1.0 for edge in path) for path in paths]
    first = paths[value.index(max(value))]
    answer = graph.solve(weights[np.newaxis])
    assert answer[0].tolist() == first + [-1] * (graph.size - len(first))
    assert graph.reward(answer, weights)[0] == max(value)
    assert graph.optimum(weights) == max(value)


@given(graphs(), st.data())
def test_unobserved_edges_come_first(graph, data):
    weights = np.array(
        data.draw(st.lists(st.sampled_from([0.5, np.inf]), min_size=graph.arms, max_size=graph.arms))
    )
    path = [edge for edge in graph.solve(weights[np.newaxis])[0] if edge >= 0]
    assert path in all_paths(graph)
    assert np.isinf(weights[path]).any() == np.isinf(weights).any()


def test_grid_paths_go_right_and_down():
    graph = ShortestPath.grid(3, 4)
    assert (graph.arms, graph.size, len(all_paths(graph))) == (17, 5, 10)


def test_paths_of_different_length_are_padded():
    graph = ShortestPath([("s", "t"), ("s", "a"), ("a", "t")], "s", "t")
    answer = graph.solve(np.array([[0.5, 0.1, 0.1], [0.1, 0.9, 0.9]]))
    assert answer.tolist() == [[0, -1], [1, 2]]
    np.testing.assert_allclose(graph.reward(answer, np.array([0.5, 0.25, 0.5])), [-0.5, -1.25])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("s", "a"), ("a", "b"), ("b", "a"), ("b", "t")], "cycle"),
        ([("s", "s"), ("s", "t")], "cycle"),
        ([("s", "a"), ("b", "t")], "sink = 't': no path"),
        ([], "sink = 't': no path"),
        ([("s", "t"), ("s", "dead")], r"edges\[1\] = \('s', 'dead'\): lies on no path"),
        ([("s", "t"), ("before", "s")], r"edges\[1\]"),
    ],
)
def test_graphs_without_proper_paths_are_refused(edges, message):
    with pytest.raises(ProblemError, match=message):
        ShortestPath(edges, "s", "t")


def test_grid_of_one_vertex_is_refused():
    with pytest.raises(ProblemError, match="rows = 1, columns = 1"):
        ShortestPath.grid(1, 1)


def test_the_smallest_grid_is_one_edge():
    assert ShortestPath.grid(1, 2).edges == (((0, 0), (0, 1)),)
