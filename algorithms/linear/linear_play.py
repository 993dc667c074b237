"""Playing linear bandits in phases: clients without replacement, regret at the end of every phase."""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from accountant import Gate, Simulation
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.linear_phases import DistributedLearner, Phase
from algorithms.problems.linear import LinearBandit
from algorithms.simulate import Trace
from mechanisms import Communication
from mechanisms.arrays import FloatArray, IntArray

LinearLearner = DistributedLearner | StandardElimination
BuildPhased = Callable[[Gate], LinearLearner]

_AT_ONCE = 1 << 16  # clients whose reports are handed over together


class Clients(Protocol):
    """Who can be asked: a `LinearBandit`, or data sets for an audit."""

    @property
    def population(self) -> int:
        """How many clients there are."""

    @property
    def replacement(self) -> bool:
        """Whether a client may report again in a later phase."""

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return average rewards of the next clients, shape (clients, s)."""


def play_clients(
    learner: DistributedLearner,
    problem: Clients,
    gate: Gate,
    environment: np.random.Generator,
    *,
    together: bool = False,
) -> Iterator[Phase]:
    """Play until the learner's horizon; yield each phase after its clients have reported.

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        Draws the clients' rewards. If it has ``replacement``, each phase draws its clients among all, so the same
        record may pay again and again.
    environment
        Where the problem's randomness comes from.
    together
        Hand over many reports at once, under `Simulation`: who reports is of no account there.
    """
    order = None if together else environment.permutation(problem.population)
    used = 0
    while (phase := learner.act()) is not None:
        averages = problem.draw_averages(phase.support, phase.counts, phase.clients, environment)
        if order is None:
            _hand_over(learner, gate, phase, averages)
            yield phase
            continue
        if problem.replacement:
            clients = environment.choice(problem.population, phase.clients, replace=False)
        else:
            clients = order[used : used + phase.clients]
        used += phase.clients
        for client, average in zip(clients.tolist(), averages, strict=True):
            learner.observe(gate.private(phase.report(average)[np.newaxis], phase.domain, client))
        yield phase


def _hand_over(learner: LinearLearner, gate: Gate, phase: Phase, averages: FloatArray) -> None:
    """Let the next clients of a phase report, many at once; averages of shape (clients, s)."""
    for start in range(0, len(averages), _AT_ONCE):
        reports = phase.report(averages[start : start + _AT_ONCE])
        clients = len(reports)
        learner.observe_many(
            gate.private(reports.reshape(1, -1), phase.domain_of(clients), phase.number), clients
        )


def play_rewards(
    learner: StandardElimination,
    problem: Clients,
    gate: Gate,
    environment: np.random.Generator,
    *,
    together: bool = False,
) -> Iterator[Phase]:
    """Play a standard linear bandit until the learner's horizon: every round is a new client, 0, 1, 2, ...

    Parameters
    ----------
    learner, problem, gate, environment, together
        As for `play_clients`; `problem.sigma` should be 0, its population is not used.
    """
    client = 0
    while (phase := learner.act()) is not None:
        for action, plays in zip(phase.support, phase.counts if phase.clients else (), strict=False):
            one = np.ones(1, dtype=np.int64)
            rewards = problem.draw_averages(np.array([action]), one, int(plays), environment)
            if together:
                _hand_over(learner, gate, phase, rewards)
                continue
            for reward in rewards:
                learner.observe(gate.private(phase.report(reward)[np.newaxis], phase.domain, client))
                client += 1
        yield phase


def play_linear(
    learner: DistributedLearner | StandardElimination,
    problem: Clients,
    gate: Gate,
    environment: np.random.Generator,
    *,
    together: bool = False,
) -> Iterator[Phase]:
    """Play a learner of either kind; see `play_clients` and `play_rewards`."""
    if isinstance(learner, StandardElimination):
        return play_rewards(learner, problem, gate, environment, together=together)
    return play_clients(learner, problem, gate, environment, together=together)


@dataclass(frozen=True, eq=False)
class PhasedTrace:
    """What a simulation of several runs gives.

    Attributes
    ----------
    regret
        Final regret of every run, shape (runs,).
    best_kept
        Whether the best action was never eliminated, shape (runs,).
    communication
        Total of each run.
    curves
        For each run: rounds played and regret so far at the end of each phase, shape (2, phases).
    paths
        The same wherever the action changes, from (0, 0) on, shape (2, changes + 1): in between, regret is linear.
    best_mean
        Largest mean reward of an action.
    seconds
        Wall time.
    """

    regret: FloatArray
    best_kept: npt.NDArray[np.bool_]
    communication: tuple[Communication, ...]
    curves: tuple[FloatArray, ...]
    paths: tuple[FloatArray, ...]
    best_mean: float
    seconds: float

    def at(self, rounds: IntArray) -> Trace:
        """Return regret and reward at these rounds, exact also within a phase; increasing, at most the horizon."""
        regret = np.array([np.interp(rounds, *path) for path in self.paths]).T
        return Trace(
            rounds, regret, self.best_mean * rounds[:, np.newaxis].astype(float) - regret, self.seconds
        )


@dataclass(frozen=True, eq=False)
class _Run:
    best_kept: bool
    communication: Communication
    curve: FloatArray
    path: FloatArray


def simulate_phases(
    build: BuildPhased,
    problem: LinearBandit,
    *,
    runs: int,
    seed: int,
    workers: int = 1,
    progress: Callable[[float], None] | None = None,
) -> PhasedTrace:
    """Simulate independent runs; a run depends on the seed and its own number only.

    Parameters
    ----------
    build
        Makes a learner on a gate.
    problem
        What is played.
    runs
        How many runs.
    seed
        A non-negative integer.
    workers
        Worker processes; 1 runs in this process.
    progress
        Called with the share that is done.

    Raises
    ------
    ValueError
        If runs or workers is below 1 or seed negative.
    """
    if runs < 1 or seed < 0 or workers < 1:
        raise ValueError(
            f"runs={runs!r}, workers={workers!r}, seed={seed!r}: must be at least 1, at least 1 and at least 0"
        )
    start = time.perf_counter()
    one_run = functools.partial(_simulate_run, build, problem, seed)
    done: list[_Run] = []
    with ExitStack() as stack:
        finished: Iterator[_Run] = map(one_run, range(runs))
        if workers > 1 and runs > 1:
            pool = ProcessPoolExecutor(min(workers, runs), multiprocessing.get_context())
            finished = stack.enter_context(pool).map(one_run, range(runs))
        for run in finished:
            done.append(run)
            if progress is not None:
                progress(len(done) / runs)
    return PhasedTrace(
        regret=np.array([run.curve[1, -1] for run in done]),
        best_kept=np.array([run.best_kept for run in done]),
        communication=tuple(run.communication for run in done),
        curves=tuple(run.curve for run in done),
        paths=tuple(run.path for run in done),
        best_mean=float(problem.means.max()),
        seconds=time.perf_counter() - start,
    )


def _simulate_run(build: BuildPhased, problem: LinearBandit, seed: int, number: int) -> _Run:
    own, clients = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)
    gate = Simulation(own, 1)
    learner = build(gate)
    counts, costs, ends = [np.zeros(1)], [np.zeros(1)], []
    changes = 0
    together = hasattr(type(learner), "observe_many")
    for phase in play_linear(learner, problem, gate, np.random.default_rng(clients), together=together):
        counts.append(phase.counts.astype(np.float64))
        costs.append(problem.gaps[phase.support] * phase.counts)
        changes += phase.counts.size
        ends.append(changes)
    path = np.cumsum([np.concatenate(counts), np.concatenate(costs)], axis=1)
    best = int(np.argmax(problem.means))
    return _Run(best in learner.active, learner.communication, path[:, ends], path)
