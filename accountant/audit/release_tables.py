"""The ``[[release]]`` tables of a release file.

A file is about one neighbouring relation: ``neighbours``, beside the tables or in each of them, is "replace one" (the
default), "add or remove one" or "zero out". A file with a sampled release must have it, as there the answers differ.

``sensitivity`` is how far one record moves the query under that relation, with one exception: for replacing a record
of a *Poisson* sample it is how far a record moves the query that joins or leaves (`PoissonReplacedProfile`). A sample
of fixed size takes the movement of replacing a record of it.

``shuffled = n``: n clients send one message each by this mechanism, and a shuffler forgets the senders. The loss of one
client's record is that of `mechanisms.amplification.shuffled`, under "replace one"; of randomized responses it is that
of `mechanisms.amplification.shuffled_response`, which uses the randomizer.

``partition``: a record's part may depend on the record, and no record is in two parts. So the loss is the
largest of all parts (parallel composition) if a record is added, removed or zeroed out. One that is replaced may
leave one part and enter another, which costs both, and moves each as a joining record does, which a sensitivity to
replacement does not bound: under "replace one" the key is refused. ``records`` names public groups, which
replacing a record does not change.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from accountant.audit.line_numbers import LineNumbers
from accountant.audit.mechanism_kinds import ALIASES, TableError, find_kind, suggest_kind
from accountant.audit.releases import (
    EVERYONE,
    POWER,
    FileMetadata,
    Release,
    ReleaseFileError,
    Releases,
    WrittenRelease,
    group_records,
    scale_noise,
)
from accountant.gates.lineage import RecordId
from accountant.record_name import canonical_name
from mechanisms.amplification.sampled_group import has_pair
from mechanisms.amplification.sampling import Sampling, sampled
from mechanisms.amplification.shuffled import shuffled
from mechanisms.amplification.shuffled_response import most_clients, shuffled_response
from mechanisms.domains.neighbouring import Neighbouring, conversion_hint
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.parameters import ParameterError, positive, real, whole_number
from mechanisms.profiles.privacy_profile import PrivacyProfile

T = TypeVar("T")

MOST = 10**12
"""The largest count: floats do not hold all larger ones exactly."""
_MORE_CLIENTS = 3
"""Above so many times `most_clients`, the theorem that uses ε alone may have the smaller bound."""
_COMMON = (
    "mechanism",
    "sensitivity",
    "count",
    "sampling_rate",
    "sampling",
    "triangle",
    "selected",
    "shuffled",
    "neighbours",
    "records",
    "partition",
    "name",
    "date",
    "notes",
)
_OF_FILE = ("release", "neighbours", "title", "date", "notes")
_APART = ("count", "records", "partition", "date", "notes")
"""Keys in which two releases of one kind may differ."""
_LABELS = ("records", "partition")
_UNSAID = (*_APART, "mechanism", "name", "neighbours", "sampling")


def from_tables(
    source: str,
    content: Any,
    lines: LineNumbers | None = None,
    neighbours: Neighbouring | None = None,
    labels: Sequence[tuple[str | None, Any]] | None = None,
) -> Releases:
    """Return the releases that the content of a TOML or JSON file, or tables from another source, describe.

    Parameters
    ----------
    source
        The file, or another source of the tables, for messages.
    content
        The content of the file.
    lines
        The line numbers of its keys; None if there are no lines.
    neighbours
        The neighbouring relation, if the file states none.
    labels
        For each table the key that names its group, and the value of that key, if these are not in the tables: then
        many releases may share one table, which is read once.

    Raises
    ------
    ReleaseFileError
        If a table breaks a rule.
    """
    if not isinstance(content, dict):
        raise ReleaseFileError(f"{source}: must hold `release` tables")
    for key in content:
        if key not in _OF_FILE:
            raise ReleaseFileError(
                f"{source}: {_start(lines, key)}unknown key {key!r}; the only ones are {', '.join(map(repr, _OF_FILE))}"
            )
    tables = content.get("release", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ReleaseFileError(f"{source}: must hold at least one [[release]] table")
    try:
        of_file = _neighbours(content) or neighbours
        about = FileMetadata(_text(content, "title"), _text(content, "notes"), _date(content))
    except TableError as problem:
        raise ReleaseFileError(f"{source}: {_start(lines, problem.key)}{problem}") from None
    kinds: dict[str, tuple[int, Release]] = {}
    members: dict[RecordId, dict[int, int]] = {}
    names: set[str] = set()
    everyone: dict[int, int] = {}  # counts of releases that name no record
    dates: list[datetime.date] = []
    relation: Neighbouring | None = None
    named_by: str | None = None
    read: dict[tuple[int, str | None], tuple[int, int]] = {}  # of a table (rows share them): kind and count
    for i, table in enumerate(tables):
        try:
            key, named = labels[i] if labels is not None else _group_key(table)
            known = read.get((id(table), key))
            if known is None:
                own = _check_agrees(_neighbours(table), of_file) or of_file
                relation = _check_one_relation(table, key, own, relation)
                named_by = _check_group_key(table, named_by or key)
                kind_key = repr([(name, table[name]) for name in sorted(table) if name not in _APART])
                if kind_key not in kinds:
                    new = _kind_of_release(table, len(kinds), own)
                    kinds[kind_key] = (
                        len(kinds),
                        replace(new, name=_reserve_name(new.name, len(kinds), names)),
                    )
                date, _ = _date(table), _text(table, "notes")
                dates += [] if date is None else [date]
                known = read[id(table), key] = kinds[kind_key][0], _count(table)
            if key is not None and key != named_by:
                raise _two_keys_error(key, named_by)
            kind, count = known
            for label in _record_labels(key, named):
                counts = everyone if label is None else members.setdefault(label, {})
                counts[kind] = counts.get(kind, 0) + count
        except TableError as problem:
            place = _start(lines, problem.key, i)
            raise ReleaseFileError(f"{source}: {place}release {i + 1}: {problem}") from None
    for counts in members.values():
        for kind, count in everyone.items():
            counts[kind] = counts.get(kind, 0) + count
    if dates:
        about = replace(about, first=min(dates), last=max(dates))
    found = tuple(release for _, release in kinds.values())
    return Releases(found, group_records(members or {EVERYONE: everyone}), about=about)


def _group_key(table: Mapping[str, Any]) -> tuple[str | None, Any]:
    """Return the key by which a table names its group, and its value; None for both if it names none."""
    key = next((key for key in _LABELS if key in table), None)
    return key, None if key is None else table[key]


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise TableError(key, f"{key} = {value!r}: must be a text")
    return value


def _date(table: Mapping[str, Any]) -> datetime.date | None:
    """Return the date of a table or the file: a date of TOML, or a text as ISO 8601 has it."""
    value = table.get("date")
    if isinstance(value, datetime.datetime):
        return value.date()
    if value is None or isinstance(value, datetime.date):
        return value
    try:
        return datetime.datetime.strptime(value, "%Y-%m-%d").date()
    except (TypeError, ValueError):
        raise TableError("date", f"date = {value!r}: must be a date, year-month-day") from None


def _start(lines: LineNumbers | None, key: str | None, table: int | None = None) -> str:
    """Return the start of a message: the line of a key, of a table or outside all; "" if there are no lines."""
    if lines is None:
        return ""
    return f"line {lines.top_level(key or '') if table is None else lines.key(table, key)}: "


def _neighbours(table: Mapping[str, Any]) -> Neighbouring | None:
    """Return the relation that a table, or the file, states; None if it states none."""
    if "neighbours" not in table:
        return None
    return _check_key("neighbours", lambda: Neighbouring.from_name(table["neighbours"]))


def _check_agrees(own: Neighbouring | None, of_file: Neighbouring | None) -> Neighbouring | None:
    """Return a table's own relation; refuse another one than the file's."""
    if own is not None and of_file is not None and own is not of_file:
        raise TableError("neighbours", f"neighbours = {own.value!r}: the file is for {of_file.value!r}")
    return own


def _check_one_relation(
    table: Mapping[str, Any], named_by: str | None, own: Neighbouring | None, earlier: Neighbouring | None
) -> Neighbouring:
    """Return the relation of a release; refuse another one than before, and partitions under "replace one"."""
    relation = own or Neighbouring.REPLACE_ONE
    if earlier is not None and relation is not earlier:
        raise TableError(
            "neighbours",
            f"neighbours = {relation.value!r}{'' if own else ' (the default)'}: earlier releases are for "
            f"{earlier.value!r}, and the two do not compose; {conversion_hint(earlier, relation)}",
        )
    if named_by == "partition" and relation is Neighbouring.REPLACE_ONE:
        raise TableError(
            "partition",
            "partition: under 'replace one' a record may leave one part and enter another, which costs both; name the "
            "groups by 'records' if they are public, or state neighbours = 'add or remove one' (or 'zero "
            "out') for the file",
        )
    return relation


def _kind_of_release(table: Mapping[str, Any], index: int, neighbours: Neighbouring | None) -> Release:
    if "mechanism" not in table:
        raise TableError(None, "no key 'mechanism'")
    plain, kind = find_kind(table["mechanism"])
    for key in table:
        if key not in _COMMON and key not in kind.keys:
            keys = (*kind.keys, *_COMMON)
            raise TableError(
                key,
                f"unknown key {key!r}{suggest_kind(key, keys[:-2]) or '; the only ones are ' + ', '.join(keys)}",
            )
    for alias, key in ALIASES.items():
        if alias in table and key in table:
            raise TableError(
                alias, f"{alias}: is another name of {key!r}, which is given, too: give one of them"
            )
    for key in kind.required:
        if key not in table and not any(ALIASES.get(other) == key for other in table):
            raise TableError(None, f"{table['mechanism']} needs the key {key!r}")
    if not kind.moves and "sensitivity" in table:
        raise TableError(
            "sensitivity",
            f"sensitivity: {table['mechanism']} says what one record loses, however far it moves the value: state the "
            "loss at this sensitivity, or the mechanism and its noise",
        )
    parameters = {ALIASES.get(key, key): table[key] for key in table if key in kind.keys}
    for key in sorted(kind.whole):
        most, value = kind.most.get(key, MOST), parameters.get(key)
        if isinstance(value, int) and value > most:
            name = next(one for one in table if ALIASES.get(one, one) == key)
            raise TableError(name, f"{name} = {value}: must be at most {most:,}")
    sensitivity = _sensitivity(table["sensitivity"]) if "sensitivity" in table else None
    rate = _check_key("sampling_rate", lambda: _rate(table.get("sampling_rate", 1.0)))
    sampling = _sampling(table)
    drawn = table.get(kind.rate_key, 1.0)
    if drawn != 1.0 and neighbours is None:
        known = ", ".join(repr(one.value) for one in Neighbouring)
        raise TableError(
            kind.rate_key,
            f"{kind.rate_key} = {drawn!r}: what a sampled release costs depends on the neighbouring relation; "
            f"the file needs the key 'neighbours', one of {known}",
        )
    if rate == 1.0 and "sampling" in table:
        raise TableError(
            "sampling",
            f"sampling = {table['sampling']!r}: at sampling_rate = 1 nothing is sampled, and the sensitivity is of the "
            "relation itself: leave out 'sampling'",
        )
    relation = neighbours or Neighbouring.REPLACE_ONE
    triangle = _triangle(table, rate, sampling)
    selected = _selected(table, rate, sampling)
    clients = _clients(table, rate)
    needed = relation if rate == 1.0 else _check_key("neighbours", lambda: sampling.movement(relation))

    as_written: PrivacyProfile | None = None

    def sensitivity_at(given: Mapping[str, Any]) -> Sensitivity:
        return kind.default_sensitivity(given) if sensitivity is None else sensitivity

    def build(factor: float) -> PrivacyProfile:
        if factor == 1.0 and as_written is not None:
            return as_written
        noise = {} if factor == 1.0 else scale_noise(parameters, factor)
        given = parameters | noise
        try:
            base = kind.profile(given, sensitivity_at(given), needed)
            known = needed is relation or has_pair(base)
        except ParameterError:
            base = kind.profile(given, sensitivity_at(given), relation)  # which refuses the invalid ones
            known = False
        if not known:
            raise ParameterError(
                f"sampling_rate = {rate!r}: a record of a Poisson sample that is replaced may join or leave it, and "
                f"what {table['mechanism']} loses by that is not known; give sampling = 'fixed size' if all samples "
                "have one size, or leave out 'sampling_rate'"
            )
        own = sampled(base, rate, relation, sampling, triangle=triangle, selected=selected)
        if clients is None:
            return own
        if (
            plain == "randomized-response"
            and 1.0 <= sensitivity_at(given).l1 < 2.0
            and needed is Neighbouring.REPLACE_ONE
        ):
            size, local = given["size"], given["epsilon"]
            if 1 < clients <= _MORE_CLIENTS * most_clients(size, local):
                return shuffled_response(size, local, clients)
        return shuffled(own, clients)

    try:
        as_written = build(1.0)
    except (ParameterError, TypeError) as error:
        guilty = next(
            (key for key in table if ALIASES.get(key, key) in str(error).split(" ")[0]), "mechanism"
        )
        raise TableError(guilty, str(error)) from None
    words = _describe_release(table, rate, sampling)
    name = _text(table, "name") or f"{index + 1}: {words}"
    varied = {name: float(value) for name, value in parameters.items() if name in POWER}
    written = WrittenRelease(plain, parameters, sensitivity_at(parameters), needed, rate, sampling, clients)
    of = _sensitivity_text(drawn, sampling, needed)
    return Release(name, build, varied, of, words, written)


def _reserve_name(name: str, index: int, taken: set[str]) -> str:
    """Return a name that no other kind has, and reserve it: results are distinguished by it."""
    while name in taken:
        name = f"{index + 1}: {name}"
    taken.add(name)
    return name


def _describe_release(table: Mapping[str, Any], rate: float, sampling: Sampling) -> str:
    numbers = [
        f"{key}={table[key]:g}" if isinstance(table[key], int | float) else f"{key}={table[key]}"
        for key in table
        if key not in _UNSAID
    ]
    scheme = [] if rate == 1.0 else [f"sampling={sampling.value}"]
    return " ".join([str(table["mechanism"]), *numbers, *scheme])


def _sensitivity_text(rate: float, sampling: Sampling, needed: Neighbouring) -> str:
    """Return the movement that the sensitivity of a sampled release bounds, in words; "" if it is not sampled."""
    if rate == 1.0:
        return ""
    what = {
        Neighbouring.ADD_OR_REMOVE: "a record that joins or leaves it",
        Neighbouring.REPLACE_ONE: "a record of it that is replaced by another",
        Neighbouring.ZERO_OUT: "a record of it that is zeroed out",
    }
    return f"of a {sampling.value} sample: how far {what[needed]} moves the query"


def _sampling(table: Mapping[str, Any]) -> Sampling:
    """Return the sampling scheme: by default a Poisson sample."""
    value = table.get("sampling", Sampling.POISSON.value)
    plain = (
        " ".join(value.lower().replace("-", " ").replace("_", " ").split()) if isinstance(value, str) else ""
    )
    for scheme in Sampling:
        if scheme.value == plain:
            if "sampling" in table and "sampling_rate" not in table:
                raise TableError("sampling", f"sampling = {value!r}: needs the key 'sampling_rate'")
            return scheme
    known = ", ".join(repr(scheme.value) for scheme in Sampling)
    raise TableError("sampling", f"sampling = {value!r}: must be one of {known}")


def _triangle(table: Mapping[str, Any], rate: float, sampling: Sampling) -> bool:
    """Return True if a table states that three records are pairwise as far apart as any two."""
    found = table.get("triangle", False)
    if not isinstance(found, bool):
        raise TableError("triangle", f"triangle = {found!r}: must be true or false")
    if "triangle" in table and (rate == 1.0 or sampling is not Sampling.FIXED_SIZE):
        raise TableError("triangle", "triangle: matters for sampling = 'fixed size' alone: leave it out")
    return found


def _selected(table: Mapping[str, Any], rate: float, sampling: Sampling) -> int:
    """Return in how many steps of an epoch of random allocation a record is."""
    if "selected" not in table:
        return 1
    if rate == 1.0 or sampling is not Sampling.RANDOM_ALLOCATION:
        raise TableError(
            "selected", "selected: matters for sampling = 'random allocation' alone: leave it out"
        )
    found: int = _check_key("selected", lambda: whole_number("selected", table["selected"], least=1))
    return found


def _clients(table: Mapping[str, Any], rate: float) -> int | None:
    """Return the number of clients with messages that are shuffled together; None if they are not."""
    if "shuffled" not in table:
        return None
    if rate < 1.0:
        raise TableError(
            "shuffled",
            "shuffled: no theorem is known here for shuffled messages of a sample of the clients: leave out "
            "'sampling_rate'",
        )
    return _check_key("shuffled", lambda: whole_number("shuffled", table["shuffled"], least=1))


def _check_key(key: str, check: Callable[[], T]) -> T:
    try:
        return check()
    except ParameterError as error:
        raise TableError(key, str(error)) from None


def _count(table: Mapping[str, Any]) -> int:
    found = _check_key("count", lambda: whole_number("count", table.get("count", 1), least=1))
    if found > MOST:
        raise TableError("count", f"count = {found}: must be at most {MOST:,}")
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

    return _check_key("sensitivity", check)


def _check_group_key(table: Mapping[str, Any], named_by: str | None) -> str | None:
    """Return the key by which the file names groups; refuse another one: membership in both is unknown."""
    for key in _LABELS:
        if key in table and key != named_by:
            raise _two_keys_error(key, named_by)
    return named_by


def _two_keys_error(key: str, named_by: str | None) -> TableError:
    return TableError(
        key,
        f"{key}: an earlier release names its group by '{named_by}', and which record lies in which "
        "partition is unknown; use one of the two keys throughout",
    )


def _record_labels(key: str | None, value: Any) -> tuple[str | None, ...]:
    """Return the labels of a release; (None,) if it names no record."""
    if key is None:
        return (None,)
    if type(value) is str:
        return (_canonical_label(key, value),)
    labels = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    good = isinstance(labels, list) and all(type(item) in (str, int) for item in labels)
    if not good or not labels:
        raise TableError(key, f"{key} = {value!r}: must be a label or a list of labels")
    written = [_canonical_label(key, str(label)) for label in labels]
    counts = Counter(written)
    twice = next((label for label, count in counts.items() if count > 1), None)
    if twice is not None:
        raise TableError(
            key, f"{key}: {twice!r} is listed twice; list each once, or write a release for each time"
        )
    return tuple(counts)


def _canonical_label(key: str, text: str) -> str:
    """Return the one form of a label, as of a record's name in a ledger; blanks around it are the file's format."""
    label = str(_check_key(key, lambda: canonical_name(text.strip(" "), key)))
    if ";" in label:
        raise TableError(key, f"{key}: {text!r}: names no semicolon; several labels are a list")
    return label
