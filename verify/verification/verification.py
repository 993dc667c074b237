"""`verify`: the whole verification of one subject."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from accountant.provenance import file_digest, made_now
from accountant.recorded import describe
from algorithms.claim import Claim
from algorithms.problems import ProblemError, SettingError
from algorithms.unit import OnePerson, named_unit
from mechanisms import Assumption, AssumptionKind, ParameterError, assumptions_of
from mechanisms.assumptions import altered_library, watch_package
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.bandits.verify_bandit import verify_bandit
from verify.betting.bets import Bets
from verify.betting.wealth_file import WealthError, open_account
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS, Effort
from verify.conduct.interrupts import count_interrupts
from verify.conduct.isolation import Reports, in_own_process
from verify.conduct.other_processes import differs_in_other_processes
from verify.conduct.process_state import ignore_float_errors
from verify.conduct.progress import Progress, no_progress
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.findings.finding import Finding, Statement, UpperBound
from verify.findings.proof_checker import why_unproved
from verify.findings.sentences import remark
from verify.findings.subject_error import SubjectError
from verify.functions.function_subject import FunctionSubject
from verify.functions.verify_function import verify_function
from verify.learners.every_family import learner_family
from verify.learners.learner_on_problem import length_of_runs
from verify.learners.learner_subject import LearnerSubject, beyond_the_runs
from verify.learners.verify_learner import verify_learner
from verify.sampling.event_again import tester_of_witness
from verify.sampling.evidence import Evidence
from verify.sampling.tester import SingleLook, Tester
from verify.transcripts.adversary import Adversary, AdversaryError
from verify.verdict.answer import Answer, AnswerError, SubjectKind
from verify.verdict.result import Verification
from verify.verdict.verdict import Decision, decide
from verify.verification.named_adversary import named_adversary
from verify.verification.options import Options, takes
from verify.verification.own_problem import loaded_problem
from verify.verification.reproduction import reproduction
from verify.verification.resolve import Subject, file_of, registered_name, resolve
from verify.verification.subject_identity import (
    adversary_words,
    module_digests,
    modules_of_user,
    source_digest,
)
from verify.verification.verify_mechanism import (
    MechanismSubject,
    mechanism_proof,
    rebuilt,
    upper_bound,
    verify_mechanism,
)

_GROUND_SEED = 0
_INPUT_ERRORS = (
    SubjectError,
    SettingError,
    ProblemError,
    ParameterError,
    AdversaryError,
    WealthError,
    ValueError,
    OSError,
)
"""Exceptions of another process that are raised again here, each as the first of these classes that it has."""


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
    ParameterError
        If any parameter is of a wrong type or out of range; the message names it (subclasses say more).

    Examples
    --------
    >>> from mechanisms import Laplace
    >>> verify(Laplace(scale=1.0), epsilon=1.0, effort="quick").verdict
    'certified'
    >>> verify(Laplace(scale=0.5), epsilon=1.0, effort="quick").verdict
    'refuted'
    """
    return run_verification(subject, options)


def run_verification(
    subject: object, options: Options, *, tests: bool = True, witness: Mapping[str, Any] | None = None
) -> Verification:
    """Verify as `verify` does.

    Without `tests` the claim's view is not sampled, and all that is left is the proof. Of a `witness`, as
    `Witness.details` has it, the event alone is tested, on fresh draws.
    """
    tell: Progress = options.progress if options.progress is not None else no_progress
    with count_interrupts():
        if options.isolated:
            return _decide_apart(subject, options, tell, tests, witness)
        return _conclude(_answer(subject, options, tell, tests, witness), subject)


