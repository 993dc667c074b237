"""Contextual learners as subjects: what they play, and how they are built."""

from __future__ import annotations

from collections.abc import Mapping

from algorithms.catalogue.contextual_entries import contextual_builder
from algorithms.linear.contextual_play import BuildContextual
from algorithms.problems import LinearContexts, Value, contextual_problems
from verify.learners.learner_subject import AnyProblem, LearnerSubject, try_build
from verify.linear.linear_subject import named_or_given


def is_contextual(subject: LearnerSubject) -> bool:
    """Whether a learner has a policy for contexts in place of actions."""
    return getattr(subject.make, "family", None) == "contextual"


def build_contextual(
    subject: LearnerSubject,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    *,
    epsilon: float,
    delta: float,
    horizon: int,
) -> tuple[BuildContextual, LinearContexts, str]:
    """Return a function that makes the learner, its problem, and the problem's name; one learner is made to see.

    Raises
    ------
    ProblemError
        If the problem has no contexts or is unknown, or a setting unknown or out of range.
    SubjectError
        If a user's learner cannot be built.
    """
    played, own, name = named_or_given(subject, problem, settings, contextual_problems, LinearContexts)
    build = contextual_builder(
        subject.make, played, epsilon=epsilon, delta=delta, horizon=horizon, settings=own
    )
    try_build(build, subject)
    return build, played, name
