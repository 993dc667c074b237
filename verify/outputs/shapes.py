"""The shape of an output in words: how many entries, and where lists lie within lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from itertools import groupby
from typing import Any

import numpy as np

_LONGEST_SHAPE = 80  # characters of a shape that are shown
_SINGLE = {float, int, bool, str, bytes, type(None)}
_ALONE = 3  # equal neighbours up to which each is written out


def shape_of(output: Any) -> str:
    """Return an output's shape in words; empty for a single value.

    Flat: "2 entries", "3 × 2 entries". Nested: a pattern in which a dot is a value, "[[·, ·], 5 × ·]". A dictionary
    has its keys, in the order of the alphabet: "{a, b: 3 entries}".
    """
    if isinstance(output, np.ndarray):
        return entries_in_words(output.shape)
    if isinstance(output, list | tuple | set | frozenset):
        flat = set(map(type, output)) <= _SINGLE or all(_pattern(item) == "·" for item in output)
        return entries_in_words((len(output),)) if flat else _pattern(output)
    if isinstance(output, Mapping):
        return _keys({key: shape_of(value) for key, value in output.items()})
    if is_dataclass(output):
        return shape_of(dataclass_values(output))
    return ""


def dataclass_values(output: Any) -> dict[str, Any]:
    """Return the fields of a dataclass's instance by name."""
    return {field.name: getattr(output, field.name) for field in fields(output)}


def entries_in_words(shape: tuple[int, ...]) -> str:
    """Return the shape of an array in words: "2 × 3 entries"; empty for a single value."""
    if not shape:
        return ""
    entries = " × ".join(map(str, shape))
    if 0 in shape:
        return "no entries" if len(shape) == 1 else f"no entries ({entries})"
    return f"{entries} entries" if entries != "1" else "1 entry"


def format_shape(shape: str) -> str:
    """Return a shape as messages show it, a long one cut short."""
    if len(shape) <= _LONGEST_SHAPE:
        return shape or "a single value"
    return f"{shape[: _LONGEST_SHAPE - 3]}... ({len(shape)} characters in full)"


def _pattern(output: Any) -> str:
    if isinstance(output, np.ndarray):
        pattern = "·"
        for length in reversed(output.shape):
            pattern = _list_pattern([pattern] * length)
        return pattern
    if isinstance(output, list | tuple):
        return _list_pattern([_pattern(item) for item in output])
    if isinstance(output, set | frozenset):
        return _list_pattern([_pattern(item) for item in sorted(output, key=repr)])
    if is_dataclass(output):
        return _pattern(dataclass_values(output))
    if isinstance(output, Mapping):
        return _keys(
            {key: "" if _pattern(value) == "·" else _pattern(value) for key, value in output.items()}
        )
    return "·"


def _list_pattern(items: list[str]) -> str:
    """Return the pattern of a list; a run of more than three equal items is counted."""
    parts: list[str] = []
    for item, run in groupby(items):
        length = len(list(run))
        parts += [f"{length} × {item}"] if length > _ALONE else [item] * length
    return f"[{', '.join(parts)}]"


def _keys(shapes: Mapping[Any, str]) -> str:
    inside = sorted((str(key), shape) for key, shape in shapes.items())
    return f"{{{', '.join(f'{key}: {shape}' if shape else key for key, shape in inside)}}}"
