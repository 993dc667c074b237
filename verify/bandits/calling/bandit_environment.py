"""What a bandit that plays by itself pulls arms of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.bandits.calling.bandit_calls import arm_of

Reward = Callable[[int, int], float]
"""From the round and the arm to the reward."""


class GameOver(BaseException):
    """Raised by an environment when it is asked for more rounds; nobody who catches `Exception` catches it."""


class Environment:
    """What a bandit that plays by itself pulls arms of.

    ``pull(arm)``, which goes by the other usual names, too, returns the arm's reward.

    Parameters
    ----------
    arms, rounds
        How many arms there are, and after how many rounds the game is over.
    reward
        What an arm pays.
    horizon
        How many rounds the bandit is told that there are; `rounds` by default.

    Attributes
    ----------
    pulled
        The arms that were pulled, in order.
    """

    def __init__(self, arms: int, rounds: int, reward: Reward, horizon: int | None = None) -> None:
        self.arms = self.n_arms = self.num_arms = self.nbArms = self.K = self.k = arms
        self.rounds, self.reward_of = rounds, reward
        self.horizon = self.T = rounds if horizon is None else horizon
        self.pulled: list[int] = []

    def pull(self, arm: Any) -> float:
        """Return the arm's reward in the next round.

        Raises
        ------
        WrongArm
            If there is no such arm.
        GameOver
            After the last round.
        """
        number = len(self.pulled)
        if number == self.rounds:
            raise GameOver
        chosen = arm_of(arm, self.arms, number, "the bandit")
        self.pulled.append(chosen)
        return self.reward_of(number, chosen)

    pull_arm = step = draw = play = sample = reward = get_reward = generate_reward = __call__ = pull
