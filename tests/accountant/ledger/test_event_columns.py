"""The events of a ledger in memory: what was added is what is read, however they are kept, and they stay small."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accountant import BasicComposition, Cost, Entry, Ledger, Place, RenyiComposition
from accountant.gates.derivation import entry_derivation
from accountant.ledger import ledger as ledger_in_memory
from accountant.ledger.events import Answered, Charge, Charged, DrawnAgain, Settlement
from accountant.ledger.ledger import _EventColumns
from accountant.rules.scope import Scope
from mechanisms import Interval, Laplace, Sensitivity

UNIT = Sensitivity(1, 1, 1)
THEOREM = BasicComposition()


class OwnLaplace(Laplace):
    """A user's own: it cannot be rebuilt from what a ledger says of it."""


class Unequal(OwnLaplace):
    """One that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def charge_of(scale: float) -> Cost:
    return Cost(1 / Fraction(scale), Fraction(0))


mechanisms = st.builds(
    lambda kind, scale: kind(scale=float(scale)),
    st.sampled_from([Laplace, OwnLaplace, Unequal]),
    st.integers(1, 40),
) | st.builds(lambda scale: Laplace(scale=scale) >> np.abs, st.integers(1, 3))
records = st.sampled_from(["ann", "bob", 7, "é"])
entries = st.builds(
    lambda mechanism, moved, cost, paid, line, note, way: Entry(
        mechanism, moved, cost, tuple(paid), Place("f.py", line), note, way
    ),
    st.none() | mechanisms,
    st.none() | st.builds(lambda norm: Sensitivity(norm, norm, norm), st.sampled_from([0.5, 1.0])),
    st.sampled_from([charge_of(3), charge_of(0.1), Cost(None, Fraction(1, 7))]),
    st.lists(records, max_size=3),
    st.integers(1, 2),
    st.sampled_from(["n", "m"]),
    st.sampled_from([None, *(entry_derivation(Interval(0.0, high)) for high in (1.0, 2.0))]),
)
charges = st.builds(
    lambda paid, *rest: Charged(0, tuple(paid), *rest),
    st.lists(entries, max_size=3) | st.lists(entries, min_size=1, max_size=1),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([None, None, None, "", "key"]),
    st.sampled_from([Scope(), Scope("ads"), Scope(None, "care")]),
    st.sampled_from([None, 0, 1_700_000_000_000]),
    st.sampled_from([0, 0, 5]),
)
others = st.sampled_from([Settlement(1, True, 5, 1), DrawnAgain("key", 9), Answered("key", "digest", b"1")])


def identical(one: Any, other: Any) -> bool:
    """Compare without asking a user's mechanism."""
    if isinstance(one, Unequal):
        return one is other
    if isinstance(one, tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(identical, one, other))
    return type(one) is type(other) and bool(one == other)


def small(patch: pytest.MonkeyPatch) -> None:
    for name, size in (("_RECENT", 4), ("_BLOCK", 2), ("_NAMES", 2)):
        patch.setattr(ledger_in_memory, name, size)


@given(st.lists(charges | others, max_size=60), st.integers(0, 60))
def test_what_was_added_is_read(events: Sequence[Any], first: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        log = _EventColumns(THEOREM)
        events = [
            each._replace(position=i + 1) if isinstance(each, Charged) else each
            for i, each in enumerate(events)
        ]
        for each in events:
            log.append(each)
        assert len(log) == len(events)
        assert identical(tuple(log), tuple(events))
        assert identical(tuple(log.tail(first)), tuple(events[first:]))


def test_an_interruption_at_any_line_leaves_a_whole_log() -> None:
    """Every prefix of the lines of `append`: the event is there or it is not, and later ones are read as they are."""
    import sys

    def charge(i: int) -> Charged:
        entry = Entry(
            Laplace(scale=1.0 + i % 9), UNIT, charge_of(1 + i % 9), (f"u{i}",), Place("f.py", 1), "n"
        )
        return Charged(i, (entry,))

    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        line = 1
        while True:
            log, seen = _EventColumns(THEOREM), 0

            def stop(frame: Any, event: str, _: Any, last: int = line) -> Any:
                nonlocal seen
                if frame.f_code.co_filename == ledger_in_memory.__file__ and event == "line":
                    seen += 1
                    if seen == last:
                        raise KeyboardInterrupt
                return stop

            added = [charge(i) for i in range(14)]
            for each in added[:-2]:
                log.append(each)
            sys.settrace(stop)
            try:
                log.append(added[-2])
                interrupted = False
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.settrace(None)
            there = len(log) == len(added) - 1
            log.append(added[-1])
            for i in range(20, 40):
                log.append(charge(i))
            expected = [*added[:-2], *([added[-2]] if there else []), added[-1], *map(charge, range(20, 40))]
            assert list(log) == expected
            if not interrupted:
                break
            line += 1
    assert line > 30


@pytest.mark.slow_cells("one-R\\xe9nyi filter", "each its own-R\\xe9nyi filter")
@pytest.mark.parametrize("theorem", [THEOREM, RenyiComposition()], ids=lambda each: each.name)
@pytest.mark.parametrize("scales", ["one", "each its own"])
def test_a_charge_of_any_scale_stays_small(theorem: Any, scales: str) -> None:
    """Each was kept as objects, some 400 bytes, and 900 to 2,500 more with a scale of its own."""
    ledger, count, size = Ledger(theorem), 400, len(theorem.zero_spend.values)

    def kind(scale: float) -> tuple[Laplace, Any]:
        price = [Fraction(int(2**60 / (scale + j)), 2**60) for j in range(size)]
        return Laplace(scale=scale), theorem.amount(tuple(price))

    def charge(first: int) -> None:
        for i in range(first, first + count):
            noise, cost = same if scales == "one" else kind(1e5 + i / 7)
            entry = Entry(noise, UNIT, cost, (f"user-{i % 64}",), Place("f.py", 1), "n")
            ledger.do(Charge([entry], lambda _: True))

    same = kind(1e5)
    with pytest.MonkeyPatch.context() as patch:
        for name, kept in (("_RECENT", 64), ("_BLOCK", 32), ("_NAMES", 64)):
            patch.setattr(ledger_in_memory, name, kept)
        patch.setattr("accountant.filters.units._KEPT", 64)
        tracemalloc.start()
        try:
            charge(0)
            gc.collect()  # what nobody refers to any more is kept by no ledger, whenever it is collected
            before = tracemalloc.get_traced_memory()[0]
            charge(count)
            gc.collect()
            grown = (tracemalloc.get_traced_memory()[0] - before) / count
        finally:
            tracemalloc.stop()
        assert len(ledger) == 2 * count
    assert grown < (150 if scales == "one" else 150 + 32 * size)
