"""The export of a ledger as a JSON file: the same chained entries as in a store, for reading only.

The file holds names of records, no data. It cannot be spent from; `accountant.stores.imports` makes a store of it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_json
from accountant.files.sqlite_file import is_sqlite
from accountant.files.whole_file import whole_file
from accountant.ledger.ledger import Ledger
from accountant.ledger.store import Store
from accountant.place import Place
from accountant.stores.beginning import Beginning, fold_of, last_fold, replay_from
from accountant.stores.chain import FORMAT, canonical, commitment, entry_hash
from accountant.stores.database import Database
from accountant.stores.names import Names, record_of_label
from accountant.stores.opening import begin_store, find_database
from accountant.stores.replayed_entries import EntryRow, ReplayedEntries, chained_to
from accountant.stores.session import Session
from accountant.stores.sql_store import SQLStore, write_events
from accountant.stores.store_refusals import LedgerDamaged, damage_in
from accountant.stores.store_verification import Verified, verification_result, verify_database
from accountant.stores.transaction import rows_after
from accountant.terms import Terms
from mechanisms import Assumption
from mechanisms.parameters import ParameterError

_AT_ONCE = 20_000
"""So many entries are written together."""


def export_ledger(
    ledger: Store,
    terms: Terms,
    assumptions: Sequence[Assumption],
    closed: tuple[str, Place] | None,
    path: str | Path,
) -> None:
    """Write a ledger to a file, complete or absent, that only its owner can read.

    Parameters
    ----------
    ledger, terms, assumptions, closed
        An accountant's.
    path
        The file.

    Raises
    ------
    ParameterError
        If the path is a folder, or its own folder does not exist, or the ledger is a run's that was folded.
    """
    if isinstance(ledger, SQLStore):
        parts = _parts(ledger)
    else:
        assert isinstance(ledger, Ledger)
        if ledger.folded:
            raise ParameterError(
                "the run's entries were folded, and this process has only sums of them: save and close the run, and "
                "export the ledger in its folder by `dpwitness ledger show -o`"
            )
        parts = _stored(ledger, terms, assumptions, closed)
    with whole_file(path) as file:
        for part in parts:
            file.write(part.encode("ascii"))


def _stored(
    ledger: Ledger, terms: Terms, assumptions: Sequence[Assumption], closed: tuple[str, Place] | None
) -> Iterator[str]:
    """Yield the file of a ledger in memory: of the entries that a store has of it."""
    events, reserved = iter(ledger.events), dict[int, int]()
    with closing(begin_store(Database.from_location("sqlite://"), terms, at=ledger.begun)) as store:
        while some := list(itertools.islice(events, _AT_ONCE)):
            with store.working(()) as work:
                write_events(work, some, reserved)
        with store.working(()) as work:
            for assumption in assumptions:
                work.assume(assumption)
            if closed is not None:
                work.shut_gate(*closed)
        yield from _parts(store)


def _entries(session: Session, last: int | None = None) -> Iterator[str]:
    """Yield the beginning of a file: the entries from the last fold on, those that it left, and an archive's end."""
    fold, comma = last_fold(session), ""
    yield f'{{"format": "{FORMAT}",\n'
    which = "position > 0"
    if last is not None:
        yield f'"last": {last},\n'
        which = f"position <= {last if fold is None else max(last, fold.position + fold.parts):d}"
    if fold is not None:
        yield f'"after": {fold.after},\n"left": [\n'
        for position, text, _ in rows_after(session, 0, f"position <= {fold.after}"):
            yield f'{comma}{{"position": {position}, "entry": {text}}}\n'
            comma = ","
        yield "],\n"
    yield '"entries": [\n'
    comma = ""
    for _, text, digest in rows_after(session, 0 if fold is None else fold.after, which):
        yield f'{comma}{{"entry": {text}, "hash": "{digest.hex()}"}}\n'
        comma = ","


def write_archive(session: Session, last: int, path: str | Path) -> None:
    """Write the entries that a fold is to remove to a file that only its owner can read, without names of accounts.

    Raises
    ------
    ParameterError
        If there is a file, or it is a folder, or its own folder does not exist.
    """
    if Path(path).exists():
        raise ParameterError(f"archive = {str(path)!r}: exists already; each fold has an archive of its own")
    with whole_file(path) as file:
        for part in (*_entries(session, last), "]}\n"):
            file.write(part.encode("ascii"))


def _parts(store: SQLStore) -> Iterator[str]:
    with store.database.snapshot() as session:
        yield from _entries(session)
        comma = '],\n"accounts": ['
        for number, salt, label in session.each("SELECT number, salt, label FROM account ORDER BY number"):
            yield f'{comma}[{number}, "{bytes(salt).hex()}", {label}]'
            comma = ", "
        yield "]}\n" if comma == ", " else f"{comma}]}}\n"


