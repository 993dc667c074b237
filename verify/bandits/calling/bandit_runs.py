"""Runs of a foreign bandit, all constructed and called the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from verify.bandits.calling.bandit_construction import Maker
from verify.bandits.calling.bandit_environment import Environment, play_alone
from verify.bandits.calling.bandit_messages import MessageLog
from verify.bandits.calling.bandit_methods import Calls
from verify.bandits.calling.run_generators import RunGenerators
from verify.conduct.interrupts import subject_exceptions
from verify.conduct.kept_outside import function_caches

if TYPE_CHECKING:
    from verify.bandits.calling.plain_bandit import PlainBandit


class Outcomes(Protocol):
    """The rewards of a round, by arm."""

    def __getitem__(self, arm: int, /) -> float:
        """Return the reward of an arm."""
        ...


class BanditRuns:
    """Makes the bandits of many runs, all called the same way."""

    def __init__(self, bandit: PlainBandit, generators: RunGenerators) -> None:
        self.bandit, self.generators = bandit, generators
        self.make = Maker(bandit.make, bandit.arms, bandit.rounds)
        self._contexts = None if bandit.contexts is None else list(np.atleast_1d(bandit.contexts))
        self._idle = Environment.without_rewards(bandit.arms, bandit.rounds)
        self._known = False  # True once a bandit was made and inspected
        self._calls: Calls | None = None
        self._start: Callable[[Any], object] | None = None
        self._caches: list[Callable[[], object]] = []

    def start_runs(self, numbers: Sequence[int]) -> Iterator[int]:
        """Begin runs, each with the random numbers of its own number; yield their places, from 0."""
        for place, number in enumerate(numbers):
            for clear in self._caches:
                clear()
            self.generators.begin(number)
            yield place

    def play(
        self,
        rewards: Sequence[Outcomes],
        contexts: Sequence[Any] | None = None,
        log: MessageLog | None = None,
    ) -> list[int]:
        """Play a fresh bandit on the rewards of some rounds; return its arms, and its end, if it stops or by an error.

        Contexts replace public ones.
        """
        if self.bandit.play is not None:
            return self._play_by_itself(rewards, log)
        return self._play_rounds(rewards, contexts, log)

    def _play_rounds(
        self, rewards: Sequence[Outcomes], contexts: Sequence[Any] | None, log: MessageLog | None
    ) -> list[int]:
        """Play a fresh bandit round by round."""
        made = self._make_bandit(self._idle)
        if self._start is not None:
            self._start(made)
        played, number = list[int](), 0
        if log is not None:
            log.begin(made, lambda: number)
        assert self._calls is not None
        contexts = self._contexts if contexts is None else contexts
        select, update = self._calls.bound(made, self.bandit.arms, contexts)
        try:
            for number, outcomes in enumerate(rewards[: self.bandit.rounds]):
                arm = select(number)
                played.append(arm)
                update(arm, outcomes[arm])
                if log is not None:
                    log.end_round(made, number)
        except subject_exceptions() as error:
            played.append(self.bandit.code_of(error))
        return self._filled(played, len(rewards))

    def _filled(self, played: Sequence[int], places: int) -> list[int]:
        """Return the actions in all places, the last of which are "no arm" if the play has ended."""
        return [*played, *[self.bandit.arms] * (places - len(played))][:places]

    def _play_by_itself(self, rewards: Sequence[Outcomes], log: MessageLog | None) -> list[int]:
        """Let a fresh bandit play by itself."""
        own = self.bandit
        assert own.play is not None
        made: Any = None

        def round_ends(number: int) -> None:
            if log is not None:
                log.end_round(made, number)

        pulls = min(len(rewards), own.rounds)  # the last place may be for its returned arm
        environment = Environment(
            own.arms, pulls, lambda number, arm: rewards[number][arm], own.rounds, round_ends
        )
        made = self._make_bandit(environment)
        if log is not None:
            log.begin(made, lambda: max(len(environment.pulled) - 1, 0))
        try:
            played = play_alone(own.play, made, environment, stops=own.stops)
        except subject_exceptions() as error:
            played = [*environment.pulled, own.code_of(error)]
        environment.end_round()
        return self._filled(played, len(rewards))

    def _make_bandit(self, environment: Environment) -> Any:
        """Return a fresh bandit; of the first one, find the methods to call, and empty its caches."""
        made = self.make(self.generators.rng, environment)
        if not self._known:
            own = self.bandit
            self._start = self.make.starter(made)
            self._caches = function_caches(made)
            for clear in self._caches:
                clear()
            if own.play is None:
                self._calls = Calls.from_bandit(
                    made,
                    select=own.select,
                    update=own.update,
                    step=own.step,
                    contexts=self._contexts is not None or bool(own.private_context),
                )
            self._known = True
        return made
