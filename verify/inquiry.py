"""What is asked about a subject, and which layers answer: for every kind of subject its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from algorithms.catalogue.structured_entries import learner_builder
from algorithms.claim import Claim
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.bandits.verify_bandit import verify_bandit
from verify.betting.anytime_bettor import BetInstead, Bettor
from verify.conduct.conduct import Conduct
from verify.functions.function_subject import FunctionSubject
from verify.functions.verify_function import verify_function
from verify.learners.anytime import bet_on_bandit, bet_on_learner
from verify.learners.learner_case import LearnerCase
from verify.learners.learner_subject import LearnerSubject, choose_problem, initial_records
from verify.learners.verify_learner import verify_learner
from verify.linear.linear_subject import is_linear, verify_linear_subject
from verify.options import Options
from verify.subjects.subject import Subject
from verify.transcripts.adversary import Adversary
from verify.verdict.evidence import Evidence
from verify.verify_anytime import bet_on_function
from verify.verify_mechanism import MechanismSubject, verify_mechanism


@dataclass(frozen=True)
class Inquiry:
    """What is asked.

    Attributes
    ----------
    subject, claim
        The subject, and what it is held to.
    conduct
        How the verification is carried out.
    options
        What the caller set.
    adversary
        Of learners; the adversary of a plain bandit is its own already.
    bettor
        Who bets, in place of a test at the end.
    """

    subject: Subject
    claim: Claim
    conduct: Conduct
    options: Options
    adversary: Adversary | None = None
    bettor: Bettor | None = None

    def answer(self) -> tuple[Claim, Evidence]:
        """Collect the evidence; the claim is returned with what is assumed about its records."""
        bets = None if self.bettor is None else BetInstead(self.bettor)
        match self.subject:
            case LearnerSubject() if is_linear(self.subject):
                claim, evidence = self._of_linear_learner(self.subject, bets)
            case LearnerSubject():
                claim, evidence = self._of_learner(self.subject)
            case BanditSubject():
                claim, evidence = self.claim, self._of_bandit(self.subject)
            case MechanismSubject():
                claim, evidence = self.claim, self._of_mechanism(self.subject, bets)
            case FunctionSubject():
                claim, evidence = self.claim, self._of_function(self.subject)
        if bets is not None:
            bets.conclude(evidence)
        return claim, evidence

    def _of_learner(self, subject: LearnerSubject) -> tuple[Claim, Evidence]:
        problem, settings, _ = choose_problem(subject, self.options.problem, self.options.settings or {})
        own = getattr(subject.make, "own_horizon", None)
        effort = self.conduct.effort.for_horizon(
            own if self.options.horizon is None else self.options.horizon
        )
        conduct = replace(self.conduct, effort=effort)
        claim = self.claim
        build = learner_builder(
            subject.make,
            problem,
            epsilon=claim.epsilon,
            delta=claim.delta,
            horizon=effort.accounting_rounds,
            settings=settings,
        )
        initial = initial_records(build, subject)
        if initial == "separate":
            unit = f"{claim.unit}; before the first, every arm's outcome is a record of its own"
            claim = replace(claim, unit=unit)
        case = LearnerCase(build, problem, claim, initial, self.adversary)
        if self.bettor is not None:
            bettor = replace(self.bettor, conduct=conduct)
            return claim, bet_on_learner(bettor, case)
        return claim, verify_learner(case, conduct)

    def _of_linear_learner(self, subject: LearnerSubject, bets: BetInstead | None) -> tuple[Claim, Evidence]:
        conduct = self.conduct if self.bettor is None else self.bettor.on_the_ground
        return verify_linear_subject(
            subject,
            self.claim,
            self.options.problem,
            self.options.settings or {},
            conduct,
            horizon=self.options.horizon,
            instead=bets,
        )

    def _of_bandit(self, subject: BanditSubject) -> Evidence:
        if self.bettor is not None:
            return bet_on_bandit(self.bettor, subject.bandit, self.claim)
        return verify_bandit(subject.bandit, self.claim, self.conduct)

    def _of_mechanism(self, subject: MechanismSubject, bets: BetInstead | None) -> Evidence:
        return verify_mechanism(
            subject.mechanism, self.claim, self.conduct, built_in=subject.built_in, instead=bets
        )

    def _of_function(self, subject: FunctionSubject) -> Evidence:
        if self.bettor is not None:
            return bet_on_function(subject, self.bettor)
        return verify_function(subject, self.claim, self.conduct, floating_point=self.options.floating_point)
