"""Whole numbers too large for floats are told apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.outputs.number_columns import _integers_of
from verify.outputs.output_layout import layout_of
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs

big = st.integers(-(2**70), 2**70) | st.integers(2**62, 2**62 + 5) | st.integers(-5, 5)


@given(st.lists(big, min_size=1, max_size=8), st.lists(big, min_size=1, max_size=8))
def test_whole_numbers_are_told_apart(first, second):
    """What is seen of equal numbers is equal, in whatever form they come; close ones are told apart."""
    layout = layout_of([read_outputs(first)])
    seen = layout.sample(read_outputs(second)).values
    alone = np.concatenate([layout.sample(read_outputs([x])).values for x in second])
    np.testing.assert_array_equal(seen, alone)
    listed = (
        layout_of([read_outputs([[x] for x in first])]).sample(read_outputs([[x] for x in second])).values
    )
    np.testing.assert_array_equal(seen, listed)
    fits = [x for x in second if -(2**63) <= x < 2**63]
    if fits:
        array = layout.sample(read_lanes(np.array(fits, dtype=np.int64), len(fits))).values
        np.testing.assert_array_equal(array, [row for row, x in zip(seen, second, strict=True) if x in fits])
    if " - " in layout.columns[0].name and max(first) - min(first) < 2**53:
        known = layout.sample(read_outputs(first)).values[:, 0]
        assert len({x - int(value) for x, value in zip(first, known, strict=True)}) == 1


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ([2**60 - 3, 2**60 + 4], "the output minus 2^60"),
        ([10**400 + 8, 10**400 - 1], "the output minus 10^400"),
        ([-(2**60), -(2**60) + 3], "the output minus -2^60"),
        ([3 * 10**30 + 7, 3 * 10**30], "the output minus 3 · 10^30"),
        ([1_700_000_000_123_456_789] * 2, "the output minus 1700000000123457000"),
        ([-(2**70), 2**70], "the output"),
    ],
)
def test_what_is_subtracted_is_a_round_number(first, words):
    assert layout_of([read_outputs(first)]).columns[0].words == words


def test_unsigned_and_signed_numbers_beyond_floats():
    for array in (
        np.array([2**64 - 1, 2**64 - 3, 0], np.uint64),
        np.array([2**63 - 1, -(2**63), 5], np.int64),
    ):
        layout = layout_of([read_lanes(array, 3)])
        assert [c.name for c in layout.columns][1:] == ["output:low"]
        np.testing.assert_array_equal(
            layout.sample(read_lanes(array, 3)).values[:, 1], [x % 4096 for x in array.tolist()]
        )
        np.testing.assert_array_equal(
            layout.sample(read_lanes(array, 3)).values, layout.sample(read_outputs(array.tolist())).values
        )


def test_whole_numbers_are_exact_and_what_is_none_has_none():
    values = np.array([2.0**53, 2.5, np.nan, np.inf, -3.0])
    whole = np.array([2**53 + 1, None, None, None, None], dtype=object)
    assert _integers_of(values, whole) == [2**53 + 1, None, None, None, -3]
    assert _integers_of(values, None) == [2**53, None, None, None, -3]
