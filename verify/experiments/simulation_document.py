"""Simulations of some learners as one document that compares their runs; no claim is judged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mechanisms.numerics.printed_numbers import as_given, nearest
from verify.document.drawings import Area, Axis, Chart, Curve, Style
from verify.document.elements import Block, Code, Document, Facts, FirstScreen, Picture, Section, TextTable
from verify.experiments.lines import is_private
from verify.experiments.simulation_result import SimulationResult
from verify.findings.sentences import exact, observed, remark
from verify.verdict.common_sections import assumptions_section, provenance_section
from verify.verification.resolve import takes_delta

_STYLES: tuple[Style, ...] = ("proved", "shown", "claim", "aside")
_ROWS = 12  # of the table of one learner


def simulation_document(*simulations: SimulationResult, **files: str) -> Document:
    """Return the report of simulations, at least one; `files` are digests of the files they were read from, by name."""
    first = simulations[0]
    names = _labels(simulations)
    learners = list(dict.fromkeys(each.learner for each in simulations))
    title = ", ".join(learners) if len(learners) < 3 else f"{len(learners)} learners"
    best = min(range(len(names)), key=lambda i: simulations[i].regret_mean[-1])
    one = simulations[best]
    said = "Mean regret {mean} after {rounds:,} rounds ({draws:,} runs)."
    if len(simulations) > 1:
        said = f"Lowest of {len(simulations)}: {{name}}. {said}"
    error = "" if math.isnan(one.regret_sem[-1]) else f" ± {nearest(one.regret_sem[-1], 2)}"
    meaning = observed(
        said,
        first.asked.runs,
        name=names[best],
        mean=f"{nearest(one.regret_mean[-1])}{error}",
        rounds=one.rounds[-1],
    )
    summary = FirstScreen(
        claimed=remark("Nothing: dpwitness verify checks a privacy claim, dpwitness regret a regret bound."),
        found=meaning,
        sure=remark("Means ± one standard error over runs, for this problem and these parameters."),
        rests_on=exact("Simulated outcomes; no user data."),
        again=Code(" && ".join(dict.fromkeys(each.repeat for each in simulations))),
    )
    plain = observed(
        "In {draws:,} simulated runs {who}, compared with the best choice: {mean} on average in {rounds:,} rounds.",
        first.asked.runs,
        who="the learner lost reward" if len(simulations) == 1 else f"{names[best]} lost least reward",
        mean=nearest(one.regret_mean[-1]),
        rounds=one.rounds[-1],
    )
    sections = [
        Section("Setting", (Facts(_settings(simulations)),)),
        Section("Regret", (*_picture(simulations, names), _table(simulations, names))),
        assumptions_section(()),
        provenance_section(first.provenance, **files),
    ]
    return Document(
        "SIMULATED", "plain", f"regret of {title} on {first.problem}", plain, summary, tuple(sections)
    )


def _labels(simulations: Sequence[SimulationResult]) -> list[str]:
    """Return a label for each simulation: its learner, and the requested values that differ."""
    several = {
        name: len({_setting_text(each, name) for each in simulations}) > 1 for name in ("ε", "δ", "settings")
    }
    found = []
    for each in simulations:
        shown = {"ε": is_private(each.learner), "δ": takes_delta(each.asked.learner)}
        words = [each.learner]
        words += [f"{name} = {_setting_text(each, name)}" for name in shown if several[name] and shown[name]]
        words += [f"{key} = {value}" for key, value in each.asked.settings.items() if several["settings"]]
        found.append(", ".join(words))
    return found


def _setting_text(simulation: SimulationResult, name: str) -> str:
    asked = simulation.asked
    return (
        str(dict(asked.settings))
        if name == "settings"
        else as_given(asked.epsilon if name == "ε" else asked.delta)
    )


def _settings(simulations: Sequence[SimulationResult]) -> tuple[tuple[str, str], ...]:
    def of_all(words: Sequence[str]) -> str:
        return "; ".join(dict.fromkeys(words))

    pairs = (
        ("learners", of_all([each.learner for each in simulations])),
        ("problem", of_all([each.problem for each in simulations])),
        ("size", of_all([str(each.further.get("size", "")) for each in simulations])),
        ("ε", of_all([as_given(each.asked.epsilon) for each in simulations])),
        (
            "δ",
            of_all([as_given(each.asked.delta) for each in simulations if takes_delta(each.asked.learner)]),
        ),
        ("neighbours of the claims", of_all([each.neighbours for each in simulations])),
        ("rounds", of_all([f"{each.rounds[-1]:,}" for each in simulations])),
        ("runs", of_all([f"{each.asked.runs:,} from seed {each.asked.seed}" for each in simulations])),
        (
            "settings",
            of_all(
                [f"{key} = {value}" for each in simulations for key, value in each.asked.settings.items()]
            ),
        ),
    )
    return tuple(pair for pair in pairs if pair[1])


def setting_line(simulations: Sequence[SimulationResult]) -> str:
    """Return the size, privacy, rounds, runs, seed and settings of simulations, for their picture."""
    left_out = ("learners", "problem", "neighbours of the claims")
    return ", ".join(f"{name}: {value}" for name, value in _settings(simulations) if name not in left_out)


def _picture(simulations: Sequence[SimulationResult], names: Sequence[str]) -> tuple[Block, ...]:
    """Return the curves; none if there are more simulations than line styles."""
    values = [
        value for each in simulations for value in each.regret_mean if value > 0.0 and math.isfinite(value)
    ]
    rounds = simulations[0].rounds
    if len(simulations) > len(_STYLES) or not values or len(rounds) < 2:
        return ()
    banded = not any(math.isnan(error) for each in simulations for error in each.regret_sem)
    words = observed(
        "Mean cumulative regret on {problem}{spread} ({setting}).",
        simulations[0].asked.runs,
        problem=simulations[0].problem,
        spread=", ± one standard error" if banded else "",
        setting=setting_line(simulations),
    )
    least, most = min(values), max(values)
    axes = (
        Axis("round t", float(rounds[0]), float(rounds[-1]), logarithmic=True),
        Axis("cumulative regret", min(least, 0.999 * most), most, logarithmic=True),
    )
    curves = [
        Curve(
            name,
            [(float(t), m) for t, m in zip(each.rounds, each.regret_mean, strict=True) if m > 0.0],
            style,
        )
        for name, each, style in zip(names, simulations, _STYLES, strict=False)
    ]
    areas = [
        Area(
            "one standard error" if len(simulations) == 1 else "",
            [
                (float(t), max(m - e, least), max(m + e, least))
                for t, m, e in zip(each.rounds, each.regret_mean, each.regret_sem, strict=True)
            ],
            style,
        )
        for each, style in zip(simulations, _STYLES, strict=False)
        if banded
    ]
    return (Picture(Chart(*axes, curves, areas), words),)


def _table(simulations: Sequence[SimulationResult], names: Sequence[str]) -> TextTable:
    if len(simulations) > 1:
        heading = ("learner", "regret", "± s.e.", "reward per round")
        return TextTable(
            heading, tuple(_row(name, each, -1) for name, each in zip(names, simulations, strict=True))
        )
    (one,) = simulations
    last = len(one.rounds) - 1
    chosen = sorted({round(i * last / (_ROWS - 1)) for i in range(_ROWS)})
    return TextTable(
        ("round", "regret", "± s.e.", "reward per round"),
        tuple(_row(f"{one.rounds[i]:,}", one, i) for i in chosen),
    )


def _row(name: str, of: SimulationResult, i: int) -> tuple[str, ...]:
    error = of.regret_sem[i]
    return (
        name,
        nearest(of.regret_mean[i]),
        "-" if math.isnan(error) else nearest(error, 2),
        nearest(of.return_mean[i]),
    )
