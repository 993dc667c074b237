"""Words as sequences: the numbers they write, the parts they list, or the letters they are made of.

A word among many is hardly ever seen twice, and a table of such words says nothing. What tells is often one letter,
the first parts, how many there are, or a number that is written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray
from verify.events.view_sample import Column
from verify.outputs.word_columns import WordCodes, Words

_Unit = Literal["number", "part", "letter"]

FEW_WORDS = 8
"""Different words up to which they are labels: a table of all of them says everything."""

MOST_PARTS = 64
"""Parts or letters that are columns of their own; longer words are still told by their length."""

_BETWEEN = re.compile(r"[\s,;|=:/]+")
_AROUND = "[](){}<>\"' \t\n"
_FRACTIONAL = re.compile(r"[.eE+-]")
_DIGITS = re.compile(r"[0-9]+")
_PARTS = re.compile(r"[^\s,;|=:/\[\](){}<>\"']+")


@dataclass(frozen=True)
class Spelling:
    """How the words at one place are taken apart.

    Attributes
    ----------
    unit
        What a word is made of; "number" if it is one itself.
    numeric
        For each of the first parts, whether it is a number.
    codes
        Of the parts that are no numbers.
    long
        Whether how many parts there are is a column.
    forms
        Of how a word is written around its digits or its parts: a space behind a number is none of the number; None
        for letters, of which nothing is left out.
    """

    unit: _Unit
    numeric: tuple[bool, ...]
    codes: WordCodes
    long: bool
    forms: WordCodes | None

    @classmethod
    def of(cls, words: Iterable[str]) -> Spelling | None:
        """Return how words like those seen are taken apart; None if they are few, or have nothing in them."""
        seen = sorted(set(words))
        if len(seen) <= FEW_WORDS:
            return None
        unit = _unit(seen)
        rows = [_parts_of(word, unit) for word in seen]
        lengths = {len(row) for row in rows}
        columns = list(zip_longest(*rows))[:MOST_PARTS]
        if not columns:
            return None
        numeric = tuple(
            unit != "letter" and _all_numbers([p for p in column if p is not None]) for column in columns
        )
        codes = WordCodes.of(
            part
            for column, number in zip(columns, numeric, strict=True)
            if not number
            for part in column
            if part is not None
        )
        forms = None if unit == "letter" else WordCodes.of(_form(word, unit) for word in seen)
        return cls(unit, numeric, codes, len(lengths) > 1, forms)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.numeric) + self.long + (self.forms is not None) + self._whole

    @property
    def _whole(self) -> bool:
        """Whether the length of a word is a column: of a number, which may have zeros at its end, or spaces."""
        return self.unit == "number"

    def columns(self, key: str, said: str) -> tuple[Column, ...]:
        """Return the columns of a place with this key and these words."""
        labels = self.codes.labels()
        found = [Column(f"{key}:number", f"{said} read as a number", "real")] if self._whole else []
        for i, number in enumerate(() if self._whole else self.numeric, start=1):
            name, words = f"{key}:{self.unit}[{i}]", f"{self.unit} {i} of {said}"
            found.append(Column(name, words, "real") if number else Column(name, words, "category", labels))
        if self.long:
            found.append(Column(f"{key}:{self.unit}s", f"the number of {self.unit}s of {said}", "real"))
        if self.forms is not None:
            forms = tuple(
                (code, f"'{form}'") for code, form in self.forms.labels()
            )  # shows a space at the end
            found.append(Column(f"{key}:form", f"the way in which {said} is written", "category", forms))
        if self._whole:
            found.append(Column(f"{key}:letters", f"the number of letters of {said}", "real"))
        return tuple(found)

    def values(self, words: Words) -> FloatArray:
        """Return the columns' values for n words, shape (n, width); NaN where a word has no such part."""
        table = np.full((len(words.vocabulary) + 1, self.width), np.nan)  # the last row is that of no word
        first = len(self.numeric)
        for row, word in zip(table, words.vocabulary, strict=False):
            parts = _parts_of(word, self.unit)
            for i, (part, numeric) in enumerate(zip(parts, self.numeric, strict=False)):
                row[i] = _number(part) if numeric else self.codes.number(part)
            beside = [float(len(parts))] if self.long else []
            beside += [self.forms.number(_form(word, self.unit))] if self.forms is not None else []
            beside += [float(len(word))] if self._whole else []
            row[first:] = beside
        return np.asarray(table[words.codes])


def _parts_of(word: str, unit: _Unit) -> Sequence[str]:
    """Return the parts of a word."""
    if unit == "letter":
        return word
    if unit == "number":
        return (word,)
    inner = word.strip(_AROUND)
    return [part.strip(_AROUND) for part in _BETWEEN.split(inner)] if inner else []


def _form(word: str, unit: _Unit) -> str:
    """Return a word with its digits, or its parts, left out: what stands around and between them."""
    return _DIGITS.sub("0", word) if unit == "number" else _PARTS.sub("x", word)


def _unit(words: Sequence[str]) -> _Unit:
    """Return what words are made of: numbers, parts between separators, or letters."""
    if _all_numbers(words) and (
        any(_FRACTIONAL.search(word) for word in words)  # bits, such as "0010", are no number
        or not any(len(word) > 1 and word.startswith("0") for word in words)
    ):
        return "number"
    separated = sum(_BETWEEN.search(word.strip(_AROUND)) is not None for word in words)
    return "part" if 2 * separated >= len(words) else "letter"


def _all_numbers(words: Iterable[str]) -> bool:
    return all(not np.isnan(_number(word)) for word in words)


def _number(word: str) -> float:
    """Return the number that a word writes; NaN if it writes none."""
    try:
        return float(word)
    except ValueError:
        return np.nan
