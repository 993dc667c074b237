"""The journal of a run: its charges between two saves, written ahead of the draws that they pay for.

Each line is JSON: an event of the ledger, the number of the save before it, and a digest of it and of the line before.
The operating system has it when the draw returns, so that no end of the process loses it; the draw does not wait for
the disk, so that a crash of the system may lose the charges since the last save.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import itertools
import json
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from accountant.filters.composition_theorem import Composition
from accountant.ledger.entry import Entry, entry_from_terms, entry_terms
from accountant.ledger.events import Answered, Charged, DrawnAgain, LedgerEvent, Settlement
from accountant.ledger.ledger import Ledger
from accountant.rules.scope import Scope
from accountant.stores.database import Database
from accountant.stores.location import CHARGES
from accountant.stores.store_refusals import InUse, LedgerDamaged, StoreMoved
from mechanisms import Assumption, AssumptionKind

_KNOWN = 1_024
"""The number of kinds of entries with cached texts."""


class _FileLines:
    """Lines of a file beside a store, which only its owner can read; they are kept also when this process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._torn = True  # it may have been left so
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._close = weakref.finalize(self, os.close, self._file)  # also if it is forgotten

    def append(self, line: str, end: int) -> int:
        """Put a line at the end of those that ended so; return where it ends. It is kept when this returns."""
        found = os.fstat(self._file)
        if found.st_nlink == 0:
            raise StoreMoved(f"{self._path}: was deleted, so nothing more can be charged: load the run again")
        if found.st_size != end:
            if not self._torn:
                raise InUse(f"{self._path}: another process has written to it: load the run again")
            os.ftruncate(self._file, end)
        data = f"{line}\n".encode("ascii")
        # If this fails or is interrupted, nothing is drawn for it, and the next line is put over it.
        self._torn = True
        if os.write(self._file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._torn = False
        return end + len(data)

    def read_lines(self) -> list[tuple[str, int]]:
        """Return the complete lines, each with its end."""
        lines = self._path.read_bytes().split(b"\n")[:-1]  # what has no end was never drawn for
        ends = itertools.accumulate(len(line) + 1 for line in lines)
        return [(line.decode("ascii", "replace"), end) for line, end in zip(lines, ends, strict=True)]

    def empty(self) -> None:
        """Remove all."""
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        """Add no more."""
        self._close()


class _TableLines:
    """Lines of a table beside a run's state, in a database of a server; the methods are those of `_FileLines`."""

    def __init__(self, database: Database, holder: str) -> None:
        self._database = database
        self._holder = holder

    def append(self, line: str, end: int) -> int:
        with self._database.writing() as session:
            if session.value("SELECT holder FROM run") != self._holder:
                raise InUse(
                    f"{self._database.name}: another process has gone on with this run since: load it again"
                )
            session.run("DELETE FROM charges WHERE number > ?", [(end,)])
            session.run("INSERT INTO charges (number, line) VALUES (?, ?)", [(end + 1, line)])
        return end + 1

    def read_lines(self) -> list[tuple[str, int]]:
        with self._database.reading() as session:
            found = session.rows("SELECT line, number FROM charges ORDER BY number")
        return [(line, int(number)) for line, number in found]

    def empty(self) -> None:
        with self._database.writing() as session:
            session.execute("DELETE FROM charges")

    def close(self) -> None:
        """Do nothing: the database is its owner's."""


class RunJournal:
    """The journal of a run's ledger since its last save, written ahead of every draw.

    Parameters
    ----------
    database
        The database of the run.
    holder
        The name by which it is held.
    instance
        The identity of the store.
    """

    def __init__(self, database: Database, holder: str, instance: str) -> None:
        self._lines = (
            _TableLines(database, holder)
            if database.path is None
            else _FileLines(database.path.with_name(f"{database.path.name}{CHARGES}"))
        )
        self._name = database.name
        self._instance = instance
        self._saves = 0
        self._end = 0, "", 0  # where the last line ends, its digest, and how many charges there are
        self._reserved: Mapping[int, int] = {}
        self._made: dict[int, int] = {}  # numbers of charges here, by their positions in the ledger
        self._kinds: dict[tuple[Any, ...], tuple[Entry, str]] = {}
        self._waiting: list[LedgerEvent | Assumption] | None = None
        self._thread = 0

    def begin(self, saves: int, reserved: Mapping[int, int]) -> None:
        """Begin after `saves` saves, with nothing; reservations have these positions in the ledger."""
        self._lines.empty()
        self._restart(saves, reserved)

    def _restart(self, saves: int, reserved: Mapping[int, int]) -> None:
        self._saves, self._reserved, self._made = saves, reserved, {}
        self._end = 0, _digest("", f"{self._instance} {saves}"), 0
        if self._waiting is not None:
            self._waiting = []

    def read_events(self, saves: int, reserved: Mapping[int, int]) -> list[dict[str, Any]]:
        """Return the events after `saves` saves, and go on behind them.

        Raises
        ------
        LedgerDamaged
            If a line was changed after it was written.
        StoreMoved
            If the store is of an earlier save than these lines.
        """
        self._restart(saves, reserved)
        found: list[dict[str, Any]] = []
        for number, (line, end) in enumerate(self._lines.read_lines(), start=1):
            text, _, digest = line.rpartition(" ")
            try:
                body = json.loads(text)
                after = body["after"]
            except (LookupError, TypeError, ValueError):
                after = None
            if after is not None and after > saves:
                raise StoreMoved(
                    f"{self._name}: has {saves} saves, and what was charged after save {after} is beside it: an older "
                    "copy was put back; bring the newer one back"
                )
            if after is not None and after < saves:
                continue  # the save has it; the process ended before it was removed
            _, before, charges = self._end
            if after is None or _digest(before, text) != digest:
                raise LedgerDamaged(
                    f"{self._name}{CHARGES}: line {number} was changed, so the charges after the last "
                    "save are not known"
                )
            self._end = end, digest, charges + ("paid" in body)
            found.append(body)
        if not found:
            self._lines.empty()
        return found

    def replay(
        self, bodies: Sequence[Mapping[str, Any]], ledger: Ledger, composition: Composition
    ) -> list[Assumption]:
        """Apply the read events to a ledger, which goes on with the saved one; return its assumptions."""
        places = {place: position for position, place in self._reserved.items()}
        charges: dict[tuple[str | None, ...], Any] = {}
        assumptions = []
        for body in bodies:
            time = body["at"], body.get("drift", 0)
            if "paid" in body:
                held, request, purpose, tenant, *deadline = body["with"]
                entries = tuple(
                    entry_from_terms(kind, tuple(records), composition, charges)
                    for kind, records in body["paid"]
                )
                position = ledger.next_position
                scope = Scope(purpose, tenant)
                ledger.apply(Charged(position, entries, held, request, scope, *time, *deadline))
                self._made[position] = -1 - len(self._made)
                places[self._made[position]] = position
            elif "settled" in body:
                place, returned = body["settled"]
                ledger.apply(Settlement(places[place], returned, *time))
            elif "again" in body:
                ledger.apply(DrawnAgain(body["again"], *time))
            elif "answered" in body:
                request, answer = body["answered"]
                ledger.keep_answer(request, base64.b64decode(answer))
            else:
                kind, message, where = body["assumed"]
                assumptions.append(Assumption(AssumptionKind(kind), message, where))
        return assumptions

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Let events in this thread wait for a save; at the end, those without one are written down."""
        if self._waiting is not None:
            yield
            return
        self._waiting, self._thread = [], threading.get_ident()
        try:
            yield
        finally:
            self.flush()
            self._waiting = None

    def flush(self) -> None:
        """Write down the events that wait for a save."""
        while self._waiting:
            self._write(self._waiting[0])
            del self._waiting[0]

    def note(self, event: LedgerEvent | Assumption) -> None:
        """Write down the next event of the ledger."""
        if self._waiting is not None and threading.get_ident() == self._thread:
            self._waiting.append(event)
            return
        self.flush()
        self._write(event)

    def _write(self, event: LedgerEvent | Assumption) -> None:
        at, drift = getattr(event, "at", None), getattr(event, "drift", 0)
        when = "null" if at is None else f"{at:d}"
        text = f'{{"after": {self._saves}, "at": {when}, "drift": {drift:d}, {self._event_members(event)}}}'
        end, before, charges = self._end
        digest = _digest(before, text)
        end = self._lines.append(f"{text} {digest}", end)
        if isinstance(event, Charged):
            charges += 1
            self._made[event.position] = -charges
        # Interrupted before, the line is written over: nothing is drawn for it.
        self._end = end, digest, charges

    def _event_members(self, event: LedgerEvent | Assumption) -> str:
        """Return an event as the members of an object in JSON."""
        if isinstance(event, Charged):
            _, entries, reserved, request, scope, _, _, until = event
            # The text of one word is found much faster than that of a list.
            payers = [(self._kind(entry), ", ".join(map(json.dumps, entry.records))) for entry in entries]
            paid = ", ".join([f"[{kind}, [{records}]]" for kind, records in payers])
            return f'"paid": [{paid}], "with": {_terms_text(reserved, request, scope, until)}'
        if isinstance(event, Settlement):
            place = self._made.get(event.position) or self._reserved[event.position]
            return f'"settled": {json.dumps([place, event.returned])}'
        if isinstance(event, DrawnAgain):
            return f'"again": {json.dumps(event.request)}'
        if isinstance(event, Answered):
            assert event.answer is not None
            return f'"answered": {json.dumps([event.request, base64.b64encode(event.answer).decode()])}'
        if isinstance(event, Assumption):
            return f'"assumed": {json.dumps([event.kind.value, event.message, event.where])}'
        raise TypeError(f"{event!r}: does not happen in a run between saves")

    def _kind(self, entry: Entry) -> str:
        """Return an entry without its records in JSON; of the same objects the same text."""
        key = entry.kind_key()
        known = self._kinds.get(key)
        if known is not None:
            return known[1]
        if len(self._kinds) >= _KNOWN:
            self._kinds.clear()
        text = json.dumps(entry_terms(entry))
        self._kinds[key] = entry, text  # the entry keeps the objects of the ids alive
        return text

    def close(self) -> None:
        """Write down nothing more; events that wait for a save are never shown."""
        if self._waiting is not None:
            self._waiting = []
        self._lines.close()


@lru_cache(maxsize=64)
def _terms_text(reserved: bool, request: str | None, scope: Scope, until: int | None) -> str:
    deadline = () if until is None else (until,)
    return json.dumps([reserved, request, scope.purpose, scope.tenant, *deadline])


def _digest(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode("ascii")).hexdigest()[:32]
