"""The command ``dpwitness simulate``: regret of learners on a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from algorithms.blocks import BlocksMissing, BlockStore, Executor, Part, make_executor
from algorithms.problems import Parameter, ProblemError, Value, contextual_problems, linear_problems, problems
from verify.commands.command_options import (
    block_store,
    check_plot,
    check_writable,
    flags,
    json_option,
    privacy_options,
    show,
    shown_progress,
    store_options,
    stored_runs,
)
from verify.commands.completed_names import LEARNER
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress, subprogress
from verify.document.terminal_text import print_document
from verify.experiments.configuration import Configuration, simulated
from verify.experiments.csv_files import write_runs
from verify.experiments.draw import draw_lines
from verify.experiments.experiment import REGRET, FigureAxis, FigureLine
from verify.experiments.lines import line_role
from verify.experiments.simulated_runs import SimulatedRuns
from verify.experiments.simulation_document import simulation_document
from verify.experiments.simulation_result import SimulationResult
from verify.printable import printable
from verify.subject_error import SubjectError
from verify.subjects.resolve import every_learner


@click.command("simulate")
@click.argument("learners", nargs=-1, required=True, type=LEARNER)
@flags("problem", "settings")
@privacy_options("simulates")
@click.option("--horizon", type=int, default=10_000, show_default=True, help="Rounds per run.")
@click.option("--runs", type=int, default=20, show_default=True, help="Independent runs.")
@click.option("--checkpoints", type=int, default=50, show_default=True, help="At how many rounds to report.")
@flags("workers", "backend", "scheduler")
@store_options
@click.option("--plot", type=click.Path(path_type=Path), help="Draw means and bands to a PNG file.")
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every run to a CSV file.",
)
@flags("seed")
@json_option
def simulate_command(
    learners: tuple[str, ...],
    problem: str | None,
    settings: dict[str, str],
    epsilon: tuple[float, ...],
    delta: tuple[float, ...],
    horizon: int,
    runs: int,
    checkpoints: int,
    workers: int,
    backend: str,
    scheduler: str | None,
    store: Path | None,
    part: Part | None,
    plot: Path | None,
    csv_file: Path | None,
    seed: int,
    as_json: bool,
) -> None:
    """Simulate LEARNERS and report their regret, in one table, picture and CSV file.

    A learner is a name, or path/to/file.py:object: a learner class, or a verify.PlainBandit of another library. A
    problem may be path/to/file.py:problem, too. Several values of --epsilon, --delta or a number of --set, separated by
    commas, are simulated each.
    """
    executor, blocks = make_executor(workers, backend, scheduler), block_store(store, part)
    if plot is not None:
        check_plot(plot)
    if csv_file is not None:
        check_writable("--csv", csv_file)
    common = Configuration("", horizon, runs, problem, seed=seed, checkpoints=checkpoints)
    lines = _lines(learners, common, epsilon, delta, settings)
    drawn: dict[str, list[tuple[float, SimulatedRuns]]] = {}
    first: dict[frozenset[tuple[str, Value]], SimulatedRuns] = {}
    missing: BlocksMissing | None = None
    with stored_runs(blocks), shown_progress(", ".join(learners)) as tell:
        for number, line in enumerate(lines):
            (x, configuration) = line.points[0]
            share = subprogress(tell, number / len(lines), (number + 1) / len(lines))
            try:
                runs_of_line = _one(configuration, executor, blocks, share)
                _refuse_unlike(first, configuration, runs_of_line)
                drawn[line.name] = [(x, runs_of_line)]
            except BlocksMissing as error:  # this machine's part of the next is done all the same
                missing = error
        if missing is not None:
            raise missing
    found = [drawn[line.name][0][1] for line in lines]
    if plot is not None:
        title = (
            f"{found[0].learner} on {found[0].problem}"
            if len(found) == 1
            else f"Regret on {found[0].problem}"
        )
        draw_lines(lines, drawn, plot, x=FigureAxis("round t", logarithmic=True), y=REGRET, title=title)
    if csv_file is not None:
        write_runs(lines, drawn, csv_file)
    results = [
        SimulationResult.from_runs(line.points[0][1], of) for line, of in zip(lines, found, strict=True)
    ]
    show(as_json, partial(_data, results), partial(_render, results))


def _lines(
    learners: Sequence[str],
    common: Configuration,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    settings: Mapping[str, str],
) -> list[FigureLine]:
    """Return a line for each learner and each combination of the values, labelled by what differs between them.

    A setting that only some of the learners have is theirs alone; learners without privacy are simulated at the first
    epsilon and delta only.
    """
    own = {name: own_parameters(name) for name in learners}
    lines: dict[str, FigureLine] = {}
    for name in learners:
        others = set().union(*(taken for other, taken in own.items() if other != name)) - own[name]
        swept = {
            key: _values(name, key, text, common.problem)
            for key, text in settings.items()
            if key not in others or not _is_own_only(key, common.problem, name)
        }
        private = is_private(name)
        privacy = product(epsilons if private else epsilons[:1], deltas if private else deltas[:1])
        for (epsilon, delta), values in product(privacy, product(*swept.values())):
            chosen = dict(zip(swept, values, strict=True))
            words = [name]
            words += [f"ε = {epsilon:g}"] if private and len(epsilons) > 1 else []
            words += [f"δ = {delta:g}"] if private and len(deltas) > 1 else []
            words += [f"{key} = {chosen[key]}" for key in swept if len(swept[key]) > 1]
            label = ", ".join(words)
            role = line_role(name) if name in every_learner else "own"
            configuration = replace(common, learner=name, epsilon=epsilon, delta=delta, settings=chosen)
            lines[label] = FigureLine(label, label, role, ((epsilon, configuration),), len(lines))
    return list(lines.values())


def own_parameters(learner: str) -> set[str]:
    """Return the names of a registered learner's own parameters; a user's has none that are known."""
    return {each.name for each in every_learner[learner].parameters} if learner in every_learner else set()


def is_private(learner: str) -> bool:
    """Whether a learner may claim privacy: all but registered ones that say they do not."""
    return learner not in every_learner or line_role(learner) != "baseline"


def _refuse_unlike(
    first: dict[frozenset[tuple[str, Value]], SimulatedRuns],
    configuration: Configuration,
    runs: SimulatedRuns,
) -> None:
    """Raise where learners of one table, picture and file play different problems that nobody asked for.

    Values of a problem's settings that are asked for are compared for each value apart; ``first`` has the first learner
    of each.
    """
    asked = frozenset(
        (name, value)
        for name, value in configuration.settings.items()
        if not _is_own_only(name, configuration.problem, configuration.learner)
    )
    other = first.setdefault(asked, runs)
    if runs.instance and other.instance and runs.instance != other.instance:
        size = " of another size" if runs.problem == other.problem else ""
        raise ProblemError(
            printable(f"{other.learner} plays {other.problem} and {runs.learner} {runs.problem}{size}")
            + ": their regret cannot be compared; name one problem for all with --problem, and its sizes with --set"
        )


def _is_own_only(key: str, problem: str | None, learner: str) -> bool:
    """Whether a setting is no parameter of the problem that a learner plays."""
    return key not in {parameter.name for parameter in _problem_parameters(problem, learner)}


def _problem_parameters(problem: str | None, learner: str) -> tuple[Parameter, ...]:
    entry = every_learner.get(learner)
    name = problem or (entry.default_problem if entry is not None else "")
    found = problems.get(name) or linear_problems.get(name) or contextual_problems.get(name)
    return () if found is None else found.parameters


def _values(learner: str, key: str, text: str, problem: str | None) -> list[str]:
    """Return the values of a setting: several, separated by commas, if it is a number."""
    entry = every_learner.get(learner)
    known = (*(entry.parameters if entry is not None else ()), *_problem_parameters(problem, learner))
    numeric = any(parameter.name == key and parameter.kind != "str" for parameter in known)
    return [part.strip() for part in text.split(",")] if numeric else [text]


def _one(
    configuration: Configuration, executor: Executor, store: BlockStore | None, tell: Progress
) -> SimulatedRuns:
    """Simulate one configuration; a user's code runs in a process of its own."""
    if not configuration.from_file:
        return simulated(configuration, executor=executor, store=store, progress=tell)
    data = found_apart(
        configuration.learner,
        lambda progress: simulated(configuration, executor=executor, store=store, progress=progress).json(),
        tell,
    )
    try:
        return SimulatedRuns.from_json(data)
    except SubjectError as error:
        raise SubjectError(f"{configuration.learner}: {error}") from None


