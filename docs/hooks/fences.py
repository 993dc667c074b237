"""Fences that are more than code: one that names its file has a title, a drawing that needs a script is left out."""

import re
from typing import Any

_NAMED = re.compile(r"^```(\w+) (?:file=)?([\w./-]+)$", flags=re.MULTILINE)
_DRAWN = re.compile(r"^```mermaid\n.*?^```\n", flags=re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the name after the language as a title; what a browsed repository draws, the page tells in words, too."""
    return _NAMED.sub(r'```\1 title="\2"', _DRAWN.sub("", markdown))
