"""Playing linear bandits in phases: clients without replacement, regret at the end of every phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accountant import Gate, Simulation
from algorithms.dp_pe import REWARD_DOMAIN, StandardElimination
from algorithms.linear_phases import DistributedLearner, Phase
from algorithms.problems.linear import LinearBandit
from mechanisms import Communication

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BuildPhased = Callable[[Gate], DistributedLearner | StandardElimination]


def play_phases(
    learner: DistributedLearner,
    problem: LinearBandit,
    gate: Gate,
    environment: np.random.Generator,
    *,
    replacement: bool = False,
) -> Iterator[Phase]:
    """Play until the learner's horizon; yield each phase after its clients have reported.

    Parameters
    ----------
    learner, gate
        A learner built on `gate`.
    problem
        Draws the clients' rewards.
    environment
        Where the problem's randomness comes from.
    replacement
        Draw clients with replacement, as some simulations do: the same record then pays again and again.
    """
    order = environment.permutation(problem.population)
    used = 0
    while (phase := learner.act()) is not None:
        averages = problem.draw_averages(phase.support, phase.counts, phase.clients, environment)
        if replacement:
            clients = environment.integers(problem.population, size=phase.clients)
        else:
            clients = order[used : used + phase.clients]
        used += phase.clients
        for client, average in zip(clients.tolist(), averages, strict=True):
            learner.observe(gate.private(phase.report(average)[np.newaxis], phase.domain, client))
        yield phase


def play_rewards(
    learner: StandardElimination, problem: LinearBandit, gate: Gate, environment: np.random.Generator
) -> Iterator[Phase]:
    """Play a standard linear bandit until the learner's horizon: every round is a new client, 0, 1, 2, ...

    Parameters
    ----------
    learner, problem, gate, environment
        As for `play_phases`; `problem.sigma` should be 0, its population is not used.
    """
    client = 0
    while (phase := learner.act()) is not None:
        for action, plays in zip(phase.support, phase.counts if phase.clients else (), strict=False):
            one = np.ones(1, dtype=np.int64)
            rewards = problem.draw_averages(np.array([action]), one, int(plays), environment)
            for report in np.clip(rewards / phase.bounds[0], -1.0, 1.0):
                learner.observe(gate.private(report[np.newaxis], REWARD_DOMAIN, client))
                client += 1
        yield phase


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
    """

    regret: FloatArray
    best_kept: npt.NDArray[np.bool_]
    communication: tuple[Communication, ...]
    curves: tuple[FloatArray, ...]


def simulate_phases(build: BuildPhased, problem: LinearBandit, *, runs: int, seed: int) -> PhasedTrace:
    """Simulate independent runs; a run depends on the seed and its own number only.

    Raises
    ------
    ValueError
        If runs is below 1 or seed negative.
    """
    if runs < 1 or seed < 0:
        raise ValueError(f"runs={runs!r}, seed={seed!r}: must be at least 1 and at least 0")
    regret, kept, communication, curves = [], [], [], []
    best = int(np.argmax(problem.means))
    for run in range(runs):
        own, clients = np.random.SeedSequence(seed, spawn_key=(run,)).spawn(2)
        gate = Simulation(own, 1)
        learner = build(gate)
        curve = [(0, 0.0)]
        environment = np.random.default_rng(clients)
        phases = (
            play_rewards(learner, problem, gate, environment)
            if isinstance(learner, StandardElimination)
            else play_phases(learner, problem, gate, environment)
        )
        for phase in phases:
            cost = float(problem.gaps[phase.support] @ phase.counts)
            curve.append((curve[-1][0] + phase.rounds, curve[-1][1] + cost))
        regret.append(curve[-1][1])
        kept.append(best in learner.active)
        communication.append(learner.communication)
        curves.append(np.array(curve[1:], dtype=np.float64).T)
    return PhasedTrace(np.array(regret), np.array(kept), tuple(communication), tuple(curves))
