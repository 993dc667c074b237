"""A PDF says all that a document says, as text, and looks the same whoever writes it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from io import BytesIO
from typing import get_args

import pytest
from pypdf import PdfReader
from reportlab.graphics.shapes import Polygon, PolyLine, Rect

from verify.document.charts import Area, Axis, Curve, chart, interval
from verify.document.elements import (
    SIGNS,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
)
from verify.document.html_page import page as html
from verify.document.pdf_file import column_widths, pdf
from verify.document.pdf_picture import drawing
from verify.sentences import stated

DATE = datetime(2026, 11, 24, 1, 2, 3, tzinfo=UTC)
HOSTILE = ("</para><a href='http://x'>&lt;", "\x1b[2K\u202e\r\n\ud800", "中文 🎉", "𝑥" * 60)


def document(text: str, rows: int = 1) -> Document:
    axis = Axis(text, 0.0, 1.0)
    line = [(0.0, 0.0), (1.0, 1.0)]
    drawn = chart(axis, axis, [Curve(text, line, "shown")], [Area(text, [(0.0, 0.0, 1.0)])], text)
    sentence = stated("{text}", text=text)
    blocks = (
        Paragraph(stated("{text} ε ≤ δ, ∞ on D′", text=text)),
        Bullets((sentence,)),
        Facts(((text, text),)),
        TextTable(("no", text), tuple((f"row {i}", text) for i in range(rows))),
        Code(text),
        Picture(drawn, sentence),
        Picture(interval(1.0, 0.5, 2.0, text, caption=text), sentence),
    )
    return Document(
        "REFUTED",
        "bad",
        f"mine {text}",
        stated("It is false."),
        (Section("Why", (*blocks, Details("More", blocks))),),
    )


def read(*documents: Document) -> PdfReader:
    return PdfReader(BytesIO(pdf(documents, "Written today.", DATE)))


def said(found: PdfReader) -> str:
    return " ".join(" ".join(page.extract_text() for page in found.pages).split())


@pytest.mark.few(2)
@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_said_and_does_nothing(text: str) -> None:
    found = read(document(text))
    for words in (
        "✗ REFUTED",
        "It is false.",
        "Why",
        "ε ≤ δ, ∞ on D′",
        "More",
        "Written today.",
        "page 1 of",
    ):
        assert words in said(found)
    shown = re.sub(r"\s", "", said(found))
    plain = "".join(char for char in text if 33 <= ord(char) < 127)
    assert shown.count(plain) >= 16
    assert all("/Annots" not in page for page in found.pages)
    if text == "中文 🎉":
        assert "\\u4e2d\\u6587" in shown


def test_it_can_be_found_by_outline_contents_and_metadata() -> None:
    found = read(document("one", rows=100), document("two"))
    metadata = found.metadata
    assert metadata.title == "Privacy report on 2 results"
    assert metadata.creation_date == DATE
    assert found.trailer["/Root"]["/Lang"] == "en"
    titles = [each for each in found.outline if not isinstance(each, list)]
    assert [each.title for each in titles] == ["REFUTED: mine one", "REFUTED: mine two"]
    starts = [found.get_destination_page_number(each) + 1 for each in titles]
    contents = " ".join(found.pages[0].extract_text().split())
    assert f"1. mine one ✗ REFUTED {starts[0]} 2. mine two ✗ REFUTED {starts[1]}" in contents
    assert len(found.pages[0]["/Annots"]) == 2
    assert starts[0] == 2
    assert starts[1] > 4  # a hundred rows twice take pages, each with its heading
    for number, page in enumerate(found.pages, start=1):
        assert f"page {number} of {len(found.pages)}" in page.extract_text()
    fonts = {
        font["/BaseFont"]: font for page in found.pages for font in page["/Resources"]["/Font"].get_object().values()
    }  # fmt: skip
    used = [font.get_object() for name, font in fonts.items() if "DejaVu" in name]
    assert used
    assert all("/FontFile2" in font["/FontDescriptor"] for font in used)


@pytest.mark.parametrize("tone", get_args(Tone))
def test_every_tone_has_its_sign_in_every_form(tone: Tone) -> None:
    judged = Document("V", tone, "n", stated("m"), ())
    badge = f"{SIGNS[tone]} V"
    assert badge in said(read(judged, judged))
    assert badge in html([judged], "made")


def test_a_bar_that_is_no_proof_is_faint() -> None:
    def fills(proved: bool) -> list[float]:
        drawn = interval(1.0, 0.5, 2.0, "words", caption="what is known", proved=proved)
        shapes = drawing(drawn, 400.0, "Helvetica").contents[0].contents
        return [shape.fillColor.alpha for shape in shapes if isinstance(shape, Rect)]

    assert fills(True) == [1.0]
    assert fills(False) == [pytest.approx(0.4, abs=0.01)]


def test_a_row_longer_than_a_page_goes_on_on_the_next() -> None:
    words = " ".join(f"word{i}" for i in range(380))
    table = TextTable(("a", "b", "c", "d"), ((words,) * 4,))
    found = read(Document("V", "open", "n", "m", (Section("s", (table,)),)))
    assert len(found.pages) > 1
    assert said(found).count("word379") == 4


def test_columns_share_the_width() -> None:
    narrow, wide = column_widths([("a", "what was seen"), ("b", "many words " * 40)], 400.0)
    assert narrow + wide == pytest.approx(400.0)
    assert wide > 4 * narrow
    assert sum(column_widths([("x" * 40,) * 12], 300.0)) == pytest.approx(300.0)
    assert sum(column_widths([("",)], 300.0)) == pytest.approx(300.0)


def test_a_picture_is_drawn_where_it_is_on_a_page_of_html() -> None:
    axis = Axis("x", 0.0, 1.0)
    svg = chart(axis, axis, [Curve("one", [(0.0, 0.0), (1.0, 1.0)], "proved")])
    drawn = drawing(svg, 240.0, "Helvetica")
    shapes = drawn.contents[0].contents
    frame = next(each for each in shapes if isinstance(each, Rect))
    line = next(each for each in shapes if isinstance(each, PolyLine))
    assert line.points == [frame.x, frame.y, frame.x + frame.width, frame.y + frame.height]
    assert drawn.width == 240.0
    assert drawn.contents[0].transform[0] == 0.5
    mark = next(
        each
        for each in drawing(interval(1.0, 0.5, 2.0, caption=""), 240.0, "Helvetica").contents[0].contents
        if isinstance(each, Polygon)
    )
    assert mark.points[1] < mark.points[3] == mark.points[5]  # it points down at the axis
