"""Lane-rounds per second, few and many lanes, beside a per-round NumPy loop; what accounting costs per release.

Run with ``python tests/benchmarks/bench_lanes.py``; one core, CPU time, the least of three runs. Both sides of
each comparison run in this process, one after the other.
"""

from __future__ import annotations

import math
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable

import numpy as np

from accountant import Accountant, Budget, Simulation, Trust
from algorithms.catalogue.structured_entries import learners
from algorithms.estimates.response_mixture import ResponseMixture
from algorithms.play import play_records
from algorithms.problems import problems
from algorithms.simulate import simulate

ITEMS, K, EPSILON = 20, 4, 1.0
RUNS, ROUNDS, LOOP_ROUNDS = 1000, 2000, 5000
SIZES = (10, 2_000), (1_000, 300), (10_000, 60)
LEARNERS = (
    "cucb-ldp2",
    "cucb-ldp-bit",
    "cucb-ldp1",
    "cascade-ucb1",
    "cascade-ucb-rr",
    "published/cascade-ucb-ldp-laplace",
    "published/cucb-dp-least",
)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def loop_cucb_ldp2(means: np.ndarray, rounds: int) -> None:
    """CUCB-LDP2 as a researcher writes it: one run, one round at a time."""
    rng = np.random.default_rng(0)
    count, mean = np.zeros(ITEMS), np.zeros(ITEMS)
    for _ in range(rounds):
        with np.errstate(divide="ignore"):
            index = np.minimum(mean + 4 * np.sqrt(2 * math.log(rounds) / (EPSILON**2 * count)), 1)
        arms = np.argsort(-index, kind="stable")[:K]
        arm = arms[np.argmin(count[arms])]
        message = (rng.random() < means[arm]) + rng.laplace(scale=1 / EPSILON)
        count[arm] += 1
        mean[arm] += (message - mean[arm]) / count[arm]


def loop_cascade(means: np.ndarray, rounds: int) -> None:
    """CascadeUCB1 with one Laplace draw per examined item, one run, one round at a time."""
    rng = np.random.default_rng(0)
    count, mean = np.ones(ITEMS), (rng.random(ITEMS) < means).astype(float)
    for t in range(1, rounds + 1):
        shown = np.argsort(-(mean + np.sqrt(1.5 * math.log(t) / count)), kind="stable")[:K]
        attracted = rng.random(K) < means[shown]
        stop = int(np.argmax(attracted)) + 1 if attracted.any() else K
        examined = shown[:stop]
        values = attracted[:stop] + rng.laplace(scale=K / EPSILON, size=stop)
        mean[examined] = (count[examined] * mean[examined] + values) / (count[examined] + 1)
        count[examined] += 1


def loop_cascade_rr(means: np.ndarray, rounds: int) -> None:
    """CascadeUCBRR, one run, one round at a time; the mixture's bound is the library's, of one item at a time."""
    rng = np.random.default_rng(0)
    odds = math.exp(-EPSILON)
    false, gain, x = odds / (1 + K * odds), (1 - odds) / (1 + K * odds), math.log(6 * ITEMS * rounds**2)
    mixture = ResponseMixture(K, false, gain, math.log(2 * K * rounds), rounds)
    clicks, examined, displays, said, above = np.zeros((5, ITEMS))
    placed, index, place = np.zeros((ITEMS, K)), np.full(ITEMS, np.inf), np.arange(K)
    for _ in range(rounds):
        chosen = np.argsort(-index, kind="stable")[:K]
        shown = chosen[np.argsort(displays[chosen], kind="stable")]
        attracted = rng.random(K) < means[shown]
        symbol = int(np.argmax(attracted)) if attracted.any() else K
        if rng.random() >= false + gain:
            symbol = (symbol + int(rng.integers(1, K + 1))) % (K + 1)
        z = ((place == symbol) - false) / gain
        clicks[shown] += z
        examined[shown] += 1 - (np.cumsum(z) - z)
        displays[shown] += 1
        said[shown] += place == symbol
        above[shown] += symbol < place
        placed[shown, place] += 1
        n, seen, upper = displays[shown], examined[shown] > 0, np.ones(K)
        for _ in range(3):
            u = np.clip(upper, 0, 1)
            variance = np.minimum(0.25, false + u * (gain + min(1.0, (K - 1) * false + gain) * u))
            radius = np.minimum(np.sqrt(n * x / 2), np.sqrt(2 * n * x * variance) + x / 3) / gain
            upper = np.where(seen, (clicks[shown] + radius) / np.where(seen, examined[shown], 1), np.inf)
        index[shown] = np.minimum(index[shown], upper)
        for item in shown[np.floor(8 * np.log2(n)) > np.floor(8 * np.log2(np.maximum(n - 1, 0.5)))]:
            start = np.clip(index[item : item + 1], 0, 1)
            one = slice(item, item + 1)
            index[item] = min(index[item], mixture.upper(start, said[one], above[one], placed[one])[0])


