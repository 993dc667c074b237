import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.lanes import gather, lookup, scatter_add, scatter_set


@st.composite
def arrays_and_indices(draw, leading=()):
    lanes, arms = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.integers(1, arms))
    index = np.argsort(rng.random((lanes, arms)), axis=1)[:, :size]
    for row in index:
        row[size - rng.integers(0, size + 1) :] = -1
    return rng.random((*leading, lanes, arms)), index


def one_by_one(array, index):
    out = np.zeros((*array.shape[:-1], index.shape[1]))
    for lane, row in enumerate(index):
        for k, arm in enumerate(row):
            if arm >= 0:
                out[..., lane, k] = array[..., lane, arm]
    return out


@given(arrays_and_indices())
def test_gather_reads_each_lane_at_its_own_indices(case):
    array, index = case
    np.testing.assert_array_equal(gather(array, index), one_by_one(array, index))
    strided = np.asfortranarray(array)
    np.testing.assert_array_equal(gather(strided, index), one_by_one(array, index))


@given(arrays_and_indices(leading=(2, 3)))
def test_gather_keeps_leading_axes(case):
    array, index = case
    np.testing.assert_array_equal(gather(array, index), one_by_one(array, index))


@given(arrays_and_indices(), st.booleans())
def test_lookup_reads_one_vector_in_every_lane(case, integers):
    array, index = case
    vector = (array[0] * 100).astype(np.int64) if integers else array[0]
    expected = one_by_one(np.broadcast_to(vector, array.shape), index)
    np.testing.assert_array_equal(lookup(vector, index), expected)


@pytest.mark.few(2)
@pytest.mark.parametrize("write", [scatter_add, scatter_set])
@pytest.mark.parametrize("layout", ["contiguous", "fortran", "leading"])
@given(arrays_and_indices(), st.booleans())
def test_scatter_writes_each_lane_at_its_own_indices(write, layout, case, scalar):
    array, index = case
    if layout == "fortran":
        array = np.asfortranarray(array)
    if layout == "leading":
        array = np.stack([array, array + 10.0])
    values = 2.5 if scalar else np.arange(1.0, index.size + 1).reshape(index.shape)
    expected = array.copy()
    for lane, row in enumerate(index):
        for k, arm in enumerate(row):
            if arm >= 0:
                value = values if scalar else values[lane, k]
                old = expected[..., lane, arm] if write is scatter_add else 0.0
                expected[..., lane, arm] = old + value
    write(array, index, values)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("operation", [gather, lambda a, i: scatter_add(a, i, 1.0)])
def test_an_index_beyond_the_arms_does_not_reach_the_next_lane(operation):
    with pytest.raises(IndexError, match="3"):
        operation(np.zeros((2, 3)), np.array([[3], [0]]))
    with pytest.raises(IndexError, match="lanes"):
        operation(np.zeros((2, 3)), np.array([[0]]))
