"""Audits of several files, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console

from accountant.audit.audit_result import Audit
from accountant.audit.releases import Releases
from mechanisms.composition.enclosure import lower_end
from mechanisms.numerics.printed_numbers import at_least, at_most
from verify.document.elements import Block, Paragraph, TextTable
from verify.document.terminal_text import print_blocks
from verify.findings.printable import printable
from verify.findings.sentences import remark

_NAME = 40  # characters


def render_side_by_side(
    names: Sequence[str], results: Sequence[Audit], read: Sequence[Releases], console: Console
) -> None:
    """Print the privacy costs of several files, a column each, and a table of the releases in each file."""
    asked, given = results[0].question.quantity, results[0].question.fixed_value
    other = "delta" if asked == "epsilon" else "epsilon"
    said: dict[str, Callable[[Audit], str]] = {
        "title": lambda one: printable(one.about.title, _NAME),
        "neighbours": lambda one: one.relation,
        f"{asked} at {other} = {given:g}, at most": lambda one: at_most(one.answer.upper, 10),
        "at least": lambda one: "-" if (least := lower_end(one.answer)) is None else at_least(least, 10),
        "by": lambda one: one.best_theorem,
        "worst group": lambda one: printable(one.worst.name, _NAME),
        "groups": lambda one: str(one.groups),
        "complete": lambda one: "" if one.complete else "no: time limit",
        "left of the budget": lambda one: (
            "" if one.remaining is None else at_least(one.remaining.epsilon, 10)
        ),
        "advantage of an attack, at most": lambda one: (
            "" if one.risk is None else at_most(one.risk.advantage.upper)
        ),
    }
    rows = [(title, *map(row, results)) for title, row in said.items()]
    columns = tuple(printable(name, _NAME) for name in names)
    blocks: list[Block] = [TextTable(("", *columns), tuple(row for row in rows if any(row[1:])))]
    if len({one.relation for one in results}) > 1:
        blocks.append(Paragraph(remark("Different neighbouring relations: the numbers do not compare.")))
    blocks += [Paragraph(remark("")), Paragraph(remark("For the worst-case group of each:"))]
    blocks.append(TextTable(("release", *columns), tuple(_releases(results, read))))
    print_blocks(blocks, console)


def _releases(results: Sequence[Audit], read: Sequence[Releases]) -> Iterator[tuple[str, ...]]:
    """Yield how often the worst record of each file is part of each kind of release."""
    counts: dict[str, list[int]] = {}
    for column, (one, releases) in enumerate(zip(results, read, strict=True)):
        for kind, count in one.worst.counts.items():
            # Kinds are numbered in each file by itself.
            name = re.sub(r"^\d+: ", "", releases.kinds[kind].name)
            counts.setdefault(name, [0] * len(results))[column] += count
    for name, cells in counts.items():
        yield (name, *(f"{count:,}" if count else "-" for count in cells))
