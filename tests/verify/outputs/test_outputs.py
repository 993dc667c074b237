"""What functions return is read by name: the same entry is in the same column, whatever else an output holds."""

import math
import time
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verify.functions.lane_outputs import read_lanes
from verify.outputs import words as words_module
from verify.outputs.entries import DEEPEST
from verify.outputs.output_layout import layout_of
from verify.outputs.output_readings import UnreadableOutput
from verify.outputs.outputs import read_outputs
from verify.outputs.words import words_of_array, words_of_list


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
    assert readings.shapes == ("2 entries", "1 entry", "no entries", "[[·, ·]]")


@pytest.mark.parametrize(
    ("output", "values", "words", "shape"),
    [
        (3, [3.0], [], ""),
        (10**400, [math.inf], [], ""),
        (True, [1.0], [], ""),
        (np.float32(0.5), [0.5], [], ""),
        (None, [math.nan], ["None"], ""),
        (b"\x01", [math.nan], ["01"], ""),
        ((1, [2.0, "w"]), [1.0, 2.0, math.nan], ["w"], "[·, [·, ·]]"),
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


@pytest.mark.parametrize(
    ("output", "shape"),
    [
        ([[[[0.0, 1.0], 2.0], 3.0], 4.0], "[[[[·, ·], ·], ·], ·]"),
        ([4.0, [3.0, [2.0]]], "[·, [·, [·]]]"),
        ([[1.0, 2.0]] * 5 + [0.0], "[5 × [·, ·], ·]"),
        ([np.zeros((2, 5)), {"b": [1], "a": 2}], "[[[5 × ·], [5 × ·]], {a, b: [·]}]"),
    ],
)
def test_nested_shapes_are_patterns(output, shape):
    assert read_outputs([output]).shapes == (shape,)


def test_long_patterns_are_cut_short_where_they_are_shown_only():
    outputs = [[[0.0] * (1 + (i * i) % 7) for i in range(n)] for n in (30, 31)]
    readings = read_outputs(outputs)
    assert len(set(readings.shapes)) == 2
    labels = [label for _, label in layout_of([readings]).columns[-2].labels]
    assert all(len(label) < 120 and "characters in full" in label for label in labels)


def test_lists_too_deep_are_refused():
    for wrap in (lambda x: [x], lambda x: {"a": x}, lambda x: OrderedDict(a=x), lambda x: (x,)):
        output = 0.0
        for _ in range(DEEPEST - 1):
            output = wrap(output)
        read_outputs([output])
        for _ in range(3000):
            output = wrap(output)
        with pytest.raises(UnreadableOutput, match="more than 50 deep"):
            read_outputs([output])


def test_how_deep_lists_may_lie():
    output = 0.0
    for _ in range(DEEPEST):
        output = {"a": output}
    read_outputs([output])
    with pytest.raises(UnreadableOutput, match="more than 50 deep"):
        read_outputs([{"a": output}])


def test_a_single_value_is_a_shape_too():
    readings = read_outputs([1.0, [1.0, 2.0], 2.0])
    assert readings.shapes == ("", "2 entries", "")
    (labels,) = [column.labels for column in layout_of([readings]).columns if column.name == "shape"]
    assert [label for _, label in labels] == ["a single value", "2 entries"]


words = st.text(alphabet="ab\x00ü", max_size=3)


@given(st.lists(words, min_size=1, max_size=60))
def test_words_of_arrays_are_those_of_lists(listed):
    array = np.array(listed)
    assert list(words_of_array(array)) == array.tolist()
    assert list(words_of_list(listed)) == listed
    coded = array.astype(object).astype(str)
    assert list(read_lanes(coded, len(listed)).words[0]) == coded.tolist()


def test_many_different_words():
    listed = [f"word {i * i % 97}" for i in range(500)]
    assert list(words_of_array(np.array(listed))) == listed
    assert list(words_of_array(np.array([word.encode() for word in listed]))) == [
        w.encode().hex() for w in listed
    ]


def test_words_with_one_key_are_told_apart(monkeypatch):
    monkeypatch.setattr(words_module, "_coded", lambda keys: (np.zeros(len(keys), dtype=np.int64), [0]))
    assert list(words_of_array(np.array(["u", "v", "u"]))) == ["u", "v", "u"]


def test_arrays_of_words_take_no_time():
    array = np.array(["ann", "bob", "cy", "dee"])[np.random.default_rng(0).integers(4, size=1_000_000)]
    start = time.process_time()
    readings = read_lanes(array, len(array))
    layout_of([readings]).sample(readings)
    assert time.process_time() - start < 1.0  # one object for each word takes 3 s


def test_tuples_of_words_and_numbers():
    readings = read_lanes(
        (np.array(["u", "v", "u"]), np.array([[1, 2], [3, 4], [5, 6]]), np.array([True] * 3)), 3
    )
    assert list(readings.words[0]) == ["u", "v", "u"]
    np.testing.assert_equal(readings.values[:, 1:], [[1, 2, 1], [3, 4, 1], [5, 6, 1]])
    assert (readings.shapes, readings.truths) == ((" and 2 entries and ",), {3})


def test_single_values_of_several_kinds():
    readings = read_outputs([1, "w", None, 2.5, True, b"\x02", np.int64(7), "w"])
    np.testing.assert_equal(readings.values[:, 0], [1, math.nan, math.nan, 2.5, 1, math.nan, 7, math.nan])
    assert list(readings.words[0]) == [None, "w", "None", None, None, "02", None, "w"]
    assert readings.shapes == ("",)


def test_masked_entries_are_absent():
    numbers = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [True, False]])
    expected = [[1.0, math.nan], [math.nan, 4.0]]
    np.testing.assert_equal(read_lanes(numbers, 2).values, expected)
    np.testing.assert_equal(read_outputs(list(numbers)).values, expected)
    whole = np.ma.masked_array([2**60, 2**61], mask=[True, False])
    assert read_lanes(whole, 2).whole[0].tolist() == [None, 2**61]
    spoken = np.ma.masked_array(["u", "v"], mask=[True, False])
    assert list(read_lanes(spoken, 2).words[0]) == [None, "v"]


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
    if layout.offsets:
        near = [(row[0], x) for row, x in zip(seen, second, strict=True) if abs(x - min(first)) < 2**53]
        assert all(value == x - min(first) for value, x in near)


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


