"""JSON schemas of values, from the types of their fields."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Schema = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

WORDS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
"""Texts by name."""

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},  # all whole numbers of results count something
    float: {"anyOf": [{"type": "number"}, {"const": "inf"}]},
    type(None): {"type": "null"},
    Any: {},
}


def schema_of(kind: Any) -> Schema:
    """Return the schema of JSON data that hold a value of a type; a number may be the text "inf".

    Parameters
    ----------
    kind
        A plain type, an `Enum` of texts, a dataclass, or a literal, union, tuple, list or mapping of such.

    Raises
    ------
    TypeError
        If it is none of these.
    """
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [each.value for each in kind]}
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        return object_schema({field.name: schema_of(hints[field.name]) for field in dataclasses.fields(kind)})
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each) for each in arguments]}
    if origin is tuple and arguments[-1] is not Ellipsis:
        items = [schema_of(each) for each in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin in (tuple, list):
        return {"type": "array", "items": schema_of(arguments[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1])}
    raise TypeError(f"{kind!r}: has no schema")


def object_schema(properties: Mapping[str, Schema], *, open_ended: bool = False) -> Schema:
    """Return the schema of an object that has all of these keys, and no others unless it is `open_ended`."""
    schema: Schema = {"type": "object", "properties": dict(properties), "required": list(properties)}
    return schema if open_ended else {**schema, "additionalProperties": False}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value that may be missing: null."""
    return {"anyOf": [schema, {"type": "null"}]}


def root_schema(title: str, schema: Schema) -> Schema:
    """Return a whole schema, with its dialect."""
    return {"$schema": _DIALECT, "title": title, **schema}
