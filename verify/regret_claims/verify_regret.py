"""`regret`: the test of a learner's regret against its theorem."""

from __future__ import annotations

import inspect
import math
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from algorithms.blocks import BlockStore, Executor
from algorithms.learner import DEFAULT_DELTA, takes_delta, takes_horizon
from algorithms.linear.contextual_play import ContextualTrace
from algorithms.problems import (
    LinearBandit,
    LinearContexts,
    Problem,
    SettingError,
    Value,
    parse_settings,
)
from algorithms.simulate import checkpoint_rounds
from algorithms.theory.gaps import GapsUnavailable
from algorithms.theory.regret import BOUNDS, WITHOUT_BOUND
from algorithms.theory.regret_bound import Instance, RegretBound
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.progress import Progress, no_progress
from verify.findings.subject_error import SubjectError, blamed_place, describe_error
from verify.learners.learner_on_problem import build_learner, is_contextual, is_linear
from verify.learners.learner_subject import (
    AnyProblem,
    LearnerSubject,
    attribute_errors_to_subject,
    problem_size,
)
from verify.regret_claims.outcome import allowed_at_most, outcome
from verify.regret_claims.proof import check_proof
from verify.regret_claims.proof_run import TOLERANCE, ProofCheck
from verify.regret_claims.regret_report import RegretReport, TheoremValue
from verify.regret_claims.simulated_regret import check_numbers, simulated_regret
from verify.regret_claims.speaking_instances import (
    StatedBound,
    nonvacuous_instance,
    nonvacuous_problem,
    smallest_horizon,
    with_clients,
)
from verify.verification.own_problem import loaded_problem, problem_file
from verify.verification.resolve import names_file, registered_name, resolve

_CHECKPOINTS = 10
_LONGEST = {
    "rounds": (1 << 15, 1 << 17),
    "phases": (1 << 40,),
    "linear": (1 << 24,),
    "printed linear": (1 << 20, 1 << 24),
}
"""The longest default horizons: the first, or the second if the bound is vacuous up to the first."""

_CONTEXTS, _PRINTED_EPSILON = 4000, 1000.0
"""Rounds until a bound known only from runs is nonvacuous on the easiest problem, at epsilon = 1; and as printed."""

_EASIEST = {
    "linear": "two actions, e1 and -e1, of expected rewards 1 and -1",
    "contextual": "two actions, each 1 or -1, drawn anew in every round",
}

_STATED = "regret_bound"  # the attribute of a class

_DEFAULT_ERROR = 1e-4
"""The probability that a learner which keeps its bound is called violated, at most."""


