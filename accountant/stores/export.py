"""A ledger as a JSON file: the same chained entries as in a store, for reading only.

The file holds names of records, no data. It cannot be spent from; `accountant.stores.imports` makes a store of it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_json
from accountant.files.sqlite_file import is_sqlite
from accountant.files.whole_file import whole_file
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry, entry_terms
from accountant.ledger.events import (
    Answered,
    Charged,
    ClockConfirmed,
    DrawnAgain,
    LedgerEvent,
    Ruled,
    Settlement,
)
from accountant.ledger.ledger import Ledger
from accountant.ledger.store import Store
from accountant.place import Place
from accountant.rules.clock import wall
from accountant.stores.chain import FORMAT, START, canonical, commitment, encode_name, entry_hash
from accountant.stores.entry_bodies import add_time, begin_body, charge_body, outcome_body
from accountant.stores.folded import Beginning, fold_of, last_fold, replay_from
from accountant.stores.names import Names, record_of_label
from accountant.stores.opening import find_database
from accountant.stores.replayed_entries import EntryRow, ReplayedEntries, chained_to
from accountant.stores.session import Session
from accountant.stores.sql_store import SQLStore
from accountant.stores.store_refusals import LedgerDamaged
from accountant.stores.store_verification import Verified, verification_result, verify_database
from accountant.stores.work import rows_after
from accountant.terms import Terms
from mechanisms import Assumption
from mechanisms.parameters import ParameterError

_AT_ONCE = 1_000
"""So many entries are written together."""
_KEPT = 4_096
"""Of so many kinds it is known by their objects where they stand."""


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
        # A plan of mechanisms that cannot be rebuilt could not be opened again.
        Terms.from_dict(terms.to_dict())
        parts = _EntriesInMemory(ledger, terms).parts(assumptions, closed)
    with whole_file(path) as file:
        for part in parts:
            file.write(part.encode("ascii"))


class _EntriesInMemory:
    """The entries that a store would have of a ledger in memory, one after the other."""

    def __init__(self, ledger: Ledger, terms: Terms) -> None:
        self._ledger = ledger
        self._terms = terms
        self._position = 0
        self._hash = START
        self._at = ledger.begun
        self._now = wall()  # of events whose time nobody noted
        self._lines: list[str] = []
        self._accounts: dict[RecordId, int] = {}  # numbers, in order from 1
        self._salts = bytearray()
        self._opened: list[tuple[int, str]] = []
        self._kinds: dict[tuple[Any, ...], tuple[int, Entry]] = {}  # by ids of what the entry keeps alive
        self._charges: dict[int, int] = {}  # where reservations stand
        self._requests: dict[str, int] = {}

    def parts(self, assumptions: Sequence[Assumption], closed: tuple[str, Place] | None) -> Iterator[str]:
        """Yield the file."""
        yield f'{{"format": "{FORMAT}",\n"entries": [\n'
        self._append(begin_body(uuid.uuid4().hex, self._terms, {}, self._at))
        for event in self._ledger.events:
            self._add(event)
            if len(self._lines) >= _AT_ONCE:
                yield "".join(self._lines)
                self._lines.clear()
        for assumption in assumptions:
            self._append({"assumed": [assumption.kind.value, assumption.message, assumption.where]})
        if closed is not None:
            self._append({"closed": [closed[0], *closed[1]]})
        yield "".join(self._lines)
        comma = '],\n"accounts": ['
        for name, number in self._accounts.items():
            yield f'{comma}[{number}, "{self._salt(number).hex()}", {encode_name(name)}]'
            comma = ", "
        yield "]}\n" if self._accounts else f"{comma}]}}\n"

    def _append(self, body: dict[str, Any]) -> int:
        text = canonical(body)
        self._hash = entry_hash(self._hash, text)
        self._lines.append(
            f'{"," if self._position else ""}{{"entry": {text}, "hash": "{self._hash.hex()}"}}\n'
        )
        self._position += 1
        return self._position

    def _add(self, event: LedgerEvent) -> None:
        if not isinstance(event, Answered | ClockConfirmed):
            self._at = max(self._at, self._now if event.at is None else event.at)
        if isinstance(event, Charged):
            paid = [(self._kind(each), tuple(map(self._account_of, each.records))) for each in event.entries]
            opened, self._opened = self._opened, []
            position = self._append(charge_body(event, self._at, paid, opened))
            if event.reserved:
                self._charges[event.position] = position
            if event.request is not None:
                self._requests[event.request] = position
        elif isinstance(event, Settlement):
            self._append(outcome_body(event._replace(at=self._at), self._charges[event.position]))
        elif isinstance(event, DrawnAgain | Answered):
            self._append(outcome_body(event, self._requests[event.request]))
        elif isinstance(event, Ruled):
            rules = [rule.with_members(self._account_of).to_dict() for rule in event.rules]
            opened, self._opened = self._opened, []
            body = {"rules": rules, "by": event.by, "reason": event.reason, "opened": opened}
            self._append({"rules": add_time(body, self._at, event.drift)})
        else:
            self._append({"clock": event._asdict()})

    def _salt(self, number: int) -> bytes:
        return bytes(self._salts[16 * number - 16 : 16 * number])

    def _account_of(self, record: RecordId) -> int:
        """Return the number of a record's account, which is opened if it is new."""
        number = self._accounts.get(record)
        if number is None:
            number = self._accounts[record] = len(self._accounts) + 1
            if len(self._salts) < 16 * number:
                self._salts += os.urandom(16 * _AT_ONCE)
            self._opened.append((number, commitment(self._salt(number), encode_name(record))))
        return number

    def _kind(self, entry: Entry) -> int:
        """Return the position of a kind of entry; of other objects that are equal it may be another."""
        key = entry.kind_key()
        if key not in self._kinds:
            if len(self._kinds) >= _KEPT:
                self._kinds.clear()
            self._kinds[key] = self._append({"kind": entry_terms(entry)}), entry
        return self._kinds[key][0]


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
        rows = session.rows("SELECT number, salt, label FROM account ORDER BY number")
        accounts = [[int(number), bytes(salt).hex(), json.loads(name)] for number, salt, name in rows]
        yield f'],\n"accounts": {json.dumps(accounts)}}}\n'


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
    replay, names = read_export(path)
    return verification_result(replay, len(names))


