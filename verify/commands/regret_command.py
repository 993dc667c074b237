"""The command ``dpwitness regret``: whether a learner keeps what is proved of its regret."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from algorithms.blocks import Executor, Part, make_executor
from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import SettingError
from algorithms.theory.regret import BOUNDS
from mechanisms import Neighbouring
from mechanisms.printed_numbers import as_given, at_least, at_most, nearest
from verify.commands.command_options import (
    block_store,
    check_plot,
    flags,
    json_option,
    refuse_given,
    show,
    shown_progress,
    store_options,
    stored_runs,
)
from verify.commands.completed_names import LEARNER
from verify.conduct.exit_codes import worst
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress
from verify.conduct.time_limit import TimeLimitReached, time_limit
from verify.document.elements import Block, Code, Facts, Paragraph, TextTable
from verify.document.terminal_text import print_blocks, print_document
from verify.learners.learner_subject import LearnerSubject, attribute_errors_to_subject
from verify.printable import print_on_stderr
from verify.regret_claims.growth import measure_growth
from verify.regret_claims.local_privacy import audit_local_privacy
from verify.regret_claims.printed_theorems import (
    PRINTED_THEOREMS,
    PrintedFinding,
    PrintedTheorem,
    check_printed,
)
from verify.regret_claims.regret_document import regret_document
from verify.regret_claims.regret_report import EXIT_CODES, RegretReport
from verify.regret_claims.scaling import fit_scaling
from verify.regret_claims.verify_regret import DEFAULT_ERROR, regret, stated_value
from verify.sentences import confident, observed, remark
from verify.subject_error import SubjectError
from verify.subjects.resolve import every_learner, is_registered, names_file, resolve
from verify.verdict.json_form import json_able

_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")

_TWINS = {
    "bandit": "cucb",
    "semi-bandit": "cucb",
    "matroid": "omm",
    "cascade": "cascade-ucb1",
    "contextual": "linucb",
}


@click.command("regret")
@click.argument("learner", required=False, type=LEARNER)
@click.option(
    "--all", "every", is_flag=True, help="Every learner with a theorem, each where its bound speaks."
)
@flags("problem", "settings")
@click.option(
    "--epsilon", type=float, help="Privacy of the learner [default: 1, or more if the bound needs it]."
)
@click.option(
    "--delta", type=float, default=DEFAULT_DELTA, show_default=True, help="Of learners that need a delta."
)
@click.option(
    "--horizon",
    type=int,
    help="Rounds per run [default: the fewest at which the bound says something; contexts: 4000].",
)
@click.option("--runs", type=int, help="Independent runs [default: 64; linear bandits: 40].")
@click.option(
    "--error",
    type=float,
    default=DEFAULT_ERROR,
    show_default=True,
    help="Probability of a false alarm, at most.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw regret and its bound to a PNG file.")
@click.option(
    "--local-claim",
    type=float,
    help="Instead: is so little regret possible for a learner of this local epsilon? (2048 runs of 10000 rounds)",
)
@click.option(
    "--growth",
    is_flag=True,
    help="Instead: does regret grow faster than log T? (1536 runs at each of three horizons)",
)
@click.option(
    "--scaling",
    metavar="VARIABLE=V1,V2,...",
    help="Instead: the exponent of regret in epsilon, gap, size (K of K + 1 arms) or arms (one of so many), beside "
    "the bound's.",
)
@click.option(
    "--printed",
    "as_printed",
    is_flag=True,
    help="Instead, without LEARNER: the papers' theorems that are wrong as printed, each where that shows.",
)
@click.option(
    "--time-limit",
    "seconds",
    type=float,
    default=math.inf,
    help="Seconds for each learner, then it is stopped [default: none].",
)
@flags("seed", "workers", "backend", "scheduler")
@store_options
@json_option
@click.pass_context
def regret_command(
    ctx: click.Context,
    /,
    learner: str | None,
    every: bool,
    plot: Path | None,
    local_claim: float | None,
    growth: bool,
    scaling: str | None,
    as_printed: bool,
    seconds: float,
    workers: int,
    backend: str,
    scheduler: str | None,
    store: Path | None,
    part: Part | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Check the regret of LEARNER (a name, or path/to/file.py:object) against its theorem.

    Workers share the runs of a learner, and of --all the learners.

    A learner of your own states its bound as a class attribute `regret_bound`: a function of an instance
    (algorithms.theory.regret_bound.Instance: problem, epsilon, horizon, gaps) that returns a number, or a RegretBound.

    Exit codes: 0 consistent, 1 violated, 3 undecided, vacuous or out of regime, 2 usage or input error.
    """
    executor, blocks = make_executor(workers, backend, scheduler), block_store(store, part)
    if every + as_printed + (learner is not None) != 1:
        raise SettingError("name a learner, or ask for --all or --printed")
    questions = {
        "--local-claim": local_claim is not None,
        "--growth": growth,
        "--scaling": scaling is not None,
    }
    asked = [name for name, given in questions.items() if given]
    if not seconds > 0:
        raise SettingError(f"--time-limit {seconds:g}: must be a number of seconds above 0")
    if len(asked) > 1:
        raise SettingError(f"{', '.join(asked)}: are questions of their own, one at a time")
    if learner is None and asked:
        raise SettingError(f"{asked[0]}: name a learner")
    if plot is not None:
        if learner is None or asked:
            raise SettingError("--plot: draws one learner's regret against its theorem")
        check_plot(plot)
    if learner is None and names_file(options["problem"] or ""):
        raise SettingError(f"--problem {options['problem']}: name a learner")
    if learner is None and part is not None:
        raise SettingError("--part: of one learner's runs; not with --all or --printed")
    if learner is None and store is not None and backend == "dask":
        raise SettingError(
            "--store: with --all and --printed on processes only: a Dask worker may be on another machine"
        )
    options["store"] = blocks
    with stored_runs(blocks):
        if every:
            code = _show_all(executor, options, seconds, as_json)
        elif as_printed:
            code = _show_printed(executor, options, seconds, as_json)
        else:
            options["workers"] = executor
            if local_claim is not None:
                code = _show_local(str(learner), local_claim, options, seconds, as_json)
            elif growth:
                code = _show_growth(str(learner), options, seconds, as_json)
            elif scaling is not None:
                code = _show_scaling(str(learner), scaling, options, seconds, as_json)
            else:
                code = _show_one(str(learner), plot, options, seconds, as_json)
    ctx.exit(code)


