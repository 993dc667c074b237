"""Regret by simulation: many independent runs of a learner, side by side in lanes."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from accountant import Simulation
from accountant.gates.random_streams import RandomStream
from algorithms.blocks import Arrays, Blocks, BlockStore, Executor, Finished, Tell, run_blocks
from algorithms.learner import PhasedLearner, check_horizon
from algorithms.play import BuildLearner, play_fresh, play_phases
from algorithms.problems import Problem
from algorithms.reward_curve import RewardCurve
from mechanisms import BLOCK, LaneStreams
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, takes, whole_number

_BLOCKS_AT_ONCE = 32  # of lanes, in one array: with 16, a run takes a tenth to a fifth longer
_MOST_RESULTS = 10**9  # 8 GB


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
    stored
        The share of runs that were not simulated in this time, but read from a store.
    """

    rounds: IntArray
    regret: FloatArray
    reward: FloatArray
    seconds: float
    stored: float = 0.0

    @property
    def runs(self) -> int:
        """Number of independent runs."""
        return int(self.regret.shape[1])

    @property
    def regret_mean(self) -> FloatArray:
        """Mean regret at each checkpoint."""
        return np.asarray(self.regret.mean(axis=1))

    @property
    def regret_sem(self) -> FloatArray:
        """Standard error of the mean regret; NaN for a single run."""
        if self.runs == 1:
            return np.full(len(self.rounds), np.nan)
        apart = (
            self.regret - self.regret[:, :1]
        )  # of equal numbers the mean may be off by a rounding, 0 is not
        sem: FloatArray = apart.std(axis=1, ddof=1) / math.sqrt(self.runs)
        return sem

    @property
    def return_mean(self) -> FloatArray:
        """Mean reward per round, up to each checkpoint."""
        return np.asarray(self.reward.mean(axis=1) / self.rounds)

    @property
    def lane_rounds_per_second(self) -> float:
        """Simulated rounds times runs, per second of wall time."""
        return int(self.rounds[-1]) * self.runs * (1.0 - self.stored) / max(self.seconds, 1e-9)


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Independent runs of a learner.

    Attributes
    ----------
    horizon
        Rounds per run.
    runs
        The number of runs.
    seed
        The seed of all randomness, a non-negative integer.
    checkpoints
        The number of rounds (spaced geometrically) at which results are kept.
    progress
        Function that is called with the share done.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    horizon: int
    runs: int
    seed: int
    checkpoints: int = 50
    progress: Callable[[float], None] | None = None

    def __post_init__(self) -> None:
        for name, value in (("runs", self.runs), ("checkpoints", self.checkpoints)):
            whole_number(name, value, least=1)
        if self.runs * self.checkpoints > _MOST_RESULTS:
            raise ParameterError(
                f"runs = {self.runs!r}, checkpoints = {self.checkpoints!r}: their product must be at most "
                f"{_MOST_RESULTS:,}, for as many results are kept"
            )
        check_horizon(self.horizon)
        whole_number("seed", self.seed, least=0)

    @property
    def rounds(self) -> IntArray:
        """The checkpoints."""
        return checkpoint_rounds(self.horizon, self.checkpoints)


@dataclass(frozen=True, kw_only=True)
class RunsInBlocks(Runs):
    """Independent runs that are simulated in blocks, which change no outcome.

    Attributes
    ----------
    workers
        Worker processes (1 runs in this one), or an executor (`algorithms.blocks`).
    store
        The store of finished blocks of 64 runs: the same call goes on after any stop, and one with more runs
        has these already.
    """

    workers: int | Executor = 1
    store: BlockStore | None = None

    def finished(self, blocks: Blocks) -> Finished:
        """Return the results of the blocks; see `run_blocks` for errors."""
        return run_blocks([blocks], self.workers, store=self.store, progress=self.progress)


@dataclass(frozen=True)
class _RunsOfLearner(RunsInBlocks):
    """The runs of a learner on a problem."""

    build: BuildLearner
    problem: Problem


@dataclass(frozen=True)
class _Job:
    build: BuildLearner
    problem: Problem
    seed: int
    rounds: IntArray


@takes(_RunsOfLearner)
def simulate(asked: _RunsOfLearner) -> Trace:
    """Simulate independent runs.

    A run's outcome depends on `seed` and its own number only, not on `runs`, `workers` or `store`. A learner that holds
    its actions (`PhasedLearner`) is played phase by phase, each lane on its own clock: the law is the same, and a
    horizon of 10^9 rounds costs less than a millisecond a run.

    Parameters
    ----------
    build
        Function that makes a learner on a gate.
    problem
        The problem to play.

    Raises
    ------
    ParameterError
        If `horizon`, `runs` or `workers` is below 1, or `seed` is negative; or a stored block is damaged.
    """
    start = time.perf_counter()
    job = _Job(asked.build, asked.problem, asked.seed, asked.rounds)
    words = "rewards of a simulation at checkpoints, 64 lanes a block"
    says = work_description(words, job.build, job.problem, job.seed, job.rounds.tolist())
    work = functools.partial(_run, job)
    done = asked.finished(Blocks(work, math.ceil(asked.runs / BLOCK), _BLOCKS_AT_ONCE, says))
    reward = np.concatenate([block["reward"] for block in done.results[0]], axis=1)[:, : asked.runs]
    regret = job.problem.benchmark * job.rounds[:, np.newaxis] - reward
    return Trace(job.rounds, regret, reward, time.perf_counter() - start, done.stored)


def work_description(
    what: str, build: object, problem: object, seed: int, rounds: list[int] | int | None
) -> dict[str, Any]:
    """Return the description of the blocks of a simulation in a store; with `rounds` if there are some."""
    said = {"what": what, "learner": repr(build)[:1000], "problem": repr(problem)[:1000], "seed": seed}
    return said if rounds is None else {**said, "rounds": rounds}


def checkpoint_rounds(horizon: int, count: int) -> IntArray:
    """Return at most `count` rounds up to and with `horizon`, spaced geometrically from 1."""
    return np.unique(np.round(np.geomspace(horizon, 1, count)).astype(np.int64))


def _run(job: _Job, blocks: range, progress: Tell) -> list[Arrays]:
    """Run adjacent blocks of lanes side by side; return each one's rewards, (checkpoints, 64)."""
    lanes = len(blocks) * BLOCK
    gate = Simulation(job.seed, lanes, first_block=blocks.start)
    environment = LaneStreams(job.seed, lanes, blocks.start, key=(RandomStream.ENVIRONMENT,))
    learner = job.build(gate)
    curve = RewardCurve(job.rounds, lanes)
    horizon = int(job.rounds[-1])
    tell = _sparingly(progress)
    if hasattr(type(learner), "committed_rounds"):  # of the class: before the first action there is no value
        phased = cast(PhasedLearner, learner)
        for super_arm, held in play_phases(phased, job.problem, gate, environment, horizon):
            curve.add_phases(job.problem.expected_reward(super_arm), held)
            tell(curve.slowest_round / horizon)
    else:
        for played, super_arm in enumerate(
            play_fresh(learner, job.problem, gate, environment, horizon), start=1
        ):
            curve.add(job.problem.expected_reward(super_arm))
            tell(played / horizon)
    return [{"reward": reward} for reward in np.split(curve.kept, len(blocks), axis=1)]


def _sparingly(progress: Tell) -> Tell:
    """Return a function that passes the share done on whenever another hundredth is."""
    told = 0.0

    def tell(share: float) -> None:
        nonlocal told
        if share >= told + 0.01 or share >= 1.0 > told:
            told = share
            progress(share)

    return tell
