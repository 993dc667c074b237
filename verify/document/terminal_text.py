"""Documents on a terminal, for a person who does not have the paper at hand, without the background that pages have.

Everything is said in words as well as in colour, and fits into 80 columns. Where the terminal's encoding is not
Unicode, words and pictures are spelled in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from verify.document.elements import (
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Picture,
    TextTable,
    Tone,
)
from verify.printable import printable

_STYLES: Mapping[Tone, str] = {
    "good": "bold green",
    "bad": "bold red",
    "open": "bold yellow",
    "plain": "bold",
}

_BAR = "[█◆]+"  # of a picture: what its other characters frame
_FACT = 24  # columns of a name, at most
_SPELLED = str.maketrans(
    {"ε": "epsilon", "δ": "delta", "′": "'", "∞": "inf", "±": "+-"}
    | dict(zip("─├┤┼┄█▼◆", "-||+.#v*", strict=True))
)


def print_document(document: Document, console: Console, made: str = "", *, unfolded: bool = False) -> None:
    """Print a document.

    Parameters
    ----------
    document
        What to print.
    console
        Where to; its width and encoding are respected.
    made
        A last line: by what it was made.
    unfolded
        Whether with what only specialists unfold.
    """
    if not console.options.ascii_only:
        _print(document, console, made, unfolded=unfolded)
        return
    with console.capture() as captured:
        _print(document, console, made, unfolded=unfolded)
    console.file.write(captured.get().translate(_SPELLED).encode("ascii", "replace").decode())


def _print(document: Document, console: Console, made: str, *, unfolded: bool) -> None:
    style = _STYLES[document.tone]
    console.print(Text.assemble((document.verdict, style), "  ", (printable(document.name), "bold")))
    console.print(Text(printable(document.meaning)))
    for section in document.sections:
        if section.blocks:
            console.print(Text(f"\n{section.title}", style="bold underline"))
            print_blocks(section.blocks, console, style, indent=2, unfolded=unfolded)
    if made:
        console.print(Text(f"\n{printable(made)}"))


def print_blocks(
    blocks: Iterable[Block],
    console: Console,
    style: str = "bold",
    *,
    indent: int = 0,
    unfolded: bool = False,
) -> None:
    """Print parts of a document; `style` is of what is filled in a picture, and the rest as in `print_document`."""
    for block in blocks:
        shown: RenderableType
        match block:
            case Paragraph(text):
                shown = Text(printable(text))
            case Bullets(items):
                shown = _grid((("-", item) for item in items), padding=1)
            case Facts(pairs):
                shown = _grid(pairs, padding=2)
            case TextTable(heading, rows):
                shown = plain_table(heading, rows)
            case Picture(plain=plain) if plain:
                shown = Text(plain, no_wrap=True)
                shown.highlight_regex(_BAR, style)
            case Code(line):  # in one line, however long: it is to be copied
                console.print(Text(" " * indent + printable(line), style="bold"), soft_wrap=True)
                continue
            case Details(title, inner) if unfolded:
                console.print(Text(f"{' ' * indent}{title}:", style="bold"))
                print_blocks(inner, console, style, indent=indent, unfolded=unfolded)
                continue
            case _:
                continue
        console.print(Padding(shown, (0, 0, 0, indent)))


def _grid(rows: Iterable[tuple[str, str]], padding: int) -> Table:
    grid = Table.grid(padding=(0, padding))
    grid.add_column(style="bold", max_width=_FACT)
    for name, words in rows:
        grid.add_row(Text(printable(name)), Text(printable(words)))
    return grid


def plain_table(heading: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> Table:
    """Return a table as all on a terminal look; texts are shown as they are, whatever they hold."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in heading:
        table.add_column(Text(printable(name)), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) if isinstance(cell, str) else cell for cell in row))
    return table
