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
from verify.subjects.adversary import Adversary, Game
from verify.subjects.bandit_calls import BanditError, maker
from verify.subjects.bandit_environment import Environment
from verify.subjects.bandit_games import (
    Calls,
    Select,
    Update,
    calls_of,
    methods_for,
    play_alone,
)

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlainBandit:
    """A bandit class of any library, and how to call it.

    Methods of the usual names are found; where the names of their arguments say so they are given the arm, its reward,
    the round (0, 1, ...), the list of arms or the round's context in whatever order, and else ``(arm, reward)``.

    Parameters
    ----------
    make
        ``make(rng)`` returns a fresh bandit that draws from this NumPy Generator; ``make()`` one that draws from
        NumPy's or Python's global generator, which are seeded before every batch of runs and restored afterwards.
        The generator goes to a parameter named ``rng`` or the like (a seed to one named ``seed``), or else to the
        first without a default; required ones named ``n_arms``, ``horizon`` or ``env`` get the number of arms, of
        rounds, or an environment (`verify.subjects.bandit_calls.maker`).
    arms, rounds
        How many arms, and how many rounds are played.
    select
        The name of the method that returns the next arm; or a function ``select(bandit, round)``. By default the
        first of `verify.subjects.bandit_games.SELECTS` that the bandit has. What it returns must be a whole number from
        0 to `arms` - 1.
    update
        The name of the method that learns from an arm and its reward; or a function ``update(bandit, arm, reward)``. By
        default the first of `verify.subjects.bandit_games.UPDATES`.
    rewards
        The smallest and the largest reward.
    adversary
        Plays against this instead of fixed reward tables.
    step
        In place of the two: the name of a method that is told the last reward and arm (None before the first round)
        and returns the next arm.
    play
        Or the name of a method, or a function ``play(bandit)``, with which the bandit plays by itself: `make` gets an
        environment, whose ``pull(arm)`` returns rewards and ends the game after the last round. It is called as long as
        it pulls arms.
    contexts
        What all know of every round before it is played: an array with a row for each.

    Raises
    ------
    ParameterError
        If there are no arms or rounds, the rewards are no interval, methods are given for more than one way of
        playing, or there are fewer contexts than rounds.
    """

    make: Callable[..., Any]
    arms: int
    rounds: int
    select: str | Callable[[Any, int], Any] | None = None
    update: str | Callable[[Any, int, float], Any] | None = None
    rewards: tuple[float, float] = (0.0, 1.0)
    adversary: Adversary | None = None
    step: str | None = None
    play: str | Callable[[Any], Any] | None = None
    contexts: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", whole("arms", self.arms, least=1))
        object.__setattr__(self, "rounds", whole("rounds", self.rounds, least=1))
        if self.arms >= MOST_ARMS:
            raise ParameterError(f"arms = {self.arms}: must be fewer than {MOST_ARMS}")
        if not self.rewards[0] < self.rewards[1]:
            raise ParameterError(f"rewards = {self.rewards}: the first must be smaller")
        ways = [
            self.select is not None or self.update is not None,
            self.step is not None,
            self.play is not None,
        ]
        if sum(ways) > 1:
            raise ParameterError(
                "select and update, step, play: must be given for one way of playing, not for several"
            )
        if self.contexts is not None and len(np.atleast_1d(self.contexts)) < self.rounds:
            raise ParameterError(
                f"contexts = {len(np.atleast_1d(self.contexts))} rows: must be one for each of {self.rounds} rounds"
            )

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
        with self._batch(seed) as batch:
            for draw in range(draws):
                if batch.alone:
                    environment = Environment(
                        self.arms, len(rewards), lambda number, arm: rewards[number][arm], self.rounds
                    )
                    actions[draw, :, 0] = batch.play(environment)
                    continue
                select, update = batch.methods()
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
        actions = np.empty((draws, self.rounds, 1), dtype=np.int16)
        with self._batch(seed) as batch:
            for draw in range(draws):
                game = Game(
                    self.adversary,
                    rounds=self.rounds,
                    arms=self.arms,
                    size=1,
                    lanes=1,
                    other_world=other_world,
                )

                def reward(number: int, arm: int, game: Game = game) -> float:
                    outcomes = game.outcomes()
                    game.play(arm)
                    return float(outcomes[0, arm])

                if batch.alone:
                    batch.play(Environment(self.arms, self.rounds, reward))
                else:
                    select, update = batch.methods()
                    for number in range(self.rounds):
                        arm = select(number)
                        update(arm, reward(number, arm))
                actions[draw] = game.actions[0]
        return actions

    @contextmanager
    def _batch(self, seed: np.random.SeedSequence) -> Iterator[_Batch]:
        """Own every generator while a batch of runs is played."""
        rng = np.random.default_rng(seed)
        before, before_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 (others' code uses it)
        words = seed.generate_state(2)
        random.seed(int(words[0]))
        np.random.seed(int(words[1]))  # noqa: NPY002
        try:
            yield _Batch(self, rng)
        finally:
            random.setstate(before)
            np.random.set_state(before_numpy)  # noqa: NPY002


class _Batch:
    """Makes the bandits of a batch of runs, all called the same way."""

    def __init__(self, bandit: PlainBandit, rng: np.random.Generator) -> None:
        self.bandit, self.rng = bandit, rng
        self.make = maker(bandit.make, bandit.arms, bandit.rounds)
        self.alone = bandit.play is not None
        self.contexts = None if bandit.contexts is None else list(np.atleast_1d(bandit.contexts))
        self._idle = Environment(bandit.arms, bandit.rounds, _pays_nothing)
        self._calls: Calls | None = None

    def methods(self) -> tuple[Select, Update]:
        """Return how a fresh bandit is asked for an arm, and told its reward."""
        made = self.make(self.rng, self._idle)
        return methods_for(self._called(made), made, self.bandit.arms, self.contexts)

    def play(self, environment: Environment) -> list[int]:
        """Let a fresh bandit play by itself; the arms it pulled."""
        made = self.make(self.rng, environment)
        return play_alone(self._called(made), made, environment)

    def _called(self, made: Any) -> Calls:
        if self._calls is None:
            own = self.bandit
            self._calls = calls_of(
                made,
                select=own.select,
                update=own.update,
                step=own.step,
                play=own.play,
                contexts=self.contexts is not None,
            )
        return self._calls


def _pays_nothing(number: int, arm: int) -> float:
    raise BanditError(
        "the bandit pulls arms of its environment by itself: give play=..., the method that makes it do so"
    )
