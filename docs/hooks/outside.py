"""The front page is the README; links to other files of the repository that are no pages are shown as their names."""

import re
from pathlib import Path
from typing import Any

_README = "<!-- README.md -->"
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)*([A-Z][\w.]*)\)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Put the README in its place, and let every link lead to a page."""
    if markdown.strip() == _README:
        readme = (Path(config.docs_dir).parent / "README.md").read_text()
        markdown = readme.replace("](docs/", "](")
    markdown = markdown.replace("](../../README.md)", "](../index.md)")
    return _OUTSIDE.sub(lambda link: link[1] if link[1] == link[2] else f"{link[1]} (`{link[2]}`)", markdown)
