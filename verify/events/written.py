"""What is said of a view in code-free data: written down as JSON, read back, and said in words."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

from verify.events.view_sample import Column


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

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data from which it is rebuilt; a column is its name, NaN is null, infinity "inf"."""
        return {
            "kind": self.kind,
            **{field.name: _plain(getattr(self, field.name)) for field in fields(self)},
        }

    @classmethod
    @abc.abstractmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> Self:
        """Rebuild one of this class from `to_dict`, for a view with these columns."""


def _plain(value: Any) -> Any:
    """A field as JSON knows it."""
    if isinstance(value, Written):
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
