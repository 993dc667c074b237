"""Words as sequences: the numbers they write, the parts they list, or the letters they are made of.

A word among many is hardly ever seen twice, and a table of such words shows nothing. A difference is often in one
letter, the first parts, their number, or a number that is written out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.word_columns import WordCodes, Words

_Unit = Literal["number", "part", "letter"]

FEW_WORDS = 8
"""Different words up to which they are labels: a table of all of them holds all information."""

MOST_PARTS = 64
"""Parts or letters that are columns of their own; longer words still differ in their length."""

_FURTHER = 4
"""Parts or letters behind these that are columns, too, where data sets choose them: those that differ most."""

_BEYOND_CHANCE = 8.0  # standard deviations of chi-squared by which the parts at a place must differ

_BETWEEN = re.compile(r"[\s,;|=:/]+")
_AROUND = "[](){}<>\"' \t\n"
_AROUND_A_NUMBER = re.compile(r"[^\d\s,;|=:/+-]*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[^\d\s,;|=:/]*")
_FRACTIONAL = re.compile(r"[.eE+-]")
_DIGITS = re.compile(r"[0-9]+")
_PARTS = re.compile(r"[^\s,;|=:/\[\](){}<>\"']+")


@dataclass(frozen=True)
class Spelling:
    """The division of the words at one place into parts.

    Attributes
    ----------
    unit
        The unit of the parts; "number" if a word is one itself.
    places
        The parts that are columns: the first ones, and further ones that differ between data sets.
    numeric
        For each of these, True if it is a number.
    codes
        Codes of the parts that are no numbers.
    long
        True if the number of parts is a column.
    forms
        Codes of a word's form around its digits or its parts: a space behind a number is not part of the number; None
        for letters, of which nothing is left out.
    """

    unit: _Unit
    places: tuple[int, ...]
    numeric: tuple[bool, ...]
    codes: WordCodes
    long: bool
    forms: WordCodes | None

    @classmethod
    def from_words(cls, *apart: Sequence[str]) -> Spelling | None:
        """Return the division into parts of words like those seen; None if they are few, or are empty.

        Parameters
        ----------
        *apart
            The words on each of several data sets, as often as they came.
        """
        seen = sorted(set().union(*apart))
        if len(seen) <= FEW_WORDS:
            return None
        unit = _unit(seen)
        rows = [_parts_of(word, unit) for word in seen]
        lengths = {len(row) for row in rows}
        every = list(zip_longest(*rows))
        if not every:
            return None
        places = [
            *range(min(len(every), MOST_PARTS)),
            *_telling_places([[_parts_of(w, unit) for w in of] for of in apart]),
        ]
        columns = [every[place] for place in places]
        numeric = tuple(
            unit != "letter" and _all_numbers([p for p in column if p is not None]) for column in columns
        )
        codes = WordCodes.from_words(
            part
            for column, number in zip(columns, numeric, strict=True)
            if not number
            for part in column
            if part is not None
        )
        forms = None if unit == "letter" else WordCodes.from_words(_form(word, unit) for word in seen)
        return cls(unit, tuple(places), numeric, codes, len(lengths) > 1, forms)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.numeric) + self.long + (self.forms is not None) + self._is_number

    @property
    def _is_number(self) -> bool:
        """True if words are numbers: their length is a column, too, as they may end in zeros or spaces."""
        return self.unit == "number"

    def columns(self, key: str, said: str) -> tuple[Column, ...]:
        """Return the columns of a place with this key and these words."""
        labels = self.codes.labels(self.unit)
        found = []
        if self.long:
            found.append(Column(f"{key}:{self.unit}s", f"the number of {self.unit}s of {said}", "real"))
        if self._is_number:
            found.append(Column(f"{key}:number", f"{said} read as a number", "real"))
        for place, number in zip(self.places, () if self._is_number else self.numeric, strict=False):
            name, words = f"{key}:{self.unit}[{place + 1}]", f"{self.unit} {place + 1} of {said}"
            found.append(Column(name, words, "real") if number else Column(name, words, "category", labels))
        if self.forms is not None:
            forms = self.forms.labels("way")
            found.append(Column(f"{key}:form", f"the way in which {said} is written", "category", forms))
        if self._is_number:
            found.append(Column(f"{key}:letters", f"the number of letters of {said}", "real"))
        return tuple(replace(column, is_entry=False) for column in found)

    def values(self, words: Words) -> FloatArray:
        """Return the columns' values for n words, shape (n, width); NaN where a word has no such part."""
        table = np.full((len(words.vocabulary) + 1, self.width), np.nan)  # the last row is that of no word
        end = self.long + len(self.numeric)
        for row, word in zip(table, words.vocabulary, strict=False):
            parts = _parts_of(word, self.unit)
            row[: self.long] = len(parts)
            for i, (place, numeric) in enumerate(
                zip(self.places, self.numeric, strict=True), start=self.long
            ):
                if place < len(parts):
                    read = _number_within if numeric else self.codes.code_of
                    row[i] = read(parts[place])
            beside = [self.forms.code_of(_form(word, self.unit))] if self.forms is not None else []
            beside += [float(len(word))] if self._is_number else []
            row[end:] = beside
        return np.asarray(table[words.codes])


