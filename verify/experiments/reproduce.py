"""Reproduction of one experiment by name: picture, CSV and report."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accountant.files.json_form import json_able, reader_of
from accountant.files.json_object import FromJson, JsonObject
from accountant.provenance import Provenance, made_now
from algorithms.blocks import Executor, Processes
from verify.conduct.progress import Progress, no_progress
from verify.document.markdown_text import markdown
from verify.experiments.csv_files import write_runs, write_table
from verify.experiments.draw import draw_figure, draw_table
from verify.experiments.experiment import Experiment, Figure, PaperTable, Results, Scale, Seen, Size
from verify.experiments.reproduction_document import reproduction_document
from verify.experiments.run_all import run_all, with_data

FORMAT = "dpwitness reproduction, version 1"

_STAND_IN = (
    "Synthetic stand-in: movies and users are made up. --movielens FOLDER plays your MovieLens-1M instead."
)


@dataclass(frozen=True)
class Reproduced(FromJson):
    """The result of a reproduction: its files, and the comparison with the paper.

    Attributes
    ----------
    name
        The name of the experiment.
    picture, data, report
        The files: PNG, CSV and Markdown.
    seconds
        Time of the computation.
    seen
        The results of the paper's statements.
    repeat
        The command that makes them again.
    provenance
        Date and code of the computation.
    """

    name: str
    picture: Path
    data: Path
    report: Path
    seconds: float = field(default=0.0, kw_only=True)
    seen: tuple[Seen, ...]
    repeat: str = ""
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def json(self) -> dict[str, Any]:
        """Return it as JSON data, files by their paths."""
        return {"format": FORMAT, **json_able(self)}

    @classmethod
    def from_json(cls, data: Any) -> Reproduced:
        """Rebuild the reproduction from the JSON data of `json`; the files need not exist.

        Raises
        ------
        ParameterError
            If a key is missing, unknown or of another type.
        """
        read = JsonObject(data, "the reproduction")
        read.one_of("format", [FORMAT])
        found = reader_of(cls)(read)
        read.end()
        return found


def reproduce(
    experiment: Experiment,
    folder: Path,
    *,
    scale: Scale = "paper",
    data: Path | None = None,
    executor: Executor | None = None,
    progress: Progress = no_progress,
    size: Size | None = None,
) -> Reproduced:
    """Simulate the missing parts of an experiment, and write its picture, CSV and report.

    Parameters
    ----------
    experiment
        The experiment.
    folder
        Files go to ``folder/scale/name.*``, the runs of every configuration to ``folder/runs``, shared by all
        experiments and scales: stored runs are not simulated again.
    scale
        The size of the simulation by its name.
    data
        The user's MovieLens-1M, for experiments that take data.
    executor
        The executor of the simulations, by default this process; no result depends on it.
    progress
        Function that is called with the share done.
    size
        Instead of that of the scale.

    Raises
    ------
    ProblemError
        If the data cannot be read.
    OSError
        If a file cannot be written.
    """
    start = time.perf_counter()
    size = experiment.sizes[scale] if size is None else size
    lines = experiment.lines(size)
    note = ""
    if experiment.takes_data:
        lines, note = (lines, _STAND_IN) if data is None else (with_data(lines, data), "")
    results: Results = run_all(lines, folder / "runs", executor=executor or Processes(1), progress=progress)
    base = folder / scale / experiment.name
    base.parent.mkdir(parents=True, exist_ok=True)
    picture, table, text = (base.with_suffix(suffix) for suffix in (".png", ".csv", ".md"))
    if isinstance(experiment, PaperTable):
        content = experiment.content(results, lines)
        draw_table(content, picture, f"{experiment.name}: {experiment.title}", note)
        write_table(content, table)
    else:
        assert isinstance(experiment, Figure)
        title = "\n".join(filter(None, (f"{experiment.name}: {experiment.title}", note)))
        draw_figure(lines, results, picture, title, experiment.axes)
        write_runs(lines, results, table, only_last=experiment.axes.x.of is not None)
    seen = tuple(statement.judge(results) for statement in experiment.statements)
    again = ["dpwitness", "reproduce", experiment.name, "--scale", scale, "--output-dir", str(folder)]
    again += [] if data is None else ["--movielens", str(data)]
    seconds = time.perf_counter() - start
    found = Reproduced(
        experiment.name, picture, table, text, seen, shlex.join(again), made_now(), seconds=seconds
    )
    text.write_bytes(markdown([reproduction_document(found)], f"Made by {found.repeat}").encode())
    return found
