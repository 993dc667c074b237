"""Requests read from bodies, strictly; no message has anything of private values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import parse_qsl

from accountant.files.data_files import DataFileError, from_json
from accountant.gates.lineage import RecordId
from accountant.record_name import canonical_name
from accountant.service.problem_details import ServiceProblem, invalid
from accountant.service.service_limits import SHORTEST, ServiceLimits
from mechanisms import (
    Ball,
    Box,
    Categories,
    Domain,
    Integers,
    Interval,
    Mechanism,
    OneHot,
    ParameterError,
    mechanism_from_dict,
)
from mechanisms.parameters import build_from

DOMAINS: Mapping[str, tuple[type[Any], frozenset[str]]] = {
    "Interval": (Interval, frozenset({"lower", "upper"})),
    "Box": (Box, frozenset({"lower", "upper", "size"})),
    "Ball": (Ball, frozenset({"radius", "size", "order"})),
    "Integers": (Integers, frozenset({"lower", "upper", "size"})),
    "OneHot": (OneHot, frozenset({"size", "allow_none"})),
    "Categories": (Categories, frozenset({"size"})),
}
"""The domains that a body may name, with their parameters."""

_LONGEST_NAME = 200
_LARGEST_RECORD = 2**63
_MOST_ROOMS = 100
"""The most records of one request for remaining releases: each takes some forty evaluations of its account."""


@dataclass(frozen=True)
class ReleaseRequest:
    """The release that a request is for.

    Attributes
    ----------
    request
        The caller's key of it.
    mechanism, domain
        The mechanism, and the domain of each record's value.
    records
        The records of the values.
    values
        One for each record; None for a reservation, which is made before values are known. Never shown.
    seconds
        Seconds that a reservation waits for them.
    """

    request: str
    mechanism: Mechanism
    domain: Domain
    records: tuple[RecordId, ...]
    values: tuple[Any, ...] | None
    seconds: float

    def __repr__(self) -> str:
        return f"<release request {self.request!r}>"


def read_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body.

    Raises
    ------
    ServiceProblem
        If it is none.
    """
    try:
        found = from_json(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise ServiceProblem(400, "malformed", "the body is not UTF-8") from None
    except DataFileError:  # its message may have a piece of the body
        raise ServiceProblem(
            400,
            "malformed",
            "the body is not JSON, or holds NaN, an infinity, a key twice, or numbers or nesting beyond measure",
        ) from None
    if not isinstance(found, dict):
        raise ServiceProblem(400, "malformed", "the body must be a JSON object")
    return found


def check_keys(body: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse a body that lacks a key that the schema of its operation requires, or has one that is not in it."""
    keys: list[str] = schema["required"]
    optional = [name for name in schema["properties"] if name not in keys]
    missing, unknown = sorted(set(keys) - body.keys()), sorted(body.keys() - {*keys, *optional})
    if missing:
        raise invalid(missing[0], f"is missing: the body must have {', '.join(keys)}")
    if unknown:
        raise invalid(
            "body",
            f"has {len(unknown)} unknown keys: it must have {', '.join(keys)} and nothing else"
            + (f" but {', '.join(optional)}" if optional else ""),
        )


def read_release(body: Mapping[str, Any], limits: ServiceLimits, *, values: bool) -> ReleaseRequest:
    """Return the release that a body asks for, with its records' values or without.

    Raises
    ------
    ServiceProblem
        Naming the parameter and the rule.
    """
    seconds = body.get("seconds", limits.reservation)
    if type(seconds) not in (int, float) or not SHORTEST <= seconds <= limits.reservation:
        raise invalid("seconds", f"must be a number from {SHORTEST:g} to {limits.reservation:g}")
    domain = _domain(body["domain"], limits)
    mechanism = _mechanism(body["mechanism"], limits)
    data = body["data"]
    if not isinstance(data, list) or not 0 < len(data) <= limits.records:
        raise invalid("data", f"must be a list of 1 to {limits.records} records")
    size = math.prod(domain.shape)
    if len(data) * size > limits.numbers:
        raise invalid("data", f"{len(data)} records of size {size}: at most {limits.numbers} numbers")
    if len(data) > 1 and isinstance(domain, Categories):
        raise invalid("data", f"{len(data)} records: categories cannot be added up, so there must be one")
    keys = {"record", "value"} if values else {"record"}
    for i, each in enumerate(data):
        if not isinstance(each, dict) or each.keys() != keys:
            raise invalid(
                f"data[{i}]", f"must be an object with {' and '.join(sorted(keys))}, and nothing else"
            )
    return ReleaseRequest(
        read_name(body, "request"),
        mechanism,
        domain,
        tuple(read_record(each["record"], f"data[{i}].record") for i, each in enumerate(data)),
        tuple(_value(each["value"], f"data[{i}].value") for i, each in enumerate(data)) if values else None,
        seconds,
    )


def read_records(body: Mapping[str, Any], limits: ServiceLimits) -> tuple[RecordId, ...]:
    """Return the records that a body asks about.

    Raises
    ------
    ServiceProblem
        Naming the parameter and the rule.
    """
    return _records(body["records"], limits.records)


def read_room(
    body: Mapping[str, Any], limits: ServiceLimits
) -> tuple[Mechanism, Domain, tuple[RecordId, ...]]:
    """Return the mechanism, the domain and the records of a body that asks for the number of affordable releases.

    Raises
    ------
    ServiceProblem
        Naming the parameter and the rule.
    """
    domain, mechanism = _domain(body["domain"], limits), _mechanism(body["mechanism"], limits)
    return mechanism, domain, _records(body["records"], _MOST_ROOMS)


def _records(names: Any, most: int) -> tuple[RecordId, ...]:
    if not isinstance(names, list) or not 0 < len(names) <= most:
        raise invalid("records", f"must be a list of 1 to {most} records")
    return tuple(read_record(each, f"records[{i}]") for i, each in enumerate(names))


def read_form(content: bytes) -> dict[str, str]:
    """Return the fields of a form, each name once.

    Raises
    ------
    ServiceProblem
        If it is none.
    """
    try:
        pairs = parse_qsl(content.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=10)
    except ValueError:
        raise invalid("body", "must be what a browser sends of a form") from None
    if len(dict(pairs)) < len(pairs):
        raise invalid("body", "has a name twice")
    return dict(pairs)


def read_name(body: Mapping[str, Any], parameter: str) -> str:
    """Return a name in a body.

    Raises
    ------
    ServiceProblem
        If it is none.
    """
    name = body[parameter]
    if not _is_name(name) or not name:
        raise invalid(parameter, f"must be a text of 1 to {_LONGEST_NAME} characters")
    return name


def read_record(record: Any, parameter: str) -> RecordId:
    """Return a record's name: a text or a whole number, in its one form (`canonical_name`).

    Raises
    ------
    ServiceProblem
        If it is none.
    """
    whole = type(record) is int and -_LARGEST_RECORD <= record < _LARGEST_RECORD
    if not whole and not _is_name(record):
        raise invalid(
            parameter, f"must be a text of at most {_LONGEST_NAME} characters, or a whole number of 64 bits"
        )
    try:
        return canonical_name(record, parameter)
    except ValueError as error:
        raise invalid(parameter, str(error).removeprefix(f"{parameter} = {record!r}: ")) from None


def _is_name(name: Any) -> TypeGuard[str]:
    if type(name) is not str or len(name) > _LONGEST_NAME:
        return False
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True


def _value(value: Any, parameter: str) -> Any:
    numbers = value if type(value) is list else [value]
    if not all(type(each) in (int, float) for each in numbers):
        raise invalid(parameter, "must be a number or a list of numbers")
    return value


def _mechanism(saved: Any, limits: ServiceLimits) -> Mechanism:
    if not isinstance(saved, dict):
        raise invalid("mechanism", "must be an object, as to_dict() of a mechanism returns it")
    draws = 0
    for part, times in _objects(saved):
        if times is None:
            raise invalid("mechanism", "count: must be a whole number of at least 1")
        draws += times if "kind" in part and "count" not in part else 0
        if max(draws, times) > limits.repeated:
            raise invalid("mechanism", f"count: it must draw at most {limits.repeated} times in all")
        if part.get("kind") == "PostProcessed":
            raise invalid(
                "mechanism", "kind = 'PostProcessed': functions cannot be sent; do it with the outputs"
            )
    try:
        return mechanism_from_dict(saved)
    except ParameterError as error:
        raise invalid("mechanism", str(error)) from None
    except Exception as error:  # a parameter that is missing, or of another kind than any that was foreseen
        raise invalid("mechanism", f"is none that to_dict() returns ({type(error).__name__})") from None


def _objects(saved: Any) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Yield the objects in saved data, and the number of draws of each: nested counts multiply; None for no count."""
    waiting = [(saved, 1)]
    while waiting:
        found, times = waiting.pop()
        if isinstance(found, dict):
            count = found.get("count", 1)
            right = type(count) is int and count > 0
            yield found, times * count if right else None
            waiting += [(each, times * count) for each in found.values()]
        elif isinstance(found, list):
            waiting += [(each, times) for each in found]


def _domain(saved: Any, limits: ServiceLimits) -> Domain:
    kinds = ", ".join(DOMAINS)
    if not isinstance(saved, dict) or not isinstance(saved.get("kind"), str) or saved["kind"] not in DOMAINS:
        raise invalid("domain", f"kind: must be one of {kinds}")
    fields = {name: value for name, value in saved.items() if name != "kind"}
    kind, parameters = DOMAINS[saved["kind"]]
    if not fields.keys() <= parameters:
        raise invalid("domain", f"{saved['kind']} has {', '.join(sorted(parameters))} and nothing else")
    size = fields.get("size", 1)
    if type(size) is not int or size > limits.numbers:
        raise invalid("domain", f"size: must be a whole number of at most {limits.numbers}")
    if fields.get("order") == "inf":
        fields["order"] = float("inf")
    try:
        domain: Domain = build_from(kind, fields)
    except ParameterError as error:
        raise invalid("domain", str(error)) from None
    except Exception as error:
        raise invalid("domain", f"is no {saved['kind']} ({type(error).__name__})") from None
    return domain
