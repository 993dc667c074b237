import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from algorithms.problems.largest import _strike_by_arms, largest_elements, ranked_elements, strike

# Few distinct values, so that ties abound.
levels = st.sampled_from([-2.0, 0.0, 0.25, 1.0, np.inf])
weights_and_size = st.integers(1, 7).flatmap(
    lambda arms: st.tuples(
        st.integers(1, 40).flatmap(lambda lanes: arrays(float, (lanes, arms), elements=levels)),
        st.integers(1, arms),
    )
)


def first_by_weight_then_id(row, size):
    return sorted(range(len(row)), key=lambda arm: (-row[arm], arm))[:size]


@given(weights_and_size)
def test_the_largest_of_each_row_ties_by_lowest_id(case):
    weights, size = case
    expected = [first_by_weight_then_id(row, size) for row in weights]
    before = weights.copy()
    assert ranked_elements(weights, size).tolist() == expected
    for struck in (strike, _strike_by_arms):
        order, remaining = struck(weights, size)
        assert order.tolist() == expected
        struck_out = np.zeros(weights.shape, dtype=bool)
        np.put_along_axis(struck_out, order, True, axis=1)
        np.testing.assert_array_equal(remaining, np.where(struck_out, -np.inf, weights))
    assert largest_elements(weights, size).tolist() == [sorted(row) for row in expected]
    np.testing.assert_array_equal(weights, before)


def test_many_lanes_take_the_same_answer_as_single_ones():
    weights = np.random.default_rng(1).integers(0, 4, (500, 20)).astype(float)
    together = largest_elements(weights, 4), ranked_elements(weights, 4)
    for lane in range(0, 500, 7):
        one = weights[lane : lane + 1]
        assert (largest_elements(one, 4) == together[0][lane]).all()
        assert (ranked_elements(one, 4) == together[1][lane]).all()
