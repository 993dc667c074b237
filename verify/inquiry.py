"""The inquiry into a subject, and the layers that answer it: for every kind of subject its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from algorithms.claim import Claim
from algorithms.problems import LinearBandit, LinearContexts
from algorithms.unit import OnePerson
from mechanisms.assumptions import altered_library
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.bandits.verify_bandit import verify_bandit
from verify.conduct.conduct import Conduct
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings import UpperBound
from verify.functions.function_subject import FunctionSubject
from verify.functions.verify_function import verify_function
from verify.learners.learner_case import LearnerCase
from verify.learners.learner_family import LearnerFamily
from verify.learners.learner_subject import LearnerSubject, initial_records
from verify.learners.structured_family import StructuredFamily
from verify.learners.verify_learner import verify_learner
from verify.linear.contextual_family import ContextualFamily
from verify.linear.linear_family import LinearFamily
from verify.linear.linear_subject import build_learner, length_of_runs
from verify.options import Options
from verify.sampling.tester import Tester
from verify.subject_error import SubjectError
from verify.subjects.resolve import Subject
from verify.transcripts.adversary import Adversary
from verify.verdict.evidence import Evidence
from verify.verify_mechanism import MechanismSubject, verify_mechanism

_GROUND_SEED = 0


@dataclass(frozen=True)
class Inquiry:
    """The inquiry into a claim of a subject.

    Attributes
    ----------
    subject, claim
        The subject, and its claim.
    conduct
        The conduct of the verification.
    options
        The options that the caller set.
    tester
        The tester of the candidates that the layers find; None leaves all tests of the claim's view out, and the proof
        alone is left.
    adversary
        Of learners; the adversary of a plain bandit is its own already.
    """

    subject: Subject
    claim: Claim
    conduct: Conduct
    options: Options
    tester: Tester | None
    adversary: Adversary | None = None

    def answer(self) -> tuple[Claim, Evidence]:
        """Collect the evidence; return it with the claim, which includes the assumptions about its records."""
        claim, evidence = self._answer()
        evidence.assume(*altered_library())  # at last: whatever the subject changed, and whenever
        return claim, evidence

    def _answer(self) -> tuple[Claim, Evidence]:
        claim, tester = self.claim, self.tester
        match self.subject:
            case LearnerSubject():
                return self._of_learner(self.subject)
            case MechanismSubject(mechanism=mechanism):
                return claim, verify_mechanism(mechanism, claim, self.conduct, tester)
            case BanditSubject() | FunctionSubject() if tester is None:
                return claim, Evidence(upper=UpperBound(math.inf, 1.0, "black box"))
            case BanditSubject(bandit=bandit):
                return claim, verify_bandit(bandit, claim, self._ground, tester)
            case FunctionSubject():
                bits = self.options.floating_point
                return claim, verify_function(self.subject, claim, self.conduct, tester, floating_point=bits)

    @contextmanager
    def _building(self, subject: LearnerSubject) -> Iterator[None]:
        """Turn a time limit that is over in the block into an input error."""
        seconds = self.conduct.seconds
        try:
            with time_limit(seconds - self.conduct.elapsed_seconds):
                yield
        except TimeLimitReached:
            raise SubjectError(
                f"{subject.name} cannot be built within the time limit of {seconds:g} s"
            ) from None

    @property
    def _ground(self) -> Conduct:
        """How what comes before the test of a learner or bandit is carried out.

        Before bets it always has the same seed: the runs of a wealth file find the same pairs and go on with the events
        on them, and what coupled runs show is one piece of evidence, not one more in every run.
        """
        anytime = self.tester is not None and self.tester.anytime
        return replace(self.conduct, seed=_GROUND_SEED) if anytime else self.conduct

    def _of_learner(self, subject: LearnerSubject) -> tuple[Claim, Evidence]:
        options, claim = self.options, self.claim
        effort, rounds = length_of_runs(subject, self.conduct.effort, options.horizon)
        with self._building(subject):
            build, problem, played = build_learner(
                subject,
                options.problem,
                options.settings or {},
                epsilon=claim.epsilon,
                delta=claim.delta,
                horizon=rounds,
            )
            family: LearnerFamily
            if isinstance(problem, LinearBandit):
                unit = claim.unit
                if problem.replacement:
                    claim = replace(claim, unit=OnePerson())  # a client may be drawn again, in public order
                family = LinearFamily(build, problem, claim, rounds, unit)
            elif isinstance(problem, LinearContexts):
                family = ContextualFamily(build, problem, claim, rounds)
            else:
                initial = initial_records(build, subject)
                if initial == "separate":
                    words = "before the first round, every arm's outcome is a report of its own"
                    claim = replace(claim, comment=words)
                family = StructuredFamily(LearnerCase(build, problem, claim, initial, self.adversary), rounds)
        evidence = verify_learner(family, replace(self._ground, effort=effort), self.tester)
        evidence.details["problem"] = played
        return claim, evidence
