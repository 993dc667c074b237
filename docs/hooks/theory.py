"""Pages of proofs are written from the docstrings that stand beside the code that uses them: one text, one place."""

import importlib
import inspect
import re
from typing import Any

_WRITTEN = re.compile(r"^<!-- docstring of ([\w.]+) -->$", flags=re.MULTILINE)
_CODE = re.compile(r"(``.+?``|`[^`]+`)", flags=re.DOTALL)
_RAISED = (
    (re.compile(r"\^\{([^{}]*)\}"), "sup"),
    (re.compile(r"_\{([^{}]*)\}"), "sub"),
    (re.compile(r"\^([\w+]+)"), "sup"),
    (re.compile(r"(?<=\w)_(\w+)\b"), "sub"),
)
_SECTION = re.compile(r"\n(?:Parameters|Attributes|Raises|Returns|Examples)\n-{3,}\n.*", flags=re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put docstrings in their places, proofs (which are indented) as quotations."""
    return _WRITTEN.sub(lambda place: written(place[1]), markdown)


def written(path: str) -> str:
    """Return the docstring of a module or of a class in it, as Markdown, with the file that it stands in."""
    try:
        described: Any = importlib.import_module(path)
    except ModuleNotFoundError:
        home, _, name = path.rpartition(".")
        described = getattr(importlib.import_module(home), name)
    title, _, text = _SECTION.sub("\n", inspect.cleandoc(described.__doc__) + "\n").partition("\n")
    lines, quoted = [f"## {title.rstrip('.')}", ""], False
    for line in escaped(text).splitlines():
        proof = line.startswith("    ") or (quoted and not line)
        if proof != quoted:
            lines.append("")
        quoted = proof
        lines.append("> " + line.strip() if proof else line)
    home = inspect.getmodule(described)
    assert home is not None
    file = home.__name__.replace(".", "/")
    return "\n".join(
        [*lines, "", f"*Stands in* `{file}{'/__init__' if hasattr(home, '__path__') else ''}.py`."]
    )


def escaped(text: str) -> str:
    """Return a text with exponents above, indices below, and nothing else outside code that could be taken for markup.

    >>> escaped("x_k * e^{-s} < `a_b`")
    'x<sub>k</sub> * e<sup>-s</sup> &lt; `a_b`'
    """
    parts = _CODE.split(text)
    for number in range(0, len(parts), 2):
        part = parts[number].replace("<", "&lt;")
        for pattern, tag in _RAISED:
            part = pattern.sub(rf"<{tag}>\1</{tag}>", part)
        parts[number] = re.sub(r"(?<=\w)[*_](?=\w)", r"\\\g<0>", part)
    return "".join(parts)
