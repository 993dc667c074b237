"""Designs, counters, shuffle calibration and distributed linear bandits: times, and certified beside published.

Run with ``python tests/benchmarks/bench_linear.py [horizon] [runs]``; one core, CPU time, the least of five calls. The
problem of the table is the published experiment's (d = 20, k = 1000, sigma = 0.1, 100,000 clients), with rewards of
+1 and -1 and |theta*| = 1/2.
"""

from __future__ import annotations

import functools
import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable

import numpy as np

from algorithms.g_optimal import g_optimal_design
from algorithms.linear_catalogue import linear_learners
from algorithms.linear_play import simulate_phases
from algorithms.problems import LinearBandit
from mechanisms import BinaryTree, BufferedCounter, Hybrid, ShuffledMean, SignedTree, SquareRootCounter


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

    rng, million = np.random.default_rng(0), 10**6
    for path in (
        BinaryTree.for_epsilon(1.0, horizon=million),
        SignedTree.for_epsilon(1.0, horizon=million),
        SquareRootCounter.for_rho(0.5, horizon=million),
    ):
        milliseconds = cpu_milliseconds(functools.partial(path.noise_path, million, rng))
        print(f"{type(path).__name__} noise path T=10^6: {milliseconds:.0f} ms")
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

    problem = LinearBandit.random(
        actions=1000, dimension=20, length=0.5, sigma=0.1, population=100_000, seed=1, rewards="signs"
    )
    for epsilon, delta in ((10.0, 0.25), (1.0, 1e-6)):
        print(
            f"\nepsilon {epsilon:g}, delta {delta:g}, T = {horizon}: uniform play {problem.gaps.mean() * horizon:.0f}"
        )
        for name, entry in linear_learners.items():
            if "dpe" not in name:
                continue
            privacy = {"epsilon": epsilon, "delta": delta} if "dp-" in name else {}
            build = functools.partial(
                entry.make,
                problem.actions,
                horizon=horizon,
                population=problem.population,
                sigma=problem.sigma,
                reward_bound=1.0,
                **privacy,
            )
            start = time.process_time()
            trace = simulate_phases(build, problem, runs=runs, seed=3)
            seconds = (time.process_time() - start) / runs
            sent = trace.communication[0]
            print(
                f"  {name:26s} regret {trace.regret.mean():9.0f}, best kept {trace.best_kept.mean():4.0%}, "
                f"{sent.reals} reals {sent.bits} bits, {seconds:.1f} s a run"
            )


if __name__ == "__main__":
    arguments = [int(float(argument)) for argument in sys.argv[1:3]]
    main(*(arguments + [100_000, 3][len(arguments) :]))
