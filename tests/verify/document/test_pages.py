"""Documents become one page that stands alone, and no text in them is anything but text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.document.drawings import (
    Area,
    Axis,
    Bin,
    Chart,
    Curve,
    Laws,
    LossInterval,
    axis_scale,
    short_number,
    shortened,
    shortened_label,
)
from verify.document.elements import (
    SIGNS,
    Bullets,
    Code,
    Details,
    Document,
    Facts,
    FirstScreen,
    Paragraph,
    Picture,
    Section,
    TextTable,
    Tone,
)
from verify.document.html_page import fragment, render_html
from verify.document.markdown_text import markdown
from verify.document.svg import svg
from verify.findings.sentences import remark

SUMMARY = FirstScreen(remark("a claim"), remark("a find"), remark("sure"), remark("nothing"), remark("again"))
HOSTILE = (
    "<script>alert(1)</script>",
    "</style></title></svg><img src=x onerror=alert(1)>",
    '" onload="alert(1)',
    "' style='x",
    "\x1b]0;title\x07\x1b[2K\u202e\r\n\x9b31m",
    "[x](javascript:alert(1)) `code` | cell | ``` **bold** $x$ &lt;b&gt; <!-- -->",
    "# heading",
    "1. item",
    "- item",
    "</details></details>",
    "\ud800",
)
_TAGS = set(
    re.findall(
        r"\w+",
        "html head meta title style body main article h1 h2 h3 h4 h5 p span section ul li ol nav a table thead tbody "
        "tr th td pre code figure figcaption svg line polyline polygon rect path text details summary footer div "
        "circle",
    )
)
_ATTRIBUTES = set(
    re.findall(
        r"[\w-]+",
        "lang charset http-equiv content name class id href aria-label scope viewbox role xmlns x y x1 y1 x2 y2 width "
        "height points d text-anchor transform cx cy r tabindex",
    )
)


class Read(HTMLParser):
    """A page as a browser reads it: its elements, closed in order, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.said.append(data)


def document(text: str) -> Document:
    """A document with a text wherever one can be."""
    drawn = Chart(
        Axis(text, 0.0, 2.0),
        Axis(text, 1e-6, 1.0, logarithmic=True),
        [Curve(text, [(0.0, 0.5), (1.0, 0.0), (2.0, float("inf"))], "proved")],
        [Area(text, [(0.0, 0.1, 0.5), (2.0, 0.1, 0.2)])],
    )
    laws = Laws(text, [Bin(text, 0.3, 0.1, True), Bin(text, 0.7, 0.9, False)], (0.3, text), (0.1, text))
    sentence = remark("{text}", text=text)
    blocks = (
        Paragraph(sentence),
        Bullets((sentence, sentence)),
        Facts(((text, sentence),)),
        TextTable((text, text), ((text, text),)),
        Code(text),
        Picture(drawn, sentence),
        Picture(LossInterval(1.0, 0.5, 2.0, text), sentence),
        Picture(laws, sentence),
    )
    summary = FirstScreen(sentence, sentence, sentence, sentence, Code(text), sentence)
    return Document(text, "bad", text, sentence, summary, (Section(text, (*blocks, Details(text, blocks))),))


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("count", [1, 2])
def test_a_page_says_hostile_text_and_does_nothing_else(text: str, count: int) -> None:
    written = render_html([document(text)] * count, text)
    read = Read(written)
    assert read.tags <= _TAGS
    assert read.names <= _ATTRIBUTES
    assert read.links == [f"#result-{number + 1}" for number in range(count) if count > 1]
    assert not re.search(r"url\(|@import|<script|\x1b|\u202e", written)
    written.encode("utf-8")
    if text.isprintable():
        assert sum(text in said for said in read.said) > 10
    part = fragment(document(text))
    assert Read(part).tags <= _TAGS
    assert re.sub(r"\s", "", part).isprintable()


@settings(max_examples=30)
@given(st.text())
def test_any_text_makes_a_page_that_is_well_formed(text: str) -> None:
    read = Read(render_html([document(text)], text))
    assert read.tags <= _TAGS


def test_a_page_forbids_what_it_does_not_have() -> None:
    written = render_html([document("x")], "made")
    assert "default-src 'none'; style-src 'unsafe-inline'" in written
    assert "prefers-color-scheme:dark" in written
    assert "@media print" in written
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", written)


def test_the_verdict_comes_first_and_is_said_in_more_than_colour() -> None:
    good = Document("CERTIFIED", "good", "mine", remark("It is so."), SUMMARY)
    bad = Document("REFUTED", "bad", "yours", remark("It is false."), SUMMARY)
    said = "".join(Read(render_html([good, bad], "made")).said)
    assert "1" not in said.split("results")[1].split("mine")[0].strip()
    assert "✓ CERTIFIED" in said
    assert "✗ REFUTED" in said
    one = "".join(Read(render_html([good], "made")).said).split("CERTIFIED: mine")[1]
    assert one.split()[:6] == ["✓", "CERTIFIED", "mine", "It", "is", "so."]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_says_hostile_text_and_nothing_in_it_is_a_mark(text: str) -> None:
    written = markdown([document(text), document(text)], text)
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", written, flags=re.DOTALL | re.MULTILINE)
    assert set(re.findall(r"<[^>]*>", outside)) == {"<details>", "<summary>", "</summary>", "</details>"}
    assert outside.count("<details>") == outside.count("</details>") == 2
    assert not re.search(r"(?<!\\)[`\[\]$]", outside)
    assert sum(line.startswith("# ") for line in outside.splitlines()) == 1
    assert not re.search(r"^1\. item|^- item$", outside.partition("\n## ")[2], flags=re.MULTILINE)
    for line in written.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 3
    assert "\x1b" not in written
    written.encode("utf-8")


