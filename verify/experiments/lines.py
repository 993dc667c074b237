"""Lines of experiments, each said in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import Value
from verify.experiments.configuration import Configuration
from verify.experiments.experiment import FigureLine, LineRole, Size
from verify.subjects.resolve import every_learner

_CHECKPOINTS = 120


def over_rounds(
    name: str,
    label: str,
    learner: str,
    problem: str,
    size: Size,
    *,
    epsilon: float = 1.0,
    delta: float = DEFAULT_DELTA,
    settings: Mapping[str, Value] | None = None,
    colour: int = 0,
    recommends: bool = False,
) -> FigureLine:
    """Return a line against the rounds: one configuration.

    Parameters
    ----------
    name, label, colour
        As in `FigureLine`; the role follows from the learner.
    learner, problem, size, epsilon, delta, settings, recommends
        As in `Configuration`.
    """
    configuration = Configuration(
        learner, size.horizon, size.runs, problem, settings or {}, epsilon, delta,
        checkpoints=_CHECKPOINTS, recommends=recommends,
    )  # fmt: skip
    return FigureLine(name, label, line_role(learner), ((0.0, configuration),), colour)


def parameter_sweep(values: Iterable[float], lines: Sequence[FigureLine]) -> FigureLine:
    """Return one line against a parameter, of lines that have one configuration each, for these values."""
    points = tuple((value, line.points[0][1]) for value, line in zip(values, lines, strict=True))
    return replace(lines[0], points=points)


def line_role(learner: str) -> LineRole:
    """Return the role of a registered learner."""
    if every_learner[learner].claim.is_none:
        return "baseline"
    return "published" if learner.startswith("published/") else "certified"


def own_parameters(learner: str) -> set[str]:
    """Return the names of a registered learner's own parameters; a user's has none that are known."""
    return {each.name for each in every_learner[learner].parameters} if learner in every_learner else set()


def is_private(learner: str) -> bool:
    """True if a learner may claim privacy: every one but those registered as baselines."""
    return learner not in every_learner or line_role(learner) != "baseline"
