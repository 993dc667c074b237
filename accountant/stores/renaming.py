"""Changes of records' names in a store, hashed or erased; the amounts spent stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accountant.gates.lineage import RecordId
from accountant.pseudonym import Pseudonym
from accountant.stores.beginning import begin_replay
from accountant.stores.names import NameKey, erased_label, record_of_label
from accountant.stores.sql_store import SQLStore, check_said
from accountant.stores.store_refusals import KeyRefused
from accountant.stores.store_verification import compare_tables, has_run
from accountant.stores.transaction import Transaction
from mechanisms.parameters import ParameterError

_IN_AN_ENTRY = 1_000


def rotate(store: SQLStore, key: NameKey, by: str, reason: str) -> int:
    """Hash the labels of a store's records under the newer of some keys, and return the number of accounts changed.

    A name is looked up under all of the keys, one after the other, from then on: with an older key alone, and the
    store, no record is found. So no list of names is needed, no record is left out, and each account keeps its spent
    amount. A store with plain names has their hashes afterwards. Every object that has the store open, this one
    included, has to open it again.

    The store is verified first, completely, in the same transaction.

    Parameters
    ----------
    store
        The store, open to be spent from.
    key
        All of its keys, and at least one that is new.
    by, reason
        The author and the reason, which the ledger keeps.

    Raises
    ------
    KeyRefused
        If the keys are not those of the store.
    LedgerDamaged
        If an entry or a table does not fit.
    ParameterError
        If no key is new, a name or reason is missing, or the store is of a run.
    """
    check_said(by, reason)
    with store.working(()) as work:
        work.check()
        _check_no_run(store, work)
        replay = begin_replay(work.session)
        replay.feed_all(work.rows(replay.position))
        compare_tables(replay, work.session)
        try:
            _, newer = key.split(replay.names)
        except KeyRefused:
            raise KeyRefused(
                f"{store.name}: the keys that were given (names) do not begin with those under which it names records"
            ) from None
        if newer is None:
            raise ParameterError(
                f"{store.name}: none of these keys is new; `dpwitness ledger amend --rotate-keys FILE` adds one"
            )
        body = {
            "check": key.check,
            "epoch": work.begin_epoch(),
            "at": work.time,
            "by": by,
            "reason": reason,
        }
        work.append({"key": body})
        work.load_numbers(replay.commitments)
        labelled = list(_hashed(work, sorted(replay.commitments), newer))
        for i in range(0, len(labelled), _IN_AN_ENTRY):
            work.append({"labelled": labelled[i : i + _IN_AN_ENTRY]})
    store.database.compact()
    return len(labelled)


def _hashed(work: Transaction, numbers: list[int], newer: NameKey) -> Iterator[list[Any]]:
    for number in numbers:
        account = work.row_numbered(number)
        shown = record_of_label(account.name)
        if not (isinstance(shown, Pseudonym) and shown.startswith("erased:")):
            yield work.relabel(account, newer.hashed(account.name))


def erase(store: SQLStore, record: RecordId, by: str, reason: str) -> Pseudonym:
    """Forget which account is a record's, and return its new label: the amount it has spent stays in force.

    The account can never be found by the name again, not even by its holder: **a record that returns under this name
    begins with a new account and a whole budget**, so that a person's total loss is bounded by the budget times one
    plus the number of erasures. Do not erase a record that must not begin anew: under a key the store holds no name.

    Entries bind accounts to names by salted hashes; the salt is removed with the name, and the chain stays the same.
    Older copies elsewhere (backups, exports, an archive of PostgreSQL's log) still have the name.

    Parameters
    ----------
    store
        The store, open to be spent from, its key at hand if it has one.
    record
        The record.
    by, reason
        The author and the reason. The ledger keeps them, so they must not identify the record.

    Raises
    ------
    KeyRefused
        If the store's key is not at hand.
    ParameterError
        If the record has no account or is in a group of a rule, a name or reason is missing, or the store is of a run.
    """
    check_said(by, reason)
    name = store.names.label_of(record)
    with store.working((name,)) as work:
        work.check()
        _check_no_run(store, work)
        account = work.row(name)
        if account.number is None:
            raise ParameterError(f"record = {record!r}: has no account in {store.name}")
        groups = [group for rule in (work.limits.rules if work.limits else ()) for group in rule.groups]
        if any(account.number in group for group in groups):
            raise ParameterError(
                f"record = {record!r}: is in a group of a rule, whose other members' limits count what it has spent: "
                "put rules in force first that do not name it"
            )
        label = erased_label()
        body = {"account": work.relabel(account, label), "by": by, "reason": reason}
        work.append({"erased": body, "at": work.time})
    store.database.compact()
    shown = record_of_label(label)
    assert isinstance(shown, Pseudonym)
    return shown


def _check_no_run(store: SQLStore, work: Transaction) -> None:
    if has_run(work.session):
        raise ParameterError(
            f"{store.name}: is the ledger of a run, whose state and waiting sums name records, too: it holds names as "
            "they are as long as it is there"
        )
