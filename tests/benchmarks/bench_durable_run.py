"""The cost of a saved round of a `DurableRun` with a short and with a long ledger.

Run with ``python tests/benchmarks/bench_durable_run.py``; one core, CPU time of one round and its save, the mean of 50
after so many rounds. Beside it stands what it was when every save wrote the whole ledger (same machine). The disk's
own time comes on top: one ``fsync`` a save.

Then two runs take turns that are saved every 1, 10 and 100 rounds; of one no charge is written down before its draw.
Printed are the least CPU of a round of each, and the middle of the ratios of turns that followed each other.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Accountant, Budget
from algorithms import CUCBBatch, CUCBLDPBit, DurableRun
from algorithms.problems import TopK

SAVES = 50
TARGET = 5.0  # milliseconds
TURNS = 40
WHOLE_LEDGER = {"local": (5.4, 59.7, 728.6), "central": (2.4, 4.4, 16.7)}


def local(gate: Accountant) -> CUCBLDPBit:
    """Every round is charged."""
    return CUCBLDPBit(TopK(arms=50, size=5), gate, epsilon=1.0, horizon=1_000_000)


def central(gate: Accountant) -> CUCBBatch:
    """Every record waits for a release; some are charged."""
    return CUCBBatch(TopK(arms=50, size=5), gate, epsilon=1.0, horizon=1_000_000)


def play(
    run: DurableRun[Any], first: int, rounds: int, *, every: int = 0, written_ahead: bool = True
) -> None:
    """Play rounds, each with a user of its own, and save every so many of them, if any."""
    for user in range(first, first + rounds):
        if not written_ahead:  # a save begins it again
            run.accountant.ledger.write_ahead = None  # type: ignore[attr-defined]
        run.learner.act()
        outcomes = run.accountant.private(np.full(5, 0.5), run.learner.feedback_domain, f"user-{user}")
        run.learner.observe(outcomes)
        if every and (user + 1) % every == 0:
            run.save()


def measure(build: Callable[[Accountant], Any]) -> tuple[list[float], float]:
    """Return milliseconds per saved round after 10^3, 10^4 and 10^5 rounds, and seconds to load the last."""
    times, played = [], 0
    with tempfile.TemporaryDirectory() as folder:
        run = DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(0)))
        for rounds in (1_000, 10_000, 100_000):
            play(run, played, rounds - played)
            run.save(Path(folder) / "run")
            start = time.process_time()
            play(run, rounds, SAVES, every=1)
            times.append((time.process_time() - start) / SAVES * 1e3)
            played = rounds + SAVES
        run.close()
        start = time.process_time()
        DurableRun.load(Path(folder) / "run", build, noise=np.random.default_rng(0)).close()
        return times, time.process_time() - start


def written_ahead(build: Callable[[Accountant], Any], every: int) -> tuple[float, float, float]:
    """Return microseconds of a round without and with charges that are written ahead, and their ratio."""
    times: dict[bool, list[float]] = {False: [], True: []}
    rounds = max(every, 20)
    with tempfile.TemporaryDirectory() as folder:
        runs = {}
        for ahead in times:
            run = runs[ahead] = DurableRun(build, Accountant(Budget(1.0), noise=np.random.default_rng(0)))
            run.save(Path(folder) / str(ahead))
            play(run, 0, 2_000, every=100, written_ahead=ahead)
        for turn in range(TURNS):
            for ahead, run in list(runs.items())[:: 1 if turn % 2 else -1]:
                start = time.process_time()
                play(run, 2_000 + turn * rounds, rounds, every=every, written_ahead=ahead)
                times[ahead].append((time.process_time() - start) / rounds * 1e6)
        for run in runs.values():
            run.close()
    ratios = [one / other for one, other in zip(times[True], times[False], strict=True)]
    return min(times[False]), min(times[True]), statistics.median(ratios)


def main() -> None:
    """Print the tables."""
    print(
        f"{'ms CPU per saved round after':30}{'1e3':>8}{'1e4':>8}{'1e5 rounds':>12}{'target':>8}{'load 1e5':>10}"
    )
    for name, build in (("local", local), ("central", central)):
        times, load = measure(build)
        print(f"{name:30}{times[0]:8.1f}{times[1]:8.1f}{times[2]:12.1f}{TARGET:8.1f}{load:8.2f} s")
        before = WHOLE_LEDGER[name]
        print(f"{'  the whole ledger each time':30}{before[0]:8.1f}{before[1]:8.1f}{before[2]:12.1f}")
    print(f"{'us CPU per round':30}{'saved every':>12}{'without':>9}{'with':>9}{'ratio':>7}")
    for name, build in (("local", local), ("central", central)):
        for every in (1, 10, 100):
            without, ahead, ratio = written_ahead(build, every)
            print(f"{name:30}{every:12}{without:9.0f}{ahead:9.0f}{ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
