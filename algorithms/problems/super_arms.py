"""The interface of structures: a family of super arms, and an oracle for the best one under given weights."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from algorithms.lanes import lookup
from algorithms.problems.problem_errors import ProblemError
from mechanisms.arrays import FloatArray, IntArray


class SuperArms(Protocol):
    """A combinatorial structure over base arms ``0 .. arms - 1``, with its oracle and reward function.

    It is public and knows nothing of the means. A super arm is a row of distinct base arms; where super arms
    differ in length, shorter rows are padded with -1 at the end. Oracles are deterministic, break ties by the
    lowest id and treat each lane on its own: a lane's answer does not depend on the other lanes.

    The reward is monotone in the means and smooth (Chen et al. 2020, assumptions 2 and 3):
    ``|r_mu(S) - r_nu(S)| <= smoothness_l1 * ||mu_S - nu_S||_1`` and
    ``<= smoothness_linf * ||mu_S - nu_S||_inf``.
    """

    @property
    def arms(self) -> int:
        """The number of base arms m."""

    @property
    def size(self) -> int:
        """The largest number of base arms in a super arm, K."""

    @property
    def alpha(self) -> float:
        """The oracle's answer earns at least `alpha` times the optimum for the weights it was given ..."""

    @property
    def beta(self) -> float:
        """... with probability at least `beta`."""

    @property
    def smoothness_l1(self) -> float:
        """The constant B_1 of the reward."""

    @property
    def smoothness_linf(self) -> float:
        """The constant B_inf of the reward."""

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the oracle's super arm of each lane: weights ``(lanes, arms)`` to ``(lanes, size)``."""

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the expected reward ``(lanes,)`` of each row of `super_arm` under `means` ``(arms,)``."""

    def optimum(self, means: FloatArray) -> float:
        """Return the exact largest expected reward of any super arm, even if the oracle guarantees less."""


class Structure:
    """Base of structures: the oracle is exact, and the reward the sum of the means, where a structure has no other."""

    alpha: float = 1.0
    beta: float = 1.0
    smoothness_l1: float = 1.0

    @property
    def smoothness_linf(self: SuperArms) -> float:
        """B_inf = K B_1: K coordinates may each move by the same amount."""
        return float(self.size)

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return ``sum_{i in S} mu_i`` for each row S of `super_arm`; padding counts 0."""
        return np.asarray(lookup(means, super_arm).sum(axis=1))

    def optimum(self: SuperArms, means: FloatArray) -> float:
        """Return the reward of the oracle's answer to the means."""
        means = np.asarray(means, dtype=np.float64)
        return float(self.reward(self.solve(means[np.newaxis]), means)[0])


def checked_weights(weights: npt.ArrayLike, arms: int) -> FloatArray:
    """Return weights as a ``(lanes, arms)`` float array.

    Raises
    ------
    ProblemError
        If the shape is another, or a weight is NaN or -inf.
    """
    checked = np.asarray(weights, dtype=np.float64)
    if checked.ndim != 2 or checked.shape[1] != arms:
        raise ProblemError(f"weights of shape {checked.shape}: the shape must be (lanes, {arms})")
    if checked.size and not checked.min() > -np.inf:  # min passes NaN on
        raise ProblemError("weights contain NaN or -inf: a weight must be a number or +inf")
    return checked


def check_super_arms(answers: Any, lanes: int, structure: Any, name: str) -> IntArray:
    """Return super arms that a structure names, after checking that they may be played.

    Parameters
    ----------
    answers
        Super arms, one a lane, of an oracle or a list.
    lanes
        The number of lanes that were asked for.
    structure
        The structure with their arms and size.
    name
        The source of the answers, for errors.

    Raises
    ------
    ProblemError
        Unless these are whole numbers of shape (lanes, size): in each row different arms, and -1 after them.
    """
    try:
        found = np.asarray(answers)
    except ValueError:  # rows of different lengths
        found = np.asarray(None)
    arms, size = structure.arms, structure.size
    if found.shape != (lanes, size) or found.dtype.kind not in "iu":
        raise ProblemError(
            f"{name} returned {found.dtype} of shape {found.shape}; must be whole numbers of shape (lanes, size) = "
            f"{(lanes, size)}"
        )
    if not found.size:
        return found
    ordered = np.sort(found, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    wrong = (ordered[:, 0] < -1) | (ordered[:, -1] >= arms) | twice.any(axis=1)
    if wrong.any():
        raise ProblemError(
            f"{name} returned {found[wrong][0].tolist()}; must be different arms from 0 to {arms - 1}, and -1 as "
            "padding"
        )
    wrong = ((found[:, 1:] >= 0) & (found[:, :-1] < 0)).any(axis=1)
    if wrong.any():
        raise ProblemError(f"{name} returned {found[wrong][0].tolist()}; padding must be at the end")
    return found
