"""A learner's run in a store: its ledger, the records in its private sums, and its state; a save is one transaction."""

from __future__ import annotations

import hashlib
import json
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from accountant.ledger.events import Answered, Charged, LedgerEvent, Settlement
from accountant.ledger.ledger import Ledger
from accountant.rules.clock import ClockAhead, RunningClock
from accountant.rules.limits import renumber_row
from accountant.stores import opening
from accountant.stores.chain import row_digest
from accountant.stores.database import Database
from accountant.stores.replayed_entries import ReplayedEntries
from accountant.stores.run_journal import RunJournal
from accountant.stores.sql_store import SQLStore, labelled, write_events
from accountant.stores.store_refusals import InUse, LedgerDamaged, StoreMoved
from accountant.stores.transaction import last_save, rows_after, stored_bytes
from accountant.stores.waiting_sums import Noted, Notes, Waiting
from accountant.terms import Terms
from mechanisms import Assumption
from mechanisms.parameters import ParameterError


@dataclass(frozen=True)
class Saved:
    """The content of a run's store.

    Attributes
    ----------
    terms, ledger, assumptions
        The accountant's.
    waiting
        The records in private sums.
    state
        Everything else, as it was given to `RunStore.save`.
    stopped
        True if there were charges after the last save, so that noise may have been drawn.
    """

    terms: Terms
    ledger: Ledger
    assumptions: Sequence[Assumption]
    waiting: Waiting
    state: bytes
    stopped: bool


@dataclass(frozen=True)
class _Known:
    """The part of a ledger that is in the store, with the positions of its reservations there."""

    saves: int = 0
    events: int = 0
    assumptions: int = 0
    reserved: Mapping[int, int] = field(default_factory=dict)


