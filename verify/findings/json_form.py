"""The JSON form of result classes: their fields and derived values, and the way back.

A data class names in `DERIVED` the properties that its JSON states, too: on reading they must agree with the fields.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from accountant.files.json_object import JsonError, JsonObject
from accountant.provenance import Provenance
from algorithms.claim import Claim
from algorithms.unit import checked_unit
from dpwitness import field_types
from mechanisms import Neighbouring
from mechanisms.parameters import ParameterError

_Written = TypeVar("_Written")


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return the JSON data of a claim, as reports and certificates have it."""
    return {
        "model": claim.model,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "unit": str(claim.unit),
        "neighbours": claim.neighbour_words,
        "relation": claim.neighbours.value,
        "view": claim.view,
        "source": claim.source,
        "differ": claim.differ,
        "composition": claim.composition,
        "comment": claim.comment,
    }


def _read_claim(read: JsonObject) -> Claim:
    claim = Claim(
        model=read.text("model"),  # type: ignore[arg-type]
        epsilon=read.real_number("epsilon"),
        delta=read.real_number("delta"),
        unit=checked_unit(read.text("unit")),
        neighbours=Neighbouring.from_name(read.text("relation")),
        view=read.text("view"),
        source=read.text("source"),
        differ=read.text("differ"),
        composition=read.text("composition"),
        comment=read.text("comment"),
    )
    read.one_of("neighbours", [claim.neighbour_words])
    return claim


_READERS: Mapping[Any, Callable[[JsonObject, str], Any]] = {
    str: JsonObject.text,
    bool: JsonObject.flag,
    bool | None: lambda read, key: read.pop(key, bool, type(None)),
    int: JsonObject.integer,
    float: JsonObject.real_number,
    int | None: JsonObject.optional_integer,
    float | None: lambda read, key: read.pop(key, int, float, type(None)),
    tuple[str, float]: JsonObject.labelled_number,
    tuple[str, ...]: lambda read, key: tuple(read.texts(key)),
    list[str]: JsonObject.texts,
    Mapping[str, str]: JsonObject.text_mapping,
    Mapping[str, Any]: JsonObject.mapping,
    Mapping[str, Any] | None: lambda read, key: read.pop(key, dict, type(None)),
    dict[str, Any]: JsonObject.mapping,
    Path: lambda read, key: Path(read.text(key)),
    Claim: lambda read, key: read.object(key, _read_claim),
    Provenance: lambda read, key: Provenance.from_fields(read),  # its keys are beside the others
}
"""Functions that read a value of a type from a JSON object."""


def json_able(value: Any) -> Any:
    """Plain JSON data: NumPy numbers and arrays become Python's, members of an `Enum` values, paths texts, data classes
    objects.

    Infinity becomes "inf" or "-inf".

    Raises
    ------
    ParameterError
        If a number is NaN, or a value has no JSON form.
    """
    if isinstance(value, Claim):
        return claim_data(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _object_of(value)
    if isinstance(value, Mapping):
        return {str(key): json_able(entry) for key, entry in value.items()}
    if isinstance(value, Enum):
        return json_able(value.value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.ndarray):
        return json_able(value.tolist())
    if isinstance(value, (list, tuple)):
        return [json_able(entry) for entry in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            raise ParameterError("a result must not hold nan")
        return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    raise ParameterError(f"a result must hold JSON data only, got {type(value).__name__}")


def _object_of(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for name in (*(one.name for one in fields(value)), *getattr(value, "DERIVED", ())):
        part = getattr(value, name)
        data |= part.json() if isinstance(part, Provenance) else {name: json_able(part)}
    return data


def reader_of(kind: type[_Written]) -> Callable[[JsonObject], _Written]:
    """Return the function that reads a data class from the JSON object that `json_able` makes of it."""
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]

    def read_object(data: JsonObject) -> _Written:
        found = kind(**read_fields(data, kind, names))
        for name in getattr(kind, "DERIVED", ()):
            stated, follows = data.pop(name), json_able(getattr(found, name))
            if type(stated) is not type(follows) or stated != follows:
                rule = f"must follow from its numbers, which make it {repr(follows)[:60]}"
                raise JsonError(f"{name} of {data.what} {rule}")
        return found

    return read_object


def read_fields(read: JsonObject, kind: type, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of some fields of a data class, by name, from an object that has more."""
    types = field_types(kind)
    return {name: _read_value(read, name, types[name]) for name in names}


def _read_value(read: JsonObject, key: str, kind: Any) -> Any:
    """Read a value of a type: of `_READERS`, a literal, an `Enum` of texts; a data class, one or none, or several."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _READERS:
        return _READERS[kind](read, key)
    if origin is Literal:
        return read.one_of(key, arguments)
    if origin in (Union, types.UnionType):
        return read.optional(key, reader_of(arguments[0]))
    if origin in (tuple, list):
        return origin(read.entries(key, reader_of(arguments[0])))
    if issubclass(kind, Enum):
        return kind(read.one_of(key, [each.value for each in kind]))
    return read.object(key, reader_of(kind))
