"""Every option of the command line, once: its flag, its type and its help, from which all commands take theirs.

Nothing but click is imported here, so that a shell that completes a line waits for nothing else. Where an option of
`verify` has a field in `verify.verification.options.Options`, a test compares the two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from verify.commands.listed_names import rows_of

if TYPE_CHECKING:
    ParameterType = click.ParamType[Any]
else:
    ParameterType = click.ParamType  # which older versions of click do not let be subscripted

_MOST_WORKERS = 1_000
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}  # seconds


class _NameType(ParameterType):
    """A name of the catalogue, completed by the shell without importing it; the command that takes it checks it.

    Parameters
    ----------
    kinds
        The kinds of names, as `listed_names.rows_of` has them.
    files
        Whether it may be the path of a file, too.
    """

    def __init__(self, *kinds: str, files: bool = True) -> None:
        self.name = " or ".join(kinds)
        self._kinds = kinds
        self._files = files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return the names that begin so; if there are none, a file's if it may be one."""
        found = [CompletionItem(name) for name, *_ in rows_of(*self._kinds) if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._files else [])


class _NumberType(click.FloatRange):
    """A number in a range."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return it; of several, say where they are taken."""
        if param is not None and "," in str(value):
            self.fail(
                f"{value!r} must be one number; several are given as --set {param.name}={value}", param, ctx
            )
        if str(value).lower() == "nan":
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return super().convert(value, param, ctx)


class _NumberOrZeroType(_NumberType):
    """A number in a range, or 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return it."""
        if "," not in str(value) and click.FLOAT.convert(value, param, ctx) == 0.0:
            return 0.0
        return super().convert(value, param, ctx)

    def _describe_range(self) -> str:
        return f"0 or {super()._describe_range()}"


class _IntegerType(click.IntRange):
    """A whole number in a range."""

    name = "integer"


class _WorkersType(ParameterType):
    """A number of processes, or a Dask cluster."""

    name = "N|dask[:ADDRESS]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Return the number, or the word."""
        text = str(value)
        if text == "dask" or text.startswith("dask:"):
            return text
        if text.isdecimal() and 1 <= int(text) <= _MOST_WORKERS:
            return int(text)
        self.fail(
            f"{text!r} must be a whole number from 1 to {_MOST_WORKERS:,}, dask, or dask:ADDRESS", param, ctx
        )

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        """Return the word, if it begins so."""
        return [CompletionItem("dask")] if "dask".startswith(incomplete) else []


class _BetsType(ParameterType):
    """The bets: False for none, True for a flag without a value, or the file of winnings."""

    name = "[FILE]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool | str:
        """Return it."""
        return value if isinstance(value, bool) else str(value) or True


class _SettingType(ParameterType):
    """A parameter by name; its owner, a learner or problem, checks the value."""

    name = "NAME=VALUE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, equals, given = str(value).partition("=")
        if not equals or not name.strip():
            self.fail(f"{value!r} must be NAME=VALUE", param, ctx)
        return name.strip(), given.strip()


class _DurationType(ParameterType):
    """A time with its unit, in milliseconds."""

    name = "90s|30m|12h|2d"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the milliseconds."""
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)([smhd])", str(value).strip())
        if found is None:
            self.fail(f"{value!r} must be a number with its unit: 90s, 30m, 12h or 2d", param, ctx)
        return 1000.0 * float(found[1]) * _UNITS[found[2]]


@dataclass(frozen=True)
class Option:
    """An option, the same in every command that has it.

    Attributes
    ----------
    flag
        The flag as it is typed.
    kind
        The type of its value; bool if it has none.
    help
        The help text.
    name
        The parameter of the command's function; by default as the flag.
    many
        Whether it may be repeated.
    default
        Its value if it is not given.
    short
        A second spelling.
    alone
        Its value if it is given without one.
    """

    flag: str
    kind: Any
    help: str
    _: KW_ONLY
    name: str = ""
    many: bool = False
    default: Any = None
    short: str = ""
    alone: Any = None

    @property
    def parameter(self) -> str:
        """The parameter of the command's function."""
        return self.name or self.flag.removeprefix("--").replace("-", "_")

    def option(self) -> click.Option:
        """Return click's option."""
        flags = [self.flag, *([self.short] if self.short else []), self.parameter]
        if self.kind is bool:
            return click.Option(flags, is_flag=True, help=self.help)
        settings: dict[str, Any] = {"multiple": True} if self.many else {"default": self.default}
        if self.alone is not None:
            settings |= {"is_flag": False, "flag_value": self.alone}
        return click.Option(
            flags,
            type=self.kind,
            help=self.help,
            show_default=self.default is not None and self.default is not False and self.default != "",
            metavar=self.kind.name if isinstance(self.kind, _WorkersType | _DurationType) else None,
            callback=_unique if isinstance(self.kind, _SettingType) else None,
            **settings,
        )


