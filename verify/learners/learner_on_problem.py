"""Learners of every family on their problems: construction, length of runs, and simulation of linear ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from algorithms.catalogue import learner_builder
from algorithms.linear.contextual_play import simulate_contexts
from algorithms.linear.linear_play import simulate_phases
from algorithms.problems import (
    LinearBandit,
    LinearContexts,
    Value,
)
from algorithms.simulate import RunsInBlocks, Trace, simulate
from verify.conduct.effort import Effort
from verify.learners.learner_subject import AnyProblem, LearnerSubject, choose_problem, try_build

_ROUNDS_PER_EFFORT = 5  # a phased learner's runs cost little: they are so many times longer than others'


def is_linear(subject: LearnerSubject) -> bool:
    """Return True if a learner plays linear bandits."""
    return _family(subject) == "linear"


def is_contextual(subject: LearnerSubject) -> bool:
    """Return True if a learner has a policy for contexts in place of actions."""
    return _family(subject) == "contextual"


def _family(subject: LearnerSubject) -> str:
    return str(getattr(subject.make, "family", ""))


def build_learner(
    subject: LearnerSubject,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    *,
    epsilon: float,
    delta: float,
    horizon: int,
) -> tuple[Any, Any, str]:
    """Return a function that makes a learner on a gate, its problem, and the problem's name.

    A learner of vectors is made once, to see that it can be.

    Parameters
    ----------
    subject, problem, settings
        The requested ones; without a problem, the learner's own or the first known one of its family.
    epsilon, delta, horizon
        The parameters that the learner is built with.

    Raises
    ------
    ProblemError
        If the problem is unknown or of another family, or a setting unknown or out of range.
    PopulationTooSmall
        If the horizon of a linear learner needs more clients than the problem has.
    SubjectError
        If a user's learner of vectors cannot be built.
    """
    played, own, name = choose_problem(subject, problem, settings)
    build = learner_builder(subject.make, played, settings=own, epsilon=epsilon, delta=delta, horizon=horizon)
    if isinstance(played, LinearBandit | LinearContexts):
        try_build(build, subject)
    return build, played, name


def length_of_runs(subject: LearnerSubject, effort: Effort, horizon: int | None) -> tuple[Effort, int]:
    """Return the effort for this horizon, or for the learner's own, and the rounds of every accounting run.

    Raises
    ------
    ParameterError
        If the horizon is not a whole number of at least 1.
    """
    if is_linear(subject):
        return effort, _ROUNDS_PER_EFFORT * effort.accounting_rounds if horizon is None else horizon
    own = getattr(subject.make, "own_horizon", None)
    effort = effort.for_horizon(own if horizon is None else horizon)
    return effort, effort.accounting_rounds


def simulate_learner(build: Any, problem: AnyProblem, asked: RunsInBlocks) -> tuple[Trace, dict[str, Any]]:
    """Simulate a learner of any family; return regret at the checkpoints, and of a linear one its other results.

    Parameters
    ----------
    build, problem
        Function that makes the learner on a gate, and its problem.
    asked
        The runs.

    Raises
    ------
    ParameterError
        If there is less than one worker, or a stored block is damaged.
    """
    if isinstance(problem, LinearContexts):
        return simulate_contexts(build, problem, asked), {}
    if not isinstance(problem, LinearBandit):
        return simulate(build, problem, **vars(asked)), {}
    same = {name: getattr(asked, name) for name in ("runs", "seed", "workers", "store", "progress")}
    phased = simulate_phases(build, problem, rounds=asked.horizon, **same)
    sent = phased.communication
    further = {
        "best_kept": float(phased.best_kept.mean()),
        "communication": {
            "reals": sum(one.reals for one in sent) / len(sent),
            "bits": sum(one.bits for one in sent) / len(sent),
        },
        "phases": {
            "rounds": phased.curves[0][0].astype(int).tolist(),
            "regret": phased.curves[0][1].tolist(),
        },
    }
    return phased.trace(asked.rounds), further
