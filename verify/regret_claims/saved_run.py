"""A check of a learner in production against its regret theorem, from the public data in its run's folder.

The means are unknown there, so there is no regret to compare. But the state that the theorem's proof needs can be
computed again: the counts of batches, the number of their noises, and the interval of each index.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Simulation
from algorithms.catalogue.named_run import NamedLearner, learner_of, saved_learner
from algorithms.durable.run_place import absolute_location, state_in
from algorithms.estimates.doubling_batches import released_counts
from algorithms.learner import DEFAULT_DELTA, Confidence
from algorithms.problems import SettingError
from algorithms.theory.confidence_theorem import ConfidenceTheorem
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from verify.findings.sentences import exact
from verify.regret_claims.mean_checks import MeanRun
from verify.regret_claims.proof_run import (
    HAIR,
    Contradiction,
    ProofCheck,
)
from verify.regret_claims.regret_report import RegretVerdict
from verify.verification.own_problem import own_structure

_RENEWED = 20.0  # rounds until all indices of bits are computed again


@dataclass(frozen=True)
class SavedRunReport:
    """The result of the check of a run in production.

    Attributes
    ----------
    learner, problem, epsilon, horizon
        The run's parameters; the horizon is None if the run has none.
    rounds, released
        The number of rounds with feedback in the saved state, and of their released outcomes.
    source
        The theorem.
    checks
        The checks, up to the first contradiction.
    """

    learner: str
    problem: str
    epsilon: float
    horizon: int | None
    rounds: int
    released: int
    source: str
    checks: tuple[ProofCheck, ...]

    @property
    def verdict(self) -> RegretVerdict:
        """Violated, undecided before the first release, another learner than the theorem's, or consistent."""
        if any(check.violated for check in self.checks):
            return "violated"
        if not self.released:
            return "undecided"
        return "another learner" if any(check.differs for check in self.checks) else "consistent"


def check_saved_run(where: str | Path) -> SavedRunReport:
    """Check the saved state of a run that was begun by the name of its learner; it only reads, while the run goes on.

    Raises
    ------
    ParameterError
        If there is no saved run, its learner has no name, or has no theorem with a proof that determines its state.
    """
    state_in(absolute_location(where))  # which raises if the place is no run's
    named = learner_of(where, own_structure)
    learner: Any = saved_learner(where, named, Simulation(0, 1))
    bound = BOUNDS.get(named.learner)
    told = f"{where}: {named.learner}"
    if bound is None:
        raise SettingError(f"{told} has no regret theorem")
    rounds = int(np.max(learner.rounds.observed)) if hasattr(learner, "rounds") else 0
    instance = _instance(named, learner, max(rounds, 1))
    bound = bound.bound_for(instance)
    if not bound.covers(instance):
        raise SettingError(
            f"{told}: its theorem does not cover this run; it needs: {bound.regime_on(instance)}"
        )
    theorem = bound.confidence
    if not isinstance(theorem, ConfidenceTheorem) or theorem.index not in ("level-free", "clipped"):
        raise SettingError(
            f"{told}: its theorem's proof has no statement on a single state, only on whole runs"
        )
    run = MeanRun(bound, instance, 1, laws=False)
    run.round = rounds
    state = run.state(learner)
    said = exact(
        "looked at: the state after {rounds:,} rounds of {problem}, with {released:,} outcomes released",
        rounds=rounds,
        problem=named.problem,
        released=int(state.count.sum()),
    )
    checks = [ProofCheck(name, 1.0, 0.0, said) for name in ("bookkeeping", "radius")]
    try:
        _check_state(run, state)
    except Contradiction as contradiction:
        checks = [contradiction.check]
    if run.difference is not None:
        checks.append(run.difference)
    return SavedRunReport(
        named.learner,
        named.problem,
        named.epsilon,
        named.horizon,
        rounds,
        int(state.count.sum()),
        bound.source,
        tuple(checks),
    )


def _instance(named: NamedLearner, learner: Any, rounds: int) -> Instance:
    """Return the instance of a run, as a theorem asks for it; of its problem only the structure is real."""
    problem, settings = named.problem_and_settings()
    if named.horizon is None:
        settings = {**settings, "anytime": "yes"}
    delta = DEFAULT_DELTA if named.delta is None else named.delta
    played: Any = problem
    return Instance(played, named.epsilon, named.horizon or rounds, delta, settings)


def _check_state(run: MeanRun, state: Confidence) -> None:
    """Check the counts, the numbers of noises and the indices of a state."""
    theorem, count = run.theorem, state.count
    ends = np.arange(1.0, count.max(initial=1.0) + 1)
    if theorem.counting == "growing batches":
        ends = np.array(
            released_counts(int(count.max()) + run.first, run.first, theorem.growth, theorem.falling), float
        )
    place = np.searchsorted(ends, count)
    due = np.concatenate([[0.0], np.arange(1.0, ends.size + 1), [np.inf]])
    expected = np.where(count > 0, due[place + 1], 0.0)
    run.refuse_counts("values", count > run.round, count, np.full_like(count, run.round))
    run.refuse_counts(
        "noises", (state.releases < expected) & (theorem.noise != "none"), state.releases, expected
    )
    run.note_difference(
        "bookkeeping",
        (count > 0) & (ends[np.minimum(place, ends.size - 1)] != count),
        lambda lane, arm: (
            f"{count[lane, arm]:g} values are released, which no batch of the theorem's ends with"
        ),
    )
    here = count > 0
    if not here.any():
        return
    least, most = np.zeros_like(count), np.zeros_like(count)
    for clock, bound in ((_earliest(run, state), least), (float(run.round), most)):
        run.clock = np.full((1, 1), clock)
        low, high = run.interval(state, here)
        bound[here] = low if bound is least else high
    slack = HAIR * (1 + np.abs(most))

    def describe(lane: int, arm: int) -> str:
        return (
            f"index {state.index[lane, arm]:.6g} where estimate {state.estimate[lane, arm]:.6g} of "
            f"{count[lane, arm]:g} values makes from {least[lane, arm]:.6g} to {most[lane, arm]:.6g}"
        )

    run.refuse_arm("radius", here & (state.index < least - slack), describe)
    run.note_difference("radius", here & (state.index > most + slack), describe)


def _earliest(run: MeanRun, state: Confidence) -> float:
    """Return the least round at which indices were computed last: all released values were there, few of a round."""
    waits = 0.0 if run.theorem.counting == "growing batches" else _RENEWED
    return max(1.0, float(state.count.sum()) / run.few - waits)
