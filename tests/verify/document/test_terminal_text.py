"""Documents on a terminal: what is shown there, what is left to pages, and what is not broken into lines."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

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
)
from verify.document.terminal_text import print_document
from verify.findings.sentences import remark

LINE = "dpwitness verify " + "long/" * 30
BLOCKS: tuple[Block, ...] = (
    Paragraph(remark("a [b]paragraph[/b]")),
    Bullets((remark("a bullet"),)),
    Facts((("[name]", "a fact"),)),
    TextTable(("[heading]", "other"), (("[red]cell", "[/x]"),)),
    Code(LINE),
    Picture("<svg/>", remark("a drawing in words"), "├█┤"),
    Picture("<svg/>", remark("a drawing for pages")),
    Photo(b"", remark("a photo for pages")),
    Details("For specialists", (Paragraph(remark("a detail")),)),
)
DOCUMENT = Document(
    "SEEN",
    "open",
    "[it]",
    remark("What it means, which takes more than a line."),
    (
        Section("Shown", BLOCKS, (Paragraph(remark("for strangers")),)),
        Section("Hidden", (), (Paragraph(remark("origins")),)),
    ),
)


def printed() -> list[str]:
    file = io.StringIO()
    document = replace(DOCUMENT, made="made by X")
    print_document(document, Console(file=file, width=40, color_system=None))
    return file.getvalue().splitlines()


def test_everything_but_the_background_and_details_is_shown_as_it_is() -> None:
    assert printed() == [
        "SEEN  [it]",
        "What it means, which takes more than a",
        "line.",
        "",
        "Shown",
        "  a [b]paragraph[/b]",
        "  - a bullet",
        "  [name]  a fact",
        "  [heading]  other",
        "  [red]cell  [/x]",
        f"  {LINE}",
        "  ├█┤",
        "",
        "made by X",
    ]
