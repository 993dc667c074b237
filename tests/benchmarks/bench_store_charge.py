"""CPU time of a charge in a store of SQLite that one thread uses, beside a bare row of SQLite.

``python tests/benchmarks/bench_store_charge.py [--folder /dev/shm] [--blocks 20] [--each 200] [--before FOLDER]``

Each charge is a transaction of one thread. Processes take turns, a block of charges each, so that whatever else the
machine does falls on all of them; printed are the least and the middle CPU microseconds of a charge, and the middle of
the ratios of blocks that followed each other. `--before` names a checkout of other code of this library. On a RAM disk
waiting costs nothing, so that what is left is the store's own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bare_rows import insert_row, open_bare_table


def release(store: str | None) -> Callable[[int], object]:
    """Return what releases a value of a new record."""
    import numpy as np  # after the environment says which code is measured

    from accountant import Accountant, Budget
    from mechanisms import Interval, Laplace

    unit = Interval(0, 1)
    accountant = Accountant(Budget(1e9), noise=np.random.default_rng(0), store=store)
    noise = Laplace.for_epsilon(0.25, sensitivity=unit.sensitivity)
    return lambda number: accountant.release(noise, accountant.private([0.5], unit, f"user-{number}"))


def worker(what: str, folder: str, each: int) -> None:
    """Work on a block for each line that is read, and say what it took."""
    act = {
        "row": lambda: partial(insert_row, open_bare_table(Path(folder) / "bare.db")),
        "memory": lambda: release(None),
        "release": lambda: release(f"{folder}/ledger.db"),
    }[what]()
    number = 0
    for _ in sys.stdin:
        begun = time.process_time()
        for _ in range(each):
            number += 1
            act(number)
        print((time.process_time() - begun) / each * 1e6, flush=True)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description="Measure what a charge in a store costs.")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--each", type=int, default=200)
    parser.add_argument("--before", type=Path, help="A checkout of other code.")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        worker(asked.worker, asked.folder, asked.each)
        return
    here = Path(__file__).parents[2]
    rows = [("a bare row of SQLite's", "row", here), ("a release in memory", "memory", here)]
    rows += [("a release in a store", "release", here)]
    if asked.before:
        rows += [
            ("before: in memory", "memory", asked.before),
            ("before: in a store", "release", asked.before),
        ]
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        processes, blocks = [], [[] for _ in rows]  # type: list[subprocess.Popen[str]], list[list[float]]
        for number, (_, what, code) in enumerate(rows):
            own = f"{folder}/{number}"
            os.mkdir(own)
            command = [sys.executable, __file__, "--worker", what, "--folder", own, "--each", str(asked.each)]
            environment = {**os.environ, "PYTHONPATH": str(code)}
            processes.append(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
                )
            )
        for _ in range(asked.blocks + 1):
            for process, found in zip(processes, blocks, strict=True):
                assert process.stdin is not None
                assert process.stdout is not None
                print(file=process.stdin, flush=True)
                found.append(float(process.stdout.readline()))
        for process in processes:
            process.communicate()
    last = [found[1:] for found in blocks]
    for (name, _, _), found in zip(rows, last, strict=True):
        ratio = statistics.median(one / other for one, other in zip(found, last[-1], strict=True))
        words = f"least {min(found):6.0f} us  middle {statistics.median(found):6.0f} us"
        print(f"{name:26} {words}  {ratio:5.2f} of the last line's")


if __name__ == "__main__":
    main()
