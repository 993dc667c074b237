"""The command ``dpwitness verify``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from accountant.compositions import compositions_by_word
from accountant.files.whole_file import whole_file
from algorithms.problems.problem_settings import Parameter
from verify.certificates.certificate import said_options
from verify.certificates.certification import NotCertified, certified
from verify.commands.shown_results import (
    check_other_file,
    check_outputs,
    check_writable,
    json_text,
    show,
    shown_progress,
    write_outputs,
)
from verify.conduct.exit_codes import GOOD, OPEN
from verify.conduct.interrupts import count_interrupts
from verify.document.terminal_text import print_document
from verify.findings.printable import print_on_stderr
from verify.findings.subject_error import SubjectError
from verify.functions.function_subject import FunctionSubject
from verify.neighbouring.adjacency import Adjacency
from verify.neighbouring.registry import adjacency_from_words
from verify.verdict.result import Verification
from verify.verdict.verification_document import verification_document
from verify.verification.options import Options
from verify.verification.resolve import Named, is_registered, names_file
from verify.verification.verification import run_verification


def verify_command(
    *,
    certificate: Path | None,
    outputs: tuple[Path, ...],
    as_json: bool,
    **asked: Any,
) -> int:
    """Verify a claim, show the result, and return its exit code."""
    named, options = asked_verification(**asked)
    check_outputs(outputs, ".json", ".html", ".md", ".png")
    if certificate is not None:
        check_other_file("--certificate", certificate, (*outputs, *_files_read(asked)))
        check_writable("--certificate", certificate)
        said_options(options)
    with count_interrupts():  # until the report is printed
        with shown_progress(asked["subject"] or asked["command"]) as tell:
            result = run_verification(named, replace(options, progress=tell))
        # Before files, which may fail.
        show(as_json, result.json, lambda console: print_document(verification_document(result), console))
        write_outputs(outputs, result.json, lambda: [verification_document(result)])
        written = certificate is None or _certify(result, named, options, certificate)
    return result.exit_code if written or result.exit_code != GOOD else OPEN


def _certify(result: Verification, named: object, options: Options, path: Path) -> bool:
    """Write a certificate, or say why there is none; return True if one was written."""
    try:
        text = json_text(certified(result, named, options).json())
    except NotCertified as refused:
        print_on_stderr(str(refused))
        return False
    with whole_file(path) as file:
        file.write(text)
    return True


def _files_read(asked: Mapping[str, Any]) -> list[Path]:
    """Return the files that a command line names: of a subject, an adversary or a problem."""
    names = [asked[name] for name in ("subject", "adversary", "problem") if asked[name] is not None]
    return [Path(name.rpartition(":")[0] or name) for name in names]


def asked_verification(
    *, subject: str | None, command: str | None, data: str | None, **given: Any
) -> tuple[str | Named | FunctionSubject, Options]:
    """Return the subject of the verification and the options, from the values of the command line."""
    named, adjacency = _named_subject(subject, command, data)
    files = [given[name] for name in ("adversary", "problem") if given[name] is not None]
    isolated = not is_registered(named) or any(map(names_file, files))
    theirs = given | composed(given["composition"], given["settings"])
    horizon = pop_horizon(theirs["settings"])
    return named, Options(neighbours=adjacency, isolated=isolated, horizon=horizon, **theirs)


def _named_subject(
    subject: str | None, command: str | None, data: str | None
) -> tuple[str | Named | FunctionSubject, Adjacency | None]:
    """Return the subject of a command line, and the adjacency if one is given; no code of the subject's is imported.

    Parameters
    ----------
    subject
        A name, or None with a command.
    command
        A command, or None with a name.
    data
        A domain or an adjacency in words. A command needs it.

    Raises
    ------
    SubjectError
        If there is not exactly one of `subject` and `command`, or a command has no neighbours.
    ParameterError
        If the words cannot be read.
    """
    if (subject is None) == (command is None):
        raise SubjectError(
            "name what to verify: a SUBJECT (dpwitness list shows the learners), or a --command, and not both"
        )
    if data is None:
        if subject is not None:
            return subject, None
        raise SubjectError(
            "--command: say which data sets are neighbours, as in --data 'interval(0, 1)' or "
            "--data 'within(box(-10, 10, 5), linf=1)'"
        )
    adjacency = adjacency_from_words(data)
    if command is None:
        assert subject is not None
        return Named(subject, (subject, "--data", data)), adjacency
    from verify.functions.command_subject import command_subject

    found = command_subject(command, adjacency)
    return replace(found, arguments=("--command", command, "--data", data)), None


def pop_horizon(settings: dict[str, str]) -> int | None:
    """Remove the number of rounds from the settings of a command line, and return it; None if it is not set.

    Raises
    ------
    SettingError
        If it is no whole number of at least 1.
    """
    rounds = settings.pop("horizon", None)
    return None if rounds is None else int(Parameter("horizon", "int", 1, low=1).parse(rounds))


def composed(composition: str | None, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return a composition theorem with its own parameters among the settings, and the other settings."""
    others, own = dict(settings), list[str]()
    if composition is not None:
        theirs = inspect.signature(compositions_by_word()[composition]).parameters
        own = [f"{name}={others.pop(name)}" for name in list(others) if name in theirs]
    return {
        "composition": None if composition is None else ", ".join([composition, *own]),
        "settings": others,
    }