def _unique(
    ctx: click.Context, option: click.Parameter, settings: tuple[tuple[str, str], ...]
) -> dict[str, str]:
    """Refuse a parameter that is set twice: one of the values would be lost."""
    found: dict[str, str] = {}
    for name, value in settings:
        if name in found:
            raise click.BadParameter(f"{name} is given more than once", ctx, option)
        found[name] = value
    return found


FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE = click.Path(path_type=Path)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)
RATE = _NumberType(1e-300, 1, max_open=True)
GAIN = _NumberType(0, 1, min_open=True, max_open=True)
POSITIVE = _NumberType(0, min_open=True)
FINITE = _NumberType(0, math.inf, max_open=True)
FINITE_POSITIVE = _NumberType(0, math.inf, min_open=True, max_open=True)
DELTA = _NumberType(0, 1, max_open=True)
ASKED_DELTA = _NumberOrZeroType(1e-290, 1, max_open=True)
TARGET_EPSILON = _NumberType(0, 1e100)
BUDGET_EPSILON = _NumberType(0)
BUDGET_DELTA = _NumberType(0, 1)
COUNT = _IntegerType(1)
NO_ANCHOR = Path("none")
"""The value of --anchor for an anchor that is lost."""
LEARNER = _NameType("learner")
SUBJECT = _NameType("learner", "specimen")
PROBLEM = _NameType("problem")
FIGURE = _NameType("figure", files=False)


def _table(*options: Option) -> dict[str, Option]:
    return {option.flag.removeprefix("--"): option for option in options}


