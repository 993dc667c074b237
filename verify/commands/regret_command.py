"""The command ``dpwitness regret``: tests of a learner's regret against its theorem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from accountant.files.json_form import json_able
from algorithms.blocks import BlockStore, make_executor
from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import SettingError
from mechanisms import Neighbouring
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, nearest
from verify.commands.shown_results import (
    check_outputs,
    show,
    shown_progress,
    stored_runs,
    write_outputs,
)
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress
from verify.document.elements import Block, Paragraph, TextTable
from verify.document.png import draw_png
from verify.document.terminal_text import print_blocks, print_document
from verify.findings.sentences import confident, observed, remark
from verify.findings.subject_error import SubjectError
from verify.learners.learner_subject import LearnerSubject, attribute_errors_to_subject
from verify.regret_claims.growth import measure_growth
from verify.regret_claims.local_privacy import audit_local_privacy
from verify.regret_claims.regret_document import regret_document
from verify.regret_claims.regret_report import EXIT_CODES, RegretReport
from verify.regret_claims.saved_run import SavedRunReport, check_saved_run
from verify.regret_claims.scaling import VARIABLES, fit_scaling
from verify.regret_claims.verify_regret import regret, stated_value
from verify.verification.resolve import (
    check_delta_is_taken,
    every_learner,
    is_registered,
    names_file,
    resolve,
)

_TWINS = {
    "bandit": "cucb",
    "semi-bandit": "cucb",
    "experts": "hedge",
    "matroid": "omm",
    "cascade": "cascade-ucb1",
    "contextual": "linucb",
}


_WITHOUT = {
    "growth": ("horizon", "delta"),
    "exponent": ("delta", "significance"),
    "lower-bound": ("delta",),
}
"""Options that tests on instances of their own do without."""


def regret_command(
    *,
    learner: str,
    test: str,
    problem: str | None,
    settings: dict[str, str],
    workers: int | str,
    cache: Path | None,
    outputs: tuple[Path, ...],
    as_json: bool,
    **numbers: Any,
) -> int:
    """Test a learner's regret, show the result, and return the exit code."""
    blocks = None if cache is None else BlockStore(cache)
    options = {**numbers, "workers": make_executor(workers), "store": blocks}
    options["error"] = options.pop("significance")
    check_outputs(outputs, *([".json", ".html", ".md", ".png"] if test == "bound" else [".json"]))
    with stored_runs(blocks):
        if _names_run(learner):
            return _show_run(learner, outputs, as_json)
        if test == "bound":
            if options["delta"] is not None:
                check_delta_is_taken(options["delta"], learner)
            options |= {"problem": problem, "settings": settings}
            return _show_bound(learner, options, outputs, as_json)
        if problem is not None:
            raise SettingError(f"--problem {problem}: --test {test} plays instances of its own")
        own = {name: value for name, value in options.items() if value is not None}
        context = click.get_current_context()
        for name in _WITHOUT[test]:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise SettingError(f"--{name} {context.params[name]:g}: --test {test} does without")
        ask = {"growth": _growth, "exponent": _exponent, "lower-bound": _lower_bound}[test]
        data, code, words = ask(learner, settings, own)
        show(as_json, lambda: data, lambda console: print_blocks(words(data), console))
        write_outputs(outputs, lambda: data)
        return code


def _show_bound(learner: str, options: dict[str, Any], outputs: Sequence[Path], as_json: bool) -> int:
    """Show a learner's report, and return its exit code."""
    report = RegretReport.from_json(_report(learner, options))
    show(as_json, report.json, partial(print_document, regret_document(report)))

    def draw(path: Path) -> None:
        draw_png(regret_document(report, _twin(report, options)), path)

    write_outputs(outputs, report.json, lambda: [regret_document(report)], png=draw)
    return report.exit_code


def _names_run(learner: str) -> bool:
    """Return True if a text names where a run is kept, and not a learner."""
    return "://" in learner or (learner not in every_learner and Path(learner).is_dir())


def _show_run(where: str, outputs: Sequence[Path], as_json: bool) -> int:
    """Check the saved state of a run in production against its theorem, and return the exit code."""
    context = click.get_current_context()
    for name in context.params:
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in ("learner", "outputs", "as_json", "debug"):
            raise SettingError(
                f"--{name.replace('_', '-')}: a run has its own learner and numbers: leave it out"
            )
    check_outputs(outputs, ".json")
    report = check_saved_run(where)
    data = {**json_able(report), "verdict": report.verdict}
    show(as_json, lambda: data, lambda console: print_blocks(_said_of_run(report), console))
    write_outputs(outputs, lambda: data)
    return EXIT_CODES[report.verdict]


