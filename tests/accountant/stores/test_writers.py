"""Several writers of one PostgreSQL ledger, each in a transaction of its own beside the others."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from postgresql_server import execute, new_database

from accountant import BasicComposition, Budget, Cost, Entry, Place, Rule, Trust
from accountant.filters.units import Limit, Units
from accountant.ledger.events import Charge
from accountant.ledger.store import CannotPay, KeyUsed, Settled
from accountant.stores.anchor import Anchor
from accountant.stores.beginning import begin_replay
from accountant.stores.opening import open_store, verify_store
from accountant.stores.sql_store import SQLStore, labelled
from accountant.stores.store_refusals import InUse
from accountant.stores.transaction import Transaction, rows_after
from accountant.terms import Terms
from mechanisms import Laplace, Sensitivity

SURE = Sensitivity(1, 1, 1)
NOISE = Laplace(scale=1.0, sensitivity=SURE)
LIMIT = 3
TERMS = Terms(Budget(float(LIMIT)), BasicComposition(), Trust.CENTRAL, False)


def entry(*records: str) -> Entry:
    return Entry(NOISE, SURE, Cost(Fraction(1), Fraction(0)), records, Place("w.py", 1), "")


fits = Limit(Units(TERMS.composition), TERMS.budget).holds


@pytest.fixture
def writers(url: str) -> Any:
    """Two who have a ledger open that has charged "ann" and "bob" once."""
    stores = [open_store(url, TERMS) for _ in range(2)]
    for store in stores:  # once alone: who opens accounts looks at all of them first
        store.do(Charge([entry("ann", "bob", f"own-{id(store)}")], fits))
    yield stores
    for store in stores:
        store.close()


def during(patch: pytest.MonkeyPatch, act: Callable[[], object], before: str = "_take_turn") -> None:
    """Let something be done by another before the next writer does this: it has decided, and is not in the chain."""
    go_on = getattr(Transaction, before)

    def wait(work: Transaction, *arguments: Any) -> None:
        patch.setattr(Transaction, before, go_on)
        act()
        go_on(work, *arguments)

    patch.setattr(Transaction, before, wait)


def test_a_charge_waits_for_those_of_the_same_record_only(
    writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writers
    places: list[int] = []
    refused: list[CannotPay] = []

    def charge() -> None:
        try:
            second.do(Charge([entry("ann")], fits))
        except CannotPay as error:
            refused.append(error)

    waiting = threading.Thread(target=charge)

    def beside() -> None:
        places.append(second.do(Charge([entry("bob")], fits)).position)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()

    during(monkeypatch, beside)
    places.append(first.do(Charge([entry("ann", "new")], fits, hold=True, request="a")).position)
    waiting.join()
    assert places[1] == places[0] + 1  # though it was decided before
    assert first.find_request("a") == (places[1], "reserved")
    assert [error.spent.epsilon for error in refused] == [LIMIT]  # it saw what it waited for
    assert first.verify().entries == places[1]


def test_who_opens_the_same_account_at_once_is_decided_again(
    writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writers
    opening = threading.Thread(target=second.do, args=(Charge([entry("new"), entry("newer")], fits),))

    def beside() -> None:
        opening.start()
        opening.join(0.2)  # it waits for the account that this one has made

    during(monkeypatch, beside)
    first.do(Charge([entry("newer"), entry("new")], fits))
    opening.join()
    assert first.spent("new").epsilon == first.spent("newer").epsilon == 2
    assert first.verify().accounts == 6


def test_a_key_that_two_use_at_once_is_charged_once(
    writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writers
    during(monkeypatch, lambda: second.do(Charge([entry("ann")], fits, request="a")))
    with pytest.raises(KeyUsed, match="for another release"):
        first.do(Charge([entry("bob")], fits, request="a"))
    repeated: list[bool] = []
    charging = threading.Thread(
        target=lambda: repeated.append(second.do(Charge([entry("bob")], fits, request="b")).repeated)
    )

    def beside() -> None:
        charging.start()
        charging.join(0.2)

    during(monkeypatch, beside)
    assert not first.do(Charge([entry("bob")], fits, request="b")).repeated
    charging.join()
    assert repeated == [True]
    assert first.spent("ann").epsilon == first.spent("bob").epsilon == 3
    first.verify()


def test_a_key_has_one_answer(writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = writers
    first.do(Charge([entry("ann")], fits, request="a"))
    found: list[bytes] = []
    answering = threading.Thread(target=lambda: found.append(second.keep_answer("a", b"two")))

    def beside() -> None:
        answering.start()
        answering.join(0.2)

    during(monkeypatch, beside)
    assert first.keep_answer("a", b"one") == b"one"
    answering.join()
    assert found == [b"one"]
    first.verify()


def test_an_anchor_may_be_ahead_of_where_a_writer_began(
    url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (open_store(url, TERMS, anchor=tmp_path / "anchor") for _ in range(2))
    for store in (first, second):
        with suppress(ValueError):  # the second finds that it was anchored, and has to be opened again
            store.do(Charge([entry("ann")], fits))
    first.close()
    first = open_store(url, TERMS, anchor=tmp_path / "anchor")
    for store in (first, second):
        store.do(Charge([entry(f"own-{id(store)}")], fits))
    during(monkeypatch, lambda: second.do(Charge([entry("bob")], fits)), "load")
    first.do(Charge([entry("cid")], fits))
    mark = Anchor.at_path(tmp_path / "anchor").read_mark()
    assert mark == first.verify().head
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("rule", "hold"), [(Rule(Budget(2.0)), True), (Rule(Budget(2.0), days=7), False)], ids=["hold", "days"]
)
def test_what_has_to_be_decided_at_its_place_is_decided_alone(
    url: str, monkeypatch: pytest.MonkeyPatch, rule: Rule, hold: bool
) -> None:
    """Rules count reservations by where they stand, and charges are stamped in the order in which they stand."""
    first, second = (open_store(url, TERMS, rules=[rule]) for _ in range(2))
    for store in (first, second):
        store.do(Charge([entry(f"own-{id(store)}")], fits))

    def beside() -> None:
        time.sleep(0.01)
        second.do(Charge([entry("bob")], fits))

    first.do(Charge([entry("ann"), entry("bob")], fits))
    first._alone = second._alone = False
    during(monkeypatch, beside)
    first.do(Charge([entry("ann")], fits, hold=hold))
    first.verify()
    for store in (first, second):
        store.close()


def test_a_reservation_that_has_ended_is_given_back_once(
    writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = writers
    first.do(Charge([entry("ann")], fits, hold=True, lasts=20))
    time.sleep(0.03)
    during(monkeypatch, lambda: second.do(Charge([entry("bob")], fits)))
    first.do(Charge([entry("cid")], fits))
    assert first.spent("ann").epsilon == 2
    first.verify()


@pytest.mark.parametrize("returned", [False, True])
def test_a_reservation_is_settled_beside_charges_of_other_records(
    writers: Sequence[SQLStore], monkeypatch: pytest.MonkeyPatch, returned: bool
) -> None:
    first, second = writers
    held = first.do(Charge([entry("bob")], fits, hold=True, request="a")).position
    settle = second.give_back if returned else second.draw
    during(monkeypatch, lambda: settle(held))
    first.do(Charge([entry("ann")], fits))
    assert first.spent("bob").epsilon == (2 if returned else 3)
    with pytest.raises(Settled):
        first.draw(held)
    first.verify()


def test_who_waits_is_told_for_whom(writers: Sequence[SQLStore]) -> None:
    first, second = writers
    with first.working((), together=True), pytest.raises(InUse, match="by this process, in another object"):
        second.check()


def test_rules_hold_for_all_writers(url: str) -> None:
    rules = [Rule(Budget(2.0), groups=(("ann", "bob"),)), Rule(Budget(2.0), days=7)]
    stores = [open_store(url, TERMS, rules=rules) for _ in range(2)]
    for store in stores:
        store.do(Charge([entry("ann" if store is stores[0] else "bob")], fits))
    for store in stores:
        with pytest.raises(CannotPay):
            store.do(Charge([entry("bob")], fits))
    stores[0].change_rules(rules[1:], "dora", "a test")
    held = stores[1].do(Charge([entry("bob")], fits, hold=True))
    stores[0].draw(held.position)
    with pytest.raises(Settled):
        stores[1].give_back(held.position)
    stores[0].verify()
    for store in stores:
        store.close()


def test_one_of_those_who_make_a_ledger_at_once_makes_it(url: str) -> None:
    made: list[SQLStore] = []
    making = [threading.Thread(target=lambda: made.append(open_store(url, TERMS))) for _ in range(4)]
    for each in making:
        each.start()
    for each in making:
        each.join()
    assert len({store.instance for store in made}) == 1
    assert len(made) == 4
    for store in made:
        store.close()


# --- histories -----------------------------------------------------------------------------------


class Told:
    """The answers to writers: charges by position, answers by key, and outcomes of reservations."""

    def __init__(self) -> None:
        self.charged: dict[int, tuple[str, ...]] = {}
        self.keys: dict[str, set[int]] = defaultdict(set)
        self.answers: dict[str, set[bytes]] = defaultdict(set)
        self.settled: dict[int, list[bool]] = defaultdict(list)
        self.held: list[int] = []
        self.failed: list[Exception] = []


def act(store: SQLStore, chosen: random.Random, told: Told, names: Sequence[str]) -> None:
    """Do something at random, and keep what was told of it."""
    what, key = (
        chosen.choice(("charge", "charge", "request", "answer", "hold", "settle")),
        chosen.choice("abcdef"),
    )
    records = tuple(chosen.sample(names, chosen.choice((1, 1, 2, 3))))
    if what == "answer":
        told.answers[key].add(store.keep_answer(key, chosen.randbytes(4)))
    elif what == "settle":
        if told.held:
            position, returned = chosen.choice(told.held), chosen.random() < 0.5
            (store.give_back if returned else store.draw)(position)
            told.settled[position].append(returned)
    else:
        # The records of a key are always the same, so that it may be used again.
        records = (names[ord(key) % len(names)],) if what == "request" else records
        request = key if what == "request" else None
        receipt = store.do(Charge([entry(*records)], fits, hold=what == "hold", request=request))
        if request is not None:
            told.keys[request].add(receipt.position)
        assert told.charged.setdefault(receipt.position, records) == records
        if what == "hold":
            told.held.append(receipt.position)


def play(url: str, seed: int, steps: int, patch: pytest.MonkeyPatch, *, cut: bool = False) -> None:
    """Let three writers act on few records, and hold what they were told against what is in the ledger."""
    moments, told, take_turn = random.Random(seed), Told(), Transaction._take_turn
    names = ["hot", *(f"new-{i}" for i in range(moments.choice((2, 5, 20))))]

    def turn(work: Transaction) -> None:
        time.sleep(moments.choice((0, 0, 0.001, 0.005)))
        take_turn(work)

    def write(number: int) -> None:
        chosen, store = random.Random(f"{seed} {number}"), None
        for _ in range(steps):
            try:
                store = store or open_store(url, TERMS)
                act(store, chosen, told, names)
            except (CannotPay, KeyUsed, Settled):
                pass
            except Exception as error:
                if not (cut and isinstance(error, OSError)):
                    told.failed.append(error)
        if store is not None:
            store.close()

    patch.setattr(Transaction, "_take_turn", turn)
    open_store(url, TERMS).close()
    writing = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for each in writing:
        each.start()
    while cut and any(each.is_alive() for each in writing):
        time.sleep(moments.uniform(0.01, 0.2))
        execute(
            url,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1",
        )
    for each in writing:
        each.join()
    patch.setattr(Transaction, "_take_turn", take_turn)
    check(url, told)


def check(url: str, told: Told) -> None:
    """Check that a ledger is what its writers were told."""
    assert told.failed == []
    found = verify_store(url)
    store = open_store(url)
    with store.database.snapshot() as session:
        replay, names = begin_replay(session), labelled(session)
        replay.feed_all(rows_after(session, 0))
        charged = {
            each.position: each.entries[0].records for each in replay.charge_events(names, returned=True)
        }
    assert told.charged.items() <= charged.items()
    assert found.accounts == len(names)
    for key, positions in told.keys.items():
        assert len(positions) == 1
        assert len(told.answers[key]) <= 1
    spent: dict[str, int] = defaultdict(int)
    for position, records in told.charged.items():
        assert len(told.settled[position]) <= 1
        for record in records:
            spent[record] += True not in told.settled[position]
    assert max(spent.values()) <= LIMIT
    for record, times in spent.items():
        assert times <= store.spent(record).epsilon <= LIMIT
    store.close()


def test_three_writers_at_once_are_as_one_after_the_other(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play(url, 1, 40, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [False, True])
def test_twenty_histories_of_three_writers(
    postgresql_server: str, monkeypatch: pytest.MonkeyPatch, cut: bool
) -> None:
    """With connections that are cut off at random, too: who is told nothing may have been charged."""
    for seed in range(100, 120):
        play(new_database(postgresql_server), seed, 40, monkeypatch, cut=cut)
