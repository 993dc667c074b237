"""Release tables as rows of a CSV file; its first line has the keys.

An empty cell is a key that is not there. Several ``records`` stand in one cell, with semicolons between them.
"""

from __future__ import annotations

import csv
import io
from typing import Any

from accountant.audit.line_numbers import RowLineNumbers
from accountant.audit.release_tables import from_tables
from accountant.audit.releases import ReleaseFileError, Releases
from accountant.files.data_files import DataFileError, float_of
from mechanisms.domains.neighbouring import Neighbouring

_LABELS = ("records", "partition")
_TRUTH = {"true": True, "false": False}
_TEXT = ("mechanism", "sampling", "neighbours", "name", "date", "notes")


def from_rows(source: str, text: str, neighbours: Neighbouring | None = None) -> Releases:
    """Read a CSV file of releases.

    Parameters
    ----------
    source
        The file, for messages.
    text
        Its content: commas between cells, double quotes around cells that hold commas.
    neighbours
        The neighbouring relation of the file, if its rows have none.

    Raises
    ------
    ReleaseFileError
        If it is no such file, or a row breaks a rule of release tables; with its line.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    tables: list[dict[str, Any]] = []
    labels: list[tuple[str | None, Any]] = []
    lines: list[int] = []
    known: dict[tuple[str, ...], dict[str, Any]] = {}  # tables without labels, which many rows share
    try:
        columns = [name.strip() for name in next(reader, [])]
        for name in columns:
            if not name or columns.count(name) > 1:
                raise ReleaseFileError(
                    f"{source}: line 1: column {name!r}: must have a name, and one of its own"
                )
        if columns and "mechanism" not in columns:
            raise ReleaseFileError(
                f"{source}: line 1: no column 'mechanism' among {', '.join(map(repr, columns))[:80]}: the first "
                "line must name the keys of release tables, with commas between them"
            )
        naming = [(i, name) for i, name in enumerate(columns) if name in _LABELS]
        for row in reader:
            if len(row) != len(columns):
                if not any(map(str.strip, row)):
                    continue
                raise ReleaseFileError(
                    f"{source}: line {reader.line_num}: {len(row)} cells: must be as many as columns, {len(columns)}"
                )
            own = []
            for i, name in naming:
                cell, row[i] = row[i].strip(), ""
                if cell:
                    own.append((name, _labels(cell)))
            row_key = tuple(row)
            table = known.get(row_key)
            if table is None:
                cells = zip(columns, map(str.strip, row), strict=True)
                table = known[row_key] = {key: _value(key, cell) for key, cell in cells if cell}
            if not table and not own:
                continue
            tables.append(table | dict(own[1:]) if len(own) > 1 else table)
            labels.append(own[0] if own else (None, None))
            lines.append(reader.line_num)
    except csv.Error as error:
        raise ReleaseFileError(f"{source}: line {reader.line_num}: not valid CSV: {error}") from None
    except DataFileError as error:
        raise ReleaseFileError(f"{source}: line {reader.line_num}: {error}") from None
    return from_tables(source, {"release": tables}, RowLineNumbers(lines), neighbours, labels)


def _labels(cell: str) -> str | list[str]:
    if ";" not in cell:
        return cell
    return [label for part in cell.split(";") if (label := part.strip())]


def _value(key: str, cell: str) -> Any:
    if key in _TEXT or "_" in cell or not cell.isascii():  # Python alone reads 1_000 and other digits
        return cell
    if cell.lower() in _TRUTH:  # spreadsheets write capitals
        return _TRUTH[cell.lower()]
    for number in (int, float_of):
        try:
            return number(cell)
        except DataFileError:
            raise
        except ValueError:
            continue
    return cell