def test_of_very_many_entries_those_that_differ_are_columns():
    rng = np.random.default_rng(5)
    first, second = (rng.normal(size=(40, 1000)) for _ in range(2))
    second[:, [3, 500, 999]] += 5.0
    layout = layout_of([read_lanes(first, 40), read_lanes(second, 40)])
    names = [column.name for column in layout.columns]
    assert {"output[4]", "output[501]", "output[1000]"} <= set(names)
    assert len(names) == 128 + 64
    sums = layout.sample(read_lanes(second, 40)).values[:, 128:]
    np.testing.assert_allclose(sums.sum(axis=1), second.sum(axis=1))
    short = layout.sample(read_outputs([[1.0, 2.0]])).values[0]
    assert short[128] == 3.0
    assert np.isnan(short[129:]).all()


def test_entries_that_are_not_known_are_counted_and_take_no_memory():
    rng = np.random.default_rng(0)
    outputs = [{"x": 1.0, f"k{rng.integers(10**9)}": "w", f"n{rng.integers(10**9)}": 2.0} for _ in range(500)]
    outputs += [{"x": 2.0, "y": math.nan}, [1.0, 2.0, math.nan]]
    readings = read_outputs(outputs, known=[".x", "[2]"])
    assert set(readings.names) == {".x", "[2]"}
    assert readings.beyond.tolist() == [2] * 500 + [0, 1]
    assert readings.values[-2:, readings.names.index("[2]")].tolist()[1] == 2.0


