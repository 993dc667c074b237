"""Outputs that were returned one at a time are read as numbers and words at named places."""

import math

import numpy as np
import pytest

from verify.outputs.output_readings import UnreadableOutput
from verify.outputs.read_outputs import read_outputs


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
        assert [list(column)[i] for column in readings.words.values()] == words
    assert readings.shapes == (shape,)


def test_truth_values_are_told_from_numbers():
    readings = read_outputs([{"t": True, "n": 1}, {"t": np.False_, "n": 0}])
    assert [readings.truth_at(place).tolist() for place in (0, 1)] == [[True, True], [False, False]]
    assert read_outputs([{"t": True}, {"t": 2}]).truth_at(0).tolist() == [True, False]


def test_what_cannot_be_read():
    for output in (object(), 1j, [object()]):
        with pytest.raises(UnreadableOutput):
            read_outputs([output])


def test_single_values_of_several_kinds():
    readings = read_outputs([1, "w", None, 2.5, True, b"\x02", np.int64(7), "w"])
    np.testing.assert_equal(readings.values[:, 0], [1, math.nan, math.nan, 2.5, 1, math.nan, 7, math.nan])
    assert list(readings.words[0]) == [None, "w", "None", None, None, "02", None, "w"]
    assert readings.shapes == ("",)


def test_entries_that_are_not_known_are_counted_and_take_no_memory():
    rng = np.random.default_rng(0)
    outputs = [{"x": 1.0, f"k{rng.integers(10**9)}": "w", f"n{rng.integers(10**9)}": 2.0} for _ in range(500)]
    outputs += [{"x": 2.0, "y": math.nan}, [1.0, 2.0, math.nan]]
    readings = read_outputs(outputs, known=[".x", "[2]"])
    assert set(readings.names) == {".x", "[2]"}
    assert readings.values[-2:, readings.names.index("[2]")].tolist()[1] == 2.0


def test_numbers_of_a_set_are_sorted_by_size():
    readings = read_outputs([{10, 9}, {100, np.int64(2)}, {0.5, 3.0}])
    columns = {name: readings.values[:, place] for place, name in enumerate(readings.names)}
    assert columns[":sorted[1]"].tolist() == [9.0, 2.0, 0.5]
    assert columns[":sorted[2]"].tolist() == [10.0, 100.0, 3.0]
    assert not any("0.5" in name for name in readings.names)  # numbers that never come again
