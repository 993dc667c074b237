"""What a charge costs: in memory, in a store, and beside it OpenDP's compositors, which are in memory.

``python tests/benchmarks/bench_ledger.py``: a charge in a store waits for the disk once, so the disk is measured, too.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp

from accountant import Accountant, Budget
from accountant.stores.opening import open_store, verify_store
from mechanisms import Interval, Laplace

UNIT = Interval(0, 1)
NOISE = Laplace.for_epsilon(0.25, sensitivity=UNIT.sensitivity)
TERMS = Budget(1e9)


def quantiles(durations: Sequence[float]) -> str:
    middle, late, worst = np.quantile(durations, [0.5, 0.99, 1.0]) * 1e3
    return f"p50 {middle:8.3f} ms  p99 {late:8.3f} ms  max {worst:8.3f} ms"


def timed(act: Callable[[Any], object], each: Sequence[Any]) -> list[float]:
    durations = []
    for one in each:
        begun = time.perf_counter()
        act(one)
        durations.append(time.perf_counter() - begun)
    return durations


def report(name: str, durations: Sequence[float], total: float) -> None:
    print(f"{name:46} {len(durations) / total:9.0f}/s  {quantiles(durations)}", flush=True)


def releases(name: str, store: Any, charges: int, threads: int = 1, records: int = 1) -> None:
    accountant = Accountant(TERMS, noise=np.random.default_rng(0), store=store)
    values = []
    for i in range(charges):
        value = accountant.private([0.5], UNIT, f"{i}-0")
        for j in range(1, records):
            value = value + accountant.private([0.5], UNIT, f"{i}-{j}")
        values.append(value)
    made: list[float] = []
    accountant.release(NOISE, values[0])
    work = [
        threading.Thread(
            target=lambda part: made.extend(timed(lambda value: accountant.release(NOISE, value), part)),
            args=(values[i::threads],),
        )
        for i in range(threads)
    ]
    begun = time.perf_counter()
    for one in work:
        one.start()
    for one in work:
        one.join()
    report(name, made, time.perf_counter() - begun)


def waits_for_the_disk(folder: Path, writes: int = 300) -> None:
    with (folder / "probe").open("ab", buffering=0) as file:

        def write(_: int) -> None:
            file.write(b"x" * 200)
            os.fsync(file.fileno())

        begun = time.perf_counter()
        report("the disk: append 200 bytes, fsync", timed(write, range(writes)), time.perf_counter() - begun)


def opendp_in_memory(charges: int) -> None:
    """Each release of OpenDP's adaptive compositor reads all before it."""
    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=4.0)
    compositor = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
    queryable = compositor(0.5)
    begun = time.perf_counter()
    made = timed(lambda _: queryable(laplace), range(charges))
    report(f"OpenDP, fully adaptive, {charges} releases", made, time.perf_counter() - begun)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        waits_for_the_disk(folder)
        releases("memory, 1 record", None, 5_000)
        releases("store, 1 record", folder / "one.db", 1_000)
        releases("store, 10 records", folder / "ten.db", 500, records=10)
        releases("store, 100 records", folder / "hundred.db", 100, records=100)
        releases("store, 1 record, 8 threads", folder / "threads.db", 4_000, threads=8)
        anchored = open_store(
            folder / "anchored.db", Accountant(TERMS).terms(), anchor=folder / "anchor.json"
        )
        releases("store, 1 record, anchor", anchored, 300)
        for charges in (100, 1_000):
            opendp_in_memory(charges)
        waits_for_the_disk(folder)
        begun = time.process_time()
        entries = verify_store(folder / "threads.db").entries
        print(f"verified: {(time.process_time() - begun) / entries * 1e6:.1f} µs an entry of {entries}")
        print(f"{(folder / 'threads.db').stat().st_size / entries:.0f} bytes an entry")


if __name__ == "__main__":
    main()