def regret(
    learner: object,
    *,
    problem: Problem | LinearBandit | LinearContexts | str | None = None,
    settings: Mapping[str, Value] | None = None,
    epsilon: float | None = None,
    delta: float = DEFAULT_DELTA,
    horizon: int | None = None,
    runs: int | None = None,
    bound: RegretBound | StatedBound | None = None,
    error: float = _DEFAULT_ERROR,
    seed: int = 0,
    workers: int | Executor = 1,
    store: BlockStore | None = None,
    progress: Progress = no_progress,
) -> RegretReport:
    """Check a learner's regret against its theorem.

    Parameters
    ----------
    learner
        A registered name, ``"path/to/file.py:Class"``, or a learner class.
    problem, settings
        The problem to play, its name, or ``"path/to/file.py:problem"``; without both, the family's easiest problem, on
        which a bound is nonvacuous first.
    epsilon
        The learner's epsilon; by default the least of 1, 2, 5, ... at which the bound speaks within a horizon that can
        be run, or 1. Learners of contexts, whose bound only runs tell, have 1, or 1000 as printed.
    delta
        The delta of a learner that needs one.
    horizon
        Rounds per run; by default the smallest at which the bound is at most a third of the worst possible regret, and
        4,000 of contexts.
    runs
        Independent runs; by default 64, and 40 of linear bandits.
    bound
        The bound of a learner that is not registered: a `RegretBound`, or a function of an `Instance`. By default the
        class's ``regret_bound``, if it has one.
    error
        The probability that a learner which keeps its bound is called violated, at most.
    seed
        The seed of all randomness.
    workers, store
        The workers and the store of the runs, as in `algorithms.simulate`; the report does not depend on them.
    progress
        Function that is called with the share done.

    Returns
    -------
    RegretReport
        The theorem on the instance, the checks of its proof, the outcome, and the verdict.

    Raises
    ------
    ParameterError
        If an argument is out of range (subclasses say more).

    Examples
    --------
    >>> regret("cucb-batch").verdict
    'consistent'
    >>> regret("cucb-batch", problem="top-k", epsilon=0.1, horizon=100).verdict
    'vacuous'
    """
    subject = resolve(learner)
    if not isinstance(subject, LearnerSubject):
        raise SubjectError(f"{subject.name}: only learners have regret")
    check_numbers(epsilon=epsilon, delta=delta, horizon=horizon, runs=runs, error=error, seed=seed)
    told = _find_bound(subject, bound)
    played, name = _choose(subject, loaded_problem(problem), settings or {}, epsilon, delta, horizon, told)
    runs = runs if runs is not None else 40 if is_linear(subject) else 64
    rounds = checkpoint_rounds(played.horizon, _CHECKPOINTS)
    stated = told.bound_for(played)
    proof: tuple[ProofCheck, ...] = ()
    with attribute_errors_to_subject(subject, problem_file(problem)):
        if isinstance(stated, RegretBound) and stated.claimed(played):
            proof = check_proof(subject.make, stated, played, problem=name, seed=seed, error=error / 2)
        trace = simulated_regret(
            subject.make,
            played,
            checkpoints=_CHECKPOINTS,
            runs=runs,
            seed=seed,
            workers=workers,
            store=store,
            progress=lambda share: progress(share, "simulating"),
        )
    floor, ceiling = _regret_range(played.problem)
    theorem, limits = told.on(played), error / 2
    if isinstance(trace, ContextualTrace) and isinstance(stated, RegretBound) and stated.of_runs:
        limits /= 2  # half for the allowed regret, half for regret
        allowed = allowed_at_most(trace, ceiling, limits) * (1 + TOLERANCE)
        bounds = np.array([stated.value_of(stated.constant, played, W=each) for each in allowed.tolist()])
        theorem = replace(theorem, bound=float(bounds[-1]), dominant=("W", float(allowed[-1])))
    else:
        bounds = np.array([_bound_at(told, played, t) for t in rounds.tolist()])
    return RegretReport(
        learner=subject.name,
        problem=problem if isinstance(problem, str) and names_file(problem) else name,
        epsilon=played.epsilon,
        delta=played.delta if takes_delta(subject.make) else 0.0,
        neighbours=subject.form.neighbours.value,
        claims_privacy=not subject.form.is_none,
        horizon=played.horizon,
        lanes=runs,
        seed=seed,
        error=error,
        theorem=theorem,
        proof=proof,
        outcome=outcome(trace, bounds, floor, ceiling, limits),
        reproduce=_repeating_command(subject, problem, settings or {}, played, runs, error, seed),
        size=problem_size(played.problem),
    )