class RunStore:
    """A store that one run alone has open, until `close`.

    The ledger's entries are those of any store: chained, recomputed when it is opened. Each save adds one that names
    it, with the digest of the state and the changes of the records in sums. A save is atomic under any interruption; if
    its outcome is unknown, the store's count of saves shows it to the next one. Each opening leaves a mark, and an
    earlier holder can no longer save: a lock may be lost unnoticed (a server that restarts releases it).
    """

    def __init__(self, store: SQLStore, holder: str) -> None:
        self._store = store
        self._name = holder
        self._known = _Known()
        self._noted = Noted()
        self._pending: tuple[Notes, _Known] | None = None
        self._saving = False
        self._journal = RunJournal(store.database, holder, store.instance)
        self._close = weakref.finalize(self, store.database.close)  # also if it is forgotten

    @classmethod
    def begin(cls, where: str | Path, terms: Terms) -> RunStore:
        """Make a store for a new run, a file or a database; the rest of a first save that did not end is replaced.

        Raises
        ------
        InUse
            If somebody has it open.
        ParameterError
            If there is a run already, a ledger, or anything else.
        """
        database = Database.from_location(where)
        own = "a folder of its own" if database.path else "a database of its own"
        try:
            database.hold()
            if opening.holds_store(database):
                if not opening.is_run(database):
                    raise ParameterError(f"{database.name}: holds a ledger, but no run: give the run {own}")
                if not opening.unmake_run(database):
                    raise ParameterError(
                        f"{database.name}: holds a run, whose budgets a new one would forget: go on with it by load, "
                        f"or give the new run {own}"
                    )
            holder = uuid.uuid4().hex
            return cls(opening.begin_store(database, terms, holder=holder), holder)
        except BaseException:
            database.close()
            raise

    @classmethod
    def open(cls, where: str | Path, *, adopt: bool = False) -> tuple[RunStore, Saved]:
        """Open the store of a run, verified; see `DurableRun.load`.

        Raises
        ------
        InUse
            If somebody has it open.
        StoreMoved
            If it is a copy, and not adopted.
        LedgerDamaged
            Naming the first entry that does not fit, or the table.
        ClockAhead
            If a rule looks at the time, and the clock is far ahead of the last charge.
        ParameterError
            If no save has ended in it.
        """
        holder = uuid.uuid4().hex
        try:
            store, replay = opening.open_run(where, holder)
        except StoreMoved:
            if not adopt:
                raise StoreMoved(
                    f"{Database.from_location(where).name}: is a copy, or was moved to another disk or machine: the "
                    "original may spend the same budgets, and may have since. If the original is gone or will never go "
                    "on, say so with load(..., adopt=True), or by `dpwitness ledger amend --promote`"
                ) from None
            opening.adopt(where, "a run was loaded with adopt=True")
            store, replay = opening.open_run(where, holder)
        try:
            if replay.saved is None:
                raise ParameterError(f"{store.name}: holds no saved run: no save has ended here")
            run = cls(store, holder)
            run._noted = Noted.from_waiting(replay.waiting)
            return run, run._load_saved(replay, replay.saved[0])
        except BaseException:
            store.close()
            raise

    def follow(self, ledger: Ledger) -> None:
        """Write down the events of a ledger before they happen, from now on."""
        ledger.write_ahead = self._write_ahead

    def _write_ahead(self, event: LedgerEvent | Assumption) -> None:
        if self._saving:  # a signal's handler: the save would not have it, and remove it
            raise InUse(f"{self._store.name}: the run is being saved: nothing can be charged meanwhile")
        self._resolve()
        self._journal.note(event)

    def turn(self) -> AbstractContextManager[None]:
        """Return a context in which the events of this thread wait for a save, and are written down at the end."""
        return self._journal.turn()

    def _load_saved(self, replay: ReplayedEntries, saves: int) -> Saved:
        """Return the state of the last save, and the charges after it."""
        store = self._store
        with store.database.reading() as session:
            answers = session.rows("SELECT key, answer FROM request")
            noted = session.value("SELECT witness FROM store")
            state = stored_bytes(session.value("SELECT state FROM run"))
            replay.history = partial(rows_after, session, 0)  # the run is held: there is no other writer
            names = labelled(session)
            events: list[LedgerEvent] = []
            numbers: dict[int, int] = {}  # of charges in the ledger, by where they stand
            for position, event in replay.events(names):
                if isinstance(event, Charged):
                    numbers[position] = len(numbers) + 1
                    events.append(event._replace(position=numbers[position]))
                elif isinstance(event, Settlement):
                    events.append(event._replace(position=numbers[event.position]))
                else:
                    events.append(event)
        kept = {json.loads(key): None if answer is None else stored_bytes(answer) for key, answer in answers}
        events = [
            event._replace(answer=kept.get(event.request)) if isinstance(event, Answered) else event
            for event in events
        ]
        rows = {
            names[int(number)]: renumber_row(account.counted, numbers)
            for number, account in replay.accounts.items()
            if account.counted
        }
        rules, folded = replay.named_rules(names), bool(replay.folds)
        reserved = {
            numbers[position]: position
            for position, state in replay.reservations.items()
            if state == "reserved"
        }
        self._known = _Known(saves, len(events), len(replay.assumptions), reserved)
        found = self._journal.read_events(saves, reserved)
        ledger = Ledger.from_events(
            store.terms.composition, events, rules, rows, replay.clock, replay.drift, folded=folded
        )
        witness = RunningClock()
        witness.note_entry(noted, replay.clock)
        assumptions = (*replay.assumptions, *self._journal.replay(found, ledger, store.terms.composition))
        try:
            ledger.resume(witness)
        except ClockAhead as error:
            raise ClockAhead(f"{store.name}: {error}") from None
        stopped = any("paid" in each for each in found)
        return Saved(store.terms, ledger, assumptions, replay.waiting, state, stopped)

    @property
    def has_saved(self) -> bool:
        """True if a save has ended here: the run is kept here from then on."""
        return self._known.saves > 0 or _last_save(self._store.database)[0] > 0

    def notes(self) -> Notes:
        """Return an empty sheet for waiting sums, once it is known how the last save ended."""
        self._resolve()
        return Notes(self._noted)

    def _resolve(self) -> None:
        """Find out the end of the last save, if it is unknown."""
        if self._pending is None:
            return
        with self._store.database.writing() as session:  # once it has ended
            last = last_save(session)
        if last == (self._known.saves + 1, self._name):
            self._settle(*self._pending)
        self._pending = None

    def kept_as(self, name: str) -> bytes | None:
        """Return the value that was kept by a name; None if nothing was.

        Raises
        ------
        LedgerDamaged
            If it was changed after it was written.
        """
        return _kept_value(self._store.database, name)

    @classmethod
    def kept_in(cls, where: str | Path, name: str) -> bytes | None:
        """Return the value that the run of a store was given to keep by a name; the store may be in use.

        Raises
        ------
        LedgerDamaged
            If it was changed after it was written.
        ParameterError
            If there is no store of a run.
        """
        with _run_database(where) as database:
            return _kept_value(database, name)

    @classmethod
    def state_in(cls, where: str | Path) -> bytes:
        """Return the state that the run of a store was last saved with; the store may be in use.

        Raises
        ------
        ParameterError
            If there is no store of a run, or no save has ended in it.
        """
        with _run_database(where) as database, database.reading() as session:
            if last_save(session)[0] == 0:
                raise ParameterError(f"{database.name}: holds no saved run: no save has ended here")
            return stored_bytes(session.value("SELECT state FROM run"))

    def save(
        self,
        ledger: Ledger,
        assumptions: Sequence[Assumption],
        notes: Notes,
        state: bytes,
        kept: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Add the changes since the last save, and put a state in the place of the last one.

        Parameters
        ----------
        ledger, assumptions
            Those of the accountant.
        notes
            The changes of the records in private sums.
        state
            The whole state.
        kept
            Values to keep beside it, each under a new name.

        Raises
        ------
        InUse
            If another process has opened it since, after this one's lock was lost.
        StoreMoved
            If the file was deleted, renamed or replaced since it was opened.
        OSError
            If it cannot be written; the next save tries again.
        """
        before, reserved = self._known, dict(self._known.reserved)
        self._saving = True
        try:
            events = list(ledger.events.tail(before.events))
            after = _Known(before.saves + 1, before.events + len(events), len(assumptions), reserved)
            self._pending = notes, after
            self._store.database.hold()  # again, if it was lost and nobody has taken it
            with self._store.working(()) as work:
                work.check()
                if last_save(work.session) != (before.saves, self._name):
                    raise self._gone_on()
                write_events(work, events, reserved)
                for assumption in assumptions[before.assumptions :]:
                    work.assume(assumption)
                saved = [after.saves, hashlib.sha256(state).hexdigest(), notes.rows]
                work.append_save(saved, ledger.current_time(), ledger.drift)
                work.keep(kept)
                work.save_run(after.saves, self._name, state)
            self._settle(notes, after)
            self._pending = None
        finally:
            self._saving = False

    def check_held(self) -> None:
        """Refuse if another process has gone on with the run since.

        Raises
        ------
        InUse
            Then.
        """
        if _last_save(self._store.database)[1] != self._name:
            raise self._gone_on()

    def _gone_on(self) -> InUse:
        return InUse(f"{self._store.name}: another process has gone on with this run since: load it again")

    def _settle(self, notes: Notes, after: _Known) -> None:
        """Note that a save has ended."""
        notes.settle()  # first: interrupted, it is done again, and what follows is one step
        self._journal.begin(after.saves, after.reserved)
        self._known = after

    def close(self) -> None:
        """Close it for others to open; a store in which no save has ended is removed."""
        try:
            self._journal.close()
            if self._store.database.holding and not self._known.saves:
                with suppress(OSError):  # then the next run that begins there replaces it
                    opening.unmake_run(self._store.database, self._name)
        finally:
            self._store.database.close()  # a finalizer runs once, also where it was interrupted: again would do nothing
            self._close.detach()


@contextmanager
def _run_database(where: str | Path) -> Iterator[Database]:
    """Yield the database of a run's store, which may be in use."""
    with closing(opening.find_database(where)) as database:
        if not opening.is_run(database):
            raise ParameterError(f"{database.name}: holds a ledger, but no run")
        yield database


def _last_save(database: Database) -> tuple[int, str]:
    with database.reading() as session:
        return last_save(session)


def _kept_value(database: Database, name: str) -> bytes | None:
    with database.reading() as session:
        found = session.row("SELECT value, digest FROM kept WHERE name = ?", name)
    if found is None:
        return None
    value, digest = map(stored_bytes, found)
    if row_digest(name, value) != digest:
        raise LedgerDamaged(f"{database.name}: the table `kept` is not what was written")
    return value
