from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.problems import ProblemError, TopK


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=6), st.data())
def test_no_other_set_is_better(means, data):
    size = data.draw(st.integers(1, len(means)))
    structure = TopK(len(means), size)
    means = np.array(means)
    best = max(means[list(chosen)].sum() for chosen in combinations(range(len(means)), size))
    answer = structure.solve(means[np.newaxis])
    assert structure.reward(answer, means)[0] == best
    assert structure.optimum(means) == best
    assert sorted(set(answer[0].tolist())) == answer[0].tolist()


@pytest.mark.parametrize(
    ("arms", "size", "message"),
    [
        (3, 4, "size = 4: must be at most the number of arms, 3"),
        (3, 0, "size = 0"),
        (0, 1, "arms = 0"),
        (3, 1.5, "size = 1.5: must be a whole number"),
    ],
)
def test_impossible_sizes_are_refused(arms, size, message):
    with pytest.raises(ProblemError, match=message):
        TopK(arms, size)


@pytest.mark.parametrize("weights", [[[0.0, np.nan]], [[0.0, -np.inf]], [[0.0]], [0.0, 1.0]])
def test_weights_that_give_no_order_are_refused(weights):
    with pytest.raises(ProblemError, match="weights"):
        TopK(2, 1).solve(np.array(weights))


def test_whole_numbers_of_numpy_are_counts():
    structure = TopK(np.int64(3), np.uint8(2))
    assert structure == TopK(3, 2)
    assert [type(structure.arms), type(structure.size)] == [int, int]
