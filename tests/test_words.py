"""The documentation that people write stays short: ceilings on its words, and on the length of its sentences."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WORDS = 25_000
"""Of all pages together, code blocks included."""
README_WORDS = 900
"""Of the front page."""
LONGEST = 45
"""Words of a sentence, outside of theory."""


def sentences(text):
    """Split prose into sentences; an item of a list and a cell of a table end one, and code blocks are left out."""
    prose = re.sub(r"^```.*?^```", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s)", prose):
        for part in block.split("|") if block.lstrip().startswith("|") else [block]:
            yield from re.split(r"(?<=[.!?:])[)\"*]*\s+(?=[A-Z`*(\[\"])", part)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("One. Two: Three", 3),
        ("- one item\n- another", 2),
        ("| a cell | of a row. With two |", 5),
        ("e.g. this is\none sentence", 1),
        ("Before\n```sh\nOne. Two.\n```\nafter", 2),
    ],
)
def test_sentences_are_found(text, number):
    assert len(list(sentences(text))) == number


def test_the_documentation_is_short():
    assert sum(len(page.read_text().split()) for page in PAGES) <= WORDS


def test_the_front_page_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= README_WORDS


def test_no_sentence_is_long():
    long = [
        f"{page.relative_to(ROOT)}: {' '.join(sentence.split())}"
        for page in PAGES
        if "theory" not in page.parts
        for sentence in sentences(page.read_text())
        if len(sentence.split()) > LONGEST
    ]
    assert not long, "\n".join(long)
