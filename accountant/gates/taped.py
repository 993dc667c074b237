"""Tapes of an accountant: the inputs and outputs of a run, and their replay to the same code on other data.

A verifier attaches a tape to an `Accountant`, the class and the path that production uses. A `Recording` keeps inputs
and outputs. A `Retelling` answers the same calls on other data with the recorded outputs. Every difference in the calls
then flowed around the gate, however many records changed: through attributes, closures, globals, caught errors or state
in a function. The operations on private values are compared, too: their public operands (an index, a factor, a
transformation) may depend on outputs only. And the values of records that did not change must be the same, bit by bit,
before they are added to others and when they would be released.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from accountant.gates.lineage import RecordId, Traced, TracedSums
from accountant.gates.movement import distance, excess
from accountant.gates.release import split_functions
from accountant.gates.replay import Difference
from accountant.place import Place, calling_place
from mechanisms import (
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Mechanism,
    PostProcessed,
    RandomizedResponse,
    Repeated,
    Sensitivity,
)

if TYPE_CHECKING:
    from accountant.gates.gate import Mask
    from accountant.gates.private import Private
    from accountant.gates.private_sums import PrivateSums

Function = Callable[[Any], Any]
_DrawNoise = Callable[[Mechanism | None], npt.NDArray[Any]]
"""Function that draws the outputs of a mechanism; for None it returns the value itself."""
Alteration = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
"""Function of a noisy value that returns another one, which the noise could have given as well."""


@dataclass(frozen=True, slots=True)
class _TapedOperation:
    """One operation on a private value.

    Attributes
    ----------
    public
        Its public operands: indices, numbers, a transformation, a mask.
    values
        The private value before it; None for sums, whose parts were reported when they were added.
    """

    public: tuple[object, ...]
    values: npt.NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class _Published:
    """One call that let a value out.

    Attributes
    ----------
    mechanism
        The mechanism of the release; None for a declassification.
    where
        The mask; None for the whole value.
    values
        The released value, before the noise, at the mask.
    noisy
        The noisy values that the functions after the noise were called with, in order.
    outputs
        The outputs.
    place
        The line.
    records
        The records in the value.
    """

    mechanism: Mechanism | None
    where: npt.NDArray[np.bool_] | None
    values: npt.NDArray[Any]
    noisy: tuple[npt.NDArray[Any], ...]
    outputs: npt.NDArray[Any]
    place: Place
    records: frozenset[RecordId]


class Recording:
    """A tape that keeps all inputs, operations and outputs, in order.

    Parameters
    ----------
    altered
        Changes noisy values. It is applied where the noise reaches every number (Laplace, Gaussian,
        their discrete forms, several of them), and within all answers of randomized response: elsewhere another value
        might be one that never comes out.
    """

    def __init__(self, altered: Alteration | None = None) -> None:
        self.inputs: list[tuple[RecordId, npt.NDArray[Any]]] = []
        self.operations: list[_TapedOperation] = []
        self.published: list[_Published] = []
        self._altered = altered

    def note_entry(self, record: RecordId, values: npt.NDArray[Any]) -> None:
        """Keep a record's values."""
        self.inputs.append((record, values.copy()))

    def note_operation(self, value: Private | PrivateSums, public: tuple[object, ...]) -> None:
        """Keep an operation."""
        kept = tuple(each.copy() if isinstance(each, np.ndarray) else each for each in public)
        whole = isinstance(value._provenance, Traced)
        self.operations.append(_TapedOperation(kept, value._values[0].copy() if whole else None))

    def answer_release(
        self,
        mechanism: Mechanism | None,
        private: Private | PrivateSums,
        where: Mask | None,
        place: Place,
        draw: _DrawNoise,
    ) -> npt.NDArray[Any]:
        """Draw noise, and keep the output."""
        noisy: list[npt.NDArray[Any]] = []

        def keep_argument(function: Function) -> Function:
            def call(output: Any) -> Any:
                noisy.append(np.array(output))  # a copy: the function may work in place
                return function(output)

            return call

        outputs = draw(None if mechanism is None else _rebuild(mechanism, keep_argument, self._altered))
        mask = None if where is None else where.copy()
        values, records = _values_at(private, where), frozenset(_records_in(private, where))
        self.published.append(
            _Published(mechanism, mask, values, tuple(noisy), outputs.copy(), place, records)
        )
        return outputs


