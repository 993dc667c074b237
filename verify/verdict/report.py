"""Show a verification on a terminal, to a person who does not have the paper at hand.

Everything is said in words as well as in colour, and fits into 80 columns. The two bounds are drawn as an
interval on the axis of ε, with the claim marked and infinity at the right edge. Where the terminal's
encoding is not Unicode, the picture is drawn in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from verify.findings import Finding, Witness
from verify.printable import printable_texts
from verify.verdict.bounds_picture import ASCII, UNICODE, Glyphs, draw_bounds
from verify.verdict.result import Verification
from verify.verdict.verdict import Verdict
from verify.verdict.words import (
    bounds,
    claim_numbers,
    claim_words,
    curve_words,
    lower_words,
    meaning,
    seed_words,
    unseen_words,
    upper_words,
    view_words,
    witness_meaning,
    witness_title,
    witness_words,
)

_STYLES: dict[Verdict, str] = {"certified": "bold green", "refuted": "bold red", "unproven": "bold yellow"}

_SPELLED = str.maketrans({"ε": "epsilon", "δ": "delta", "′": "'", "∞": "inf"})


def render(verification: Verification, console: Console, *, verbose: bool = False) -> None:
    """Print the report.

    Parameters
    ----------
    verification
        What to report.
    console
        Where to; its width and encoding are respected.
    verbose
        Whether with what is for specialists: the whole privacy curve, and the power of the test.
    """
    verification = printable_texts(verification)
    glyphs = ASCII if console.options.ascii_only else UNICODE
    parts: list[RenderableType] = [_headline(verification), _claim(verification)]
    parts.append(_section("Why", _bullets(verification.decision.reasons)))
    parts.append(_section("Privacy loss", _bounds(verification, glyphs, verbose)))
    if verification.witness is not None:
        parts.append(_section(witness_title(verification), _witness(verification.witness, verification)))
    if verification.findings:
        parts.append(_section("Findings", _findings(verification.findings)))
    parts.append(_section("Again", _again(verification)))
    if not console.options.ascii_only:
        console.print(Group(*parts), highlight=False, emoji=False, markup=False)
        return
    with console.capture() as captured:
        console.print(Group(*parts), highlight=False, emoji=False, markup=False)
    console.file.write(captured.get().translate(_SPELLED).encode("ascii", "replace").decode())


def _headline(verification: Verification) -> Text:
    verdict = verification.verdict
    name = (verification.subject, "bold")
    return Text.assemble((verdict.upper(), _STYLES[verdict]), "  ", name, "\n", meaning(verification))


def _claim(verification: Verification) -> Text:
    text = Text(f"\n{claim_words(verification.subject, verification.claim)}")
    for strong in (verification.subject, claim_numbers(verification.claim)):
        start = text.plain.index(strong)
        text.stylize("bold", start, start + len(strong))
    return text


def _section(title: str, body: RenderableType) -> RenderableType:
    return Group(Text(f"\n{title}", style="bold underline"), Padding(body, (0, 0, 0, 2)))


def _bounds(verification: Verification, glyphs: Glyphs, verbose: bool) -> RenderableType:
    lower, upper, claim = verification.lower, verification.upper, verification.claim
    picture = draw_bounds(claim.epsilon, *bounds(verification), glyphs)
    style = _STYLES[verification.verdict]
    lines = [Text(line, no_wrap=True, style=style * (row == 2)) for row, line in enumerate(picture)]
    lines += [Text(upper_words(upper)), Text(lower_words(lower, upper))]
    curve = curve_words(verification) if verbose else ()
    lines += map(Text, (*view_words(verification), *unseen_words(verification), *curve))
    return Group(*lines)


def _witness(witness: Witness, verification: Verification) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for name, words in witness_words(witness, verification.claim, verification.lower):
        table.add_row(Text(name, style="bold"), Text(words))
    return Group(table, Text(witness_meaning(witness)))


def _findings(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("kind", overflow="fold")
    table.add_column("where", overflow="fold", max_width=28)
    table.add_column("message", overflow="fold")
    for finding in findings:
        kind = Text(finding.kind, style="red" if finding.failing else "")
        table.add_row(kind, Text(finding.where), Text(finding.message))
    return table


def _bullets(lines: Iterable[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for line in lines:
        table.add_row(Text("-"), Text(line))
    return table


def _again(verification: Verification) -> RenderableType:
    lines = []
    if verification.witness is not None and verification.witness.reproduce:
        lines.append(Text(verification.witness.reproduce, style="bold"))
    lines.append(Text(seed_words(verification)))
    return Group(*lines)
