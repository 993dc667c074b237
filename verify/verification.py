"""`verify`: the whole verification of one subject."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from accountant import Simulation
from algorithms.catalogue import learner_builder
from algorithms.claim import Claim
from algorithms.play import BuildLearner
from algorithms.problems import (
    LinearBandit,
    Problem,
    ProblemError,
    Value,
    build_problem,
    parse_settings,
    problems,
)
from mechanisms import Domain
from verify.effort import EFFORTS, FALSE_ALARM
from verify.evidence import Evidence, Progress, silent
from verify.functions.verify_function import SECONDS, verify_function
from verify.learners.accounting_run import failing_place
from verify.learners.neighbours import InitialRecords
from verify.learners.verify_bandit import verify_bandit
from verify.learners.verify_learner import verify_learner
from verify.neighbouring.adjacency import Adjacency
from verify.sampling.wealth_file import open_account
from verify.subjects.adversary import Adversary
from verify.subjects.linear_subject import beyond_the_linear_runs, is_linear, verify_linear_subject
from verify.subjects.subject import (
    BanditSubject,
    FunctionSubject,
    LearnerSubject,
    MechanismSubject,
    Subject,
    SubjectError,
    every_learner,
    resolve,
)
from verify.time_limit import check_time_limit
from verify.verdict import Verification, decide
from verify.verify_anytime import anytime_subject, verify_anytime
from verify.verify_mechanism import verify_mechanism

_DEFAULT_PROBLEMS = {"semi-bandit": "top-k", "matroid": "linear-matroid", "cascade": "cascade"}


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
    adversary: Adversary | None = None,
    workers: int = 1,
    anytime: bool = False,
    wealth: str | Path | None = None,
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
        For learners and plain bandits: an interactive adversary (`verify.subjects.adversary`) to play
        against; for plain bandits in place of fixed reward tables.
    workers
        Processes of the black-box test; the result does not depend on it.
    anytime
        For functions and mechanisms: bet while drawing and stop as soon as the claim is refuted, in place of one
        test at the end.
    wealth
        With `anytime`, which it implies: a file in which the winnings of all runs are kept. A run with seed 0, the
        default, takes a seed that none before it used.
    progress
        Called with the share done and what is being done.

    Returns
    -------
    Verification
        The verdict, both bounds, the witness and the findings.

    Raises
    ------
    ValueError
        If the claim's numbers, the subject, the problem or a setting is wrong (subclasses say which).

    Examples
    --------
    >>> from mechanisms import Laplace
    >>> verify(Laplace(scale=1.0), epsilon=1.0, effort="quick").verdict
    'certified'
    >>> verify(Laplace(scale=0.5), epsilon=1.0, effort="quick").verdict
    'refuted'
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort={effort!r}: must be one of {', '.join(EFFORTS)}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed={seed!r}: must be a whole number of at least 0")
    found = resolve(subject, neighbours)
    claim = _claim(found, epsilon, delta)
    if adversary is not None and not isinstance(found, LearnerSubject | BanditSubject):
        raise SubjectError(f"{found.name} is no learner and no bandit: it takes no adversary")
    tell: Progress = progress if progress is not None else silent
    options = {
        "samples": samples,
        "confidence": confidence,
        "false_alarm": false_alarm,
        "floating_point": floating_point,
        "time_limit": check_time_limit(time_limit),
        "anytime": anytime or wealth is not None,
    }
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers={workers!r}: must be a whole number of at least 1")
    if isinstance(false_alarm, bool) or not 0.0 < false_alarm <= 0.5:
        raise ValueError(f"false_alarm={false_alarm!r}: must lie in (0, 0.5]")
    chosen = replace(
        EFFORTS[effort].with_samples(samples, confidence), workers=workers, false_alarm=float(false_alarm)
    )
    account, file = None, None if wealth is None else Path(wealth)
    if file is not None:
        account = open_account(file, anytime_subject(found), claim)
        seed = account.next_seed(int(seed))
    reproduce = _reproduce(
        subject, found, claim, problem, settings or {}, horizon, seed, effort, options, neighbours
    )
    if options["anytime"]:
        if settings or problem is not None or horizon is not None:
            raise ProblemError(f"{found.name} is not a learner: it takes no problem, settings or horizon")
        evidence = verify_anytime(
            anytime_subject(found),
            claim,
            effort=chosen,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            seconds=time_limit,
            account=account,
            save=file,
        )
    elif isinstance(found, LearnerSubject) and is_linear(found):
        claim, evidence = verify_linear_subject(
            found,
            claim,
            problem,
            settings or {},
            horizon=horizon,
            effort=chosen,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            seconds=time_limit,
        )
    elif isinstance(found, LearnerSubject):
        played, learner_settings, _ = choose_problem(found, problem, settings or {})
        work = chosen.for_horizon(getattr(found.make, "own_horizon", None) if horizon is None else horizon)
        build = learner_builder(
            found.make,
            played,
            epsilon=claim.epsilon,
            delta=claim.delta,
            horizon=work.accounting_rounds,
            settings=learner_settings,
        )
        initial = initial_records(build, found)
        if initial == "separate":
            claim = replace(
                claim, unit=f"{claim.unit}; before the first, every arm's outcome is a record of its own"
            )
        evidence = verify_learner(
            build,
            played,
            claim,
            initial=initial,
            effort=work,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            adversary=adversary,
            seconds=time_limit,
        )
    elif settings or problem is not None or horizon is not None:
        raise ProblemError(f"{found.name} is not a learner: it takes no problem, settings or horizon")
    elif isinstance(found, BanditSubject):
        bandit = found.bandit if adversary is None else found.bandit.against(adversary)
        evidence = verify_bandit(
            bandit,
            claim,
            effort=chosen,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            seconds=time_limit,
        )
    elif isinstance(found, MechanismSubject):
        evidence = verify_mechanism(
            found.mechanism,
            claim,
            built_in=found.built_in,
            effort=chosen,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            seconds=time_limit,
        )
    else:
        assert isinstance(found, FunctionSubject)
        evidence = verify_function(
            found,
            claim,
            effort=chosen,
            seed=int(seed),
            reproduce=reproduce,
            progress=tell,
            seconds=time_limit,
            floating_point=floating_point,
        )
    return _conclude(found, claim, evidence, int(seed))


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


def initial_records(build: BuildLearner, subject: LearnerSubject) -> InitialRecords:
    """Ask a learner whether it observes outcomes before the first round, and whose they are.

    Raises
    ------
    SubjectError
        If a user's learner cannot be built.
    """
    try:
        learner = build(Simulation(0, 1))
    except (Exception, SystemExit) as error:  # whatever a user's constructor raises
        if subject.entry is not None:
            raise
        raise SubjectError(
            f"{subject.name} could not be built: {type(error).__name__}: {error} (at {failing_place(error)})"
        ) from error
    if not hasattr(learner, "observe_initial"):
        return "none"
    return "separate" if getattr(learner, "initial_records", "one") == "separate" else "one"


def _beyond_the_runs(found: LearnerSubject, rounds: int) -> str:
    """Say what holds beyond the rounds that were looked at."""
    looked = f"Runs of {rounds:,} rounds were looked at."
    if found.entry is not None:
        from accountant.symbolic import Proved  # SymPy is loaded for a certificate only
        from algorithms.plans import privacy_proof

        proof = privacy_proof(found.entry.name)
        if isinstance(proof, Proved):
            costs = "; ".join(f"{record} pays {cost}" for record, cost in proof.costs.items())
            return (
                f"{looked} For all K, L, epsilon and any number of rounds, the learner's plan says: {costs} "
                "(proved)."
            )
    return (
        f"{looked} In longer ones the accountant enforces the bound: with the claim as its budget it refuses what "
        "would exceed it."
    )


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
        beyond = beyond_the_linear_runs if is_linear(found) else _beyond_the_runs
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


def choose_problem(
    subject: LearnerSubject, problem: Problem | LinearBandit | str | None, settings: Mapping[str, Value]
) -> tuple[Problem, Mapping[str, Value], str]:
    """Find a learner's problem, and share out the settings between the two.

    Returns
    -------
    tuple
        The problem, the learner's own settings, and the problem's name.

    Raises
    ------
    ProblemError
        If the problem or a setting is unknown, or a setting out of range.
    """
    own = {parameter.name: parameter for parameter in subject.entry.parameters} if subject.entry else {}
    learner_settings = {key: value for key, value in settings.items() if key in own}
    problem_settings = {key: value for key, value in settings.items() if key not in own}
    checked = parse_settings(learner_settings, own.values())
    if problem is not None and not isinstance(problem, str):
        if problem_settings:
            raise ProblemError(
                f"settings {', '.join(problem_settings)}: a problem given as an object takes no settings"
            )
        if isinstance(problem, LinearBandit):
            raise ProblemError(f"{subject.name} plays no linear problems")
        return problem, checked, type(problem).__name__
    if problem is None and not problem_settings and getattr(subject.make, "own_problem", None) is not None:
        own_problem: Problem = subject.make.own_problem
        return own_problem, checked, type(own_problem.structure).__name__
    name = problem or (subject.entry.default_problem if subject.entry else _default_problem(subject))
    if own and name in problems:
        known = [parameter.name for parameter in problems[name].parameters]
        unknown = [key for key in problem_settings if key not in known]
        if unknown:
            raise ProblemError(
                f"unknown parameter {unknown[0]!r}: {subject.name} takes {', '.join(own)}; {name} takes "
                f"{', '.join(known)}"
            )
    return build_problem(name, problem_settings), checked, name


def _default_problem(subject: LearnerSubject) -> str:
    family = getattr(subject.make, "family", None)
    if family not in _DEFAULT_PROBLEMS:
        raise ProblemError(
            f"{subject.name}: a learner class must name its family, one of {', '.join(_DEFAULT_PROBLEMS)}"
        )
    return _DEFAULT_PROBLEMS[family]


_DEFAULTS = {
    "samples": None,
    "confidence": 0.95,
    "false_alarm": FALSE_ALARM,
    "floating_point": False,
    "time_limit": SECONDS,
    "anytime": False,
}


def _reproduce(
    subject: object,
    found: Subject,
    claim: Claim,
    problem: Problem | LinearBandit | str | None,
    settings: Mapping[str, Value],
    horizon: int | None,
    seed: int,
    effort: str,
    options: Mapping[str, Any],
    neighbours: Adjacency | Domain | None,
) -> str:
    """Return the command line that repeats this verification, or the Python call for objects without a name."""
    name = found.name
    changed = {key: value for key, value in options.items() if value != _DEFAULTS[key]}
    arguments = found.arguments if isinstance(found, FunctionSubject) else ()
    named = isinstance(subject, str) or name in every_learner or arguments
    in_words = neighbours is None or arguments
    if not named or not in_words or not (problem is None or isinstance(problem, str)):
        given = {"epsilon": claim.epsilon, "delta": claim.delta, "seed": seed, "effort": effort, **changed}
        if problem is not None:
            given["problem"] = problem
        if horizon is not None:
            given["horizon"] = horizon
        if settings:
            given["settings"] = dict(settings)
        if neighbours is not None:
            given["neighbours"] = neighbours
        return f"verify({name}, {', '.join(f'{key}={value!r}' for key, value in given.items())})"
    parts = ["dpwitness", "verify", *(arguments or (name,))]
    parts += ["--epsilon", f"{claim.epsilon!r}".removesuffix(".0")]
    if claim.delta:
        parts += ["--delta", repr(claim.delta)]
    if problem is not None:
        parts += ["--problem", str(problem)]
    for key, value in settings.items():
        parts += ["--set", f"{key}={value}"]
    if horizon is not None:
        parts += ["--horizon", str(horizon)]
    if effort != "default":
        parts += ["--effort", effort]
    for key, value in changed.items():
        flag = f"--{key.replace('_', '-')}"
        parts += [flag] if value is True else [flag, f"{value!r}".removesuffix(".0")]
    return shlex.join([*parts, "--seed", str(seed)])


def _versions() -> dict[str, str]:
    """Return the versions of what took part."""
    packages = ("dpwitness", "numpy", "scipy")
    return {"python": sys.version.split()[0], **{name: metadata.version(name) for name in packages}}
