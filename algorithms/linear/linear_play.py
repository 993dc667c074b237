"""Play of linear bandits in phases: clients without replacement, regret at the end of every phase."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from accountant import Gate, Simulation
from algorithms.blocks import Arrays, Blocks, BlockStore, Executor, Tell, run_blocks
from algorithms.linear.dp_pe import StandardElimination
from algorithms.linear.linear_phases import Phase
from algorithms.linear.phased_elimination import PhasedElimination
from algorithms.problems.linear import LinearBandit
from algorithms.problems.own_draws import checked_averages
from algorithms.simulate import Runs, Trace, work_description
from algorithms.unit import RecordOf, each_its_own
from mechanisms import Communication
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError

LinearLearner = PhasedElimination | StandardElimination
BuildPhased = Callable[[Gate], LinearLearner]

Worlds = Callable[[Sequence[int], FloatArray], Sequence[FloatArray]]
"""Function of the next clients' names and average rewards (clients, s) to their averages on all coupled data sets.

Shape (worlds, s), or (1, s) where it has the same in all."""

_AT_ONCE = 1 << 16  # clients whose reports are handed over together


class Clients(Protocol):
    """Population of clients: a `LinearBandit`, or data sets for an audit."""

    @property
    def population(self) -> int:
        """Number of clients."""

    @property
    def replacement(self) -> bool:
        """True if a client may report again in a later phase."""

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return average rewards of the next clients, shape (clients, s)."""


def play_linear(
    learner: LinearLearner,
    problem: Clients,
    gate: Gate,
    environment: np.random.Generator,
    *,
    together: bool = False,
    rounds: int | None = None,
    worlds: Worlds | None = None,
    record_of: RecordOf = each_its_own,
) -> Iterator[Phase]:
    """Play until the learner's horizon; yield each phase after its clients have reported.

    In a standard linear bandit every round is a new client, 0, 1, 2, ...; `problem.sigma` should be 0, and its
    population is not used.

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        The problem, which draws the clients' rewards. If it has ``replacement``, each phase draws its clients among
        all, so the same record may pay again and again.
    environment
        The source of the problem's randomness.
    together
        True to hand over many reports at once, under `Simulation`, where no record is charged.
    rounds
        The largest number of rounds of a learner without a horizon: clients of the phase that it cuts do not report.
    worlds
        The clients' data in the data sets of a coupled gate.
    record_of
        The record's name of each client.

    Raises
    ------
    ParameterError
        If there is no end: rounds is None, and the learner has no horizon.
    ProblemError
        If a `LinearBandit` of a user's own draws averages of another shape, or beyond its bounds.
    """
    single, used = isinstance(learner, StandardElimination), 0
    order = None if together or single else environment.permutation(problem.population)
    for phase in _phases(learner, rounds):
        parts = [(phase.support, phase.counts, phase.clients)]
        if single:
            one = np.ones(1, dtype=np.int64)
            played = zip(phase.support, phase.counts if phase.clients else (), strict=False)
            parts = [(np.array([action]), one, int(plays)) for action, plays in played]
        for support, counts, clients in parts:
            averages = problem.draw_averages(support, counts, clients, environment)
            averages = checked_averages(problem, averages, clients, support.size)
            if together:
                _hand_over(learner, gate, phase, averages)
                continue
            if order is None:
                numbers = np.arange(used, used + clients)
            elif problem.replacement:
                numbers = environment.choice(problem.population, clients, replace=False)
            else:
                numbers = order[used : used + clients]
            used += clients
            _report(learner, gate, phase, [record_of(each) for each in numbers.tolist()], averages, worlds)
        yield phase


def _report(
    learner: LinearLearner,
    gate: Gate,
    phase: Phase,
    records: Sequence[int],
    averages: FloatArray,
    worlds: Worlds | None,
) -> None:
    """Let clients report, one after the other; averages of shape (clients, s)."""
    told = averages if worlds is None else worlds(records, averages)
    for record, average in zip(records, told, strict=True):
        report = np.reshape(phase.report(average), (*average.shape[:-1], 1, -1))
        learner.observe(gate.private(report, phase.domain, record))


def _phases(learner: LinearLearner, rounds: int | None) -> Iterator[Phase]:
    """Yield the phases that a learner plays, and the first plays of the one beyond `rounds` rounds."""
    if rounds is None and getattr(learner, "told", 0) is None:
        raise ParameterError("rounds = None: must be given: the learner has no horizon")
    played = 0
    while played != rounds and (phase := learner.act()) is not None:
        played += phase.rounds
        if rounds is not None and played > rounds:
            yield phase.cut(phase.rounds - (played - rounds))
            return
        yield phase


