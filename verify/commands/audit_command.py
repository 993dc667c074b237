"""The commands ``dpwitness audit`` and ``dpwitness calibrate``: the privacy cost of releases in a file."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from accountant.audit.audit_of_releases import audit
from accountant.audit.audit_question import DEFAULT_DELTA, DEFAULT_SECONDS, AuditQuestion
from accountant.audit.audit_result import Audit
from accountant.audit.noise_for_target import Calibration, calibrate, calibrate_advantage, calibrate_risk
from accountant.audit.release_file import read_releases
from accountant.audit.releases import POWER, Releases
from accountant.provenance import file_digest, made_now
from algorithms.problems.problem_errors import SettingError
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most
from mechanisms.parameters import takes
from verify.commands.shown_results import (
    check_other_file,
    check_outputs,
    show,
    write_outputs,
)
from verify.conduct.exit_codes import BAD, GOOD, OPEN, worst
from verify.document.terminal_text import plain_table, print_document

_DIGITS = 10  # of a calibration
_STOPPED = f"stopped after {DEFAULT_SECONDS:g} s: what is said holds, more time may say it closer"


@dataclass(frozen=True, kw_only=True)
class _AuditOptions:
    """The arguments and options of the command."""

    files: tuple[Path, ...]
    delta: float | None
    epsilon: float | None
    budget: float | None
    neighbors: str | None
    group_size: int
    proof: Path | None
    outputs: tuple[Path, ...]
    as_json: bool


@takes(_AuditOptions)
def audit_command(asked: _AuditOptions) -> int:
    """Audit files, show the answers, and return the worst exit code."""
    files, proof, outputs, as_json = asked.files, asked.proof, asked.outputs, asked.as_json
    if outputs and len(files) > 1:
        raise SettingError(f"--output {outputs[0]}: must be of one file; dpwitness report combines several")
    if proof is not None and len(files) > 1:
        raise SettingError(f"--proof {proof}: must be of one file")
    for path in outputs:
        check_other_file("--output", path, files)
    if proof is not None:
        check_other_file("--proof", proof, (*files, *outputs))
        check_outputs((proof,), ".json", flag="--proof")
    check_outputs(outputs, ".json", ".html", ".md", ".png")
    unasked = asked.epsilon is None and asked.delta is None
    question = AuditQuestion(DEFAULT_DELTA if unasked else asked.delta, asked.epsilon)
    audited = [
        audit_file(file, question, asked.budget, asked.neighbors, group_size=asked.group_size)
        for file in files
    ]
    read, results = zip(*audited, strict=True)
    if len(files) == 1:
        from verify.verdict.audit_document import audit_document  # a document's words are all of verify's

        result = results[0]
        proved = None
        if proof is not None:
            from verify.commands.written_proof import write_proof  # it needs the accountant

            proved = write_proof(proof, read[0], result)
        show(as_json, result.json, lambda console: print_document(audit_document(result), console))
        write_outputs(outputs, result.json, lambda: [audit_document(result)])
        if proved is not None:
            print(f"\n{proved}", file=sys.stderr if as_json else sys.stdout)
    else:
        from verify.commands.audit_comparison import render_side_by_side

        names = [str(file) for file in files]
        show(
            as_json,
            lambda: {
                "files": [{"file": name, **one.json()} for name, one in zip(names, results, strict=True)]
            },
            partial(render_side_by_side, names, results, read),
        )
    return worst(_BUDGET_CODES[result.within] for result in results)


_BUDGET_CODES = {True: GOOD, False: BAD, None: OPEN}


def audit_file(
    file: Path,
    question: AuditQuestion,
    budget: float | None = None,
    neighbors: str | None = None,
    *,
    group_size: int = 1,
) -> tuple[Releases, Audit]:
    """Return the releases of a file, and their audit with the file's name and digest and the command that repeats it.

    `accountant.audit.audit` has the parameters.
    """
    releases = _releases_of_file(file, neighbors, group_size)
    found = audit(releases, question, budget, risk=True, time_limit=DEFAULT_SECONDS)
    again = ["dpwitness", "audit", str(file)]
    for flag, number in (("--delta", question.delta), ("--epsilon", question.epsilon), ("--budget", budget)):
        again += [] if number is None else [flag, str(number).removesuffix(".0")]
    again += [] if neighbors is None else ["--neighbors", neighbors]
    again += ["--group-size", str(group_size)] if group_size > 1 else []
    made = made_now(file=file_digest(file))
    return releases, replace(found, name=file.name, repeat=shlex.join(again), provenance=made)


def _releases_of_file(file: Path, neighbors: str | None, group_size: int) -> Releases:
    """Return the releases of a file; a relation is spelt with blanks there."""
    relation = None if neighbors is None else neighbors.replace("-", " ")
    return read_releases(file, relation).for_groups_of(group_size)


def calibrate_command(
    *,
    file: Path,
    epsilon: float | None,
    delta: float | None,
    advantage: float | None,
    rates: tuple[float, float] | None,
    neighbors: str | None,
    group_size: int,
    as_json: bool,
) -> None:
    """Calibrate the noise of a file's releases, and show it."""
    if sum(target is not None for target in (epsilon, advantage, rates)) != 1:
        raise SettingError("give one target: --epsilon, --advantage or --rates")
    releases = _releases_of_file(file, neighbors, group_size)
    delta = DEFAULT_DELTA if delta is None else delta
    if epsilon is not None:
        result = calibrate(releases, epsilon, delta, time_limit=DEFAULT_SECONDS)
    elif advantage is not None:
        result = calibrate_advantage(releases, advantage, delta, time_limit=DEFAULT_SECONDS)
    else:
        assert rates is not None
        false_positives, true_positives = rates
        result = calibrate_risk(releases, true_positives, false_positives, delta, time_limit=DEFAULT_SECONDS)
    show(as_json, partial(_calibration_json, result), partial(_render_calibration, result))


def _render_calibration(result: Calibration, console: Console) -> None:
    console.print(f"multiply all noise by {at_most(result.factor, _DIGITS)}")
    if not result.complete:
        console.print(_STOPPED)
    console.print(
        f"then epsilon is at most {at_most(result.epsilon, _DIGITS)} at delta = {as_given(result.delta)} "
        f"({result.relation})"
    )
    console.print()
    rows = [
        (name, ", ".join(f"{key} = {_enough(key, value)}" for key, value in parameters.items()) or "-")
        for name, parameters in result.parameters.items()
    ]
    console.print(plain_table(("release", "calibrated"), rows))


def _enough(name: str, value: float) -> str:
    """Return a noise parameter to ten digits, rounded to where there is more noise."""
    return at_most(value, _DIGITS) if POWER[name] > 0 else at_least(value, _DIGITS)


def _calibration_json(result: Calibration) -> dict[str, Any]:
    """Return a calibration as a JSON object."""
    return {
        "neighbours": result.neighbouring.value,
        "group_size": result.group_size,
        "factor": result.factor,
        "complete": result.complete,
        "epsilon": result.epsilon,
        "delta": result.delta,
        "parameters": {name: dict(parameters) for name, parameters in result.parameters.items()},
    }
