"""Documents on a terminal, with the first screen of a report and without its details.

Colours carry no information that the words do not. The text fits into 80 columns, without blanks at the ends of lines.
Where the terminal's encoding is not Unicode, words and pictures are spelled in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from verify.document.characters import characters
from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Document,
    Facts,
    Paragraph,
    Picture,
    TextTable,
    Tone,
    Words,
)
from verify.findings.printable import printable

_STYLES: Mapping[Tone, str] = {
    "good": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "plain": "bold",
}

_BAR = "[█▁▂▃▄▅▆▇◆#*]+"  # of a picture: the filled parts
_FACT = 24  # columns of a name, at most
_SPELLED = str.maketrans(
    {"ε": "epsilon", "δ": "delta", "μ": "mu", "Σ": "sum", "′": "'", "∞": "inf", "±": "+-"}
    | {"Δ": "Delta", "θ": "theta", "√": "sqrt"}
    | {"≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "…": "...", "−": "-", "·": "*"}
    | dict(zip("─├┤┼┄█▼◆▁▂▃▄▅▆▇", "-||+.#v*_.,:;=%", strict=True))
)


def print_document(document: Document, console: Console) -> None:
    """Print a document without its details, as wide and in the characters that the console has."""
    style = _STYLES[document.tone]
    heading = Text.assemble((document.verdict, style), "  ", (_terminal_text(document.name, console), "bold"))
    console.print(_Trimmed(heading), _Trimmed(Text(_terminal_text(document.meaning, console))), sep="")
    console.print()
    print_blocks(document.summary.blocks, console, style, indent=2)
    for section in document.sections:
        if section.blocks:
            console.print(Text(f"\n{_terminal_text(section.title, console)}", style="bold underline"))
            print_blocks(section.blocks, console, style, indent=2)
    if document.made:
        console.print(_Trimmed(Text(f"\n{_terminal_text(document.made, console)}")))


def print_blocks(
    blocks: Iterable[Block],
    console: Console,
    style: str = "bold",
    *,
    indent: int = 0,
) -> None:
    """Print parts of a document; `style` is that of the filled parts of pictures."""
    for block in blocks:
        shown: RenderableType
        match block:
            case Paragraph(text):
                shown = Text(_terminal_text(text, console))
            case Bullets(items):
                shown = _grid((("-", item) for item in items), console, padding=1)
            case Facts(pairs):
                shown = _grid(pairs, console, padding=2)
            case TextTable(heading, rows):
                spelled = [[_terminal_text(cell, console) for cell in row] for row in rows]
                shown = plain_table([_terminal_text(name, console) for name in heading], spelled)
            case Picture(drawing) if drawn := characters(drawing):
                shown = Text("\n".join(_terminal_text(line, console) for line in drawn), no_wrap=True)
                shown.highlight_regex(_BAR, style)
            case Code(line):  # in one line, however long: it is to be copied
                words = " " * indent + _terminal_text(line, console)
                console.print(Text(words, style="bold"), soft_wrap=True)
                continue
            case _:  # details and photos, which pages have
                continue
        console.print(_Trimmed(Padding(shown, (0, 0, 0, indent))))


def _terminal_text(text: Words, console: Console) -> str:
    """Return a printable text, spelled before lines are broken and columns set where only ASCII is shown."""
    text = printable(str(text))
    if not console.options.ascii_only:
        return text
    return text.translate(_SPELLED).encode("ascii", "replace").decode()


def _grid(rows: Iterable[tuple[str, Words]], console: Console, padding: int) -> Table:
    grid = Table.grid(padding=(0, padding))
    grid.add_column(style="bold", max_width=_FACT)
    for name, words in rows:
        grid.add_row(Text(_terminal_text(name, console)), Text(_terminal_text(words, console)))
    return grid


def plain_table(
    heading: Iterable[str], rows: Sequence[Iterable[str | Text]], otherwise: str = ""
) -> RenderableType:
    """Return a table in the style of all tables on a terminal, or a sentence if it would have no rows.

    Texts are shown as they are, markup included.
    """
    if otherwise and not rows:
        return otherwise
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in heading:
        table.add_column(Text(printable(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in row))
    return _Trimmed(table)


@dataclass(frozen=True)
class _Trimmed:
    """A renderable without the blanks that tables put at the ends of lines."""

    shown: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in console.render_lines(self.shown, options, pad=False):
            while line and not line[-1].text.strip():
                line.pop()
            yield from line[:-1]
            if line:
                yield Segment(line[-1].text.rstrip(), line[-1].style)
            yield Segment.line()