def export_store(where: str | Path, path: str | Path) -> None:
    """Write a store to a file; see `export_ledger`. It is verified first, and may be a copy.

    Raises
    ------
    LedgerDamaged
        If an entry or a table does not fit.
    ParameterError
        If there is no store.
    """
    with closing(find_database(where)) as database:
        found = verify_database(database)
        store = SQLStore(database, found.replay.terms, found.head, names=Names(found.replay.names))
        export_ledger(store, store.terms, (), None, path)


@dataclass(frozen=True, slots=True)
class _EntryInFile:
    """An entry of a file, as text: a fifth of the memory of its parsed JSON.

    Attributes
    ----------
    text
        The entry, as `canonical` writes it.
    hash
        Its hash.
    """

    text: str
    hash: bytes


def _entry_in_file(read: dict[str, Any]) -> Any:
    if read.keys() != {"entry", "hash"}:
        return read
    try:
        return _EntryInFile(canonical(read["entry"]), bytes.fromhex(read["hash"]))
    except (TypeError, ValueError) as error:
        raise DataFileError(f"an entry and its hash: {error}") from None


def verify_export(path: Path) -> Verified:
    """Verify a ledger in JSON; see `read_export`."""
    replay, names, _ = read_export(path)
    return verification_result(replay, len(names))


def read_export(path: str | Path) -> tuple[ReplayedEntries, dict[int, Any], str]:
    """Return the content of an exported ledger, the names of its accounts, and the SHA-256 of the file.

    All of it is verified.

    Raises
    ------
    LedgerDamaged
        If it is no exported ledger of this format, or an entry or account does not fit.
    OSError
        If it cannot be read.
    """
    content, digest = read_content(path)
    if "accounts" not in content:
        raise LedgerDamaged(
            f"{path}: is the archive of a fold, without accounts: accountant.stores.archive.check_archives verifies it"
        )
    with damage_in(str(path)):
        replay = replay_content(content)
        names: dict[int, Any] = {}
        for number, salt, name in content["accounts"]:
            if commitment(bytes.fromhex(salt), json.dumps(name)) != replay.commitments.get(number):
                raise LedgerDamaged(f"account {number} is not of the record that its entries commit it to")
            names[number] = record_of_label(json.dumps(name))
        if len(names) != len(replay.commitments):
            raise LedgerDamaged(f"{len(replay.commitments)} accounts were opened, and {len(names)} are there")
    return replay, names, digest


def read_content(path: str | Path) -> tuple[dict[str, Any], str]:
    """Return the content of a file, where entries with their hashes are `_EntryInFile`, and its SHA-256.

    Nothing of it is verified yet.

    Raises
    ------
    LedgerDamaged
        If it is no exported ledger of this format.
    OSError
        If it cannot be read.
    """
    if is_sqlite(path):
        raise LedgerDamaged(f"{path}: is a store; export it: dpwitness ledger show {path} -o FILE.json")
    data = Path(path).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    try:
        text = data.decode("ascii")
        del data  # a large file is in memory once
        content = from_json(text, _entry_in_file)
    except ValueError as error:
        raise LedgerDamaged(f"{path}: not a dpwitness ledger ({error})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise LedgerDamaged(f"{path}: not a dpwitness ledger of format {FORMAT!r}")
    return content, digest


def replay_content(content: dict[str, Any]) -> ReplayedEntries:
    """Return the state after the entries of a file; of an archive, of those that its fold removed.

    Raises
    ------
    LedgerDamaged
        If one does not fit.
    """
    if not content["entries"]:
        raise LedgerDamaged("there are no entries")

    def rows() -> Iterator[EntryRow]:
        yield from _left_rows(content)
        for position, row in enumerate(content["entries"], start=content.get("after", 0) + 1):
            yield position, row.text, row.hash

    replay = replay_from(beginning_of(content), rows)
    after = (row for row in rows() if row[0] > replay.position)
    removed = content["last"] - replay.position if "last" in content else len(content["entries"])
    replay.feed_all(itertools.islice(after, removed))
    digest = replay.hash
    for row in after:
        digest = chained_to(digest, row[0], row)
    return replay


def beginning_of(content: dict[str, Any]) -> Beginning | None:
    """Return with which fold the entries of a file begin; None if they begin at the first."""
    if "after" not in content:
        return None
    after, texts = content["after"], [row.text for row in content["entries"]]
    folds = [i for i, text in enumerate(texts) if text.startswith('{"fold":')]
    if not folds:
        raise LedgerDamaged(f"the fold of the entries up to {after} is missing")
    here = folds[-1]
    fold = fold_of(after + 1 + here, texts[here])
    return Beginning(fold, texts[here + 1 : here + 1 + fold.parts], _left_rows(content))


def _left_rows(content: dict[str, Any]) -> list[EntryRow]:
    """List the entries of a file that its last fold left."""
    left = [(row["position"], canonical(row["entry"])) for row in content.get("left", ())]
    return [(position, text, entry_hash(b"", text)) for position, text in left]
