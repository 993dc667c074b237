"""The columns that outputs of every form are read into, and their values, as recorded.

A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from verify.outputs.output_layout import layout_of
from verify.outputs.read_arrays import read_arrays
from verify.outputs.read_lanes import read_lanes
from verify.outputs.read_outputs import read_outputs


@dataclass
class Report:
    total: float
    note: str


NAN, INF = float("nan"), float("inf")
RNG = np.random.default_rng(7)
OUTPUTS = {
    "numbers": ([1.5, -0.0, 2.25, NAN], [0.0, INF, 3.0, 1.0]),
    "whole numbers": ([3, 5, 2**60 + 1], [4, 4, 2**60]),
    "large floats": ([1e17 + 32, 1e17 + 16], [1e17, 1e17 + 64]),
    "truths and numbers": ([True, 1, 1.0], [False, 0, True]),
    "none": ([None, 1.0, None], [2.0, None, 1.0]),
    "words": (["red", "blue", "red"], ["green", "red", "blue"]),
    "spelt numbers": (["1.25", "2.5", "-3"], ["1.50", "0.5", "7"]),
    "dates": (["2024-01-02", "2024-01-03"], ["2024-01-04", "2023-12-31"]),
    "codes": (["id-17a", "id-18b", "id-19a"], ["id-20c", "id-17b", "id-30a"]),
    "sentences": (["the answer is 3", "the answer is 4"], ["no answer", "the answer is 5"]),
    "lists": ([[1.0, 2.0], [3.0]], [[], [4.0, 5.0, 6.0]]),
    "lists of lists": ([[[1, 2], [3]], [[4], []]], [[[5]], []]),
    "tuples of kinds": ([(1.0, "a", None), (2.0, "b", 3)], [(1.5, "a", 4), (2.5, 7, None)]),
    "dictionaries": ([{"b": 2.0, "a": "x"}, {"a": 1.0}], [{}, {"c": [1, 2], "b": 0.5}]),
    "other orders": ([{"b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0}], [{"a": 0.0, "b": 3.0}]),
    "sets": ([{1, 2}, {2, 5}], [{7}, set()]),
    "sets of words": ([{"a", "b"}, {"b"}], [{"c"}, {"a", "c"}]),
    "sets of numbers": ([{0.5, 0.25}, {0.75}], [{0.125}, {1.5, 2.5}]),
    "objects": ([Report(1.0, "up"), Report(2.0, "down")], [Report(3.0, "up"), Report(0.5, "left")]),
    "arrays": ([np.array([[1.0, 2.0], [3.0, 4.0]])] * 2, [np.array([[0.0, 2.0], [3.0, 5.0]])]),
    "arrays of lengths": ([np.arange(2), np.arange(3)], [np.zeros(0), np.ones(1)]),
    "masked": (
        [np.ma.masked_array([1.0, 2.0], [False, True])],
        [np.ma.masked_array([3.0, 4.0], [True, False])],
    ),
    "letters": (["abca", "abcb", "aacb"], ["bbca", "abda", "abca"]),
    "many codes": (
        [f"id-{number}{letter}" for number in range(40) for letter in "ab"],
        [f"id-{number}{letter}" for number in range(30, 70) for letter in "ac"],
    ),
    "many spelt numbers": (
        [f"{number / 8:.3f}" for number in range(80)],
        [f"{number / 4:.2f}" for number in range(80)],
    ),
    "many sentences": (
        [f"the sum is {number} of {number % 7}" for number in range(80)],
        [f"the sum is {number} of {number % 5}" for number in range(80)],
    ),
    "many words": (
        ["".join("abcd"[number >> 2 * place & 3] for place in range(4)) for number in range(0, 160, 2)],
        ["".join("abcd"[number >> 2 * place & 3] for place in range(4)) for number in range(1, 160, 2)],
    ),
    "wide": (RNG.normal(size=(6, 300)).round(2).tolist(), RNG.normal(1.0, size=(6, 300)).round(2).tolist()),
}


def described(seen):
    """Return the columns of readings on some data sets, and the values of each."""
    layout = layout_of(seen)
    samples = [layout.sample(each).values for each in seen]
    lines = [f"{len(layout.columns)} columns"]
    for number, column in enumerate(layout.columns[:12]):
        shown = " | ".join(" ".join(f"{value:.6g}" for value in sample[:16, number]) for sample in samples)
        labels = f" {dict(column.labels)!s:.300}" if column.labels else ""
        lines.append(f"{column.name} ({column.kind}), {column.words}{labels}: {shown}")
    return "\n".join(lines)


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_read_as_recorded(name, snapshot):
    assert described([read_outputs(each) for each in OUTPUTS[name]]) == snapshot


@pytest.mark.parametrize("read", [read_arrays, read_lanes])
def test_lanes_are_read_as_recorded(read, snapshot):
    both = [
        [np.array([1.0, 2.0, 2.0]) + shift, np.array([["a", "b"], ["b", "b"], ["c", "a"]])]
        for shift in (0.0, 0.5)
    ]
    seen = [
        read_arrays(each) if read is read_arrays else read_lanes(dict(zip("xy", each, strict=True)), 3)
        for each in both
    ]
    assert described(seen) == snapshot
