"""Outputs are read by name: the same entry is in the same column, whatever else an output holds."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from verify.outputs.output_layout import layout_of
from verify.outputs.read_outputs import read_outputs
from verify.outputs.word_columns import ANOTHER, quoted


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
    names = ["output:length", "shape", "output.a", "output.b", "output.c"]
    assert [c.name for c in layout.columns] == names
    later = layout.sample(read_outputs([{"c": "y", "d": 7.0, "e": "z"}, {"a": 0.5}, {"b": 1.0}]))
    np.testing.assert_equal(column(layout, later, "output.a"), [math.nan, 0.5, math.nan])
    np.testing.assert_equal(column(layout, later, "output.b"), [math.nan, math.nan, 1.0])
    np.testing.assert_equal(column(layout, later, "output.c"), [1.0, math.nan, math.nan])
    np.testing.assert_equal(column(layout, later, "output:length"), [3, 1, 1])


keys = st.sampled_from(["a", "b", "c", "d"])
outputs = st.lists(
    # Without -0.0, whose sign has a column of its own.
    st.dictionaries(keys, st.floats(-5, 5).map(lambda x: x + 0.0) | st.sampled_from(["x", "y"])),
    min_size=1,
    max_size=8,
)


@settings(max_examples=40)
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
                assert entry == (quoted(output[key]) if isinstance(output[key], str) else output[key])
            elif c.name.endswith(":word"):
                assert not isinstance(output.get(key), str)


def test_a_layout_shows_the_number_of_keys_whether_they_are_read_or_not():
    layout = layout_of([read_outputs([{"a": 1.0}, {"a": 1.0, "b": 2.0}])])
    outputs = [{"a": 1.0, "c": 3.0, "d": "x"}, {"e": [1.0, 2.0]}, {"a": 0.0}]
    known, every = layout.sample(read_outputs(outputs, layout.places)), layout.sample(read_outputs(outputs))
    np.testing.assert_equal(known.values, every.values)
    np.testing.assert_equal(column(layout, known, "output:length"), [3, 1, 1])


@given(st.lists(st.sets(st.sampled_from("abcd")) | st.sets(st.integers(-3, 3)), min_size=2, max_size=8))
def test_members_of_a_set_have_columns_of_their_own(outputs):
    assume(any(outputs))
    readings = read_outputs(outputs)
    layout = layout_of([readings])
    sample = layout.sample(readings)
    members = [place for place, column in enumerate(layout.columns) if column.name.endswith("}")]
    assert members
    for place in members:
        member = layout.columns[place].name.removeprefix("output{")[:-1]
        held = [any(repr(item) == member for item in output) for output in outputs]
        np.testing.assert_equal(sample.values[:, place], np.where(held, 1.0, math.nan))
        assert layout.columns[place].words == f"{member} in the output"


def test_the_order_of_keys_is_a_word_where_it_varies():
    outputs = [{"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}, {"a": 0.0}]
    layout = layout_of([read_outputs([output]) for output in outputs])
    at = [c.name for c in layout.columns].index("order")
    labels = {-1.0: "another order than those seen at first", 0.0: '"a, b"', 1.0: '"b, a"'}
    assert dict(layout.columns[at].labels) == labels
    for known in (None, layout.places):
        sample = layout.sample(read_outputs(outputs, known))
        np.testing.assert_equal(sample.values[:, at], [1.0, 0.0, math.nan])
    same = layout_of([read_outputs([{"b": 1.0, "a": 2.0}, {"b": 3.0, "a": 2.0}, {"c": 1.0, "a": 1.0}])])
    assert "order" not in [c.name for c in same.columns]
    first, second = (read_outputs([output]).rows for output in outputs[:2])
    assert first != second


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([[1, 2], [1, 2, 3], []], "the number of entries of the output"),
        ([{1, 2}, {3}], "the number of elements of the output"),
        ([{"items": [1, 2]}, {"items": [1]}], "the number of entries of output items"),
        (["ab" * i for i in range(9)], "the number of letters of the output"),
    ],
)
def test_a_length_is_a_reading_of_its_own(outputs, words):
    layout = layout_of([read_outputs(outputs)])
    [at] = [i for i, column in enumerate(layout.columns) if column.words == words]
    lengths = [len(output["items"] if isinstance(output, dict) else output) for output in outputs]
    assert layout.sample(read_outputs(outputs)).values[:, at].tolist() == lengths
    assert not layout.columns[at].is_entry
    assert "shape" not in [column.name for column in layout.columns]


def test_words_are_quoted_and_unknown_ones_are_one_label():
    layout = layout_of([read_outputs(["other", "", None, 'a "b"', "1"])])
    [labels] = [column.labels for column in layout.columns]
    assert {label for _, label in labels} == {
        "another word than those seen at first", '"other"', '""', "None", '"a \\"b\\""', '"1"'
    }  # fmt: skip
    assert layout.sample(read_outputs(["new", "newer"])).values[:, 0].tolist() == [ANOTHER, ANOTHER]
