"""Files from outside of the pages: the README is the front page, results are sections, other links are names."""

import re
from pathlib import Path
from typing import Any

_README = "<!-- README.md -->"
_RESULTS = re.compile(r"^<!-- (tests/benchmarks/results/\w+\.md) -->$", flags=re.MULTILINE)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*([A-Z][\w.]*)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Put the README and results in their places, and let every link lead to a page."""
    root = Path(config.docs_dir).parent
    if markdown.strip() == _README:
        markdown = (root / "README.md").read_text().replace("](docs/", "](")
    markdown = _RESULTS.sub(lambda place: "#" + (root / place[1]).read_text(), markdown)
    markdown = markdown.replace("](../../README.md)", "](../index.md)")
    return _OUTSIDE.sub(lambda link: link[1] if link[1] == link[2] else f"{link[1]} (`{link[2]}`)", markdown)
