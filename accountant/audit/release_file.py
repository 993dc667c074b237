"""Release files: ``[[release]]`` tables in TOML or JSON, a ledger, or what other libraries write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from accountant.audit.dp_events import releases_of_event
from accountant.audit.line_numbers import Lines
from accountant.audit.opacus_history import is_opacus_state, releases_of_history
from accountant.audit.release_tables import from_tables
from accountant.audit.releases import ChosenUnder, Release, ReleaseFileError, Releases, grouped
from accountant.data_files import DataFileError, from_json, from_toml
from accountant.gates.provenance import RecordId
from mechanisms import NoPrivacy, PrivacyProfile
from mechanisms.neighbouring import Neighbouring


def read_releases(path: Path, neighbours: Neighbouring | str | None = None) -> Releases:
    """Read a release file, of any format that docs/release_files.md has.

    Parameters
    ----------
    path
        The file.
    neighbours
        The neighbouring relation, for files that cannot state theirs (of dp-accounting and Opacus), and only for them.

    Raises
    ------
    ReleaseFileError
        If the file breaks a rule, with its line number where there is one, or says its own relation.
    OSError
        If it cannot be read.
    """
    if not path.is_file():
        raise ReleaseFileError(f"{path}: no such file")
    with path.open("rb") as file:
        if file.read(16) == b"SQLite format 3\0":
            return _from_ledger(_stating(path, neighbours))
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReleaseFileError(f"{path}: not a text file ({error.reason} at byte {error.start})") from None
    if path.suffix.lower() == ".toml":
        read: Callable[[str], Any] = from_toml
    elif path.suffix.lower() == ".json":
        read = from_json
    else:
        raise ReleaseFileError(f"{path}: must end in .toml or .json")
    try:
        content = read(text)
    except DataFileError as error:
        raise ReleaseFileError(f"{path}: {error}") from None
    if read is from_json and isinstance(content, dict):
        if "class_name" in content:
            return releases_of_event(str(path), content, _stated(path, neighbours))
        if is_opacus_state(content):
            return releases_of_history(str(path), content, _stated(path, neighbours))
        if _is_ledger(content):
            return _from_ledger(_stating(path, neighbours))
    try:
        return from_tables(
            str(_stating(path, neighbours)), content, Lines(text, path.suffix.lower() == ".toml")
        )
    except ReleaseFileError:
        raise
    except ValueError as error:  # a whole number that Python does not write out
        raise ReleaseFileError(f"{path}: {error}") from None


def _stated(path: Path, neighbours: Neighbouring | str | None) -> Neighbouring | str:
    """Return the relation that a file of this kind needs beside it."""
    if neighbours is None:
        known = ", ".join(repr(one.value) for one in Neighbouring)
        raise ReleaseFileError(
            f"{path}: a file of this kind does not say when two data sets are neighbours: give neighbours "
            f"(--neighbours), one of {known}"
        )
    return neighbours


def _stating(path: Path, neighbours: Neighbouring | str | None) -> Path:
    """Return the path of a file that says its own relation; refuse another one beside it."""
    if neighbours is not None:
        raise ReleaseFileError(
            f"{path}: neighbours = {str(neighbours)!r}: a file of this kind says its own relation"
        )
    return path


def _is_ledger(content: dict[str, Any]) -> bool:
    return str(content.get("format", "")).startswith("dpwitness-ledger")


def _from_ledger(path: Path) -> Releases:
    from accountant.stores.imports import read_ledger  # loads SQLAlchemy

    kinds: dict[tuple[Any, Any], int] = {}
    releases: list[Release] = []
    members: dict[RecordId, dict[int, int]] = {}  # 7 and "7" are two records
    terms, entries = read_ledger(path)
    for entry in entries:
        key = (entry.mechanism, entry.sensitivity)
        if key not in kinds:
            kinds[key] = len(releases)
            name, profile = "declassified", cast(PrivacyProfile, NoPrivacy())
            if entry.mechanism is not None:
                name, profile = repr(entry.mechanism), entry.mechanism.profile(entry.sensitivity)
            releases.append(Release(f"{len(releases) + 1}: {name}", _unchanging(profile)))
        for record in entry.records:
            counts = members.setdefault(record, {})
            counts[kinds[key]] = counts.get(kinds[key], 0) + 1
    if not members:
        raise ReleaseFileError(f"{path}: the ledger holds no release")
    chosen = ChosenUnder(terms.composition.name, terms.budget)
    return Releases(tuple(releases), grouped(members), chosen)


def _unchanging(profile: PrivacyProfile) -> Callable[[float], PrivacyProfile]:
    def build(factor: float) -> PrivacyProfile:
        if factor != 1.0:
            raise ReleaseFileError("a ledger's releases are past: their noise cannot be calibrated")
        return profile

    return build
