"""Compositions written down: ``[[release]]`` tables in TOML or JSON, or a saved ledger."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from accountant import Accountant, RecordId
from mechanisms import (
    ApproximateProfile,
    BuiltInMechanism,
    NoPrivacy,
    ParameterError,
    PrivacyProfile,
    PureProfile,
    Sensitivity,
    ZeroConcentratedProfile,
)
from mechanisms.parameters import delta_of_approximate, nonnegative, positive, real, whole
from mechanisms.subsampled import subsampled
from verify.composition.line_numbers import Lines

EVERYONE = "every record"

Counted = tuple[tuple[PrivacyProfile, int], ...]
"""Profiles, each with how often it occurs."""


class ReleaseFileError(ValueError):
    """A composition file breaks a rule; the message says where, and which."""


@dataclass(frozen=True)
class Release:
    """One kind of release.

    Attributes
    ----------
    name
        What reports call it.
    build
        Returns the profile of one release with all noise multiplied by a factor.
    parameters
        Noise parameters by name, as written.
    """

    name: str
    build: Callable[[float], PrivacyProfile]
    parameters: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def at(self, factor: float) -> dict[str, float]:
        """Return the noise parameters with all noise multiplied by a factor."""
        return _scaled(self.parameters, factor)


@dataclass(frozen=True)
class Group:
    """Records that are part of the same releases.

    Attributes
    ----------
    name
        The label of the first of them.
    records
        How many labels are alike.
    counts
        How often a record is part of each kind of release, by the kind's number.
    """

    name: str
    records: int
    counts: Mapping[int, int]


@dataclass(frozen=True)
class Releases:
    """All kinds of releases in a file, and who is part of which."""

    kinds: tuple[Release, ...]
    groups: tuple[Group, ...]

    def counted(self, group: Group, factor: float = 1.0) -> Counted:
        """Return (profile, count) for every kind of release that a group is part of."""
        return tuple((self.kinds[i].build(factor), count) for i, count in group.counts.items())


def maximal(groups: Sequence[Group]) -> list[Group]:
    """Leave out groups that take part in no kind of release more often than some other group does."""
    kept: list[Group] = []
    for group in sorted(groups, key=lambda one: -sum(one.counts.values())):
        if not any(_within(group, other) for other in kept):
            kept.append(group)
    return kept


def _within(group: Group, other: Group) -> bool:
    return all(count <= other.counts.get(kind, 0) for kind, count in group.counts.items())


def _grouped(members: Mapping[RecordId, Mapping[int, int]]) -> tuple[Group, ...]:
    alike: dict[tuple[tuple[int, int], ...], list[RecordId]] = {}
    for label, counts in members.items():
        alike.setdefault(tuple(sorted(counts.items())), []).append(label)
    return tuple(Group(str(labels[0]), len(labels), dict(counts)) for counts, labels in alike.items())


def read_releases(path: Path) -> Releases:
    """Read a composition: TOML or JSON with ``release`` tables, or a ledger that `Accountant.save` wrote.

    Raises
    ------
    ReleaseFileError
        If the file breaks a rule, with its line number where there is one.
    OSError
        If it cannot be read.
    """
    if not path.is_file():
        raise ReleaseFileError(f"{path}: no such file")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReleaseFileError(f"{path}: not a text file ({error.reason} at byte {error.start})") from None
    if path.suffix.lower() == ".toml":
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ReleaseFileError(f"{path}: not valid TOML: {error}") from None
    elif path.suffix.lower() == ".json":
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise ReleaseFileError(f"{path}: line {error.lineno}: not valid JSON: {error.msg}") from None
        if isinstance(content, dict) and str(content.get("format", "")).startswith("dpwitness-ledger"):
            return _from_ledger(path)
    else:
        raise ReleaseFileError(f"{path}: must end in .toml or .json")
    return _from_tables(path, content, Lines(text, path.suffix.lower() == ".toml"))


# --- release tables ------------------------------------------------------------------------------


def _from_tables(path: Path, content: Any, lines: Lines) -> Releases:
    if not isinstance(content, dict):
        raise ReleaseFileError(f"{path}: must hold `release` tables")
    for key in content:
        if key != "release":
            line = lines.top_level(key)
            raise ReleaseFileError(f"{path}: line {line}: unknown key {key!r}; the only one is 'release'")
    tables = content.get("release", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ReleaseFileError(f"{path}: must hold at least one [[release]] table")
    kinds, holders, counts = [], [], []
    named_by = next((key for table in tables for key in ("records", "partition") if key in table), None)
    for i, table in enumerate(tables):
        try:
            _check_one_way(table, named_by)
            kinds.append(_kind_of_release(table, i))
            holders.append(_holders(table))
            counts.append(_count(table))
        except _Problem as problem:
            line = lines.key(i, problem.key)
            raise ReleaseFileError(f"{path}: line {line}: release {i + 1}: {problem}") from None
    labels = list(dict.fromkeys(label for held in holders for label in held)) or [EVERYONE]
    members: dict[RecordId, dict[int, int]] = {label: {} for label in labels}
    for i, held in enumerate(holders):
        for label in held or labels:
            members[label][i] = counts[i]
    return Releases(tuple(kinds), _grouped(members))


class _Problem(ValueError):
    """What is wrong with a table, and the key it is wrong with (None: the table)."""

    def __init__(self, key: str | None, message: str) -> None:
        super().__init__(message)
        self.key = key


_MOST = 10**12  # counts beyond serve nobody, and floats no longer hold them exactly
_COMMON = ("mechanism", "sensitivity", "count", "sampling_rate", "records", "partition", "name")
_ALIASES = {"k": "size"}
_POWER = {
    "scale": 1,
    "sigma": 1,
    "epsilon": -1,
    "rho": -2,
}  # how a parameter follows a noise factor


def _scaled(parameters: Mapping[str, Any], factor: float) -> dict[str, float]:
    return {name: value * factor ** _POWER[name] for name, value in parameters.items() if name in _POWER}


def _kind_of_release(table: Mapping[str, Any], index: int) -> Release:
    if "mechanism" not in table:
        raise _Problem(None, "no key 'mechanism'")
    kind = _kind(table["mechanism"])
    for key in table:
        if key not in _COMMON and key not in kind.keys:
            raise _Problem(key, f"unknown key {key!r}{_hint(key, (*_COMMON, *kind.keys))}")
    for key in kind.required:
        if key not in table and not any(_ALIASES.get(other) == key for other in table):
            raise _Problem(None, f"{table['mechanism']} needs the key {key!r}")
    parameters = {_ALIASES.get(key, key): table[key] for key in table if key in kind.keys}
    sensitivity = _sensitivity(table.get("sensitivity", 1.0))
    rate = _checked("sampling_rate", lambda: _rate(table.get("sampling_rate", 1.0)))

    def build(factor: float) -> PrivacyProfile:
        scaled = parameters if factor == 1.0 else parameters | _scaled(parameters, factor)
        return subsampled(kind.profile(scaled, sensitivity), rate)

    try:
        build(1.0)
    except (ParameterError, TypeError) as error:
        guilty = next(
            (key for key in table if _ALIASES.get(key, key) in str(error).split(" ")[0]), "mechanism"
        )
        raise _Problem(guilty, str(error)) from None
    name = table.get("name", f"{index + 1}: {_words(table)}")
    if not isinstance(name, str):
        raise _Problem("name", f"name = {name!r}: must be a text")
    varied = {name: float(value) for name, value in parameters.items() if name in _POWER}
    return Release(name, build, varied)


def _words(table: Mapping[str, Any]) -> str:
    numbers = [
        f"{key}={table[key]:g}" if isinstance(table[key], int | float) else f"{key}={table[key]}"
        for key in table
        if key not in ("mechanism", "records", "partition", "name", "count")
    ]
    return " ".join([str(table["mechanism"]), *numbers])


def _checked(key: str, check: Callable[[], Any]) -> Any:
    try:
        return check()
    except ParameterError as error:
        raise _Problem(key, str(error)) from None


def _count(table: Mapping[str, Any]) -> int:
    found: int = _checked("count", lambda: whole("count", table.get("count", 1), least=1))
    if found > _MOST:
        raise _Problem("count", f"count = {found}: must be at most {_MOST:,}")
    return found


def _rate(value: Any) -> float:
    rate = real("sampling_rate", value)
    if not 0.0 < rate <= 1.0:
        raise ParameterError(f"sampling_rate = {value!r}: must lie in (0, 1]")
    return rate


def _sensitivity(value: Any) -> Sensitivity:
    def check() -> Sensitivity:
        if isinstance(value, Mapping):
            if set(value) != {"l1", "l2", "linf"}:
                raise ParameterError(
                    f"sensitivity = {dict(value)!r}: must be a number, or name l1, l2 and linf"
                )
            return Sensitivity(**value)
        size = positive("sensitivity", value)
        return Sensitivity(size, size, size)

    found: Sensitivity = _checked("sensitivity", check)
    return found


def _check_one_way(table: Mapping[str, Any], named_by: str | None) -> None:
    """Refuse a file that names some groups by record and others by partition: who is in which is unknown."""
    for key in ("records", "partition"):
        if key in table and key != named_by:
            raise _Problem(
                key,
                f"{key}: an earlier release names its group by '{named_by}', and which record lies in which "
                "partition is unknown; use one of the two keys throughout",
            )


def _holders(table: Mapping[str, Any]) -> tuple[str, ...]:
    key = "records" if "records" in table else "partition"
    value = table.get(key, [])
    labels = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    good = isinstance(labels, list) and all(type(item) in (str, int) for item in labels)
    if not good or (key in table and not labels):
        raise _Problem(key, f"{key} = {value!r}: must be a label or a list of labels")
    return tuple(dict.fromkeys(map(str, labels)))


# --- kinds of mechanisms -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """What a table of one mechanism may say, and the profile it stands for."""

    keys: tuple[str, ...]
    required: tuple[str, ...]
    profile: Callable[[Mapping[str, Any], Sensitivity], PrivacyProfile]


def _built_in(mechanism: type[Any]) -> _Kind:
    fields = {field.name: field for field in dataclasses.fields(mechanism)}
    keys = [name for name in fields if name != "sensitivity"]
    required = tuple(name for name in keys if fields[name].default is dataclasses.MISSING)
    calibrated = "sensitivity" in fields

    def profile(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
        given = {**parameters, "sensitivity": sensitivity} if calibrated else dict(parameters)
        found: PrivacyProfile = mechanism(**given).profile(sensitivity)
        return found

    aliases = [alias for alias, name in _ALIASES.items() if name in keys]
    return _Kind((*keys, *aliases), required, profile)


def _pure(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    return PureProfile(Fraction(nonnegative("epsilon", parameters["epsilon"])))


def _approximate(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    epsilon = Fraction(nonnegative("epsilon", parameters["epsilon"]))
    return ApproximateProfile(epsilon, delta_of_approximate("delta", parameters["delta"]))


def _concentrated(parameters: Mapping[str, Any], sensitivity: Sensitivity) -> PrivacyProfile:
    return ZeroConcentratedProfile(nonnegative("rho", parameters["rho"]))


def _kinds() -> dict[str, _Kind]:
    """Return every mechanism that is described by numbers alone, and three privacy notions."""
    simple = (int, float, str)
    found = {}
    for name, mechanism in BuiltInMechanism._registry.items():
        types = [str(field.type).partition(" ")[0] for field in dataclasses.fields(mechanism)]  # type: ignore[arg-type]
        if all(kind in ("Sensitivity", *(one.__name__ for one in simple)) for kind in types):
            found[re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()] = _built_in(mechanism)
    return found | {
        "pure": _Kind(("epsilon",), ("epsilon",), _pure),
        "approximate": _Kind(("epsilon", "delta"), ("epsilon", "delta"), _approximate),
        "zcdp": _Kind(("rho",), ("rho",), _concentrated),
    }


def _kind(name: Any) -> _Kind:
    kinds = _kinds()
    if not isinstance(name, str):
        raise _Problem("mechanism", f"mechanism = {name!r}: must be a name")
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower().replace("_", "-").replace(" ", "-")
    if plain not in kinds:
        raise _Problem(
            "mechanism", f"unknown mechanism {name!r}{_hint(plain, kinds)}; known: {', '.join(kinds)}"
        )
    return kinds[plain]


def _hint(word: str, known: Iterator[str] | Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


# --- saved ledgers -------------------------------------------------------------------------------


def _from_ledger(path: Path) -> Releases:
    kinds: dict[tuple[Any, Any], int] = {}
    releases: list[Release] = []
    members: dict[RecordId, dict[int, int]] = {}  # 7 and "7" are two records
    for entry in Accountant.load(path).ledger.entries:
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
    return Releases(tuple(releases), _grouped(members))


def _unchanging(profile: PrivacyProfile) -> Callable[[float], PrivacyProfile]:
    def build(factor: float) -> PrivacyProfile:
        if factor != 1.0:
            raise ReleaseFileError("a ledger's releases are past: their noise cannot be calibrated")
        return profile

    return build
