"""Pairs of neighbouring data sets for a learner: D, and D with one record replaced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.play import INITIAL_RECORD
from algorithms.unit import OnePerson, Unit
from mechanisms import Domain
from mechanisms.arrays import FloatArray

InitialOutcomes = Literal["none", "one", "separate"]
"""Outcomes before the first round that a learner observes: none, one record, or a record of its own for each arm."""


@dataclass(frozen=True, kw_only=True)
class _Limits:
    """Limits on the data sets that are made; the values were chosen by hand.

    Attributes
    ----------
    points
        Extreme points that backgrounds and changed records are made of.
    records, values
        Changed records of a background, and values that each is replaced by.
    separate_arms
        Arms of which the initial outcome is replaced alone.
    """

    points: int = 6
    records: int = 8
    values: int = 2
    separate_arms: int = 4


_MOST = _Limits()


@dataclass(frozen=True, eq=False)
class Neighbour:
    """A data set that differs from D in one record.

    Attributes
    ----------
    record
        The number of the record; 0 is the outcome vector of a learner with a warm start, t the user of round t.
    value
        Its replacement, shape (arms,).
    words
        The replacement in words.
    rounds
        All rounds of a person in several rounds, the first of them as `record`; none for a single round.
    """

    record: int
    value: FloatArray
    words: str
    rounds: tuple[int, ...] = ()

    def apply_to(self, data: FloatArray) -> FloatArray:
        """Return D with the record replaced."""
        changed = data.copy()
        changed[list(self.rounds or (self.record,))] = self.value
        return changed


@dataclass(frozen=True, eq=False)
class Background:
    """A data set D and neighbours of it.

    Attributes
    ----------
    data
        Records 0 .. rounds, shape (rounds + 1, arms).
    neighbours
        The data sets that D is compared with.
    others
        All records but the replaced one, in words.
    """

    data: FloatArray
    neighbours: tuple[Neighbour, ...]
    others: str


def constant_data(domain: Domain, rounds: int) -> list[FloatArray]:
    """Return the data sets in which every record is the domain's first or its second extreme point."""
    return [np.tile(point, (rounds + 1, 1)) for point in domain.extremes()[:2]]


def replacements(data: FloatArray, domain: Domain, records: Iterable[int]) -> list[Neighbour]:
    """Replace each of `records` by its opposite and by the domain's first two extremes."""
    low, high = domain.extremes()[:2]
    found = []
    for record in records:
        candidates = [(low + high - data[record], "its opposite"), (low, "all lowest"), (high, "all highest")]
        seen = [data[record]]
        for value, words in candidates:
            if not any(np.array_equal(value, known) for known in seen):
                seen.append(value)
                found.append(Neighbour(record, value, words))
    return found


def backgrounds(
    drawn: FloatArray,
    domain: Domain,
    arms: int,
    initial: InitialOutcomes = "none",
) -> list[Background]:
    """Return data sets on which few other records hide a change: constant ones, and one drawn from a law.

    Constant are: all lowest, all highest, and one arm at one end against all others at the other end. In each,
    records 1, 2, 4, ... and those of the rounds in which every arm has just been played are replaced by the same
    extreme points.

    Parameters
    ----------
    drawn
        Records 0 .. rounds, shape (rounds + 1, arms).
    domain
        The domain of one record.
    arms
        The number of arms.
    initial
        The outcomes before the first round, which are replaced too.
    """
    rounds = len(drawn) - 1
    points = domain.extremes()[: _MOST.points]
    doubling = [2**k for k in range(rounds.bit_length())]
    # Early records enter the smallest batches, which hold one record, or a few.
    records = sorted({*doubling, *(r for r in (3, arms, arms + 1, arms + 2) if r <= rounds)})[: _MOST.records]
    found = []
    datasets = [(np.tile(point, (rounds + 1, 1)), f"have {describe_record(point)}") for point in points]
    for data, said in [*datasets, (drawn, "are drawn from the problem's law")]:
        neighbours = initial_replacements(data, domain, initial)[: _MOST.values]
        for record in records:
            others = [point for point in points if not np.array_equal(point, data[record])]
            words = "another extreme point"
            neighbours += [Neighbour(record, point, words) for point in others[: _MOST.values]]
        found.append(Background(data, tuple(neighbours), f"all other users {said}"))
    return found


