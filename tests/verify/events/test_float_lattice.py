"""The bits of a number are those that exact arithmetic finds."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verify.events.event import Event, HalfLine, RowTable
from verify.events.float_lattice import LatticeReading, _lattice_values
from verify.events.readings import ColumnValue, Reading
from verify.events.view_sample import Column, ViewSample

COLUMN = Column("x", "the noisy count", "real")
NORMAL = st.floats(min_value=2.0**-1000, max_value=2.0**1000)


@given(st.one_of(NORMAL, NORMAL.map(lambda x: -x), st.integers(-1000, 1000).map(float)))
@example(1.0)
@example(-0.75)
def test_bits_are_those_of_exact_arithmetic(x: float) -> None:
    values = np.array([x])
    assert _lattice_values("sign", values)[0] == (math.copysign(1.0, x) < 0)
    if x == 0.0:
        return
    exponent = math.frexp(x)[1] - 1
    assert _lattice_values("exponent", values)[0] == exponent
    lowest = int(_lattice_values("lowest bit", values)[0])
    assert (Fraction(x) / Fraction(2) ** lowest).denominator == 1
    assert (Fraction(x) / Fraction(2) ** (lowest + 1)).denominator == 2
    assert _lattice_values("trailing zeros", values)[0] == lowest - (exponent - 52)


def test_zero_subnormals_and_what_is_not_finite() -> None:
    values = np.array([0.0, -0.0, 5e-324, math.inf, -math.inf, math.nan])
    expected = {
        "sign": [0, 1, 0],
        "exponent": [-1023, -1023, -1023],
        "trailing zeros": [52, 52, 0],
        "lowest bit": [1024, 1024, -1074],
    }
    for aspect, read in expected.items():
        bits = _lattice_values(aspect, values)  # type: ignore[arg-type]
        np.testing.assert_array_equal(bits, [*read, math.nan, math.nan, math.nan])


def test_lattice_events_hold_say_so_and_survive_json() -> None:
    sample = ViewSample(np.array([[1.0], [0.1], [-3.0], [math.inf]]), (COLUMN,))
    zeros = LatticeReading("trailing zeros", ColumnValue(COLUMN))
    event = HalfLine(zeros, 7.0, True)
    assert (
        event.description == "the number of trailing zero bits of the 52-bit mantissa of the noisy count ≥ 7"
    )
    assert event.holds(sample).tolist() == [True, False, True, False]
    again = Event.rebuild(json.loads(json.dumps(event.to_dict())), (COLUMN,))
    assert again == event
    table = RowTable((zeros, LatticeReading("sign", ColumnValue(COLUMN))), ((51.0, 1.0),))
    assert table.holds(sample).tolist() == [False, False, True, False]
    for aspect in ("sign", "exponent", "lowest bit"):
        reading = LatticeReading(aspect, ColumnValue(COLUMN))  # type: ignore[arg-type]
        assert (
            "of the noisy count" in reading.description
            or "the noisy count is a whole multiple" in reading.description
        )
    with pytest.raises(ValueError, match=r"aspect = .* must be one of"):
        Reading.rebuild({**zeros.to_dict(), "aspect": "moon"}, (COLUMN,))
