"""The shape of an output in words: the number of entries, nested lists, and the length of each list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Any

import numpy as np

from verify.outputs.raised import Raised

_LONGEST_SHAPE = 80  # characters of a shape that are shown
_SINGLE = {float, int, bool, str, bytes, type(None)}
_ALONE = 3  # equal neighbours up to which each is written out
AN_ERROR = "an error"
"""The shape of an output in place of which there is an error."""


class Shape(str):
    """A shape in words, with the length of each list, set, array and dictionary, by the name of its place."""

    lengths: Mapping[str, int] = MappingProxyType({})


def shape_of(output: Any) -> Shape:
    """Return an output's shape in words, with its lengths; the words of a single value are none."""
    shape = Shape(_shape_words(output))
    shape.lengths = dict(_lengths(output))
    return shape


def _lengths(output: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Yield the name of each list, set, array and dictionary in an output, with the number of its entries."""
    if isinstance(output, np.ndarray):
        if output.ndim:
            yield name, output.size
    elif isinstance(output, list | tuple | set | frozenset):
        yield name, len(output)
        if isinstance(output, list | tuple) and not set(map(type, output)) <= _SINGLE:
            for i, item in enumerate(output, start=1):
                yield from _lengths(item, f"{name}[{i}]")
    elif isinstance(output, Mapping) or (is_dataclass(output) and not isinstance(output, Raised)):
        values = output if isinstance(output, Mapping) else dataclass_values(output)
        yield name, len(values)
        for key, item in values.items():
            yield from _lengths(item, f"{name}.{key}")


def _shape_words(output: Any) -> str:
    """Return the words of an output's shape.

    Flat: "2 entries", "3 × 2 entries". Nested: a pattern in which a dot is a value, "[[·, ·], 5 × ·]". A dictionary
    has its keys, in the order of the alphabet: "{a, b: 3 entries}".
    """
    if isinstance(output, Raised):
        return AN_ERROR
    if isinstance(output, np.ndarray):
        return _entries(output.shape)
    if isinstance(output, list | tuple | set | frozenset):
        flat = set(map(type, output)) <= _SINGLE or all(_pattern(item) == "·" for item in output)
        return _entries((len(output),)) if flat else _pattern(output)
    if isinstance(output, Mapping):
        return _keys({key: _shape_words(value) for key, value in output.items()})
    if is_dataclass(output):
        return _shape_words(dataclass_values(output))
    return ""


def dataclass_values(output: Any) -> dict[str, Any]:
    """Return the fields of a dataclass's instance by name."""
    return {field.name: getattr(output, field.name) for field in fields(output)}


def _entries(shape: tuple[int, ...]) -> str:
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
