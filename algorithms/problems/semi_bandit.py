"""Combinatorial semi-bandits: the outcome of every base arm played is observed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.lanes import gather, lookup
from algorithms.problems.problem import BernoulliProblem, checked_means
from algorithms.problems.problem_errors import require_structure
from algorithms.problems.super_arms import SuperArms
from mechanisms import Box, Randomness
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SemiBandit(BernoulliProblem):
    """Bernoulli outcomes ``X_i ~ Ber(mu_i)``, independent; feedback ``{(i, X_i) : i in S}``.

    The setting of Chen et al. 2020 (and, with a matroid as structure, of matroid bandits), with independent
    Bernoulli outcomes as the law D on ``[0, 1]^m``.

    Parameters
    ----------
    structure
        The super arms.
    means
        One number in [0, 1] for each base arm.

    Raises
    ------
    ProblemError
        If a mean is NaN or outside [0, 1], their number is wrong, or the structure cannot say its optimum.
    """

    structure: SuperArms
    means: FloatArray

    def __post_init__(self) -> None:
        require_structure(self.structure)
        object.__setattr__(self, "means", checked_means(self.means, self.structure.arms))
        _ = self.optimum  # a structure may refuse to enumerate: now, not after a run

    @cached_property
    def feedback_domain(self) -> Box:
        """The cube ``[0, 1]^K``."""
        return Box(0.0, 1.0, self.structure.size)

    def feedback(self, records: FloatArray, super_arm: IntArray) -> FloatArray:
        """Return the outcomes of the base arms played: ``(..., lanes, arms)`` to ``(..., lanes, size)``."""
        return gather(records, super_arm)

    def draw_feedback(self, super_arm: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the outcomes of the base arms played, ``(lanes, size)``; 0 at padding."""
        means = lookup(self.means, super_arm)
        return (randomness.random(super_arm.shape) < means).astype(np.float64)

    def draw_totals(self, super_arm: IntArray, rounds: IntArray, randomness: Randomness) -> FloatArray:
        """Draw the number of ones of each base arm played, ``Bin(rounds, mu_i)``, ``(lanes, size)``."""
        counts = np.repeat(rounds[:, np.newaxis], super_arm.shape[1], axis=1)
        ones: IntArray = randomness.binomial(counts, lookup(self.means, super_arm))
        return ones.astype(np.float64)
