"""The command line, or the Python call, that repeats a verification."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from algorithms.claim import Claim
from algorithms.problems import LinearBandit, Problem, Value
from mechanisms import Domain
from verify.bandits.calling.plain_bandit import BanditSubject
from verify.conduct.effort import FALSE_ALARM
from verify.conduct.time_limit import SECONDS
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Adjacency
from verify.subjects.resolve import every_learner
from verify.subjects.subject import Subject

_DEFAULTS = {
    "samples": None,
    "confidence": 0.95,
    "false_alarm": FALSE_ALARM,
    "floating_point": False,
    "time_limit": SECONDS,
    "anytime": False,
    "adversary": None,
}


def reproduction(
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
    in_words = (neighbours is None or arguments) and isinstance(changed.get("adversary", ""), str)
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
        called = found.bandit.call if isinstance(found, BanditSubject) else name
        return f"verify({called}, {', '.join(f'{key}={value!r}' for key, value in given.items())})"
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
        parts += [flag] if value is True else [flag, str(value).removesuffix(".0")]
    return shlex.join([*parts, "--seed", str(seed)])