def _decide_apart(
    subject: object, options: Options, tell: Progress, tests: bool, witness: Mapping[str, Any] | None
) -> Verification:
    """Import and run the subject in a process of its own; decide here on the data that come back."""
    claimed: list[Answer] = []  # the answer before the subject is run, once it has come

    def work(reports: Reports) -> Any:
        for package in ("algorithms", "verify"):  # the other two watch themselves
            watch_package(package)
        return _answer(
            subject, options, reports.progress, tests, witness, lambda answer: reports.note(answer.to_data())
        ).to_data()

    def note_claim(data: Any) -> None:
        if claimed:
            raise AnswerError("it states its claim twice")
        claimed.append(_read_answer(data, options))

    try:
        data = in_own_process(work, tell, options.time_limit, noted=note_claim, errors=_INPUT_ERRORS)
        if not isinstance(data, Finding):
            answer = _read_answer(data, options)
            if not claimed or not claimed[0].agrees_with(answer):
                raise AnswerError("it is about another subject than before")
            return _conclude(_recompute_upper_bound(answer), subject)
        ended = data
    except AnswerError as error:
        ended = Statement.ENDS_PROCESS.finding(how=f"reported unreadable data ({error})")
    if not claimed:
        raise SubjectError(f"{_name(subject)}: its claim is unknown: {ended.message}")
    upper = UpperBound(math.inf, 1.0, "the process left no result")
    return _conclude(replace(claimed[0], evidence=Evidence(upper=upper, findings=[ended])), subject)


def _recompute_upper_bound(answer: Answer) -> Answer:
    """Return an answer in which the upper bound on a mechanism is computed by this process, from its parameters."""
    if answer.kind is not SubjectKind.MECHANISM or answer.evidence.upper is None:
        return answer
    evidence = replace(answer.evidence)
    try:
        mechanism = rebuilt(answer.mechanism or {})
    # Not one of this library, as its assumptions say.
    except (ValueError, TypeError, LookupError, AttributeError):
        told = "the description of your mechanism by the process that made it is true"
        evidence.assumptions = [*evidence.assumptions, Assumption(AssumptionKind.FOREIGN_CLASS, told)]
    else:
        evidence.upper = upper_bound(mechanism, answer.claim.delta)
        evidence.details = {**evidence.details, "proof": mechanism_proof(mechanism, answer.claim)}
    return replace(answer, evidence=evidence)


def _read_answer(data: Any, options: Options) -> Answer:
    """Read an answer, and refuse one to another inquiry."""
    answer = Answer.from_data(data)
    claim = answer.claim
    asked = (
        (options.epsilon, claim.epsilon),
        (options.delta, claim.delta),
        (options.composition, claim.composition),
    )
    units = () if options.unit is None else (named_unit(options.unit), OnePerson())  # which protects more
    if (units and claim.unit not in units) or any(
        given is not None and given != claimed for given, claimed in asked
    ):
        raise AnswerError("it is about another claim than was asked about")
    if options.wealth is None and answer.seed != options.seed:
        raise AnswerError("it is about another seed than was asked for")
    return answer


