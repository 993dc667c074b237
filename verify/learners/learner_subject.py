"""Learners with a structure as subjects: their problem, their initial outcomes, and statements beyond the runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accountant import Simulation
from accountant.proofs.proof_document import NoProof
from algorithms.catalogue.contextual_entries import ContextualEntry
from algorithms.catalogue.learner_entry import DEFAULT_PROBLEMS
from algorithms.catalogue.linear_entries import LinearEntry
from algorithms.catalogue.structured_entries import LearnerEntry
from algorithms.claim import ClaimForm
from algorithms.play import BuildLearner
from algorithms.problems import (
    LinearBandit,
    LinearContexts,
    Problem,
    ProblemEntry,
    ProblemError,
    Value,
    build_problem,
    contextual_problems,
    known_name,
    linear_problems,
    parse_settings,
    problems,
)
from algorithms.problems.problem_settings import check_shared
from algorithms.theory.linear_plans import LINEAR_PLANNED
from algorithms.unit import ONE_REPORT
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.process_state import subjects_own
from verify.findings.proof_checker import check_proof
from verify.findings.sentences import Sentence, exact, observed, remark
from verify.findings.subject_error import SubjectError, describe_error_with_location
from verify.transcripts.neighbours import InitialOutcomes

if TYPE_CHECKING:
    from accountant.plans.symbolic import SymbolicPlan

AnyProblem = Problem | LinearBandit | LinearContexts

VECTORS: Mapping[str, tuple[Mapping[str, ProblemEntry[Any]], type[Any]]] = {
    "linear": (linear_problems, LinearBandit),
    "contextual": (contextual_problems, LinearContexts),
}
"""The problems of learners that play on vectors, by name, and their class, for each family."""


def problem_size(problem: AnyProblem) -> str:
    """Return the size of a problem in the field's letters: arms played at once and in all, or dimension and actions."""
    if isinstance(problem, LinearBandit):
        return f"d = {problem.actions.shape[1]}, {len(problem.actions)} actions"
    if isinstance(problem, LinearContexts):
        return f"d = {problem.features}, {problem.actions} actions"
    return f"K = {problem.structure.size}, L = {problem.structure.arms}"


def choose_problem(
    subject: LearnerSubject, problem: AnyProblem | str | None, settings: Mapping[str, Value]
) -> tuple[Any, Mapping[str, Value], str]:
    """Find a learner's problem, and share out the settings between the two.

    Returns
    -------
    tuple
        The problem, the learner's own settings, and the problem's name.

    Raises
    ------
    ProblemError
        If the problem is unknown or of another family, or a setting unknown or out of range.
    """
    own = {parameter.name: parameter for parameter in subject.entry.parameters} if subject.entry else {}
    checked = parse_settings({key: value for key, value in settings.items() if key in own}, own.values())
    rest = {key: value for key, value in settings.items() if key not in own}
    family = str(getattr(subject.make, "family", ""))
    if problem is not None and not isinstance(problem, str):
        name = type(problem).__name__
        if rest:
            raise ProblemError(f"settings {', '.join(rest)}: a problem given as an object takes no settings")
        if family in VECTORS and not isinstance(problem, VECTORS[family][1]):
            raise ProblemError(f"{subject.name} plays {family} problems, not {name}")
        if family not in VECTORS and isinstance(problem, LinearBandit | LinearContexts):
            raise ProblemError(f"{subject.name} plays no linear problems")
        return problem, checked, name
    if family in VECTORS:
        known = VECTORS[family][0]
        name = problem or next(iter(known))
        if name not in known and name in {**problems, **linear_problems, **contextual_problems}:
            raise ProblemError(f"{subject.name} plays {family} problems, not {name}")
        entry = known[known_name("problem", name, known)]
        check_shared(rest, {subject.name: own.values(), name: entry.parameters})
        return entry.build(**rest), checked, name
    if problem is None and not rest and getattr(subject.make, "own_problem", None) is not None:
        own_problem: Problem = subject.make.own_problem
        return own_problem, checked, type(own_problem.structure).__name__
    name = problem or (subject.entry.default_problem if subject.entry else _default_problem(subject))
    if own and name in problems:
        check_shared(rest, {subject.name: own.values(), name: problems[name].parameters})
    return build_problem(name, rest), checked, name


