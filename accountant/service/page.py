"""The status page of a service: budgets, records close to their limit, and charges by release.

It needs no scripts and nothing from outside. It is built as a tree, so that every text is escaped where it is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from accountant.budget import Budget
from accountant.filters.share import NEARLY_SPENT
from accountant.gates.lineage import RecordId
from accountant.ledger.summary import Summary
from accountant.rules.scope import Scope
from accountant.service.record_account import RecordAccount
from accountant.service.rules_shown import RuleShown
from mechanisms.numerics.printed_numbers import as_given, counted_noun

_STYLE = """
:root { color-scheme: light; }
body { font: 1rem/1.5 system-ui, sans-serif; color: #1a1a1a; background: #ffffff; margin: 2rem auto; max-width: 75rem;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; }
.scrolls { overflow-x: auto; }
.scrolls:focus-visible { outline: 3px solid #0b57d0; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #4a4a4a; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #767676; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td, tbody th, dd { overflow-wrap: anywhere; }
meter { width: 8rem; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem 0; }
"""

CONTENT_SECURITY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

_RULES, _MEMBERS = 100, 3
"""The numbers of rules, and of members of a group, that are shown."""

_Spent = tuple[RecordId, str, str, float | None]


def page(names: Iterable[str], sections: Iterable[Element]) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    names
        The names of the parts.
    sections
        Their sections.
    """
    html = Element("html", lang="en")
    head, body = SubElement(html, "head"), SubElement(html, "body")
    SubElement(head, "meta", charset="utf-8")
    SubElement(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _add_text(head, "title", f"Privacy budgets: {', '.join(names)}")
    _add_text(head, "style", _STYLE)
    main = SubElement(body, "main")
    _add_text(main, "h1", "Privacy budgets")
    main.extend(sections)
    return "<!doctype html>\n" + tostring(html, encoding="unicode", method="html")


def ledger_sections(
    store: str, summary: Summary, most: Sequence[_Spent], rules: Sequence[RuleShown], reservations: int
) -> list[Element]:
    """Return the sections of a ledger.

    Parameters
    ----------
    store
        Its name.
    summary
        The charges by release.
    most
        The records that have spent most: record, spent and left in words, and the share that is spent.
    rules
        The rules with the record nearest to each limit.
    reservations
        The number of open reservations.
    """
    facts = _add_terms(Element("dl"), summary, ("Ledger", store), ("Open reservations", str(reservations)))
    nearly = _nearly_spent(most)
    ruled = [_rules(_section("rules", "Rules"), "rules", rules)] if rules else []
    paid = _add_charges(_section("paid", "Charges by release"), "paid", summary)
    return [facts, nearly, *ruled, paid]


def search_section(path: str) -> Element:
    """Return the form for the name of a record, which is sent in a request's body, so that no log has it."""
    section = _section("search", "Look for a record")
    form = SubElement(section, "form", {"method": "post", "action": path, "role": "search"})
    _add_text(form, "label", "Its name: ")
    form[0].set("for", "record")
    SubElement(form, "input", {"id": "record", "name": "record", "required": "", "maxlength": "200"})
    SubElement(form, "button").text = "Look"
    return section


def record_section(found: RecordAccount) -> Element:
    """Return the section of a record that was searched for."""
    section = _section("found", f"Record {_record_text(found.record)}")
    listed = SubElement(section, "dl")
    for name, words in (
        ("Spent", found.spent),
        ("Left", found.left),
        *((f"Left of {r}", left) for r, left in found.rules),
    ):
        _add_text(listed, "dt", name)
        _add_text(listed, "dd", words)
    caption = (
        "How many more releases of each kind it can pay for, at the largest charge of any record for one, if they "
        "are for the purpose and tenant of the key that asks."
    )
    rows = _table(
        section, "found", caption, ("Asked by", "Mechanism", "Largest charge", "More"), numbers=(3,)
    )
    for i, line in enumerate(found.lines):
        row = _add_row(rows, line.where, line.mechanism, line.charge.description)
        _add_number(row, _number_left(found.more, i))
    return section


def _number_left(more: Sequence[float] | None, i: int) -> str:
    if more is None:
        return "none: no rule permits charges for this key's purpose and tenant"
    return "no limit" if more[i] == float("inf") else str(more[i])


def run_section(
    name: str, learner: str, issued: int, waiting: int, rules: Sequence[RuleShown], summary: Summary
) -> Element:
    """Return the section of a learner's run: its numbers of actions handed out and of those without feedback yet."""
    section = _section(f"run-{name}", f"Run {name}")
    tickets = f"{issued}, of which {waiting} wait for their feedback"
    _add_terms(SubElement(section, "dl"), summary, ("Learner", learner), ("Actions handed out", tickets))
    if rules:
        SubElement(section, "h3", id=f"run-{name}-rules").text = _printable(f"Rules of run {name}")
        _rules(section, f"run-{name}-rules", rules)
    SubElement(section, "h3", id=f"run-{name}-paid").text = _printable(f"Charges of run {name} by release")
    return _add_charges(section, f"run-{name}-paid", summary)


def missing_section(name: str, why: str) -> Element:
    """Return the section of a run that cannot be read here."""
    section = _section(f"run-{name}", f"Run {name}")
    _add_text(section, "p", why)
    return section


def _section(name: str, heading: str) -> Element:
    section = Element("section", {"aria-labelledby": name})
    SubElement(section, "h2", id=name).text = _printable(heading)
    return section


def _add_terms(listed: Element, summary: Summary, first: tuple[str, str], last: tuple[str, str]) -> Element:
    facts = [
        first,
        (
            "Budget of each record",
            f"{_budget(summary.budget)} ({summary.composition}, {summary.trust.value} trust)",
        ),
        ("Neighbouring data sets", str(summary.neighbouring)),
        ("Records charged", str(summary.records)),
        last,
    ]
    if summary.assumptions:
        facts.append(("Rests on", "; ".join(map(str, summary.assumptions))))
    for name, words in facts:
        _add_text(listed, "dt", name)
        _add_text(listed, "dd", words)
    return listed


def _nearly_spent(most: Sequence[_Spent]) -> Element:
    caption = (
        f"The {counted_noun(len(most), 'record')} with the largest spending, open reservations included."
    )
    section, names = _section("nearly", "Nearly spent"), ("Record", "Spent", "Left", "Share of budget")
    rows = _table(section, "nearly", caption, names)
    for record, spent, left, share in most:
        row = _add_row(rows, _record_text(record), spent, left)
        _add_meter(SubElement(row, "td"), share, "share of the budget that is spent")
    return section


def _rules(section: Element, name: str, rules: Sequence[RuleShown]) -> Element:
    """Add a table of rules, the one nearest to its limit first."""
    first = sorted(rules, key=lambda each: -1.0 if each.share is None else each.share, reverse=True)[:_RULES]
    which = f"The {counted_noun(len(first), 'rule')}" + (
        f", of {len(rules)}," if len(rules) > len(first) else ""
    )
    caption = (
        f"{which} of which most is spent, and the record nearest to each limit, or the group of records that are "
        "protected together. Open reservations are included."
    )
    names = (
        "Rule",
        "Limit",
        "What it bounds",
        "Nearest to it",
        "Spent",
        "Left",
        "Share of limit",
        "80 % or more spent",
    )
    rows = _table(section, name, caption, names, numbers=(7,))
    for each in first:
        bounded = _budget(each.rule.budget), each.bounds
        row = _add_row(
            rows, _rule_text(each), *bounded, _members(each.nearest), each.spent, each.left.words_left
        )
        _add_meter(SubElement(row, "td"), each.share, "share of the rule's limit that is spent")
        _add_number(row, "" if each.nearly is None else str(each.nearly))
    return section


def _rule_text(shown: RuleShown) -> str:
    rule = shown.rule
    scope = str(Scope(rule.purpose, rule.tenant))
    days = "" if rule.days is None else f", in any {counted_noun(rule.days, 'day')}"
    whose = {0: "each record", 1: "one group"}.get(len(rule.groups), f"each of {len(rule.groups)} groups")
    return f"{shown.number}: {whose}{f', for {scope}' if scope else ''}{days}"


def _members(records: Sequence[RecordId]) -> str:
    words = ", ".join(map(_record_text, records[:_MEMBERS])) or "no record"
    more = len(records) - _MEMBERS
    return f"{words} and {more} more" if more > 0 else words


def _record_text(record: RecordId) -> str:
    """Return a record's name as JSON, so that 7 and "7" differ; letters of every script stay as they are."""
    return _printable(json.dumps(record, ensure_ascii=False))


def _budget(budget: Budget) -> str:
    if budget.epsilon == float("inf"):
        return "no limit"
    return f"ε = {as_given(budget.epsilon)}" + (f", δ = {as_given(budget.delta)}" if budget.delta else "")


def _add_meter(cell: Element, share: float | None, words: str) -> None:
    if share is None:
        cell.text = "no limit"
        return
    percent = f"{100 * share:.4g} %"
    meter = SubElement(
        cell, "meter", min="0", max="1", high=f"{NEARLY_SPENT:g}", value=f"{share:.6f}", title=percent
    )
    meter.set("aria-label", words)
    meter.tail = f" {percent}"


def _add_charges(section: Element, name: str, summary: Summary) -> Element:
    names = ("Asked by", "Mechanism", "Releases", "Records", "Largest charge", "Noise")
    caption = "All releases and reservations, by origin and mechanism."
    rows = _table(section, name, caption, names, numbers=(2, 3))
    for line in summary.lines:
        row = _add_row(rows, line.where, line.mechanism)
        _add_number(row, str(line.releases))
        _add_number(row, str(line.records))
        _add_text(row, "td", line.charge.description)
        _add_text(row, "td", line.noise)
    return section


def _table(
    section: Element, name: str, caption: str, names: Iterable[str], numbers: Sequence[int] = ()
) -> Element:
    # an area that scrolls must be reached from the keyboard
    scrolls = SubElement(
        section, "div", {"class": "scrolls", "tabindex": "0", "role": "group", "aria-labelledby": name}
    )
    table = SubElement(scrolls, "table")
    _add_text(table, "caption", caption)
    row = SubElement(SubElement(table, "thead"), "tr")
    for i, each in enumerate(names):
        SubElement(row, "th", {"scope": "col", **({"class": "number"} if i in numbers else {})}).text = each
    return SubElement(table, "tbody")


def _add_row(rows: Element, head: str, *cells: str) -> Element:
    """Add a row of texts to a table, and return it; the first heads the row."""
    row = SubElement(rows, "tr")
    SubElement(row, "th", scope="row").text = _printable(head)
    for each in cells:
        _add_text(row, "td", each)
    return row


def _add_number(row: Element, words: str) -> None:
    SubElement(row, "td", {"class": "number"}).text = words


def _add_text(parent: Element, tag: str, words: str) -> None:
    SubElement(parent, tag).text = words if tag == "style" else _printable(words)


def _printable(words: str) -> str:
    """Return a text with unprintable characters escaped, and those that turn the writing direction."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in words)
