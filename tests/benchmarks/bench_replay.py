"""The cost of a recorded and a replayed release, for functions and for learners.

Run with ``python tests/benchmarks/bench_replay.py``; one core, CPU time, the least of three runs. Beside it stands
the published figure of the known record-and-replay tool (dp-recorder, commit of May 2026: 384 µs per recorded and
replayed call on a comparable core); it was not run here.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
from collections.abc import Callable

import numpy as np

from accountant import Accountant, Budget, Gate, Recorder, Recording, Replay, Retelling
from mechanisms import Gaussian, Interval, Laplace, Sensitivity

RELEASES = 5_000
TARGET, PEER = 50.0, 384.0
SEED = np.random.SeedSequence(1)
LAPLACE = Laplace(scale=1.0)
WIDE = Gaussian(sigma=4.0, sensitivity=Sensitivity(8.0, 3.0, 1.0))


def least(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs, in microseconds per release."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) / RELEASES * 1e6


def scalar(data: float, gate: Recorder | Replay) -> None:
    """Release one number again and again."""
    for _ in range(RELEASES):
        gate.release(LAPLACE, data)


def vector(data: float, gate: Recorder | Replay) -> None:
    """Release a vector of eight with Gaussian noise."""
    values = np.full(8, data)
    for _ in range(RELEASES):
        gate.release(WIDE, values)


def rounds(gate: Gate) -> None:
    """Release one message per round, as a learner does."""
    domain = Interval(0, 1)
    for record in range(RELEASES):
        gate.release(LAPLACE, gate.private(np.zeros((gate.lanes, 1)), domain, record))


def accountant(tape: Recording | Retelling) -> Accountant:
    """Return an accountant on a tape."""
    gate = Accountant(Budget.unlimited(), noise=np.random.default_rng(1), seed=1)
    gate.on_tape(tape)
    return gate


def main() -> None:
    """Print the table."""
    print(f"{'per release':24}{'recorded':>12}{'replayed':>12}{'together':>12}   (µs; target {TARGET:g})")
    for name, code in (("function, a number", scalar), ("function, a vector of 8", vector)):
        recorder = Recorder(SEED)
        code(0.0, recorder)
        recorded = least(lambda code=code: code(0.0, Recorder(SEED)))
        replayed = least(lambda code=code, calls=recorder.calls: code(0.5, Replay(SEED, calls)))
        print(f"{name:24}{recorded:12.1f}{replayed:12.1f}{recorded + replayed:12.1f}")
    tape = Recording()
    rounds(accountant(tape))
    recorded = least(lambda: rounds(accountant(Recording())))
    replayed = least(lambda: rounds(accountant(Retelling(tape))))
    print(f"{'learner':24}{recorded:12.1f}{replayed:12.1f}{recorded + replayed:12.1f}")
    print(f"{'dp-recorder (published)':24}{'':12}{'':12}{PEER:12.1f}")


if __name__ == "__main__":
    main()
