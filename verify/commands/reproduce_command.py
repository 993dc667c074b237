"""The command ``dpwitness reproduce``: figures and tables of the papers, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from algorithms.blocks import make_executor
from algorithms.problems import SettingError
from verify.commands.console import result_console
from verify.commands.shown_results import check_matplotlib, show, shown_progress
from verify.document.terminal_text import plain_table
from verify.experiments.experiment import Experiment, Scale
from verify.experiments.named_experiments import experiments, named_experiments
from verify.experiments.reproduce import Reproduced, reproduce

_STYLES = {"agrees": "green", "differs": "bold red", "not significant": "yellow", "vacuous": "yellow"}


def reproduce_command(
    *,
    figures: tuple[str, ...],
    scale: Scale,
    movielens: Path | None,
    output_dir: Path,
    workers: int | str,
    as_json: bool,
) -> None:
    """Reproduce figures and tables, and show their data; without names, list them."""
    if not figures:
        show(as_json, _catalogue, _render_list)
        return
    chosen = named_experiments(figures)
    if movielens is not None and not any(experiment.takes_data for experiment in chosen):
        raise SettingError(f"--movielens {movielens}: none of {', '.join(figures)} takes data")
    check_matplotlib("reproduce")
    executor = make_executor(workers)
    done = []
    for experiment in chosen:
        with shown_progress(experiment.name) as tell:
            found = reproduce(
                experiment, output_dir, scale=scale, data=movielens, executor=executor, progress=tell
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
    for seen in found.seen:
        result = (seen.result, _STYLES[seen.result])
        console.print(Text.assemble("  - ", seen.says, ": ", result, f" ({seen.words})"))
    for path in (found.picture, found.data, found.report):
        console.print(Text(f"  {path}"), soft_wrap=True)
