"""Regret by simulation: many independent runs of a learner, side by side in lanes."""

from __future__ import annotations

import math
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from accountant import Simulation
from accountant.gates.random_streams import RandomStream
from algorithms.learner import PhasedLearner
from algorithms.play import BuildLearner, play_fresh, play_phases
from algorithms.problems import Problem
from algorithms.reward_curve import RewardCurve
from mechanisms import BLOCK, LaneStreams
from mechanisms.arrays import FloatArray

_BLOCKS_AT_ONCE = 16  # lanes per array: large enough to hide NumPy's overhead, small enough for the cache


@dataclass(frozen=True)
class Trace:
    """Regret and reward of every run at checkpoints.

    Attributes
    ----------
    rounds
        The checkpoints, increasing; shape (c,).
    regret
        Cumulative expected regret ``sum_t (alpha beta optimum - r(S_t))``; shape (c, runs).
    reward
        Cumulative expected reward ``sum_t r(S_t)``; shape (c, runs).
    seconds
        Wall time of the simulation.
    """

    rounds: npt.NDArray[np.int64]
    regret: FloatArray
    reward: FloatArray
    seconds: float

    @property
    def runs(self) -> int:
        """How many independent runs."""
        return int(self.regret.shape[1])

    @property
    def regret_mean(self) -> FloatArray:
        """Mean regret at each checkpoint."""
        mean: FloatArray = self.regret.mean(axis=1)
        return mean

    @property
    def regret_sem(self) -> FloatArray:
        """Standard error of the mean regret; NaN for a single run."""
        if self.runs == 1:
            return np.full(len(self.rounds), np.nan)
        sem: FloatArray = self.regret.std(axis=1, ddof=1) / math.sqrt(self.runs)
        return sem

    @property
    def return_mean(self) -> FloatArray:
        """Mean reward per round, up to each checkpoint."""
        mean: FloatArray = self.reward.mean(axis=1) / self.rounds
        return mean

    @property
    def lane_rounds_per_second(self) -> float:
        """Simulated rounds times runs, per second of wall time."""
        return int(self.rounds[-1]) * self.runs / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class _Job:
    build: BuildLearner
    problem: Problem
    seed: int
    rounds: npt.NDArray[np.int64]


def simulate(
    build: BuildLearner,
    problem: Problem,
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: int = 50,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Trace:
    """Simulate `runs` independent runs.

    A run's outcome depends on `seed` and its own number only, not on `runs` or `workers`. A learner that holds its
    actions (`PhasedLearner`) is played phase by phase, each lane on its own clock: the law is the same, and a
    horizon of 10^9 rounds costs less than a millisecond a run.

    Parameters
    ----------
    build
        Makes a learner on a gate.
    problem
        What is played.
    horizon
        Rounds per run.
    runs
        How many runs.
    seed
        A non-negative integer.
    checkpoints
        At how many rounds (spaced geometrically) regret is kept.
    workers
        Worker processes; 1 runs in this process.
    progress
        Called with the share that is done.

    Raises
    ------
    ValueError
        If `horizon`, `runs` or `workers` is below 1, or `seed` is negative.
    """
    for name, value in (
        ("horizon", horizon),
        ("runs", runs),
        ("workers", workers),
        ("checkpoints", checkpoints),
    ):
        if value < 1:
            raise ValueError(f"{name}={value!r}: must be at least 1")
    if seed < 0:
        raise ValueError(f"seed={seed!r}: must be at least 0")
    start = time.perf_counter()
    job = _Job(build, problem, seed, checkpoint_rounds(horizon, checkpoints))
    blocks = math.ceil(runs / BLOCK)
    per_chunk = min(_BLOCKS_AT_ONCE, math.ceil(blocks / workers))
    chunks = [(first, min(per_chunk, blocks - first)) for first in range(0, blocks, per_chunk)]
    parts = _map(job, chunks, workers, progress)
    regret = np.concatenate([part[0] for part in parts], axis=1)[:, :runs]
    reward = np.concatenate([part[1] for part in parts], axis=1)[:, :runs]
    return Trace(job.rounds, regret, reward, time.perf_counter() - start)


def checkpoint_rounds(horizon: int, count: int) -> npt.NDArray[np.int64]:
    """Return at most `count` rounds up to and with `horizon`, spaced geometrically from 1."""
    return np.unique(np.round(np.geomspace(horizon, 1, count)).astype(np.int64))


_job: _Job | None = None


def _set_job(job: _Job) -> None:
    global _job
    _job = job


def _run_in_worker(chunk: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    assert _job is not None
    return _run(_job, *chunk, None)


def _map(
    job: _Job,
    chunks: list[tuple[int, int]],
    workers: int,
    progress: Callable[[float], None] | None,
) -> list[tuple[FloatArray, FloatArray]]:
    if workers == 1 or len(chunks) == 1:
        share = 1 / len(chunks)
        return [
            _run(job, *chunk, None if progress is None else _shifted(progress, i * share, share))
            for i, chunk in enumerate(chunks)
        ]
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context(), initializer=_set_job, initargs=(job,)
    ) as pool:
        parts = []
        for part in pool.map(_run_in_worker, chunks):
            parts.append(part)
            if progress is not None:
                progress(len(parts) / len(chunks))
        return parts


def _shifted(progress: Callable[[float], None], offset: float, share: float) -> Callable[[float], None]:
    return lambda part: progress(offset + share * part)


def _run(
    job: _Job, first_block: int, blocks: int, progress: Callable[[float], None] | None
) -> tuple[FloatArray, FloatArray]:
    """Run `blocks` blocks of lanes from `first_block` on; return regret and reward, (checkpoints, lanes)."""
    lanes = blocks * BLOCK
    gate = Simulation(job.seed, lanes, first_block=first_block)
    environment = LaneStreams(job.seed, lanes, first_block, key=(RandomStream.ENVIRONMENT,))
    learner = job.build(gate)
    curve = RewardCurve(job.rounds, lanes)
    horizon = int(job.rounds[-1])
    tell = _sparingly(progress)
    if hasattr(type(learner), "committed"):  # of the class: before the first action there is no value
        phased = cast(PhasedLearner, learner)
        for super_arm, held in play_phases(phased, job.problem, gate, environment, horizon):
            curve.add_phases(job.problem.expected_reward(super_arm), held)
            tell(curve.slowest / horizon)
    else:
        for played, super_arm in enumerate(
            play_fresh(learner, job.problem, gate, environment, horizon), start=1
        ):
            curve.add(job.problem.expected_reward(super_arm))
            tell(played / horizon)
    return job.problem.benchmark * job.rounds[:, np.newaxis] - curve.kept, curve.kept


def _sparingly(progress: Callable[[float], None] | None) -> Callable[[float], None]:
    """Return a function that passes the share done on whenever another hundredth is."""
    if progress is None:
        return lambda share: None
    told = 0.0

    def tell(share: float) -> None:
        nonlocal told
        if share >= told + 0.01 or share >= 1.0 > told:
            told = share
            progress(share)

    return tell