def _show_one(learner: str, plot: Path | None, options: dict[str, Any], seconds: float, as_json: bool) -> int:
    """Show a learner's report, and return its exit code."""
    report = RegretReport.from_json(_report(learner, options, seconds))
    if plot is not None:
        from verify.regret_claims.plot_claim import plot_claim

        plot_claim(report, _twin(report, options, seconds), plot)
    show(as_json, report.json, partial(print_document, regret_document(report)))
    return report.exit_code


def _report(learner: str, options: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return a learner's report as JSON data."""
    own = names_file(options["problem"] or "")
    return _answer(learner, lambda tell: regret(learner, progress=tell, **options).json(), seconds, own=own)


def _show_all(executor: Executor, options: dict[str, Any], seconds: float, as_json: bool) -> int:
    """Show the reports of all learners with a theorem, which workers share, and return the worst exit code."""
    reports: list[RegretReport] = []
    work = partial(_registered, options, seconds)
    for report in _shared(executor, work, list(BOUNDS), "all learners"):
        reports.append(report)
        print_on_stderr(f"{report.learner}: {report.verdict}")
    show(
        as_json,
        lambda: {"reports": [each.json() for each in reports]},
        partial(print_blocks, [_table(reports)]),
    )
    return worst(each.exit_code for each in reports)


def _show_printed(executor: Executor, options: Mapping[str, Any], seconds: float, as_json: bool) -> int:
    """Show what is seen of all theorems that are wrong as printed, and return the worst exit code."""
    for name in ("problem", "epsilon", "horizon"):
        if options[name] is not None:
            raise SettingError(f"--{name}: with --printed, every theorem has an instance of its own")
    if options["settings"]:
        raise SettingError("--set: with --printed, every theorem has an instance of its own")
    given = {name: options[name] for name in ("runs", "error", "seed", "store")}
    work = partial(_printed_finding, given, seconds)
    findings = list(_shared(executor, work, PRINTED_THEOREMS, "printed theorems"))
    show(
        as_json,
        lambda: {"printed": [each.json() for each in findings]},
        partial(print_blocks, _said_of_printed(findings)),
    )
    return worst(EXIT_CODES[each.verdict] for each in findings)


def _shared(
    executor: Executor, work: Callable[[_Asked], _Found], items: Sequence[_Asked], doing: str
) -> Iterator[_Found]:
    """Yield what workers make of items, with progress; what they print is not the report's."""
    with shown_progress(doing) as tell, executor.open(work, len(items)) as workers:
        for number, answer in enumerate(workers.results(items), start=1):
            yield answer
            tell(number / len(items), f"{number} of {len(items)}")


def _printed_finding(options: Mapping[str, Any], seconds: float, theorem: PrintedTheorem) -> PrintedFinding:
    return _in_time(theorem.learner, lambda: check_printed(theorem, **options), seconds)


def _registered(options: Mapping[str, Any], seconds: float, learner: str) -> RegretReport:
    return _in_time(learner, lambda: regret(learner, **options), seconds)


def _show_local(learner: str, claim: float, options: Mapping[str, Any], seconds: float, as_json: bool) -> int:
    """Ask whether a learner's regret is possible under a claim of local privacy, and show the answer."""
    given = _given("--local-claim", options, "horizon", "runs", "epsilon", "seed", "error")

    def audited(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        found = audit_local_privacy(subject.make, claim, **given)
        return {
            "learner": learner,
            **asdict(found),
            "neighbours": Neighbouring.REPLACE_ONE.value,
            "impossible": found.impossible,
        }

    data = _told(learner, audited, seconds)
    show(as_json, lambda: data, partial(print_blocks, _said_of_privacy(data)))
    return EXIT_CODES["violated" if data["impossible"] else "undecided"]


def _show_growth(learner: str, options: Mapping[str, Any], seconds: float, as_json: bool) -> int:
    """Ask whether regret grows faster than log T, and show the answer."""
    given = _given("--growth", options, "runs", "epsilon", "seed", "error")

    def measured(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        found = measure_growth(
            subject.make, name=subject.name, bound=stated_value(subject), progress=tell, **given
        )
        return dict(json_able({**asdict(found), "ratio": found.ratio, "faster": found.faster}))

    data = _told(learner, measured, seconds)
    show(as_json, lambda: data, partial(print_blocks, _said_of_growth(data)))
    return EXIT_CODES["violated" if data["faster"] else "consistent"]


def _show_scaling(
    learner: str, scaling: str, options: Mapping[str, Any], seconds: float, as_json: bool
) -> int:
    """Fit the exponent of regret in a variable, and show it."""
    variable, _, listed = scaling.partition("=")
    try:
        values = tuple(float(value) for value in listed.split(","))
    except ValueError:
        raise SettingError(
            f"--scaling {scaling!r}: must be a variable and its values, such as epsilon=0.5,1,2"
        ) from None
    given = _given("--scaling", options, "runs", "epsilon", "seed", "horizon")

    def fitted(subject: LearnerSubject, tell: Progress) -> dict[str, Any]:
        bound = stated_value(subject)
        report = fit_scaling(
            subject.make, variable, values, name=subject.name, bound=bound, progress=tell, **given
        )
        known = None if math.isnan(report.bound_exponent) else report.bound_exponent
        return dict(json_able({**asdict(report), "bound_exponent": known}))

    data = _told(learner, fitted, seconds)
    show(as_json, lambda: data, partial(print_blocks, _said_of_scaling(data)))
    return EXIT_CODES["consistent"]


def _given(asked: str, options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the options that were given, for a question that plays instances of its own."""
    if options["problem"] is not None or options["settings"]:
        raise SettingError(f"{asked}: plays instances of its own, without --problem or --set")
    refuse_given(
        (name for name in ("horizon", "delta", "error") if name not in names), f"{asked} does without"
    )
    return {name: options[name] for name in (*names, "workers", "store") if options[name] is not None}


def _told(
    learner: str, find: Callable[[LearnerSubject, Progress], dict[str, Any]], seconds: float
) -> dict[str, Any]:
    """Return JSON data about a learner on instances of the question's own; what it raises there is its own."""

    def found(tell: Progress) -> dict[str, Any]:
        subject = resolve(learner)
        if not isinstance(subject, LearnerSubject):
            raise SubjectError(f"{subject.name}: only learners have regret")
        with attribute_errors_to_subject(subject):
            return find(subject, tell)

    return _answer(learner, found, seconds)


def _answer(
    learner: str, find: Callable[[Progress], dict[str, Any]], seconds: float, *, own: bool = False
) -> dict[str, Any]:
    """Return JSON data about a learner; a user's, or one on a problem of a user's `own`, runs in another process."""
    with shown_progress(learner) as tell:
        if is_registered(learner) and not own:
            return _in_time(learner, lambda: find(tell), seconds)
        apart = found_apart(
            learner, lambda progress: _in_time(learner, lambda: find(progress), seconds), tell, seconds
        )
    return dict(apart)


def _in_time(learner: str, find: Callable[[], _Found], seconds: float) -> _Found:
    """Return what is found of a learner, or refuse it after so many seconds."""
    try:
        with time_limit(seconds):
            return find()
    except TimeLimitReached:
        raise SubjectError(f"{learner}: was stopped after {seconds:g} s, the time limit") from None


def _said_of_growth(data: Mapping[str, Any]) -> Iterator[Block]:
    heading = "FASTER THAN LOG T" if data["faster"] else "NOT SEEN TO BE FASTER THAN LOG T"
    yield Paragraph(remark("{heading}  {learner} at ε = {epsilon}", heading=heading, **_named(data)))
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


def _named(data: Mapping[str, Any]) -> dict[str, str]:
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


def _twin(report: RegretReport, options: Mapping[str, Any], seconds: float) -> RegretReport | None:
    """Return the report of the learner without privacy on the same instance; None if there is none."""
    entry = every_learner.get(report.learner)
    twin = None if entry is None else _TWINS.get(entry.family)
    if twin is None or twin == report.learner:
        return None
    kept = {name: options[name] for name in ("problem", "seed", "runs", "delta", "workers", "store")}
    kept |= {"epsilon": report.epsilon, "horizon": report.horizon}
    return RegretReport.from_json(_report(twin, kept, seconds))


def _said_of_printed(findings: Sequence[PrintedFinding]) -> Iterator[Block]:
    for finding in findings:
        theorem = finding.theorem
        yield Paragraph(remark("{verdict}  {name}", verdict=finding.verdict.upper(), name=theorem.name))
        facts = (("printed", theorem.says), ("but", theorem.wrong), ("seen", finding.explanation))
        yield Facts(tuple(fact for fact in facts if str(fact[1])))
        yield Code(finding.report.reproduce)
        yield Paragraph(remark(""))


def _table(reports: Sequence[RegretReport]) -> TextTable:
    heading = ("learner", "verdict", "epsilon", "neighbours", "T", "regret", "bound", "worst")
    rows = (
        (
            report.learner,
            report.verdict,
            as_given(report.epsilon),
            report.neighbours,
            f"{report.horizon:,}",
            *map(nearest, (report.outcome[-1].mean, report.outcome[-1].bound, report.outcome[-1].trivial)),
        )
        for report in reports
    )
    return TextTable(heading, tuple(rows))