OPTIONS = _table(
    Option("--accept-clock", bool, "The clock is right, though far ahead of the last entry."),
    Option("--add", str, "Make a key of this name, and print it once."),
    Option("--adversary", str, "Who reacts to actions: 'challenge(0, 1)' or file.py:object."),
    Option("--advantage", GAIN, "Target: what any attack gains over guessing, at most."),
    Option(
        "--allow-return",
        bool,
        "With --erase: the same name later begins with a new account and a full budget.",
    ),
    Option(
        "--anchor",
        NEW_FILE,
        f"File outside the store that records its latest position; {NO_ANCHOR}: it is lost.",
    ),
    Option(
        "--anytime",
        _BetsType(),
        "Test sequentially, by bets against the claim; FILE keeps the winnings from run to run.",
        default=False,
        alone="",
    ),
    Option("--author", str, "Who makes the change; kept in the ledger.", default=""),
    Option("--budget", FINITE_POSITIVE, "Report what is left of this epsilon; exit code 1 if exceeded."),
    Option("--cache", FOLDER, "Folder of finished runs; the same command goes on from there."),
    Option("--cancel", int, "Give the charge of this open reservation back."),
    Option("--certificate", NEW_FILE, "Write a certificate here if the claim is certified."),
    Option("--command", str, "Program to verify: its data and outputs are JSON."),
    Option(
        "--composition",
        click.Choice(["basic", "advanced", "zcdp", "renyi", "gaussian"]),
        "Theorem that adds losses up; its parameters by --set.",
    ),
    Option("--data", str, "Data domain, or which data are neighbours: 'interval(0, 1)'."),
    Option("--delay", _IntegerType(0), "Rounds until a logged reward reaches the learner.", default=0),
    Option("--delta", DELTA, "Privacy parameter delta."),
    Option("--deployment", EXISTING_FILE, "What people declare of the deployment, in TOML; with --format."),
    Option(
        "--effort",
        click.Choice(["quick", "default", "thorough"]),
        "How much to draw and to search.",
        default="default",
    ),
    Option("--epsilon", FINITE_POSITIVE, "Privacy parameter epsilon."),
    Option("--erase", str, "Delete the link from this record's name to its account."),
    Option(
        "--expire", _DurationType(), "Withdraw a run's actions that have waited for feedback as long as this."
    ),
    Option("--floating-point", bool, "What only floating-point arithmetic leaks counts, too."),
    Option("--for", PROBLEM, "Recommend a learner for this problem.", name="played"),
    Option(
        "--format",
        click.Choice(["nist", "registry"]),
        "Answer sheet for NIST SP 800-226, or draft entry for the deployments registry.",
        name="sheet",
    ),
    Option("--from", EXISTING_FILE, "Import this exported ledger.", name="exported"),
    Option("--group-size", COUNT, "Privacy of groups of this many records.", default=1),
    Option("--horizon", COUNT, "Rounds per run."),
    Option("--json", bool, "Print one JSON object.", name="as_json"),
    Option("--learner", LEARNER, "Begin a durable run of this learner, not a bare ledger."),
    Option("--log", FILE, "Replay logged traffic (CSV: action, reward, propensity) instead of simulating."),
    Option(
        "--movielens",
        click.Path(path_type=Path, exists=True, file_okay=False),
        "Unpacked copy of MovieLens-1M; without it, made-up movies stand in.",
    ),
    Option("--name-keys", str, "File, or env:VARIABLE, of the keys under which names are hashed."),
    Option(
        "--neighbors",
        click.Choice(["replace-one", "add-or-remove-one", "zero-out"]),
        "Neighbouring relation, where a file does not say it.",
    ),
    Option(
        "--output",
        NEW_FILE,
        "File to write; its suffix says what: .json, .html, .md, .png, .csv, .yaml.",
        name="outputs",
        many=True,
        short="-o",
    ),
    Option("--output-dir", FOLDER, "Folder of tables, pictures and reports.", default=Path("reproduced")),
    Option("--problem", PROBLEM, "Problem of the catalogue, or path/to/file.py:problem."),
    Option("--promote", bool, "This copy goes on and no other will (after a move, a restore or a loss)."),
    Option("--proof", NEW_FILE, "Write a proof of the figure here, for the independent checker."),
    Option("--purpose", str, "What charges are for; rules count by it."),
    Option(
        "--rates",
        (RATE, RATE),
        f"Target: false and true positive rate of any attack, at most.  [{RATE._describe_range()}]",
    ),
    Option("--reason", str, "Why; kept in the ledger.", default=""),
    Option("--replay", bool, "Run a certificate's subject again, too, with a new seed."),
    Option("--remove", str, "Revoke the key of this name."),
    Option("--rotate-keys", str, "Hash names under the newer keys of this file, or env:VARIABLE."),
    Option("--rules", EXISTING_FILE, "Limits beside the budget, in TOML; an empty file: none."),
    Option("--run", str, "Run that the key is for, and nothing else.", many=True),
    Option("--runs", COUNT, "Independent runs."),
    Option("--samples", _IntegerType(1_024), "Draws of the black-box test in all, in place of the effort's."),
    Option("--scale", click.Choice(["quick", "paper"]), "Size of experiments.", default="paper"),
    Option(
        "--scope",
        click.Choice(["read", "spend", "act", "observe", "admin"]),
        "What the key allows.",
        many=True,
    ),
    Option("--seed", _IntegerType(0), "Seed of all randomness.", default=0),
    Option("--set", _SettingType(), "Parameter, by name.", name="settings", many=True),
    Option(
        "--significance",
        _NumberType(0, 0.5, min_open=True),
        "Largest probability that a true claim is rejected.",
        default=1e-4,
    ),
    Option("--strict", bool, "Refuse what rests on an assumption that nobody checked."),
    Option("--subject", SUBJECT, "Where the code is now, if it has moved."),
    Option("--tenant", str, "Who sees what is released."),
    Option(
        "--test",
        click.Choice(["bound", "growth", "exponent", "lower-bound"]),
        "What is tested.",
        default="bound",
    ),
    Option("--time-limit", POSITIVE, "Seconds after which to stop, and report what holds.", default=600.0),
    Option("--trust", click.Choice(["central", "local", "shuffle", "none"]), "Trust model."),
    Option("--unit", str, "What is protected: 'one report', 'one person, at most 8 rounds'."),
    Option("--workers", _WorkersType(), "Processes, or a Dask cluster; no result depends on it.", default=1),
)
"""All options, by their flags without the dashes."""


def options_named(flags: str) -> Iterator[Option]:
    """Yield the options of a list of names between blanks."""
    for flag in flags.split():
        yield OPTIONS[flag]
