"""Strict parsing of request bodies; no error message repeats a private value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from accountant.files.data_files import DataFileError, from_json
from accountant.gates.lineage import RecordId
from accountant.record_name import canonical_name
from accountant.service.problem_details import ServiceProblem, invalid
from accountant.service.service_limits import ServiceLimits
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


def check_value(value: Any, schema: Mapping[str, Any], where: str = "") -> None:
    """Refuse a value of a body, or a whole body, that is not of a schema.

    What has a title is refused in its words, and objects by their keys; what is only referred to is not looked at.

    Raises
    ------
    ServiceProblem
        Naming the place and the rule.
    """
    if "title" in schema and not _fits(value, schema):
        raise invalid(where, f"must be {schema['title']}")
    if schema.get("type") == "array":
        for i, each in enumerate(value):
            check_value(each, schema["items"], f"{where}[{i}]")
    elif "required" in schema:
        known, keys = schema["properties"], schema["required"]
        given = value.keys() if isinstance(value, dict) else set()
        missing, unknown = [name for name in keys if name not in given], given - known.keys()
        if where and (missing or unknown):
            raise invalid(where, f"must be an object with {' and '.join(keys)}, and nothing else")
        if missing:
            raise invalid(missing[0], f"is missing: the body must have {', '.join(keys)}")
        if unknown:
            optional = ", ".join(name for name in known if name not in keys)
            raise invalid(
                "body",
                f"has {len(unknown)} unknown keys: it must have {', '.join(keys)} and nothing else"
                + (f" but {optional}" if optional else ""),
            )
        for name, each in value.items():
            check_value(each, known[name], f"{where}.{name}" if where else name)


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if a value is of a schema; of the items of an array, those without a title are looked at."""
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    kind, infinity = schema["type"], float("inf")
    if kind == "array":
        if type(value) is not list:
            return False
        most, items = schema.get("maxItems", infinity), schema["items"]
        rules = "title" in items or "required" in items
        return schema.get("minItems", 0) <= len(value) <= most and (
            rules or all(_fits(each, items) for each in value)
        )
    if kind == "string":
        if type(value) is not str or not schema.get("minLength", 0) <= len(value) <= schema["maxLength"]:
            return False
        return not any("\ud800" <= c <= "\udfff" for c in value)  # half of a surrogate pair
    right = (int, float) if kind == "number" else (int,)
    return type(value) in right and schema.get("minimum", -infinity) <= value <= schema.get(
        "maximum", infinity
    )


def read_release(body: Mapping[str, Any], limits: ServiceLimits, *, values: bool) -> ReleaseRequest:
    """Return the release that a body asks for, with its records' values or without.

    Raises
    ------
    ServiceProblem
        Naming the parameter and the rule.
    """
    domain = _domain(body["domain"], limits)
    mechanism = _mechanism(body["mechanism"], limits)
    data = body["data"]
    size = math.prod(domain.shape)
    if len(data) * size > limits.numbers:
        raise invalid("data", f"{len(data)} records of size {size}: at most {limits.numbers} numbers")
    if len(data) > 1 and isinstance(domain, Categories):
        raise invalid("data", f"{len(data)} records: categories cannot be added up, so there must be one")
    return ReleaseRequest(
        body["request"],
        mechanism,
        domain,
        tuple(read_record(each["record"], f"data[{i}].record") for i, each in enumerate(data)),
        tuple(each["value"] for each in data) if values else None,
        body.get("seconds", limits.reservation),
    )


def read_records(body: Mapping[str, Any]) -> tuple[RecordId, ...]:
    """Return the records that a body asks about.

    Raises
    ------
    ServiceProblem
        Naming the parameter and the rule.
    """
    return tuple(read_record(each, f"records[{i}]") for i, each in enumerate(body["records"]))


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
    return mechanism, domain, read_records(body)


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
        raise invalid("body", "must be a form as browsers send it") from None
    if len(dict(pairs)) < len(pairs):
        raise invalid("body", "has a name twice")
    return dict(pairs)


def read_record(record: Any, parameter: str) -> RecordId:
    """Return a record's name, a text or a whole number, in its one form (`canonical_name`).

    Raises
    ------
    ServiceProblem
        If it is none.
    """
    try:
        return canonical_name(record, parameter)
    except ValueError as error:
        raise invalid(parameter, str(error).removeprefix(f"{parameter} = {record!r}: ")) from None


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
