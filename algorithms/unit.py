"""Units of privacy, a closed vocabulary: one report, or all reports of one person."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError, whole_number

RecordOf = Callable[[int], int]
"""The record's name of a round (or of a client, by its number): where one name comes again, its losses add up."""

ROUNDS_PLAYED = 8
"""The rounds of a person in simulated runs, where the unit sets no limit."""


def each_its_own(number: int) -> int:
    """Return the number itself: every round, or client, is a record of its own."""
    return number


@dataclass(frozen=True, slots=True)
class _OneReport:
    """Unit of privacy: one report, a value that one call of a gate's `private` admits, or one record of a data set."""

    WRITTEN_AS_TEXT: ClassVar = True  # in JSON

    def __str__(self) -> str:
        return "one report"

    @property
    def description(self) -> str:
        """The unit of privacy, as a sentence names it."""
        return "one report, which enters once"

    def names(self, rounds: int) -> RecordOf:
        """Return the record's name of each of `rounds` rounds: all differ."""
        return each_its_own

    everyone = names
    """Of rounds in which people take part as often as they ever may: the same."""

    def in_order(self) -> RecordOf:
        """Return the record's name of each client, whichever reports next: all differ."""
        return each_its_own

    everyone_in_order = in_order


@dataclass(frozen=True, slots=True)
class OnePerson:
    """One person: all that comes under one name.

    Parameters
    ----------
    rounds
        The largest number of rounds that the person takes part in; None for no limit.

    Raises
    ------
    ParameterError
        If it is no whole number of at least 1.
    """

    WRITTEN_AS_TEXT: ClassVar = True  # in JSON

    rounds: int | None = None

    def __post_init__(self) -> None:
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole_number("rounds", self.rounds, least=1))

    def __str__(self) -> str:
        return (
            "one person"
            if self.rounds is None
            else f"one person, at most {counted_noun(self.rounds, 'round')}"
        )

    @property
    def description(self) -> str:
        """The unit of privacy, as a sentence names it."""
        most = (
            "in however many rounds"
            if self.rounds is None
            else f"in at most {counted_noun(self.rounds, 'round')}"
        )
        return f"one person, with all reports under the person's name, {most}"

    def names(self, rounds: int) -> RecordOf:
        """Return the record's name of each of `rounds` rounds: people take turns, as often as the limit permits."""
        return _in_turn(-(-rounds // (self.rounds or ROUNDS_PLAYED)))

    def everyone(self, rounds: int) -> RecordOf:
        """Return the names of rounds in which people take part as often as they ever may: without limit it is one.

        With a limit one person comes so often in a row, then two take turns, then three, ...: noise that is wrong in
        every k-th round meets a person in all of these.
        """
        return _in_turn(1) if self.rounds is None else _in_growing_groups(self.rounds)

    def in_order(self) -> RecordOf:
        """Return the record's name of each client, in the order of reports: equal numbers in a row are one person.

        For one play: how many clients will report need not be known.
        """
        times, seen = self.rounds or ROUNDS_PLAYED, dict[int, int]()
        return lambda client: seen.setdefault(client, len(seen)) // times + 1

    def everyone_in_order(self) -> RecordOf:
        """Return the record's name of each client, whichever reports next, as `everyone` does: for one play."""
        name, seen = _in_turn(1) if self.rounds is None else _in_growing_groups(self.rounds), dict[int, int]()
        return lambda client: name(seen.setdefault(client, len(seen)) + 1)


def _in_turn(people: int) -> RecordOf:
    return lambda number: number if number < 1 else (number - 1) % max(people, 1) + 1


def _in_growing_groups(times: int) -> RecordOf:
    def name(number: int) -> int:
        if number < 1:
            return number
        size = (math.isqrt(8 * ((number - 1) // times) + 1) + 1) // 2
        people = size * (size - 1) // 2  # in the groups before
        return people + (number - 1 - times * people) % size + 1

    return name


Unit = _OneReport | OnePerson
ONE_REPORT = _OneReport()
"""The unit of a claim that protects one report: a value that enters once."""
VOCABULARY = "'one report', 'one person, at most N rounds' or 'one person'"


def named_unit(words: str) -> Unit:
    """Return the unit of these words.

    Raises
    ------
    ParameterError
        If it is none, or no text.
    """
    if not isinstance(words, str):
        raise ParameterError(f"unit = {words!r}: must be {VOCABULARY}, in words")
    return checked_unit(words)


def checked_unit(unit: object) -> Unit:
    """Return a unit, which may be given by its words.

    Raises
    ------
    ParameterError
        If it is none; the message lists the vocabulary.
    """
    if isinstance(unit, _OneReport | OnePerson):
        return unit
    said = " ".join(unit.lower().split()) if isinstance(unit, str) else ""
    if said == str(ONE_REPORT):
        return ONE_REPORT
    person = re.fullmatch(r"one person(?:, at most ([1-9][0-9]{0,8}) rounds?)?", said)
    if person is not None:
        return OnePerson(None if person[1] is None else int(person[1]))
    raise ParameterError(
        f"unit = {unit!r}: must be {VOCABULARY} (ONE_REPORT, OnePerson(rounds=N) or OnePerson()); what a record stands "
        "for beyond that is a comment"
    )
