"""Constructors of the lines of figures: a configuration over rounds, or a sweep of a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from verify.experiments.configuration import Configuration
from verify.experiments.experiment import FigureLine, LineRole, Size
from verify.verification.resolve import every_learner

_CHECKPOINTS = 120


def over_rounds(
    name: str,
    label: str,
    learner: str,
    problem: str,
    size: Size,
    *,
    colour: int = 0,
    **further: Any,
) -> FigureLine:
    """Return a line against the rounds: one configuration.

    Parameters
    ----------
    name, label, colour
        As in `FigureLine`; the role follows from the learner.
    learner, problem, size, further
        As in `Configuration`, whose rounds and runs are the size's.
    """
    configuration = Configuration(
        learner, size.horizon, size.runs, problem, checkpoints=_CHECKPOINTS, **further
    )
    return FigureLine(name, label, line_role(learner), ((0.0, configuration),), colour)


def parameter_sweep(
    values: Sequence[float], lines_at: Callable[[float], Sequence[FigureLine]]
) -> tuple[FigureLine, ...]:
    """Return lines against a parameter, of the lines at each of its values, which have one configuration each."""
    return tuple(
        replace(same[0], points=tuple((x, each.points[0][1]) for x, each in zip(values, same, strict=True)))
        for same in zip(*map(lines_at, values), strict=True)
    )


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
