"""Provenance of private values: the records that a value holds, and how far each of them can move it.

A provenance travels with every `Private` value and follows each operation on it. Gates that only
simulate carry `UNTRACKED`; the `Accountant` carries `Traced`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from accountant.gates.derivation import Derivation, entry_derivation
from mechanisms.domains.domain import Domain
from mechanisms.domains.float_bounds import NOTHING, FloatBounds, grid_of, is_bounded
from mechanisms.domains.sensitivity import Sensitivity
from mechanisms.numerics.rounding import add_up, multiply_up
from mechanisms.transformations.transformation import Transformation

RecordId = int | str
"""The name of a record: a number or a text, such as a person's or a round's."""
_Change = tuple[int, list[int], "tuple[RecordId, Influence, FloatBounds] | None"]
"""A serial number, coordinates of private sums, and an addition (the record, its influence, and the bounds of the
numbers), or None if they were cleared."""


class Movement(NamedTuple):
    """A sensitivity, the records that move a value by it, and the derivation of their parts of it, where known."""

    moved: Sensitivity
    records: Sequence[RecordId]
    derivation: Derivation | None = None


class _Untracked:
    """The provenance that gates without a ledger carry: it remembers nothing of any operation."""

    def _itself(self, *_: object) -> _Untracked:
        return self

    take = add = shift_by = scale_by = sum_coordinates = map_to_domain = stretch_by = _itself


UNTRACKED = _Untracked()


@dataclass(frozen=True)
class Influence:
    """Bounds on the movement that one record causes, of each coordinate of a value and of the value as a whole.

    Replacing the record moves coordinate ``i`` by at most ``widths[i]``, and the whole value by at
    most ``l1_cap`` in L1 and ``l2_cap`` in L2 norm (a one-hot vector moves two coordinates, not all).
    Every operation rounds up, so no bound falls below the exact one. The derivation, where there is one, is of the
    coordinates that the record moves at all.
    """

    widths: tuple[float, ...]
    l1_cap: float = math.inf
    l2_cap: float = math.inf
    derivation: Derivation | None = None

    @functools.cached_property
    def sensitivity(self) -> Sensitivity:
        """The smallest (l1, l2, linf) that covers the movement; of equal ones the same object."""
        return _sensitivity_of(self.widths, self.l1_cap, self.l2_cap)

    @functools.lru_cache(maxsize=4096)  # noqa: B019 (values, few of them)
    def restrict_to(self, coordinates: tuple[int, ...]) -> Influence:
        """Restrict to `coordinates`; a negative one is padding.

        Projection shortens distances; a coordinate taken m times makes them at most m times as long.
        """
        present = [i for i in coordinates if i >= 0]
        repeats = max(map(present.count, set(present)), default=1) if len(set(present)) < len(present) else 1
        way = self.derivation
        return Influence(
            tuple(self.widths[i] if i >= 0 else 0.0 for i in coordinates),
            _times(repeats, self.l1_cap),
            _times(repeats, self.l2_cap),
            None if way is None else way.choose(tuple(i for i in present if self.widths[i] > 0)),
        )

    def to_list(self) -> list[Any]:
        """Return widths, caps and the derivation, if there is one, as JSON-able data, exact to the last bit."""
        way = [] if self.derivation is None else [self.derivation.to_list()]
        return [[width.hex() for width in self.widths], self.l1_cap.hex(), self.l2_cap.hex(), *way]

    @classmethod
    def from_list(cls, saved: list[Any]) -> Influence:
        """Return the influence that `to_list` described."""
        widths, l1_cap, l2_cap, *way = saved  # an earlier version kept no derivations
        return cls(
            tuple(map(float.fromhex, widths)),
            float.fromhex(l1_cap),
            float.fromhex(l2_cap),
            Derivation.from_list(*way) if way else None,
        )

    def scale(
        self, factors: Sequence[float], times: Callable[[float, float], float] = multiply_up
    ) -> Influence:
        """Return the influence on the product with public factors, one a coordinate."""
        sizes, way = list(map(abs, factors)), self.derivation
        largest = max(sizes, default=0.0)
        # No record moves 0 times a value.
        moving = [(i, x) for i, x in enumerate(factors) if self.widths[i] > 0 and x]
        if way is not None:
            way = way.choose(tuple(i for i, _ in moving))
        return Influence(
            tuple(map(times, self.widths, sizes)),
            _times(largest, self.l1_cap),
            _times(largest, self.l2_cap),
            None if way is None else way.scale(tuple(x for _, x in moving)),
        )

    def cover(self, other: Influence) -> Influence:
        """Return an influence of at least both, in every norm and coordinate."""
        if self == other:
            return self
        mine, others = self.sensitivity, other.sensitivity
        return Influence(
            tuple(map(max, self.widths, other.widths)), max(mine.l1, others.l1), max(mine.l2, others.l2)
        )

    def add(self, other: Influence) -> Influence:
        """Return the influence on a sum of two values (triangle inequality)."""
        mine, others = self.sensitivity, other.sensitivity
        return Influence(
            tuple(map(add_up, self.widths, other.widths)),
            add_up(mine.l1, others.l1),
            add_up(mine.l2, others.l2),
            None if self.derivation is None else self.derivation.add(other.derivation),
        )


@functools.lru_cache(maxsize=1024)
def _sensitivity_of(widths: tuple[float, ...], l1_cap: float, l2_cap: float) -> Sensitivity:
    independent = Sensitivity.of_box(widths)
    l1 = max(independent.linf, min(independent.l1, l1_cap))
    l2 = max(independent.linf, min(independent.l2, l2_cap, l1))
    return Sensitivity(l1, l2, independent.linf)


@functools.lru_cache(maxsize=1024)  # a learner asks for the same few domains every round
def influence_of(domain: Any) -> Influence:
    """Return the influence of a fresh record of a domain, a hashable value."""
    whole = domain.sensitivity
    widths = tuple(np.ravel(domain.widths).tolist())
    independent = Sensitivity.of_box(widths)
    return Influence(
        widths,
        whole.l1 if whole.l1 < independent.l1 else math.inf,
        whole.l2 if whole.l2 < independent.l2 else math.inf,
        entry_derivation(domain),
    )


@functools.lru_cache(maxsize=1024)
def _mapped_influence(before: Influence, by: Transformation, taken: Any, domain: Any) -> Influence:
    """Return the influence of a record on a value in `domain`, which a transformation made of one in `taken`.

    A value that was computed from several ones is only known to be a vector of real numbers.
    """
    way = before.derivation if is_bounded(taken) else entry_derivation(taken)
    return replace(influence_of(domain), derivation=None if way is None else way.map(by, taken))


class Traced:
    """The records of a value, the influence of each (one lane), and public bounds on its numbers.

    Attributes
    ----------
    influences
        The influences of the records that a release of the value is charged to.
    bounds
        The bounds of its numbers.
    paid
        The influences of records that have paid for such a release before (`PrivateStream`); only tapes use them.
    """

    __slots__ = ("bounds", "influences", "paid")

    def __init__(
        self,
        influences: dict[RecordId, Influence],
        bounds: FloatBounds,
        paid: Mapping[RecordId, Influence] = MappingProxyType({}),
    ) -> None:
        self.influences = influences
        self.bounds = bounds
        self.paid = paid

    def with_paid(self) -> Traced:
        """Return the provenance in which earlier payers move the value, too."""
        if not self.paid:
            return self
        return self.add(Traced(dict(self.paid), NOTHING))  # the bounds cover their numbers already

    def take(self, index: np.ndarray) -> Traced:
        """Follow ``value[index]``: restrict every record to the coordinates of `index`, shape (1, k).

        A negative index is padding and holds nothing.
        """
        coordinates = tuple(index[0].tolist())
        return Traced(
            {record: moved.restrict_to(coordinates) for record, moved in self.influences.items()}, self.bounds
        )

    def add(self, other: Lineage) -> Traced:
        """Unite the records; a record in both moves the sum by both."""
        assert isinstance(other, Traced)
        united = dict(self.influences)
        for record, moved in other.influences.items():
            mine = united.get(record)
            united[record] = moved if mine is None else mine.add(moved)
        return Traced(united, self.bounds.add(other.bounds))

    def shift_by(self, numbers: np.ndarray) -> Traced:
        """Keep every record's movement."""
        return Traced(self.influences, self.bounds.shift_by(numbers))

    def scale_by(self, factor: np.ndarray) -> Traced:
        """Scale every record's movement by ``|factor|``; an overflow times 0 is NaN, so that movement is infinite."""
        times = _times_overflowed if self.bounds.overflowed else multiply_up
        result = {
            record: moved.scale(np.broadcast_to(factor, (1, len(moved.widths)))[0].tolist(), times)
            for record, moved in self.influences.items()
        }
        return Traced(result, self.bounds.scale_by(factor))

    def sum_coordinates(self) -> Traced:
        """Follow the sum over the last axis: it moves by at most the L1 movement of the summands."""
        size = max((len(moved.widths) for moved in self.influences.values()), default=0)
        return Traced(
            {
                record: Influence(
                    (moved.sensitivity.l1,),
                    derivation=None if moved.derivation is None else moved.derivation.sum_coordinates(),
                )
                for record, moved in self.influences.items()
            },
            self.bounds.sum_coordinates(size),
        )

    def map_to_domain(self, domain: Domain, by: tuple[Transformation, Any] | None = None) -> Traced:
        """Follow a function with values in `domain`: one of one record moves by at most the diameter of its range.

        `by` is the function, if it is a transformation of this library, and the domain of the values that it takes.
        """
        hashable: Any = domain
        if by is None:
            return Traced(dict.fromkeys(self.influences, influence_of(hashable)), grid_of(domain).bounds)
        return Traced(
            {record: _mapped_influence(moved, *by, hashable) for record, moved in self.influences.items()},
            grid_of(domain).bounds,
        )

    def stretch_by(self, stability: float, size: int, offset: float, units: int) -> Traced:
        """Follow a map to `size` coordinates that stretches L1 distances at most by `stability`.

        Every coordinate, and their L1 norm, move by at most ``stability * l1``. `offset` is the largest size of its
        results on zeros, `units` the number of units in the last place that it rounds off beyond its stability.
        """
        result, taken = {}, 0
        for record, moved in self.influences.items():
            distance = multiply_up(moved.sensitivity.l1, stability)
            result[record] = Influence((distance,) * size, distance, distance)
            taken = max(taken, len(moved.widths))
        return Traced(result, self.bounds.stretch_by(stability, taken, offset, units))

    def rounding(self, where: np.ndarray | None) -> float:
        """Return the most by which floating point adds to a record's movement, in L1 norm."""
        if not self.bounds.error:
            return 0.0
        size = max((len(moved.widths) for moved in self.influences.values()), default=0)
        return _error_distance(self.bounds.error, size if where is None else int(where.sum()))

    def has_integers(self, where: np.ndarray | None) -> bool:
        """Return True if the numbers in the coordinates `where` are known to be integers."""
        return self.bounds.are_integers

    def movements(self, where: np.ndarray | None) -> list[Movement]:
        """Group the records by their sensitivity on the coordinates `where`, shape (1, n)."""
        chosen = None if where is None else tuple(np.flatnonzero(where[0]).tolist())
        rows: list[tuple[Sensitivity, Derivation | None, RecordId]] = []
        for record, moved in self.influences.items():
            there = moved if chosen is None else moved.restrict_to(chosen)
            if there.sensitivity.linf > 0:
                rows.append((there.sensitivity, there.derivation, record))
        if len(rows) == 1:  # as of most values
            ((moves, way, record),) = rows
            return [Movement(moves, (record,), way)]
        return list(itertools.starmap(Movement, _groups(rows)))


