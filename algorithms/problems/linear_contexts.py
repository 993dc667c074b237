"""Contextual linear bandits with action sets that are drawn anew in every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from algorithms.problems.problem_errors import ProblemError, checked_count, real_array
from mechanisms import Randomness
from mechanisms.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class LinearContexts:
    """Every round offers actions that are uniform on the unit sphere; rewards are 1 or -1, of mean ``theta* . x``.

    A subclass may draw other actions of the unit ball, as many in every lane, and others of the rewards in [-1, 1] that
    have this mean.

    Parameters
    ----------
    parameter
        theta*, (d,), of norm at most 1.
    actions
        The number of offered actions.

    Raises
    ------
    ProblemError
        If the parameter is no finite vector of norm at most 1, or the actions are no whole number of at least 1.
    """

    parameter: FloatArray
    actions: int

    def __post_init__(self) -> None:
        checked = real_array("parameter", self.parameter)
        if checked.ndim != 1 or not checked.size or not np.linalg.norm(checked) <= 1.0 + 1e-12:
            raise ProblemError(f"parameter = {self.parameter!r}: must be a vector of norm at most 1")
        object.__setattr__(self, "actions", checked_count("actions", self.actions))
        checked.flags.writeable = False
        object.__setattr__(self, "parameter", checked)

    @property
    def features(self) -> int:
        """D."""
        return self.parameter.size

    @property
    def largest_regret(self) -> float:
        """Largest regret of a round: ``2 |theta*|``."""
        return 2.0 * float(np.linalg.norm(self.parameter))

    def draw_contexts(self, randomness: Randomness, lanes: int) -> FloatArray:
        """Draw the actions offered in each lane, (lanes, actions, d)."""
        drawn = randomness.standard_normal((lanes, self.actions, self.features))
        return np.asarray(drawn / np.linalg.norm(drawn, axis=2, keepdims=True))

    def draw_rewards(self, played: FloatArray, randomness: Randomness) -> FloatArray:
        """Draw the rewards of actions (lanes, d); (lanes,)."""
        ones = randomness.random((len(played),)) < (1.0 + played @ self.parameter) / 2.0
        return np.where(ones, 1.0, -1.0)

    def means(self, contexts: FloatArray) -> FloatArray:
        """Return the expected reward of each action offered, (lanes, actions)."""
        return np.asarray(contexts @ self.parameter)

    def regrets(self, contexts: FloatArray) -> FloatArray:
        """Return how much less than the best each action offered earns in expectation, (lanes, actions)."""
        means = self.means(contexts)
        return np.asarray(means.max(axis=1, keepdims=True) - means)
