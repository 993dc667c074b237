"""What several commands share: options, and progress on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from algorithms.problems import SettingError
from verify.conduct.progress import Progress, silent


class _Settings(click.ParamType[tuple[str, str]]):
    """``key=value``, checked for its form only; the problem checks the rest."""

    name = "key=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        key, equals, text = str(value).partition("=")
        if not equals or not key.strip():
            raise SettingError(f"--set {value}: must be key=value")
        return key.strip(), text.strip()


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of all randomness.")
problem_option = click.option("--problem", help="A problem of the catalogue; default: the learner's own.")
set_option = click.option(
    "--set", "settings", type=_Settings(), multiple=True, help="A parameter of the problem or learner."
)


def unique(settings: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Refuse a parameter that is set twice: one of the values would be lost."""
    keys = [key for key, _ in settings]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise SettingError(f"--set {twice[0]}: given more than once")
    return dict(settings)


@contextmanager
def shown_progress(name: str) -> Iterator[Progress]:
    """Show progress on standard error, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share, doing: bar.update(task, completed=share, description=f"{name}: {doing}")
