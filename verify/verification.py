"""`verify`: the whole verification of one subject."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from threadpoolctl import threadpool_limits

from algorithms.claim import Claim
from algorithms.problems import ProblemError
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.betting.bets import Bets
from verify.betting.wealth_file import open_account
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS, Effort
from verify.conduct.interrupts import interrupts
from verify.conduct.isolation import in_own_process
from verify.conduct.progress import Progress, silent
from verify.findings import Finding, UpperBound
from verify.inquiry import Inquiry
from verify.learners.learner_subject import LearnerSubject, beyond_the_runs, learner_effort
from verify.linear.linear_subject import is_linear, linear_rounds
from verify.options import Options, takes
from verify.reproduction import reproduction
from verify.sampling.tester import SingleLook
from verify.subject_error import SubjectError
from verify.subjects.named_adversary import named_adversary
from verify.subjects.resolve import Subject, resolve
from verify.subjects.subject_identity import adversary_words, source_digest
from verify.transcripts.adversary import Adversary
from verify.verdict.evidence import Evidence
from verify.verdict.result import Verification
from verify.verdict.verdict import decide
from verify.verify_mechanism import MechanismSubject


@takes(Options)
def verify(subject: object, options: Options) -> Verification:
    """Verify a claim of (epsilon, delta)-differential privacy: certify it, refute it, or say why neither.

    Parameters
    ----------
    subject
        A registered learner's name, ``"zoo/<name>"``, ``"path/to/file.py:object"``, or the object itself: a
        learner class, a mechanism, or a function marked with `claimed`.

    Returns
    -------
    Verification
        The verdict, both bounds, the witness and the findings.

    Raises
    ------
    ValueError
        If any parameter is of a wrong type or out of range; the message names it (subclasses say more).

    Examples
    --------
    >>> from mechanisms import Laplace
    >>> verify(Laplace(scale=1.0), epsilon=1.0, effort="quick").verdict
    'certified'
    >>> verify(Laplace(scale=0.5), epsilon=1.0, effort="quick").verdict
    'refuted'
    """
    found = resolve(subject, options.neighbours)
    claim = _claim(found, options.epsilon, options.delta)
    if options.adversary is not None and not isinstance(found, LearnerSubject | BanditSubject):
        raise SubjectError(f"{found.name} is no learner and no bandit: it takes no adversary")
    of_learners = options.settings or options.problem is not None or options.horizon is not None
    if of_learners and not isinstance(found, LearnerSubject):
        raise ProblemError(f"{found.name} is not a learner: it takes no problem, settings or horizon")
    effort = replace(
        EFFORTS[options.effort].with_samples(options.samples, options.confidence),
        workers=options.workers,
        false_alarm=float(options.false_alarm),
    )
    adversary = options.adversary
    if isinstance(adversary, str):
        adversary = named_adversary(adversary)
    if adversary is not None and isinstance(found, BanditSubject):
        found = replace(found, bandit=found.bandit.against(adversary))
    seed, account = int(options.seed), None
    file = None if options.wealth is None else Path(options.wealth)
    if file is not None:
        law = _settings_of_law(found, options, effort, adversary)
        account = open_account(file, found.name, source_digest(found), claim, law)
        seed = account.next_seed(seed)
    repeated = replace(
        options,
        epsilon=claim.epsilon,
        delta=None if claim.delta == _own_numbers(found)[1] == 0.0 else claim.delta,
        seed=seed,
        anytime=options.bets,
    )
    reproduce = reproduction(subject, found, repeated)

    def work(tell: Progress) -> Verification:
        conduct = Conduct(effort, seed, reproduce, tell, options.time_limit)
        bets = Bets(seed, account, file) if options.bets else None
        with _one_thread():
            own_claim, evidence = Inquiry(
                found, claim, conduct, options, bets or SingleLook(), adversary
            ).answer()
        presses.report_follows()
        if bets is not None:
            bets.save(evidence)
        return _conclude(found, own_claim, evidence, seed)

    tell: Progress = options.progress if options.progress is not None else silent
    with interrupts() as presses:
        if not options.isolated:
            return work(tell)
        result = in_own_process(work, tell, options.time_limit)
    if isinstance(result, Finding):
        upper = UpperBound(math.inf, 1.0, "none: it left no result")
        result = _conclude(found, claim, Evidence(upper=upper, findings=[result]), seed)
    return result


def _settings_of_law(
    found: Subject, options: Options, effort: Effort, adversary: Adversary | None
) -> dict[str, str]:
    """Return what the law of a learner's actions depends on besides its code: evidence counts for that alone."""
    if not isinstance(found, LearnerSubject):
        return {}
    if is_linear(found):
        rounds = linear_rounds(effort, options.horizon)
    else:
        rounds = learner_effort(found, effort, options.horizon).accounting_rounds
    problem, settings = options.problem, options.settings or {}
    named = "its own" if problem is None else problem if isinstance(problem, str) else repr(problem)
    law = {"problem": named, "horizon": str(rounds), **{key: str(settings[key]) for key in sorted(settings)}}
    return law if adversary is None else {**law, "adversary": adversary_words(adversary)}


def _claim(found: Subject, epsilon: float | None, delta: float | None) -> Claim:
    """Fill in a claim's numbers: those given, else the subject's own."""
    own_epsilon, own_delta = _own_numbers(found)
    number = own_epsilon if epsilon is None else epsilon
    if number is None:
        raise ValueError(
            f"epsilon: {found.name} claims no number of its own; say which epsilon to verify (--epsilon)"
        )
    return found.form.at(number, own_delta if delta is None else delta)


def _own_numbers(found: Subject) -> tuple[float | None, float]:
    """Return the epsilon, if any, and the delta that a subject claims itself."""
    if isinstance(found, MechanismSubject):
        return None, 0.0
    return found.claimed_epsilon, found.claimed_delta


def _conclude(found: Subject, claim: Claim, evidence: Evidence, seed: int) -> Verification:
    decision = decide(
        claim,
        upper=evidence.upper,
        lower=evidence.lower,
        witness=evidence.witness,
        findings=evidence.findings,
        declassified=evidence.declassified,
        contradictions=evidence.contradictions,
        assumptions=evidence.assumptions,
    )
    if decision.verdict == "certified" and isinstance(found, LearnerSubject):
        reach = beyond_the_runs(found, evidence.details["accounting"]["rounds"])
        decision = replace(decision, reasons=(*decision.reasons, reach))
    return Verification(
        subject=found.name,
        claim=claim,
        decision=decision,
        upper=evidence.upper,
        lower=evidence.lower,
        witness=evidence.witness,
        findings=tuple(evidence.findings),
        seed=seed,
        versions=_versions(),
        details=evidence.details,
        assumptions=tuple(evidence.assumptions),
    )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread: products here are thin, and more threads only wait for each other."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def _versions() -> dict[str, str]:
    """Return the versions of what took part."""
    packages = ("dpwitness", "numpy", "scipy")
    return {"python": sys.version.split()[0], **{name: metadata.version(name) for name in packages}}
