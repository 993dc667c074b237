"""Line numbers of release tables and their keys in a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]:,]')  # possessive: long texts take no memory


@dataclass(frozen=True)
class RowLineNumbers:
    """Line numbers of tables that are rows.

    Attributes
    ----------
    lines
        The line at which each row ends.
    """

    lines: Sequence[int]

    def key(self, table: int, key: str | None) -> int:
        """Return the line of a row."""
        return self.lines[table]

    def top_level(self, key: str) -> int:
        """Return the first line, which names the columns."""
        return 1


class TomlLineNumbers:
    """Line numbers of the ``release`` tables of a file that was parsed without error, read at the first request.

    Parameters
    ----------
    text
        The file.
    toml
        True if it is TOML, False if it is JSON.
    """

    def __init__(self, text: str, toml: bool) -> None:
        self._tables: list[int] = []
        self._keys: list[dict[str, int]] = []
        self._top: dict[str, int] = {}
        self._read: Callable[[], None] | None = partial(self._read_toml if toml else self._read_json, text)

    def _read_once(self) -> None:
        if self._read is not None:
            self._read()
            self._read = None

    def key(self, table: int, key: str | None) -> int:
        """Return the line of a key of the `table`-th release, or of the table itself; 1 if it is not found."""
        self._read_once()
        if table >= len(self._tables):
            return 1
        return self._keys[table].get(key or "", self._tables[table])

    def top_level(self, key: str) -> int:
        """Return the line of a key outside all release tables; 1 if it is not found."""
        self._read_once()
        return self._top.get(key, 1)

    def _read_toml(self, text: str) -> None:
        inside = False
        for number, line in enumerate(text.splitlines(), start=1):
            if re.match(r"\s*\[\[\s*[\"']?release[\"']?\s*\]\]", line):
                inside = True
                self._tables.append(number)
                self._keys.append({})
            elif header := re.match(r"\s*\[+\s*[\"']?([\w-]+)", line):
                if header[1] != "release":  # [release.sensitivity] belongs to the last table
                    inside = False
                    self._top.setdefault(header[1], number)
            elif found := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*(?:\.[\w.-]+\s*)?=", line):
                (self._keys[-1] if inside else self._top).setdefault(found[1], number)

    def _read_json(self, text: str) -> None:
        depth, previous, in_release = 0, "", False
        number, counted = 1, 0
        for token in _TOKEN.finditer(text):
            number += text.count("\n", counted, token.start())
            counted = token.start()
            sign = token[0]
            if sign in "{[":
                depth += 1
                if sign == "{" and depth == 3 and in_release:
                    self._tables.append(number)
                    self._keys.append({})
            elif sign in "}]":
                depth -= 1
            elif sign == ":" and previous:
                name = previous[1:-1]
                if depth == 1:
                    in_release = name == "release"
                    self._top.setdefault(name, self._previous_line)
                elif depth == 3 and in_release and self._keys:
                    self._keys[-1].setdefault(name, self._previous_line)
            previous = sign if sign.startswith('"') else ""
            self._previous_line = number

    _previous_line = 1


LineNumbers = RowLineNumbers | TomlLineNumbers
"""The line numbers of the tables and keys of a release file."""
