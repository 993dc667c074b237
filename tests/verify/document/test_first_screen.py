"""Reports of ten kinds, read from the top by the text alone: five answers on the first screen."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from example_documents import audited, certificate, ledger, regret, reproduction, simulations, verifications
from playwright.sync_api import Browser
from rich.console import Console
from seen_page import opened

from verify.document.elements import Code, Document, Words
from verify.document.html_page import render_html
from verify.document.markdown_text import markdown
from verify.document.terminal_text import print_document

SCREEN, LINES = (1200, 800), 30
KINDS: dict[str, Callable[[Path], Document]] = {
    "certified learner": lambda folder: verifications("mine.py")["certified learner"],
    "certified mechanism": lambda folder: verifications("mine.py")["certified mechanism"],
    "refuted function": lambda folder: verifications("mine.py")["refuted function"],
    "unproven learner": lambda folder: verifications("mine.py")["unproven"],
    "tested function": lambda folder: verifications("mine.py")["black box that passed"],
    "audit": lambda folder: audited(folder),
    "ledger": ledger,
    "regret": lambda folder: regret("dp-bandit"),
    "simulation": lambda folder: simulations(),
    "certificate": lambda folder: certificate(),
    "reproduction": reproduction,
}


def answers(document: Document) -> list[Words]:
    """Return the first line, claim, finding, certainty, assumptions and command of a document."""
    said = document.summary
    again = said.again.line if isinstance(said.again, Code) else said.again
    return [document.meaning, said.claimed, said.found, said.sure, said.rests_on, again]


def plain(text: Words) -> str:
    return "".join(str(text).split())


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "certificate" else ()) for kind in KINDS]
)
def test_the_first_lines_of_a_terminal_answer_five_questions(kind: str, tmp_path: Path) -> None:
    document = KINDS[kind](tmp_path)
    out = io.StringIO()
    print_document(document, Console(file=out, width=80, color_system=None))
    shown = [
        line[start : start + 80]
        for line in out.getvalue().splitlines()
        for start in range(0, max(len(line), 1), 80)
    ]
    screen = "\n".join(shown[:LINES])
    for label in ("Claimed", "Found", "How sure", "Assumed"):
        assert screen.count(f"  {label}  ") == 1
    known = plain(screen)
    for answer in answers(document):
        assert all(plain(word) in known for word in str(answer).split())
    assert plain(answers(document)[-1]) in known
    text = markdown([document], "made")
    assert all(
        text.index(f"{label} |") < text.index("\n## ")
        for label in ("Claimed", "Found", "How sure", "Assumed")
    )


CHEAP = ("refuted function", "audit", "regret")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in CHEAP else pytest.mark.slow) for kind in KINDS]
)
def test_the_first_screen_of_a_page_answers_five_questions(
    kind: str, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_html([KINDS[kind](tmp_path)], "made"), encoding="utf-8")
    size = dict(zip(("width", "height"), SCREEN, strict=True))
    with opened(browser, file.as_uri(), viewport=size) as (page, _):
        below = page.evaluate("document.querySelector('section').getBoundingClientRect().top")
    assert below < SCREEN[1]
