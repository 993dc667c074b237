"""What an adversary reads in a sequence of actions: features of a transcript, in words that can be checked.

A transcript is a whole-number array of shape (draws, rounds, size): the super arm of every round, -1 for padding.
The features here are functions of it, so an event of a feature is an event of the adversary's view. Private
learners act on noisy batch means, and a change of one record shows in *when* an arm is played again: so besides
the actions themselves there are times of the n-th play (n = 1, 2, 4, ...: where doubling batches begin), the next
play after the changed round, counts of plays at doubling times, the first switch, and the whole path while it is
short.
"""
# ruff: noqa: D102 (the methods of every feature are documented once, at `Feature`)

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray
from verify.events.event import Event, RowTable
from verify.events.readings import Value
from verify.events.view_sample import Column, ViewSample

ActionArray = npt.NDArray[np.int16]

MOST_ARMS = 1 << 15
"""Arms that fit in the array type of a transcript."""


class Transcript:
    """Actions of many independent draws; what several features need is computed once.

    Parameters
    ----------
    actions
        Shape (draws, rounds, size).

    Attributes
    ----------
    actions
        The array.
    rounds
        How many rounds it has.
    """

    def __init__(self, actions: ActionArray) -> None:
        self.actions = actions
        self.rounds = actions.shape[1]
        self._counts: dict[int, npt.NDArray[np.int32]] = {}

    def plays(self, arm: int) -> BoolArray:
        """In which rounds the arm was played, shape (draws, rounds)."""
        played: BoolArray = (self.actions == arm).any(axis=2)
        return played

    def counts(self, arm: int) -> npt.NDArray[np.int32]:
        """How often the arm was played up to each round, shape (draws, rounds)."""
        if arm not in self._counts:
            self._counts[arm] = np.cumsum(self.plays(arm), axis=1, dtype=np.int32)
        return self._counts[arm]

    def plays_until(self, arm: int, last: int) -> npt.NDArray[np.int32]:
        """How often the arm was played in rounds 1 .. last, shape (draws,)."""
        if last == 0:
            return np.zeros(len(self.actions), dtype=np.int32)
        return self.counts(arm)[:, min(last, self.rounds) - 1]

    def hide(self, record: int) -> None:
        """Forget the action of one round: the view of joint differential privacy."""
        self.actions[:, record - 1] = -1
        self._counts.clear()


class Feature(Protocol):
    """A number read from a transcript."""

    @property
    def column(self) -> Column:
        """Name, words and kind."""
        ...

    @property
    def last(self) -> int:
        """The last round that it depends on."""
        ...

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        """Its value in every draw, shape (draws,)."""
        ...


