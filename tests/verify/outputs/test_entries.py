"""The types of outputs, and the depth of nested lists."""

from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from verify.outputs.entries import DEEPEST
from verify.outputs.output_readings import UnreadableOutput
from verify.outputs.read_outputs import read_outputs


@dataclass
class Release:
    count: Any
    name: str


def test_decimals_and_fractions_are_the_nearest_floats():
    given = [Decimal("0.1"), Fraction(1, 3), Decimal("1e400"), Fraction(-(10**400)), Decimal("sNaN")]
    values = read_outputs(given).values
    np.testing.assert_array_equal(values[:, 0], [0.1, 1.0 / 3.0, np.inf, -np.inf, np.nan])
    assert read_outputs([[Decimal(2), 3.0]]).values.tolist() == [[2.0, 3.0]]


def test_a_dataclass_is_read_as_its_fields():
    ours = read_outputs([Release(2.0, "a"), Release(Decimal("2.5"), "b"), [Release(1, "c")]])
    assert ours.values[:2, ours.places[".count"]].tolist() == [2.0, 2.5]
    assert list(ours.words_at(".name")) == ["a", "b", None]
    assert ours.values[2, ours.places["[1].count"]] == 1.0
    assert ours.shapes[0] == "{count, name}"


def test_a_class_is_no_output():
    with pytest.raises(UnreadableOutput):
        read_outputs([Release])


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
