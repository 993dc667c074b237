"""Bandits written without this library: any class that selects an arm and is told its reward.

>>> import numpy as np
>>> class Greedy:
...     def __init__(self, rng):
...         self.rng, self.sums, self.counts = rng, np.zeros(2), np.ones(2)
...     def select_arm(self):
...         return int(np.argmax(self.sums / self.counts + self.rng.laplace(size=2)))
...     def update(self, arm, reward):
...         self.sums[arm] += reward
...         self.counts[arm] += 1
>>> bandit = PlainBandit(Greedy, arms=2, rounds=16)
>>> bandit.actions(np.zeros((17, 2)), 3, np.random.SeedSequence(0)).shape
(3, 16, 1)

``verify(bandit, epsilon=1)`` plays it on neighbouring reward tables, one row (one round) replaced, or, with
`PlainBandit.against`, on an adversary that reacts to its actions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from algorithms.claim import ONE_ROUND_CENTRAL, ClaimForm, View
from mechanisms import Box
from mechanisms.parameters import ParameterError, whole
from verify.learners.transcript import MOST_ARMS, ActionArray
from verify.subjects.adversary import Adversary, run_against
from verify.subjects.bandit_calls import arm_of, maker, method_of, takes_round

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlainBandit:
    """A bandit class of any library, and how to call it.

    Parameters
    ----------
    make
        ``make(rng)`` returns a fresh bandit that draws from this NumPy Generator; ``make()`` one that draws from
        NumPy's or Python's global generator, which are seeded before every batch of runs and restored afterwards.
        The generator goes to a parameter named ``rng`` or the like (a seed to one named ``seed``), or else to the
        one parameter that has no default (`verify.subjects.bandit_calls.maker`).
    arms, rounds
        How many arms, and how many rounds are played.
    select
        The name of the method that returns the next arm, called without arguments or with the round (0, 1, ...) if it
        requires an argument, or has one named ``t``, ``round`` or the like; or a function ``select(bandit, round)``.
        What it returns must be a whole number from 0 to `arms` - 1.
    update
        The name of the method that learns from ``(arm, reward)``; or a function ``update(bandit, arm, reward)``.
    rewards
        The smallest and the largest reward.
    adversary
        Plays against this instead of fixed reward tables.

    Raises
    ------
    ParameterError
        If there are no arms or rounds, or the rewards are no interval.
    """

    make: Callable[..., Any]
    arms: int
    rounds: int
    select: str | Callable[[Any, int], Any] = "select_arm"
    update: str | Callable[[Any, int, float], Any] = "update"
    rewards: tuple[float, float] = (0.0, 1.0)
    adversary: Adversary | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", whole("arms", self.arms, least=1))
        object.__setattr__(self, "rounds", whole("rounds", self.rounds, least=1))
        if self.arms >= MOST_ARMS:
            raise ParameterError(f"arms = {self.arms}: must be fewer than {MOST_ARMS}")
        if not self.rewards[0] < self.rewards[1]:
            raise ParameterError(f"rewards = {self.rewards}: the first must be smaller")

    @property
    def name(self) -> str:
        """The name of its class."""
        name: str = getattr(self.make, "__qualname__", type(self.make).__name__)
        return name

    @property
    def form(self) -> ClaimForm:
        """What is claimed of it: central privacy of one round's rewards in the view of all actions."""
        return ClaimForm("central", View.ACTIONS, ONE_ROUND_CENTRAL, "said by the caller")

    @property
    def record_domain(self) -> Box:
        """The domain of one round's rewards."""
        return Box(*self.rewards, self.arms)

    def against(self, adversary: Adversary) -> PlainBandit:
        """Return the same bandit, played against an adversary."""
        return replace(self, adversary=adversary)

    def actions(self, data: FloatArray, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        """Play on a reward table; its row 0 is not used, as in every data set of a learner.

        Returns
        -------
        ndarray
            Shape (draws, rounds of the table, 1).

        Raises
        ------
        BanditError
            If the bandit cannot be called as it was said, or does not return arms.
        """
        rewards = data[1:].tolist()
        actions = np.empty((draws, len(rewards), 1), dtype=np.int16)
        with self._batch(seed) as fresh:
            for draw in range(draws):
                select, update = fresh()
                row = []
                for number, outcomes in enumerate(rewards):
                    arm = select(number)
                    update(arm, outcomes[arm])
                    row.append(arm)
                actions[draw, :, 0] = row
        return actions

    def actions_against(self, other_world: bool, draws: int, seed: np.random.SeedSequence) -> ActionArray:
        """Play against the adversary in one of the two worlds; shape (draws, rounds, 1)."""
        assert self.adversary is not None
        parts = []
        with self._batch(seed) as fresh:
            for _ in range(draws):
                select, update = fresh()
                number = 0

                def step(
                    outcomes: FloatArray,
                    select: Callable[[int], int] = select,
                    update: Callable[[int, float], Any] = update,
                ) -> npt.NDArray[np.integer]:
                    nonlocal number
                    arm = select(number)
                    number += 1
                    update(arm, float(outcomes[0, arm]))
                    return np.array([[arm]])

                parts.append(
                    run_against(
                        self.adversary,
                        step,
                        rounds=self.rounds,
                        arms=self.arms,
                        size=1,
                        lanes=1,
                        other_world=other_world,
                    )
                )
        return np.concatenate(parts)

    @contextmanager
    def _batch(
        self, seed: np.random.SeedSequence
    ) -> Iterator[Callable[[], tuple[Callable[[int], int], Callable[[int, float], Any]]]]:
        """Own every generator while a batch of runs is played; yields a function that makes a fresh bandit."""
        rng = np.random.default_rng(seed)
        make = maker(self.make)
        before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 (others' code uses it)
        words = seed.generate_state(2)
        random.seed(int(words[0]))
        np.random.seed(int(words[1]))  # noqa: NPY002

        def fresh() -> tuple[Callable[[int], int], Callable[[int, float], Any]]:
            bandit = make(rng)
            return self._selector(bandit), self._updater(bandit)

        try:
            yield fresh
        finally:
            random.setstate(before)
            np.random.set_state(before_numpy)  # noqa: NPY002

    def _selector(self, bandit: Any) -> Callable[[int], int]:
        arms = self.arms
        if not isinstance(self.select, str):
            function, called = self.select, getattr(self.select, "__name__", "select")
            return lambda number: arm_of(function(bandit, number), arms, number, called)
        name, method = self.select, method_of(bandit, "select", self.select)
        if takes_round(method):
            return lambda number: arm_of(method(number), arms, number, name)
        return lambda number: arm_of(method(), arms, number, name)

    def _updater(self, bandit: Any) -> Callable[[int, float], Any]:
        if not isinstance(self.update, str):
            function = self.update
            return lambda arm, reward: function(bandit, arm, reward)
        return method_of(bandit, "update", self.update)
