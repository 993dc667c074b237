"""Problems of a user's own file, ``path/to/file.py:problem``, checked before anything is played on them."""

from __future__ import annotations

import itertools
import math
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.problems import LinearBandit, LinearContexts, Problem, ProblemError, SuperArms
from algorithms.problems.super_arms import check_super_arms
from verify.conduct.interrupts import subject_exceptions
from verify.findings.subject_error import SubjectError, describe_error_with_location
from verify.learners.learner_subject import AnyProblem
from verify.verification.resolve import load_object, names_file

_OF_PROBLEM = ("structure", "means", "draw_feedback", "expected_reward")
_OF_STRUCTURE = (
    "arms",
    "size",
    "alpha",
    "beta",
    "smoothness_l1",
    "smoothness_linf",
    "solve",
    "reward",
    "optimum",
)
_LANES = 8
_ROUNDING = 1e-9


def loaded_problem(problem: AnyProblem | str | None) -> AnyProblem | str | None:
    """Return a problem; for the name of one in a file, the problem that the file holds or makes.

    Raises
    ------
    SubjectError, ProblemError
        As `own_problem`.
    """
    file = problem_file(problem)
    return problem if file is None else own_problem(file)


def problem_file(problem: AnyProblem | str | None) -> str | None:
    """Return the name of a problem in a user's file; None of any other."""
    return problem if isinstance(problem, str) and names_file(problem) else None


def own_problem(reference: str) -> AnyProblem:
    """Return the problem that a user's file has or makes.

    A user's own structure is tested on a few weights: the answer of its oracle must be worth at least a share `alpha`
    of the best (where `beta` is 1), and the reward as smooth as it declares.

    Raises
    ------
    SubjectError
        If there is no such file or object, or its code raises an error.
    ProblemError
        If it is no problem, or its structure breaks the contract of `algorithms.problems.SuperArms`.
    """
    found: Any = load_object(reference)
    try:
        if callable(found) and not isinstance(found, type) and not _is_problem(found):
            found = found()
        if not _is_problem(found):
            raise ProblemError(
                f"{reference} is of type {type(found).__name__}; must be a problem (algorithms.problems.SemiBandit, "
                "Cascade, LinearBandit, LinearContexts ...), or a function without arguments that makes one"
            )
        if not isinstance(found, LinearBandit | LinearContexts):
            _check_structure(found, reference)
            float(found.benchmark)
    except ProblemError:
        raise
    except subject_exceptions() as error:  # a user's code may raise anything
        raise SubjectError(f"{reference} raised {describe_error_with_location(error)}") from error
    own: AnyProblem = found
    return own


def own_structure(reference: str) -> Problem | LinearContexts:
    """Return the problem with a structure or contexts that a user's file holds or makes.

    Raises
    ------
    SubjectError, ProblemError
        As `own_problem`, and for a linear problem without contexts.
    """
    found = own_problem(reference)
    if isinstance(found, LinearBandit):
        raise ProblemError(f"{reference}: a linear problem has no structure to play")
    return found


def absolute_object_path(reference: str) -> str:
    """Return the name of an object in a file so that it leads there from every folder."""
    file, _, attribute = reference.rpartition(":")
    return f"{Path(file).resolve()}:{attribute}"


def _is_problem(value: Any) -> bool:
    return isinstance(value, LinearBandit | LinearContexts) or (
        not isinstance(value, type) and all(hasattr(value, name) for name in _OF_PROBLEM)
    )


def _is_number(value: Any) -> bool:
    """Return True if a value is one real number, of Python or NumPy."""
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf"


