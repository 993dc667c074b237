"""The command ``dpwitness simulate``: regret of learners on a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from algorithms.blocks import BlockStore, Executor, make_executor
from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import (
    Parameter,
    ProblemError,
    SettingError,
    Value,
    contextual_problems,
    linear_problems,
    problems,
)
from mechanisms.numerics.printed_numbers import percent
from verify.commands.shown_results import (
    check_outputs,
    show,
    shown_progress,
    stored_runs,
    write_outputs,
)
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress, subprogress
from verify.document.terminal_text import print_document
from verify.experiments.configuration import Configuration, simulated
from verify.experiments.csv_files import write_runs
from verify.experiments.draw import draw_figure
from verify.experiments.experiment import FigureAxis, FigureLine, PlotAxes
from verify.experiments.lines import is_private, line_role, own_parameters
from verify.experiments.simulated_runs import SimulatedRuns
from verify.experiments.simulation_document import setting_line, simulation_document
from verify.experiments.simulation_result import SimulationResult
from verify.findings.printable import printable
from verify.findings.subject_error import SubjectError
from verify.verification.resolve import check_delta_is_taken, every_learner

_CHECKPOINTS = 50
_HORIZON, _RUNS, _EPSILON = 10_000, 20, 1.0


def simulate_command(
    *,
    learners: tuple[str, ...],
    problem: str | None,
    settings: dict[str, str],
    epsilon: float | None,
    delta: float | None,
    horizon: int | None,
    runs: int | None,
    log: Path | None,
    delay: int,
    seed: int,
    workers: int | str,
    cache: Path | None,
    outputs: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Simulate learners and show their regret, or replay a log with them and show their estimated reward."""
    others, epsilons, deltas = _privacy(settings, epsilon, delta)
    if delta is not None or "delta" in settings:
        check_delta_is_taken(deltas[0], *learners)
    if log is not None:
        for flag, value in (("--problem", problem), ("--cache", cache)):
            if value is not None:
                raise SettingError(f"{flag} {value}: not with --log, whose rewards are played")
        from verify.commands.replayed_log import replay_log

        replay_log(
            learners,
            log,
            others,
            epsilons=epsilons,
            deltas=deltas,
            horizon=horizon,
            runs=runs or 1,
            delay=delay,
            seed=seed,
            outputs=outputs,
            as_json=as_json,
        )
        return
    if delay:
        raise SettingError(f"--delay {delay}: needs --log, whose rewards are delayed")
    executor, blocks = make_executor(workers), None if cache is None else BlockStore(cache)
    check_outputs(outputs, ".json", ".html", ".md", ".png", ".csv")
    horizon, runs = horizon or _HORIZON, runs or _RUNS
    common = Configuration("", horizon, runs, problem, seed=seed, checkpoints=_CHECKPOINTS)
    lines = _lines(learners, common, epsilons, deltas, others)
    drawn: dict[str, list[tuple[float, SimulatedRuns]]] = {}
    first: dict[frozenset[tuple[str, Value]], SimulatedRuns] = {}
    with stored_runs(blocks), shown_progress(", ".join(learners)) as tell:
        for number, line in enumerate(lines):
            (x, configuration) = line.points[0]
            share = subprogress(tell, number / len(lines), (number + 1) / len(lines))
            runs_of_line = _one(configuration, executor, blocks, share)
            _refuse_unlike_problems(first, configuration, runs_of_line)
            drawn[line.name] = [(x, runs_of_line)]
    found = [drawn[line.name][0][1] for line in lines]
    results = [
        SimulationResult.from_runs(line.points[0][1], of) for line, of in zip(lines, found, strict=True)
    ]
    show(as_json, partial(_data, results), partial(_render, results))

    def draw(path: Path) -> None:
        one = len(found) == 1
        title = f"{found[0].learner} on {found[0].problem}" if one else f"Regret on {found[0].problem}"
        title += "\n" + setting_line(results)
        axes = PlotAxes(
            FigureAxis("round t", logarithmic=True), log_y=any(each.regret_mean[-1] > 0 for each in results)
        )
        draw_figure(lines, drawn, path, title, axes)

    write_outputs(
        outputs,
        partial(_data, results),
        lambda: [simulation_document(*results)],
        png=draw,
        csv=partial(write_runs, lines, drawn),
    )


def _privacy(
    settings: Mapping[str, str], epsilon: float | None, delta: float | None
) -> tuple[dict[str, str], list[float], list[float]]:
    """Return the settings that are left, and the epsilons and deltas that are asked for, by a flag or a --set."""
    others, asked = dict(settings), []
    for name, given, usual in (("epsilon", epsilon, _EPSILON), ("delta", delta, DEFAULT_DELTA)):
        text = others.pop(name, None)
        if text is None:
            asked.append([usual if given is None else given])
        elif given is not None:
            raise SettingError(f"--{name} {given:g}: not with --set {name}={text}")
        else:
            try:
                asked.append([float(part) for part in text.split(",")])
            except ValueError:
                raise SettingError(f"--set {name}={text}: must be numbers separated by commas") from None
    return others, asked[0], asked[1]


def _lines(
    learners: Sequence[str],
    common: Configuration,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    settings: Mapping[str, str],
) -> list[FigureLine]:
    """Return a line for each learner and each combination of the values, labelled by the values that differ.

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


def _refuse_unlike_problems(
    first: dict[frozenset[tuple[str, Value]], SimulatedRuns],
    configuration: Configuration,
    runs: SimulatedRuns,
) -> None:
    """Refuse learners of one table, picture and file that play different problems without being asked to.

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
    """Return True if a setting is no parameter of the problem that a learner plays."""
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
    print_document(simulation_document(*results), console)
    console.print()
    speed = f", {results[0].lane_rounds_per_second:,.0f} lane-rounds per second" if len(results) == 1 else ""
    console.print(f"{sum(each.seconds for each in results):.2f} s{speed}", highlight=False)
    for each in results:
        if "communication" in each.further:
            console.print(Text(f"{printable(each.learner)}: {_communication(each)}"))


def _communication(result: SimulationResult) -> str:
    """Return a sentence on the communication of a linear learner's clients."""
    counts = result.further["communication"].items()
    sent = " and ".join(f"{count:,.0f} {unit}" for unit, count in counts if count) or "nothing"
    said = f"clients sent {sent} a run; best action kept in {percent(result.further['best_kept'])} of runs"
    if "most_communication" not in result.further:
        return said
    from algorithms.theory.communication import formula  # SymPy takes half a second

    ((unit, most),) = result.further["most_communication"].items()
    return f"{said}; at most {most:,.0f} {unit}, S the largest support: {formula(result.learner)}"
