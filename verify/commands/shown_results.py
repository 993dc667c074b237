"""The common output of commands: progress on standard error, the result on standard output and in files."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from accountant.files.sqlite_file import is_sqlite
from accountant.files.whole_file import whole_file
from algorithms.problems.problem_errors import SettingError
from verify.conduct.progress import Progress, no_progress
from verify.findings.printable import print_on_stderr, printable

if TYPE_CHECKING:
    from rich.console import Console

    from algorithms.blocks import BlockStore
    from verify.document.elements import Document

Writer = Callable[[Path], None]
"""Function that writes a result to a file."""


@contextmanager
def stored_runs(store: BlockStore | None) -> Iterator[None]:
    """Print the way to continue runs with stored blocks, if they are interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if store is not None:
            print_on_stderr(
                f"what is done so far is stored in {store.folder}: the same command goes on from there"
            )
        raise


@contextmanager
def shown_progress(name: str) -> Iterator[Progress]:
    """Show progress on standard error, if that is a terminal.

    Output of the block goes there, too: standard output is the result's alone.
    """
    from rich.console import Console  # files are written without the terminal's colours and bars
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        with redirect_stdout(sys.stderr):
            yield no_progress
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with redirect_stdout(sys.stderr), Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(name), total=1.0)

        def tell(share: float, doing: str) -> None:
            bar.update(task, completed=share, description=printable(f"{name}: {doing}"))

        yield tell


def show(as_json: bool, data: Callable[[], Mapping[str, Any]], report: Callable[[Console], None]) -> None:
    """Print a result on standard output: one JSON object, or a report.

    Parameters
    ----------
    as_json
        True for JSON.
    data, report
        Functions that return the object, and that print the report; only one of them is called.
    """
    if as_json:
        click.echo(json.dumps(data(), allow_nan=False))
    else:
        from verify.commands.console import result_console

        report(result_console())


def json_text(data: Mapping[str, Any]) -> bytes:
    """Return a result as a file of JSON."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        errors="backslashreplace"  # half a surrogate pair, as JSON escapes it
    )


def written_by() -> str:
    """Return a report's line on the time and the version of dpwitness that it was written at and by."""
    version = metadata.version("dpwitness")
    return f"Written {_date():%Y-%m-%d %H:%M:%S} UTC by dpwitness {version}."


def _date() -> datetime:
    """Return the time now, or that of SOURCE_DATE_EPOCH, as reproducible builds set it: seconds since 1970."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not said:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(said), UTC)
    except (ValueError, OverflowError, OSError):
        raise SettingError(
            f"SOURCE_DATE_EPOCH {said!r}: must be seconds since 1970, a whole number"
        ) from None


def check_outputs(outputs: Sequence[Path], *suffixes: str, flag: str = "--output") -> None:
    """Refuse a file of a flag that could not be written, before anything runs.

    Raises
    ------
    SettingError
        If its name ends in none of these suffixes, it cannot be written, or the package for drawing is missing.
    """
    for path in outputs:
        if path.suffix.lower() not in suffixes:
            raise SettingError(f"{flag} {path}: must end in {' or '.join(suffixes)}")
        check_writable(flag, path)
        if path.suffix.lower() == ".png":
            check_matplotlib(f"{flag} {path}:")


def check_other_file(flag: str, path: Path, files: Iterable[Path]) -> None:
    """Refuse the file of a flag if it is read, or written by another flag.

    Raises
    ------
    SettingError
        If it is one of these files, also by another name.
    """
    for file in files:
        if path.resolve() == file.resolve() or (path.exists() and file.exists() and path.samefile(file)):
            raise SettingError(f"{flag} {path}: must be another file than {file}, which would be lost")


def write_outputs(
    outputs: Sequence[Path],
    data: Callable[[], Mapping[str, Any]] = dict,
    documents: Callable[[], Sequence[Document]] = tuple,
    **others: Writer,
) -> None:
    """Write a result to files that were checked, each in the format of its suffix; a file is complete or as it was.

    Parameters
    ----------
    outputs
        The files.
    data, documents
        Functions that make its JSON data, and its documents for a page or a text.
    others
        Functions that write it in other formats, by the suffix without its dot; a PNG has the first document's
        pictures.
    """
    from verify.document.html_page import render_html
    from verify.document.markdown_text import markdown
    from verify.document.png import draw_png

    for path in outputs:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / f"result{path.suffix.lower()}"
            match made.suffix.removeprefix("."):
                case "json":
                    made.write_bytes(json_text(data()))
                case "html":
                    made.write_bytes(render_html(documents(), written_by()).encode())
                case "md":
                    made.write_bytes(markdown(documents(), written_by()).encode())
                case suffix if suffix in others:
                    others[suffix](made)
                case _:
                    draw_png(documents()[0], made)
            if made.exists():
                mode = path.stat().st_mode & 0o777 if path.is_file() else 0o666
                with whole_file(path, mode) as file:
                    file.write(made.read_bytes())


def check_writable(flag: str, path: Path) -> None:
    """Refuse the file of a flag if it could not be written, before anything runs.

    Raises
    ------
    SettingError
        If its folder does not exist, the file cannot be opened, or it is an SQLite database, such as a ledger.
    """
    if not path.absolute().parent.is_dir():
        raise SettingError(f"{flag} {path}: its folder does not exist")
    try:
        if path.is_fifo():  # its reader would take this for the end
            return
        existed = path.exists()
        if path.is_file() and is_sqlite(path):
            raise SettingError(f"{flag} {path}: must not be an SQLite database: a ledger would be lost")
        path.open("ab").close()
    except OSError as error:
        raise SettingError(f"{flag} {path}: cannot be written ({error.strerror})") from None
    if not existed:
        path.resolve().unlink()  # the target of a link, and not the link


def check_matplotlib(what: str) -> None:
    """Refuse to draw if matplotlib is missing; the message begins with the command or option that draws.

    Raises
    ------
    SettingError
        If it is.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SettingError(f"{what} needs matplotlib: pip install 'dpwitness[plot]'") from None
