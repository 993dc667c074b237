"""Sentences of reports, each typed by its evidence: its words may be no stronger than the evidence.

A sentence from counts that reads like a proof is refused where it is built. That is a net, and no proof: a sentence
called exact by mistake passes. The law tests (`tests/verify/test_sentences_of_known_laws.py`) hold subjects of known
laws against the basis, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum, unique
from string import Formatter
from typing import Any

from accountant.files.json_form import json_able, reader_of
from accountant.files.json_object import JsonObject
from mechanisms.numerics.printed_numbers import percent, words_after
from mechanisms.parameters import ParameterError
from verify.findings.subject_error import describe_error

_FORMATTER = Formatter()

ABSOLUTE = re.compile(
    r"\b(never|always|whatever|every|cannot|impossible|without error|there is no|no privacy|proves?|certain(ly|ty)?)\b",
    re.IGNORECASE,
)
"""Words that only exact evidence may use."""


@unique
class Basis(StrEnum):
    """The evidence that a sentence rests on.

    EXACT is computed, proved, or something that happened in a run. CONFIDENT holds except with a probability that the
    sentence states. OBSERVED counts draws, calls or runs, and infers nothing from them. METADATA makes no claim about
    a subject: it names, explains, or gives instructions.
    """

    EXACT = "exact"
    CONFIDENT = "confidence"
    OBSERVED = "observed"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a report, and the evidence it rests on.

    Attributes
    ----------
    text
        The sentence.
    basis
        Its evidence.
    confidence
        For a CONFIDENT sentence, the probability with which it holds, which its text states in percent.
    draws
        For an OBSERVED sentence, the number of draws, calls or runs, which its text states; for a CONFIDENT one, the
        draws behind it, if it is known.
    quoted
        Parts of the text that are somebody else's words, as names and error messages are: they may say anything.

    Raises
    ------
    ParameterError
        If the words are stronger than the basis, a confidence is missing or none, or a number of draws is missing.

    Examples
    --------
    >>> Sentence("the output never varied", Basis.OBSERVED, draws=1000)
    Traceback (most recent call last):
        ...
    mechanisms.parameters.ParameterError: 'the output never varied': 'never' needs exact evidence, and this is observed
    """

    text: str
    basis: Basis
    confidence: float | None = None
    draws: int | None = None
    quoted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        own = self.text
        for part in sorted(self.quoted, key=len, reverse=True):
            own = own.replace(part, "")
        if self.basis is not Basis.EXACT and (found := ABSOLUTE.search(own)):
            raise ParameterError(
                f"{self.text!r}: {found[0]!r} needs exact evidence, and this is {self.basis.value}"
            )
        if self.basis is Basis.CONFIDENT and (
            self.confidence is None
            or not 0.0 <= self.confidence <= 1.0
            or percent(self.confidence) not in self.text
        ):
            raise ParameterError(f"{self.text!r}: must state its confidence, {self.confidence}")
        if self.basis is Basis.OBSERVED and (self.draws is None or f"{self.draws:,}" not in self.text):
            raise ParameterError(f"{self.text!r}: must state its number of draws, {self.draws}")

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the sentence as JSON data."""
        data: dict[str, Any] = json_able(self)
        return data

    def with_words(self, words: str) -> Sentence:
        """Return the sentence with more words at its end."""
        return replace(self, text=f"{self.text}{words}")


def exact(words: str, /, **values: object) -> Sentence:
    """Return a sentence on a fact that was computed, proved, or happened; `values` replace its words' braces."""
    return filled(words, Basis.EXACT, values)


def confident(words: str, /, confidence: float, draws: int | None = None, **values: object) -> Sentence:
    """Return a sentence that holds with a confidence, which its words state as ``{confidence}``."""
    return filled(words, Basis.CONFIDENT, {"confidence": confidence, "draws": draws, **values})


def observed(words: str, /, draws: int, **values: object) -> Sentence:
    """Return a sentence on counts of draws, calls or runs; its words give their number as ``{draws:,}``."""
    return filled(words, Basis.OBSERVED, {"draws": draws, **values})


def remark(words: str, /, **values: object) -> Sentence:
    """Return a sentence that makes no claim about a subject; `values` replace the braces in its words."""
    return filled(words, Basis.METADATA, values)


def filled(words: str, basis: Basis, values: Mapping[str, Any]) -> Sentence:
    """Return the sentence of words with values in their braces.

    Parameters
    ----------
    words, basis
        The words, and their basis.
    values
        Texts and errors are quoted. ``confidence`` is a share, written in percent; it and ``draws`` are the sentence's.
    """
    confidence, draws = values.get("confidence"), values.get("draws")
    said = dict(values) if confidence is None else {**values, "confidence": percent(confidence)}
    parts, quoted = list[str](), list[str]()
    for literal, name, form, conversion in _FORMATTER.parse(words):
        parts.append(words_after(parts[-1] if parts else "", literal))
        if name is None:
            continue
        value = said[name]
        if isinstance(value, BaseException):
            value = describe_error(value)
        parts.append(_FORMATTER.format_field(_FORMATTER.convert_field(value, conversion), form or ""))
        if not isinstance(value, int | float) and ABSOLUTE.search(parts[-1]):
            quoted.append(parts[-1])
    return Sentence("".join(parts), basis, confidence, draws, tuple(dict.fromkeys(quoted)))


read_sentence = reader_of(Sentence)
"""Return a sentence from its JSON form, an object of its fields; `ValueError` if its words are too strong."""


def sentence_of(data: Mapping[str, Any]) -> Sentence:
    """Read the sentence that `to_dict` wrote."""
    return read_sentence(JsonObject(dict(data), "a sentence"))
