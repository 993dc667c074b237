"""The rows on private sums reproduce the history of the sums."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Influence
from accountant.gates.lineage import Traced, TracedSums, influence_of
from accountant.stores.waiting_sums import Noted, Notes, Waiting
from mechanisms import Box
from mechanisms.domains.float_bounds import FloatBounds

SIZE = 3
INFLUENCES = [
    Influence((1.0, 0.5)),
    Influence((1.0, 1.0), 1.0, 1.0),
    Influence((0.0, 0.1), 0.1, 0.1),
    Influence((2.0, 2.0), float("inf"), 2.5),
    influence_of(Box(0, 1, 2)),
    influence_of(Box(-1, 0, 2)),  # moves as far as the one before
    influence_of(Box(0, 0.1, 2)).scale((0.3, 0.3)).restrict_to((1, 1)),
]
BOUNDS = {moved: FloatBounds(moved.widths[0], i * 0.1, 2 * i) for i, moved in enumerate(INFLUENCES)}


def note(noted: Noted, rows: list[Any], sums: list[TracedSums]) -> list[int]:
    """Write down what is new in sums, and return their numbers."""
    notes = Notes(noted)
    numbers = [notes.sums(one) for one in sums]
    rows += json.loads(json.dumps(notes.rows))
    notes.settle()
    notes.settle()  # as after an interruption
    return numbers


def read(rows: list[Any]) -> Waiting:
    waiting = Waiting()
    waiting.feed(rows)
    return waiting


steps = st.one_of(
    st.tuples(
        st.just("add"),
        st.integers(0, 1),
        st.sampled_from(["ann", "bob", 7, "7"]),
        st.sampled_from(INFLUENCES),
        st.permutations([-1, 0, 1, 2]).map(lambda places: places[:2]),
    ),
    st.tuples(st.just("clear"), st.integers(0, 1), st.lists(st.booleans(), min_size=SIZE, max_size=SIZE)),
    st.tuples(st.just("note")),
    st.tuples(st.just("left"), st.integers(0, 2)),
    st.tuples(st.just("restart")),
)


def contents(sums: list[TracedSums]) -> list[Any]:
    return [(one.to_dict(), one._held) for one in sums]


@settings(max_examples=50)
@given(st.lists(steps, max_size=25))
def test_sums_that_are_read_are_the_same(taken: list[tuple[Any, ...]]) -> None:
    sums, noted = [TracedSums(SIZE), TracedSums(SIZE)], Noted()
    rows: list[Any] = []
    numbers = note(noted, rows, sums)
    for step in [*taken, ("restart",)]:
        match step:
            case ("add", which, record, moved, at):
                sums[which].add(Traced({record: moved}, BOUNDS[moved]), np.array([at]))
            case ("clear", which, where):
                sums[which].clear(np.flatnonzero(where).tolist())
            case ("left", after):  # begun and left, as when a save is interrupted
                notes = Notes(noted)
                for one in sums[:after]:
                    notes.sums(one)
            case _:
                assert note(noted, rows, sums) == numbers
        if step[0] == "restart":
            before = contents(sums)
            waiting = read(rows)
            noted, sums = Noted.from_waiting(waiting), [waiting.sums[number] for number in numbers]
            assert contents(sums) == before
            sums.append(TracedSums(SIZE))
            Notes(noted).sums(sums[-1])
            numbers = note(noted, rows, sums)
            assert len(set(numbers)) == len(numbers)


def test_sums_met_late_are_described_in_full() -> None:
    sums, rows = TracedSums(SIZE), list[Any]()
    sums.add(Traced({"ann": INFLUENCES[1]}, BOUNDS[INFLUENCES[1]]), np.array([[0, 2]]))
    [number] = note(Noted(), rows, [sums])
    assert contents([read(rows).sums[number]]) == contents([sums])


def test_sums_that_are_met_twice_in_one_save_keep_their_number_and_their_changes() -> None:
    """Two attributes of a learner may be the same sums."""
    sums, noted = [TracedSums(SIZE), TracedSums(SIZE)], Noted()
    rows: list[Any] = []
    first = note(noted, rows, [sums[0], sums[1], sums[1], sums[0]])
    assert first == [first[0], first[1], first[1], first[0]]
    assert first[0] != first[1]
    before = len(rows)
    sums[1].add(Traced({"ann": INFLUENCES[1]}, BOUNDS[INFLUENCES[1]]), np.array([[0, 2]]))
    assert note(noted, rows, [sums[1], sums[0], sums[1]]) == [first[1], first[0], first[1]]
    assert sum("changes" in row for row in rows[before:]) == 1
    assert contents([read(rows).sums[number] for number in first[:2]]) == contents(sums)


def test_what_repeats_is_written_once() -> None:
    sums, noted = TracedSums(SIZE), Noted()
    rows: list[Any] = []
    note(noted, rows, [sums])
    for i in range(9):
        sums.add(Traced({f"user-{i}": INFLUENCES[0]}, BOUNDS[INFLUENCES[0]]), np.array([[0, 1]]))
        note(noted, rows, [sums])
        note(noted, rows, [sums])
    assert sum("influence" in row or "bounds" in row for row in rows) == 2
    assert len(rows) == 1 + 2 + 9


def test_rows_of_an_earlier_version_have_no_derivations() -> None:
    sums, moved = TracedSums(SIZE), INFLUENCES[4]
    sums.add(Traced({"ann": moved}, BOUNDS[moved]), np.array([[0, 2]]))
    saved = {key: value for key, value in sums.to_dict().items() if key not in ("derivations", "ways")}
    assert Influence.from_list(moved.to_list()[:3]) == replace(moved, derivation=None)
    ((there, records, way),) = TracedSums.from_dict(saved).movements(None)
    assert (there, records, way) == (sums.movements(None)[0][0], ("ann",), None)
