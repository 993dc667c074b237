"""The command ``dpwitness verify``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from accountant.compositions import compositions_by_word
from accountant.files.whole_file import whole_file
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
from verify.neighbouring.registry import adjacency_from_words
from verify.options import Options
from verify.subjects.resolve import Named, is_registered, names_file
from verify.verdict.result import Verification
from verify.verdict.verification_document import verification_document
from verify.verification import run_verification


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
        with shown_progress(asked["subject"]) as tell:
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


def asked_verification(*, subject: str, data: str | None, **given: Any) -> tuple[str | Named, Options]:
    """Return the subject of the verification and the options, from the values of the command line."""
    adjacency = None if data is None else adjacency_from_words(data)
    named = subject if data is None else Named(subject, (subject, "--data", data))
    files = [given[name] for name in ("adversary", "problem") if given[name] is not None]
    isolated = not is_registered(named) or any(map(names_file, files))
    theirs = given | composed(given["composition"], given["settings"])
    return named, Options(neighbours=adjacency, isolated=isolated, **theirs)


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
