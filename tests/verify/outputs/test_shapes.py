"""The shape of an output in words."""

import numpy as np
import pytest

from verify.outputs.output_layout import layout_of
from verify.outputs.read_outputs import read_outputs


@pytest.mark.parametrize(
    ("output", "shape"),
    [
        ([[[[0.0, 1.0], 2.0], 3.0], 4.0], "[[[[·, ·], ·], ·], ·]"),
        ([4.0, [3.0, [2.0]]], "[·, [·, [·]]]"),
        ([[1.0, 2.0]] * 3 + [0.0], "[[·, ·], [·, ·], [·, ·], ·]"),
        ([[1.0, 2.0]] * 4 + [0.0], "[4 × [·, ·], ·]"),
        ([np.zeros((2, 5)), {"b": [1], "a": 2}], "[[[5 × ·], [5 × ·]], {a, b: [·]}]"),
    ],
)
def test_nested_shapes_are_patterns(output, shape):
    assert read_outputs([output]).shapes == (shape,)


def test_long_patterns_are_cut_short_where_they_are_shown_only():
    outputs = [[[0.0] * (1 + (i * i) % 7) for i in range(n)] for n in (30, 31)]
    readings = read_outputs([1.0, *outputs])
    assert len(set(readings.shapes)) == 3
    [column] = [column for column in layout_of([readings]).columns if column.name == "shape"]
    labels = [label for code, label in column.labels if code > 0.0]
    assert all(len(label) < 120 and "characters in full" in label for label in labels)


def test_a_single_value_is_a_shape_too():
    readings = read_outputs([1.0, [1.0, 2.0], 2.0])
    assert readings.shapes == ("", "2 entries", "")
    (labels,) = [column.labels for column in layout_of([readings]).columns if column.name == "shape"]
    assert [label for _, label in labels] == [
        "another shape than those seen at first",
        "a single value",
        "2 entries",
    ]
