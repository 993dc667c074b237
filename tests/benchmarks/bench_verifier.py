"""CPU time of the verifier's inner parts: ``python tests/benchmarks/bench_verifier.py``."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from verify.events.count_events import count_events
from verify.events.event import Event, HalfLine
from verify.events.features import Draws, features
from verify.events.predicted_bound import predicted_epsilon
from verify.events.readings import ColumnValue
from verify.events.score_fit import logistic, naive_bayes
from verify.events.summaries import ColumnSummary, SummaryOperation
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.outputs.read_outputs import read_outputs
from verify.sampling.black_box import black_box_test
from verify.sampling.draws import ClaimTest
from verify.sampling.stouffer import Stouffer

COLUMNS = (Column("output", "the output", "real"),)
SHARES = np.random.default_rng(0).random(20_000)
WORDS = ["yes", "no"] * 50_000
TEN = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in range(10))
OPERATIONS: tuple[SummaryOperation, ...] = (
    "sum",
    "largest",
    "smallest",
    "place of largest",
    "present",
    "first change",
)


def draw(other: bool, n: int, seed: np.random.SeedSequence) -> ViewSample:
    """Laplace noise of half the scale that epsilon = 1 needs."""
    values = other + np.random.default_rng(seed).laplace(scale=0.5, size=(n, 1))
    return ViewSample(values, COLUMNS)


def black_box(samples: int) -> object:
    """One whole black-box test of a scalar mechanism."""
    return black_box_test(
        [NeighbouringWorlds(("0", "1"), draw)], ClaimTest(epsilon=1.0, delta=0.0, samples=samples, seed=0)
    )


def views(world: int, rows: int) -> ViewSample:
    """Noisy numbers in ten columns, of which a draw has some: the last one is above 1."""
    values = np.random.default_rng(world).laplace(0.02 * world, 1.0, size=(rows, 10))
    above = values >= 1.0
    values[np.cumsum(above, axis=1) - above >= 1] = np.nan
    return ViewSample(values, TEN)


def band() -> tuple[Event, ...]:
    """Events such as a band has: thresholds of two scores that share their readings."""
    fit = views(0, 40_000), views(1, 40_000)
    draws = Draws.from_sizes((40_000, 40_000))
    readings = [
        *(ColumnValue(column) for column in TEN),
        *(ColumnSummary(name, TEN) for name in OPERATIONS),
    ]
    found = features(fit, readings)
    scores = [naive_bayes(found, draws), logistic(found, draws)]
    return tuple(HalfLine(score, 0.1 * i, True) for score in scores if score is not None for i in range(6))


BAND, BATCH = band(), views(2, 26_112)

TASKS: dict[str, Callable[[], object]] = {
    "Stouffer inversion of 2 x 1e6 draws": lambda: Stouffer(0.5).epsilon_lower(
        300_001, 10**6, 150_000, 10**6, 0.0, 0.05
    ),
    "predicted bounds of 20,000 events": lambda: predicted_epsilon(SHARES, SHARES / 2, 10**6, 1e-5, 0.05),
    "a band of two scores of 17 readings, 26,112 draws": lambda: count_events(BAND, BATCH),
    "fitting those scores to 80,000 draws": band,
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
        print(f"{name:52s} {1000 * min(seconds):10.1f} ms")


if __name__ == "__main__":
    main()