def round_cost(name: str, runs: int, rounds: int) -> float:
    """Return CPU seconds a round of all runs of a registered learner on its default problem."""
    entry = learners[name]
    problem = problems[entry.default_problem].build()
    build = entry.build(problem, epsilon=EPSILON, horizon=rounds)
    return cpu_seconds(lambda: simulate(build, problem, horizon=rounds, runs=runs, seed=0)) / rounds


def accounting_cost(name: str) -> tuple[float, float]:
    """Return microseconds a round of one lane: simulated, and under the accountant with the same noise."""
    entry = learners[name]
    problem = problems[entry.default_problem].build()
    build = entry.build(problem, epsilon=EPSILON, horizon=LOOP_ROUNDS)
    records = problem.draw_records(np.random.default_rng(1), LOOP_ROUNDS + 1)

    def run(gate: Simulation | Accountant) -> None:
        for _ in play_records(build(gate), problem, gate, records):
            pass

    def accounted() -> Accountant:
        return Accountant(Budget(EPSILON), trust=Trust.LOCAL, noise=np.random.default_rng(0))

    simulated = cpu_seconds(lambda: run(Simulation(0, 1)))
    return simulated / LOOP_ROUNDS * 1e6, cpu_seconds(lambda: run(accounted())) / LOOP_ROUNDS * 1e6


def main() -> None:
    """Print both tables."""
    means = problems["top-k"].build().means
    loops = {
        "cucb-ldp2": LOOP_ROUNDS / cpu_seconds(lambda: loop_cucb_ldp2(means, LOOP_ROUNDS)),
        "cascade": LOOP_ROUNDS / cpu_seconds(lambda: loop_cascade(means, LOOP_ROUNDS)),
        "cascade-ucb-rr": LOOP_ROUNDS / cpu_seconds(lambda: loop_cascade_rr(means, LOOP_ROUNDS)),
    }
    print(f"million lane-rounds per CPU second, L={ITEMS} K={K} R={RUNS}")
    for name in ("cucb-ldp2", "cascade-ucb1", "cascade-ucb-rr", "published/cascade-ucb-ldp-laplace"):
        loop = loops.get(name, loops["cascade"])
        rate = RUNS / round_cost(name, RUNS, ROUNDS)
        print(f"  {name:36s} {rate / 1e6:6.2f}   NumPy loop {loop / 1e6:6.3f}   x{rate / loop:.0f}")
    print("microseconds per round of 10 runs; million lane-rounds per CPU second, R=1000 and 10000")
    for name in LEARNERS:
        few, many, most = (round_cost(name, runs, rounds) for runs, rounds in SIZES)
        print(f"  {name:36s} {few * 1e6:6.1f}   {1e-3 / many:6.2f}   {1e-2 / most:6.2f}")
    print("microseconds per round of one lane (one release a round)")
    for name in ("cucb-ldp1", "cucb-ldp2", "cucb-ldp-bit", "cascade-ucb-rr"):
        simulated, accounted = accounting_cost(name)
        on_top = accounted - simulated
        print(f"  {name:36s} simulated {simulated:5.1f}   accounted {accounted:5.1f}   on top {on_top:4.1f}")


if __name__ == "__main__":
    main()