class Retelling:
    """A tape that answers with the outputs of a recorded run, and compares the inputs with that run's.

    Parameters
    ----------
    recording
        The run.
    entrances
        The files from which other data enter; None for all. Values that the code itself lets in must not depend on raw
        data: they would be charged to another record's name.
    kept
        The records with unchanged data: they must enter with the same values.

    Attributes
    ----------
    difference
        The first call that differs from the recorded run, or None.
    entered_otherwise
        The first of the records kept that entered with other values, or None.
    """

    def __init__(
        self,
        recording: Recording,
        entrances: Container[str] | None = None,
        kept: Container[RecordId] = (),
    ) -> None:
        self._entrances, self._kept = entrances, kept
        self.entered_otherwise: RecordId | None = None
        self._inputs = iter(recording.inputs)
        self._operations = iter(recording.operations)
        self._published = iter(recording.published)
        self._changed: set[RecordId] = set()
        self.difference: Difference | None = None

    def note_entry(self, record: RecordId, values: npt.NDArray[Any]) -> None:
        """Compare the values of a record that enters with those of the recorded run."""
        known, before = next(self._inputs, (record, None))
        if known != record:
            self._note("raw-flow", calling_place(), "the record that enters here depends on raw data")
        if known != record or before is None or not _is_same_array(before, values):
            self._changed.add(record)
            if self.entered_otherwise is None and known == record and record in self._kept:
                self.entered_otherwise = record
            if self._entrances is not None and (place := calling_place()).file not in self._entrances:
                self._note(
                    "raw-flow", place, f"the value of record {record!r} here depends on other raw data"
                )

    def note_operation(self, value: Private | PrivateSums, public: tuple[object, ...]) -> None:
        """Compare an operation with the recorded one, and its value, if none of the value's records changed."""
        if self.difference is not None:
            return
        taped = next(self._operations, None)
        if taped is None or not (
            len(taped.public) == len(public) and all(map(_is_same_operand, taped.public, public))
        ):
            self._note(
                "raw-flow", calling_place(), "the operation on a private value here depends on raw data"
            )
        elif taped.values is None or _is_same_array(taped.values, value._values[0]):
            return
        elif self._changed.isdisjoint(_records_in(value, None)):
            self._note("raw-flow", calling_place(), "a private value differs, though its records agree")

    def answer_release(
        self,
        mechanism: Mechanism | None,
        private: Private | PrivateSums,
        where: Mask | None,
        place: Place,
        draw: _DrawNoise,
    ) -> npt.NDArray[Any]:
        """Return the output of the recorded run."""
        taped = next(self._published, None)
        if taped is None:
            self._note("more-calls", place, "on other data this line releases once more")
            return draw(mechanism)
        values = _values_at(private, where)
        if (taped.mechanism is None, taped.place) != (mechanism is None, place):
            self._note("place", place, f"on D the same release is made at {taped.place}")
        elif not _is_same_noise(taped.mechanism, mechanism):
            self._note("mechanism", place, f"the mechanism is {mechanism}; on D it is {taped.mechanism}")
        elif not _is_same_operand(where, taped.where) or taped.values.shape != values.shape:
            self._note("mask", place, "the choice of released values depends on raw data")
        elif taped.records != frozenset(_records_in(private, where)):
            self._note("raw-flow", place, "the records of the value released here depend on raw data")
        elif _is_same_array(taped.values, values):
            pass
        elif self._changed.isdisjoint(_records_in(private, where)):
            self._note("raw-flow", place, "the value differs, though its records agree")
        elif further := self._too_far(taped.values, values, private, where):
            self._note(
                "raw-flow",
                place,
                f"changed records move the value to be released by {further} that they are charged for",
            )
        if taped.noisy and self.difference is None:
            outputs = draw(_with_recorded_noise(mechanism, taped.noisy))
            if not _is_same_array(taped.outputs, outputs):
                self._note("raw-flow", place, "the function that follows the noise depends on raw data")
            return outputs
        if taped.values.shape != values.shape:
            return draw(mechanism)
        return taped.outputs.copy()

    def _too_far(
        self,
        before: npt.NDArray[Any],
        values: npt.NDArray[Any],
        private: Private | PrivateSums,
        where: Mask | None,
    ) -> str:
        """Return the excess, in words, over the changed records' movements together; empty if there is none.

        One changed after the other, each moves it at most by its own movement: norms obey the triangle inequality.
        """
        origin = private._provenance
        assert isinstance(origin, Traced | TracedSums)
        if isinstance(origin, Traced):
            origin = origin.with_paid()
        limits = [
            moved
            for moved, records, _ in origin.movements(where)
            for _ in self._changed.intersection(records)
        ]
        rounding = origin.rounding(where)
        norms = ([getattr(moved, name) for moved in limits] for name in ("l1", "l2", "linf"))
        limit = Sensitivity(*(math.fsum((*each, rounding)) for each in norms))
        apart = distance(values.ravel(), before.ravel(), categorical=private._categories > 0)
        broken, words = excess(apart, limit)
        return words if broken.any() else ""

    def finish(self) -> None:
        """Compare the number of calls, after the run."""
        missing = next(self._published, None)
        if missing is not None:
            self._note("fewer-calls", missing.place, "on other data this release is not made")

    def _note(self, kind: str, place: Place, message: str) -> None:
        if self.difference is None:
            self.difference = Difference(kind, place, message)


