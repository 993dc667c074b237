"""What functions return is read by name: the same entry is in the same column, whatever else an output holds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.functions.columns import layout_of
from verify.functions.outputs import UnreadableOutput, read_lanes, read_outputs


def column(layout, sample, name):
    return sample.values[:, [c.name for c in layout.columns].index(name)]


def test_entries_of_a_dictionary_are_aligned_by_their_keys():
    readings = read_outputs([{"b": 2.0}, {"a": 1.0, "b": 3.0}, {}, {"b": 5.0, "a": 4.0}])
    layout = layout_of([readings])
    sample = layout.sample(readings)
    np.testing.assert_equal(column(layout, sample, "output.a"), [math.nan, 1, math.nan, 4])
    np.testing.assert_equal(column(layout, sample, "output.b"), [2, 3, math.nan, 5])
    assert readings.shapes == ("{b}", "{a, b}", "{}", "{a, b}")


def test_data_sets_that_show_other_keys_share_the_columns_of_their_common_keys():
    seen = [read_outputs([{"a": 1.0}, {}]), read_outputs([{"b": 2.0, "c": "x"}, {"c": "y"}])]
    layout = layout_of(seen)
    assert [c.name for c in layout.columns] == ["output.a", "output.b", "output.c", "shape", "unknown"]
    later = layout.sample(read_outputs([{"c": "y", "d": 7.0, "e": "z"}, {"a": 0.5}, {"b": 1.0}]))
    np.testing.assert_equal(column(layout, later, "output.a"), [math.nan, 0.5, math.nan])
    np.testing.assert_equal(column(layout, later, "output.b"), [math.nan, math.nan, 1.0])
    np.testing.assert_equal(column(layout, later, "output.c"), [1.0, math.nan, math.nan])
    np.testing.assert_equal(column(layout, later, "unknown"), [2, 0, 0])


keys = st.sampled_from(["a", "b", "c", "d"])
outputs = st.lists(
    st.dictionaries(keys, st.floats(-5, 5) | st.sampled_from(["x", "y"])), min_size=1, max_size=8
)


@given(outputs, outputs)
def test_every_entry_is_in_the_column_of_its_own_key(first, second):
    assume(any(first) or any(second))
    layout = layout_of([read_outputs(first), read_outputs(second)])
    sample = layout.sample(read_outputs(second))
    for i, output in enumerate(second):
        for c, value in zip(layout.columns, sample.values[i], strict=True):
            key = c.name.removesuffix(":word").removeprefix("output.")
            if c.name.startswith("output.") and not math.isnan(value):
                entry = dict(c.labels).get(value) if isinstance(output[key], str) else value
                assert entry == output[key]
            elif c.name.endswith(":word"):
                assert not isinstance(output.get(key), str)


def test_places_of_lists_of_several_lengths():
    readings = read_outputs([["a", "b"], ["a"], [], [["b", 1.0]]])
    assert readings.names == ("[1]", "[2]", "[1][1]", "[1][2]")
    assert list(readings.words[0]) == ["a", "a", None, None]
    assert readings.shapes == ("2 entries", "1 entry", "no entries", "1 entry of 2 entries")


@pytest.mark.parametrize(
    ("output", "values", "words", "shape"),
    [
        (3, [3.0], [], ""),
        (10**400, [math.inf], [], ""),
        (True, [1.0], [], ""),
        (np.float32(0.5), [0.5], [], ""),
        (None, [math.nan], ["None"], ""),
        (b"\x01", [math.nan], ["01"], ""),
        ((1, [2.0, "w"]), [1.0, 2.0, math.nan], ["w"], "2 entries of a single value and 2 entries"),
        ({"h": np.array([1, 2]), "n": 3}, [1.0, 2.0, 3.0], [], "{h: 2 entries, n}"),
        ({1: 2.0, "1": 3.0}, [2.0, 3.0], [], "{1, 1}"),
        (np.array([["u", "v"]]), [math.nan] * 2, ["u", "v"], "1 × 2 entries"),
    ],
)
def test_what_can_be_read(output, values, words, shape):
    readings = read_outputs([output, output])
    for i in range(2):
        np.testing.assert_equal(readings.values[i], values)
        assert [column[i] for column in readings.words.values()] == words
    assert readings.shapes == (shape,)


def test_truth_values_are_told_from_numbers():
    assert read_outputs([{"t": True, "n": 1}, {"t": np.False_, "n": 0}]).truths == {0}
    assert read_outputs([{"t": True}, {"t": 2}]).truths == set()


def test_lanes_and_single_outputs_have_the_same_names():
    for output in (1.5, np.array([1.5]), np.array([1.5, 2.0])):
        assert read_lanes(np.stack([output] * 3), 3).names == read_outputs([output] * 3).names


def test_what_cannot_be_read():
    for output in (object(), 1j, [object()]):
        with pytest.raises(UnreadableOutput):
            read_outputs([output])
