"""Notebooks as pages, with the outputs that they are committed with (a test runs them and compares)."""

import json
import re
from pathlib import Path
from typing import Any

_HERE = re.compile(r"^<!-- notebook ([\w.]+) -->$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Write the cells of a notebook that lies beside the page where the page says so."""
    beside = Path(page.file.abs_src_path).parent
    return _HERE.sub(lambda place: as_markdown(json.loads((beside / place[1]).read_text())), markdown)


def as_markdown(notebook: dict[str, Any]) -> str:
    """Return text as it is, code and what it printed as fences, and results as they show themselves."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            else:
                parts.append(f"<div>\n{''.join(output['data']['text/html']).strip()}\n</div>")
    return "\n\n".join(parts)
