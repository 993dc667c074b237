"""`verify`: the whole verification of one subject."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from algorithms.claim import Claim
from algorithms.problems import LinearBandit, Problem, ProblemError, Value
from mechanisms import Domain
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.betting.anytime_bettor import Bettor
from verify.betting.wealth_file import open_account
from verify.conduct.conduct import Conduct
from verify.conduct.effort import EFFORTS, FALSE_ALARM, Effort
from verify.conduct.isolation import in_own_process
from verify.conduct.options import check_types
from verify.conduct.progress import Progress, silent
from verify.conduct.time_limit import SECONDS, check_time_limit
from verify.findings import Finding, UpperBound
from verify.functions.function_subject import FunctionSubject
from verify.inquiry import Inquiry
from verify.learners.learner_subject import LearnerSubject, beyond_the_runs
from verify.linear.linear_subject import beyond_the_linear_runs, is_linear
from verify.linear.verify_linear import ROUNDS_PER_EFFORT
from verify.neighbouring.adjacency import Adjacency
from verify.reproduction import reproduction
from verify.subject_error import SubjectError
from verify.subjects.named_adversary import named_adversary
from verify.subjects.resolve import resolve
from verify.subjects.subject import Subject
from verify.subjects.subject_identity import adversary_words, source_digest
from verify.transcripts.adversary import Adversary
from verify.verdict.evidence import Evidence
from verify.verdict.result import Verification
from verify.verdict.verdict import decide


def verify(
    subject: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    problem: Problem | LinearBandit | str | None = None,
    settings: Mapping[str, Value] | None = None,
    horizon: int | None = None,
    seed: int = 0,
    effort: str = "default",
    samples: int | None = None,
    confidence: float = 0.95,
    false_alarm: float = FALSE_ALARM,
    floating_point: bool = False,
    time_limit: float = SECONDS,
    neighbours: Adjacency | Domain | None = None,
    adversary: Adversary | str | None = None,
    workers: int = 1,
    anytime: bool = False,
    wealth: str | Path | None = None,
    isolated: bool = False,
    progress: Progress | None = None,
) -> Verification:
    """Verify a claim of (epsilon, delta)-differential privacy: certify it, refute it, or say why neither.

    Parameters
    ----------
    subject
        A registered learner's name, ``"zoo/<name>"``, ``"path/to/file.py:object"``, or the object itself: a
        learner class, a mechanism, or a function marked with `claimed`.
    epsilon, delta
        The claim. The trust model, the record and the view are the subject's own. Only a specimen of the zoo has
        numbers of its own, which hold unless others are given; elsewhere delta is 0 by default.
    problem
        For learners: a problem, or its name in the catalogue; by default the learner's own.
    settings
        Parameters of the named problem and of the learner.
    horizon
        For learners: the rounds they are built for, and of every accounting run; by default what `effort`
        says. What is certified beyond that many rounds rests on the accountant that enforces its budget.
    seed
        Of all randomness: the same seed gives the same result, bit for bit.
    effort
        ``"quick"``, ``"default"`` or ``"thorough"``.
    samples
        Draws of the view in the black-box test, of all stages together; by default what `effort` says.
    confidence
        Of the lower bounds that rest on draws.
    false_alarm
        The largest probability with which a true claim is refuted, all looks of this verification together.
    floating_point
        For functions: whether what only floating-point arithmetic shows counts against the claim.
    time_limit
        Seconds after which to stop and report what was found until then.
    neighbours
        For functions: which data sets are neighbours, in place of what the function itself declares.
    adversary
        For learners and plain bandits: an interactive adversary (`verify.transcripts.adversary`) to play
        against, or its name (`verify.subjects.named_adversary`); for plain bandits in place of fixed reward tables.
    workers
        Processes of the black-box test; the result does not depend on it.
    anytime
        Bet while drawing and stop as soon as the claim is refuted, in place of one test at the end. Whenever it
        stops, what it says holds. For learners and plain bandits, `seed` is that of the bets alone.
    wealth
        With `anytime`, which it implies: a file in which the winnings of all runs are kept. A run with seed 0, the
        default, takes a seed that none before it used. The file is of one subject, claim and set of settings.
    isolated
        Run in a process of its own, where processes can be forked: a subject that ends its process, or never returns
        from code that is not Python, gets a finding and takes nothing else down.
    progress
        Called with the share done and what is being done.

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
    check_types(
        epsilon=epsilon,
        delta=delta,
        problem=problem,
        settings=settings,
        horizon=horizon,
        effort=effort,
        samples=samples,
        confidence=confidence,
        false_alarm=false_alarm,
        flags={"floating_point": floating_point, "anytime": anytime, "isolated": isolated},
        adversary=adversary,
        workers=workers,
        wealth=wealth,
        progress=progress,
    )
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r}: must be one of {', '.join(EFFORTS)}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed={seed!r}: must be a whole number of at least 0")
    found = resolve(subject, neighbours)
    claim = _claim(found, epsilon, delta)
    if adversary is not None and not isinstance(found, LearnerSubject | BanditSubject):
        raise SubjectError(f"{found.name} is no learner and no bandit: it takes no adversary")
    if not isinstance(found, LearnerSubject) and (settings or problem is not None or horizon is not None):
        raise ProblemError(f"{found.name} is not a learner: it takes no problem, settings or horizon")
    options = {
        "samples": samples,
        "confidence": confidence,
        "false_alarm": false_alarm,
        "floating_point": floating_point,
        "time_limit": check_time_limit(time_limit),
        "anytime": anytime or wealth is not None,
        "adversary": adversary,
    }
    if isinstance(adversary, str):
        adversary = named_adversary(adversary)
    if options["anytime"] and floating_point:
        raise ValueError(
            "floating_point=True: not with anytime or wealth: bets are on events in real arithmetic"
        )
    if not 0.0 < false_alarm <= 0.5:
        raise ValueError(f"false_alarm={false_alarm!r}: must lie in (0, 0.5]")
    chosen = replace(
        EFFORTS[effort].with_samples(samples, confidence), workers=workers, false_alarm=float(false_alarm)
    )
    if adversary is not None and isinstance(found, BanditSubject):
        found = replace(found, bandit=found.bandit.against(adversary))
    account, file = None, None if wealth is None else Path(wealth)
    if file is not None:
        law = _settings_of_law(found, problem, settings or {}, horizon, chosen, adversary)
        account = open_account(file, found.name, source_digest(found), claim, law)
        seed = account.next_seed(int(seed))
    reproduce = reproduction(
        subject, found, claim, problem, settings or {}, horizon, seed, effort, options, neighbours
    )

    def work(tell: Progress) -> Verification:
        conduct, bettor = Conduct(chosen, int(seed), reproduce, tell, time_limit), None
        if options["anytime"]:
            bettor = Bettor(claim, conduct, account, file)
        with _one_thread():
            answer = Inquiry(
                found,
                claim,
                conduct,
                problem,
                settings or {},
                horizon,
                adversary,
                floating_point,
                bettor,
            ).answer()
        return _conclude(found, *answer, int(seed))

    tell: Progress = progress if progress is not None else silent
    if not isolated:
        return work(tell)
    result = in_own_process(work, tell, time_limit)
    if isinstance(result, Finding):
        upper = UpperBound(math.inf, 1.0, "none: it left no result")
        result = _conclude(found, claim, Evidence(upper=upper, findings=[result]), int(seed))
    return result


