"""Simulated faults under the library's own stores: power cuts, older copies, processes that die."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from simulation import History, Moved

from accountant import BasicComposition, Trust
from accountant.ledger.events import LedgerCommand
from accountant.ledger.store import Receipt
from accountant.rules import clock
from accountant.stores import opening
from accountant.stores.anchor import Anchor, Mark
from accountant.stores.sql_store import SQLStore
from accountant.stores.store_refusals import StoreMoved
from accountant.stores.transaction import Transaction
from accountant.terms import Terms


class MortalAnchor(Anchor):
    """One whose writer may die before it is written."""

    history: History

    def write(self, mark: Mark) -> None:
        self.history.may_die()
        super().write(mark)


class MortalStore(SQLStore):
    """A store of a process that may die in front of a commit, and behind it."""

    history: History

    @contextmanager
    def working(self, *asked: Any, **options: Any) -> Iterator[Transaction]:
        history = getattr(self, "history", None)
        with super().working(*asked, **options) as work:
            yield work
            if history is not None:
                history.may_die()
        if history is not None:
            answered = (key for key in work._asked if work.requests[key].digest is not None)
            for key in answered:
                history.kept_at.setdefault(key, history.now)
            history.storage.note()  # type: ignore[attr-defined]  # the anchor is written behind the sync
            history.may_die()


class Client:
    """A process that has a store open."""

    def __init__(self, files: Files) -> None:
        self._files, history = files, files.history
        self._ahead = history.clock_error()
        files.ahead = self._ahead
        terms = Terms(history.budget, BasicComposition(), Trust.CENTRAL, False)
        self.store: Any = opening.open_store(
            files.path, terms, anchor=files.anchor, rules=history.rules or None
        )
        self.store.history = history
        anchor = MortalAnchor(files.anchor)
        object.__setattr__(anchor, "history", history)
        self.store._anchor = anchor

    def do(self, command: LedgerCommand) -> Receipt:
        self._files.ahead = self._ahead
        before = self._files.read()
        try:
            found: Receipt = self.store.do(command)
        except StoreMoved:
            raise Moved from None
        self._files.note(before)
        return found


class Files:
    """The files of a store, what of them is synced, and copies of them."""

    def __init__(self, history: History, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.history = history
        self.path, self.anchor = folder / "ledger.db", folder / "anchor"
        self.ahead = 0
        patch.setattr(clock, "wall", lambda: history.now + self.ahead)
        patch.setattr(clock, "running", lambda: history.now)
        patch.setattr(opening, "SQLStore", MortalStore)
        self._clients: list[Client] = []
        self._copy, self._older, self._newer = (folder / name for name in ("copy", "older", "newer"))
        self._synced: dict[str, bytes] = {}
        self._clients.append(Client(self))
        self.note()
        _copied(self.path, self._older)

    def read(self) -> dict[str, bytes]:
        return {
            end: Path(f"{self.path}{end}").read_bytes()
            for end in ("", "-wal")
            if Path(f"{self.path}{end}").exists()
        }

    def note(self, before: dict[str, bytes] | None = None) -> None:
        """Take note of a commit: it syncs all that was written before; who writes nothing syncs nothing."""
        now = self.read()
        if now != before:
            self._synced = now
        if self.history.chosen.random() < 0.1:
            _copied(self.path, self._older)

    def open(self) -> Client:
        before = self.read()
        client = Client(self)
        self._clients.append(client)
        self.note(before)
        return client

    def close(self) -> None:
        for client in self._clients:
            client.store.close()
        self._clients.clear()

    def cut_power(self) -> None:
        left = self.history.chosen.choice((self._synced, self.read()))
        self.close()
        for end in ("-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        for end, content in left.items():
            with Path(f"{self.path}{end}").open("r+b" if end == "" else "wb") as file:  # it is the same file
                file.truncate()
                file.write(content)
        self._synced = left

    def put_back(self) -> None:
        _copied(self.path, self._newer)
        _copied(self._older, self.path)
        self._left = self._head()

    def bring_back(self) -> bool:
        if self._head() != self._left:
            return False
        _copied(self._newer, self.path)
        self._synced = self.read()
        return True

    def _head(self) -> Any:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute("SELECT hash FROM entry ORDER BY position DESC LIMIT 1").fetchone()

    def spent(self) -> dict[str, int]:
        self.close()
        try:
            store: Any = opening.open_store(self.path, anchor=self.anchor)
        except StoreMoved:
            raise Moved from None
        with closing(store):
            accounts = store.verify().replay.accounts
            with store.database.reading() as session:
                labels = session.rows("SELECT number, label FROM account")
        return {label.strip('"'): accounts[number].spent[0] for number, label in labels if number in accounts}


def _copied(source: Path, target: Path) -> None:
    """Put what one database holds into another, which stays the same file."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)