def _check_structure(problem: Problem, reference: str) -> None:
    """Refuse a structure with wrong attributes, or an oracle with answers that are invalid or worse than promised."""
    structure: SuperArms = problem.structure
    name = f"{reference}: {type(structure).__name__}"
    missing = [each for each in _OF_STRUCTURE if not hasattr(structure, each)]
    if missing:
        raise ProblemError(
            f"{name} lacks {', '.join(missing)}: must be as algorithms.problems.SuperArms defines it"
        )
    for each in ("arms", "size"):
        value = getattr(structure, each)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ProblemError(f"{name}: {each} = {value!r}: must be a whole number of at least 1")
    for each in ("alpha", "beta"):
        value = getattr(structure, each)
        if not _is_number(value) or not 0.0 < value <= 1.0:
            raise ProblemError(f"{name}: {each} = {value!r}: must be a number above 0 and at most 1")
    weights = np.random.default_rng(0).random((_LANES, structure.arms))
    weights[0] = problem.means
    given = weights.copy()
    answers = check_super_arms(structure.solve(given), _LANES, structure, f"{name}: solve")
    if not np.array_equal(given, weights):
        raise ProblemError(f"{name}: solve changed the weights that it was given; they are the learner's own")
    for lane in range(_LANES):
        alone = np.asarray(structure.solve(weights[lane : lane + 1]))
        if not np.array_equal(alone, answers[lane : lane + 1]):
            raise ProblemError(
                f"{name}: solve returned {answers[lane].tolist()} among other lanes and {alone[0].tolist()} alone; an "
                "answer must depend on the weights of its own lane only, not on chance or what was asked before"
            )
        _check_worth(structure, answers[lane : lane + 1], weights[lane], name)
    _check_smoothness(structure, answers, weights, name)


def _check_worth(structure: SuperArms, answer: Any, weights: Any, name: str) -> None:
    """Refuse an oracle's answer that is better than the optimum, or, where that counts, too far below it."""
    rewards, best = np.asarray(structure.reward(answer, weights)), structure.optimum(weights)
    if not _is_number(best):
        raise ProblemError(f"{name}: optimum returned {best!r}; must be a number")
    best = float(best)
    if rewards.shape != (1,):
        raise ProblemError(f"{name}: reward of one lane has shape {rewards.shape}; must be (1,)")
    reward, tolerance = float(rewards[0]), _ROUNDING * max(1.0, abs(best))
    for what, value in (("reward", reward), ("optimum", best)):
        if not math.isfinite(value):
            raise ProblemError(
                f"{name}: {what} of {answer[0].tolist()} is {value} at means in [0, 1]; must be a number"
            )
    if reward > best + tolerance:
        raise ProblemError(
            f"{name}: solve found reward {reward:.6g}, above optimum {best:.6g}; must be the largest of all"
        )
    if structure.beta == 1 and reward < structure.alpha * best - tolerance:
        raise ProblemError(
            f"{name}: solve found reward {reward:.6g}, but alpha = {structure.alpha:g} of the optimum {best:.6g} is "
            "more; say a smaller alpha, or beta below 1 if it only sometimes fails"
        )


def _check_smoothness(structure: SuperArms, answers: Any, weights: Any, name: str) -> None:
    """Refuse constants of smoothness that are none, or that the reward exceeds between two of the lanes' means."""
    for constant, norm in (("smoothness_l1", np.sum), ("smoothness_linf", np.max)):
        value = getattr(structure, constant)
        if not _is_number(value) or not 0.0 <= value < math.inf:
            raise ProblemError(f"{name}: {constant} = {value!r}: must be a finite number of at least 0")
        for answer in answers:
            rewards = [float(np.asarray(structure.reward(answer[np.newaxis], row))[0]) for row in weights]
            for one, other in itertools.combinations(range(len(weights)), 2):
                moved = abs(rewards[one] - rewards[other])
                arms = answer[answer >= 0]
                distance = float(norm(np.abs(weights[one, arms] - weights[other, arms]), initial=0.0))
                if moved > value * distance + _ROUNDING * max(1.0, moved):
                    raise ProblemError(
                        f"{name}: {constant} = {value:g}, but the reward of {answer.tolist()} moves by {moved:.6g} "
                        f"between means that are {distance:.6g} apart"
                    )