@dataclass(frozen=True)
class _Theorem:
    """A bound, or the reason why there is none."""

    bound: RegretBound | StatedBound | None
    missing: str
    knows_horizon: bool

    def bound_for(self, instance: Instance) -> RegretBound | StatedBound | None:
        """Return the bound about an instance, of a learner that has two."""
        return self.bound.bound_for(instance) if isinstance(self.bound, RegretBound) else self.bound

    def value(self, instance: Instance) -> float:
        """Return the bound on an instance; infinite where there is none."""
        bound = self.bound_for(instance)
        if bound is None:
            return math.inf
        try:
            value = bound.evaluate(instance) if isinstance(bound, RegretBound) else _value_of(bound, instance)
        except GapsUnavailable:
            return math.inf
        return math.inf if math.isnan(value) else value

    def covers(self, instance: Instance) -> bool:
        """Return True if the theorem is about this instance."""
        bound = self.bound_for(instance)
        return bound.covers(instance) if isinstance(bound, RegretBound) else bound is not None

    def on(self, instance: Instance) -> TheoremValue:
        """Return the values of the theorem on an instance."""
        trivial, bound = instance.horizon * _regret_range(instance.problem)[1], self.bound_for(instance)
        if bound is None:
            return TheoremValue("none", self.missing, False, math.inf, trivial)
        covered, gaps = self.covers(instance), "its own"
        stated: dict[str, Any] = {"source": "stated with the learner", "regime": "every instance"}
        if isinstance(bound, RegretBound):
            stated = {name: getattr(bound, name) for name in ("source", "printed", "correction", "unproved")}
            stated["regime"] = bound.regime_on(instance)
            if isinstance(instance.problem, LinearContexts):
                gaps = ""
            elif not isinstance(instance.problem, LinearBandit):
                try:
                    gaps = instance.gaps.method
                except GapsUnavailable as error:
                    return TheoremValue(
                        stated["source"], str(error), False, math.inf, trivial, gaps="unavailable"
                    )
            term, value = bound.dominant(instance)
            stated["dominant"] = (str(term), value)
            stated["statement"] = bound.sentence(anytime=instance.anytime)
        of_runs = isinstance(bound, RegretBound) and bound.of_runs
        from_round = None if of_runs else smallest_horizon(self.value, instance, 1 << 40)
        return TheoremValue(
            covered=covered,
            bound=self.value(instance),
            trivial=trivial,
            speaks_from=from_round,
            gaps=gaps,
            of_runs=of_runs,
            **stated,
        )


def _value_of(bound: StatedBound, instance: Instance) -> float:
    """Return the value of a user's bound, if it is a number."""
    try:
        stated: object = bound(instance)
    except GapsUnavailable:
        raise
    except subject_exceptions() as error:  # a user's bound may raise anything
        raise SubjectError(
            f"regret_bound raised {describe_error(error)} at horizon {instance.horizon} (at {blamed_place(error)})"
        ) from error
    if isinstance(stated, bool) or not isinstance(stated, int | float | np.number | sp.Number):
        raise SettingError(f"regret_bound = {stated!r}: must return a number")
    return float(stated)


def _find_bound(subject: LearnerSubject, bound: RegretBound | StatedBound | None) -> _Theorem:
    """Find a learner's bound: the argument, its class's ``regret_bound``, or the theorem of its registered class.

    A subclass has its parent's theorem until it says otherwise; whether it is still that learner its runs tell.
    """
    missing = "the learner states no bound: give it a regret_bound, or pass bound="
    found: Any = bound
    if found is None:
        for kind in subject.make.__mro__:
            name = registered_name(kind)
            if name is not None:
                found, missing = BOUNDS.get(name), WITHOUT_BOUND.get(name, missing)
            elif _STATED in vars(kind):
                found = getattr(subject.make, _STATED)
            else:
                continue
            break
    if found is not None and not isinstance(found, RegretBound):
        _check_own_bound(found)
    return _Theorem(found, missing, takes_horizon(subject.make))


def _check_own_bound(bound: object) -> None:
    """Refuse a bound that is no function of an instance alone."""
    rule = "must be a function of one argument, an Instance (a staticmethod of the class), or a RegretBound"
    if not callable(bound):
        raise SettingError(f"regret_bound = {bound!r}: {rule}")
    try:
        takes = inspect.signature(bound)
    except (TypeError, ValueError):  # of C code; its call tells
        return
    try:
        takes.bind(None)
    except TypeError:
        raise SettingError(f"regret_bound takes {takes}: {rule}") from None


def stated_value(subject: LearnerSubject) -> StatedBound | None:
    """Return a learner's own bound as a function of an instance, infinite where it does not apply; None without one."""
    theorem = _find_bound(subject, None)
    return None if theorem.bound is None else theorem.value


def _bound_at(theorem: _Theorem, instance: Instance, rounds: int) -> float:
    """Return the bound after `rounds` rounds.

    Regret only grows, so the bound at the horizon is one before it; the radii of a learner that knows its horizon are
    for that one, and another learner's theorem holds at every T.
    """
    told = theorem.knows_horizon and not instance.anytime
    return theorem.value(instance if told else replace(instance, horizon=rounds))