def test_markdown_leaves_numbers_alone() -> None:
    facts = Facts((("on D", "0.391 % (1 of 256 draws)"), ("then", "1. this")))
    written = markdown([Document("V", "good", "n", remark("m"), SUMMARY, (Section("s", (facts,)),))], "made")
    assert "| on D | 0.391 % (1 of 256 draws) |" in written
    assert "| then | 1\\. this |" in written


@pytest.mark.parametrize(
    ("claim", "low", "high"),
    [
        (1.0, 0.5, 2.0), (1.0, 2.0, 0.5), (1.0, 0.0, float("inf")), (1.0, float("inf"), float("inf")),
        (5e-324, 0.0, 1e308), (1e308, 1e-300, 1e307), (1e-6, 0.0, 0.0),
    ],
)  # fmt: skip
def test_bounds_are_drawn_inside_the_picture(claim: float, low: float, high: float) -> None:
    root = ElementTree.fromstring(svg(LossInterval(claim, low, high, "the true ε"), "words"))
    _, _, width, _ = map(float, root.attrib["viewBox"].split())
    places = [
        float(value)
        for each in root.iter()
        for key, value in each.attrib.items()
        if key in ("x", "x1", "x2", "cx")
    ]
    assert all(0.0 <= place <= width for place in places)
    bars = [each for each in root.iter() if each.get("class") == "bar"]
    assert len(bars) == (2 if low > high else 1)
    said = "the bounds contradict each other" if low > high else "the true ε"
    assert any(said in (each.text or "") for each in root.iter())
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "words"


@given(st.floats(5e-324, 1e300))
def test_an_axis_shows_what_it_is_for(value: float) -> None:
    top, step = axis_scale([value, float("inf")])
    assert value <= top
    assert 0.0 < step <= top


def test_a_line_goes_through_its_points() -> None:
    axis = Axis("x", 0.0, 1.0)
    drawn = ElementTree.fromstring(
        svg(Chart(axis, axis, [Curve("one", [(0.0, 0.0), (1.0, 1.0)], "shown")]), "words")
    )
    line = next(each for each in drawn.iter() if each.get("class") == "line shown")
    frame = next(each for each in drawn.iter() if each.get("class") == "frame")
    left, top, width, height = (float(frame.attrib[key]) for key in ("x", "y", "width", "height"))
    ends = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert ends == [(left, top + height), (left + width, top)]


def test_ticks_are_round_numbers_on_the_axis() -> None:
    assert Axis("x", 0.0, 1.0).ticks() == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert Axis("x", 1e-3, 2.0, logarithmic=True).ticks() == pytest.approx([1e-3, 1e-2, 0.1, 1.0])


@pytest.mark.parametrize("tone", get_args(Tone))
def test_every_tone_has_its_sign_beside_its_colour(tone: Tone) -> None:
    judged = Document("V", tone, "n", remark("m"), SUMMARY)
    assert f"{SIGNS[tone]} V" in render_html([judged], "made")


def test_a_bar_that_is_no_proof_is_faint() -> None:
    proof, estimate = (
        svg(LossInterval(1.0, 0.5, 2.0, "ε", proved=proved), "words") for proved in (True, False)
    )
    assert ('class="bar"' in proof, 'class="bar faint"' in estimate) == (True, True)


@pytest.mark.parametrize(
    "number", ["-2.5134e-05", "1.2345e+23", "-2.5134e-123", "123456789012345678", "-0.000123456"]
)
@pytest.mark.parametrize("before", ["", "< "])
def test_a_number_under_a_picture_is_whole(number: str, before: str) -> None:
    for room in range(3, 20):
        shown = shortened_label(before + number, room).removeprefix(before)
        assert float(shown) == pytest.approx(float(number), rel=0.5)
        assert len(shortened_label(before + number, room + 1)) <= max(room + 1, len(before) + 7)
    assert shortened_label("-2.5134e-05", 7) == "-2.5e-5"
    assert shortened("of at least 1.2345e-10", 20) == "of at least …"


def test_ticks_are_the_numbers_of_their_places() -> None:
    axis = Axis("", 0.0, 2.5e-5)
    written = svg(Chart(axis, axis, ()), "")
    for tick in axis.ticks():
        assert written.count(f">{short_number(tick, 4)}<") == 2
        assert float(short_number(tick, 4)) == pytest.approx(tick)
    assert short_number(1.5e-5, 4) == "1.5e-5"
