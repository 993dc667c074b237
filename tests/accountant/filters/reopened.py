"""An accountant goes on from what it wrote down."""

from pathlib import Path
from typing import Any

from accountant import Accountant
from accountant.rules.scope import Scope
from accountant.stores.imports import import_ledger
from accountant.stores.opening import open_store
from accountant.stores.sql_store import import_charges_in


def reopened(accountant: Accountant, folder: Path, **options: Any) -> Accountant:
    """Export an accountant's ledger, make a store of it, and return an accountant of the same terms on that."""
    accountant.export(folder / "ledger.json")
    return imported(folder, **options)


def imported(folder: Path, **options: Any) -> Accountant:
    """Make a store of the file ledger.json in a folder, and return an accountant on it."""
    import_ledger(folder / "ledger.json", folder / "ledger.db", "ann", "moved").close()
    terms = open_store(folder / "ledger.db").terms
    return Accountant(
        terms.budget,
        composition=terms.composition,
        trust=terms.trust,
        strict=terms.strict,
        store=folder / "ledger.db",
        **options,
    )


def in_a_database(accountant: Accountant, **options: Any) -> Accountant:
    """Return an accountant with the same charges on a database in memory."""
    terms = accountant.terms()
    store = open_store("sqlite://", terms)
    with store.working(()) as work:
        import_charges_in(work, [(Scope(), accountant.ledger.entries)], "test")
    return Accountant(
        terms.budget,
        composition=terms.composition,
        trust=terms.trust,
        strict=terms.strict,
        store=store,
        **options,
    )