def _groups(
    rows: Sequence[tuple[Any, Derivation | None, RecordId]],
) -> Iterator[tuple[Any, tuple[RecordId, ...], Derivation | None]]:
    """Yield groups of records that move a value alike; a group has no derivation if one of its records has none.

    So records that an earlier version saved, without derivations, are charged in the same entry as others.
    """
    groups: dict[tuple[Any, Derivation | None], list[RecordId]] = {}
    unknown = set()
    for moved, way, _ in rows:
        if way is None:
            unknown.add(moved)
    for moved, way, record in rows:
        groups.setdefault((moved, None if unknown and moved in unknown else way), []).append(record)
    for (moved, way), records in groups.items():
        yield moved, tuple(records), way


def _error_distance(error: float, coordinates: int) -> float:
    """Return the largest L1 distance that errors of two values make, each coordinate of each off by at most `error`."""
    return multiply_up(error, 2.0 * coordinates)


def _times_overflowed(width: float, size: float) -> float:
    return multiply_up(width, size) if size or not width else math.inf


def _times(factor: float, cap: float) -> float:
    """Multiply a cap by a factor; an absent (infinite) cap stays absent."""
    return cap if math.isinf(cap) else multiply_up(cap, float(factor))


Lineage = Traced | _Untracked
"""The provenance of a private value: it follows the operations on the value."""


