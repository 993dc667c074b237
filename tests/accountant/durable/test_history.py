"""What a journal says about the ledger and the private sums is what they went through."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import BasicComposition, Cost, Entry, Influence, Ledger, Place
from accountant.durable.history import History
from accountant.durable.journal import Journal
from accountant.entry import declassification, entries_to_dict
from accountant.gates.provenance import Traced, TracedSums
from mechanisms import Laplace, Sensitivity
from mechanisms.float_bounds import FloatBounds

SIZE = 3
NOISES = [Laplace(scale=1.0), Laplace(scale=2.0)]
INFLUENCES = [
    Influence((1.0, 0.5)),
    Influence((1.0, 1.0), 1.0, 1.0),
    Influence((0.0, 0.1), 0.1, 0.1),
    Influence((2.0, 2.0), float("inf"), 2.5),
]
BOUNDS = {moved: FloatBounds(moved.widths[0], i * 0.1, 2 * i) for i, moved in enumerate(INFLUENCES)}


class Kept(Journal):
    """A journal in memory that can be read."""

    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self._content.ahead.splitlines()]


def note(history: History, ledger: Ledger, sums: list[TracedSums]) -> list[int]:
    """Note what is new in a ledger and in sums, and return their numbers."""
    notes = history.begin()
    notes.ledger(ledger)
    numbers = [notes.sums(one) for one in sums]
    notes.commit()
    return numbers


records = st.sampled_from(["ann", "bob", 7, "7"])
steps = st.one_of(
    st.tuples(
        st.just("charge"), st.integers(0, 1), st.fractions(0, 3), st.lists(records, min_size=1, unique=True)
    ),
    st.tuples(st.just("declassify"), records),
    st.tuples(st.just("withdraw"), st.lists(st.integers(0, 30), min_size=1, max_size=3)),
    st.tuples(
        st.just("add"),
        st.integers(0, 1),
        records,
        st.sampled_from(INFLUENCES),
        st.permutations([-1, 0, 1, 2]).map(lambda places: places[:2]),
    ),
    st.tuples(st.just("clear"), st.integers(0, 1), st.lists(st.booleans(), min_size=SIZE, max_size=SIZE)),
    st.tuples(st.just("note")),
    st.tuples(st.just("left"), st.integers(0, 3)),
    st.tuples(st.just("restart")),
)


def entry(noise: int, charge: Fraction, paying: list[int | str]) -> Entry:
    moved = Sensitivity(1.0, 1.0, 1.0)
    return Entry(
        NOISES[noise], moved, Cost(charge, Fraction(0)), tuple(paying), Place("learner.py", noise), "numpy"
    )


def apply(step: tuple[Any, ...], ledger: Ledger, sums: list[TracedSums]) -> None:
    match step:
        case ("charge", noise, charge, paying):
            ledger.commit([entry(noise, charge, paying)])
        case ("declassify", record):
            ledger.commit([declassification([record], Place("learner.py", 9), "as printed")])
        case ("withdraw", places):
            entries = ledger.entries
            ledger._take_out([entries[place] for place in set(places) if place < len(entries)])
        case ("add", which, record, moved, at):
            sums[which].add(Traced({record: moved}, BOUNDS[moved]), np.array([at]))
        case ("clear", which, where):
            sums[which].clear(np.array([where]))


def leave(history: History, ledger: Ledger, sums: list[TracedSums], after: int) -> None:
    """Begin to note and stop in the middle, as when a save is interrupted."""
    notes = history.begin()
    if after > 0:
        notes.ledger(ledger)
    for one in sums[: after - 1]:
        notes.sums(one)


def contents(ledger: Ledger, sums: list[TracedSums]) -> list[Any]:
    held = [(one.to_dict(), one._held) for one in sums]
    return [
        entries_to_dict(ledger.entries),
        {record: ledger.spent(record) for record in ledger.records()},
        held,
    ]


@settings(max_examples=60)
@given(st.lists(steps, max_size=25))
def test_a_replay_is_the_same_ledger_and_the_same_sums(taken: list[tuple[Any, ...]]) -> None:
    ledger, sums = Ledger(BasicComposition()), [TracedSums(SIZE), TracedSums(SIZE)]
    journal = Kept()
    history = History(journal)
    numbers = note(history, ledger, sums)
    for step in [*taken, ("restart",)]:
        apply(step, ledger, sums)
        if step[0] == "left":
            leave(history, ledger, sums, step[1])
        if step[0] in ("note", "restart"):
            assert note(history, ledger, sums) == numbers
        if step[0] == "restart":
            before = contents(ledger, sums)
            history, ledger, found = History.replay(journal, journal.rows(), BasicComposition())
            sums = [found[number] for number in numbers]
            assert contents(ledger, sums) == before
            sums.append(TracedSums(SIZE))
            leave(history, ledger, sums, len(sums) + 1)
            numbers = note(history, ledger, sums)
            assert len(set(numbers)) == len(numbers)


def test_sums_met_late_are_described_in_full() -> None:
    ledger, sums = Ledger(BasicComposition()), TracedSums(SIZE)
    sums.add(Traced({"ann": INFLUENCES[1]}, BOUNDS[INFLUENCES[1]]), np.array([[0, 2]]))
    journal = Kept()
    [number] = note(History(journal), ledger, [sums])
    _, _, found = History.replay(journal, journal.rows(), BasicComposition())
    assert contents(ledger, [found[number]]) == contents(ledger, [sums])


def test_sums_that_are_met_twice_in_one_save_keep_their_number_and_their_changes() -> None:
    """Two attributes of a learner may be the same sums."""
    ledger, journal = Ledger(BasicComposition()), Kept()
    sums = [TracedSums(SIZE), TracedSums(SIZE)]
    history = History(journal)
    first = note(history, ledger, [sums[0], sums[1], sums[1], sums[0]])
    assert first == [first[0], first[1], first[1], first[0]]
    assert first[0] != first[1]
    rows = len(journal.rows())
    sums[1].add(Traced({"ann": INFLUENCES[1]}, BOUNDS[INFLUENCES[1]]), np.array([[0, 2]]))
    assert note(history, ledger, [sums[1], sums[0], sums[1]]) == [first[1], first[0], first[1]]
    assert sum("changes" in row for row in journal.rows()[rows:]) == 1
    _, _, found = History.replay(journal, journal.rows(), BasicComposition())
    assert contents(ledger, [found[number] for number in first[:2]]) == contents(ledger, sums)


def test_what_repeats_is_written_once() -> None:
    ledger, journal = Ledger(BasicComposition()), Kept()
    history = History(journal)
    for i in range(9):
        ledger.commit([entry(0, Fraction(1, 3), [f"user-{i}"])])
        note(history, ledger, [])
        note(history, ledger, [])
    assert journal.rows()[1:] == [[0, f"user-{i}"] for i in range(9)]
