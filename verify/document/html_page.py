"""Documents as HTML: one self-contained page, for print too, light or dark.

No script, and nothing that a browser would load; the page forbids both, so that no text of a subject's could make it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

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
    Section,
    TextTable,
    Words,
    report_title,
)
from verify.document.svg import svg
from verify.findings.printable import printable

_PHOTO = '<img src="data:image/png;base64,'
_LONGEST_WORD = 20  # a cell breaks longer ones anywhere, and others never

_STYLE = "\n" + Path(__file__).with_name("report.css").read_text(encoding="utf-8")

_HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {images}style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body{{margin:0;background:#ffffff}}@media (prefers-color-scheme:dark){{body{{background:#17181c}}}}
@media print{{body{{background:#fff}}}}{style}</style></head>
<body><main class="dpwitness">
"""


def render_html(documents: Sequence[Document], made: str) -> str:
    """Return one page; of several documents it begins with a table of contents.

    Parameters
    ----------
    documents
        At least one.
    made
        The date and the program of the page.
    """
    several = len(documents) > 1
    title = report_title(documents)
    articles = [_article(document, 2 if several else 1) for document in documents]
    images = "img-src data:; " if any(_PHOTO in article for article in articles) else ""
    parts = [_HEAD.format(title=_text(title), style=_STYLE, images=images)]
    if several:
        parts += [f"<h1>{_text(title)}</h1>\n", _contents(documents)]
    for number, article in enumerate(articles, start=1):
        parts.append(f'<article id="result-{number}">\n{article}</article>\n')
    parts.append(f"<footer><p>{_text(made)}</p></footer>\n</main></body></html>\n")
    return "".join(parts)


def fragment(document: Document) -> str:
    """Return a document as a part of another page, as notebooks show it."""
    return f'<style>{_STYLE}</style><div class="dpwitness">\n{_article(document, 3)}</div>\n'


def _contents(documents: Sequence[Document]) -> str:
    items = "".join(
        f'<li><a href="#result-{number}">{_text(document.name)}</a> '
        f'<span class="{document.tone}">{SIGNS[document.tone]} {_text(document.verdict)}</span></li>\n'
        for number, document in enumerate(documents, start=1)
    )
    return f'<nav aria-label="contents"><ol>\n{items}</ol></nav>\n'


def _article(document: Document, level: int) -> str:
    sign = f'<span class="verdict {document.tone}">{SIGNS[document.tone]} {_text(document.verdict)}</span>'
    name = _text(document.name).replace(" = ", "\u00a0=\u00a0")  # a line does not end at an equals sign
    head = f"<h{level}>{sign} {name}</h{level}>\n"
    meaning = f'<p class="meaning">{_text(document.meaning)}</p>\n'
    return (
        head
        + meaning
        + _blocks(document.summary.blocks)
        + "".join(_section(section, level + 1) for section in document.sections)
    )


def _section(section: Section, level: int) -> str:
    inside = _blocks(section.blocks + section.background)
    return f"<section><h{level}>{_text(section.title)}</h{level}>\n{inside}</section>\n"


def _blocks(blocks: Iterable[Block]) -> str:
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_text(text)}</p>\n"
        case Bullets(items):
            return f"<ul>\n{''.join(f'<li>{_text(item)}</li>{chr(10)}' for item in items)}</ul>\n"
        case Facts(pairs):
            rows = "".join(
                f'<tr><th scope="row">{_text(name)}</th><td>{_text(words)}</td></tr>\n'
                for name, words in pairs
            )
            return f'<table class="facts"><tbody>\n{rows}</tbody></table>\n'
        case TextTable(heading, rows_):
            head = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in heading)
            body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows_)
            table = f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
            said = _text(f"table: {', '.join(heading)}")  # for scrolling from the keyboard
            return f'<div class="scrolls" role="group" tabindex="0" aria-label="{said}">{table}</div>\n'
        case Code(line):
            words = " ".join(f"<span>{_text(word)}</span>" for word in line.split(" "))
            return f"<pre><code>{words}</code></pre>\n"
        case Picture(drawing, words):
            drawn = svg(drawing, str(words))
            return f"<figure>{drawn}<figcaption>{_text(words)}</figcaption></figure>\n"
        case Photo(png, words):
            data = b64encode(png).decode()
            return f'<figure>{_PHOTO}{data}" alt="{_text(words)}"><figcaption>{_text(words)}</figcaption></figure>\n'
        case Details(title, inner):
            return f"<details><summary>{_text(title)}</summary>\n{_blocks(inner)}</details>\n"


def _cell(text: Words) -> str:
    long = any(len(word) > _LONGEST_WORD for word in str(text).split())
    return f'<td class="long">{_text(text)}</td>' if long else f"<td>{_text(text)}</td>"


def _text(text: Words) -> str:
    return escape(printable(str(text)))
