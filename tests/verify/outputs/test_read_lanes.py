"""Outputs for several lanes at once are read as those that are returned one at a time."""

import math

import numpy as np
import pytest

from verify.outputs.output_readings import UnreadableOutput
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs


def test_lanes_and_single_outputs_have_the_same_names():
    for output in (1.5, np.array([1.5]), np.array([1.5, 2.0])):
        assert read_lanes(np.stack([output] * 3), 3).names == read_outputs([output] * 3).names


def test_tuples_of_words_and_numbers():
    readings = read_lanes(
        (np.array(["u", "v", "u"]), np.array([[1, 2], [3, 4], [5, 6]]), np.array([True] * 3)), 3
    )
    assert list(readings.words[0]) == ["u", "v", "u"]
    np.testing.assert_equal(readings.values[:, 1:], [[1, 2, 1], [3, 4, 1], [5, 6, 1]])
    assert (readings.shapes, set(readings.truths)) == ((" and 2 entries and ",), {3})


def test_a_column_of_objects_is_one_output_for_each_lane():
    column = np.array([["u"], [None], [2.5]], dtype=object)
    for lanes in (column, column[:, 0]):
        readings, expected = read_lanes(lanes, 3), read_outputs(["u", None, 2.5])
        assert (readings.names, readings.shapes) == (expected.names, expected.shapes)
        assert list(readings.words[0]) == list(expected.words[0]) == ["u", "None", None]


def test_masked_entries_are_absent():
    numbers = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [True, False]])
    expected = [[1.0, math.nan], [math.nan, 4.0]]
    np.testing.assert_equal(read_lanes(numbers, 2).values, expected)
    np.testing.assert_equal(read_outputs(list(numbers)).values, expected)
    whole = np.ma.masked_array([2**60, 2**61], mask=[True, False])
    assert read_lanes(whole, 2).whole[0].tolist() == [None, 2**61]
    spoken = np.ma.masked_array(["u", "v"], mask=[True, False])
    assert list(read_lanes(spoken, 2).words[0]) == [None, "v"]


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
