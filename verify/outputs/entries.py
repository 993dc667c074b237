"""The entries of one output: their names and values, in order, and the differences between outputs of several forms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from verify.outputs.output_readings import UnreadableOutput, as_float
from verify.outputs.raised import KIND, MESSAGE, Raised
from verify.outputs.shapes import dataclass_values, shape_of

DEEPEST = 50
"""The largest depth of lists within lists."""

_NUMBERS = (int, float, np.integer, np.floating)
_LABELS = (str, bytes, int, type(None))

_FLAT = frozenset({int, float, np.float64})

SORTED = ":sorted"
"""Part of the name of an element of a set by its place in their order."""

SINGLE = (float, int, str, bytes, type(None), np.bool_, np.integer, np.floating)


def entries_of(output: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of every place of an output; None is the word "None".

    Decimals and fractions are read as the nearest float: digits beyond are those of their making, not of a mechanism.
    """
    if isinstance(output, str):
        yield name, output
    elif output is None:
        yield name, "None"
    elif isinstance(output, bytes):
        yield name, output.hex()
    elif isinstance(output, np.bool_):
        yield name, bool(output)
    elif isinstance(output, bool | int | float | np.integer | np.floating):
        yield name, output
    elif isinstance(output, Decimal | Fraction):
        signals = isinstance(output, Decimal) and output.is_nan()
        yield name, math.nan if signals else as_float(output)
    elif isinstance(output, Raised):
        yield from zip((KIND, MESSAGE), output.compared, strict=True)
    elif is_dataclass(output) and not isinstance(output, type):
        yield from entries_of(dataclass_values(output), name, depth)
    elif isinstance(output, Mapping):
        _check_depth(depth)
        for key in output:
            yield from entries_of(output[key], f"{name}.{key}", depth + 1)
    elif isinstance(output, set | frozenset):
        _check_depth(depth)
        yield from _members(output, name, depth)
    elif isinstance(output, list | tuple):
        _check_depth(depth)
        for i, item in enumerate(output, start=1):
            yield from entries_of(item, f"{name}[{i}]", depth + 1)
    elif isinstance(output, np.ndarray):
        if output.dtype.kind not in "biufUSO":
            raise UnreadableOutput(f"returned an array of {output.dtype}: must hold numbers or words")
        masked = np.ma.getmaskarray(output).ravel()
        for i, item in enumerate(np.ma.getdata(output).ravel(), start=1):
            place = f"{name}[{i}]" if output.ndim else name
            if masked[i - 1]:
                yield place, math.nan
            else:
                yield from entries_of(item, place, depth + 1)
    else:
        raise UnreadableOutput(
            f"returned {output!r:.80}: must be a number or an array of numbers, a word, None, or a list, dictionary or "
            "dataclass of these"
        )


def _members(output: Set[Any], name: str, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield which labels and whole numbers are in a set; of numbers, also the smallest, the second smallest, ..."""
    numbers = all(isinstance(item, _NUMBERS) for item in output)
    items = [
        item.item() if isinstance(item, np.generic) else item
        for item in (sorted(output) if numbers else sorted(output, key=repr))
    ]
    labels = all(isinstance(item, _LABELS) for item in items)
    if labels:
        for item in items:
            yield f"{name}{{{item!r}}}", True
    if numbers or not labels:
        for i, item in enumerate(items, start=1):
            yield from entries_of(item, f"{name}{SORTED}[{i}]", depth + 1)


def _check_depth(depth: int) -> None:
    if depth >= DEEPEST:
        raise UnreadableOutput(f"returned lists within lists, more than {DEEPEST} deep: must be flatter")


def take_apart(output: Any, entries: list[Any], marks: list[Any], depth: int = 0) -> None:
    """Append an output's entries, in the order of `entries_of`, and marks that say its form."""
    kind = type(output)
    if kind is float or kind is int or kind is bool or kind is str:
        marks.append(kind)
        entries.append(output)
    elif kind is list or kind is tuple:
        if is_flat(output):
            marks.append((kind, len(output), frozenset(map(type, output))))
            entries.extend(output)
            return
        _check_depth(depth)
        marks.append("[")
        for item in output:
            take_apart(item, entries, marks, depth + 1)
        marks.append("]")
    elif kind is dict:
        _check_depth(depth)
        marks.append("{")
        for key in output:
            marks.append((type(key), key))
            take_apart(output[key], entries, marks, depth + 1)
        marks.append("}")
    elif kind is np.ndarray and output.dtype.kind in "biuf":
        marks.append((output.dtype.kind, output.shape))
        entries.extend(output.ravel().tolist())
    elif isinstance(output, np.bool_ | np.integer | np.floating):
        marks.append(kind)
        entries.append(output.item())
    else:
        named = list(entries_of(output, depth=depth))
        marks.append((kind, shape_of(output)))
        for name, value in named:
            marks.append((name, type(value)))
            entries.append(value)


def is_flat(output: Any) -> bool:
    """Return True if an output is a list of numbers and nothing else."""
    return type(output) in (list, tuple) and bool(output) and _FLAT.issuperset(map(type, output))
