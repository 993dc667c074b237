"""Features of a sequence of actions as an adversary sees it, with descriptions that a reader can check.

The features here are functions of the actions, so an event of a feature is an event of the adversary's view. Private
learners act on noisy batch means, and a change of one record shows in *when* an arm is played again: so besides
the actions themselves there are times of the n-th play (n = 1, 2, 4, ...: where doubling batches begin), the next
play after the changed round, counts of plays at doubling times, the first switch, and the whole path while it is
short.
"""
# ruff: noqa: D102 (the methods of every feature are documented once, at `ActionFeature`)

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from algorithms.play import INITIAL_RECORD
from mechanisms.arrays import IntArray
from verify.events.event import Event, RowTable
from verify.events.readings import ColumnValue
from verify.events.view_sample import Column, ViewSample
from verify.transcripts.transcript import ActionSpace, Transcript

_MOST_ARMS = 12  # arms that features are made for: the most played
MOST_ACTIONS = 6
"""Rounds with actions that are features as they are."""


class ActionFeature(Protocol):
    """A number read from a transcript."""

    @property
    def column(self) -> Column:
        """Name, words and kind."""
        ...

    @property
    def last_round(self) -> int:
        """The last round that it depends on."""
        ...

    def values(self, transcript: Transcript) -> IntArray:
        """Its value in every draw, shape (draws,)."""
        ...