Tape = Recording | Retelling
"""The observer of an accountant: it sees each value that enters or leaves, and answers releases that are paid for."""


def _values_at(private: Private | PrivateSums, where: Mask | None) -> npt.NDArray[Any]:
    """Return a copy of the raw values of a call, at its mask."""
    values: npt.NDArray[Any] = private._values[0]
    return values.copy() if where is None else values[where]


def _records_in(private: Private | PrivateSums, where: Mask | None) -> Iterable[RecordId]:
    origin = private._provenance
    if isinstance(origin, Traced):
        return itertools.chain(origin.influences, origin.paid)
    assert isinstance(origin, TracedSums)
    return itertools.chain.from_iterable(origin.records(where))


def _is_same_array(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Return True if two arrays are the same, bit by bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(one.tolist() == other.tolist()) if one.dtype.kind == "O" else one.tobytes() == other.tobytes()


def _is_same_operand(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return _is_same_array(one, other)
    return not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray) and one == other


def _with_recorded_noise(mechanism: Mechanism | None, noisy: Sequence[npt.NDArray[Any]]) -> Mechanism | None:
    """Return the mechanism with recorded noisy values in place of noise."""
    given = iter(noisy)

    def call_with_recorded(function: Function) -> Function:
        return lambda _: function(next(given).copy())

    return None if mechanism is None else _rebuild(mechanism, call_with_recorded, None)


def _rebuild(
    mechanism: Mechanism, wrapped: Callable[[Function], Function], altered: Alteration | None
) -> Mechanism:
    """Return a mechanism with wrapped functions, its noisy values altered where the noise reaches every value."""
    if type(mechanism) is Repeated:
        return replace(mechanism, mechanism=_rebuild(mechanism.mechanism, wrapped, altered))
    if type(mechanism) is Composed:
        return Composed(tuple(_rebuild(part, wrapped, altered) for part in mechanism.parts))
    inner, function = split_functions(mechanism)
    if function is not None:
        return PostProcessed(_rebuild(inner, wrapped, altered), wrapped(function))
    if altered is not None and type(mechanism) in (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian):
        return PostProcessed(mechanism, altered)
    if altered is not None and type(mechanism) is RandomizedResponse:
        last = mechanism.size - 1
        return PostProcessed(mechanism, lambda answers: np.clip(altered(answers), 0, last))
    return mechanism


def _is_same_noise(one: Mechanism | None, other: Mechanism | None) -> bool:
    """Return True if two mechanisms are equal but for the functions of released values that follow them."""
    if type(one) is PostProcessed and type(other) is PostProcessed:
        return _is_same_noise(one.mechanism, other.mechanism)
    if type(one) is Composed and type(other) is Composed:
        return len(one.parts) == len(other.parts) and all(map(_is_same_noise, one.parts, other.parts))
    if type(one) is Repeated and type(other) is Repeated:
        return one.count == other.count and _is_same_noise(one.mechanism, other.mechanism)
    return one == other