def _said_of_run(report: SavedRunReport) -> Iterator[Block]:
    yield Paragraph(
        remark(
            "{verdict}  the state of {learner}, ε = {epsilon}, after {rounds:,} rounds of {problem}",
            verdict=report.verdict.upper(),
            learner=report.learner,
            epsilon=as_given(report.epsilon),
            rounds=report.rounds,
            problem=report.problem,
        )
    )
    yield TextTable(("lemma", "observed"), tuple((check.name, check.sentence) for check in report.checks))
    yield Paragraph(
        remark(
            "Theorem: {source}. Counts, noises and indices were computed again. Nobody knows the means here, so "
            "regret itself is not tested: dpwitness regret {learner} does, in simulation.",
            source=report.source,
            learner=report.learner,
        )
    )


def _report(learner: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a learner's report as JSON data."""
    own = names_file(options["problem"] or "")
    given = {**options, "delta": DEFAULT_DELTA if options["delta"] is None else options["delta"]}
    return _answer(learner, lambda tell: regret(learner, progress=tell, **given).json(), own=own)


_Answer = tuple[dict[str, Any], int, Callable[[Mapping[str, Any]], Iterator[Block]]]
"""JSON data, the exit code, and the function that describes the data in blocks of text."""


def _lower_bound(learner: str, settings: Mapping[str, str], options: Mapping[str, Any]) -> _Answer:
    """Test whether a learner's regret is possible under a claim of local privacy."""
    (claim,) = _numbers("lower-bound", settings, "claim")[1]

    def audited(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        found = audit_local_privacy(subject.make, claim, **options)
        return {
            "learner": learner,
            **asdict(found),
            "neighbours": Neighbouring.REPLACE_ONE.value,
            "impossible": found.impossible,
        }

    data = _learner_data(learner, audited)
    return data, EXIT_CODES["violated" if data["impossible"] else "undecided"], _said_of_privacy


def _growth(learner: str, settings: Mapping[str, str], options: Mapping[str, Any]) -> _Answer:
    """Test whether regret grows faster than log T."""
    if settings:
        raise SettingError(f"--set {next(iter(settings))}: --test growth has no parameter")

    def measured(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        found = measure_growth(
            subject.make, name=subject.name, bound=stated_value(subject), progress=tell, **options
        )
        return dict(json_able({**asdict(found), "ratio": found.ratio, "faster": found.faster}))

    data = _learner_data(learner, measured)
    return data, EXIT_CODES["violated" if data["faster"] else "consistent"], _said_of_growth


def _exponent(learner: str, settings: Mapping[str, str], options: Mapping[str, Any]) -> _Answer:
    """Fit the exponent of regret in a variable."""
    variable, values = _numbers("exponent", settings, *VARIABLES)
    given = {name: value for name, value in options.items() if name != "error"}

    def fitted(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        bound = stated_value(subject)
        report = fit_scaling(
            subject.make, variable, values, name=subject.name, bound=bound, progress=tell, **given
        )
        known = None if math.isnan(report.bound_exponent) else report.bound_exponent
        return dict(json_able({**asdict(report), "bound_exponent": known}))

    return _learner_data(learner, fitted), EXIT_CODES["consistent"], _said_of_scaling


def _numbers(test: str, settings: Mapping[str, str], *names: str) -> tuple[str, tuple[float, ...]]:
    """Return the one parameter of a test, and its values."""
    if len(settings) != 1 or not settings.keys() <= set(names):
        given = " ".join(f"--set {name}" for name in settings) or "no --set"
        raise SettingError(f"{given}: --test {test} needs one parameter, {' or '.join(names)}")
    ((name, text),) = settings.items()
    try:
        return name, tuple(float(value) for value in text.split(","))
    except ValueError:
        raise SettingError(f"--set {name}={text}: must be numbers separated by commas") from None


def _learner_data(learner: str, find: Callable[[LearnerSubject, Progress], dict[str, Any]]) -> dict[str, Any]:
    """Return JSON data about a learner on the test's own instances; errors raised there are the subject's."""

    def find_data(tell: Progress) -> dict[str, Any]:
        subject = resolve(learner)
        if not isinstance(subject, LearnerSubject):
            raise SubjectError(f"{subject.name}: only learners have regret")
        with attribute_errors_to_subject(subject):
            return find(subject, tell)

    return _answer(learner, find_data)


def _answer(learner: str, find: Callable[[Progress], dict[str, Any]], *, own: bool = False) -> dict[str, Any]:
    """Return JSON data about a learner; a user's, or one on a problem of a user's `own`, runs in another process."""
    with shown_progress(learner) as tell:
        if is_registered(learner) and not own:
            return find(tell)
        return dict(found_apart(learner, find, tell))


def _said_of_growth(data: Mapping[str, Any]) -> Iterator[Block]:
    heading = "FASTER THAN LOG T" if data["faster"] else "NOT SEEN TO BE FASTER THAN LOG T"
    yield Paragraph(remark("{heading}  {learner} at ε = {epsilon}", heading=heading, **_learner_words(data)))
    rows = (
        (f"{rounds:,}", nearest(mean)) for rounds, mean in zip(data["horizons"], data["means"], strict=True)
    )
    yield TextTable(("rounds", "mean regret"), tuple(rows))
    (first, second, third), ratio = data["means"], float(data["ratio"])
    yield Paragraph(
        observed(
            "{draws:,} runs of two arms, 0.6 apart, at each horizon. The second increment, {second}, is {ratio} times "
            "the first, {first}: 1 for log T, 4 for the root of T.",
            data["runs"],
            second=nearest(third - second, 4),
            ratio=nearest(ratio, 3),
            first=nearest(second - first, 4),
        )
    )
    yield Paragraph(
        confident(
            "It exceeds twice the first by at least {excess} ({confidence} confidence; above 0 means faster than log "
            "T).",
            1.0 - float(data["error"]),
            excess=at_least(float(data["excess"]), 4),
        )
    )


def _learner_words(data: Mapping[str, Any]) -> dict[str, str]:
    return {"learner": data["learner"], "epsilon": as_given(data["epsilon"])}


def _said_of_scaling(data: Mapping[str, Any]) -> Iterator[Block]:
    variable, told = data["variable"], (data["values"], data["means"], data["bounds"], data["learnt"])
    rows = (
        (as_given(value), nearest(mean), nearest(float(bound)), "" if learnt else "nothing learnt: left out")
        for value, mean, bound, learnt in zip(*told, strict=True)
    )
    yield TextTable((variable, "mean regret", "bound", ""), tuple(rows))
    low, high = data["interval"]
    known = data["bound_exponent"]
    yield Paragraph(
        observed(
            "{learner}: the exponent in {variable} is {exponent}, between {low} and {high} (99 %, "
            "bootstrapped){bound}. {draws:,} runs of {rounds:,} rounds in each cell.",
            data["runs"],
            learner=data["learner"],
            variable=variable,
            exponent=nearest(data["exponent"], 3),
            low=at_least(low, 3),
            high=at_most(high, 3),
            bound="" if known is None else f"; the bound's is {nearest(known, 3)}",
            rounds=data["horizon"],
        )
    )


def _said_of_privacy(data: Mapping[str, Any]) -> Iterator[Block]:
    first, second = data["regrets"]
    found = "EXCLUDED" if data["impossible"] else "POSSIBLE"
    yield Paragraph(
        remark(
            "{found}  {learner} as an ε = {claim} local learner, neighbours: {relation}",
            found=found,
            learner=data["learner"],
            claim=as_given(data["claim"]),
            relation=Neighbouring.REPLACE_ONE,
        )
    )
    yield Paragraph(
        confident(
            "Two arms with means 1/2 and 1/2 ± {gap}, {rounds:,} rounds, {draws:,} runs: regrets of at most {first} "
            "and {second} ({confidence} confidence). For any learner of that privacy they add up to at least {least} "
            "(two points, at this horizon).",
            1.0 - float(data["error"]),
            data["runs"],
            gap=as_given(data["gap"]),
            rounds=data["horizon"],
            first=at_most(first, 4),
            second=at_most(second, 4),
            least=at_least(data["least"], 4),
        )
    )


def _twin(report: RegretReport, options: Mapping[str, Any]) -> RegretReport | None:
    """Return the report of the learner without privacy on the same instance; None if there is none."""
    entry = every_learner.get(report.learner)
    twin = None if entry is None else _TWINS.get(entry.family)
    if twin is None or twin == report.learner:
        return None
    kept = {name: options[name] for name in ("problem", "seed", "runs", "delta", "workers", "store")}
    kept |= {"epsilon": report.epsilon, "horizon": report.horizon}
    return RegretReport.from_json(_report(twin, kept))