def test_a_layout_counts_new_keys_whether_they_are_read_or_not():
    layout = layout_of([read_outputs([{"a": 1.0}, {"a": 1.0, "b": 2.0}])])
    outputs = [{"a": 1.0, "c": 3.0, "d": "x"}, {"e": [1.0, 2.0]}, {"a": 0.0}]
    known, every = layout.sample(read_outputs(outputs, layout.places)), layout.sample(read_outputs(outputs))
    np.testing.assert_equal(known.values, every.values)
    np.testing.assert_equal(column(layout, known, "unknown"), [2, 2, 0])


@given(st.lists(st.sets(st.sampled_from("abcd")) | st.sets(st.integers(-3, 3)), min_size=2, max_size=8))
def test_members_of_a_set_have_columns_of_their_own(outputs):
    assume(any(outputs))
    readings = read_outputs(outputs)
    layout = layout_of([readings])
    sample = layout.sample(readings)
    for place, name in enumerate(c.name for c in layout.columns):
        if name.endswith("}"):
            member = name.removeprefix("output{")[:-1]
            held = [any(repr(item) == member for item in output) for output in outputs]
            np.testing.assert_equal(sample.values[:, place], np.where(held, 1.0, math.nan))
            assert layout.columns[place].words == f"{member} in the output"


def test_numbers_of_a_set_are_sorted_by_size():
    readings = read_outputs([{10, 9}, {100, np.int64(2)}, {0.5, 3.0}])
    columns = {name: readings.values[:, place] for place, name in enumerate(readings.names)}
    assert columns["[1]"].tolist() == [9.0, 2.0, 0.5]
    assert columns["[2]"].tolist() == [10.0, 100.0, 3.0]
    assert not any("0.5" in name for name in readings.names)  # numbers that never come again


def test_the_order_of_keys_is_a_word_where_it_varies():
    outputs = [{"b": 1.0, "a": 2.0}, {"a": 2.0, "b": 1.0}, {"a": 0.0}]
    layout = layout_of([read_outputs([output]) for output in outputs])
    at = [c.name for c in layout.columns].index("order")
    assert dict(layout.columns[at].labels) == {0.0: "a, b", 1.0: "b, a"}
    for known in (None, layout.places):
        sample = layout.sample(read_outputs(outputs, known))
        np.testing.assert_equal(sample.values[:, at], [1.0, 0.0, math.nan])
        np.testing.assert_equal(column(layout, sample, "unknown"), [0, 0, 0])
    same = layout_of([read_outputs([{"b": 1.0, "a": 2.0}, {"b": 3.0, "a": 2.0}, {"c": 1.0, "a": 1.0}])])
    assert "order" not in [c.name for c in same.columns]
    first, second = (read_outputs([output]).rows for output in outputs[:2])
    assert first != second


def test_a_dictionary_of_arrays_is_read_as_one_dictionary_for_each_lane():
    lanes = {
        "mean": np.array([1.0, 2.0]),
        "pair": np.array([[3.0, 4.0], [5.0, 6.0]]),
        "word": np.array(["a", "b"]),
    }
    one_by_one = [
        {"mean": 1.0, "pair": [3.0, 4.0], "word": "a"},
        {"mean": 2.0, "pair": [5.0, 6.0], "word": "b"},
    ]
    together, apart = read_lanes(lanes, 2), read_outputs(one_by_one)
    assert together.names == apart.names == (".mean", ".pair[1]", ".pair[2]", ".word")
    assert together.shapes == apart.shapes
    np.testing.assert_equal(together.values, apart.values)
    assert list(together.words[3]) == list(apart.words[3]) == ["a", "b"]
    mixed = read_lanes({"x": np.array([1.0, 2.0]), "y": [None, "b"]}, 2)
    assert mixed.names == (".x", ".y")
    with pytest.raises(UnreadableOutput, match=r"shape \(3,\) for 2 lanes"):
        read_lanes({"x": np.zeros(3)}, 2)
