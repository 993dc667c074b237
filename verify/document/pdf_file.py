"""Documents as PDF, for paper and archives: folds opened, every page numbered, text that can be searched and copied.

Needs the extra ``pdf``: reportlab writes, and the fonts, DejaVu, are matplotlib's. Equal input gives equal bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    AnchorFlowable,
    BaseDocTemplate,
    Frame,
    Image,
    Indenter,
    PageBreak,
    PageTemplate,
    Spacer,
)
from reportlab.platypus import Paragraph as Lines
from reportlab.platypus import Table as Grid

from verify.document.elements import (
    SIGNS,
    Block,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Photo,
    Picture,
    TextTable,
    Tone,
    Words,
    report_title,
)
from verify.document.pdf_picture import drawing
from verify.printable import printable

_SANS, _BOLD, _MONO = "DejaVuSans", "DejaVuSans-Bold", "DejaVuSansMono"
_ACROSS, _TOP, _BOTTOM = 18 * mm, 16 * mm, 22 * mm
_WIDTH = A4[0] - 2 * _ACROSS
_PICTURE = 125 * mm
_FOLDED = 4 * mm  # how far the inside of a fold stands in
_PADDING = 4.0
_LONGEST_WORD = 110.0  # points; a cell breaks longer ones
_WIDEST = 0.4  # of a table: what a column may ask for
_FACT = 42 * mm

_INK, _SOFT, _RULE, _WASH = map(HexColor, ("#000000", "#333333", "#999999", "#f3f4f7"))
_TONES: Mapping[Tone, str] = {"good": "#14632e", "bad": "#a11a1a", "open": "#7a4b00", "plain": "#1b1b1f"}

_BODY = ParagraphStyle(
    "body",
    fontName=_SANS,
    fontSize=9,
    leading=12.5,
    textColor=_INK,
    spaceAfter=4,
    allowWidows=0,
    allowOrphans=0,
)
_MEANING = ParagraphStyle("meaning", _BODY, fontName=_BOLD, fontSize=10, leading=14, spaceAfter=6)
_BULLET = ParagraphStyle("bullet", _BODY, leftIndent=12, bulletIndent=2)
_CAPTION = ParagraphStyle("caption", _BODY, fontSize=8, leading=11, textColor=_SOFT)
_CODE = ParagraphStyle(
    "code", _BODY, fontName=_MONO, fontSize=8, leading=11, backColor=_WASH, borderPadding=5,
    spaceBefore=7, spaceAfter=9, leftIndent=5, rightIndent=5,
)  # fmt: skip
_CELL = ParagraphStyle("cell", _BODY, fontSize=8, leading=10.5, spaceAfter=0)
_HEAD = ParagraphStyle("head", _CELL, fontName=_BOLD)
_NAME = ParagraphStyle("name", _HEAD, textColor=_SOFT)
_FOLD = ParagraphStyle("fold", _BODY, fontName=_BOLD, spaceBefore=6, keepWithNext=1)
_TITLES = tuple(
    ParagraphStyle(
        f"title {level}",
        _BODY,
        fontName=_BOLD,
        fontSize=size,
        leading=1.3 * size,
        spaceBefore=0.8 * size,
        spaceAfter=0.35 * size,
        keepWithNext=1,
    )
    for level, size in enumerate((15, 13, 11))
)
_BARE = [(f"{side}PADDING", (0, 0), (-1, -1), 0) for side in ("LEFT", "RIGHT", "TOP", "BOTTOM")]


@dataclass
class _Layout:
    """Where things came to stand: the pages of the documents, and how many pages there are."""

    starts: dict[str, int] = field(default_factory=dict)
    pages: int = 0


def pdf(documents: Sequence[Document], made: str, date: datetime) -> bytes:
    """Return a PDF file of A4 pages; of several documents it begins with a table of contents.

    Parameters
    ----------
    documents
        At least one.
    made
        When and by what the file was made.
    date
        The same for the file's own metadata, with a time zone.

    Raises
    ------
    ImportError
        If the extra ``pdf`` is not installed (when this module is imported).
    """
    first = _Layout()
    _written(documents, made, date, first, _Layout())
    return _written(documents, made, date, _Layout(), first)  # now that the numbers of pages are known


def _written(
    documents: Sequence[Document], made: str, date: datetime, found: _Layout, known: _Layout
) -> bytes:
    """Write the file with the page numbers that are known, and note those that are found."""
    _register_fonts()
    title = printable(report_title(documents))
    file = BytesIO()
    template = BaseDocTemplate(
        file,
        pagesize=A4,
        title=title,
        author="dpwitness",
        subject=printable("; ".join(f"{each.name}: {each.meaning}" for each in documents)),
        creator=printable(made),
        lang="en",
        displayDocTitle=1,
        invariant=1,
    )

    def begun(canvas: Any, _: Any) -> None:
        found.pages = canvas.getPageNumber()
        canvas.setDateFormatter(lambda *_: f"D:{date:%Y%m%d%H%M%S}{_offset(date)}")
        canvas.setFont(_SANS, 7.5)
        canvas.setFillColor(_SOFT)
        canvas.drawString(_ACROSS, 13 * mm, _shown(title, 100))
        canvas.drawRightString(A4[0] - _ACROSS, 13 * mm, f"page {found.pages} of {known.pages}")
        canvas.drawString(_ACROSS, 9 * mm, _shown(made, 120))

    def placed(flowable: Any) -> None:
        mark = getattr(flowable, "outline", None)
        if mark is not None:
            level, key, words = mark
            template.canv.addOutlineEntry(words, key, level, closed=level > 0)
            found.starts[key] = template.page

    template.afterFlowable = placed
    frame = Frame(
        _ACROSS, _BOTTOM, _WIDTH, A4[1] - _TOP - _BOTTOM,
        leftPadding=0, rightPadding=0, topPadding=0, bottomPadding=0,
    )  # fmt: skip
    template.addPageTemplates(PageTemplate("page", [frame], onPage=begun))
    template.build(list(_story(documents, known)))
    return file.getvalue()


def _offset(date: datetime) -> str:
    """Return a time zone as PDF writes it."""
    zone = f"{date:%z}"
    return f"{zone[:3]}'{zone[3:5]}'" if zone else "Z"


def _story(documents: Sequence[Document], known: _Layout) -> Iterator[Any]:
    several = len(documents) > 1
    if several:
        yield Lines(_text(report_title(documents)), _TITLES[0])
        yield _contents(documents, known)
    for number, document in enumerate(documents, start=1):
        if several:
            yield PageBreak()
        yield from _article(document, f"result-{number}")


def _contents(documents: Sequence[Document], known: _Layout) -> Any:
    rows = [
        [
            Lines(f'{number}. <link href="#result-{number}">{_text(each.name)}</link>', _CELL),
            Lines(_badge(each), _CELL),
            Lines(f"{known.starts.get(f'result-{number}', 0)}", _CELL),
        ]
        for number, each in enumerate(documents, start=1)
    ]
    head = [Lines(words, _HEAD) for words in ("result", "verdict", "page")]
    return _grid([head, *rows], [_WIDTH - 70 * mm, 55 * mm, 15 * mm])


def _badge(document: Document) -> str:
    sign = f"{SIGNS[document.tone]} {_text(document.verdict)}"
    return f'<font name="{_BOLD}" color="{_TONES[document.tone]}">{sign}</font>'


def _article(document: Document, key: str) -> Iterator[Any]:
    yield _marked(0, key, document.title)
    yield Lines(f"{_badge(document)}&nbsp; {_text(document.name)}", _TITLES[0])
    yield Lines(_text(document.meaning), _MEANING)
    for number, section in enumerate(document.sections, start=1):
        yield _marked(1, f"{key}-{number}", section.title)
        yield Lines(_text(section.title), _TITLES[1])
        yield from _blocks(section.blocks + section.background, _WIDTH)


def _marked(level: int, key: str, words: str) -> Any:
    """Return a place that links and the outline lead to."""
    place = AnchorFlowable(key)
    place.outline, place.keepWithNext = (level, key, printable(words)), 1
    return place


def _blocks(blocks: Iterable[Block], width: float) -> Iterator[Any]:
    for block in blocks:
        yield from _block(block, width)


def _block(block: Block, width: float) -> Iterator[Any]:
    match block:
        case Paragraph(text):
            yield Lines(_text(text), _BODY)
        case Bullets(items):
            for item in items:
                yield Lines(_text(item), _BULLET, bulletText="•")
        case Facts(pairs):
            rows = [[Lines(_text(name), _NAME), Lines(_text(words), _CELL)] for name, words in pairs]
            yield _grid(rows, [_FACT, width - _FACT], headed=False)
        case TextTable(heading, cells):
            rows = [[Lines(_text(cell), _CELL) for cell in row] for row in cells]
            head = [Lines(_text(cell), _HEAD) for cell in heading]
            yield _grid([head, *rows], column_widths([heading, *cells], width))
        case Code(line):
            yield Lines(_text(line), _CODE)
        case Picture(svg, words):
            picture = [drawing(svg, min(_PICTURE, width), _SANS), Lines(_text(words), _CAPTION)]
            # one cell, and not KeepTogether, which would part the two from their title
            yield Grid([[picture]], colWidths=[width], style=_BARE, hAlign="LEFT")
        case Photo(png, words):
            seen = Image(BytesIO(png))
            seen.drawWidth, seen.drawHeight = width, width * seen.imageHeight / seen.imageWidth
            seen.hAlign = "LEFT"
            yield Grid(
                [[[seen, Lines(_text(words), _CAPTION)]]], colWidths=[width], style=_BARE, hAlign="LEFT"
            )
        case Details(title, inner):
            yield Lines(_text(title), _FOLD)
            yield Indenter(left=_FOLDED)
            yield from _blocks(inner, width - _FOLDED)
            yield Indenter(left=-_FOLDED)


def _grid(rows: list[list[Any]], widths: Sequence[float], *, headed: bool = True) -> Any:
    """Return a table that goes on on the next page, in the middle of a row if that is longer than a page."""
    look: list[tuple[Any, ...]] = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LINEBELOW", (0, 0), (-1, -1), 0.4, _RULE),
        ("LEFTPADDING", (0, 0), (-1, -1), _PADDING),
        ("RIGHTPADDING", (0, 0), (-1, -1), _PADDING),
        ("TOPPADDING", (0, 0), (-1, -1), 2.5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3.0),
    ]
    if not rows:
        return Spacer(0, 0)
    return Grid(
        rows,
        colWidths=list(widths),
        style=look,
        repeatRows=1 if headed else 0,
        hAlign="LEFT",
        spaceBefore=3,
        spaceAfter=6,
        splitInRow=1,
    )


def column_widths(rows: Sequence[Sequence[Words]], width: float) -> list[float]:
    """Return how wide columns are, `width` together: what each needs at least, and of the rest what it could use.

    Parameters
    ----------
    rows
        Texts, the heading first; at least one row.
    width
        Of the table, in points.
    """
    least, most = [], []
    for column in zip(*rows, strict=True):
        words = [_points(word) for text in column for word in str(text).split()] or [0.0]
        least.append(min(max(words), _LONGEST_WORD) + 2 * _PADDING + 1.0)
        most.append(max(min(max(map(_points, column)), _WIDEST * width) + 2 * _PADDING + 1.0, least[-1]))
    spare, wanted = width - sum(least), sum(most) - sum(least)
    if spare <= 0.0 or wanted <= 0.0:
        return [each * width / sum(least) for each in least]
    share = min(spare / wanted, 1.0)
    found = [low + share * (high - low) for low, high in zip(least, most, strict=True)]
    return [*found[:-1], found[-1] + width - sum(found)]


def _points(text: Words) -> float:
    """Return how wide a cell's text is on one line."""
    _register_fonts()
    return float(pdfmetrics.stringWidth(_shown(text), _BOLD, _CELL.fontSize))


def _text(text: Words) -> str:
    return escape(_shown(text), quote=False)


def _shown(text: Words, longest: int | None = None) -> str:
    """Return a text of which the fonts have every character: others are escaped as Python does it."""
    said = printable(str(text)) if longest is None else printable(str(text), longest)
    known = _characters()
    return "".join(
        char if ord(char) in known else char.encode("unicode_escape").decode("ascii") for char in said
    )


@functools.cache
def _characters() -> frozenset[int]:
    """Return the characters that all fonts have."""
    _register_fonts()
    return frozenset.intersection(
        *(frozenset(pdfmetrics.getFont(name).face.charToGlyph) for name in (_SANS, _BOLD, _MONO))
    )


@functools.cache
def _register_fonts() -> None:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    for name in (_SANS, _BOLD, _MONO):
        pdfmetrics.registerFont(TTFont(name, str(folder / f"{name}.ttf")))
