"""Off-policy evaluation of learners on a log: ``dpwitness simulate --log``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from algorithms.catalogue import learner_builder
from algorithms.off_policy.logged_bandit import LoggedBandit, read_log
from algorithms.off_policy.replay_evaluation import evaluate, expected_rounds
from algorithms.problems import ProblemError, known_name, parse_settings
from mechanisms.numerics.printed_numbers import as_given, at_least, at_most, counted_noun, nearest, percent
from verify.commands.shown_results import check_outputs, show, shown_progress, write_outputs
from verify.conduct.isolation import found_apart
from verify.conduct.progress import Progress, subprogress
from verify.document.elements import Block, Facts, Paragraph, TextTable
from verify.document.terminal_text import print_blocks
from verify.experiments.lines import is_private, own_parameters
from verify.findings.sentences import remark
from verify.findings.subject_error import SubjectError
from verify.learners.learner_subject import LearnerSubject, attribute_errors_to_subject
from verify.verification.resolve import names_file, resolve

_CONFIDENCE = 0.95  # of each interval for itself
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
    seed: int


def replay_log(
    learners: Sequence[str],
    file: Path,
    settings: Mapping[str, str],
    *,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    horizon: int | None,
    runs: int,
    delay: int,
    seed: int,
    outputs: Sequence[Path],
    as_json: bool,
) -> None:
    """Evaluate learners off policy, and show their estimated reward per round on logged traffic."""
    check_outputs(outputs, ".json")
    log = read_log(file)
    rounds = max(1, expected_rounds(log, runs)) if horizon is None else horizon
    asked = [
        _Asked(name, epsilon, delta, own, rounds, runs, delay, seed)
        for name, own in _shared(learners, settings).items()
        for epsilon, delta in _privacy(name, epsilons, deltas)
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
            "events": log.events,
            "actions": len(log.names),
            "least_propensity": log.least_propensity,
            "mean_reward": log.mean_reward,
        },
        "confidence": _CONFIDENCE,
        "evaluations": found,
    }
    show(as_json, lambda: data, partial(print_blocks, _result_blocks(data)))
    write_outputs(outputs, lambda: data)


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
    if getattr(subject.make, "family", None) in ("linear", "contextual", "cascade", "matroid", "experts"):
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
            error=1.0 - _CONFIDENCE,
            progress=lambda done: tell(done, "replaying"),
        )
    return {
        "learner": asked.learner,
        "neighbours": subject.form.neighbours.value,
        **{name: value for name, value in asdict(asked).items() if name != "learner"},
        "played": found.played.tolist(),
        "read": found.read,
        "estimates": [
            {name: None if value != value else value for name, value in asdict(each).items()}
            for each in found.estimates
        ],
        "rounds": found.rounds.tolist(),
        "return_mean": found.curve.tolist(),
    }


def _result_blocks(data: Mapping[str, Any]) -> Iterator[Block]:
    log, level = data["log"], percent(data["confidence"])
    heading = ("learner", "estimator", "per round", "± s.e.", f"interval, {level}", "eff. events")
    rows = []
    for one in data["evaluations"]:
        private = f"ε = {as_given(one['epsilon'])}" if is_private(one["learner"]) else "no privacy"
        words = (one["learner"], private, counted_noun(sum(one["played"]), "round"))
        rows += [
            (
                label,
                each["estimator"],
                _short_number(each["value"]),
                _short_number(each["standard_error"]),
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
    """Return the sentence on the randomness that standard errors and intervals cover."""
    runs = evaluations[0]["runs"]
    if runs == 1:
        return (
            "± s.e. and intervals are given the actions that this one run took; on another path a learner earns "
            "something else, and --runs shows how much"
        )
    return f"± s.e. is from how {runs} runs differ; intervals are given the actions that they took"


def _short_number(value: float | None) -> str:
    return "-" if value is None else nearest(value, 4)
