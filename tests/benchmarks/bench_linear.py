"""Designs, counters, shuffle calibration and distributed linear bandits: times, and certified beside published.

Run with ``python tests/benchmarks/bench_linear.py [horizon] [runs]``; one core, CPU time, the least of five calls. The
problem of the table is the published experiment's (d = 20, k = 1000, sigma = 0.1, 100,000 clients), with rewards of
+1 and -1 and |theta*| = 1/2. Each published learner stands above the certified one at the same true epsilon, and that
at the epsilon that was claimed.
"""

from __future__ import annotations

import functools
import math
import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable

import numpy as np

from algorithms.catalogue.linear_entries import linear_learners
from algorithms.linear.g_optimal import g_optimal_design
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import linear_problems
from mechanisms import (
    BinaryTree,
    BufferedCounter,
    Gaussian,
    Hybrid,
    Sensitivity,
    ShuffledMean,
    SignedTree,
)


def cpu_milliseconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of five calls."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def sphere(actions: int, dimension: int) -> np.ndarray:
    """Return unit vectors."""
    points = np.random.default_rng(0).standard_normal((actions, dimension))
    return points / np.linalg.norm(points, axis=1)[:, np.newaxis]


def steps_of(counter: BinaryTree | SignedTree | Hybrid | BufferedCounter, lanes: int, steps: int) -> None:
    """Step a stream of so many lanes."""
    stream = counter.start((lanes,), np.random.default_rng(0))
    ones = np.ones(lanes)
    for _ in range(steps):
        stream.step(ones)


def main(horizon: int, runs: int) -> None:
    """Print all times and the table."""
    for actions in (1_000, 100_000):
        points = sphere(actions, 20)
        design = g_optimal_design(points)
        milliseconds = cpu_milliseconds(functools.partial(g_optimal_design, points))
        print(
            f"design d=20 k={actions}: {milliseconds:.2f} ms, support {design.support.size}, "
            f"g/d {design.leverage / 20:.2f}"
        )

    million = 10**6
    for counter in (
        BinaryTree.for_epsilon(1.0, horizon=million),
        SignedTree.for_epsilon(1.0, horizon=million),
        Hybrid(epsilon=1.0),
        BufferedCounter.for_rho(0.5, horizon=million),
    ):
        one = cpu_milliseconds(functools.partial(steps_of, counter, 1, 2_000)) / 2.0
        many = 1.0 / cpu_milliseconds(functools.partial(steps_of, counter, 1_000, 1_000))
        print(
            f"{type(counter).__name__}: {one:.1f} us a step, {1e3 * many:.0f} million lane-steps/s (1,000 lanes)"
        )

    calibrate = functools.partial(ShuffledMean.calibrated, 1.0, 1e-6, clients=10_000, size=45, bound=1.0)
    print(f"shuffle calibration s=45 n=10^4: {cpu_milliseconds(calibrate):.0f} ms")

    problem = linear_problems["linear"].build(dimension=20, actions=1000)
    for epsilon, delta in ((10.0, 0.25), (1.0, 1e-6)):
        print(
            f"\nclaimed ({epsilon:g}, {delta:g}), T = {horizon}: uniform play {problem.gaps.mean() * horizon:.0f}"
        )
        print(
            f"{'learner':26s} {'true epsilon':>12s} {'regret':>9s} {'best kept':>9s} {'reals sent':>11s} "
            f"{'bits sent':>13s}"
        )
        for family in ("dpe", "dp-dpe-central", "dp-dpe-local", "dp-dpe-shuffle"):
            honest = honest_epsilon(family, epsilon, delta)
            for name, paid in ((f"published/{family}", honest), (family, honest), (family, epsilon)):
                given = epsilon if name.startswith("published/") else max(paid, 1e-6)
                entry = linear_learners[name]
                build = entry.build(problem, epsilon=given, delta=delta, horizon=horizon)
                start = time.process_time()
                trace = simulate_phases(build, problem, runs=runs, seed=3)
                seconds = (time.process_time() - start) / runs
                sent = trace.communication[0]
                print(
                    f"{name:26s} {paid:12.4g} {trace.regret.mean():9.0f} {trace.best_kept.mean():9.0%} "
                    f"{sent.reals:11,} {sent.bits:13,}  {seconds:.1f} s a run"
                )
                if family == "dpe" and not name.startswith("published/"):
                    break


def honest_epsilon(family: str, epsilon: float, delta: float) -> float:
    """Return the true epsilon at delta of what is printed for (epsilon, delta); infinite without privacy."""
    if family == "dpe":
        return math.inf
    if family.endswith("shuffle"):
        protocol = ShuffledMean.vector_as_printed(epsilon, delta, clients=1_000, size=50, bound=1.0)
        return protocol.profile().epsilon(delta)
    return Gaussian.classical(epsilon, delta, sensitivity=Sensitivity(2.0, 2.0, 2.0)).profile().epsilon(delta)


if __name__ == "__main__":
    arguments = [int(float(argument)) for argument in sys.argv[1:3]]
    main(*(arguments + [100_000, 3][len(arguments) :]))