def _default_problem(subject: LearnerSubject) -> str:
    family = getattr(subject.make, "family", None)
    if family not in DEFAULT_PROBLEMS:
        raise ProblemError(
            f"{subject.name}: a learner class must name its family, one of {', '.join(DEFAULT_PROBLEMS)}"
        )
    return DEFAULT_PROBLEMS[family]


def try_build(build: Callable[[Any], Any], subject: LearnerSubject) -> Any:
    """Make a learner on a gate of its own.

    Raises
    ------
    SubjectError
        If a user's learner cannot be built.
    """
    try:
        with subjects_own():
            return build(Simulation(0, 1))
    except subject_exceptions() as error:  # a user's constructor may raise anything
        if subject.entry is not None:
            raise
        raise SubjectError(
            f"{subject.name} could not be built: {describe_error_with_location(error)}"
        ) from error


def initial_records(build: BuildLearner, subject: LearnerSubject) -> InitialOutcomes:
    """Return the records of a learner's outcomes before the first round: "none", "one" for all, or "separate" ones.

    Raises
    ------
    SubjectError
        If a user's learner cannot be built.
    """
    learner = try_build(build, subject)
    if not hasattr(learner, "observe_initial"):
        return "none"
    return "separate" if getattr(learner, "initial_records", "one") == "separate" else "one"


def beyond_the_runs(name: str | None, rounds: int) -> tuple[Sentence, ...]:
    """Return statements about runs of a learner that were not played, as its accountant enforces the claim.

    Parameters
    ----------
    name
        A registered learner's.
    rounds
        The rounds of the runs that were played.
    """
    enforced = (
        exact("The accountant blocks any release that would exceed the claim, in every run of any length."),
        observed("Observed: runs of {draws:,} rounds.", rounds),
    )
    if name is None:  # the proof knows the records of registered learners only
        return (
            *enforced,
            remark("Each round was charged to its own record; give rounds of the same record the same name."),
        )
    proved = _proved_plan(name)
    if proved is None:
        return enforced
    plan, claim = proved
    numbers = "actions, horizons, ε and δ" if name in LINEAR_PLANNED else "K, L, ε and horizons"
    given = f" if {'; '.join(plan.promises)}" if plan.promises else ""
    costs = "; ".join(f"{record} loses at most {claim}" for record in plan.records)
    return (
        *enforced,
        exact("Proved for all {numbers}: {costs}{given}.", numbers=numbers, costs=costs, given=given),
    )


@functools.cache
def _proved_plan(name: str) -> tuple[SymbolicPlan, Any] | None:
    """Return the plan of a registered learner and its claim; None if it has none, or no proof that the checker accepts.

    The target of a program that calibrates noise is taken as promised (`SymbolicPlan.promises`).
    """
    from accountant.proofs.plan_document import plan_document  # SymPy is loaded for a certificate only
    from algorithms.theory.plans import PLANNED, plan_and_claim

    if name not in (*PLANNED, *LINEAR_PLANNED):
        return None
    plan, claim = plan_and_claim(name)
    try:
        document = plan_document(plan, claim, str(ONE_REPORT), {})
    except NoProof:
        return None
    return (plan, claim) if check_proof(document).follows else None


@dataclass(frozen=True)
class LearnerSubject:
    """A learner class, with its catalogue entry if it has one, and its own claim if that has numbers."""

    name: str
    make: type[Any]
    entry: LearnerEntry | LinearEntry | ContextualEntry | None
    claimed_epsilon: float | None = None
    claimed_delta: float = 0.0

    @property
    def form(self) -> ClaimForm:
        """The form of the learner's claim, for every epsilon."""
        form: ClaimForm = self.make.claim
        return form


@contextmanager
def attribute_errors_to_subject(subject: LearnerSubject, problem: str | None = None) -> Iterator[None]:
    """Turn the errors of a user's code into input errors.

    These are all errors of a user's learner, and those of any learner on the problem of a user's file.
    """
    try:
        yield
    except subject_exceptions() as error:
        known = subject.entry is not None and problem is None
        if known or (isinstance(error, ValueError) and type(error) is not ValueError):
            raise
        on = "" if problem is None else f" on {problem}"
        raise SubjectError(f"{subject.name}{on} raised {describe_error_with_location(error)}") from error
