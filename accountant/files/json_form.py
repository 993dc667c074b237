"""The JSON form of result classes: their fields and derived values, and the way back.

A data class may say how its JSON differs from its fields:

- `DERIVED`: the properties that its JSON states, too; on reading they must agree with the fields.
- `KEYS`: the keys of fields and properties that have others than their names.
- `READ_AS`: the types as which fields are read that the class itself makes of plainer values.
- `BESIDE`: True if its keys stand among those of the object that holds it, unless `KEYS` there gives it one of its own.
- `WRITTEN_AS_TEXT`: True if it is a text, which ``str`` gives.
- ``from_fields``: the function that reads it from its object, if that is more than its fields.
"""

from __future__ import annotations

import datetime
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from accountant.files.json_object import JsonError, JsonObject
from dpwitness import field_types
from mechanisms.parameters import ParameterError

_Written = TypeVar("_Written")
_Reader = Callable[[JsonObject, str], Any]
"""Takes the value of a key from a JSON object."""


def _read_optional_date(read: JsonObject, key: str) -> datetime.date | None:
    written = read.pop(key, str, type(None))
    try:
        return None if written is None else datetime.date.fromisoformat(written)
    except ValueError:
        raise JsonError(f"{key} of {read.what} must be a date, year-month-day") from None


_READERS: Mapping[Any, _Reader] = {
    str: JsonObject.text,
    bool: JsonObject.flag,
    bool | None: lambda read, key: read.pop(key, bool, type(None)),
    int: JsonObject.integer,
    float: JsonObject.real_number,
    int | None: JsonObject.optional_integer,
    float | None: lambda read, key: read.pop(key, int, float, type(None)),
    datetime.date | None: _read_optional_date,
    tuple[str, float]: JsonObject.labelled_number,
    tuple[str, ...]: lambda read, key: tuple(read.texts(key)),
    list[str]: JsonObject.texts,
    Mapping[str, str]: JsonObject.text_mapping,
    Mapping[str, float]: JsonObject.number_mapping,
    Mapping[str, Any]: JsonObject.mapping,
    Mapping[str, Any] | None: lambda read, key: read.pop(key, dict, type(None)),
    dict[str, Any]: JsonObject.mapping,
    Path: lambda read, key: Path(read.text(key)),
}
"""Functions that read a value of a type from a JSON object."""


def json_able(value: Any) -> Any:
    """Plain JSON data: NumPy numbers and arrays become Python's, members of an `Enum` values, paths, dates and units
    texts, data classes objects.

    Infinity becomes "inf" or "-inf".

    Raises
    ------
    ParameterError
        If a number is NaN, or a value has no JSON form.
    """
    if isinstance(value, Path | datetime.date) or getattr(value, "WRITTEN_AS_TEXT", False):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return json_fields(value, [*(one.name for one in fields(value)), *getattr(value, "DERIVED", ())])
    if isinstance(value, Mapping):
        return {str(key): json_able(entry) for key, entry in value.items()}
    if isinstance(value, Enum):
        return json_able(value.value)
    if isinstance(value, (list, tuple)):
        return [json_able(entry) for entry in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise ParameterError("a result must not hold nan")
        return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    import numpy as np  # plain data, as those of a file, do without

    if isinstance(value, np.ndarray):
        return json_able(value.tolist())
    for kind, plain in ((np.bool_, bool), (np.integer, int), (np.floating, float)):
        if isinstance(value, kind):
            return json_able(plain(value))
    raise ParameterError(f"a result must hold JSON data only, got {type(value).__name__}")


def json_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields and properties of a data class as the JSON data of an object."""
    data: dict[str, Any] = {}
    for name in names:
        part = getattr(value, name)
        key = _own_key(type(value), name, type(part))
        if key is None:
            data |= part.json() if hasattr(part, "json") else json_able(part)
        else:
            data[key] = json_able(part)
    return data


def reader_of(kind: type[_Written]) -> Callable[[JsonObject], _Written]:
    """Return the function that reads a data class from the JSON object that `json_able` makes of it."""
    own: Callable[[JsonObject], _Written] | None = getattr(kind, "from_fields", None)
    if own is not None:
        return own
    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]

    def read_object(data: JsonObject) -> _Written:
        found = kind(**read_fields(data, kind, names))
        check_derived(data, found)
        return found

    return read_object


def check_derived(read: JsonObject, found: object) -> None:
    """Take the derived values of a data class from an object; refuse one that does not follow from the fields."""
    for name in getattr(found, "DERIVED", ()):
        key = _own_key(type(found), name) or name
        stated, follows = read.pop(key), json_able(getattr(found, name))
        if type(stated) is not type(follows) or stated != follows:
            rule = f"must follow from its numbers, which make it {repr(follows)[:60]}"
            raise JsonError(f"{key} of {read.what} {rule}")


def read_fields(read: JsonObject, kind: type, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of some fields of a data class, by name, from an object that has more."""
    types = {**field_types(kind), **getattr(kind, "READ_AS", {})}
    found = {}
    for name in names:
        key = _own_key(kind, name, types[name])
        found[name] = reader_of(types[name])(read) if key is None else _read_value(read, key, types[name])
    return found


def _own_key(owner: type, name: str, kind: Any = None) -> str | None:
    """Return the key of a field of a class; None if the keys of its value, of a type, are among the others."""
    keys: Mapping[str, str] = getattr(owner, "KEYS", {})
    return keys.get(name, None if getattr(kind, "BESIDE", False) else name)


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
