"""The cost of a run of T rounds of a learner that holds its actions: T = 10^3 .. 10^9, 1,000 runs side by side.

Run with ``python tests/benchmarks/bench_phases.py``; one core, CPU time, the least of three runs. Beside it, the same
learner one round at a time (measured at T = 2,000 and scaled), which is what a loop over rounds costs.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable

from accountant import Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_fresh
from algorithms.problems import problems
from algorithms.simulate import simulate
from mechanisms import LaneStreams

RUNS, EPSILON, SINGLE_ROUNDS, SINGLE_LANES = 1000, 1.0, 2000, 1024
LEARNERS = ("cascade-ucb-batch", "cucb-batch")


def cpu_seconds(work: Callable[[], object], times: int = 3) -> float:
    """Return the least CPU time of some runs."""
    taken = []
    for _ in range(times):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def main() -> None:
    """Print milliseconds per run."""
    horizons = (10**3, 10**5, 10**7, 10**9)
    print(f"CPU milliseconds per run, {RUNS} runs side by side, epsilon = {EPSILON:g}")
    heads = "".join(f"{f'T = {horizon:.0e}':>12s}" for horizon in horizons)
    print(f"  {'learner':22s}{heads}{'one round at a time, T = 1e9':>32s}")
    for name in LEARNERS:
        entry = learners[name]
        problem = problems[entry.default_problem].build()
        cells = []
        for horizon in horizons:
            build = entry.build(problem, epsilon=EPSILON, horizon=horizon)
            seconds = cpu_seconds(
                lambda build=build, problem=problem, horizon=horizon: simulate(
                    build, problem, horizon=horizon, runs=RUNS, seed=0
                )
            )
            cells.append(f"{seconds / RUNS * 1e3:12.2f}")

        def single(entry=entry, problem=problem) -> None:
            gate = Simulation(0, SINGLE_LANES)
            learner = entry.build(problem, epsilon=EPSILON, horizon=SINGLE_ROUNDS)(gate)
            for _ in play_fresh(
                learner, problem, gate, LaneStreams(0, SINGLE_LANES, key=(2,)), SINGLE_ROUNDS
            ):
                pass

        per_round = cpu_seconds(single, 1) / SINGLE_ROUNDS / SINGLE_LANES
        print(f"  {name:22s}{''.join(cells)}{per_round * 1e9 / 60:26,.0f} minutes")


if __name__ == "__main__":
    main()
