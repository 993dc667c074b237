"""Distributed linear bandits with partial feedback: many clients around one unknown vector.

Li, Zhou & Ji 2022, Section 3. The server plays actions x in the unit ball; a client u has its own vector
theta_u = theta* + xi_u and rewards <theta_u, x> + noise. Regret counts <theta*, x>. Only a few clients report,
each the averages of its rewards in one phase: that report is one record.

This is not a `Problem` of semi-bandits: an action is one id, and a record enters at the end of a phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from accountant.argument_checks import checked_flag
from algorithms.problems.problem_errors import ProblemError, real_array
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.parameters import ParameterError, finite_nonnegative, whole_number

Rewards = Literal["gaussian", "signs"]

LONGEST_UNIT = 1.0 + 1e-9
"""The largest computed length of a vector of length 1."""


@dataclass(frozen=True, eq=False)
class LinearBandit:
    """Actions, theta*, how clients differ from it, and how many there are.

    A subclass may draw averages of other laws. Theorems are about those with independent clients, errors from
    ``<theta*, x>`` that are sub-Gaussian with proxy ``sigma^2 |x|^2 + 1/n`` for an average of n rewards, as is every
    linear combination of one client's, and (signs) values in [-1, 1] (`algorithms.theory.own_problems`).

    Parameters
    ----------
    actions
        Shape (k, d), each of length at most 1.
    theta
        theta*, shape (d,), of length at most 1.
    sigma
        Sub-Gaussian parameter of <xi_u, x> / |x|, nonnegative.
    population
        The number of clients.
    rewards
        ``"gaussian"``: xi_u ~ N(0, sigma² I), noise N(0, 1), unbounded. ``"signs"``: rewards are +1 or -1 with mean
        <theta_u, x>, and xi_u is uniform in the ball of radius sigma √(d + 2) (whose marginals have variance proxy
        sigma²); bounded by 1 without any clipping.
    replacement
        Whether a client that has reported may be drawn again in a later phase; False: every client reports once.

    Raises
    ------
    ProblemError
        If a shape is wrong, an action or theta longer than 1, a number out of range, or (signs) a client's mean
        reward could leave [-1, 1].
    """

    actions: FloatArray
    theta: FloatArray
    sigma: float
    population: int
    rewards: Rewards = "gaussian"
    replacement: bool = False

    def __post_init__(self) -> None:
        actions, theta = real_array("actions", self.actions), real_array("theta", self.theta)
        if actions.ndim != 2 or not actions.size or theta.shape != actions.shape[1:]:
            raise ProblemError(
                f"actions of shape {actions.shape}, theta of shape {theta.shape}: must be (k, d) and (d,)"
            )
        for name, vectors in (("actions", actions), ("theta", theta[np.newaxis])):
            longest = np.linalg.norm(vectors, axis=1).max()
            if not longest <= LONGEST_UNIT:
                raise ProblemError(f"{name}: a vector has length {longest!r}, must be at most 1")
        try:
            finite_nonnegative("sigma", self.sigma)
            whole_number("population", self.population, least=1)
            checked_flag("replacement", self.replacement)
        except ParameterError as error:
            raise ProblemError(str(error)) from None
        if self.rewards not in ("gaussian", "signs"):
            raise ProblemError(f"rewards = {self.rewards!r}: must be 'gaussian' or 'signs'")
        object.__setattr__(self, "actions", actions)
        object.__setattr__(self, "theta", theta)
        reach = float(np.max(np.abs(actions @ theta))) + self._radius
        if self.rewards == "signs" and reach > 1.0:
            raise ProblemError(
                f"theta, sigma: a client's mean reward could reach {reach:.3g}, but signs have means in [-1, 1]"
            )
        actions.flags.writeable = theta.flags.writeable = False

    @property
    def _radius(self) -> float:
        return self.sigma * (self.theta.size + 2) ** 0.5 if self.rewards == "signs" else 0.0

    @cached_property
    def means(self) -> FloatArray:
        """<theta*, x> for every action, shape (k,)."""
        return np.asarray(self.actions @ self.theta)

    @cached_property
    def gaps(self) -> FloatArray:
        """Regret of one play of each action, shape (k,)."""
        return np.asarray(self.means.max() - self.means)

    def draw_averages(
        self, support: IntArray, counts: IntArray, clients: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draw new clients' average rewards, shape (clients, s): of ``counts[j]`` rewards of action ``support[j]``."""
        d = self.theta.size
        xi = rng.standard_normal((clients, d))
        if self.rewards == "signs":
            xi /= np.linalg.norm(xi, axis=1, keepdims=True)
            xi *= self._radius * rng.random((clients, 1)) ** (1.0 / d)
        else:
            xi *= self.sigma
        means = self.means[support] + xi @ self.actions[support].T
        if self.rewards == "signs":
            chance = np.clip(0.5 * (1.0 + means), 0.0, 1.0)
            return np.asarray(2.0 * rng.binomial(counts, chance) / counts - 1.0)
        return np.asarray(means + rng.standard_normal(means.shape) / np.sqrt(counts))
