"""The elements of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from verify.document.drawings import Drawing
from verify.findings.sentences import Sentence

Tone = Literal["good", "bad", "open", "plain"]

SIGNS: Mapping[Tone, str] = MappingProxyType({"good": "✓", "bad": "✗", "open": "?", "plain": "•"})
"""A character for each tone: no information is in the colour alone."""


Words: TypeAlias = str | Sentence
"""The content of a cell, or beside a name: a typed sentence if it is a statement about a subject, else a text."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of one sentence."""

    text: Sentence


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    items: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with its value."""

    pairs: tuple[tuple[str, Words], ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of as many texts as the heading has."""

    heading: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """One line to be typed."""

    line: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture.

    Attributes
    ----------
    drawing
        The drawing, as data.
    words
        The same in words, for readers that do not see it.
    """

    drawing: Drawing
    words: Sentence


@dataclass(frozen=True, slots=True)
class Photo:
    """A picture that was drawn elsewhere.

    Attributes
    ----------
    png
        The bytes of a PNG file.
    words
        Its content in words, for readers that do not see it.
    """

    png: bytes
    words: Sentence


@dataclass(frozen=True, slots=True)
class Details:
    """A folded part for specialists."""

    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Paragraph | Bullets | Facts | TextTable | Code | Picture | Photo | Details


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report with a heading of its own.

    Attributes
    ----------
    title, blocks
        The heading, and the content.
    background
        Further content on pages, by which strangers can judge the result. A terminal leaves it out.
    """

    title: str
    blocks: tuple[Block, ...]
    background: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class FirstScreen:
    """First screen of a report: the claim, the finding, how sure it is, its assumptions, and how to repeat it.

    Attributes
    ----------
    claimed, found, sure, rests_on
        A sentence or two each.
    again
        The command that repeats it; a sentence where there is none.
    person
        The meaning of the claim for a person; None where the first line has it.
    """

    claimed: Sentence
    found: Sentence
    sure: Sentence
    rests_on: Sentence
    again: Code | Sentence
    person: Sentence | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The summary as every format shows it."""
        pairs: list[tuple[str, Words]] = [] if self.person is None else [("For a person", self.person)]
        pairs += [("Claimed", self.claimed), ("Found", self.found), ("How sure", self.sure)]
        pairs += [("Assumed", self.rests_on)]
        if isinstance(self.again, Code):
            return Facts(tuple(pairs)), self.again
        return (Facts((*pairs, ("Again", self.again))),)


@dataclass(frozen=True, slots=True)
class Document:
    """The report of one result.

    Attributes
    ----------
    verdict, tone
        The verdict in a word or two, and its tone, good or bad; plain if nothing is judged.
    name
        Name of the subject of the report.
    meaning
        The first line, for a reader who does not know the field.
    summary
        The rest of the first screen.
    sections
        Everything else.
    made
        A last line on a terminal, with the program and versions that made it. A page has one of its own.
    """

    verdict: str
    tone: Tone
    name: str
    meaning: Sentence
    summary: FirstScreen
    sections: tuple[Section, ...] = field(default_factory=tuple)
    made: str = ""

    @property
    def title(self) -> str:
        """The verdict and the name of the subject."""
        return f"{self.verdict}: {self.name}"


def report_title(documents: Sequence[Document]) -> str:
    """Return the title of a report of these documents."""
    return documents[0].title if len(documents) == 1 else f"Privacy report on {len(documents)} results"
