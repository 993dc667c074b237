"""Declarations about a deployment, in ``deployment.toml``: read strictly, and of the registry's types."""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_toml, text_of
from algorithms.problems import SettingError, known_name
from mechanisms.domains.neighbouring import Neighbouring

SCHEMA = Path(__file__).with_name("registry_schema.json")
"""The structure of the registry's schema, with the commit that it is of."""

_TABLES: Mapping[str, Mapping[str, str]] = json.loads(
    Path(__file__).with_name("declared_keys.json").read_text(encoding="utf-8")
)
KEYS = {f"{table}.{name}": path for table, names in _TABLES.items() for name, path in names.items()}
"""The keys of the file, and the registry's field that each fills; "" for those that other fields or sheets quote."""

_SOURCE = "Other public source"
NONE_UNPROTECTED = "None."
"""The declaration that no value left without noise, an empty list."""
_NO_QUANTITY = re.compile(r"(none|nothing|nil|no|n/?a|not applicable)?\W*", re.IGNORECASE)


@dataclass(frozen=True)
class Deployment:
    """Declarations on a deployment, checked for their types alone.

    Attributes
    ----------
    declared
        Values by their keys, ``"privacy.unit"``; empty values in the file are not declared, but for an empty list of
        unprotected quantities.
    name
        Name of the file.
    """

    declared: Mapping[str, Any] = field(default_factory=dict)
    name: str = "deployment.toml"

    def get(self, key: str) -> Any:
        """Return the value of a key of `KEYS`; None if it is not declared."""
        assert key in KEYS
        return self.declared.get(key)

    @classmethod
    def load(cls, path: Path) -> Deployment:
        """Return the declarations in a file.

        Raises
        ------
        SettingError
            If it is not TOML, or a key is unknown, or of another type; the message names the file and the key.
        OSError
            If it cannot be read.
        """
        try:
            content = from_toml(text_of(path))
        except DataFileError as error:
            raise SettingError(f"{path}: {error}") from None
        declared = {}
        for table, values in content.items():
            names = _TABLES[known_name(f"table of {path}", table, _TABLES)]
            _require(isinstance(values, dict), f"{path}: {table}", values, f"a table [{table}]")
            for name, value in values.items():
                key = f"{table}.{known_name(f'key of [{table}] in {path}', name, names)}"
                read = value.strip() if isinstance(value, str) else value
                if read not in ("", []) or (key == "privacy.unprotected" and read == []):
                    declared[key] = _check_value(f"{path}: {key}", key, read)
        return cls(declared, path.name)


@cache
def registry_schema() -> Mapping[str, Any]:
    """Return the structure of the registry's schema."""
    found: Mapping[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def registry_parts() -> Mapping[str, Any]:
    """Return the schema of each part of an entry, by its name."""
    found: Mapping[str, Any] = registry_schema()["properties"]["deployment"]["properties"]
    return found


def schema_at(path: str) -> Mapping[str, Any]:
    """Return the schema of a field; a path is ``"basic.name"``."""
    part, *names = path.split(".")
    found: Mapping[str, Any] = registry_parts()[part]
    for name in names:
        found = found["properties"][name]
    return found


def registry_fields() -> Mapping[str, int]:
    """Return the tier of each of the registry's fields that have one, by their paths."""
    return {
        f"{part}.{name}": found["tier"]
        for part, schema in registry_parts().items()
        for name, found in schema["properties"].items()
        if "tier" in found
    }


def _check_value(where: str, key: str, value: Any) -> Any:
    """Return a value of its key's type, as the registry has it."""
    schema = schema_at(KEYS[key]) if KEYS[key] else {}
    if key == "privacy.unprotected":  # a free text could say either
        return _unprotected(where, value)
    if key == "deployment.slug":
        right = isinstance(value, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value, re.ASCII)
        _require(bool(right), where, value, "lower-case letters and digits, with single hyphens between them")
    if key == "privacy.neighbours":
        schema = {"enum": [each.value for each in Neighbouring]}
    if schema.get("type") in ("array", "object"):
        _require(isinstance(value, list), where, value, "a list")
        if key == "administrative.sources":
            return {f"source_{i}": _source(where, each) for i, each in enumerate(value, 1)}
        return [_curator(where, each) if "curators" in key else _text(where, each) for each in value]
    if "enum" in schema:
        return _one_of(where, value, schema["enum"])
    if schema.get("format") == "date":
        with suppress(TypeError, ValueError):
            value = datetime.date.fromisoformat(value)
        _require(type(value) is datetime.date, where, value, "a date, year-month-day")
    elif schema.get("type") == "integer":
        _require(type(value) is int and value >= 1, where, value, "a whole number of at least 1")
    elif schema.get("type") == "number" or key == "privacy.delta":
        most = 1.0 if key == "privacy.delta" else sys.float_info.max
        rule = "a number of at least 0" + (" and at most 1" if most == 1.0 else "")
        _require(type(value) in (int, float) and 0.0 <= value <= most, where, value, rule)
        value = float(value)
    else:
        value = _text(where, value)
    return value


def _require(right: bool, where: str, value: Any, rule: str) -> None:
    if not right:
        raise SettingError(f"{where} = {value!r}: must be {rule}")


def _text(where: str, value: Any) -> str:
    _require(isinstance(value, str) and bool(value.strip()), where, value, "a text")
    return str(value).strip()


def _unprotected(where: str, value: Any) -> str:
    """Return quantities without noise as the items of a text."""
    rule = "a list of quantities, each a text that names it; [] if no value is without noise"
    _require(isinstance(value, list), where, value, rule)
    named = all(isinstance(each, str) and not _NO_QUANTITY.fullmatch(each) for each in value)
    _require(named, where, value, rule)
    return "\n".join(f"- {' '.join(each.split())}" for each in value) or NONE_UNPROTECTED


def _one_of(where: str, value: Any, known: Sequence[Any]) -> Any:
    right = type(value) is not bool and value in known
    _require(right, where, value, f"one of {', '.join(map(repr, known))}")
    return value


def _curator(where: str, value: Any) -> dict[str, str]:
    kinds = schema_at("basic.data_curators")["items"]["properties"]["data_curator_type"]["enum"]
    right = isinstance(value, dict) and value.keys() == {"name", "type"}
    _require(right, where, value, f'{{name = "...", type = "{kinds[0]}"}}')
    name, kind = _text(f"{where}: name", value["name"]), _one_of(f"{where}: type", value["type"], kinds)
    return {"data_curator_name": name, "data_curator_type": kind}


def _source(where: str, value: Any) -> dict[str, Any]:
    """Return a source as the registry's BibTeX entry; a text is its address."""
    known = registry_schema()["$defs"]
    fields = dict(value) if isinstance(value, dict) else {"url": _text(where, value)}
    kind = _one_of(
        f"{where}: evidence", fields.pop("evidence", _SOURCE), known["evidence_source_type"]["enum"]
    )
    for name, each in fields.items():
        schema = known["bibtex_fields"]["properties"][
            known_name(f"key of {where}", name, known["bibtex_fields"]["properties"])
        ]
        if not ("$ref" in schema and type(each) is int):  # a text or a number, as a year is
            _text(f"{where}: {name}", each)
    _require(not fields.keys().isdisjoint(("title", "url")), where, value, "a source with a title or url")
    return {"evidence_source_type": kind, "misc": {name: str(each).strip() for name, each in fields.items()}}
