from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.problems import ProblemError, RankedLists

levels = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(st.lists(levels, min_size=1, max_size=5), st.data())
def test_no_other_list_is_better(means, data):
    structure = RankedLists(len(means), data.draw(st.integers(1, len(means))))
    means = np.array(means)
    rewards = [
        1.0 - np.prod(1.0 - means[list(shown)])
        for shown in permutations(range(len(means)), structure.positions)
    ]
    answer = structure.solve(means[np.newaxis])
    assert structure.optimum(means) == pytest.approx(max(rewards), abs=1e-12)
    assert structure.reward(answer, means)[0] == structure.optimum(means)
    assert (np.diff(means[answer[0]]) <= 0).all()


@given(st.integers(1, 60), st.integers(1, 6), st.data())
def test_ties_go_to_the_least_key_then_to_the_lowest_id(lanes, items, data):
    positions = data.draw(st.integers(1, items))
    weights = data.draw(arrays(float, (lanes, items), elements=st.sampled_from([0.0, 0.5, np.inf])))
    shown = data.draw(arrays(np.int64, (lanes, items), elements=st.integers(0, 2)))
    answer = RankedLists(items, positions).solve(weights, tie_break=shown)
    for row, counts, listed in zip(weights, shown, answer, strict=True):
        order = sorted(range(items), key=lambda item: (-row[item], counts[item], item))
        assert listed.tolist() == order[:positions]


def test_only_lanes_with_ties_are_sorted_again_and_alike():
    rng = np.random.default_rng(2)
    weights, shown = rng.random((300, 20)), rng.integers(0, 3, (300, 20))
    weights[::3] = weights[::3].round(1)
    together = RankedLists(20, 4).solve(weights, tie_break=shown)
    for lane in range(300):
        order = sorted(range(20), key=lambda item: (-weights[lane, item], shown[lane, item], item))
        assert together[lane].tolist() == order[:4]


def test_a_list_longer_than_the_items_is_refused():
    with pytest.raises(ProblemError, match="positions = 5: must be at most the number of items, 4"):
        RankedLists(4, 5)