@ignore_float_errors()
def _answer(
    subject: object,
    options: Options,
    tell: Progress,
    tests: bool,
    witness: Mapping[str, Any] | None,
    known: Callable[[Answer], None] = lambda answer: None,
) -> Answer:
    """Find the subject, and collect the evidence of all layers; call `known` with the answer before there is any."""
    start = time.monotonic()
    file = options.wealth
    try:
        with time_limit(options.time_limit):
            found, claim, adversary = _find_subject(subject, options)
            problem = loaded_problem(options.problem)
    except TimeLimitReached:
        raise SubjectError(
            f"{_name(subject)}: does not import within the time limit of {options.time_limit:g} s"
        ) from None
    effort = replace(
        EFFORTS[options.effort].with_samples(options.samples, options.confidence),
        executor=options.executor,
        significance=options.significance,
    )
    seed, account = options.seed, None
    if file is not None:
        law = _settings_of_law(found, options, effort, adversary)
        account = open_account(file, found.name, source_digest(found), claim, law)
        seed = account.next_seed(seed)
    repeated = replace(
        options,
        epsilon=claim.epsilon,
        delta=None if claim.delta == found.claimed_delta == 0.0 else claim.delta,
        seed=seed,
        anytime=options.bets,  # without the file
    )
    answer = Answer(
        found.name, claim, seed, _KINDS[type(found)], _parameters(found), _digest(found), _modules(found)
    )
    known(answer)
    conduct = Conduct(
        effort,
        seed,
        reproduction(subject, found, repeated),
        tell,
        options.time_limit,
        start,
    )
    bets = Bets(seed, account, file) if options.bets else None
    # Products here are thin: more threads for linear algebra only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"), count_interrupts() as presses:
        tester: Tester | None = (bets or SingleLook()) if tests else None
        if witness is not None:
            bits = options.floating_point and isinstance(found, FunctionSubject)  # of others they never count
            tester = tester_of_witness(witness, secrets.randbits(64), floating_point=bits)
        own_claim, evidence = _collect(
            found, claim, conduct, tester, replace(options, problem=problem), adversary
        )
        if evidence.refutes(own_claim) and evidence.again is not None:
            modules = modules_of_user(found)
            if differs_in_other_processes(evidence.again, modules, conduct.seconds - conduct.elapsed_seconds):
                evidence.depend_on_process()
        presses.report_follows()
        if bets is not None:
            bets.save(evidence)
    return replace(answer, claim=own_claim, evidence=evidence)


def _collect(
    found: Subject,
    claim: Claim,
    conduct: Conduct,
    tester: Tester | None,
    options: Options,
    adversary: Adversary | None,
) -> tuple[Claim, Evidence]:
    """Collect the evidence of the layers for a subject's kind; return it with the claim about their records.

    Without a tester all tests of the claim's view are left out, and the proof alone is left. The adversary is that of a
    learner; a plain bandit's is its own already.
    """
    # The layers before bets always have the same seed: the runs of a wealth file find the same pairs and go on with the
    # events on them, and coupled runs give one piece of evidence, not one more in every run.
    ground = replace(conduct, seed=_GROUND_SEED) if tester is not None and tester.anytime else conduct
    match found:
        case LearnerSubject():
            effort, rounds = length_of_runs(found, conduct.effort, options.horizon)
            family, played = learner_family(
                found,
                claim,
                conduct,
                rounds=rounds,
                problem=options.problem,
                settings=options.settings or {},
                adversary=adversary,
            )
            claim = family.claim
            evidence = verify_learner(family, replace(ground, effort=effort), tester)
            evidence.details["problem"] = played
        case MechanismSubject(mechanism=mechanism):
            evidence = verify_mechanism(mechanism, claim, conduct, tester)
        case BanditSubject(bandit=bandit) if tester is not None:
            evidence = verify_bandit(bandit, claim, ground, tester)
        case FunctionSubject() if tester is not None:
            bits = options.floating_point
            bets = Bets(conduct.seed)
            evidence = verify_function(found, claim, conduct, tester, bets, floating_point=bits)
        case BanditSubject() | FunctionSubject():
            evidence = Evidence(upper=UpperBound(math.inf, 1.0, "black box"))
    evidence.assume(*altered_library())  # last, so that no change by the subject is missed
    return claim, evidence


def _find_subject(subject: object, options: Options) -> tuple[Subject, Claim, Adversary | None]:
    """Find a subject, its claim and its adversary: all of a user's code is imported here."""
    found = resolve(subject, options.neighbours)
    of_learners = options.settings or options.problem is not None or options.horizon is not None
    of_learners = of_learners or options.composition is not None or options.unit is not None
    if of_learners and not isinstance(found, LearnerSubject):
        raise ProblemError(
            f"{found.name} is not a learner: it takes no problem, settings, horizon, composition or unit"
        )
    claim = _claim(found, options)
    if options.adversary is not None and not isinstance(found, LearnerSubject | BanditSubject):
        raise SubjectError(f"{found.name} is no learner and no bandit: it takes no adversary")
    adversary = options.adversary
    if isinstance(adversary, str):
        adversary = named_adversary(adversary)
    if adversary is not None and isinstance(found, BanditSubject):
        found = replace(found, bandit=found.bandit.against(adversary))
    return found, claim, adversary


