"""What a report consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from verify.sentences import Sentence

Tone = Literal["good", "bad", "open", "plain"]

SIGNS: Mapping[Tone, str] = MappingProxyType({"good": "✓", "bad": "✗", "open": "?", "plain": "•"})
"""A character for each tone: nothing is told by its colour alone."""


Words: TypeAlias = str | Sentence
"""What stands beside a name or in a cell: a sentence where it says something of a subject, else a text."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence that stands by itself."""

    text: Sentence


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences that stand side by side."""

    items: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with what is to be said of it."""

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
    svg
        Drawn by `verify.document.charts`, which escapes what it writes: it is put into a page as it is.
    words
        What it shows, for whoever does not see it.
    plain
        The same in characters of one width; "" where words must do.
    """

    svg: str
    words: Sentence
    plain: str = ""


@dataclass(frozen=True, slots=True)
class Photo:
    """A picture that was drawn elsewhere.

    Attributes
    ----------
    png
        The bytes of a PNG file.
    words
        What it shows, for whoever does not see it.
    """

    png: bytes
    words: Sentence


@dataclass(frozen=True, slots=True)
class Details:
    """What only specialists unfold."""

    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = Paragraph | Bullets | Facts | TextTable | Code | Picture | Photo | Details


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report with a heading of its own.

    Attributes
    ----------
    title, blocks
        The heading, and what stands under it.
    background
        What follows on pages: for strangers, who judge the result by it. A terminal leaves it out.
    """

    title: str
    blocks: tuple[Block, ...]
    background: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What is said of one result.

    Attributes
    ----------
    verdict, tone
        The verdict in a word or two, and whether it is good news; plain is what judges nothing.
    name
        What it is about.
    meaning
        The first line, for a reader who does not know the field.
    sections
        Everything else.
    """

    verdict: str
    tone: Tone
    name: str
    meaning: Sentence
    sections: tuple[Section, ...] = field(default_factory=tuple)

    @property
    def title(self) -> str:
        """What it is about, with the verdict."""
        return f"{self.verdict}: {self.name}"


def report_title(documents: Sequence[Document]) -> str:
    """Return the title of a report of these documents."""
    return documents[0].title if len(documents) == 1 else f"Privacy report on {len(documents)} results"
