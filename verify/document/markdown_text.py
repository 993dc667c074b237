"""Documents as Markdown; pictures in characters, or in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from verify.document.characters import characters
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Photo,
    Picture,
    Section,
    TextTable,
    Words,
    report_title,
)
from verify.findings.printable import printable

_MARKS = re.compile(r"([\\`*_\[\]#|~$]|^[-+=]|(?<=^[0-9])[.)](?=\s)|(?<=^[0-9]{2})[.)](?=\s))")


def markdown(documents: Sequence[Document], made: str) -> str:
    """Return documents as Markdown; several begin with a table of contents.

    Parameters
    ----------
    documents
        At least one.
    made
        The date and the program of the document.
    """
    parts = []
    if len(documents) > 1:
        parts.append(f"# {report_title(documents)}")
        parts.append("\n".join(f"1. {_escape_marks(document.title)}" for document in documents))
    level = 2 if len(documents) > 1 else 1
    for document in documents:
        parts.append(f"{'#' * level} {_escape_marks(document.title)}")
        parts.append(f"**{_escape_marks(document.meaning)}**")
        parts += _blocks(document.summary.blocks)
        parts += [part for section in document.sections for part in _section(section, level + 1)]
    return "\n\n".join([*parts, "---", _escape_marks(made)]) + "\n"


def _section(section: Section, level: int) -> list[str]:
    return [f"{'#' * level} {_escape_marks(section.title)}", *_blocks(section.blocks + section.background)]


def _blocks(blocks: Iterable[Block]) -> list[str]:
    return [part for block in blocks for part in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph(text):
            return [_escape_marks(text)]
        case Bullets(items):
            return ["\n".join(f"- {_escape_marks(item)}" for item in items)]
        case Facts(pairs):
            return [_table(("", ""), pairs)]
        case TextTable(heading, rows):
            return [_table(heading, rows)]
        case Code(line):
            return [_fenced(printable(line))]
        case Picture(drawing, words):
            drawn = characters(drawing)
            return [_fenced("\n".join(map(printable, drawn)))] if drawn else [f"*{_escape_marks(words)}*"]
        case Photo(_, words):
            return [f"*{_escape_marks(words)}*"]
        case Details(title, inner):
            return [f"<details><summary>{_escape_marks(title)}</summary>", *_blocks(inner), "</details>"]


def _table(heading: Sequence[str], rows: Iterable[Sequence[Words]]) -> str:
    said = [[_escape_marks(cell) for cell in row] for row in (heading, *rows)]
    lines = [said[0], ["---"] * len(heading), *said[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _escape_marks(text: Words) -> str:
    """Return a text without marks of Markdown or HTML: each is escaped."""
    plain = printable(str(text)).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKS.sub(r"\\\1", plain)
