"""Documents as HTML: one self-contained page, for print too, light or dark.

No script, and nothing that a browser would load; the page forbids both, so that no text of a subject's could make it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

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

_STYLE = """
.dpwitness{color-scheme:light dark;--ink:#1b1b1f;--page:#ffffff;--soft:#55575f;--rule:#cfd2da;--wash:#f3f4f7;
--good:#14632e;--bad:#a11a1a;--open:#7a4b00;--proved:#1a56a0;--shown:#a11a1a;
color:var(--ink);background:var(--page);font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:0 auto;padding:1rem}
@media (prefers-color-scheme:dark){.dpwitness{--ink:#e8e8ec;--page:#17181c;--soft:#b0b3bd;--rule:#45484f;--wash:#22242a;
--good:#7fd79a;--bad:#ff9c94;--open:#f0c060;--proved:#8ab8ff;--shown:#ff9c94}}
.dpwitness h1,.dpwitness h2,.dpwitness h3,.dpwitness h4{line-height:1.25;margin:1.6em 0 .4em;color:var(--ink);
overflow-wrap:anywhere}
.dpwitness .verdict{font-weight:700;letter-spacing:.04em;padding:.15em .5em;border:2px solid;border-radius:.3em;
margin-right:.5em;display:inline-block}
.dpwitness .good{color:var(--good)}.dpwitness .bad{color:var(--bad)}.dpwitness .open{color:var(--open)}
@media (max-width:30rem){.dpwitness :is(h1,h2){font-size:1.4rem}}
.dpwitness .meaning{font-size:1.15em;font-weight:600}
.dpwitness table{border-collapse:collapse;width:100%;font-size:.92em;background:transparent}
.dpwitness .scrolls{overflow-x:auto;margin:.6em 0}
.dpwitness th,.dpwitness td{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid var(--rule);
color:var(--ink);background:transparent}
.dpwitness .long{overflow-wrap:anywhere;min-width:10rem}
.dpwitness .facts th{width:9.5rem;color:var(--soft);font-weight:600}.dpwitness .facts td{overflow-wrap:anywhere}
@media (max-width:30rem){.dpwitness .facts :is(tr,th,td){display:block;width:auto}
.dpwitness .facts th{border:0;padding-bottom:0}}
.dpwitness pre{background:var(--wash);color:var(--ink);padding:.6em .8em;white-space:pre-wrap;overflow-wrap:anywhere;
border-radius:.3em;margin:.6em 0}
.dpwitness pre span{display:inline-block;max-width:100%}
.dpwitness :is(p,li,summary,figcaption){overflow-wrap:anywhere}
.dpwitness details{border:1px solid var(--rule);border-radius:.3em;padding:.4em .8em;margin:.8em 0}
.dpwitness summary{cursor:pointer;font-weight:600}
.dpwitness a{color:var(--proved)}.dpwitness :focus-visible{outline:3px solid var(--proved);outline-offset:2px}
.dpwitness article+article{border-top:3px solid var(--rule);margin-top:3rem}
.dpwitness footer{color:var(--soft);font-size:.85em;margin-top:3rem;border-top:1px solid var(--rule)}
.dpwitness figure{margin:.8em 0}.dpwitness figcaption{color:var(--soft);font-size:.92em}
.dpwitness svg{width:100%;height:auto;max-width:36rem;display:block}
.dpwitness img{max-width:100%;height:auto;background:#fff}
.dpwitness svg text{fill:var(--ink);font:13px system-ui,sans-serif}
.dpwitness svg .small{fill:var(--soft);font-size:12px}
.dpwitness .axis,.dpwitness .frame{stroke:var(--ink);fill:none}.dpwitness .grid{stroke:var(--rule)}
.dpwitness .dots{stroke-dasharray:2 5}.dpwitness .bar{fill:var(--proved)}.dpwitness .faint{fill-opacity:.4}
.dpwitness .mark{fill:var(--ink)}
.dpwitness .law{fill:var(--proved);stroke:var(--proved);stroke-width:1.5}
.dpwitness .prime{fill:var(--page);stroke:var(--shown);stroke-width:1.5}
.dpwitness .event{fill:var(--ink);fill-opacity:.12}
.dpwitness .area{fill:var(--proved);fill-opacity:.18;stroke:none}
.dpwitness .line{fill:none;stroke-width:2}.dpwitness .proved{stroke:var(--proved)}
.dpwitness .shown{stroke:var(--shown);stroke-dasharray:7 3}
.dpwitness .claim{stroke:var(--ink);stroke-dasharray:3 3}.dpwitness .aside{stroke:var(--soft);stroke-dasharray:1 4}
@page{margin:18mm 16mm}
@media print{.dpwitness{--ink:#000;--page:#fff;--soft:#333;--rule:#999;--wash:#f3f4f7;--good:#14632e;--bad:#a11a1a;
--open:#7a4b00;--proved:#1a56a0;--shown:#a11a1a;font-size:11pt;max-width:none;padding:0}
.dpwitness article+article{break-before:page;border:0;margin:0}
.dpwitness .scrolls{overflow:visible}.dpwitness .long{min-width:8rem}
.dpwitness :is(figure,tr,pre){break-inside:avoid}
.dpwitness h2,.dpwitness h3,.dpwitness h4{break-after:avoid}
.dpwitness details::details-content{content-visibility:visible;display:block;height:auto}}
"""

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
