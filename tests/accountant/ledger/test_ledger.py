"""The ledger: exact totals, kept by record, written down and read back."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import BasicComposition, Cost, Entry, Ledger, Place
from accountant.ledger.entry import declassification, entries_to_dict
from accountant.ledger.events import Charge
from mechanisms import Laplace, Sensitivity

HERE = Place("learner.py", 7)
UNIT = Sensitivity(1.0, 1.0, 1.0)

charges = st.builds(
    Cost, st.none() | st.fractions(0, 5, max_denominator=1_000), st.fractions(0, 1, max_denominator=1_000)
)
rows = st.lists(
    st.tuples(charges, st.lists(st.sampled_from(["a", "b", 1, "1b"]), min_size=1, max_size=4, unique=True)),
    max_size=20,
)


def entry(charge, records):
    return Entry(Laplace(scale=1.0), UNIT, charge, tuple(records), HERE, "numpy:PCG64")


def charged(ledger, entries, hold=False):
    return ledger.do(Charge(entries, lambda _: True, hold=hold)).position


@settings(max_examples=40)
@given(rows)
def test_totals_are_sums(rows):
    ledger = Ledger(BasicComposition())
    literal = {}
    for charge, records in rows:
        charged(ledger, [entry(charge, records)])
        for record in records:
            literal[record] = literal.get(record, Cost(Fraction(0), Fraction(0))) + charge
    assert {record: ledger.spent(record) for record in ledger.records()} == literal
    assert len(ledger) == len(rows)


def test_the_worst_record():
    ledger = Ledger(BasicComposition())
    assert ledger.worst() == (None, Cost(Fraction(0), Fraction(0)))
    charged(
        ledger,
        [entry(Cost(Fraction(1), Fraction(0)), ["a"]), entry(Cost(Fraction(1), Fraction(1, 9)), ["b"])],
    )
    assert ledger.worst()[0] == "b"
    charged(ledger, [entry(Cost(Fraction(2), Fraction(0)), ["c"])])
    assert ledger.worst()[0] == "c"
    charged(ledger, [declassification(["d"], HERE, "as printed")])
    assert ledger.worst() == ("d", Cost(None, Fraction(0)))
    assert [e.note for e in ledger.entries if e.mechanism is None] == ["as printed"]
    assert len(ledger.charges("a")) == 1


def test_entries_cannot_be_taken_out():
    ledger = Ledger(BasicComposition())
    charged(ledger, [entry(Cost(Fraction(1), Fraction(0)), ["a"])])
    with pytest.raises(AttributeError):
        ledger.entries.clear()


def test_a_mechanism_is_written_once():
    ledger = Ledger(BasicComposition())
    charged(ledger, [entry(Cost(Fraction(1), Fraction(0)), [i]) for i in range(9)])
    assert len(entries_to_dict(ledger.entries)["mechanisms"]) == 1


AMOUNTS = [
    Cost(Fraction(1, 3), Fraction(0)),
    Cost(Fraction(1, 7), Fraction(1, 10**6)),
    Cost(None, Fraction(0)),
]
"""Charges of one kind each; the last is infinite."""


@given(
    st.lists(
        st.tuples(
            st.sampled_from(AMOUNTS),
            st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
            st.sampled_from(["final", "drawn", "held", "given back", "given back later"]),
        ),
        max_size=12,
    )
)
@settings(max_examples=50, deadline=None)
def test_what_is_given_back_leaves_no_trace(steps):
    """After any history the totals are those of a ledger that saw only what was kept."""
    ledger, fresh, later = Ledger(BasicComposition()), Ledger(BasicComposition()), []
    for charge, records, fate in steps:
        position = charged(ledger, [entry(charge, records)], hold=fate != "final")
        if fate == "given back":
            ledger.give_back(position)
        elif fate == "given back later":
            later.append(position)
        else:
            charged(fresh, [entry(charge, records)])
        if fate == "drawn":
            ledger.draw(position)
    for position in later:
        ledger.give_back(position)
    assert {record: ledger.spent(record) for record in ledger.records()} == {
        record: fresh.spent(record) for record in fresh.records()
    }
    assert ledger.worst()[1] == fresh.worst()[1]
    assert ledger.entries == fresh.entries
    assert len(ledger) == len(fresh)


def test_a_reservation_is_given_back_without_a_look_at_other_entries(monkeypatch):
    ledger = Ledger(BasicComposition())
    charged(ledger, [entry(AMOUNTS[0], ("a", "b"))])
    before = ledger.spent("a")
    monkeypatch.setattr(Ledger, "entries", None)
    monkeypatch.setattr(Ledger, "charge_events", None)
    for _ in range(3):
        ledger.give_back(charged(ledger, [entry(AMOUNTS[1], ("a", "c"))], hold=True))
        assert ledger.spent("a") == before
    assert set(ledger.records()) == {"a", "b"}
