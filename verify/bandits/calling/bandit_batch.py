"""A batch of runs with bandits of one class, all made and called the same way."""
# ruff: noqa: D102 (what `Batched` asks for is documented at `verify.bandits.calling.plain_bandit.PlainBandit`)

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from verify.bandits.calling.bandit_calls import BanditError, maker, starter
from verify.bandits.calling.bandit_environment import Environment
from verify.bandits.calling.bandit_games import (
    Calls,
    Select,
    Update,
    calls_of,
    methods_for,
    play_alone,
    play_until_it_stops,
)
from verify.bandits.calling.bandit_state import caches_of
from verify.bandits.calling.run_generators import RunGenerators


class Batched(Protocol):
    """What is asked of a `verify.bandits.calling.plain_bandit.PlainBandit`; see there."""

    @property
    def make(self) -> Callable[..., Any]: ...
    @property
    def arms(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def select(self) -> str | Callable[[Any, int], Any] | None: ...
    @property
    def update(self) -> str | Callable[[Any, int, float], Any] | None: ...
    @property
    def step(self) -> str | None: ...
    @property
    def play(self) -> str | Callable[[Any], Any] | None: ...
    @property
    def contexts(self) -> npt.ArrayLike | None: ...
    @property
    def private_context(self) -> tuple[int, ...]: ...
    @property
    def stops(self) -> bool: ...


class Batch:
    """Makes the bandits of a batch of runs, all called the same way."""

    def __init__(self, bandit: Batched, generators: RunGenerators) -> None:
        self.bandit, self.generators, self.rng = bandit, generators, generators.rng
        self.make = maker(bandit.make, bandit.arms, bandit.rounds)
        self.alone = bandit.play is not None
        self.contexts = None if bandit.contexts is None else list(np.atleast_1d(bandit.contexts))
        self._idle = Environment(bandit.arms, bandit.rounds, pays_nothing)
        self._calls: Calls | None = None
        self._start: Callable[[Any], object] | None = None
        self._caches: list[Callable[[], object]] = []

    def runs(self, numbers: Sequence[int]) -> Iterator[int]:
        """Count runs from 0, each with the random numbers of its own number."""
        for place, number in enumerate(numbers):
            for clear in self._caches:
                clear()
            self.generators.begin(number)
            yield place

    def methods(self, contexts: Sequence[Any] | None = None) -> tuple[Select, Update]:
        """Return how a fresh bandit is asked for an arm, and told its reward; `contexts` in place of those all know."""
        made = self.make(self.rng, self._idle)
        if contexts is None:
            contexts = self.contexts
        calls = self._called(made)
        if self._start is not None:
            self._start(made)
        return methods_for(calls, made, self.bandit.arms, contexts)

    def play(self, environment: Environment) -> list[int]:
        """Let a fresh bandit play by itself; the arms it pulled, and what follows if it may stop by itself."""
        made = self.make(self.rng, environment)
        calls = self._called(made)
        if self.bandit.stops:
            return play_until_it_stops(calls, made, environment)
        return play_alone(calls, made, environment)

    def _called(self, made: Any) -> Calls:
        if self._calls is None:
            own = self.bandit
            self._start = starter(made, own.arms, own.rounds)
            self._caches = caches_of(made)
            for clear in self._caches:
                clear()
            self._calls = calls_of(
                made,
                select=own.select,
                update=own.update,
                step=own.step,
                play=own.play,
                contexts=self.contexts is not None or bool(own.private_context),
            )
        return self._calls


def pays_nothing(number: int, arm: int) -> float:
    """Say that a bandit plays by itself, as nobody said; the reward of environments that are not to be played in.

    Raises
    ------
    BanditError
        Always.
    """
    raise BanditError(
        "the bandit pulls arms of its environment by itself: give play=..., the method that makes it do so"
    )
