"""The Python code of a Jupyter notebook: its code cells without what only IPython understands.

Line n of cell k (of the code cells, from 1) is line ``1000 k + n`` of the code, so that places in reports can be found.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

from verify.subject_error import SubjectError

_LINES_OF_CELL = 1_000
"""By how much the numbers of a cell's lines are larger than those of the cell before; longer cells are refused."""

_TIMED = frozenset({"time", "timeit", "capture", "prun"})  # cell magics whose cell is Python
_MAGIC = re.compile(r"(?P<indent>\s*)(([\w, ]+=\s*)?[%!?]|[\w.]+\?{1,2}\s*$)")


@dataclass(frozen=True)
class NotebookCode:
    """The code of a notebook.

    Attributes
    ----------
    source
        All cells, each at its place; whatever is no Python is an empty line.
    not_python
        What was taken out, in words: "cell 3, line 2: %matplotlib inline".
    """

    source: str
    not_python: tuple[str, ...]


def notebook_code(path: Path) -> NotebookCode:
    """Read a notebook's code; nothing of it is run.

    Raises
    ------
    SubjectError
        If it is no notebook, or none of Python.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [_text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        language = str(notebook.get("metadata", {}).get("kernelspec", {}).get("language", "python"))
    except OSError as error:
        raise SubjectError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SubjectError(f"{path}: is no Jupyter notebook of format 4") from None
    if language != "python":
        raise SubjectError(f"{path}: its language is {language}; only notebooks of Python can be verified")
    source: list[str] = []
    not_python: list[str] = []
    for number, cell in enumerate(cells, start=1):
        lines = cell.splitlines()
        if len(lines) >= _LINES_OF_CELL:
            raise SubjectError(f"{path}: cell {number} has {len(lines)} lines; must have fewer than 1,000")
        source += [""] * (_LINES_OF_CELL * number - len(source))
        source += _python(lines, number, not_python)
    return NotebookCode("\n".join(source) + "\n", tuple(not_python))


def place_in_cells(line: int) -> str:
    """Say a line of a notebook's code as its reader counts."""
    cell, line = divmod(line, _LINES_OF_CELL)
    return f"cell {cell}, line {line}"


def _text(source: object) -> str:
    """Return a cell's source, which is one text or a list of lines."""
    if isinstance(source, list):
        return "".join(source)
    if not isinstance(source, str):
        raise TypeError(source)
    return source


def _python(lines: list[str], cell: int, not_python: list[str]) -> list[str]:
    """Return the lines of a cell with empty ones, or ``pass``, in place of what is no Python."""
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].startswith("%%"):
        not_python.append(f"cell {cell}: {lines[first]}")
        if lines[first][2:].partition(" ")[0] not in _TIMED:
            return [""] * len(lines)
        lines = [*[""] * (first + 1), *lines[first + 1 :]]
    while (wrong := _wrong_line(lines)) is not None:
        match = _MAGIC.match(lines[wrong - 1]) if 0 < wrong <= len(lines) else None
        if match is None:
            not_python.append(f"cell {cell}: is no Python that could be read")
            return [""] * len(lines)
        not_python.append(f"cell {cell}, line {wrong}: {lines[wrong - 1].strip()}")
        lines = [*lines[: wrong - 1], f"{match['indent']}pass", *lines[wrong:]]
    return lines


def _wrong_line(lines: list[str]) -> int | None:
    """Return the number of the line at which a cell is no Python, 0 if that cannot be told; None if it is."""
    try:
        ast.parse("\n".join(lines))
    except SyntaxError as error:
        return error.lineno or 0
    except (ValueError, RecursionError, MemoryError):  # the last where the parser's own stack is full
        return 0
    return None