def _is_export(content: Any) -> bool:
    """True if JSON is an exported ledger, of this format or another."""
    return isinstance(content, dict) and str(content.get("format", "")).startswith("dpwitness-ledger")


def read_export(path: str | Path) -> tuple[ReplayedEntries, dict[int, Any]]:
    """Return the content of an exported ledger, and the names of its accounts; all of it is verified.

    Raises
    ------
    LedgerDamaged
        If it is no exported ledger of this format, or an entry or account does not fit.
    OSError
        If it cannot be read.
    """
    return verified_content(path, read_content(path))


def verified_content(path: str | Path, content: dict[str, Any]) -> tuple[ReplayedEntries, dict[int, Any]]:
    """Return the verified content of an exported ledger that was read from a file; compare `read_export`."""
    if "accounts" not in content:
        raise LedgerDamaged(
            f"{path}: is the archive of a fold, without accounts: accountant.stores.archive.check_archives verifies it"
        )
    try:
        replay = replay_content(content)
        names: dict[int, Any] = {}
        for number, salt, name in content["accounts"]:
            if commitment(bytes.fromhex(salt), json.dumps(name)) != replay.commitments.get(number):
                raise LedgerDamaged(f"account {number} is not of the record that its entries commit it to")
            names[number] = record_of_label(json.dumps(name))
        if len(names) != len(replay.commitments):
            raise LedgerDamaged(f"{len(replay.commitments)} accounts were opened, and {len(names)} are there")
    except LedgerDamaged as error:
        raise LedgerDamaged(f"{path}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise LedgerDamaged(f"{path}: damaged ({type(error).__name__}: {error})") from None
    return replay, names


def read_content(path: str | Path) -> dict[str, Any]:
    """Return the content of a file of this format, nothing of it verified yet.

    Raises
    ------
    LedgerDamaged
        If it is none.
    """
    return checked_content(path, parse_file(path)[0])


def parse_file(path: str | Path) -> tuple[Any, str]:
    """Return the content of a file of JSON, where entries with their hashes are `_EntryInFile`, and its SHA-256.

    Raises
    ------
    LedgerDamaged
        If it is no JSON.
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
        return from_json(text, _entry_in_file), digest
    except ValueError as error:
        raise LedgerDamaged(f"{path}: not a dpwitness ledger ({error})") from None


def checked_content(path: str | Path, content: Any) -> dict[str, Any]:
    """Return content that was read from a file, if it is of this format; compare `read_content`."""
    if not _is_export(content) or content["format"] != FORMAT:
        raise LedgerDamaged(f"{path}: not a dpwitness ledger of format {FORMAT!r}")
    read: dict[str, Any] = content
    return read


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