_KINDS: Mapping[type, SubjectKind] = {
    LearnerSubject: SubjectKind.LEARNER,
    MechanismSubject: SubjectKind.MECHANISM,
    BanditSubject: SubjectKind.BANDIT,
    FunctionSubject: SubjectKind.FUNCTION,
}


def _parameters(found: Subject) -> dict[str, Any] | None:
    """Return the parameters of a mechanism of this library as JSON data; None for any other subject."""
    if not isinstance(found, MechanismSubject) or assumptions_of(found.mechanism):
        return None
    described: dict[str, Any] = json.loads(describe(found.mechanism))
    return described


def _digest(found: Subject) -> str:
    """Return the digest of a subject, "" if it cannot be read: a user's own description of it may raise."""
    try:
        return source_digest(found)
    except Exception:
        return ""


def _modules(found: Subject) -> dict[str, str]:
    """Return digests of the code beside a subject's own, where it can be read."""
    try:
        return module_digests(found)
    except SubjectError:
        raise
    except Exception:
        return {}


def _name(subject: object) -> str:
    return subject if isinstance(subject, str) else str(getattr(subject, "name", type(subject).__qualname__))


def _settings_of_law(
    found: Subject, options: Options, effort: Effort, adversary: Adversary | None
) -> dict[str, str]:
    """Return all that a learner's actions depend on besides its code; evidence counts for this law alone."""
    if not isinstance(found, LearnerSubject):
        return {}
    _, rounds = length_of_runs(found, effort, options.horizon)
    problem, settings = options.problem, options.settings or {}
    named = "its own" if problem is None else problem if isinstance(problem, str) else repr(problem)
    if (file := file_of(problem)) is not None:
        named = f"{named}, {file_digest(file)}"
    law = {"problem": named, "horizon": str(rounds), **{key: str(settings[key]) for key in sorted(settings)}}
    return law if adversary is None else {**law, "adversary": adversary_words(adversary)}


def _claim(found: Subject, options: Options) -> Claim:
    """Fill in a claim's numbers and its theorem: those given, else the subject's own."""
    number = found.claimed_epsilon if options.epsilon is None else options.epsilon
    if number is None:
        raise ParameterError(
            f"epsilon: {found.name} claims no number of its own; say which epsilon to verify (--epsilon)"
        )
    form = found.form
    if options.composition is not None:
        form = replace(form, composition=options.composition)
    if options.unit is not None:
        form = replace(form, unit=named_unit(options.unit))
    return form.with_parameters(number, found.claimed_delta if options.delta is None else options.delta)


def _conclude(answer: Answer, subject: object) -> Verification:
    """Return the verdict on an answer, always in the calling process: it is decided nowhere else."""
    claim, evidence = answer.claim, answer.evidence
    decision = decide(claim, evidence)
    if decision.verdict == "certified" and (why := why_unproved(evidence.details.get("proof"), claim)):
        decision = Decision("unproven", (remark("No proof that the checker accepts: {why}", why=why),))
    if decision.verdict == "certified" and answer.kind is SubjectKind.LEARNER:
        registered = registered_name(subject)
        decision = replace(decision, reasons=(*decision.reasons, *beyond_the_runs(registered, answer.rounds)))
    return Verification(
        subject=answer.subject,
        kind=answer.kind,
        claim=claim,
        decision=decision,
        upper=evidence.upper,
        lower=evidence.lower,
        witness=evidence.witness,
        findings=tuple(evidence.findings),
        seed=answer.seed,
        provenance=made_now(subject=answer.digest, **answer.modules),
        details=evidence.details
        if answer.mechanism is None
        else {**evidence.details, "mechanism": answer.mechanism},
        assumptions=tuple(evidence.assumptions),
    )
