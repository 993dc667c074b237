"""Tables: the keys of results, from their JSON schemas; the entries of a ledger, from their reader's docstring."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HERE = re.compile(r"^<!-- schemas ([\w ]+) -->$", flags=re.MULTILINE)
_WORDS = {
    "string": "text",
    "object": "an object",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
}
_SCHEMAS = Path(__file__).parents[1] / "schemas"
_ENTRIES = "<!-- entries of a ledger -->"
_READER = Path(__file__).parents[2] / "accountant" / "stores" / "replayed_entries.py"
_ROW = re.compile(r"^``(.*?)`` +(\S.*(?:\n +\S.*)*)$", flags=re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write a table for each schema, and that of the entries, where the page says so."""
    markdown = markdown.replace(_ENTRIES, "\n".join(_entries()))
    return _HERE.sub(
        lambda place: "\n".join(line for name in place[1].split() for line in _table(name)), markdown
    )


def _entries() -> Iterator[str]:
    docstring = ast.get_docstring(ast.parse(_READER.read_text()), clean=False)
    assert docstring is not None
    yield from ("| entry | as JSON | meaning |", "|---|---|---|")
    for entry, meaning in _ROW.findall(docstring):
        words = " ".join(meaning.split()).replace("``", "`")
        yield f"| `{re.findall(r'[a-z ]+', entry)[0]}` | `{entry}` | {words} |"


def _table(name: str) -> Iterator[str]:
    schema = json.loads((_SCHEMAS / f"{name}.json").read_text())
    yield from (f"### {schema['title']}", "", f"[The schema](../schemas/{name}.json).", "")
    yield from ("| key | is |", "|---|---|")
    for key, value in schema["properties"].items():
        missing = "" if key in schema.get("required", ()) else ", may be left out"
        yield f"| `{key}` | {in_words(value)}{missing} |"
    yield ""


def in_words(schema: dict[str, Any]) -> str:
    """Return what a value is: its type, its words, or its keys."""
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(word)}`" for word in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(in_words(each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"a list: {in_words(schema['items'])}" if schema.get("items") else "a list"
    if schema.get("properties"):
        return "an object: " + ", ".join(f"`{key}`" for key in schema["properties"])
    return _WORDS.get(schema.get("type", ""), "anything")
