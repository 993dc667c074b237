"""What several commands share: options, progress on standard error, the result, and the check of a picture's file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from accountant.files.sqlite_file import is_sqlite
from algorithms.blocks import BlocksMissing, BlockStore, Part
from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import SettingError
from verify.commands.completed_names import COMPOSITION, PROBLEM, Completed, ParameterType
from verify.conduct.progress import Progress, silent
from verify.printable import print_on_stderr, printable

if TYPE_CHECKING:
    from verify.options import OptionFacts, Options

_NARROWEST, _USUAL = 20, 80  # columns
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Read(ParameterType):
    """What a function makes of a flag's text, given the flag; it refuses in words of its own."""

    def __init__(self, name: str, read: Callable[[str, str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what is made of a text; a default is that already."""
        return self._read(value, param.opts[0] if param else "value") if isinstance(value, str) else value


def _setting(text: str, flag: str) -> tuple[str, str]:
    """Read ``key=value``, checked for its form only; the problem checks the rest."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError(f"{flag} {text}: must be key=value")
    return key.strip(), value.strip()


def _numbers(text: str, flag: str) -> tuple[float, ...]:
    """Read numbers separated by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"{flag} {text}: must be a number, or numbers separated by commas") from None


def _part(text: str, flag: str) -> Part:
    """Read ``I/N``."""
    number, _, of = text.partition("/")
    try:
        return Part(int(number), int(of))
    except ValueError:
        raise SettingError(f"{flag} {text}: must be I/N with 1 <= I <= N") from None


rules_option = click.option(
    "--rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Limits beside the budget, in TOML: see docs/ledger.md.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _unique(
    ctx: click.Context, option: click.Parameter, settings: tuple[tuple[str, str], ...]
) -> dict[str, str]:
    """Refuse a parameter that is set twice: one of the values would be lost."""
    keys = [key for key, _ in settings]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise SettingError(f"{option.opts[0]} {twice[0]}: given more than once")
    return dict(settings)


_NAMES = {"problem": PROBLEM, "composition": COMPOSITION}
_READERS: dict[type, Any] = {Path: click.Path(path_type=Path), dict: Read("key=value", _setting), list: str}


def _type_of(name: str, facts: OptionFacts) -> Any:
    """Return what reads the text of an option's flag, and completes it where its values have names."""
    if facts.values:
        return Completed(name, lambda: facts.values)
    return _NAMES.get(name) or _READERS.get(facts.reads, facts.reads)


def flags(*names: str, of: type[Options] | None = None) -> Callable[[_Command], _Command]:
    """Give a command the flags of these options of `verify`, or of all that have one."""
    from verify.options import Options, each_option  # they know all of verify, which audits do without

    def decorate(command: _Command) -> _Command:
        for name, default, facts in reversed(list(each_option(of or Options))):
            if facts.help and (not names or name in names):
                command = click.option(
                    facts.spelling(name),
                    name,
                    type=_type_of(name, facts),
                    is_flag=facts.reads is bool,
                    multiple=facts.reads in (dict, list),
                    callback=_unique if facts.reads is dict else None,
                    default=default,
                    show_default=default is not None and default is not False,
                    help=facts.help,
                )(command)
        return command

    return decorate


def privacy_options(does: str) -> Callable[[_Command], _Command]:
    """Give a command --epsilon and --delta, several values each; `does` is the verb for what it does with them."""
    epsilon = click.option(
        "--epsilon",
        type=Read("x[,y...]", _numbers),
        default=(1.0,),
        show_default="1",
        help=f"Privacy of private learners; 0.5,1,2 {does} each.",
    )
    delta = click.option(
        "--delta",
        type=Read("x[,y...]", _numbers),
        default=(DEFAULT_DELTA,),
        show_default=f"{DEFAULT_DELTA:g}",
        help="Of learners that need a delta; several as for --epsilon.",
    )
    return lambda command: epsilon(delta(command))


def store_options(command: _Command) -> _Command:
    """Give a command the flags of a store of blocks."""
    store = click.option(
        "--store",
        type=click.Path(path_type=Path, file_okay=False),
        help="A folder where blocks of runs are stored as they come; asked again, it goes on from there.",
    )
    part = click.option(
        "--part", type=Read("I/N", _part), help="With --store: do the I-th of N parts only, for N machines."
    )
    return store(part(command))


def block_store(folder: Path | None, part: Part | None) -> BlockStore | None:
    """Return the store that flags name."""
    if folder is None:
        if part is not None:
            raise SettingError(f"--part {part.number}/{part.of}: needs --store")
        return None
    return BlockStore(folder, part or Part())


@contextmanager
def stored_runs(store: BlockStore | None) -> Iterator[None]:
    """Say how to go on, if runs are interrupted whose blocks are stored, or stop because only a part was asked for."""
    try:
        yield
    except KeyboardInterrupt:
        if store is not None:
            print_on_stderr(
                f"what is done so far is stored in {store.folder}: the same command goes on from there"
            )
        raise
    except BlocksMissing as missing:
        print_on_stderr(str(missing))
        raise click.exceptions.Exit(0) from None


@contextmanager
def shown_progress(name: str) -> Iterator[Progress]:
    """Show progress on standard error, if that is a terminal.

    What is printed in the block goes there, too: standard output is the result's alone.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        with redirect_stdout(sys.stderr):
            yield silent
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
        Whether it is JSON.
    data, report
        The object, and what prints the report; only one of them is called.
    """
    if as_json:
        click.echo(json.dumps(data(), allow_nan=False))
    else:
        report(result_console())


def result_console() -> Console:
    """Return what shows results on standard output, as wide as the terminal.

    Where that does not know how wide it is (``COLUMNS=0``), or is too narrow for any word, it is as if it were usual.
    """
    console = Console()
    if console.width < _NARROWEST:
        console.width = _USUAL
    return console


def check_plot(path: Path) -> None:
    """Refuse a plot that could not be written, before anything runs.

    Raises
    ------
    SettingError
        If the name does not end in .png, it cannot be written or matplotlib is missing.
    """
    if path.suffix.lower() != ".png":
        raise SettingError(f"--plot {path}: must end in .png")
    check_writable("--plot", path)
    check_matplotlib("--plot")


def refuse_given(names: Iterable[str], rule: str) -> None:
    """Refuse options of the running command that were written out, which would be passed over.

    Raises
    ------
    SettingError
        If one was.
    """
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise SettingError(f"--{name} {context.params[name]}: {rule}")


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
        if path.is_fifo():  # whoever reads it would take this for the end
            return
        existed = path.exists()
        if path.is_file() and is_sqlite(path):
            raise SettingError(f"{flag} {path}: must not be an SQLite database: a ledger would be lost")
        path.open("ab").close()
    except OSError as error:
        raise SettingError(f"{flag} {path}: cannot be written ({error.strerror})") from None
    if not existed:
        path.resolve().unlink()  # what a link leads to, and not the link


def check_matplotlib(what: str) -> None:
    """Refuse what draws, named by `what`, if matplotlib is missing.

    Raises
    ------
    SettingError
        If it is.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SettingError(f"{what} needs matplotlib: pip install 'dpwitness[plot]'") from None
