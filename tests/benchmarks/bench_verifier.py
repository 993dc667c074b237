"""What the verifier's inner parts cost, in CPU time: ``python tests/benchmarks/bench_verifier.py``."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from verify.events.view_sample import Column, ViewSample
from verify.functions.outputs import read_outputs
from verify.sampling.black_box import black_box_test
from verify.sampling.draws import Candidate
from verify.statistics.predicted_bound import predicted_epsilon
from verify.statistics.stouffer import Stouffer

COLUMNS = (Column("output", "the output", "real"),)
SHARES = np.random.default_rng(0).random(20_000)
WORDS = ["yes", "no"] * 50_000


def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
    """Laplace noise of half the scale that epsilon = 1 needs."""
    values = other + np.random.default_rng(seed).laplace(scale=0.5, size=(n, 1))
    return ViewSample(values, COLUMNS)


def black_box(samples: int) -> object:
    """One whole black-box test of a scalar mechanism."""
    return black_box_test(
        [Candidate("0 / 1", draw)], claim_epsilon=1.0, claim_delta=0.0, samples=samples, seed=0
    )


TASKS: dict[str, Callable[[], object]] = {
    "Stouffer inversion of 2 x 1e6 draws": lambda: Stouffer(0.5).epsilon_lower(
        300_001, 10**6, 150_000, 10**6, 0.0, 0.05
    ),
    "predicted bounds of 20,000 events": lambda: predicted_epsilon(SHARES, SHARES / 2, 10**6, 1e-5, 0.05),
    "reading 100,000 words": lambda: read_outputs(WORDS),
    "black box, scalar, 1e6 draws": lambda: black_box(1_000_000),
    "black box, scalar, 1e7 draws": lambda: black_box(10_000_000),
}


def main() -> None:
    """Print the least of three CPU times of each task."""
    for name, task in TASKS.items():
        seconds = []
        for _ in range(3):
            start = time.process_time()
            task()
            seconds.append(time.process_time() - start)
        print(f"{name:40s} {1000 * min(seconds):10.1f} ms")


if __name__ == "__main__":
    main()
