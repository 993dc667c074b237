"""Showing mutants: a table for a terminal, and one of many learners for the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from verify.document.terminal_text import plain_table
from verify.faults.fault import AnyFault
from verify.faults.planted_subject import FAULTS
from verify.mutants.layers import Layer
from verify.mutants.verify_mutants import Mutant, Mutants, summary_of
from verify.printable import printable
from verify.verdict.verdict import claim_words

_LOSS = {True: "exceeds", False: "keeps", None: "may keep"}
"""What a mutant's true loss does to the claim."""


def render_all(runs: Sequence[Mutants], console: Console) -> None:
    """Print a table for every subject, and as the last line the summary of all of them."""
    for run in runs:
        _render(run, console)
    console.print(summary_of([each for run in runs for each in run.mutants]), highlight=False)


def _render(done: Mutants, console: Console) -> None:
    honest = done.honest
    claim = claim_words(honest.claim)
    title = (
        f"{printable(honest.subject)}: {honest.verdict} without a fault, claim {claim}, "
        f"neighbours: {honest.claim.neighbours}"
    )
    console.print(Text(title))
    rows = []
    for each in done.mutants:
        by = ", ".join(each.caught_by) or ("-" if not each.exceeds else "nothing")
        style = "bold red" if each.falsely_certified else ""
        cells = (each.fault.name, _LOSS[each.exceeds], each.result.verdict, by)
        rows.append([Text(cell, style=style) for cell in cells])
    console.print(plain_table(("fault", "claim", "verdict", "caught by"), rows))
    if done.idle:
        console.print(f"never act in it: {', '.join(done.idle)}", highlight=False)


def as_markdown(runs: Sequence[Mutants]) -> str:
    """Return the table of many subjects' mutants in Markdown: a line for every fault, with how many were caught how."""
    by_fault: dict[AnyFault, list[Mutant]] = {}
    for run in runs:
        for each in run.mutants:
            by_fault.setdefault(each.fault, []).append(each)
    lines = [
        "| fault | what the author did | mutants | certified | caught by | exceeds the claim, and was certified |",
        "|---|---|---|---|---|---|",
    ]
    known = dict.fromkeys(fault for kind in FAULTS.values() for fault in kind.values())
    lines += [_row(fault, by_fault[fault]) for fault in known if fault in by_fault]
    count = sum(len(run.mutants) for run in runs)
    every = [each for run in runs for each in run.mutants]
    return "\n".join([*lines, "", f"{count} mutants of {len(runs)} learners: {summary_of(every)}."])


def _row(fault: AnyFault, mutants: Sequence[Mutant]) -> str:
    counts = Counter(layer for each in mutants for layer in each.caught_by)
    by = ", ".join(f"{layer.value} {counts[layer]}" for layer in Layer if counts[layer]) or "-"
    certified = sum(each.result.verdict == "certified" for each in mutants)
    falsely = sum(each.falsely_certified for each in mutants)
    wrong = "harmless" if fault.harmless else str(falsely)
    return f"| `{fault.name}` | {fault.words} | {len(mutants)} | {certified} | {by} | {wrong} |"
