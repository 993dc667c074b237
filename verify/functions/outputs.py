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
        A name for each place, such as ``"[2]"`` or ``".count"``; "" for an output that is a single value. Outputs
        are compared by name: the same name is the same entry. Empty if there are no entries.
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

    Entries of the same name share a place: in a dictionary those of the same key, however many others there are.

    Raises
    ------
    UnreadableOutput
        If one is of another type.
    """
    quick = _numbers(outputs)
    if quick is not None:
        return quick
    # Outputs of one form, with the same kinds of entries under the same names, are read together.
    alike: dict[tuple[Any, ...], tuple[list[int], list[list[Any]]]] = {}
    for i, output in enumerate(outputs):
        entries: list[Any] = []
        marks: list[Any] = []
        if isinstance(output, Raised):
            marks.append(Raised)
        else:
            _take_apart(output, entries, marks)
        numbers, rows = alike.setdefault(tuple(marks), ([], []))
        numbers.append(i)
        rows.append(entries)
    columns = _Columns(len(outputs))
    for numbers, rows in alike.values():
        columns.add(outputs[numbers[0]], np.array(numbers), rows)
    return columns.readings({i: output for i, output in enumerate(outputs) if isinstance(output, Raised)})


class _Columns:
    """The places of n outputs, filled in one form of output after the other."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.places: dict[str, int] = {}
        self.numbers: list[FloatArray] = []
        self.words: dict[int, ObjectArray] = {}
        self.shapes: list[tuple[npt.NDArray[np.intp], str]] = []
        self.not_truth: set[int] = set()

    def add(self, example: Any, which: npt.NDArray[np.intp], rows: Sequence[Sequence[Any]]) -> None:
        """Add outputs of one form: one of them, their numbers, and the entries of each in order."""
        raised = isinstance(example, Raised)
        self.shapes.append((which, "nothing" if raised else _shape(example)))
        entries = [] if raised else list(_places(example))
        taken: set[str] = set()
        for (name, value), column in zip(entries, zip(*rows, strict=True), strict=True):
            while name in taken:  # two keys that read the same, such as 1 and "1"
                name += "'"
            taken.add(name)
            place = self._place(name)
            if isinstance(value, str):
                self.not_truth.add(place)
                if place not in self.words:
                    self.words[place] = np.full(self.n, None, dtype=object)
                self.words[place][which] = column
            else:
                if not isinstance(value, bool):
                    self.not_truth.add(place)
                self.numbers[place][which] = _as_floats(column)

    def _place(self, name: str) -> int:
        place = self.places.setdefault(name, len(self.places))
        if place == len(self.numbers):
            self.numbers.append(np.full(self.n, np.nan))
        return place

    def readings(self, raised: Mapping[int, Raised]) -> Readings:
        """Return all that was added."""
        if len({shape for _, shape in self.shapes}) == 1:
            shapes: tuple[str, ...] = (self.shapes[0][1],)
        else:
            by_number = np.empty(self.n, dtype=object)
            for which, shape in self.shapes:
                by_number[which] = shape
            shapes = tuple(by_number.tolist())
        return Readings(
            np.stack(self.numbers, axis=1) if self.numbers else np.empty((self.n, 0)),
            self.words,
            shapes,
            tuple(self.places),
            frozenset(range(len(self.places))) - self.not_truth,
            raised,
        )


def _take_apart(output: Any, entries: list[Any], marks: list[Any]) -> None:
    """Append an output's entries, in the order of `_places`, and marks that say its form."""
    kind = type(output)
    if kind is float or kind is int or kind is bool or kind is str:
        marks.append(kind)
        entries.append(output)
    elif kind is list or kind is tuple:
        marks.append("[")
        for item in output:
            _take_apart(item, entries, marks)
        marks.append("]")
    elif kind is dict:
        marks.append("{")
        for key in output:
            marks.append((type(key), key))
            _take_apart(output[key], entries, marks)
        marks.append("}")
    elif kind is np.ndarray and output.dtype.kind in "biuf":
        marks.append((output.dtype.kind, output.shape))
        entries.extend(output.ravel().tolist())
    elif isinstance(output, np.bool_ | np.integer | np.floating):
        marks.append(kind)
        entries.append(output.item())
    else:
        marks.append((kind, _shape(output)))
        for name, value in _places(output):
            marks.append((name, type(value)))
            entries.append(value)


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
        names=("",)
        if len(columns) == 1 and columns[0].ndim == 1
        else tuple(f"[{i}]" for i in range(1, places + 1)),
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
    elif isinstance(output, np.bool_):
        yield name, bool(output)
    elif isinstance(output, bool | int | float | np.integer | np.floating):
        yield name, output
    elif isinstance(output, Mapping):
        for key in output:
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
    """Return an output's shape in words: "2 entries", "{a, b: 3 entries}"; empty for a single value."""
    if isinstance(output, np.ndarray):
        return _shape_words(output.shape)
    if isinstance(output, list | tuple | set | frozenset):
        inner = dict.fromkeys(_shape(item) for item in output)
        deeper = f" of {' and '.join(shape or 'a single value' for shape in inner)}" if any(inner) else ""
        return f"{_shape_words((len(output),))}{deeper}"
    if isinstance(output, Mapping):
        inside = [(str(key), _shape(value)) for key, value in output.items()]
        return f"{{{', '.join(f'{key}: {shape}' if shape else key for key, shape in sorted(inside))}}}"
    return ""


def _shape_words(shape: tuple[int, ...]) -> str:
    if not shape:
        return ""
    entries = " × ".join(map(str, shape))
    if 0 in shape:
        return "no entries" if len(shape) == 1 else f"no entries ({entries})"
    return f"{entries} entries" if entries != "1" else "1 entry"


def _as_floats(column: Sequence[Any]) -> FloatArray:
    try:
        return np.array(column, dtype=np.float64)
    except OverflowError:
        return np.array([_as_float(value) for value in column])


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every float
        return math.inf if value > 0 else -math.inf
