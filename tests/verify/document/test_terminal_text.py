"""Documents on a terminal: what is shown there, what is left to pages, and what is not broken into lines."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from verify.document.drawings import Axis, Chart, Laws
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    FirstScreen,
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
    Picture(Laws("a reading", (), (0.5, "half"), (0.25, "a quarter")), remark("a drawing in words")),
    Picture(Chart(Axis("x", 0.0, 1.0), Axis("y", 0.0, 1.0), ()), remark("a drawing for pages")),
    Photo(b"", remark("a photo for pages")),
    Details("For specialists", (Paragraph(remark("a detail")),)),
)
DOCUMENT = Document(
    "SEEN",
    "open",
    "[it]",
    remark("What it means, which takes more than a line."),
    FirstScreen(
        remark("a claim"), remark("a find"), remark("sure"), remark("little"), Code("again"), remark("a risk")
    ),
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
        "  For a person  a risk",
        "  Claimed       a claim",
        "  Found         a find",
        "  How sure      sure",
        "  Assumed       little",
        "  again",
        "",
        "Shown",
        "  a [b]paragraph[/b]",
        "  - a bullet",
        "  [name]  a fact",
        "  [heading]  other",
        "  [red]cell  [/x]",
        f"  {LINE}",
        "  P(event | D)       50 %  " + "█" * 13,  # the rest is beyond the edge
        "  P(event | D′)      25 %  " + "█" * 13,
        "",
        "made by X",
    ]
