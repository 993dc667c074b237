"""The gallery, written from the zoo and from what refutes its specimens (tests/benchmarks/zoo_witnesses.py)."""

import html
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = "<!-- every specimen -->"
_WITNESSES = Path(__file__).parents[1] / "zoo_witnesses.json"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write a section for each file of the zoo where the page says so."""
    return markdown.replace(_HERE, "\n".join(_sections())) if _HERE in markdown else markdown


def _sections() -> Iterator[str]:
    from verify.zoo import specimens

    witnesses = json.loads(_WITNESSES.read_text())
    families: dict[str, list[Any]] = {}
    for specimen in specimens.values():
        families.setdefault(specimen.subject.__module__, []).append(specimen)
    for family, members in sorted(families.items()):
        yield from (f"## {family.rpartition('.')[2].replace('_', ' ').capitalize()}", "")
        for each in members:
            yield from _entry(each, witnesses.get(each.name))


def _entry(specimen: Any, witness: dict[str, Any] | None) -> Iterator[str]:
    from mechanisms.numerics.printed_numbers import percent

    true = "∞" if math.isinf(specimen.true_epsilon) else f"{specimen.true_epsilon:.4g}"
    delta = f", δ = {specimen.delta:g}" if specimen.delta else ""
    yield from (f"### {specimen.name}", "")
    claim = f"claims ε = {specimen.epsilon:.4g}{delta}"
    yield f"{claim}; {'true' if specimen.correct else f'**the true ε is {true}**'}: {_text(specimen.why)}."
    yield from ("", f"*{_text(specimen.source)}*", "")
    if witness is not None:
        yield from ("| | |", "|---|---|")
        for key, words in (("data", "Data D"), ("data_prime", "Data D′"), ("event", "Event")):
            yield f"| {words} | {_text(witness[key])} |"
        for key, world in (("probability", "D"), ("probability_prime", "D′")):
            yield f"| P(event &#124; {world}) | {percent(witness[key])} |"
        yield ""


def _text(words: str) -> str:
    return html.escape(words, quote=False).replace("|", "&#124;").replace("*", "&#42;").replace("_", "&#95;")
