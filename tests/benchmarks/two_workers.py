"""The speed-up of ``verify(..., workers=2)`` over one process, by the clock, where draws dominate.

Run ``python tests/benchmarks/two_workers.py`` (two minutes) on a machine on which nothing else runs: it ends with code
2 if there are not two idle processors, with 1 if two workers are less than 1.7 times as fast, or say something else.
Turns alternate, and the shortest time of each number of workers counts.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import sys
import time

import numpy as np

from mechanisms import Interval
from verify import AnyTwo, verify

TARGET, IDLE = 1.7, 0.5


def plain_python(data: float, rng: np.random.Generator) -> float:
    """Half of the noise that ε = 1 needs, after a tenth of a millisecond in Python."""
    total = 0.0
    for i in range(2_000):
        total += i
    return data + rng.laplace(scale=0.5) + 0.0 * total


def timed(workers: int, samples: int) -> tuple[float, str]:
    """Return the seconds of a verification, and what it says but for times."""
    start = time.perf_counter()
    result = verify(
        plain_python,
        epsilon=1.0,
        neighbours=AnyTwo(Interval(0, 1)),
        samples=samples,
        workers=workers,
        time_limit=float("inf"),
    )
    seconds = time.perf_counter() - start
    said = result.json()
    return seconds, json.dumps([said[key] for key in ("verdict", "lower", "witness")], sort_keys=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    processors, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    if processors < 2 or processors - load < 2.0 - IDLE:
        print(f"{processors} processors at a load of {load:.1f}: two must be idle", file=sys.stderr)
        sys.exit(2)
    timed(1, 20_000)  # what is imported late
    turns = [(timed(1, arguments.samples), timed(2, arguments.samples)) for _ in range(arguments.turns)]
    one, two = (min(turn[which][0] for turn in turns) for which in range(2))
    same = len({said for turn in turns for _, said in turn}) == 1
    print(f"one process {one:.1f} s, two workers {two:.1f} s: {one / two:.2f} times as fast")
    print("the results are the same" if same else "the results are NOT the same")
    sys.exit(not same or one / two < TARGET)


if __name__ == "__main__":
    main()
