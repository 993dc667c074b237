from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.problems import MaximumCoverage, ProblemError

instances = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])),
        st.integers(1, shape[0]),
    )
)


def reached(probability, nodes):
    return sum(1.0 - np.prod([1.0 - probability[u, v] for u in nodes]) for v in range(probability.shape[1]))


@given(instances)
def test_greedy_reaches_its_guarantee_and_enumeration_the_optimum(case):
    probability, chosen = case
    left, right = probability.shape
    structure = MaximumCoverage(left, right, chosen)
    means = probability.reshape(-1)
    best = max(reached(probability, nodes) for nodes in combinations(range(left), chosen))
    answer = structure.solve(means[np.newaxis])
    assert structure.optimum(means) == pytest.approx(best, abs=1e-12)
    assert structure.reward(answer, means)[0] >= structure.alpha * best - 1e-12


# Products and sums of so few multiples of 1/4 are exact, so that ties are ties.
exact_instances = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(float, shape, elements=st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0])),
        st.integers(1, shape[0]),
    )
)


@given(exact_instances)
def test_greedy_takes_the_node_of_largest_gain_lowest_id_first(case):
    probability, chosen = case
    left, right = probability.shape
    nodes: list[int] = []
    for _ in range(chosen):
        total = {u: reached(probability, [*nodes, u]) for u in range(left) if u not in nodes}
        nodes.append(max(total, key=lambda u: (total[u], -u)))
    expected = [u * right + v for u in sorted(nodes) for v in range(right)]
    answer = MaximumCoverage(left, right, chosen).solve(probability.reshape(1, -1))
    assert answer[0].tolist() == expected


def test_the_first_of_equal_nodes_is_taken():
    structure = MaximumCoverage(4, 2, 2)
    weights = np.array([[0.5, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]])
    assert structure.solve(weights).tolist() == [[2, 3, 4, 5]]


def test_weights_beyond_probabilities_are_clipped():
    structure = MaximumCoverage(3, 1, 1)
    assert structure.solve(np.array([[-3.0, 1.0, np.inf], [-2.0, -1.0, -3.0]])).tolist() == [[1], [0]]


def test_an_optimum_beyond_enumeration_is_refused():
    structure = MaximumCoverage(60, 1, 30)
    with pytest.raises(ProblemError, match="left = 60, chosen = 30: the optimum is found by enumeration"):
        structure.optimum(np.full(60, 0.5))


def test_more_nodes_than_there_are_is_refused():
    with pytest.raises(ProblemError, match="chosen = 4: must be at most the number of left nodes, 3"):
        MaximumCoverage(3, 2, 4)