def _data(results: Sequence[SimulationResult]) -> dict[str, Any]:
    """Return one simulation as an object, several as a list of them."""
    told = [each.json() for each in results]
    return told[0] if len(told) == 1 else {"simulations": told}


def _render(results: Sequence[SimulationResult], console: Console) -> None:
    print_document(simulation_document(results), console)
    console.print()
    speed = f", {results[0].lane_rounds_per_second:,.0f} lane-rounds per second" if len(results) == 1 else ""
    console.print(f"{sum(each.seconds for each in results):.2f} s{speed}", highlight=False)
    for each in results:
        if "communication" in each.further:
            console.print(Text(f"{printable(each.learner)}: {_communication(each)}"))


def _communication(result: SimulationResult) -> str:
    """Return what the clients of a linear learner sent."""
    counts = result.further["communication"].items()
    sent = " and ".join(f"{count:,.0f} {unit}" for unit, count in counts if count) or "nothing"
    said = f"clients sent {sent} a run; best action kept in {result.further['best_kept']:.0%} of runs"
    if "most_communication" not in result.further:
        return said
    from algorithms.theory.communication import formula  # SymPy takes half a second

    ((unit, most),) = result.further["most_communication"].items()
    return f"{said}; at most {most:,.0f} {unit}, S the largest support: {formula(result.learner)}"
