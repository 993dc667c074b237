"""What people declare of a deployment, in ``deployment.toml``: read strictly, and of the registry's types."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from accountant.files.data_files import DataFileError, from_toml, text_of
from accountant.files.json_object import JsonObject
from algorithms.problems import SettingError, known_name
from mechanisms.neighbouring import Neighbouring

SCHEMA = Path(__file__).with_name("registry_schema.json")
"""The structure of the registry's schema, with the commit that it is of."""

KEYS: Mapping[str, str] = {
    "deployment.name": "basic.name",
    "deployment.slug": "",
    "deployment.tier": "administrative.tier",
    "deployment.curators": "basic.data_curators",
    "deployment.description": "basic.description",
    "deployment.intended_use": "basic.intended_use",
    "deployment.product_type": "basic.data_product_type",
    "deployment.region": "basic.data_product_region",
    "deployment.sector": "basic.data_product_sector",
    "deployment.published": "basic.publication_date",
    "privacy.variant": "dp_variant.variant_name",
    "privacy.domain": "dp_variant.data_domain",
    "privacy.unprotected": "dp_variant.unprotected_quantities",
    "privacy.unit": "privacy_loss.privacy_unit",
    "privacy.unit_details": "privacy_loss.privacy_unit_details",
    "privacy.units": "privacy_loss.number_of_privacy_units",
    "privacy.epsilon": "privacy_loss.privacy_parameters.epsilon",
    "privacy.delta": "",
    "privacy.neighbours": "",
    "privacy.other_releases": "",
    "model.name": "deployment_model.model_name",
    "model.name_details": "deployment_model.model_name_details",
    "model.trust_assumptions": "deployment_model.trust_assumptions",
    "model.actors": "deployment_model.actors",
    "model.release": "deployment_model.release_type",
    "model.release_details": "deployment_model.release_type_details",
    "model.data_source": "deployment_model.data_source_type",
    "model.data_source_details": "deployment_model.data_source_type_details",
    "model.access": "deployment_model.access_type",
    "model.access_details": "deployment_model.access_type_details",
    "processing.preprocessing": "implementation.preprocessing_and_hyperparameter_tuning",
    "processing.post_processing": "implementation.post_processing",
    "processing.justification": "implementation.justification",
    "processing.utility": "implementation.utility",
    "processing.access_control": "",
    "processing.side_channels": "",
    "processing.bias": "",
    "processing.data_collection": "",
    "administrative.sources": "administrative.evidence_sources",
    "administrative.authors": "administrative.registry_authors",
    "administrative.notes": "implementation.additional_information",
}
"""The keys of the file, and the registry's field that each fills; "" for those that other fields or sheets quote."""

_SOURCE = "Other public source"


@dataclass(frozen=True)
class Deployment:
    """What people declare of a deployment; nothing of it was checked but its type.

    Attributes
    ----------
    declared
        Values by their keys, ``"privacy.unit"``; what is empty in the file is not declared.
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
        tables = dict.fromkeys(key.partition(".")[0] for key in KEYS)
        declared = {}
        for table, values in content.items():
            known_name(f"table of {path}", table, tables)
            if not isinstance(values, dict):
                raise SettingError(f"{path}: {table}: must be a table [{table}]")
            for name, value in values.items():
                names = [key.partition(".")[2] for key in KEYS if key.startswith(f"{table}.")]
                key = f"{table}.{known_name(f'key of [{table}] in {path}', name, names)}"
                read = value.strip() if isinstance(value, str) else value
                if read not in ("", []):
                    declared[key] = _checked(f"{path}: {key}", key, read)
        return cls(declared, path.name)


@cache
def registry_schema() -> Mapping[str, Any]:
    """Return the structure of the registry's schema."""
    found: Mapping[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def schema_at(path: str) -> Mapping[str, Any]:
    """Return the schema of a field; a path is ``"basic.name"``, and begins under ``deployment``."""
    found: Mapping[str, Any] = registry_schema()["properties"]["deployment"]
    for name in path.split("."):
        found = found["properties"][name]
    return found


def registry_fields() -> Mapping[str, int]:
    """Return the tier of each of the registry's fields that have one, by their paths."""
    parts = registry_schema()["properties"]["deployment"]["properties"]
    return {
        f"{part}.{name}": found["tier"]
        for part, schema in parts.items()
        for name, found in schema["properties"].items()
        if "tier" in found
    }


def _checked(where: str, key: str, value: Any) -> Any:
    """Return a value of its key's type, as the registry has it."""
    if key == "deployment.curators":
        return [_curator(where, each) for each in _listed(where, value)]
    if key == "administrative.sources":
        return {f"source_{i}": _source(where, each) for i, each in enumerate(_listed(where, value), 1)}
    if key == "administrative.authors":
        return [_text(where, each) for each in _listed(where, value)]
    if key == "privacy.delta":
        return _number(where, value, most=1.0)
    if key == "privacy.neighbours":
        return _one_of(where, value, [each.value for each in Neighbouring])
    schema = schema_at(KEYS[key]) if KEYS[key] else {}
    if "enum" in schema:
        return _one_of(where, value, schema["enum"])
    if schema.get("format") == "date":
        return _date(where, value)
    match schema.get("type"):
        case "number":
            return _number(where, value)
        case "integer":
            if type(value) is not int or value < 1:
                raise SettingError(f"{where} = {value!r}: must be a whole number of at least 1")
            return value
        case _:
            return _text(where, value)


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SettingError(f"{where} = {value!r}: must be a text")
    return value.strip()


def _listed(where: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SettingError(f"{where} = {value!r}: must be a list")
    return value


def _one_of(where: str, value: Any, known: list[Any]) -> Any:
    if type(value) is bool or value not in known:
        raise SettingError(f"{where} = {value!r}: must be one of {', '.join(map(repr, known))}")
    return value


def _number(where: str, value: Any, most: float = math.inf) -> float:
    if type(value) not in (int, float) or not 0.0 <= value <= most or math.isinf(value):
        raise SettingError(
            f"{where} = {value!r}: must be a number of at least 0{' and at most 1' if most == 1 else ''}"
        )
    return float(value)


def _date(where: str, value: Any) -> datetime.date:
    if type(value) is datetime.date:
        return value
    try:
        return datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise SettingError(f"{where} = {value!r}: must be a date, year-month-day") from None


def _curator(where: str, value: Any) -> dict[str, str]:
    kinds = schema_at("basic.data_curators")["items"]["properties"]["data_curator_type"]["enum"]
    if not isinstance(value, dict):
        raise SettingError(f'{where}: {value!r}: must be {{name = "...", type = "..."}}')
    read = JsonObject(value, where)
    name = _text(f"{where}: name", read.pop("name"))
    kind = read.one_of("type", kinds)
    read.end()
    return {"data_curator_name": name, "data_curator_type": kind}


def _source(where: str, value: Any) -> dict[str, Any]:
    """Return a source as the registry's BibTeX entry; a text is its address."""
    known = registry_schema()["$defs"]
    fields = dict(value) if isinstance(value, dict) else {"url": _text(where, value)}
    kind = _one_of(
        f"{where}: evidence", fields.pop("evidence", _SOURCE), known["evidence_source_type"]["enum"]
    )
    for name in fields:
        known_name(f"key of {where}", name, known["bibtex_fields"]["properties"])
    if not fields:
        raise SettingError(f"{where}: a source must have a title or url")
    return {"evidence_source_type": kind, "misc": {name: str(each) for name, each in fields.items()}}
