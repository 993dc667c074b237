"""The gallery, written from the zoo."""

from collections.abc import Iterator
from typing import Any

_HERE = "<!-- every specimen -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write a section for each file of the zoo where the page says so."""
    return markdown.replace(_HERE, "\n".join(_sections())) if _HERE in markdown else markdown


def _sections() -> Iterator[str]:
    from verify.zoo import specimens

    families: dict[str, list[Any]] = {}
    for specimen in specimens.values():
        families.setdefault(specimen.subject.__module__, []).append(specimen)
    for family, members in sorted(families.items()):
        yield from (f"## {family.rpartition('.')[2].replace('_', ' ').capitalize()}", "")
        yield "| `dpwitness verify` | claim | true ε | why | from |"
        yield "|---|---|---|---|---|"
        for each in members:
            delta = f", δ = {each.delta:g}" if each.delta else ""
            true = "∞" if each.true_epsilon == float("inf") else f"{each.true_epsilon:.4g}"
            true = true if each.correct else f"**{true}**"
            words = [word.replace("|", r"\|") for word in (each.why, each.source)]
            yield f"| `zoo/{each.name}` | ε = {each.epsilon:.4g}{delta} | {true} | {words[0]} | {words[1]} |"
        yield ""