def _telling_places(apart: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    """Return the places behind the first ones at which parts differ most between data sets, by more than chance."""
    longest = max((len(parts) for of in apart for parts in of), default=0)
    found = []
    for place in range(MOST_PARTS, longest):
        counts = [Counter(parts[place] for parts in of if place < len(parts)) for of in apart]
        known = sorted(set().union(*counts))
        table = np.array([[count[part] for part in known] for count in counts], dtype=np.float64)
        table = table[table.sum(axis=1) > 0.0]
        freedom = (len(table) - 1) * (len(known) - 1)
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        above = float(((table - expected) ** 2 / expected).sum()) - freedom
        if above > _BEYOND_CHANCE * np.sqrt(2.0 * freedom):
            found.append((-above, place))
    return sorted(place for _, place in sorted(found)[:_FURTHER])


def _parts_of(word: str, unit: _Unit) -> Sequence[str]:
    """Return the parts of a word."""
    if unit == "letter":
        return word
    if unit == "number":
        return (word,)
    inner = word.strip(_AROUND)
    return [part.strip(_AROUND) for part in _BETWEEN.split(inner)] if inner else []


def _form(word: str, unit: _Unit) -> str:
    """Return a word with each run of digits, or each number and each other part, replaced by one character."""
    return _DIGITS.sub("0", word) if unit == "number" else _PARTS.sub(_form_of_part, word)


def _form_of_part(part: re.Match[str]) -> str:
    number = _AROUND_A_NUMBER.fullmatch(part[0])
    return "x" if number is None else part[0].replace(number[1], "0")


def _unit(words: Sequence[str]) -> _Unit:
    """Return the unit of words: numbers, parts between separators, or letters."""
    if _all_numbers(words) and (
        any(_FRACTIONAL.search(word) for word in words)  # bits, such as "0010", are no number
        or not any(len(word) > 1 and word.startswith("0") for word in words)
    ):
        return "number"
    separated = sum(_BETWEEN.search(word.strip(_AROUND)) is not None for word in words)
    return "part" if 2 * separated >= len(words) else "letter"


def _all_numbers(words: Iterable[str]) -> bool:
    return all(not np.isnan(_number_within(word)) for word in words)


def _number_within(word: str) -> float:
    """Return the number that a word denotes or, as "$3.50" and "12ms" do, holds; NaN without one, and of several."""
    found = _AROUND_A_NUMBER.fullmatch(word)
    try:
        return float(word if found is None else found[1])
    except ValueError:
        return np.nan
