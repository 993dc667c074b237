"""The provenance of results: date, code and inputs."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

from accountant.files.json_object import JsonError, JsonObject
from dpwitness import LIBRARY

IMPORTED_AS = "dpwitness_subject_"
"""The beginning of the module name under which a command imports a user's file; no other module has it."""

_ROOT = Path(__file__).resolve().parent.parent
_VERSIONS = ("dpwitness", "numpy", "scipy", "hypothesis", "opendp", "sympy")


@dataclass(frozen=True, slots=True)
class Provenance:
    """The date, versions and digests of the code and inputs that a result was made from.

    Attributes
    ----------
    date
        The date and time in UTC, in ISO 8601; "" if unknown.
    versions
        The versions of Python, of this library, and of the packages that its numbers depend on.
    digests
        SHA-256 of code and inputs by name: ``"dpwitness"`` is all files of this library.
    """

    BESIDE: ClassVar = True

    date: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return three keys of a result's JSON object."""
        return {"versions": dict(self.versions), "date": self.date, "digests": dict(self.digests)}

    @classmethod
    def from_fields(cls, read: JsonObject) -> Provenance:
        """Return the provenance that `json` wrote among the keys of an object.

        Raises
        ------
        JsonError
            If a key is missing or of another type, or the date none that `json` writes.
        """
        date = read.text("date")
        if date and not _is_date(date):
            raise JsonError(
                f"date = {date[:40]!r}: must be a time in UTC like 2026-01-31T12:00:00+00:00, or empty"
            )
        return cls(date, read.text_mapping("versions"), read.text_mapping("digests"))


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="seconds") == text
    except (OverflowError, ValueError):
        return False


def made_now(**digests: str) -> Provenance:
    """Return the provenance of a result that this process makes now.

    Parameters
    ----------
    digests
        Those of inputs, by name; unknown ones are "", and left out.
    """
    known = {name: digest for name, digest in digests.items() if digest}
    return Provenance(
        datetime.now(UTC).isoformat(timespec="seconds"),
        _versions(),
        {"dpwitness": _library_digest(), **known},
    )


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@functools.cache
def _versions() -> Mapping[str, str]:
    return {"python": sys.version.split()[0], **{name: metadata.version(name) for name in _VERSIONS}}


@functools.cache
def _library_digest() -> str:
    """Return the SHA-256 of all files of this library, data too, and of their names."""
    lines = "".join(f"{package} {_folder_digest(_ROOT / package)}\n" for package in LIBRARY)
    return hashlib.sha256(f"dpwitness {file_digest(_ROOT / 'dpwitness.py')}\n{lines}".encode()).hexdigest()


def _folder_digest(folder: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            found.update(f"{file.relative_to(_ROOT).as_posix()} {file_digest(file)}\n".encode())
    return found.hexdigest()