def _hand_over(learner: LinearLearner, gate: Gate, phase: Phase, averages: FloatArray) -> None:
    """Let the next clients of a phase report, many at once; averages of shape (clients, s)."""
    for start in range(0, len(averages), _AT_ONCE):
        reports = phase.report(averages[start : start + _AT_ONCE])
        clients = len(reports)
        learner.observe_many(
            gate.private(reports.reshape(1, -1), phase.domain_of(clients), phase.number), clients
        )


@dataclass(frozen=True, eq=False)
class PhasedTrace:
    """Result of a simulation of several runs.

    Attributes
    ----------
    regret
        Final regret of every run, shape (runs,).
    best_kept
        True if the best action was never eliminated, shape (runs,).
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
    stored
        The share of the runs that was not simulated in this time, but read from a store.
    """

    regret: FloatArray
    best_kept: npt.NDArray[np.bool_]
    communication: tuple[Communication, ...]
    curves: tuple[FloatArray, ...]
    paths: tuple[FloatArray, ...]
    best_mean: float
    seconds: float
    stored: float = 0.0

    def trace(self, rounds: IntArray) -> Trace:
        """Return regret and reward at these rounds, exact also within a phase; increasing, at most the horizon."""
        regret = np.array([np.interp(rounds, *path) for path in self.paths]).T
        reward = self.best_mean * rounds[:, np.newaxis].astype(float) - regret
        return Trace(rounds, regret, reward, self.seconds, self.stored)


def simulate_phases(
    build: BuildPhased,
    problem: LinearBandit,
    *,
    runs: int,
    seed: int,
    rounds: int | None = None,
    workers: int | Executor = 1,
    store: BlockStore | None = None,
    progress: Callable[[float], None] | None = None,
) -> PhasedTrace:
    """Simulate independent runs; a run depends on the seed and its own number only.

    Parameters
    ----------
    build
        Function that makes a learner on a gate.
    problem
        The problem to play.
    runs
        The number of runs.
    seed
        A non-negative integer.
    rounds
        The most of every run: to be given where the learner has no horizon.
    workers
        Worker processes (1 runs in this one), or an executor (`algorithms.blocks`).
    store
        The store of finished runs: the same call goes on after any stop, and one with more runs has these
        already.
    progress
        Function that is called with the share done.

    Raises
    ------
    ParameterError
        If runs, rounds or workers is below 1 or seed negative; or a stored run is damaged; or a run has no end, as
        `play_linear`.
    """
    Runs(horizon=1 if rounds is None else rounds, runs=runs, seed=seed, checkpoints=1)  # checks them
    start = time.perf_counter()
    says = work_description("runs of a linear learner, one a block", build, problem, seed, rounds)
    one = functools.partial(_simulate_run, build, problem, seed, rounds)
    blocks = Blocks(functools.partial(_simulate_each, one), runs, says=says)
    finished = run_blocks([blocks], workers, store=store, progress=progress)
    done = finished.results[0]
    curves = tuple(run["path"][:, run["ends"]] for run in done)
    return PhasedTrace(
        regret=np.array([curve[1, -1] for curve in curves]),
        best_kept=np.array([bool(run["best_kept"]) for run in done]),
        communication=tuple(Communication(*run["communication"].tolist()) for run in done),
        curves=curves,
        paths=tuple(run["path"] for run in done),
        best_mean=float(problem.means.max()),
        seconds=time.perf_counter() - start,
        stored=finished.stored,
    )


def _simulate_each(run: Callable[[int], Arrays], numbers: range, progress: Tell) -> list[Arrays]:
    return [run(number) for number in numbers]


def _simulate_run(
    build: BuildPhased, problem: LinearBandit, seed: int, rounds: int | None, number: int
) -> Arrays:
    own, clients = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)
    gate = Simulation(own, 1)
    learner = build(gate)
    counts, costs, ends = [np.zeros(1)], [np.zeros(1)], []
    changes = 0
    together = hasattr(type(learner), "observe_many")
    drawn = np.random.default_rng(clients)
    for phase in play_linear(learner, problem, gate, drawn, together=together, rounds=rounds):
        counts.append(phase.counts.astype(np.float64))
        costs.append(problem.gaps[phase.support] * phase.counts)
        changes += phase.counts.size
        ends.append(changes)
    best = int(np.argmax(problem.means))
    sent = learner.communication
    return {
        "path": np.cumsum([np.concatenate(counts), np.concatenate(costs)], axis=1),
        "ends": np.array(ends),
        "best_kept": np.array(best in learner.active),
        "communication": np.array([sent.reals, sent.bits]),
    }
