"""Other data for a learner's replays: all records changed, or some of them, also to values that its code names."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from accountant import RecordId, Recording
from dpwitness import is_of_python
from mechanisms import Domain
from mechanisms.arrays import BoolArray, FloatArray

_SMALLEST = 2.0**-8
_MOST_NUMBERS = 512


def growing_records(domain: Domain, rounds: int, rng: np.random.Generator) -> FloatArray:
    """Return records that grow over the rounds, from 2^-8 of the domain to all of it, shape (rounds + 1, arms).

    Of rewards of 0 and 1 a running maximum is 1 from the first rounds on, and gives nothing away any more.
    """
    low, high = domain.extremes()[:2]
    sizes = np.geomspace(_SMALLEST, 1.0, rounds + 1)[:, np.newaxis]
    return np.asarray(low + (high - low) * sizes * rng.uniform(0.5, 1.0, (rounds + 1, low.size)))


@dataclass(frozen=True, eq=False)
class RecordGroup:
    """A group of the records of a run, to be replaced.

    Attributes
    ----------
    words
        The group in words, as in "when all records are others".
    members
        For each value that entered, in order, True if its record is in the group.
    """

    words: str
    members: BoolArray


def groups_of_records(run: Recording, rng: np.random.Generator) -> list[RecordGroup]:
    """Return groups of a run's records: all, a random half, and all but those of every second release.

    A release can be compared in a replay where none of its records changed. So releases that have no record in common
    are put in two sets by turns, and once the records of the one set stay, once those of the other: a data flow into a
    release from those next to it shows in one of the two. In the random half such releases change or stay as a whole,
    too, but for one in two, in which each record is changed or not by itself. A flow into a release from one further
    away shows there with probability 3/16, anew in every run; a flow into one record's value from another record of
    the same release, before they are added up, with probability 1/4 for each two of them.
    """
    records = [record for record, _ in run.inputs]
    order = {record: number for number, record in enumerate(dict.fromkeys(records))}
    free = set(order)
    chosen = []
    for number in rng.permutation(len(run.published)).tolist():
        members = run.published[number].records
        if members <= free:
            free -= members
            chosen.append(number)
    releases = [run.published[number].records for number in sorted(chosen)]
    mixed = set(rng.permutation(len(releases))[::2].tolist())
    parts: list[Set[RecordId]] = [{record} for record in order if record in free]
    for number, members in enumerate(releases):
        parts += (
            [{record} for record in sorted(members, key=order.__getitem__)] if number in mixed else [members]
        )
    half = [members for members in parts if rng.random() < 0.5]

    def all_but(kept: Sequence[Set[RecordId]]) -> BoolArray:
        some = set().union(*kept)
        return np.array([record not in some for record in records], dtype=bool)

    return [
        RecordGroup("when all records are others", all_but([])),
        RecordGroup("when half of the records are others", all_but(half)),
        *(
            RecordGroup("when all records but those of some releases are others", all_but(releases[first::2]))
            for first in (0, 1)
        ),
    ]


def other_records(
    data: FloatArray, domain: Domain, numbers: FloatArray, rng: np.random.Generator, replaced: BoolArray
) -> FloatArray:
    """Return data in which some of the records are replaced.

    Each by its opposite, a corner of the domain, something inside, or one of `numbers` in all coordinates or in each
    another one.

    Parameters
    ----------
    data
        Shape (records, arms).
    domain
        The domain of one record.
    numbers
        Distinguishing values of a coordinate, in [0, 1] for the least to the largest.
    rng
        The source of all choices.
    replaced
        True for the records that are replaced, shape (records,).
    """
    low, high = domain.extremes()[:2]
    shape = data.shape
    picked = rng.choice(numbers, shape)
    picked = np.where(rng.random((len(data), 1)) < 0.5, picked, picked[:, :1])
    kinds = (
        low + high - data,
        np.where(rng.random(shape) < 0.5, low, high),
        low + (high - low) * rng.random(shape),
        low + (high - low) * picked,
    )
    chosen = rng.integers(len(kinds), size=(len(data), 1))
    others = np.choose(chosen, kinds)
    return np.asarray(np.where(replaced[:, np.newaxis], others, data))


def boundary_values(learner: type, low: float, high: float) -> FloatArray:
    """Return values between `low` and `high` that a learner may treat as special.

    The ends, 0, halves and thirds, all numbers in the code of its modules, and the midpoints of each two neighbouring
    ones: an interval that the code names has such a point inside.
    """
    width = high - low
    known = {low, high, 0.0, *(low + width * part for part in (1 / 3, 1 / 2, 2 / 3))}
    known |= {float(number) for number in _numbers_of(learner)}
    inside = np.array(sorted(number for number in known if low <= number <= high))[:_MOST_NUMBERS]
    between = 0.5 * (inside[1:] + inside[:-1])
    return np.concatenate([inside, between])


def _numbers_of(learner: type) -> Iterator[int | float]:
    """Yield the numbers in the modules of a class and its bases: constants of their code, and module variables."""
    # Python's own modules are left out: their numbers differ between versions.
    for name in dict.fromkeys(cls.__module__ for cls in learner.__mro__ if not is_of_python(cls)):
        module = sys.modules.get(name)
        for value in list(vars(module).values()) if module is not None else []:
            if isinstance(value, type | types.FunctionType) and value.__module__ == name:
                yield from _numbers_in(value)
            elif isinstance(value, int | float):
                yield value


def _numbers_in(value: object) -> Iterator[int | float]:
    if isinstance(value, bool | int | float):
        yield value
    elif isinstance(value, types.CodeType):
        for constant in value.co_consts:
            yield from _numbers_in(constant)
    elif isinstance(value, tuple | frozenset):
        for part in value:
            yield from _numbers_in(part)
    elif isinstance(value, types.FunctionType):
        yield from _numbers_in(value.__code__)
        yield from _numbers_in(value.__defaults__ or ())
    elif isinstance(value, staticmethod | classmethod):
        yield from _numbers_in(value.__func__)
    elif isinstance(value, property):
        yield from _numbers_in(value.fget)
    elif isinstance(value, type):
        for name, part in vars(value).items():
            if name != "__firstlineno__":  # its line, since Python 3.13
                yield from _numbers_in(part)
