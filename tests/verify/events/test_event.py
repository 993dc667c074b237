"""Events hold where their definition says, say so in words, and survive being written down."""

from __future__ import annotations

import json
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from verify.events.event import (
    Event,
    HalfLine,
    Near,
    RowTable,
    row_keys,
)
from verify.events.readings import ColumnValue, Combination
from verify.events.summaries import ColumnSummary
from verify.events.view_sample import Column, ViewSample

NAN, INF = math.nan, math.inf
A = Column("a", "the item shown in round 1", "category")
B = Column("b", "the noisy count", "real")
C = Column("c", "the noisy sum", "real")
COLUMNS = (A, B, C)
SAMPLE = ViewSample(
    np.array([[0, 0.5, 1.5], [1, NAN, 1.0], [2, -3.0, -2.0], [NAN, NAN, NAN], [-0.0, INF, INF]]), COLUMNS
)
B_MINUS = Combination.difference(COLUMNS[2], COLUMNS[1])

CASES: list[tuple[Event, list[bool], str]] = [
    (
        HalfLine(ColumnSummary("present", COLUMNS), 2.0, False),
        [False, True, False, True, False],
        "the number of entries present (of 3) ≤ 2",
    ),
    (
        HalfLine(ColumnSummary("present", COLUMNS), 3.0, True),
        [True, False, True, False, True],
        "the number of entries present (of 3) ≥ 3",
    ),
    (
        HalfLine(ColumnValue(B), 0.5, False),
        [True, False, True, False, False],
        "the noisy count ≤ 0.5",
    ),
    (
        HalfLine(ColumnValue(B), 0.5, True),
        [True, False, False, False, True],
        "the noisy count ≥ 0.5",
    ),
    (
        HalfLine(B_MINUS, 1.0, True),
        [True, False, True, False, False],
        "(the noisy sum − the noisy count) ≥ 1",
    ),
    (
        Near(B_MINUS, 1.0, 1e-9),
        [True, False, True, False, False],
        "|(the noisy sum − the noisy count) − 1| ≤ 1e-09",
    ),
    (
        RowTable((ColumnValue(A),), ((0.0,),)),
        [True, False, False, False, True],
        "the item shown in round 1 = 0",
    ),
    (RowTable((ColumnValue(A),), ((0.0,),), True), [False, True, True, True, False], "round 1 ≠ 0"),
    (
        RowTable((ColumnValue(A),), ((NAN,),)),
        [False, False, False, True, False],
        "the item shown in round 1 is absent",
    ),
    (
        RowTable((ColumnValue(A),), ((NAN,),), True),
        [True, True, True, False, True],
        "the item shown in round 1 is present",
    ),
    (
        RowTable((ColumnValue(A),), ((2.0,), (1.0,))),
        [False, True, True, False, False],
        "round 1 in {1, 2}",
    ),
    (
        RowTable((ColumnValue(A), ColumnValue(B)), ((1.0, NAN),)),
        [False, True, False, False, False],
        "the item shown in round 1 = 1 and the noisy count = absent",
    ),
    (
        RowTable((ColumnValue(A), ColumnValue(B)), ((1.0, NAN), (2.0, -3.0))),
        [False, True, True, False, False],
        "(the item shown in round 1 and the noisy count) in {(1, absent), (2, -3)}",
    ),
]


@pytest.mark.parametrize(("event", "expected", "words"), CASES)
def test_event_holds_and_says_so(event: Event, expected: list[bool], words: str) -> None:
    holds = event.holds(SAMPLE)
    assert holds.dtype == np.bool_
    assert holds.tolist() == expected
    assert words in event.description


@pytest.mark.parametrize(("event", "expected", "words"), CASES)
def test_event_survives_json(event: Event, expected: list[bool], words: str) -> None:
    again = Event.rebuild(json.loads(json.dumps(event.to_dict(), allow_nan=False)), COLUMNS)
    assert again.holds(SAMPLE).tolist() == expected
    assert again.description == event.description
    assert again.to_dict() == event.to_dict()


