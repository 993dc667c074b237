"""Linear bandits by name: `LinearBandit` instances for the learners of `algorithms.catalogue.linear_entries`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from algorithms.problems.linear import LinearBandit
from algorithms.problems.named_problems import ProblemEntry
from algorithms.problems.problem_errors import SettingError
from algorithms.problems.problem_settings import Parameter
from mechanisms.parameters import takes

Layout = Literal["sphere", "ball", "axes"]


@dataclass(frozen=True, kw_only=True)
class _LinearSettings:
    """The parameters of the problem, as its entry describes them."""

    dimension: int
    actions: int
    layout: Layout
    length: float
    sigma: float
    population: int
    replacement: Literal["no", "yes"]
    rewards: Literal["signs", "gaussian"]
    instance: int


@takes(_LinearSettings)
def _linear(asked: _LinearSettings) -> LinearBandit:
    rng, dimension, actions = np.random.default_rng(asked.instance), asked.dimension, asked.actions
    vectors = rng.standard_normal((actions + 1, dimension))
    vectors /= np.linalg.norm(vectors, axis=1)[:, np.newaxis]
    chosen, direction = vectors[:-1], vectors[-1]
    if asked.layout == "ball":
        chosen = chosen * rng.random((actions, 1)) ** (1.0 / dimension)
    elif asked.layout == "axes":
        if actions > dimension:
            raise SettingError(
                f"actions = {actions}: must be at most dimension = {dimension} with layout = axes"
            )
        chosen = np.eye(dimension)[:actions]
    replacement = asked.replacement == "yes"
    return LinearBandit(
        chosen, asked.length * direction, asked.sigma, asked.population, asked.rewards, replacement
    )


linear_problems: dict[str, ProblemEntry[LinearBandit]] = {
    "linear": ProblemEntry(
        "linear",
        "distributed linear bandit: actions in the unit ball, clients around one unknown vector theta*; the published "
        "experiment is dimension=20 actions=1000",
        "linear",
        (
            Parameter("dimension", "int", 3, 1, 200, "dimension d"),
            Parameter("actions", "int", 20, 1, 1_000_000, "number of actions k"),
            Parameter(
                "layout",
                "str",
                "sphere",
                meaning="actions uniform on the sphere, uniform in the ball, or the first unit vectors",
                choices=("sphere", "ball", "axes"),
            ),
            Parameter("length", "float", 0.5, 0, 1, "length of theta*, whose direction is uniform"),
            Parameter(
                "sigma", "float", 0.1, 0, 10, "sub-Gaussian parameter of clients' deviations from theta*"
            ),
            Parameter("population", "int", 100_000, 1, 100_000_000, "the number of clients, |U|"),
            Parameter(
                "replacement",
                "str",
                "no",
                meaning="whether a client may be drawn again in a later phase, and pay again",
                choices=("no", "yes"),
            ),
            Parameter(
                "rewards",
                "str",
                "signs",
                meaning="+1 or -1, or with Gaussian noise of variance 1 (unbounded)",
                choices=("signs", "gaussian"),
            ),
            Parameter("instance", "int", 1, 0, None, "seed of actions and theta*"),
        ),
        _linear,
    )
}
"""The problems of linear learners by name."""
