"""A ledger in JSON becomes a store, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from accountant.files.sqlite_file import is_sqlite
from accountant.gates.assuming import declared_stability
from accountant.ledger.entry import entry_from_terms
from accountant.ledger.events import Charged
from accountant.place import Place
from accountant.recorded import recall
from accountant.rules.reach import check_reach
from accountant.rules.rule import Rule, checked_rules
from accountant.stores.export import checked_content, is_export, parse_file, verified_content
from accountant.stores.names import NameKey, Names, name_key, own_name
from accountant.stores.opening import (
    holds_ledger,
    make_store,
    open_store,
    refuse_existing,
    stored_content,
)
from accountant.stores.replayed_entries import LedgerContent, ReplayedEntries, check_charge
from accountant.stores.sql_store import SQLStore, check_said, import_charges_in, put_rules_in
from accountant.stores.store_refusals import InUse, LedgerDamaged, OutcomeUnknown
from accountant.stores.work import Work
from accountant.written_terms import Terms
from mechanisms import Assumption, AssumptionKind
from mechanisms.parameters import ParameterError

FORMER_FORMAT = "dpwitness-ledger-1"
"""What `Accountant.save` wrote: totals could be spent from any copy."""


def import_ledger(
    path: str | Path,
    store: str | Path,
    by: str,
    reason: str,
    *,
    names: NameKey | str | Path | None = None,
) -> SQLStore:
    """Make a new store of an exported ledger, or of one that an earlier version saved; the file is renamed.

    Every charge is recomputed. The file ends in ``.imported`` afterwards, so that nobody imports it twice unasked. But
    another copy of it may be imported, and the ledger that it was exported from may go on: all of them spend the same
    budgets. So an import is an entry for good, which reports speak of as of a copy that was promoted, with the ledger
    and the last entry that it knew of, and what was known of that ledger: earlier imports, copies that went on, names
    that were erased, folds that are believed. Names that are hashed stay so, under their key.

    Parameters
    ----------
    path
        The ledger in JSON.
    store
        The new store.
    by, reason
        Who makes it, and why no other store of the same ledger goes on; kept in the ledger.
    names
        The key under which it names records, as for `open_store`: names are hashed on the way.

    Raises
    ------
    ParameterError
        If a name or reason is missing, the store exists already, or what the file is to be called, or the file is none
        of the two.
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
            f"store={str(store)!r}: must be another file, as {source} is called so afterwards"
        )
    if target.exists():
        raise ParameterError(
            f"{target}: exists already: a ledger of this name was imported; move it away first"
        )
    refuse_existing(store)
    key = name_key(names)
    found, digest = _read(source)
    Names.for_store(
        str(source), found.names, key if found.names is not None else None
    )  # refused before anything is made
    named = Names(found.names if key is None else key.check, key)
    source.rename(target)  # first: whatever happens now, nobody imports it a second time unasked
    try:
        make_store(store, found.content.terms, named, partial(_fill, found, digest, by, reason))
    except OutcomeUnknown as error:
        raise OutcomeUnknown(
            f"{error}; {target} is what was to be imported: look whether {store} holds it, before it is renamed"
        ) from None
    except BaseException as error:
        if isinstance(error, InUse) or not holds_ledger(store):  # an interruption may fall behind the commit
            target.rename(source)
        raise
    return open_store(store, found.content.terms, names=key)


def _fill(found: _Found, digest: str, by: str, reason: str, work: Work) -> None:
    """Add what a ledger in JSON says."""
    work.append({"imported": found.replay.import_body(digest, by, reason), "at": work.time})
    import_charges_in(work, [(each.scope, each.entries) for each in found.content.charges], digest)
    for assumption in found.assumptions:
        work.assume(assumption)
    if found.rules:
        rules = checked_rules(found.rules, found.content.terms.composition)
        check_reach(rules, found.content.terms.composition, found.content.terms.budget)
        put_rules_in(work, rules, "the import", "the ledger that was imported had them")
    if found.closed is not None:
        work.shut_gate(*found.closed)


def read_ledger(path: Path) -> LedgerContent:
    """Return the content of a ledger, all verified.

    It is a store, or a ledger in JSON of this format or the former one.

    Raises
    ------
    LedgerDamaged
        If a charge is less than its mechanism's, or anything else does not fit.
    """
    if is_sqlite(path):
        return stored_content(path)
    found, _ = _read(path)
    return found.content


@dataclass(frozen=True)
class _Found:
    """What a ledger in JSON says."""

    content: LedgerContent
    assumptions: Sequence[Assumption]
    closed: tuple[str, Place] | None
    rules: Sequence[Rule] = ()
    names: str | None = None
    replay: ReplayedEntries = field(default_factory=ReplayedEntries)  # of no entries, in the former format


def _read(path: Path) -> tuple[_Found, str]:
    """Return what a ledger in JSON says, and the digest of the file."""
    content, digest = parse_file(path)
    if is_export(content) and content["format"] == FORMER_FORMAT:
        try:
            return _former(content), digest
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(
                f"{path}: damaged dpwitness ledger ({type(error).__name__}: {error})"
            ) from None
    replay, found_names = verified_content(path, checked_content(path, content))
    names = {number: own_name(name) for number, name in found_names.items()}
    found = _Found(
        replay.content(names),
        replay.assumptions,
        replay.closure,
        replay.named_rules(names),
        replay.names,
        replay,
    )
    return found, digest


def _former(saved: dict[str, Any]) -> _Found:
    terms = Terms.from_dict(saved)
    mechanisms = [recall(description) for description in saved["ledger"]["mechanisms"]]
    charges: dict[tuple[str | None, ...], Any] = {}
    entries = []
    for row in saved["ledger"]["entries"]:
        if not all(type(record) in (int, str) for record in row["records"]):
            raise ParameterError(f"records = {row['records']!r}: must be whole numbers or texts")
        records = tuple(map(own_name, row["records"]))
        entry = entry_from_terms({**row, "mechanism": None}, records, terms.composition, charges)
        if row["mechanism"] is not None:
            entry = entry._replace(mechanism=mechanisms[row["mechanism"]])
        check_charge(entry, terms.composition)
        entries.append(entry)
    assumptions = [
        Assumption(AssumptionKind(kind), message, where)
        for kind, message, where in saved.get("assumptions", [])
    ]
    for file, line, stability in saved.get("believed", []):  # of an earlier version
        assumptions.append(declared_stability(float.fromhex(stability), Place(file, line)))
    closed = saved.get("closed")
    shut = None if closed is None else (closed[0], Place(*closed[1:]))
    return _Found(LedgerContent(terms, (Charged(0, tuple(entries)),), ""), assumptions, shut)
