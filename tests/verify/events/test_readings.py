"""Readings are what a slow literal program reads, say so in words, and survive being written down."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from verify.events.readings import (
    ColumnValue,
    Combination,
    Reading,
    Where,
    join_names,
)
from verify.events.summaries import ColumnSummary, SummaryOperation
from verify.events.view_sample import Column, ViewSample

NAN, INF = math.nan, math.inf
COLUMNS = tuple(Column(name, f"value {name}", "real") for name in "abcd")
ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 20), st.just(4)),
    elements=st.sampled_from([0.0, -0.0, 1.0, 2.0, -1000.0, INF, -INF, NAN]),
)


def total(row: Sequence[float]) -> float:
    return sum(row) if row else NAN


def largest(row: Sequence[float]) -> float:
    return max(row) if row else NAN


def smallest(row: Sequence[float]) -> float:
    return min(row) if row else NAN


def place(row: Sequence[float], best: float, within: float = 0.0) -> float:
    near = [i for i, v in enumerate(row, 1) if v == best or abs(v - best) <= within]
    return NAN if math.isnan(best) else float(near[0])


def changes(row: Sequence[float]) -> list[int]:
    seen = [(i, v) for i, v in enumerate(row, 1) if not math.isnan(v)]
    return [i for (_, before), (i, v) in pairwise(seen) if v != before]


def present(row: Sequence[float]) -> list[float]:
    return [v for v in row if not math.isnan(v)]


LITERAL: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": lambda row: total(present(row)),
    "largest": lambda row: largest(present(row)),
    "smallest": lambda row: smallest(present(row)),
    "place of largest": lambda row: place(row, largest(present(row)), 1.0),
    "place of smallest": lambda row: place(row, smallest(present(row)), 1.0),
    "count of": lambda row: sum(v == 1.0 for v in row),
    "count from": lambda row: sum(v >= 1.0 for v in row),
    "first of": lambda row: next((i for i, v in enumerate(row, 1) if v == 1.0), 0),
    "first change": lambda row: changes(row)[0] if changes(row) else 0,
    "present": lambda row: len(present(row)),
}


def summary(operation: SummaryOperation) -> ColumnSummary:
    return ColumnSummary(operation, COLUMNS, 1.0)


@given(ROWS)
def test_summaries_are_what_a_literal_program_reads(values: npt.NDArray[np.float64]) -> None:
    for operation in get_args(SummaryOperation):
        read = summary(operation).values(ViewSample(values, COLUMNS))
        expected = [float(LITERAL[operation](row.tolist())) for row in values]
        np.testing.assert_array_equal(read, expected, err_msg=operation)
    exact = ColumnSummary("place of largest", COLUMNS).values(ViewSample(values, COLUMNS))
    np.testing.assert_array_equal(exact, [place(row, largest(present(row))) for row in values.tolist()])


def test_summaries_of_many_draws_are_read_in_blocks() -> None:
    values = np.random.default_rng(0).normal(size=(10_001, 4))
    np.testing.assert_array_equal(summary("largest").values(ViewSample(values, COLUMNS)), values.max(axis=1))


def test_summaries_of_more_columns_than_a_byte_can_count() -> None:
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(300))
    values = np.full((3, 300), 1.0)
    values[1, :299], values[2] = 0.0, NAN
    for operation, expected in (
        ("count of", [300.0, 1.0, 0.0]),
        ("count from", [300.0, 1.0, 0.0]),
        ("present", [300.0, 300.0, 0.0]),
        ("first of", [1.0, 300.0, 0.0]),
        ("first change", [0.0, 300.0, 0.0]),
    ):
        read = ColumnSummary(operation, columns, 1.0).values(ViewSample(values, columns))
        assert read.tolist() == expected, operation


@given(ROWS)
def test_differences_are_absent_where_a_value_is(values: npt.NDArray[np.float64]) -> None:
    read = Combination.difference(COLUMNS[2], COLUMNS[0]).values(ViewSample(values, COLUMNS))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(read, values[:, 2] - values[:, 0])


@given(ROWS)
def test_restricted_readings_are_absent_elsewhere(values: npt.NDArray[np.float64]) -> None:
    read = Where(ColumnValue(COLUMNS[0]), ColumnValue(COLUMNS[1]), 2.0).values(ViewSample(values, COLUMNS))
    np.testing.assert_array_equal(read, [row[0] if row[1] == 2.0 else NAN for row in values])


CASES: list[tuple[Reading, str]] = [
    (ColumnValue(COLUMNS[1]), "value b"),
    (Combination.difference(COLUMNS[2], COLUMNS[0]), "(value c − value a)"),
    (summary("sum"), "the sum of value a, value b, value c and value d"),
    (ColumnSummary("largest", (COLUMNS[1], COLUMNS[3])), "the largest of value b and value d"),
    (summary("smallest"), "the smallest of"),
    (summary("place of largest"), "the place (from 1) of the largest of"),
    (summary("place of smallest"), "the place (from 1) of the smallest of"),
    (summary("count of"), "the number of 1 among value a, value b"),
    (summary("count from"), "the number of values of at least 1 among value a, value b"),
    (summary("first of"), "the place (from 1; 0 if none) of the first 1 among value a"),
    (summary("first change"), "the first of value a, value b, value c and value d that differs from the one"),
    (
        Where(ColumnValue(COLUMNS[0]), ColumnValue(COLUMNS[1]), 2.0),
        "(value a, given value b = 2)",
    ),
    (summary("present"), "the number of entries present (of 4)"),
]


@pytest.mark.parametrize(("reading", "words"), CASES)
def test_readings_say_what_they_are_and_survive_json(reading: Reading, words: str) -> None:
    assert words in reading.description
    data = json.loads(json.dumps(reading.to_dict(), allow_nan=False))
    assert Reading.rebuild(data, COLUMNS) == reading


def test_readings_follow_their_columns_by_name() -> None:
    values = np.arange(8.0).reshape(2, 4)
    for reading, _ in CASES:
        moved = Reading.rebuild(reading.to_dict(), COLUMNS[2:] + COLUMNS[:2])
        if not isinstance(reading, ColumnSummary) or len(reading.columns) == 2:
            elsewhere = ViewSample(np.roll(values, 2, axis=1), COLUMNS[2:] + COLUMNS[:2])
            for one in (moved, reading):
                np.testing.assert_array_equal(
                    one.values(elsewhere), reading.values(ViewSample(values, COLUMNS))
                )


def test_unknown_readings_are_refused() -> None:
    with pytest.raises(ValueError, match="kind = 'moon': must be a kind of Reading"):
        Reading.rebuild({"kind": "moon"}, COLUMNS)
    with pytest.raises(ValueError, match="operation = 'moon': must be one of"):
        Reading.rebuild({**summary("sum").to_dict(), "operation": "moon"}, COLUMNS)
    with pytest.raises(ValueError, match="column"):
        Reading.rebuild(CASES[0][0].to_dict(), COLUMNS[2:])


def test_long_lists_end_in_a_number() -> None:
    assert join_names(["a"], 3) == "a"
    assert join_names(["a", "b", "c"], 3) == "a, b and c"
    assert join_names(["a", "b", "c", "d"], 2) == "a, b and 2 more"
