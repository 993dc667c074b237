"""The JSON schema of release tables, from the mechanisms that they can name.

It says what a schema can: keys, types and ranges of single values. What depends on several of them (which relation a
sampled release needs, whether a partition may be used) the reader alone says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from json_schema import Schema, nullable, root_schema

from accountant.audit.mechanism_kinds import ALIASES, _MechanismKind, mechanism_kinds
from accountant.audit.release_tables import MOST
from mechanisms.amplification.sampling import Sampling
from mechanisms.domains.neighbouring import Neighbouring

_LABEL: Schema = {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^[^;]*[^;\s][^;]*$"}]}
_DATE: Schema = {"type": ["string", "null"], "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_TEXT: Schema = {"type": "string"}
_POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
_NORM: Schema = {"type": "number", "minimum": 0}
_BETWEEN: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_VALUES: Mapping[str, Schema] = {
    "scale": _POSITIVE,
    "sigma": _POSITIVE,
    "noise": {"enum": ["gaussian", "laplace"]},
    "threshold": _POSITIVE,
    "threshold_scale": _POSITIVE,
    "query_scale": _POSITIVE,
    "threshold_sigma": _POSITIVE,
    "query_sigma": _POSITIVE,
    "test_scale": _POSITIVE,
    "monotone": {"type": "boolean"},
    "epsilon": _POSITIVE,
    "delta": _BETWEEN,
    "probability": _BETWEEN,
    "sampling_probability": _BETWEEN,
}
_OF_NOTIONS: Mapping[str, Schema] = {
    "sigma": _POSITIVE,
    "sampling_probability": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "movements": {"type": "array", "minItems": 1, "maxItems": 256, "items": _NORM},
    "probabilities": {"type": "array", "minItems": 1, "maxItems": 256, "items": _POSITIVE},
    "epsilon": _NORM,
    "rho": _NORM,
    "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
}


def release_schema() -> Schema:
    """Return the JSON schema of a release file; of a TOML file it describes the content with dates as texts."""
    outside = {
        "release": {"type": "array", "minItems": 1, "items": {"anyOf": list(_tables())}},
        "neighbours": _spelt(*(each.value for each in Neighbouring)),
        "title": _TEXT,
        "date": _DATE,
        "notes": _TEXT,
    }
    return root_schema(
        "Releases, as dpwitness audits them",
        {"type": "object", "properties": outside, "required": ["release"], "additionalProperties": False},
    )


def _tables() -> list[Schema]:
    return [_table(name, kind) for name, kind in mechanism_kinds().items()]


def _table(name: str, kind: _MechanismKind) -> Schema:
    properties = {
        "mechanism": _spelt(name, camel=True),
        **{key: _parameter(ALIASES.get(key, key), kind) for key in kind.keys},
        **({"sensitivity": _sensitivity()} if kind.moves else {}),
        "count": {"type": "integer", "minimum": 1, "maximum": MOST},
        "sampling_rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "sampling": _spelt(*(each.value for each in Sampling)),
        "triangle": {"type": "boolean"},
        "selected": {"type": "integer", "minimum": 1},
        "shuffled": {"type": "integer", "minimum": 1},
        "neighbours": _spelt(*(each.value for each in Neighbouring)),
        "records": _labels(),
        "partition": _labels(),
        "name": _TEXT,
        "date": _DATE,
        "notes": _TEXT,
    }
    aliased = {name: alias for alias, name in ALIASES.items() if alias in kind.keys}
    either: list[Schema] = [
        {"anyOf": [{"required": [key]}, {"required": [aliased[key]]}]}
        for key in kind.required
        if key in aliased
    ]
    return {
        "type": "object",
        "properties": properties,
        "required": ["mechanism", *(key for key in kind.required if key not in aliased)],
        **({"allOf": either} if either else {}),
        "not": {"required": ["records", "partition"]},
        "dependentRequired": {"sampling": ["sampling_rate"]},
        "additionalProperties": False,
    }


def _parameter(name: str, kind: _MechanismKind) -> Schema:
    if name in kind.whole:
        schema: Schema = {"type": "integer", "minimum": 1, "maximum": kind.most.get(name, MOST)}
    else:
        schema = (_VALUES if kind.moves else _OF_NOTIONS).get(name, {"type": "number"})
    return nullable(schema) if name in kind.optional else schema


def _sensitivity() -> Schema:
    norms = {"l1": _NORM, "l2": _NORM, "linf": _NORM}
    return {
        "anyOf": [
            _POSITIVE,
            {"type": "object", "properties": norms, "required": list(norms), "additionalProperties": False},
        ]
    }


def _labels() -> Schema:
    return {"anyOf": [_LABEL, {"type": "array", "minItems": 1, "items": _LABEL}]}


def _spelt(*names: str, camel: bool = False) -> Schema:
    """Return the schema of some names, in whatever case, with hyphens, underscores or blanks."""
    patterns = []
    for name in names:
        words = re.split("[- ]", name)
        patterns.append("[-_ ]+".join(map(_either_case, words)))
        if camel:
            patterns.append("".join(_either_case(word[0]) + word[1:] for word in words))
    return {"type": "string", "pattern": f"^({'|'.join(patterns)})$"}


def _either_case(word: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in word)
