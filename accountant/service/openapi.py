"""What a service takes and answers, as OpenAPI has it."""

from __future__ import annotations

from typing import Any

from accountant.service.asked import DOMAINS


def openapi() -> dict[str, Any]:
    """Return the document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dpwitness",
            "version": "1",
            "description": (
                "One ledger of privacy budgets. Values of /v1/release and /v1/commit are raw private data: they are "
                "used for the answer, and neither stored nor logged."
            ),
        },
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
        "paths": {
            "/v1/release": _post(
                "spend", "Charge, and draw the outputs. Asked again with the same request: the same outputs.",
                "Release", "Released",
            ),
            "/v1/reserve": _post("spend", "Charge for a release before its values are known.", "Reserve", "Reserved"),
            "/v1/commit": _post("spend", "Draw what was reserved with this request.", "Release", "Released"),
            "/v1/cancel": _post("spend", "Give a reservation's charge back.", "Cancel", "Settled"),
            "/v1/left": _post("read", "What records have spent and have left.", "Records", "Left"),
            "/v1/summary": _get("read", "Who paid what for which release.", "Summary"),
            "/v1/reservations": _get("admin", "Open reservations.", "Reservations"),
            "/v1/give-back": _post("admin", "Give anybody's reservation back.", "GiveBack", "Settled"),
            "/": _get("read", "A page for people; also with the key as the password of HTTP Basic.", None, "text/html"),
            "/metrics": _get("read", "What Prometheus asks for; also with HTTP Basic.", None, "text/plain"),
            "/health": _get(None, "Whether the ledger can be read and is not shut.", "Health"),
            "/openapi.json": _get(None, "This document.", None),
        },
    }  # fmt: skip


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _post(scope: str, words: str, body: str, answer: str) -> dict[str, Any]:
    content = {"application/json": {"schema": _ref(body)}}
    operation = _operation(scope, words, answer, "application/json")
    return {"post": {**operation, "requestBody": {"required": True, "content": content}}}


def _get(scope: str | None, words: str, answer: str | None, kind: str = "application/json") -> dict[str, Any]:
    return {"get": _operation(scope, words, answer, kind)}


def _operation(scope: str | None, words: str, answer: str | None, kind: str) -> dict[str, Any]:
    schema = {} if answer is None else {"schema": _ref(answer)}
    return {
        "summary": words if scope is None else f"{words} Scope: {scope}.",
        "security": [] if scope is None else [{"key": []}],
        "responses": {
            "200": {"description": "Done.", "content": {kind: schema}},
            "default": {
                "description": "Not done, and why.",
                "content": {"application/json": {"schema": _ref("Problem")}},
            },
        },
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT, _WHOLE, _NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_RECORD = {"anyOf": [{"type": "string", "maxLength": 200}, {"type": "integer"}]}
_REQUEST = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "A key of the caller's for this one release: of all requests with it, one is charged.",
}
_VALUE = {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}], "description": "Private."}
_AMOUNTS = {
    "type": "object",
    "additionalProperties": {"type": ["number", "null"]},
    "description": "By the numbers of the ledger's composition theorem; null is no finite number, or no limit.",
}
_ACCOUNT = _object(record=_RECORD, spent=_AMOUNTS, left=_AMOUNTS)

_SCHEMAS: dict[str, Any] = {
    "Mechanism": {
        "type": "object",
        "description": "As to_dict() of a mechanism of dpwitness returns it.",
        "properties": {"kind": _TEXT},
        "required": ["kind"],
        "examples": [{"kind": "Laplace", "scale": 4.0, "sensitivity": {"l1": 1.0, "l2": 1.0, "linf": 1.0}}],
    },
    "Domain": {
        "type": "object",
        "description": "Where the value of ONE record may lie: a kind and its parameters.",
        "properties": {
            "kind": {"enum": list(DOMAINS)},
            **{name: {} for name in sorted({name for _, names in DOMAINS.values() for name in names})},
        },
        "required": ["kind"],
        "additionalProperties": False,
        "examples": [
            {"kind": "Interval", "lower": 0, "upper": 1},
            {"kind": "Box", "lower": 0, "upper": 1, "size": 3},
        ],
    },
    "Release": _object(
        request=_REQUEST,
        mechanism=_ref("Mechanism"),
        domain=_ref("Domain"),
        data={"type": "array", "minItems": 1, "items": _object(record=_RECORD, value=_VALUE)},
    ),
    "Reserve": _object(
        request=_REQUEST,
        mechanism=_ref("Mechanism"),
        domain=_ref("Domain"),
        data={"type": "array", "minItems": 1, "items": _object(record=_RECORD)},
    ),
    "Cancel": _object(request=_REQUEST),
    "GiveBack": _object(reservation=_WHOLE),
    "Records": _object(records={"type": "array", "minItems": 1, "items": _RECORD}),
    "Released": _object(request=_TEXT, outputs={"type": "array"}),
    "Reserved": _object(request=_TEXT, reservation=_WHOLE),
    "Settled": {
        "type": "object",
        "properties": {"request": _TEXT, "reservation": _WHOLE, "state": {"const": "returned"}},
        "required": ["reservation", "state"],
    },
    "Left": _object(neighbours=_TEXT, records={"type": "array", "items": _ACCOUNT}),
    "Summary": _object(
        budget=_object(epsilon={"type": ["number", "null"]}, delta=_NUMBER),
        composition=_TEXT,
        trust=_TEXT,
        neighbours=_TEXT,
        records=_WHOLE,
        worst={"anyOf": [_ACCOUNT, {"type": "null"}]},
        releases={
            "type": "array",
            "items": _object(
                asked_by=_TEXT,
                mechanism=_TEXT,
                releases=_WHOLE,
                records=_WHOLE,
                largest_charge=_TEXT,
                noise=_TEXT,
            ),
        },
        assumptions={"type": "array", "items": _TEXT},
    ),
    "Reservations": _object(
        reservations={"type": "array", "items": _object(reservation=_WHOLE, held_by=_TEXT)}
    ),
    "Health": _object(status={"const": "ok"}),
    "Problem": _object(
        error={
            "type": "object",
            "properties": {"kind": _TEXT, "parameter": _TEXT, "message": _TEXT},
            "required": ["kind", "message"],
        }
    ),
}