def _settings_of_law(
    found: Subject,
    problem: Problem | LinearBandit | str | None,
    settings: Mapping[str, Value],
    horizon: int | None,
    effort: Effort,
    adversary: Adversary | None,
) -> dict[str, str]:
    """Return what the law of a learner's actions depends on besides its code: evidence counts for that alone."""
    if not isinstance(found, LearnerSubject):
        return {}
    own = getattr(found.make, "own_horizon", None)
    rounds = effort.for_horizon(own if horizon is None else horizon).accounting_rounds
    if horizon is None and is_linear(found):
        rounds = ROUNDS_PER_EFFORT * effort.accounting_rounds
    named = "its own" if problem is None else problem if isinstance(problem, str) else repr(problem)
    law = {"problem": named, "horizon": str(rounds), **{key: str(settings[key]) for key in sorted(settings)}}
    return law if adversary is None else {**law, "adversary": adversary_words(adversary)}


def _claim(found: Subject, epsilon: float | None, delta: float | None) -> Claim:
    """Fill in a claim's numbers: those given, else the subject's own."""
    own_epsilon, own_delta = None, 0.0
    if isinstance(found, FunctionSubject | LearnerSubject | BanditSubject):
        own_epsilon, own_delta = found.claimed_epsilon, found.claimed_delta
    number = own_epsilon if epsilon is None else epsilon
    if number is None:
        raise ValueError(
            f"epsilon: {found.name} claims no number of its own; say which epsilon to verify (--epsilon)"
        )
    return found.form.at(number, own_delta if delta is None else delta)


def _conclude(found: Subject, claim: Claim, evidence: Evidence, seed: int) -> Verification:
    decision = decide(
        claim,
        upper=evidence.upper,
        lower=evidence.lower,
        witness=evidence.witness,
        findings=evidence.findings,
        declassified=evidence.declassified,
        contradictions=evidence.contradictions,
    )
    if decision.verdict == "certified" and isinstance(found, LearnerSubject):
        beyond = beyond_the_linear_runs if is_linear(found) else beyond_the_runs
        reach = beyond(found, evidence.details["accounting"]["rounds"])
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
