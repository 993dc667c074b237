"""Lists of public names, such as ``<!-- accountant: Budget Cost -->``; the page shows the docstring of each."""

import re
from typing import Any

_NAMES = re.compile(r"^<!-- ([a-z_.]+):((?:\s+\w+)+)\s+-->$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write an entry of mkdocstrings for each name of a list."""
    return _NAMES.sub(lambda at: "\n\n".join(f"::: {at[1]}.{name}" for name in at[2].split()), markdown)
