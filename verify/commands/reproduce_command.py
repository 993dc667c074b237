"""The command ``dpwitness reproduce``: figures and tables of the papers, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click
from rich.console import Console
from rich.text import Text

from algorithms.blocks import make_executor
from algorithms.problems import SettingError
from verify.commands.command_options import (
    check_matplotlib,
    flags,
    json_option,
    result_console,
    show,
    shown_progress,
)
from verify.commands.completed_names import EXPERIMENT
from verify.document.terminal_text import plain_table
from verify.experiments.experiment import Experiment, Scale
from verify.experiments.named_experiments import experiments, named_experiments
from verify.experiments.reproduce import Reproduced, reproduce

_STYLES = {"agrees": "green", "differs": "bold red", "not significant": "yellow", "vacuous": "yellow"}


@click.command("reproduce")
@click.argument("names", nargs=-1, type=EXPERIMENT)
@click.option(
    "--scale",
    type=click.Choice(["quick", "paper"]),
    default="paper",
    show_default=True,
    help="The paper's size, or one that takes less than a minute each.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Your unpacked copy of MovieLens-1M; without it made-up movies stand in.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduced"),
    show_default=True,
    help="Where files go. Runs that are there already are not simulated again.",
)
@flags("workers", "backend", "scheduler")
@json_option
def reproduce_command(
    names: tuple[str, ...],
    scale: str,
    data: Path | None,
    out: Path,
    workers: int,
    backend: str,
    scheduler: str | None,
    as_json: bool,
) -> None:
    """Reproduce the figures and tables NAMES of the papers; without a name, list them.

    The beginning of a name stands for all that begin so: cascade/fig1 for all its parts, matroid/ for a paper. Each
    leaves a picture, a CSV file and a report: what the paper shows, what is seen, why they differ. A run that was
    stopped goes on.
    """
    if not names:
        show(as_json, _catalogue, _render_list)
        return
    chosen = named_experiments(names)
    if data is not None and not any(experiment.takes_data for experiment in chosen):
        raise SettingError(f"--data {data}: none of {', '.join(names)} takes data")
    check_matplotlib("reproduce")
    executor = make_executor(workers, backend, scheduler)
    done = []
    for experiment in chosen:
        with shown_progress(experiment.name) as tell:
            found = reproduce(
                experiment, out, scale=cast(Scale, scale), data=data, executor=executor, progress=tell
            )
        done.append(found)
        if not as_json:
            _render(experiment, found, result_console())
    show(as_json, lambda: {"experiments": [each.json() for each in done]}, lambda console: None)


def _catalogue() -> dict[str, Any]:
    return {
        "experiments": [
            {
                "name": experiment.name,
                "title": experiment.title,
                "source": experiment.source,
                "shows": experiment.shows,
                "setting": experiment.setting,
                "takes_data": experiment.takes_data,
                "sizes": {
                    scale: {"horizon": size.horizon, "runs": size.runs, "points": size.points}
                    for scale, size in experiment.sizes.items()
                },
            }
            for experiment in experiments.values()
        ]
    }


def _render_list(console: Console) -> None:
    rows = [
        (
            experiment.name,
            Text.assemble((experiment.title, "bold"), f"\n{experiment.shows}\n", (experiment.source, "dim")),
        )
        for experiment in experiments.values()
    ]
    console.print(plain_table(("dpwitness reproduce ...", "what the paper shows"), rows))


def _render(experiment: Experiment, found: Reproduced, console: Console) -> None:
    console.print(Text.assemble((found.name, "bold"), f"  {experiment.title} ({found.seconds:.0f} s)"))
    for says, seen in found.seen:
        result = (seen.result, _STYLES[seen.result])
        console.print(Text.assemble("  - ", says, ": ", result, f" ({seen.words})"))
    for path in (found.picture, found.data, found.text):
        console.print(Text(f"  {path}"), soft_wrap=True)
