"""The worst rewards inside the good event of phased elimination (`worst_data`).

Two opposite actions: a phase's averages are off as if theta* were shorter by the width of both, so that the best action
looks as bad, and the other one as good, as the good event lets them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from worst_data import WORST_EPSILON, worst_found

from accountant import Gate
from algorithms.linear.linear_phases import Phase
from algorithms.linear.linear_play import LinearLearner
from algorithms.problems import LinearBandit
from algorithms.theory.regret_bound import Instance, RegretBound
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.numerics.printed_numbers import percent
from verify.findings.sentences import exact
from verify.regret_claims.phase_checks import AskedClients, PhaseRun
from verify.regret_claims.proof_run import play_checked
from verify.regret_claims.regret_report import ProofCheck
from verify.regret_claims.speaking_instances import with_clients

_GAPS = np.geomspace(0.05, 2.0, 48)  # 8 % apart: one of them nearly attains what a phase's widths allow
_ROUNDS = 4096
_DEVIATIONS = 8.0  # of the privacy noise, which the adversary does not choose


def worst_actions(played: Instance, dimension: int) -> Instance:
    """Return actions e1 and -e1, one apart, and next to no privacy noise."""
    e1 = np.eye(dimension)[0]
    problem = LinearBandit(np.array([e1, -e1]), e1 / 2, 0.0, 1, "signs")
    problem = with_clients(problem, _ROUNDS, played.settings)
    return replace(played, problem=problem, epsilon=WORST_EPSILON, horizon=_ROUNDS)


def check_worst_rewards(
    build: Callable[[Instance], Callable[[Gate], LinearLearner]],
    bound: RegretBound,
    instance: Instance,
    *,
    seed: int,
) -> tuple[ProofCheck, ...]:
    """Play a learner on the worst rewards inside the good event, with many gaps.

    Parameters
    ----------
    build
        Makes learners for an instance.
    bound, instance
        A theorem with a `PhaseTheorem`, and `worst_actions`.
    seed
        Of the noise.

    Returns
    -------
    tuple
        As `worst_data.check_worst_data`; in words about the gap of the largest regret.
    """
    attained, most = 0.0, 0.0
    worst: tuple[ProofCheck, ...] = ()
    for gap in _GAPS.tolist():
        theta = gap / 2 * np.eye(_linear(instance).theta.size)[0]
        there = replace(instance, problem=replace(_linear(instance), theta=theta))
        run = PhaseRun(bound, there, 1)
        contradiction = play_checked(run, build(there), seed=seed, data=functools.partial(_WorstClients, run))
        words = f"two opposite actions, one worse by {gap:.3g},"
        found = worst_found(run, contradiction, words)
        attained = max(attained, run.attained if found else 0.0)
        if any(check.violated for check in found):
            return found
        if found and run.regret[0] >= most:
            most, worst = float(run.regret[0]), found
    return tuple(
        replace(
            check,
            sentence=exact(
                "{words}; survivors' gaps reach {share} of what widths allow",
                words=check.description,
                share=percent(attained),
            ),
        )
        for check in worst
    )


def _linear(instance: Instance) -> LinearBandit:
    assert isinstance(instance.problem, LinearBandit)
    return instance.problem


class _WorstClients(AskedClients):
    """Clients who all report the same, which misleads most."""

    def __init__(self, run: PhaseRun, learner: LinearLearner) -> None:
        super().__init__(run.problem)
        self.run, self.learner = run, learner

    def rewards(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return average rewards of the next clients."""
        phase = self.learner.open_phase
        off = 0.0 if phase is None else self._off(phase)  # in the last phase nobody reports
        averages = self.problem.means[support] - off * self.problem.actions[support, 0]
        return np.tile(averages, (clients, 1))

    def _off(self, phase: Phase) -> float:
        """Return how much shorter theta* seems: the least width, less what noise may add; averages stay in [-1, 1]."""
        reward, noise = self.run.variances(phase)
        known = reward + noise if self.run.theorem.law != "at most" else reward
        width = float(self.run.widths(phase, self.learner.active, known).min())
        margin = _DEVIATIONS * float(np.sqrt(noise.max()))
        return min(max(width * (1 - 1e-6) - margin, 0.0), 1.0)