@dataclass(frozen=True, slots=True)
class ActionAt:
    """The arm (or item) at place `place` of the action of round `round`."""

    round: int
    place: int
    size: int
    ranked: bool = False

    @property
    def column(self) -> Column:
        if self.ranked:
            words = f"the item shown at position {self.place} in round {self.round}"
        elif self.size == 1:
            words = f"the arm played in round {self.round}"
        else:
            words = f"arm {self.place} of round {self.round}'s super arm"
        name = f"action[{self.round},{self.place}]" if self.size > 1 else f"action[{self.round}]"
        return Column(name, words, "category")

    @property
    def last(self) -> int:
        return self.round

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        return transcript.actions[:, self.round - 1, self.place - 1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class PlayTime:
    """The round of the n-th play of an arm after a round; `within` + 1 if it comes later than `within`."""

    arm: int
    number: int
    after: int
    within: int

    @property
    def column(self) -> Column:
        nth = {1: "first", 2: "second", 3: "third"}.get(self.number, f"{self.number}-th")
        since = f" after round {self.after}" if self.after else ""
        return Column(
            f"time[{self.arm},{self.number},{self.after}]",
            f"the round of the {nth} play of arm {self.arm}{since} (as {self.within + 1} if after round "
            f"{self.within})",
            "real",
        )

    @property
    def last(self) -> int:
        return self.within

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        counts = transcript.counts(self.arm)[:, self.after : self.within]
        needed = transcript.plays_until(self.arm, self.after) + self.number
        found: npt.NDArray[np.int64] = (counts < needed[:, np.newaxis]).sum(axis=1) + self.after + 1
        return found


@dataclass(frozen=True, slots=True)
class PlayCount:
    """How often an arm is played in rounds first .. last."""

    arm: int
    first: int
    last: int

    @property
    def column(self) -> Column:
        return Column(
            f"count[{self.arm},{self.first},{self.last}]",
            f"the number of plays of arm {self.arm} in rounds {self.first} to {self.last}",
            "real",
        )

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        until, before = (transcript.plays_until(self.arm, last) for last in (self.last, self.first - 1))
        return (until - before).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FirstSwitch:
    """The first round after `after` whose action is not that of the round before; `within` + 1 if none is."""

    after: int
    within: int

    @property
    def column(self) -> Column:
        return Column(
            f"switch[{self.after}]",
            f"the first round after round {self.after} whose action is not that of the round before (as "
            f"{self.within + 1} if none is up to round {self.within})",
            "real",
        )

    @property
    def last(self) -> int:
        return self.within

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        window = transcript.actions[:, self.after - 1 : self.within]
        same = np.cumprod((window[:, 1:] == window[:, :-1]).all(axis=2), axis=1, dtype=np.int32)
        switched: npt.NDArray[np.int64] = same.sum(axis=1) + self.after + 1
        return switched


@dataclass(frozen=True, slots=True)
class Path:
    """The actions of rounds first .. last as one whole number: a label of the whole path.

    The number has a digit for every place of every round, in base `arms` + 1, most significant first; digit d is
    arm d - 1, 0 is padding.
    """

    first: int
    last: int
    arms: int

    @property
    def column(self) -> Column:
        return Column(
            f"path[{self.first},{self.last}]",
            f"the path of rounds {self.first} to {self.last} (arm + 1 as digits in base {self.arms + 1})",
            "category",
        )

    def of(self, transcript: Transcript) -> npt.NDArray[np.int64]:
        window = transcript.actions[:, self.first - 1 : self.last].reshape(len(transcript.actions), -1)
        number = np.zeros(len(window), dtype=np.int64)
        for place in range(window.shape[1]):
            number = number * (self.arms + 1) + window[:, place] + 1
        return number

    @classmethod
    def of_column(cls, column: Column, arms: int) -> Path | None:
        """Return the path that a column holds, None if it holds another feature."""
        match = re.fullmatch(r"path\[(\d+),(\d+)\]", column.name)
        return None if match is None else cls(int(match[1]), int(match[2]), arms)

    def actions(self, number: int, size: int) -> list[int] | list[list[int]]:
        """Return the actions that a number stands for: arms, or lists of up to `size` arms without padding."""
        digits = []
        for _ in range((self.last - self.first + 1) * size):
            number, digit = divmod(number, self.arms + 1)
            digits.append(digit - 1)
        arms = digits[::-1]
        if size == 1:
            return arms
        return [[arm for arm in arms[k : k + size] if arm >= 0] for k in range(0, len(arms), size)]


def longest_path(arms: int, size: int) -> int:
    """How many rounds of a path fit in a whole number that is exact in floating point."""
    rounds = 0
    while (arms + 1) ** ((rounds + 1) * size) <= 2**53:
        rounds += 1
    return rounds


def doubling(limit: int) -> list[int]:
    """Return 1, 2, 4, ... up to the limit."""
    return [2**k for k in range(max(limit, 0).bit_length()) if 2**k <= limit]


def general_features(rounds: int, arms: Sequence[int], number_of_arms: int, size: int) -> list[Feature]:
    """Features that need no changed round: batch starts, counts at doubling times and paths from the start."""
    found: list[Feature] = []
    times = sorted({*doubling(rounds), rounds})
    for arm in arms:
        found += [PlayTime(arm, number, 0, rounds) for number in doubling(rounds)]
        found += [PlayCount(arm, 1, last) for last in times if last >= 4]
    longest = min(longest_path(number_of_arms, size), rounds)
    found += [Path(1, last, number_of_arms) for last in sorted({*doubling(longest), longest} - {0})]
    return found


def anchored_features(
    rounds: int, record: int, arms: Sequence[int], number_of_arms: int, size: int
) -> list[Feature]:
    """Features around the changed round: the next plays of every arm, the next switch, and the next path."""
    if not 1 <= record < rounds:
        return []
    found: list[Feature] = [FirstSwitch(record, rounds)]
    for arm in arms:
        found += [PlayTime(arm, number, record, rounds) for number in (1, 2)]
    length = min(longest_path(number_of_arms, size), rounds - record)
    found += [Path(record + 1, record + last, number_of_arms) for last in doubling(length)]
    return found


def first_actions(rounds: int, size: int, *, ranked: bool, first: int = 1) -> list[Feature]:
    """Return the actions of rounds first .. rounds."""
    return [
        ActionAt(number, place, size, ranked)
        for number in range(first, rounds + 1)
        for place in range(1, size + 1)
    ]


def read(features: Sequence[Feature], transcript: Transcript) -> ViewSample:
    """Read features of every draw: a view of one column each."""
    values = np.empty((len(transcript.actions), len(features)))
    for index, feature in enumerate(features):
        values[:, index] = feature.of(transcript)
    return ViewSample(values, tuple(feature.column for feature in features))


def without_repeats(features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the features, one for each column name."""
    named = {feature.column.name: feature for feature in reversed(list(features))}
    return tuple(reversed(named.values()))


def with_paths_spelled(event: Event, arms: int, size: int) -> Event:
    """Return the same event with its paths said as lists of actions, not as the numbers that label them.

    Parameters
    ----------
    event
        An event of a view of features.
    arms, size
        How many arms there are, and how many an action has.
    """
    if not isinstance(event, RowTable):
        return event
    readings = list(event.readings)
    for place, reading in enumerate(event.readings):
        if not isinstance(reading, Value):
            continue
        path = Path.of_column(reading.column, arms)
        if path is None:
            continue
        values = sorted({row[place] for row in event.rows})
        labels = tuple((value, str(path.actions(int(value), size))) for value in values)
        words = f"the sequence of arms of rounds {path.first} to {path.last}"
        readings[place] = replace(reading, column=replace(reading.column, words=words, labels=labels))
    return replace(event, readings=tuple(readings))