def spread_records(rounds: int) -> list[int]:
    """Return records 1, 2, 3, 4, 8, 16, ..., and the last."""
    return sorted({*(2**k for k in range(rounds.bit_length())), min(3, rounds), rounds})


def initial_replacements(data: FloatArray, domain: Domain, how: InitialOutcomes) -> list[Neighbour]:
    """Return the neighbours in which outcomes before the first round are replaced, for a learner with a warm start.

    The whole vector where it is one record; one arm's outcome where each is a record of its own.
    """
    if how == "none":
        return []
    if how == "one":
        return replacements(data, domain, [INITIAL_RECORD])
    low, high = domain.extremes()[:2]
    found = []
    for arm in range(min(_MOST.separate_arms, data.shape[1])):
        value = data[INITIAL_RECORD].copy()
        value[arm] = low[arm] + high[arm] - value[arm]
        found.append(Neighbour(INITIAL_RECORD, value, f"the opposite for arm {arm}"))
    return found


def of_people(
    data: FloatArray, domain: Domain, unit: OnePerson, names: Iterable[int]
) -> tuple[FloatArray, list[Neighbour]]:
    """Return a data set in which these people have all lowest in all of their rounds, and neighbours: all highest.

    Where a person takes part without limit, another one takes part in every round.

    Parameters
    ----------
    data
        The records of all others, shape (rounds + 1, arms).
    domain
        The domain of one round.
    unit
        The unit: one person, with the rounds in which it takes part.
    names
        The people to replace, each on a neighbour of its own.
    """
    low, high = domain.extremes()[:2]
    found = []
    data = data.copy()
    if unit.rounds is None:
        data[1:] = low
        found.append(Neighbour(1, high, "all highest", tuple(range(1, len(data)))))
    for name in dict.fromkeys(names):
        rounds = rounds_of(name, len(data) - 1, unit)
        if rounds:
            data[list(rounds)] = low
            found.append(Neighbour(rounds[0], high, "all highest", rounds))
    return data, found


def rounds_of(name: int, rounds: int, unit: Unit) -> tuple[int, ...]:
    """Return those of the first `rounds` rounds in which the record of this name takes part."""
    name_of = unit.names(rounds)
    return tuple(t for t in range(1, rounds + 1) if name_of(t) == name)


def record_words(record: int, value: FloatArray, rounds: Sequence[int] = ()) -> str:
    """Describe one record of a data set in words; of a person, with all of its rounds."""
    if len(rounds) > 1:
        listed = ", ".join([*map(str, rounds[:4]), *(["..."] if len(rounds) > 4 else [])])
        return f"the person of rounds {listed} has {describe_record(value)} in each of them"
    which = "the round-0 outcome vector" if record == INITIAL_RECORD else f"the user of round {record}"
    return f"{which} has {describe_record(value)}"


def describe_record(value: FloatArray) -> str:
    """Return a 0/1 outcome vector in a few words; arms are numbered from 0, as everywhere."""
    ones = np.flatnonzero(value == 1).tolist()
    arms = value.size
    if not ((value == 0) | (value == 1)).all():
        return "(" + ", ".join(f"{outcome:g}" for outcome in value[:8]) + (", ...)" if arms > 8 else ")")
    if not ones:
        return f"outcome 0 for all {arms} arms"
    if len(ones) == arms:
        return f"outcome 1 for all {arms} arms"
    if len(ones) <= arms / 2:
        return f"outcome 1 for {_arms(ones)} and 0 for the others"
    return f"outcome 0 for {_arms(np.flatnonzero(value == 0).tolist())} and 1 for the others"


def _arms(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:6])) + (", ..." if len(numbers) > 6 else "")
    return f"arm{'s' if len(numbers) > 1 else ''} {shown}"
