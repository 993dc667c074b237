"""One page for people: budgets, what is nearly spent, and who paid for what.

It needs no scripts and nothing from outside. It is built as a tree, so that every text is escaped where it is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from accountant.gates.provenance import RecordId
from accountant.summary import Summary

STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #ffffff; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
.scrolls { overflow-x: auto; }
.scrolls:focus-visible { outline: 3px solid #0b57d0; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #4a4a4a; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #767676; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td { overflow-wrap: anywhere; }
meter { width: 8rem; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem 0; }
"""

CONTENT_SECURITY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

Spent = tuple[RecordId, str, str, float | None]


def page(store: str, summary: Summary, most: Sequence[Spent], reservations: int) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    store
        What the ledger is called.
    summary
        Who paid what for which release.
    most
        Who has spent most: record, spent and left in words, and the share that is spent.
    reservations
        How many are open.
    """
    html = Element("html", lang="en")
    head, body = SubElement(html, "head"), SubElement(html, "body")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _text(head, "title", f"Privacy budgets: {store}")
    _text(head, "style", STYLE)
    main = SubElement(body, "main")
    _text(main, "h1", "Privacy budgets")
    _terms(main, store, summary, reservations)
    _nearly_spent(main, most)
    _paid_for(main, summary)
    return "<!doctype html>\n" + tostring(html, encoding="unicode", method="html")


def _terms(main: Element, store: str, summary: Summary, reservations: int) -> None:
    budget = summary.budget
    words = f"ε = {budget.epsilon:.6g}" + (f", δ = {budget.delta:.6g}" if budget.delta else "")
    facts = [
        ("Ledger", store),
        ("Budget of each record", f"{words} ({summary.composition}, {summary.trust.value} trust)"),
        ("Neighbouring data sets", str(summary.neighbouring)),
        ("Records charged", str(summary.records)),
        ("Open reservations", str(reservations)),
    ]
    if summary.assumptions:
        facts.append(("Rests on", "; ".join(map(str, summary.assumptions))))
    listed = SubElement(main, "dl")
    for name, words in facts:
        _text(listed, "dt", name)
        _text(listed, "dd", words)


def _nearly_spent(main: Element, most: Sequence[Spent]) -> None:
    caption = f"The {len(most)} records that have spent most, open reservations included."
    rows = _table(main, "nearly", "Nearly spent", caption, ("Record", "Spent", "Left", "Share of budget"))
    for record, spent, left, share in most:
        row = SubElement(rows, "tr")
        SubElement(row, "th", scope="row").text = _shown(json.dumps(record))
        _text(row, "td", spent)
        _text(row, "td", left)
        cell = SubElement(row, "td")
        if share is None:
            cell.text = "no limit"
            continue
        percent = f"{100 * share:.4g} %"
        meter = SubElement(cell, "meter", min="0", max="1", high="0.8", value=f"{share:.6f}", title=percent)
        meter.set("aria-label", "share of the budget that is spent")
        meter.tail = f" {percent}"


def _paid_for(main: Element, summary: Summary) -> None:
    names = ("Asked by", "Mechanism", "Releases", "Records", "Largest charge", "Noise")
    caption = "All releases and reservations, by who asked for them and through which mechanism."
    rows = _table(main, "paid", "Who paid for what", caption, names, numbers=(2, 3))
    for line in summary.lines:
        row = SubElement(rows, "tr")
        SubElement(row, "th", scope="row").text = _shown(line.where)
        _text(row, "td", line.mechanism)
        SubElement(row, "td", {"class": "number"}).text = str(line.releases)
        SubElement(row, "td", {"class": "number"}).text = str(line.records)
        _text(row, "td", line.charge.words)
        _text(row, "td", line.noise)


def _table(
    main: Element, name: str, heading: str, caption: str, names: Iterable[str], numbers: Sequence[int] = ()
) -> Element:
    section = SubElement(main, "section", {"aria-labelledby": name})
    SubElement(section, "h2", id=name).text = heading
    # what scrolls must be reached from the keyboard
    scrolls = SubElement(
        section, "div", {"class": "scrolls", "tabindex": "0", "role": "region", "aria-labelledby": name}
    )
    table = SubElement(scrolls, "table")
    _text(table, "caption", caption)
    row = SubElement(SubElement(table, "thead"), "tr")
    for i, each in enumerate(names):
        SubElement(row, "th", {"scope": "col", **({"class": "number"} if i in numbers else {})}).text = each
    return SubElement(table, "tbody")


def _text(parent: Element, tag: str, words: str) -> None:
    SubElement(parent, tag).text = words if tag == "style" else _shown(words)


def _shown(words: str) -> str:
    """Return a text without characters that are not shown, or turn the writing direction."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in words)
