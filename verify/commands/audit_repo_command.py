"""The command ``dpwitness audit-repo``: what in a checkout could be verified, and by which commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from algorithms.problems import SettingError
from verify.commands.command_options import json_option, printed, show
from verify.printable import printable
from verify.repository.callables import FoundCallable, found_in, python_files
from verify.repository.wrappers import Wrapper, WrapperFile, wrap
from verify.subject_error import SubjectError

_LONGEST_NAME = 60
"""Characters, of up to 4 bytes, of a file of wrappers: file systems take names of 255 bytes."""


@dataclass(frozen=True, eq=False)
class _Subject:
    """Something that was found, with its wrapper and the command that verifies it."""

    found: FoundCallable
    wrapper: Wrapper
    needs: tuple[str, ...]
    command: str

    def json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        return {
            "file": str(self.found.file),
            "line": self.found.line,
            "name": self.found.name,
            "kind": self.found.kind,
            "speaks_of_privacy": self.found.private,
            "guesses": list(self.wrapper.guesses),
            "to_be_filled_in": list(self.wrapper.missing),
            "needs": list(self.needs),
            "command": self.command,
        }


@click.command("audit-repo")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--wrappers",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("dpwitness-wrappers"),
    show_default=True,
    help="The folder that wrappers are written to.",
)
@json_option
def audit_repo_command(path: Path, wrappers: Path, as_json: bool) -> None:
    """List what in the checkout PATH looks like a mechanism or a bandit, with the command that verifies it.

    Nothing of the checkout is run or imported: it is read. For each file with something in it a file of wrappers is
    written, where what is claimed and which data are neighbours is guessed, and every guess said. What speaks of
    privacy comes first.
    """
    planned: dict[Path, str] = {}
    subjects = []
    for wrapped, found in _wrapped(path):
        file = _another(wrappers, _file_name(path, wrapped.source), planned)
        planned[file] = wrapped.text
        subjects += [
            _Subject(each, wrapper, wrapped.needs, _command(file, wrapper, wrapped.stubs))
            for each, wrapper in zip(found, wrapped.wrappers, strict=True)
        ]
    _write_all(wrappers, planned)
    subjects.sort(key=lambda each: (not each.found.private, bool(each.wrapper.missing or each.needs)))
    show(
        as_json,
        lambda: {"subjects": [each.json() for each in subjects]},
        lambda to: _print(to, subjects, path),
    )


def _wrapped(path: Path) -> Iterator[tuple[WrapperFile, list[FoundCallable]]]:
    """Yield the wrappers of every file in which something was found; say which files cannot be read."""
    root = path if path.is_dir() else path.parent
    for file in python_files(path):
        try:
            found = found_in(file)
            wrapped = wrap(found, root) if found else None
        except SubjectError as error:
            printed(str(error))
        except RecursionError:
            printed(f"{file}: what is in it is nested too deep to be wrapped")
        else:
            if wrapped is not None:
                yield wrapped, found


def _file_name(path: Path, source: Path) -> str:
    parts = source.relative_to(path).parts if path.is_dir() else (source.name,)
    name = "_".join(parts).rpartition(".")[0]
    return "".join(each if each.isalnum() else "_" for each in name)[-_LONGEST_NAME:]


def _another(folder: Path, name: str, taken: Collection[Path]) -> Path:
    """Return a file for wrappers that no other source has: ``a/b.py`` and ``a_b.py`` are named alike."""
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(file for each in names if (file := folder / f"{each}.py") not in taken)


def _write_all(folder: Path, texts: Mapping[Path, str]) -> None:
    """Write all files, or none if one is there with another content: somebody checked it."""
    for file, text in texts.items():
        if file.exists() and (file.is_dir() or file.read_bytes() != text.encode()):
            raise SettingError(
                f"--wrappers {folder}: {file.name} is there and not the same; give another folder"
            )
    if texts:
        folder.mkdir(parents=True, exist_ok=True)
    for file, text in texts.items():
        file.write_bytes(text.encode())


def _command(file: Path, wrapper: Wrapper, stubs: tuple[str, ...]) -> str:
    parts = ["dpwitness", "verify", f"{os.path.normpath(file)}:{wrapper.name}", "--epsilon", "1"]
    parts += ["--delta", "1e-05"] if wrapper.delta else []
    for each in stubs:
        parts += ["--stub", each]
    return shlex.join(parts)


def _print(console: Console, subjects: list[_Subject], path: Path) -> None:
    def say(words: str) -> None:
        console.print(printable(words), markup=False, highlight=False, soft_wrap=True)

    if not subjects:
        say(f"{path}: nothing in it looks like a mechanism or a bandit.")
        return
    for each in subjects:
        about = "" if each.found.private else ", which does not speak of privacy"
        say(f"{each.found.file}:{each.found.line}  {each.found.name}  a {each.found.kind}{about}")
        say(f"  guessed: {'; '.join(each.wrapper.guesses)}")
        if each.wrapper.missing:
            say(f"  fill in first: {', '.join(each.wrapper.missing)}")
        if each.needs:
            say(f"  needs what is not installed: {', '.join(each.needs)}")
        say(f"  {each.command}")
    say(
        f"{len(subjects)} found. A verdict is about the wrapper: check what was guessed before you believe it."
    )
