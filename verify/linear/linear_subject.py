"""Linear learners as subjects: their problem, how they are built and simulated, and for how long they are played."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from algorithms.blocks import BlockStore, Executor
from algorithms.catalogue.linear_entries import linear_builder
from algorithms.linear.linear_play import BuildPhased, simulate_phases
from algorithms.problems import (
    LinearBandit,
    ProblemEntry,
    ProblemError,
    Value,
    contextual_problems,
    known_name,
    linear_problems,
    parse_settings,
    problems,
)
from algorithms.simulate import Trace, checkpoint_rounds
from verify.conduct.effort import Effort
from verify.learners.learner_subject import AnyProblem, LearnerSubject, try_build

_ROUNDS_PER_EFFORT = 5  # a phased learner's runs cost little: they are so many times longer than others'

_Played = TypeVar("_Played")


def is_linear(subject: LearnerSubject) -> bool:
    """Whether a learner plays linear bandits."""
    return getattr(subject.make, "family", None) == "linear"


def build_linear(
    subject: LearnerSubject,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    *,
    epsilon: float,
    delta: float,
    horizon: int,
) -> tuple[BuildPhased, LinearBandit, str]:
    """Return a function that makes the learner, its problem, and the problem's name; one learner is made to see.

    Raises
    ------
    ProblemError
        If the problem is not linear or unknown, or a setting unknown or out of range.
    PopulationTooSmall
        If the horizon needs more clients than the problem has.
    SubjectError
        If a user's learner cannot be built.
    """
    played, learner_settings, name = named_or_given(subject, problem, settings, linear_problems, LinearBandit)
    build = linear_builder(
        subject.make, played, epsilon=epsilon, delta=delta, horizon=horizon, settings=learner_settings
    )
    try_build(build, subject)
    return build, played, name


def named_or_given(
    subject: LearnerSubject,
    problem: object,
    settings: Mapping[str, Value],
    known_problems: Mapping[str, ProblemEntry[_Played]],
    kind: type[_Played],
) -> tuple[_Played, Mapping[str, Value], str]:
    """Return a learner's problem, given or by name, the learner's own settings, and the problem's name.

    Parameters
    ----------
    subject, problem, settings
        What was asked for; without a problem, the first known one.
    known_problems
        Those with names.
    kind
        Of what class they are.

    Raises
    ------
    ProblemError
        If the problem is of another class or unknown, or a setting unknown or out of range.
    """
    own = {parameter.name: parameter for parameter in subject.entry.parameters} if subject.entry else {}
    checked = parse_settings({key: value for key, value in settings.items() if key in own}, own.values())
    rest = {key: value for key, value in settings.items() if key not in own}
    plays = next(iter(known_problems.values())).family
    if problem is None or isinstance(problem, str):
        name = problem or next(iter(known_problems))
        if name not in known_problems and name in {**problems, **linear_problems, **contextual_problems}:
            raise ProblemError(f"{subject.name} plays {plays} problems, not {name}")
        entry = known_problems[known_name("problem", name, known_problems)]
        known = [*own, *(parameter.name for parameter in entry.parameters)]
        for key in rest:
            known_name("parameter", key, known)
        return entry.build(**rest), checked, name
    name = type(problem).__name__
    if rest:
        raise ProblemError(f"settings {', '.join(rest)}: a problem given as an object takes no settings")
    if not isinstance(problem, kind):
        raise ProblemError(f"{subject.name} plays {plays} problems, not {name}")
    return problem, checked, name


def linear_rounds(effort: Effort, horizon: int | None) -> int:
    """Return the rounds of every run: the horizon, or what the effort says if there is none."""
    return _ROUNDS_PER_EFFORT * effort.accounting_rounds if horizon is None else horizon


def simulate_linear(
    build: BuildPhased,
    problem: LinearBandit,
    *,
    horizon: int,
    runs: int,
    seed: int,
    checkpoints: int,
    workers: Executor,
    store: BlockStore | None,
    progress: Callable[[float], None],
) -> tuple[Trace, dict[str, Any]]:
    """Simulate a linear learner; return regret at the checkpoints, and what else is reported.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    if checkpoints < 1:
        raise ValueError(f"checkpoints={checkpoints!r}: must be at least 1")
    phased = simulate_phases(
        build, problem, runs=runs, seed=seed, rounds=horizon, workers=workers, store=store, progress=progress
    )
    sent = phased.communication
    further = {
        "best_kept": float(phased.best_kept.mean()),
        "communication": {
            "reals": sum(one.reals for one in sent) / runs,
            "bits": sum(one.bits for one in sent) / runs,
        },
        "phases": {
            "rounds": phased.curves[0][0].astype(int).tolist(),
            "regret": phased.curves[0][1].tolist(),
        },
    }
    return phased.at(checkpoint_rounds(horizon, checkpoints)), further