@dataclass(frozen=True, slots=True)
class ActionAt:
    """The arm (or item) at place `place` of the action of round `round`."""

    round: int
    place: int
    size: int
    ranked: bool = False
    labels: tuple[tuple[float, str], ...] = ()

    @property
    def column(self) -> Column:
        if self.ranked:
            words = f"the item shown at position {self.place} in round {self.round}"
        elif self.size == 1:
            words = f"the arm played in round {self.round}"
        else:
            words = f"arm {self.place} of round {self.round}'s super arm"
        name = f"action[{self.round},{self.place}]" if self.size > 1 else f"action[{self.round}]"
        return Column(name, words, "category", self.labels)

    @property
    def last_round(self) -> int:
        return self.round

    def values(self, transcript: Transcript) -> IntArray:
        return transcript.actions[:, self.round - 1, self.place - 1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class PlayTime:
    """The round of the n-th play of an arm after a round; `last_round` + 1 if it is later than that."""

    arm: int
    number: int
    after: int
    last_round: int

    @property
    def column(self) -> Column:
        nth = {1: "first", 2: "second", 3: "third"}.get(self.number, f"{self.number}-th")
        since = f" after round {self.after}" if self.after else ""
        return Column(
            f"time[{self.arm},{self.number},{self.after}]",
            f"the round of the {nth} play of arm {self.arm}{since} (as {self.last_round + 1} if after round "
            f"{self.last_round})",
            "real",
        )

    def values(self, transcript: Transcript) -> IntArray:
        counts = transcript.counts(self.arm)[:, self.after : self.last_round]
        needed = transcript.plays_until(self.arm, self.after) + self.number
        found: IntArray = (counts < needed[:, np.newaxis]).sum(axis=1) + self.after + 1
        return found


@dataclass(frozen=True, slots=True)
class PlayCount:
    """The number of plays of an arm in rounds first .. last."""

    arm: int
    first: int
    last_round: int

    @property
    def column(self) -> Column:
        one = self.first == self.last_round
        when = f"round {self.first}" if one else f"rounds {self.first} to {self.last_round}"
        return Column(
            f"count[{self.arm},{self.first},{self.last_round}]",
            f"the number of plays of arm {self.arm} in {when}",
            "real",
        )

    def values(self, transcript: Transcript) -> IntArray:
        until, before = (transcript.plays_until(self.arm, last) for last in (self.last_round, self.first - 1))
        return (until - before).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FirstSwitch:
    """The first round after `after` with another action than the round before; `last_round` + 1 if there is none."""

    after: int
    last_round: int

    @property
    def column(self) -> Column:
        return Column(
            f"switch[{self.after}]",
            f"the first round after round {self.after} whose action is not that of the round before (as "
            f"{self.last_round + 1} if none is up to round {self.last_round})",
            "real",
        )

    def values(self, transcript: Transcript) -> IntArray:
        window = transcript.actions[:, self.after - 1 : self.last_round]
        same = np.cumprod((window[:, 1:] == window[:, :-1]).all(axis=2), axis=1, dtype=np.int32)
        switched: IntArray = same.sum(axis=1) + self.after + 1
        return switched


@dataclass(frozen=True, slots=True)
class PlaysOfSame:
    """The number of repetitions of the action of a round until round `last_round`."""

    record: int
    last_round: int

    @property
    def column(self) -> Column:
        first, last = self.record + 1, self.last_round
        when = f"round {first}" if first == last else f"rounds {first} to {last}"
        words = f"the repeats of round {self.record}'s action in {when}"
        return Column(f"repeats[{self.record},{last}]", words, "real")

    def values(self, transcript: Transcript) -> IntArray:
        actions = transcript.actions
        same = (actions[:, self.record : self.last_round] == actions[:, self.record - 1, np.newaxis]).all(
            axis=2
        )
        found: IntArray = same.sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class ActionPath:
    """The actions of rounds first .. last as one whole number: a label of the whole path.

    The number has a digit for every place of every round, in base `arms` + 1, most significant first; digit d is
    arm d - 1, 0 is padding.
    """

    first: int
    last_round: int
    arms: int

    @property
    def column(self) -> Column:
        return Column(
            f"path[{self.first},{self.last_round}]",
            f"the path of rounds {self.first} to {self.last_round} (arm + 1 as digits in base {self.arms + 1})",
            "category",
        )

    def values(self, transcript: Transcript) -> IntArray:
        window = transcript.actions[:, self.first - 1 : self.last_round].reshape(len(transcript.actions), -1)
        number = np.zeros(len(window), dtype=np.int64)
        for place in range(window.shape[1]):
            number = number * (self.arms + 1) + window[:, place] + 1
        return number

    @classmethod
    def of_column(cls, column: Column, arms: int) -> ActionPath | None:
        """Return the path that a column holds, None if it holds another feature."""
        match = re.fullmatch(r"path\[(\d+),(\d+)\]", column.name)
        return None if match is None else cls(int(match[1]), int(match[2]), arms)

    def actions(self, number: int, size: int) -> list[int] | list[list[int]]:
        """Return the actions that a number encodes: arms, or lists of up to `size` arms without padding."""
        digits = []
        for _ in range((self.last_round - self.first + 1) * size):
            number, digit = divmod(number, self.arms + 1)
            digits.append(digit - 1)
        arms = digits[::-1]
        if size == 1:
            return arms
        return [[arm for arm in arms[k : k + size] if arm >= 0] for k in range(0, len(arms), size)]


def _longest_path(space: ActionSpace) -> int:
    """Return the largest number of rounds of a path that is one whole number, exact in floating point."""
    rounds = 0
    while (space.arms + 1) ** ((rounds + 1) * space.size) <= 2**53:
        rounds += 1
    return rounds


def doubling(limit: int) -> list[int]:
    """Return 1, 2, 4, ... up to the limit."""
    return [2**k for k in range(max(limit, 0).bit_length())]


def _general_features(rounds: int, arms: Sequence[int], space: ActionSpace) -> list[ActionFeature]:
    """Features that need no changed round: batch starts, counts at doubling times and paths from the start."""
    found: list[ActionFeature] = []
    times = sorted({*doubling(rounds), rounds})
    for arm in arms:
        found += [PlayTime(arm, number, 0, rounds) for number in doubling(rounds)]
        found += [PlayCount(arm, 1, last) for last in times if last >= 4]
    longest = min(_longest_path(space), rounds)
    found += [ActionPath(1, last, space.arms) for last in sorted({*doubling(longest), longest} - {0})]
    return found


def _anchored_features(
    rounds: int, record: int, arms: Sequence[int], space: ActionSpace
) -> list[ActionFeature]:
    """Features around the changed round: the next plays of every arm, the next switch, and the next path."""
    if not 1 <= record < rounds:
        return []
    found: list[ActionFeature] = [FirstSwitch(record, rounds)]
    for arm in arms:
        found += [PlayTime(arm, number, record, rounds) for number in (1, 2)]
    length = min(_longest_path(space), rounds - record)
    found += [ActionPath(record + 1, record + last, space.arms) for last in doubling(length)]
    return found


def first_actions(rounds: int, space: ActionSpace, *, first: int = 1) -> list[ActionFeature]:
    """Return the actions of rounds first .. rounds."""
    return [
        ActionAt(number, place, space.size, space.ranked, space.labels)
        for number in range(first, rounds + 1)
        for place in range(1, space.size + 1)
    ]


def features_for(
    transcript: Transcript, space: ActionSpace, record: int | None, *, general: bool = True
) -> list[ActionFeature]:
    """Return the features for a scan: general ones, those anchored at a record's round, or both."""
    played = np.bincount(transcript.actions[transcript.actions >= 0].astype(np.int64), minlength=space.arms)
    shown = sorted(np.argsort(-played, kind="stable")[:_MOST_ARMS].tolist())
    found: list[ActionFeature] = []
    if general:
        found += _general_features(transcript.rounds, shown, space)
        found += first_actions(min(transcript.rounds, MOST_ACTIONS), space)
    if record is not None and record != INITIAL_RECORD:
        found += _anchored_features(transcript.rounds, record, shown, space)
    return found


def read_features(features: Sequence[ActionFeature], transcript: Transcript) -> ViewSample:
    """Read features of every draw: a view of one column each."""
    values = np.empty((len(transcript.actions), len(features)))
    for index, feature in enumerate(features):
        values[:, index] = feature.values(transcript)
    return ViewSample(values, tuple(feature.column for feature in features))


def without_repeats(features: Iterable[ActionFeature]) -> tuple[ActionFeature, ...]:
    """Return the features, one for each column name."""
    named = {feature.column.name: feature for feature in reversed(list(features))}
    return tuple(reversed(named.values()))


def with_paths_spelled(event: Event, space: ActionSpace) -> Event:
    """Return the same event with its paths as lists of actions, not as the numbers that label them.

    Parameters
    ----------
    event
        An event of a view of features.
    space
        The space of actions.
    """
    if not isinstance(event, RowTable):
        return event
    readings = list(event.readings)
    for place, reading in enumerate(event.readings):
        if not isinstance(reading, ColumnValue):
            continue
        path = ActionPath.of_column(reading.column, space.arms)
        if path is None:
            continue
        values = sorted({row[place] for row in event.rows})
        ends, said = {f"{number:.0f}": words for number, words in space.labels}, []
        for value in values:
            arms = [ends.get(str(arm), str(arm)) for arm in path.actions(int(value), space.size)]
            said.append(arms[0] if path.first == path.last_round else f"[{', '.join(arms)}]")
        labels = tuple(zip(values, said, strict=True))
        words = f"the sequence of arms of rounds {path.first} to {path.last_round}"
        if path.first == path.last_round:
            words = f"the {'arm' if space.size == 1 else 'super arm'} of round {path.first}"
        readings[place] = replace(reading, column=replace(reading.column, words=words, labels=labels))
    return replace(event, readings=tuple(readings))
