"""CPU time of charges that share a transaction of SQLite, and what of it is SQLite's, JSON's and the hashes'.

``python tests/benchmarks/bench_charge_groups.py [--folder /dev/shm] [--charges 6400]``

Transactions of 1, 8 and 64 charges of new records each are made in a store, and their statements noted. Then these are
run again by a bare connection on a copy of the file from before, and the entries are written as JSON and hashed again.
Printed are the least and the middle CPU microseconds a charge. On a RAM disk waiting costs nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from accountant import Accountant, Budget, Cost, Entry, Place
from accountant.filters.units import Limit
from accountant.ledger.events import Charge
from accountant.stores import database
from accountant.stores.chain import START, canonical, entry_hash
from accountant.stores.opening import open_store
from accountant.stores.sql_store import SQLStore, _NamedCharge
from mechanisms import Interval, Laplace

BUDGET = Budget(1e9)
MOVED = Interval(0, 1).sensitivity
NOISE = Laplace.for_epsilon(0.25, sensitivity=MOVED)
COST = Cost(Fraction(1, 4), Fraction(0))
Statement = tuple[str, tuple[Any, ...]]
"""A method of a connection, and its arguments."""


class NotingConnection(database._File):
    """A connection of a store that keeps its statements."""

    statements: ClassVar[list[Statement]] = []

    def execute(self, *arguments: Any) -> Any:
        self.statements.append(("execute", arguments))
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self.statements.append(("executemany", arguments))
        return super().executemany(*arguments)

    def commit(self) -> None:
        self.statements.append(("commit", ()))
        super().commit()


def named_charges(store: SQLStore, numbers: range) -> list[_NamedCharge]:
    """Return charges of records with these numbers."""
    holds = Limit(store._units, BUDGET).holds
    return [
        _NamedCharge(
            Charge([Entry(NOISE, MOVED, COST, (f"user-{number}",), Place("f.py", 3), "opendp")], holds),
            store.names.label_of,
        )
        for number in numbers
    ]


def cpu(acts: Sequence[Callable[[], object]], each: int) -> str:
    """Return the least and the middle microseconds of CPU, of so many in each act, as text."""
    found = []
    for act in acts:
        begun = time.process_time()
        act()
        found.append((time.process_time() - begun) / each * 1e6)
    return f"{min(found):6.1f} {statistics.median(found):6.1f}"


def transactions(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Yield the statements of each transaction that wrote an entry."""
    one: list[Statement] = []
    for statement in statements:
        one.append(statement)
        if statement[0] == "commit":
            yield one
            one = []


def run_again(connection: sqlite3.Connection, statements: Sequence[Statement]) -> None:
    """Run noted statements, and read what they find."""
    for method, arguments in statements:
        found = getattr(connection, method)(*arguments)
        if method == "execute":
            found.fetchall()


def look(folder: Path, group: int, charges: int) -> None:
    """Print what charges take in groups of a size."""
    path, copy = folder / f"{group}.db", folder / f"{group}-copy.db"
    store = open_store(path, Accountant(BUDGET).terms())
    store._commit(iter([named_charges(store, range(1))]))  # of this kind the others are
    store.database.empty_log()
    shutil.copy(path, copy)
    numbers = [range(first, first + group) for first in range(1, charges, group)]

    def groups(each: range) -> Callable[[], object]:
        return lambda: store._commit(iter([named_charges(store, each)]))

    print(
        f"groups of {group:2}: a charge {cpu([groups(each) for each in numbers], group)} us",
        end="",
        flush=True,
    )
    store.close()
    noted = list(transactions(NotingConnection.statements))[-len(numbers) :]
    connection = sqlite3.connect(copy, isolation_level=None)
    for name, value in database._PRAGMAS.items():
        connection.execute(f"PRAGMA {name}={value}")
    again = [lambda one=one: run_again(connection, one) for one in noted]
    print(f", its statements alone {cpu(again, group)}", end="", flush=True)
    connection.close()
    rows = [arguments for one in noted for _, arguments in one if arguments and "INTO entry" in arguments[0]]
    bodies = [[json.loads(row[1]) for row in (found[1] if group > 1 else [found[1]])] for found in rows]
    writes = [lambda some=some: [entry_hash(START, canonical(body)) for body in some] for some in bodies]
    print(f", its JSON and hash {cpu(writes, group)}")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure what charges cost that share a transaction.")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--charges", type=int, default=6_400)
    asked = parser.parse_args()
    database._File = NotingConnection  # type: ignore[misc]
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        for group in (1, 8, 64):
            NotingConnection.statements.clear()
            look(Path(folder), group, asked.charges)


if __name__ == "__main__":
    main()
