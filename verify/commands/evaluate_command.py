"""The command ``dpwitness evaluate``: what learners would have earned on logged traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click

from algorithms.catalogue.structured_entries import learner_builder
from algorithms.off_policy.logged_bandit import LoggedBandit, read_log
from algorithms.off_policy.replay_evaluation import evaluate, expected_rounds
from algorithms.problems import ProblemError, SettingError, known_name, parse_settings
from mechanisms.printed_numbers import as_given, at_least, at_most, nearest, percent
from verify.commands.command_options import flags, json_option, privacy_options, show, shown_progress
from verify.commands.completed_names import LEARNER
from verify.commands.simulate_command import is_private, own_parameters
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress, subprogress
from verify.document.elements import Block, Facts, Paragraph, TextTable
from verify.document.terminal_text import print_blocks
from verify.learners.learner_subject import LearnerSubject, attribute_errors_to_subject
from verify.sentences import remark
from verify.subject_error import SubjectError
from verify.subjects.resolve import names_file, resolve

_WORDS = {
    "replay": "replay (rejection; Li et al. 2011)",
    "ips": "inverse propensity (all events read)",
    "snips": "inverse propensity, self-normalised",
}


@dataclass(frozen=True)
class _Asked:
    """One learner on the log."""

    learner: str
    epsilon: float
    delta: float
    settings: Mapping[str, str]
    horizon: int
    runs: int
    delay: int
    confidence: float
    seed: int


@click.command("evaluate")
@click.argument("learners", nargs=-1, required=True, type=LEARNER)
@click.option(
    "--log",
    "file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="A CSV file with columns action, reward, propensity, or those of the Open Bandit Dataset.",
)
@click.option(
    "--position", type=int, help="Of the Open Bandit Dataset: events at this position only [default: all]."
)
@privacy_options("evaluates")
@flags("settings")
@click.option("--horizon", type=int, help="Rounds per run [default: as many as the log is expected to give].")
@click.option(
    "--runs", type=int, default=1, show_default=True, help="Independent runs, which share the log's events."
)
@click.option(
    "--delay",
    type=int,
    default=0,
    show_default=True,
    help="After how many further rounds a round's reward reaches the learner.",
)
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of each interval for itself."
)
@flags("seed")
@json_option
def evaluate_command(
    learners: tuple[str, ...],
    file: Path,
    position: int | None,
    epsilon: tuple[float, ...],
    delta: tuple[float, ...],
    settings: dict[str, str],
    horizon: int | None,
    runs: int,
    delay: int,
    confidence: float,
    seed: int,
    as_json: bool,
) -> None:
    """Evaluate LEARNERS off policy: what they would have earned on logged traffic, per round.

    A learner is the name of one that plays K arms, or path/to/file.py:object. The log says with which probability each
    action was taken, and its events are taken as independent of each other. What is printed is computed from raw
    rewards: it is not private.
    """
    if not 0.0 < confidence < 1.0:
        raise SettingError(f"--confidence {confidence:g}: must be above 0 and below 1")
    log = read_log(file, position=position)
    if runs < 1:
        raise SettingError(f"--runs {runs}: must be at least 1")
    rounds = max(1, expected_rounds(log, runs)) if horizon is None else horizon
    asked = [
        _Asked(name, each_epsilon, each_delta, own, rounds, runs, delay, confidence, seed)
        for name, own in _shared(learners, settings).items()
        for each_epsilon, each_delta in _privacy(name, epsilon, delta)
    ]
    found = []
    with shown_progress(", ".join(learners)) as tell:
        for one in asked:  # all before any is played
            if not names_file(one.learner):
                _builder(one, log)
        for number, one in enumerate(asked):
            share = subprogress(tell, number / len(asked), (number + 1) / len(asked))
            found.append(_evaluated(one, log, share))
    data = {
        "log": {
            "file": str(file),
            "position": position,
            "events": log.events,
            "actions": len(log.names),
            "least_propensity": log.least_propensity,
            "mean_reward": log.mean_reward,
        },
        "confidence": confidence,
        "evaluations": found,
    }
    show(as_json, lambda: data, partial(print_blocks, _said(data)))


def _shared(learners: Sequence[str], settings: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return which settings each learner is given: those it has."""
    own = {name: own_parameters(name) for name in learners}
    for key in settings:
        known_name("parameter", key, sorted(set().union(*own.values())))
    return {name: {key: settings[key] for key in settings if key in own[name]} for name in own}


