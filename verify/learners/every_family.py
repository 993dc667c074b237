"""The family of a learner, which plays it: built within the time limit on its problem, with its claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from algorithms.claim import Claim
from algorithms.problems import LinearBandit, LinearContexts, Value
from algorithms.unit import OnePerson
from verify.conduct.conduct import Conduct
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings.subject_error import SubjectError
from verify.learners.contextual_family import ContextualFamily
from verify.learners.learner_family import LearnerFamily
from verify.learners.learner_on_problem import build_learner
from verify.learners.learner_subject import AnyProblem, LearnerSubject, initial_records
from verify.learners.linear_family import LinearFamily
from verify.learners.structured_family import StructuredFamily
from verify.transcripts.adversary import Adversary


def learner_family(
    subject: LearnerSubject,
    claim: Claim,
    conduct: Conduct,
    *,
    rounds: int,
    problem: AnyProblem | str | None,
    settings: Mapping[str, Value],
    adversary: Adversary | None,
) -> tuple[LearnerFamily, str]:
    """Return the family that plays a learner, and the name of its problem.

    Its claim includes the assumptions about the records of the problem and the learner.

    Parameters
    ----------
    subject, claim
        The learner, and its claim.
    conduct
        The conduct of the verification; building ends at its time limit.
    rounds
        Number of rounds of every accounting run.
    problem, settings
        The requested problem, and settings of it.
    adversary
        The adversary of learners with a structure.

    Raises
    ------
    ProblemError
        If the problem is unknown or of another family, or a setting unknown or out of range.
    SubjectError
        If a user's learner cannot be built, or not in time.
    """
    try:
        with time_limit(conduct.seconds - conduct.elapsed_seconds):
            build, played, name = build_learner(
                subject, problem, settings, epsilon=claim.epsilon, delta=claim.delta, horizon=rounds
            )
            structured = not isinstance(played, LinearBandit | LinearContexts)
            initial = initial_records(build, subject) if structured else "none"
    except TimeLimitReached:
        raise SubjectError(
            f"{subject.name} cannot be built within the time limit of {conduct.seconds:g} s"
        ) from None
    if isinstance(played, LinearContexts):
        return ContextualFamily(build, played, claim, rounds), name
    if isinstance(played, LinearBandit):
        # A client may be drawn again, in public order.
        owned = replace(claim, unit=OnePerson()) if played.replacement else claim
        return LinearFamily(build, played, owned, rounds, claim.unit), name
    if initial == "separate":
        claim = replace(claim, comment="before the first round, every arm's outcome is a report of its own")
    return StructuredFamily(build, played, claim, initial, adversary, rounds=rounds), name
