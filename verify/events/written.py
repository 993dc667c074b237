"""Events and readings as code-free data: written as JSON, read back, and described in words."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from dpwitness import field_types
from mechanisms.parameters import ParameterError
from verify.events.view_sample import Column, column_named


@dataclass(frozen=True, eq=False)
class Written(abc.ABC):
    """An event or a reading: a frozen dataclass that is written down field by field, under the name of its kind."""

    __slots__ = ()
    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type[Written]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            Written.kinds[cls.kind] = cls

    @property
    @abc.abstractmethod
    def description(self) -> str:
        """The description, as part of a sentence."""

    @property
    def readable(self) -> bool:
        """True if the description is complete: that of a fitted table of numbers, or of its readings, is not."""
        held = (getattr(self, field.name) for field in fields(self))
        parts = (part for value in held for part in (value if isinstance(value, tuple) else (value,)))
        return all(part.readable for part in parts if isinstance(part, Written))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data from which it is rebuilt; a column is its name, NaN is null, infinity "inf"."""
        return {
            "kind": self.kind,
            **{field.name: _plain(getattr(self, field.name)) for field in fields(self)},
        }

    @classmethod
    def rebuild(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Self:
        """Rebuild one of this class, or of one derived from it, from `to_dict`, for a view with these columns.

        Raises
        ------
        ParameterError
            If the kind is unknown, or as `from_dict` does.
        """
        found = Written.kinds.get(data["kind"])
        if found is None or not issubclass(found, cls):
            raise ParameterError(f"kind = {data['kind']!r}: must be a kind of {cls.__name__}")
        return found.from_dict(data, columns)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Self:
        """Rebuild one of this class from `to_dict`, for a view with these columns, each field by its type.

        Raises
        ------
        ParameterError
            If a field cannot have its value, or a column is not in the view.
        """
        types = field_types(cls)
        return cls(
            **{
                field.name: _rebuild_field(field.name, data[field.name], types[field.name], columns)
                for field in fields(cls)
            }
        )


def _rebuild_field(name: str, value: Any, kind: Any, columns: Sequence[Column]) -> Any:
    """Return a field's value from its `_plain` data."""
    if get_origin(kind) is tuple:
        return tuple(_rebuild_field(name, entry, get_args(kind)[0], columns) for entry in value)
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ParameterError(f"{name} = {value!r}: must be one of {', '.join(get_args(kind))}")
        return value
    if kind is Column:
        return column_named(value, columns)
    if issubclass(kind, Written):
        return kind.rebuild(value, columns)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value, columns)
    return decode(value) if kind is float else kind(value)


def _plain(value: Any) -> Any:
    """A field as JSON knows it."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Column):
        return value.name
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return encode(value) if isinstance(value, float) else value


def encode(value: float) -> float | str | None:
    """A number as JSON knows it: NaN is null, infinity "inf"."""
    if math.isnan(value):
        return None
    return float(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def decode(value: float | str | None) -> float:
    """The inverse of `encode`."""
    return math.nan if value is None else float(value)
