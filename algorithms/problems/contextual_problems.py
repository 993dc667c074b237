"""Contextual linear bandits by name, for the learners of `algorithms.catalogue.contextual_entries`."""

from __future__ import annotations

import numpy as np

from algorithms.problems.linear_contexts import LinearContexts
from algorithms.problems.named_problems import ProblemEntry
from algorithms.problems.problem_settings import Parameter


def _contexts(dimension: int, actions: int, length: float, instance: int) -> LinearContexts:
    direction = np.random.default_rng(instance).standard_normal(dimension)
    return LinearContexts(length * direction / np.linalg.norm(direction), actions)


contextual_problems: dict[str, ProblemEntry[LinearContexts]] = {
    "contexts": ProblemEntry(
        "contexts",
        "contextual linear bandit: every user brings actions of their own, uniform on the unit sphere; rewards are +1 "
        "or -1 of mean theta* . x",
        "contextual",
        (
            Parameter("dimension", "int", 3, 1, 200, "dimension d"),
            Parameter("actions", "int", 10, 1, 10_000, "number of actions that a user brings"),
            Parameter("length", "float", 1.0, 0, 1, "length of theta*, whose direction is uniform"),
            Parameter("instance", "int", 1, 0, None, "seed of theta*"),
        ),
        _contexts,
    )
}
"""The problems of contextual learners by name."""
