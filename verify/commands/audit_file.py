"""Audits of files, as the commands make them: with the file's name and digest, and the command that repeats them."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from pathlib import Path

from accountant.audit import Audit, Question, Releases, audit, read_releases
from accountant.provenance import file_digest, made_now


def audit_file(
    file: Path,
    question: Question,
    budget: float | None,
    neighbours: str | None,
    *,
    risk: bool,
    group_size: int = 1,
    time_limit: float = math.inf,
) -> tuple[Releases, Audit]:
    """Return the releases of a file and their audit; see `accountant.audit.audit` for what is asked."""
    releases = read_releases(file, neighbours).for_groups_of(group_size)
    found = audit(releases, question, budget, risk=risk, time_limit=time_limit)
    again = ["dpwitness", "audit", str(file)]
    for flag, number in (("--delta", question.delta), ("--epsilon", question.epsilon), ("--budget", budget)):
        again += [] if number is None else [flag, str(number).removesuffix(".0")]
    again += [] if neighbours is None else ["--neighbours", neighbours]
    again += ["--group-size", str(group_size)] if group_size > 1 else []
    again += ["--risk"] if risk else []
    made = made_now(file=file_digest(file))
    return releases, replace(found, name=file.name, repeat=shlex.join(again), provenance=made)