class TracedSums:
    """The provenance of running sums: the records in each coordinate, and how far they move it.

    It is kept by coordinate, so that adding a record and releasing a full batch cost time in proportion to
    the added or released part, never to the other records.

    Attributes
    ----------
    changes
        None, or a list that its owner sets, and that collects changes until `forget_changes`: ascending serial
        numbers, coordinates, and the record and influence that were added there, or None where they were cleared.
    """

    def __init__(self, size: int) -> None:
        self._entries: list[list[tuple[RecordId, float]]] = [[] for _ in range(size)]
        self._caps: dict[RecordId, tuple[float, float]] = {}
        self._all_capped = True
        self._held: dict[RecordId, int] = {}  # the number of places of each record
        # The derivation of a record's values, and their coordinates, where all have the same one and it is known.
        self._ways: dict[RecordId, tuple[Derivation, list[int]]] = {}
        self._bounds = [NOTHING] * size
        self.changes: list[_Change] | None = None
        self._serials = itertools.count()

    def __iter__(self) -> Iterator[RecordId]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, record: object) -> bool:
        """Return True if a record is in the sums."""
        return record in self._held

    def find_waiting(self, origin: Traced) -> RecordId | None:
        """Return a record of `origin` that is in the sums already; None if there is none."""
        return next((record for record in origin.influences if record in self._held), None)

    def add(self, origin: Traced, at: np.ndarray) -> None:
        """Add a value's records at the coordinates `at`, shape (1, k); negative is padding."""
        coordinates = at[0].tolist()
        bounds = origin.bounds
        for record, moved in origin.influences.items():
            self.add_record(record, moved, bounds, coordinates)
            bounds = NOTHING  # the numbers are added once, and not for each record

    def add_record(
        self, record: RecordId, moved: Influence, bounds: FloatBounds, coordinates: list[int]
    ) -> None:
        """Add one record, and numbers of these bounds, at some coordinates; negative is padding."""
        for coordinate in coordinates if bounds.magnitude or bounds.error else ():
            if coordinate >= 0:
                self._bounds[coordinate] = self._bounds[coordinate].add(bounds)
        self._add_way(record, moved, coordinates)
        for coordinate, width in zip(coordinates, moved.widths, strict=True):
            if coordinate >= 0 and width > 0:
                self._entries[coordinate].append((record, width))
                self._held[record] = self._held.get(record, 0) + 1
        self._add_cap(record, moved)
        if self.changes is not None:
            self.changes.append((next(self._serials), coordinates, (record, moved, bounds)))

    def _add_way(self, record: RecordId, moved: Influence, coordinates: list[int]) -> None:
        """Keep the derivation of a record's values, while they have the same one and lie at the same coordinates."""
        there = [i for i, width in zip(coordinates, moved.widths, strict=True) if i >= 0 and width > 0]
        way = moved.derivation
        if way is not None and there and len(there) < sum(width > 0 for width in moved.widths):
            way = way.choose(tuple(range(len(there))))
        if record in self._held:
            before, at = self._ways.pop(record, (None, []))
            way = before.add(way) if before is not None and at == there else None
        if way is not None and there:
            self._ways[record] = way, there

    def _add_cap(self, record: RecordId, moved: Influence) -> None:
        """Keep joint caps while every record has them; without them the widths alone still bound."""
        if self._all_capped and min(moved.l1_cap, moved.l2_cap) < math.inf:
            l1, l2 = self._caps.get(record, (0.0, 0.0))
            further = moved.sensitivity
            self._caps[record] = (add_up(l1, further.l1), add_up(l2, further.l2))
        elif self._all_capped:
            self._all_capped = False
            self._caps = {}

    def clear(self, coordinates: list[int]) -> None:
        """Forget the records of some coordinates; their sums are zero already.

        An interruption (Ctrl-C) may fall on any line here and in `add_record`: the change is noted first, and a
        record that was not counted as held is dropped, too.
        """
        if self.changes is not None:
            self.changes.append((next(self._serials), coordinates, None))
        for coordinate in coordinates:
            for record, _ in self._entries[coordinate]:
                left = self._held.get(record, 1) - 1
                if left:
                    self._held[record] = left
                else:
                    self._held.pop(record, None)
                    self._ways.pop(record, None)
            self._entries[coordinate] = []
            self._bounds[coordinate] = NOTHING
        if not any(self._entries):
            self._caps = {}
            self._all_capped = True

    @property
    def last_change(self) -> int:
        """The serial number of the last change that is collected; -1 if there is none."""
        return self.changes[-1][0] if self.changes else -1

    def forget_changes(self, last: int) -> None:
        """Drop the changes up to this serial number; a repetition does nothing."""
        if self.changes is not None:
            del self.changes[: sum(serial <= last for serial, _, _ in self.changes)]

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of the sums as JSON-able data, exact to the last bit."""
        ways = dict.fromkeys(way for way, _ in self._ways.values())
        numbers = {way: number for number, way in enumerate(ways)}
        return {
            "entries": [[[record, width.hex()] for record, width in entries] for entries in self._entries],
            "caps": [[record, l1.hex(), l2.hex()] for record, (l1, l2) in self._caps.items()],
            "all_capped": self._all_capped,
            "derivations": [way.to_list() for way in numbers],
            "ways": [[record, numbers[way], there] for record, (way, there) in self._ways.items()],
            "bounds": [bounds.to_list() for bounds in self._bounds],
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> TracedSums:
        """Return the sums that `to_dict` described."""
        sums = cls(len(saved["entries"]))
        for mine, entries in zip(sums._entries, saved["entries"], strict=True):
            mine += [(record, float.fromhex(width)) for record, width in entries]
            for record, _ in entries:
                sums._held[record] = sums._held.get(record, 0) + 1
        sums._caps = {record: (float.fromhex(l1), float.fromhex(l2)) for record, l1, l2 in saved["caps"]}
        sums._all_capped = saved["all_capped"]
        ways = list(map(Derivation.from_list, saved.get("derivations", ())))  # an earlier version kept none
        sums._ways = {record: (ways[number], there) for record, number, there in saved.get("ways", ())}
        sums._bounds = [FloatBounds.from_list(bounds) for bounds in saved["bounds"]]
        return sums

    def movements(self, where: np.ndarray | None) -> list[Movement]:
        """Group the records by their sensitivity on the coordinates `where`, shape (1, n)."""
        chosen = range(len(self._entries)) if where is None else np.flatnonzero(where[0]).tolist()
        if len(chosen) == 1 and not self._caps:
            return self._single_movements(chosen[0])
        per_record: dict[RecordId, dict[int, float]] = {}
        for coordinate in chosen:
            for record, width in self._entries[coordinate]:
                widths = per_record.setdefault(record, {})
                widths[coordinate] = add_up(widths.get(coordinate, 0.0), width)
        rows: list[tuple[Sensitivity, Derivation | None, RecordId]] = []
        for record, widths in per_record.items():
            caps = self._caps.get(record, (math.inf, math.inf))
            sensitivity = _sensitivity_of(tuple(widths.values()), *caps)
            rows.append((sensitivity, self._way(record, len(widths)), record))
        return list(itertools.starmap(Movement, _groups(rows)))

    def _way(self, record: RecordId, coordinates: int) -> Derivation | None:
        """Return the derivation of a record's part of the first coordinates."""
        found = self._ways.get(record)
        return None if found is None else found[0].choose(tuple(range(coordinates)))

    def records(self, where: np.ndarray | None) -> list[list[RecordId]]:
        """List the records of each of the coordinates `where`, one as often as it was added."""
        chosen = self._entries if where is None else map(self._entries.__getitem__, np.flatnonzero(where[0]))
        return [[record for record, _ in entries] for entries in chosen]

    def rounding(self, where: np.ndarray | None) -> float:
        """Return the most by which floating point adds to a record's movement, in L1 norm."""
        errors = [each.error for each in self._bounds_at(where) if each.error]
        return _error_distance(max(errors), len(errors)) if errors else 0.0

    def has_integers(self, where: np.ndarray | None) -> bool:
        """Return True if the numbers in the coordinates `where` are known to be integers."""
        return all(each.are_integers for each in self._bounds_at(where))

    def _bounds_at(self, where: np.ndarray | None) -> list[FloatBounds]:
        return self._bounds if where is None else [self._bounds[i] for i in np.flatnonzero(where[0]).tolist()]

    def _single_movements(self, coordinate: int) -> list[Movement]:
        """Group one coordinate's records: its width is all three norms."""
        widths: dict[RecordId, float] = {}
        for record, width in self._entries[coordinate]:
            widths[record] = add_up(widths.get(record, 0.0), width)
        rows = [(width, self._way(record, 1), record) for record, width in widths.items()]
        return [
            Movement(Sensitivity(width, width, width), records, way) for width, records, way in _groups(rows)
        ]
