"""The OpenAPI document of a service."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from accountant.service.part import Operation


def openapi(operations: Iterable[Operation], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of these operations, with the schemas that they name."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dpwitness",
            "version": "1",
            "description": (
                "Budgets of privacy. Values and feedback are raw private data: they are used for the answer, and "
                "neither shown nor logged."
            ),
        },
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas, **_COMMON_SCHEMAS},
        },
        "paths": {each.path: {each.method.lower(): _operation_object(each)} for each in operations},
    }


def _operation_object(operation: Operation) -> dict[str, Any]:
    scope, answers = operation.scope, operation.answers
    kind = "application/json" if answers is None or "/" not in answers else answers
    schema = {} if answers is None or "/" in answers else {"schema": reference(answers)}
    described = {
        "summary": operation.words if scope is None else f"{operation.words} Scope: {scope.value}.",
        "security": [] if scope is None else [{"key": []}],
        "responses": {
            "200": {"description": "Done.", "content": {kind: schema}},
            "default": {
                "description": "Not done, and why.",
                "content": {"application/json": {"schema": reference("Problem")}},
            },
        },
    }
    if operation.takes is not None:
        content = {"application/json": {"schema": reference(operation.takes)}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def reference(schema: str) -> dict[str, str]:
    """Return the reference to the schema of this name."""
    return {"$ref": f"#/components/schemas/{schema}"}


def object_of(optional: Mapping[str, Any] | None = None, **properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these properties, optional ones beside them, and no others."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


def array_of(items: Mapping[str, Any], **rules: int | str) -> dict[str, Any]:
    """Return the schema of an array of such items, with rules and a title beside."""
    return {"type": "array", **rules, "items": items}


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
TIME = {"type": ["string", "null"], "format": "date-time"}
POSITION = {
    "type": "integer",
    "minimum": 1,
    "maximum": 2**63 - 1,
    "title": "a positive whole number",
}
NAME = {"type": "string", "minLength": 1, "maxLength": 200, "title": "a text of 1 to 200 characters"}
RECORD = {
    "anyOf": [
        {"type": "string", "maxLength": 200},
        {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    ],
    "title": "a text of at most 200 characters, or a whole number of 64 bits",
}
REQUEST = {
    **NAME,
    "description": "A key of the caller's for this one release: of all requests with it, one is charged.",
}
VALUE = {
    "anyOf": [NUMBER, array_of(NUMBER)],
    "title": "a number or a list of numbers",
    "description": "Private.",
}
_AMOUNTS = {
    "type": "object",
    "additionalProperties": {"type": ["number", "null"]},
    "description": "By the numbers of the ledger's composition theorem; null is no finite number, or no limit.",
}
_RULES = array_of(object_of(rule=TEXT, bounds=TEXT, left=_AMOUNTS))
ACCOUNT = object_of(record=RECORD, spent=_AMOUNTS, left=_AMOUNTS, rules=_RULES)

_COMMON_SCHEMAS: dict[str, Any] = {
    "Health": object_of(status={"const": "ok"}),
    "Problem": object_of(
        error={
            "type": "object",
            "properties": {"kind": TEXT, "parameter": TEXT, "message": TEXT},
            "required": ["kind", "message"],
        }
    ),
}