def _choose(
    subject: LearnerSubject,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    epsilon: float | None,
    delta: float,
    horizon: int | None,
    theorem: _Theorem,
) -> tuple[Instance, str]:
    """Return the instance asked for, filled in with one on which the bound is not vacuous, and the problem's name."""
    own = {parameter.name: parameter for parameter in subject.entry.parameters} if subject.entry else {}
    owned = {key: value for key, value in settings.items() if key in own}
    checked: Mapping[str, Value] = parse_settings(owned, own.values())
    easiest = problem is None and len(owned) == len(settings)
    linear, contextual = is_linear(subject), is_contextual(subject)
    registered = next(
        filter(None, map(registered_name, subject.make.__mro__)), ""
    )  # the class, or one it is of
    printed = registered.startswith("published/")
    if contextual:
        if epsilon is None:
            epsilon = _PRINTED_EPSILON if printed and theorem.bound is not None else 1.0
        horizon = horizon or _CONTEXTS
    if easiest:
        played: AnyProblem = nonvacuous_problem(subject.make.family, dimension=3 if linear and printed else 1)
        name = _EASIEST.get(subject.make.family, "two arms of means 0.05 and 0.95, one played at a time")
    else:
        _, played, name = build_learner(
            subject, problem, settings, epsilon=epsilon or 1.0, delta=delta, horizon=horizon or 1000
        )
    instance = Instance(played, 1.0 if epsilon is None else epsilon, horizon or 10_000, delta, checked)
    if horizon is None and theorem.bound is not None:
        kind = "phases" if hasattr(subject.make, "committed_rounds") else "rounds"
        if linear:
            kind = "printed linear" if printed and easiest else "linear"
        with suppress(GapsUnavailable):
            spoken = (
                nonvacuous_instance(theorem.value, theorem.covers, instance, epsilon=epsilon, most=most)
                for most in _LONGEST[kind]
            )
            instance = next((each for each in spoken if each is not None), instance)
    if easiest and isinstance(played, LinearBandit):
        instance = replace(instance, problem=with_clients(played, instance.horizon, checked))
    return instance, name


def _regret_range(problem: Problem | LinearBandit | LinearContexts) -> tuple[float, float]:
    """Return the least and the largest regret of one round.

    No reward is below that of worse means, all 0: rewards are monotone (Chen et al. 2020, assumption 3).
    """
    one_round = Instance(problem, 1.0, 1)
    if isinstance(problem, LinearBandit | LinearContexts):
        return 0.0, one_round.trivial_regret
    floor = min(0.0, problem.benchmark - problem.optimum)
    try:
        return floor, one_round.trivial_regret
    except GapsUnavailable:
        structure = problem.structure
        nothing = np.zeros(structure.arms)
        least = float(structure.reward(structure.solve(nothing[np.newaxis]), nothing)[0])
        return floor, problem.benchmark - least


def _repeating_command(
    subject: LearnerSubject,
    problem: Problem | LinearBandit | LinearContexts | str | None,
    settings: Mapping[str, Value],
    played: Instance,
    runs: int,
    error: float,
    seed: int,
) -> str:
    """Return the command that repeats a report, or the call if there is no name for the problem."""
    numbers = {
        "epsilon": played.epsilon,
        **({"delta": played.delta} if takes_delta(subject.make) else {}),
        "horizon": played.horizon,
        "runs": runs,
        "error": error,
        "seed": seed,
    }
    if problem is None or isinstance(problem, str):
        numbers["significance"] = numbers.pop("error")  # as the command line calls it
        flags = [
            part for key, value in numbers.items() for part in (f"--{key}", str(value).removesuffix(".0"))
        ]
        flags += [] if problem is None else ["--problem", problem]
        flags += [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        return shlex.join(["dpwitness", "regret", subject.name, *flags])
    keywords = {"problem": problem, **numbers, **({"settings": dict(settings)} if settings else {})}
    return f"regret({subject.name}, {', '.join(f'{key}={value!r}' for key, value in keywords.items())})"