def test_event_follows_its_columns_by_name() -> None:
    event = Event.rebuild(HalfLine(ColumnValue(B), 0.5, False).to_dict(), (C, B, A)[::1])
    assert event.holds(ViewSample(SAMPLE.values[:, ::-1].copy(), (C, B, A))).tolist() == CASES[2][1]


def test_infinite_rows_and_thresholds_survive_json() -> None:
    event = RowTable((ColumnValue(B),), ((INF,), (-INF,)))
    again = Event.rebuild(json.loads(json.dumps(event.to_dict(), allow_nan=False)), COLUMNS)
    assert again.holds(SAMPLE).tolist() == [False, False, False, False, True]
    line = HalfLine(ColumnValue(B), -INF, True)
    assert Event.rebuild(json.loads(json.dumps(line.to_dict(), allow_nan=False)), COLUMNS) == line


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 30), st.just(3)),
        elements=st.sampled_from([0.0, -0.0, 1.0, NAN, 7.5]),
    )
)
def test_row_table_is_membership_of_rows(values: npt.NDArray[np.float64]) -> None:
    sample = ViewSample(values, COLUMNS)
    listed = {tuple(map(str, row + 0.0)): tuple(row) for row in values[: len(values) // 2 + 1]}
    event = RowTable(tuple(ColumnValue(column) for column in COLUMNS), tuple(listed.values()))
    assert event.holds(sample).tolist() == [tuple(map(str, row + 0.0)) in listed for row in values]


def test_row_keys_of_single_values_never_collide() -> None:
    values = np.random.default_rng(1).standard_normal(200_000)
    assert np.unique(row_keys([values])).size == np.unique(values).size


def test_every_nan_is_the_same_absence() -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001], dtype=np.uint64)
    sample = ViewSample(bits.view(np.float64).reshape(-1, 1), (A,))
    assert RowTable((ColumnValue(A),), ((NAN,),)).holds(sample).all()


def test_row_table_is_exact_when_keys_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    import verify.events.event as events

    monkeypatch.setattr(events, "row_keys", lambda values: np.zeros(len(values[0]), dtype=np.uint64))
    assert RowTable((ColumnValue(A),), ((1.0,),)).holds(SAMPLE).tolist() == [
        False,
        True,
        False,
        False,
        False,
    ]


def test_views_are_checked() -> None:
    with pytest.raises(ValueError, match="values of shape"):
        ViewSample(np.zeros((4, 2)), COLUMNS)
    with pytest.raises(ValueError, match="values of shape"):
        ViewSample(np.zeros(3), COLUMNS)
    with pytest.raises(ValueError, match="different names"):
        ViewSample(np.zeros((4, 2)), (A, A))


def test_unknown_events_and_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        Event.rebuild({"kind": "moon"}, COLUMNS)
    with pytest.raises(ValueError, match="column"):
        Event.rebuild(HalfLine(ColumnValue(B), 0.5, False).to_dict(), (A, C))


@pytest.mark.parametrize(
    ("event", "readable"),
    [
        (RowTable((ColumnValue(A),), tuple((float(i),) for i in range(8))), True),
        (RowTable((ColumnValue(A),), tuple((float(i),) for i in range(9))), False),
        (RowTable((ColumnValue(A),), ((1.0,), (2.0,)), True), False),  # all others are not said
        (RowTable((ColumnValue(B),), ((1.0,),), True), True),
        (RowTable((ColumnValue(B),), ((1.0,), (2.0,))), False),  # half-lines say more of an ordered reading
        (RowTable((ColumnValue(A), ColumnValue(B)), ((1.0, 2.0),) * 4), True),
        (RowTable((ColumnValue(A), ColumnValue(B)), ((1.0, 2.0),) * 5), False),
        (HalfLine(ColumnSummary("sum", COLUMNS), 1.0, True), True),
        (HalfLine(ColumnSummary("sum", tuple(Column(f"time[{i},1]", "", "real") for i in range(5))), 1, True), False),
        (HalfLine(ColumnSummary("sum", tuple(Column(f"output[{i}]", "", "real") for i in range(5))), 1, True), True),
    ],
)  # fmt: skip
def test_an_event_is_readable_if_its_words_are_complete_and_few(event: Event, readable: bool) -> None:
    assert event.readable is readable
