"""Release files: ``[[release]]`` tables in TOML or JSON, exported ledgers, or files of other libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from accountant.audit.dp_events import from_dp_event
from accountant.audit.line_numbers import TomlLineNumbers
from accountant.audit.loss_distributions import from_loss_distribution, is_loss_distribution
from accountant.audit.opacus_history import from_opacus
from accountant.audit.release_rows import from_rows
from accountant.audit.release_tables import from_tables
from accountant.audit.releases import (
    EnforcedBudget,
    FileMetadata,
    LedgerFacts,
    Release,
    ReleaseFileError,
    Releases,
    fixed_release,
    group_records,
)
from accountant.files.data_files import from_json, from_toml, text_of
from accountant.files.sqlite_file import is_sqlite
from accountant.gates.lineage import RecordId
from mechanisms.domains.neighbouring import Neighbouring, conversion_hint
from mechanisms.profiles.bounding_profiles import NoPrivacy
from mechanisms.profiles.privacy_profile import PrivacyProfile

if TYPE_CHECKING:
    from accountant.stores.replayed_entries import LedgerContent


def read_releases(path: str | Path, neighbours: Neighbouring | str | None = None) -> Releases:
    """Read a release file, of any format that docs/release_files.md has.

    Parameters
    ----------
    path
        The file.
    neighbours
        The neighbouring relation; a file may have the same, or none. Those of dp-accounting and Opacus have none.

    Raises
    ------
    ReleaseFileError
        If the file breaks a rule, with its line number where there is one, or is for another relation.
    OSError
        If it cannot be read.
    ParameterError
        If there is no such relation.
    """
    relation = None if neighbours is None else Neighbouring.from_name(neighbours)
    releases = _read_file(Path(path), relation)
    if relation not in (None, releases.neighbouring):
        raise ReleaseFileError(
            f"{path}: neighbours = {str(relation)!r}: the file is for {releases.neighbouring.value!r}; "
            f"{conversion_hint(releases.neighbouring, relation)}"
        )
    return releases


def _read_file(path: Path, neighbours: Neighbouring | None) -> Releases:
    if not path.is_file():
        if path.parts[:1] and path.parts[0].endswith(":"):  # it may hold a password
            raise ReleaseFileError(
                "no URL is read here: `dpwitness ledger show -o` makes a file of a database's ledger"
            )
        raise ReleaseFileError(f"{path}: no such file")
    if is_sqlite(path):
        return _from_ledger(path)
    try:
        # An imported export gets this suffix, so that it is not imported twice, and can still be audited.
        text, suffix = text_of(path), Path(path.name.lower().removesuffix(".imported")).suffix
        if suffix not in _READ:
            raise ReleaseFileError(f"{path}: must end in .toml, .json or .csv")
        return _READ[suffix](path, text, neighbours)
    except ReleaseFileError:
        raise
    except ValueError as error:  # also a whole number that Python does not write out
        raise ReleaseFileError(f"{path}: {error}") from None


def _from_json(path: Path, text: str, neighbours: Neighbouring | None) -> Releases:
    content = from_json(text)
    if isinstance(content, dict):
        if "class_name" in content:
            return from_dp_event(content, _required_relation(path, neighbours), str(path))
        if "history" in content:  # of Opacus, with batches and mean beside it
            made: Any = {"batches": content.get("batches"), "mean": content.get("mean")}
            return from_opacus(content, _required_relation(path, neighbours), **made, source=str(path))
        if is_loss_distribution(content):
            return from_loss_distribution(content, _required_relation(path, neighbours), str(path))
        if str(content.get("format", "")).startswith("dpwitness-ledger"):
            return _from_ledger(path)
    return from_tables(str(path), content, TomlLineNumbers(text, toml=False), neighbours)


_READ: dict[str, Callable[[Path, str, Neighbouring | None], Releases]] = {
    ".toml": lambda path, text, neighbours: from_tables(
        str(path), from_toml(text), TomlLineNumbers(text, toml=True), neighbours
    ),
    ".json": _from_json,
    ".csv": lambda path, text, neighbours: from_rows(str(path), text, neighbours),
}


def _required_relation(path: Path, neighbours: Neighbouring | None) -> Neighbouring:
    """Return the relation that a file of this kind needs beside it."""
    if neighbours is None:
        known = ", ".join(one.value.replace(" ", "-") for one in Neighbouring)
        raise ReleaseFileError(
            f"{path}: a file of this kind does not say when two data sets are neighbours: give neighbours "
            f"(--neighbors), one of {known}"
        )
    return neighbours


def _from_ledger(path: Path) -> Releases:
    from accountant.stores.imports import read_ledger  # loads SQLAlchemy

    kinds: dict[tuple[Any, Any], int] = {}
    releases: list[Release] = []
    members: dict[RecordId, dict[int, int]] = {}
    content = read_ledger(path)
    terms, entries = content.terms, content.entries
    for entry in entries:
        key = (entry.mechanism, entry.sensitivity)
        if key not in kinds:
            kinds[key] = len(releases)
            name, profile = "declassified", cast(PrivacyProfile, NoPrivacy())
            if entry.mechanism is not None:
                name, profile = repr(entry.mechanism), entry.mechanism.profile(entry.sensitivity)
            releases.append(Release(f"{len(releases) + 1}: {name}", fixed_release(profile), mechanism=name))
        for record in entry.records:
            counts = members.setdefault(record, {})
            counts[kinds[key]] = counts.get(kinds[key], 0) + 1
    if not members:
        raise ReleaseFileError(f"{path}: the ledger holds no release")
    chosen = EnforcedBudget(terms.composition.name, terms.budget)
    about = FileMetadata(notes=content.lacking)
    return Releases(tuple(releases), group_records(members), chosen, about, ledger=_ledger_facts(content))


def _ledger_facts(content: LedgerContent) -> LedgerFacts:
    noise: dict[str, None] = {}
    declassified: Counter[str] = Counter()
    for entry in content.entries:
        if entry.mechanism is None:
            reason = " ".join(entry.note.split())
            declassified[f"{reason} ({Path(entry.where.file).name}:{entry.where.line})"] += 1
        else:
            noise[entry.note] = None
    days = [
        datetime.fromtimestamp(charged.at / 1000, UTC).date()
        for charged in content.charges
        if charged.at is not None and not content.lacking
    ]
    return LedgerFacts(
        content.terms.trust.value,
        content.terms.strict,
        sum(bool(charged.entries) for charged in content.charges),
        tuple(noise),
        declassified,
        min(days, default=None),
        max(days, default=None),
    )
