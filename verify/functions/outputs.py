"""What a function returned, read as numbers and words at numbered places.

Outputs may be numbers, truth values, words, nothing (None), arrays, and lists, tuples or dictionaries of these,
of one length or of several. A number that is absent is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ObjectArray = npt.NDArray[np.object_]


class UnreadableOutput(ValueError):
    """An output is nothing that could be read; the message shows it."""


@dataclass(frozen=True)
class Raised:
    """In place of an output: the subject raised."""

    error: str
    message: str
    where: str


@dataclass(frozen=True, eq=False)
class Readings:
    """n outputs.

    Attributes
    ----------
    values
        The numbers, shape (n, places); NaN where an output holds no number.
    words
        For each place at which an output holds a word, the words of all outputs (None: no word), shape (n,).
    shapes
        The shape of each output in words, shape (n,); of length 1 if all have the same.
    names
        A name for each place, such as ``"[2]"`` or ``".count"``; ``("",)`` if outputs are single values.
    truths
        The places that hold nothing but truth values.
    raised
        What was raised, by the number of the output.
    """

    values: FloatArray
    words: Mapping[int, ObjectArray] = field(default_factory=dict)
    shapes: tuple[str, ...] = ("",)
    names: tuple[str, ...] = ("",)
    truths: frozenset[int] = frozenset()
    raised: Mapping[int, Raised] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """Return each output as a tuple that can be compared: NaN equals NaN."""
        shapes = self.shapes * len(self) if len(self.shapes) == 1 else self.shapes
        rows: list[tuple[Any, ...]] = []
        for i, row in enumerate(self.values):
            error = self.raised[i].error if i in self.raised else None
            words = tuple(column[i] for column in self.words.values())
            rows.append((row.tobytes(), words, shapes[i], error))
        return rows


def read_outputs(outputs: Sequence[Any]) -> Readings:
    """Read outputs that were returned one at a time.

    Raises
    ------
    UnreadableOutput
        If one is of another type.
    """
    quick = _numbers(outputs)
    if quick is not None:
        return quick
    flat = [list(_places(output)) if not isinstance(output, Raised) else [] for output in outputs]
    shapes = tuple("nothing" if isinstance(o, Raised) else _shape(o) for o in outputs)
    longest = max(flat, key=len)
    values = np.full((len(flat), max(1, len(longest))), np.nan)
    words: dict[int, ObjectArray] = {}
    maybe_true = set(range(values.shape[1]))
    for i, places in enumerate(flat):
        for j, (_, value) in enumerate(places):
            if isinstance(value, str):
                words.setdefault(j, np.full(len(flat), None, dtype=object))[i] = value
                maybe_true.discard(j)
            else:
                values[i, j] = _as_float(value)
                if not isinstance(value, bool | np.bool_):
                    maybe_true.discard(j)
    return Readings(
        values,
        words,
        shapes if len(set(shapes)) > 1 else shapes[:1],
        tuple(name for name, _ in longest) or ("",),
        frozenset(maybe_true) if longest else frozenset(),
        {i: output for i, output in enumerate(outputs) if isinstance(output, Raised)},
    )


def read_lanes(result: Any, lanes: int) -> Readings:
    """Read what a function returned for several lanes: an array, a tuple of arrays, or a list of outputs.

    Raises
    ------
    UnreadableOutput
        If the leading axis is not one output for each lane.
    """
    parts = result if isinstance(result, tuple) else (result,)
    if isinstance(result, list) and len(result) == lanes:
        return read_outputs(result)
    columns: list[Any] = []
    for part in parts:
        array = np.asarray(part)
        if array.ndim == 0 or array.shape[0] != lanes:
            raise UnreadableOutput(
                f"returned an array of shape {array.shape} for {lanes} lanes: its leading axis must be the lanes"
            )
        if array.dtype.kind not in "biuf":
            arrays = [np.asarray(p) for p in parts]
            rows = list(zip(*arrays, strict=True)) if len(arrays) > 1 else list(arrays[0])
            return read_outputs(
                [row[0] if len(arrays) == 1 and np.shape(row) == (1,) else row for row in rows]
            )
        columns.append(array)
    if any(math.prod(array.shape[1:]) == 0 for array in columns) and len(columns) == 1:
        raise UnreadableOutput(f"returned an array of shape {columns[0].shape}: there is no output in it")
    flat = [array.reshape(lanes, -1).astype(np.float64) for array in columns]
    places = sum(array.shape[1] for array in flat)
    starts = np.cumsum([0, *(array.shape[1] for array in flat)])
    return Readings(
        flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1),
        shapes=(" and ".join(_shape_words(array.shape[1:]) for array in columns),),
        names=("",) if places == 1 else tuple(f"[{i}]" for i in range(1, places + 1)),
        truths=frozenset(
            int(j)
            for array, start, stop in zip(columns, starts, starts[1:], strict=False)
            if array.dtype.kind == "b"
            for j in range(start, stop)
        ),
    )


def _numbers(outputs: Sequence[Any]) -> Readings | None:
    """Read outputs that are all floats, or all arrays of floats of one shape, at once; None if they are not."""
    first = outputs[0]
    if isinstance(first, float | np.floating):
        if not all(isinstance(output, float | np.floating) for output in outputs):
            return None
        return Readings(np.array(outputs, dtype=np.float64)[:, None])
    if isinstance(first, np.ndarray) and first.dtype.kind in "iuf" and first.size:
        for output in outputs:
            if (
                not isinstance(output, np.ndarray)
                or output.shape != first.shape
                or output.dtype != first.dtype
            ):
                return None
        return Readings(
            np.stack(outputs).reshape(len(outputs), -1).astype(np.float64),
            shapes=(_shape_words(first.shape),),
            names=("",) if first.ndim == 0 else tuple(f"[{i}]" for i in range(1, first.size + 1)),
        )
    return None


def _places(output: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and value of every place of an output; None is the word "None"."""
    if isinstance(output, str):
        yield name, output
    elif output is None:
        yield name, "None"
    elif isinstance(output, bytes):
        yield name, output.hex()
    elif isinstance(output, bool | int | float | np.bool_ | np.integer | np.floating):
        yield name, output
    elif isinstance(output, Mapping):
        for key in sorted(output, key=str):
            yield from _places(output[key], f"{name}.{key}")
    elif isinstance(output, list | tuple | set | frozenset):
        items = sorted(output, key=repr) if isinstance(output, set | frozenset) else output
        for i, item in enumerate(items, start=1):
            yield from _places(item, f"{name}[{i}]")
    elif isinstance(output, np.ndarray):
        if output.dtype.kind not in "biufUSO":
            raise UnreadableOutput(f"returned an array of {output.dtype}: must hold numbers or words")
        if output.ndim == 0:
            yield from _places(output.item(), name)
            return
        for i, item in enumerate(output.ravel(), start=1):
            yield from _places(item, f"{name}[{i}]")
    else:
        raise UnreadableOutput(
            f"returned {output!r:.80}: must be a number or an array of numbers, a word, None, or a list of these"
        )


def _shape(output: Any) -> str:
    if isinstance(output, np.ndarray):
        return _shape_words(output.shape)
    if isinstance(output, list | tuple | set | frozenset):
        inner = dict.fromkeys(_shape(item) for item in output)
        deeper = f" of {' and '.join(inner)}" if any(inner) else ""
        return f"{len(output)} entries{deeper}" if len(output) != 1 else f"1 entry{deeper}"
    if isinstance(output, Mapping):
        return f"the keys {', '.join(sorted(map(str, output)))}"
    return ""


def _shape_words(shape: tuple[int, ...]) -> str:
    if not shape:
        return ""
    entries = " × ".join(map(str, shape))
    return f"{entries} entries" if entries != "1" else "1 entry"


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every float
        return math.inf if value > 0 else -math.inf
