"""Users for the runs of contextual learners: drawn, of growing size, extreme ones, and some of them replaced."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from algorithms.linear.contextual_play import ContextualTurn, ContextualUsers
from algorithms.problems import LinearContexts
from mechanisms.arrays import BoolArray, FloatArray, IntArray

_SMALLEST = 2.0**-8


def drawn_users(problem: LinearContexts, rounds: int, rng: np.random.Generator) -> ContextualUsers:
    """Return users of the problem's law."""
    contexts = problem.draw_contexts(rng, rounds)
    rewards = problem.draw_rewards(contexts.reshape(-1, problem.features), rng)
    return ContextualUsers(contexts, rewards.reshape(contexts.shape[:2]))


def growing_users(problem: LinearContexts, rounds: int, rng: np.random.Generator) -> ContextualUsers:
    """Return users with growing actions and rewards, from 2^-8: on constant ones a running maximum leaks nothing."""
    sizes = np.geomspace(_SMALLEST, 1.0, rounds)
    drawn = problem.draw_contexts(rng, rounds)
    rewards = rng.uniform(0.5, 1.0, drawn.shape[:2])
    return ContextualUsers(drawn * sizes[:, np.newaxis, np.newaxis], rewards * sizes[:, np.newaxis])


def constant_users(problem: LinearContexts, rounds: int, reward: float) -> ContextualUsers:
    """Return users with the first unit vector as their only action and the same `reward`."""
    contexts = np.zeros((rounds, problem.actions, problem.features))
    contexts[..., 0] = 1.0
    return ContextualUsers(contexts, np.full((rounds, problem.actions), reward))


def other_users(
    users: ContextualUsers, numbers: FloatArray, replaced: BoolArray, rng: np.random.Generator
) -> ContextualUsers:
    """Return the users with some of them replaced by others.

    Each has the opposite rewards, is at a corner, anywhere inside, or has one of `numbers` in all places or in each
    another one.

    Parameters
    ----------
    users
        All of them.
    numbers
        Distinguishing values of a coordinate or a reward.
    replaced
        True for those that are replaced, (rounds,).
    rng
        The source of all choices.
    """
    shape, one_action = users.contexts.shape, users.rewards.shape
    corners = np.eye(shape[2])[rng.integers(shape[2], size=one_action)]
    inside = rng.uniform(-1.0, 1.0, shape)
    picked = rng.choice(numbers, shape)
    picked = np.where(rng.random((shape[0], 1, 1)) < 0.5, picked, picked[:, :1, :1])
    contexts = (users.contexts, corners, inside / np.sqrt(shape[2]), picked)
    rewards = (
        -users.rewards,
        np.where(rng.random(one_action) < 0.5, -1.0, 1.0),
        rng.uniform(-1.0, 1.0, one_action),
        rng.choice(numbers, one_action),
    )
    kind = rng.integers(len(rewards), size=shape[0])
    row = np.arange(shape[0])
    other_contexts, other_rewards = np.stack(contexts)[kind, row], np.stack(rewards)[kind, row]
    return ContextualUsers(
        np.where(replaced[:, np.newaxis, np.newaxis], other_contexts, users.contexts),
        np.where(replaced[:, np.newaxis], other_rewards, users.rewards),
    )


class ShownTurn(NamedTuple):
    """A copy of a turn, independent of later changes of its policy.

    Attributes
    ----------
    estimate, covariance, width
        The estimate, covariance and width of its policy.
    contexts, chosen
        As `ContextualTurn` has them.
    """

    estimate: FloatArray
    covariance: FloatArray
    width: FloatArray
    contexts: FloatArray
    chosen: IntArray

    @classmethod
    def from_turn(cls, turn: ContextualTurn) -> ShownTurn:
        """Return a copy of the public numbers of a turn."""
        policy = turn.policy
        estimate, covariance = np.array(policy.estimate), np.array(policy.covariance)
        return cls(estimate, covariance, np.array(policy.width), turn.contexts.copy(), np.array(turn.chosen))

    def same_policy(self, other: ShownTurn) -> bool:
        """Return True if the policies have the same numbers, bit by bit."""
        return all(np.array_equal(own, its) for own, its in zip(self[:3], other[:3], strict=True))

    def is_same(self, other: ShownTurn) -> bool:
        """Return True if the policies have the same numbers, and chose alike if they were offered the same."""
        chose = not np.array_equal(self.contexts, other.contexts) or np.array_equal(self.chosen, other.chosen)
        return chose and self.same_policy(other)