def _privacy(learner: str, epsilons: Sequence[float], deltas: Sequence[float]) -> list[tuple[float, float]]:
    """Return the pairs of epsilon and delta of a learner; one is enough for a learner without privacy."""
    return list(product(epsilons, deltas)) if is_private(learner) else [(epsilons[0], deltas[0])]


def _builder(asked: _Asked, log: LoggedBandit) -> tuple[LearnerSubject, Any]:
    subject = resolve(asked.learner)
    if not isinstance(subject, LearnerSubject):
        raise SubjectError(f"{asked.learner}: only learners can be evaluated on a log")
    if getattr(subject.make, "family", None) in ("linear", "contextual", "cascade", "matroid"):
        raise ProblemError(
            f"{asked.learner}: plays {subject.make.family} problems; a log's actions are K arms"
        )
    own = parse_settings(asked.settings, subject.entry.parameters) if subject.entry else {}
    privacy: dict[str, Any] = {"epsilon": asked.epsilon, "delta": asked.delta}
    return subject, learner_builder(subject.make, log, settings=own, horizon=asked.horizon, **privacy)


def _evaluated(asked: _Asked, log: LoggedBandit, tell: Progress) -> dict[str, Any]:
    """Return JSON data of one evaluation; a user's code runs in a process of its own."""
    if not names_file(asked.learner):
        return _evaluate(asked, log, tell)
    return dict(found_apart(asked.learner, lambda progress: _evaluate(asked, log, progress), tell))


def _evaluate(asked: _Asked, log: LoggedBandit, tell: Progress) -> dict[str, Any]:
    subject, build = _builder(asked, log)
    with attribute_errors_to_subject(subject):
        found = evaluate(
            build,
            log,
            horizon=asked.horizon,
            runs=asked.runs,
            seed=asked.seed,
            delay=asked.delay,
            error=1.0 - asked.confidence,
            progress=lambda done: tell(done, "replaying"),
        )
    return {
        "learner": asked.learner,
        "neighbours": subject.form.neighbours.value,
        **{name: value for name, value in asdict(asked).items() if name not in ("learner", "confidence")},
        "played": found.played.tolist(),
        "read": found.read,
        "estimates": [
            {name: None if value != value else value for name, value in asdict(each).items()}
            for each in found.estimates
        ],
        "rounds": found.rounds.tolist(),
        "return_mean": found.curve.tolist(),
    }


def _said(data: Mapping[str, Any]) -> Iterator[Block]:
    log, level = data["log"], percent(data["confidence"])
    heading = ("learner", "estimator", "per round", "± s.e.", f"interval, {level}", "eff. events")
    rows = []
    for one in data["evaluations"]:
        private = f"ε = {as_given(one['epsilon'])}" if is_private(one["learner"]) else "no privacy"
        words = (one["learner"], private, f"{sum(one['played']):,} rounds")
        rows += [
            (
                label,
                each["estimator"],
                _number(each["value"]),
                _number(each["standard_error"]),
                "-"
                if each["interval"] is None
                else f"{at_least(each['interval'][0], 4)} to {at_most(each['interval'][1], 4)}",
                f"{each['effective_sample_size']:,.0f}",
            )
            for label, each in zip(words, one["estimates"], strict=True)
        ]
    yield Paragraph(remark("{file}: {events:,} events, {actions} actions", **log))
    yield TextTable(heading, tuple(rows))
    yield Facts(tuple(_WORDS.items()))
    yield Paragraph(remark(_uncertainty(data["evaluations"])))
    earned = "the logging policy earned {reward} per event; these numbers are not private"
    yield Paragraph(remark(earned, reward=nearest(log["mean_reward"], 4)))


def _uncertainty(evaluations: Sequence[Mapping[str, Any]]) -> str:
    """Say what standard errors and intervals count."""
    runs = evaluations[0]["runs"]
    if runs == 1:
        return (
            "± s.e. and intervals are given the actions that this one run took; on another path a learner earns "
            "something else, and --runs shows how much"
        )
    return f"± s.e. is from how {runs} runs differ; intervals are given the actions that they took"


def _number(value: float | None) -> str:
    return "-" if value is None else nearest(value, 4)
