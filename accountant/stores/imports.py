"""The import of a ledger in JSON into a new store, once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from accountant.files.sqlite_file import is_sqlite
from accountant.gates.lineage import RecordId
from accountant.rules.reach import check_reach
from accountant.rules.rule import checked_rules
from accountant.stores.export import read_export
from accountant.stores.names import NameKey, Names, name_key, own_name
from accountant.stores.opening import (
    holds_ledger,
    make_store,
    open_store,
    refuse_existing,
    stored_content,
)
from accountant.stores.replayed_entries import LedgerContent, ReplayedEntries
from accountant.stores.sql_store import SQLStore, check_said, import_charges_in, put_rules_in
from accountant.stores.store_refusals import InUse, OutcomeUnknown
from accountant.stores.transaction import Transaction
from mechanisms.parameters import ParameterError


def import_ledger(
    path: str | Path,
    store: str | Path,
    by: str,
    reason: str,
    *,
    names: NameKey | str | Path | None = None,
) -> SQLStore:
    """Make a new store of an exported ledger; the file is renamed.

    Every charge is recomputed. The file is renamed to ``.imported``, so that it is not imported twice by mistake. But
    another copy of it may be imported, and the ledger that it was exported from may go on: all of them spend the same
    budgets. So an import is a permanent entry, which reports mention as they do a promoted copy. It has the ledger and
    its last known entry, and the known history of that ledger: earlier imports, copies that went on, erased names,
    folds without an archive. Names that are hashed stay so, under their key.

    Parameters
    ----------
    path
        The ledger in JSON.
    store
        The new store.
    by, reason
        The author, and the reason why no other store of the same ledger goes on, which the ledger keeps.
    names
        The key under which it names records, as for `open_store`: names are hashed on the way.

    Raises
    ------
    ParameterError
        If a name or reason is missing, the store or the renamed file exists already, or the file is no ledger.
    LedgerDamaged
        If a charge is less than its mechanism's, or anything else does not fit.
    OSError
        If a file cannot be read or renamed.
    """
    check_said(by, reason)
    source = Path(path)
    target = source.with_name(f"{source.name}.imported")
    if Path(store).absolute() == target.absolute():
        raise ParameterError(
            f"store = {str(store)!r}: must be another file, as {source} is called so afterwards"
        )
    if target.exists():
        raise ParameterError(
            f"{target}: exists already: a ledger of this name was imported; move it away first"
        )
    refuse_existing(store)
    key = name_key(names)
    replay, names_of, digest = _read_file(source)
    hashed = replay.names is not None
    Names.for_store(str(source), replay.names, key if hashed else None)  # refused before anything is made
    named = Names(replay.names if key is None else key.check, key)
    source.rename(target)  # first: after any error the file is not imported again by mistake
    try:
        make_store(store, replay.terms, named, partial(_fill, replay, names_of, digest, by, reason))
    except OutcomeUnknown as error:
        raise OutcomeUnknown(
            f"{error}; {target} was to be imported: look whether {store} holds it, before it is renamed"
        ) from None
    except BaseException as error:
        if isinstance(error, InUse) or not holds_ledger(store):  # an interruption may fall behind the commit
            target.rename(source)
        raise
    return open_store(store, replay.terms, names=key)


def _fill(
    replay: ReplayedEntries, names: dict[int, RecordId], digest: str, by: str, reason: str, work: Transaction
) -> None:
    """Add the content of a ledger in JSON."""
    work.append({"imported": replay.import_body(digest, by, reason), "at": work.time})
    import_charges_in(work, [(each.scope, each.entries) for each in replay.charge_events(names)], digest)
    for assumption in replay.assumptions:
        work.assume(assumption)
    if rules := replay.named_rules(names):
        rules = checked_rules(rules, replay.terms.composition)
        check_reach(rules, replay.terms.composition, replay.terms.budget)
        put_rules_in(work, rules, "the import", "the ledger that was imported had them")
    if replay.closure is not None:
        work.shut_gate(*replay.closure)


def read_ledger(path: Path) -> LedgerContent:
    """Return the content of a ledger, all verified.

    It is a store, or an exported ledger.

    Raises
    ------
    LedgerDamaged
        If a charge is less than its mechanism's, or anything else does not fit.
    """
    if is_sqlite(path):
        return stored_content(path)
    replay, names, _ = _read_file(path)
    return replay.content(names)


def _read_file(path: Path) -> tuple[ReplayedEntries, dict[int, RecordId], str]:
    """Return the state after the entries of a ledger in JSON, the names of its accounts, and the file's digest."""
    replay, names, digest = read_export(path)
    return replay, {number: own_name(name) for number, name in names.items()}, digest
