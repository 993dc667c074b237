"""Bandits with a loop of their own: the environment of the arms that they pull, and the run of their loop."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from verify.bandits.calling.bandit_calls import (
    BanditError,
    arm_of,
    method_of,
    named_parameters,
    plain_name,
    required,
)
from verify.bandits.calling.bandit_construction import known_role

_SelfPlay = str | Callable[[Any], Any]
"""The method with which a bandit plays by itself, by its name, or a function of the bandit."""
Reward = Callable[[int, int], float]
"""Function from the round and the arm to the reward."""

_LENGTH = frozenset({"steps", "n", "iterations"})  # beside the names that a constructor's rounds have


_PULL = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_long)


class _GameOver(BaseException):
    """Raised by an environment after the last round; ``except Exception`` does not catch it."""


def _pays_nothing(number: int, arm: int) -> float:
    raise BanditError(
        "the bandit pulls arms of its environment by itself: give play=..., the method that makes it do so"
    )


class Environment:
    """The environment of which a bandit that plays by itself pulls arms.

    ``pull(arm)``, which goes by the other usual names, too, returns the arm's reward.

    Parameters
    ----------
    arms, rounds
        Numbers of arms and of rounds, after which the play is over.
    reward
        The reward of an arm, a function of the round and the arm.
    horizon
        The number of rounds that the environment states to the bandit; `rounds` by default.
    round_ends
        Function that is called with the number of every round, from 0, when the next one begins or the play ends.

    Attributes
    ----------
    pulled
        The arms that were pulled, in order.
    raised
        The exception that `pull` raised when it was called from C.
    """

    def __init__(
        self,
        arms: int,
        rounds: int,
        reward: Reward,
        horizon: int | None = None,
        round_ends: Callable[[int], None] = lambda number: None,
    ) -> None:
        self.arms = self.n_arms = self.num_arms = self.nbArms = self.K = self.k = arms
        self.rounds, self.reward_of = rounds, reward
        self.horizon = self.T = rounds if horizon is None else horizon
        self.pulled: list[int] = []
        self._round_ends, self._ended = round_ends, 0
        self.raised: BaseException | None = None

    @classmethod
    def without_rewards(cls, arms: int, rounds: int) -> Environment:
        """Return an environment that pays nothing, for a bandit that is not known to play by itself."""
        return cls(arms, rounds, _pays_nothing)

    def pull(self, arm: Any) -> float:
        """Return the arm's reward in the next round.

        Raises
        ------
        WrongArm
            If there is no such arm.
        _GameOver
            After the last round.
        """
        number = len(self.pulled)
        self.end_round()
        if number == self.rounds:
            raise _GameOver
        chosen = arm_of(arm, self.arms, number, "the bandit")
        self.pulled.append(chosen)
        return self.reward_of(number, chosen)

    def end_round(self) -> None:
        """Report the end of the last round played, unless it was reported."""
        if self._ended < len(self.pulled):
            self._ended = len(self.pulled)
            self._round_ends(self._ended - 1)

    @functools.cached_property
    def pointer(self) -> Any:
        """``double pull(long arm)`` as a C function, for bandits with a compiled loop.

        Compiled code cannot be stopped from within: after the last round it is paid 0, and its later plays are not part
        of the run. An exception of `pull` is raised once the play is over.
        """
        return _PULL(self._pulled_from_c)

    def _pulled_from_c(self, arm: int) -> float:
        if self.raised is None:
            try:
                return float(self.pull(arm))
            except BaseException as error:  # nothing may pass through C
                self.raised = error
        return 0.0

    def raise_from_c(self) -> None:
        """Raise the exception that `pull` raised when it was called from C, if any."""
        if self.raised is not None:
            raise self.raised

    pull_arm = step = draw = play = sample = reward = get_reward = generate_reward = __call__ = pull


def play_alone(play: _SelfPlay, bandit: Any, environment: Environment, *, stops: bool) -> list[int]:
    """Let a bandit play in its environment until the environment ends it, or until it stops by itself if it `stops`.

    The method of one that does not stop is called again as long as it pulls arms: some play one round a call, some all
    of them.

    Returns
    -------
    list of int
        The arms it pulled; then the arm that one which stops returned, if it did.

    Raises
    ------
    BanditError
        If it stops, and should not; a `WrongArm` if it returns a value that is no arm.
    """
    run, given = _play_call(play, bandit, environment)
    pulled, returned = environment.pulled, None
    try:
        while stops or len(pulled) < environment.rounds:
            before = len(pulled)
            returned = run(*given)
            environment.raise_from_c()
            if stops:
                break
            if len(pulled) == before:
                raise BanditError(
                    f"play = {getattr(play, '__name__', play)!r}: pulled {before} of {environment.rounds} arms of its "
                    "environment; must go on until the environment stops it; give stops=True if it stops by itself, as "
                    "best-arm identification does"
                )
    except _GameOver:
        returned = None
    if isinstance(returned, tuple) and returned:
        returned = returned[-1]
    if not stops or returned is None:
        return pulled
    return [
        *pulled,
        arm_of(returned, environment.arms, len(pulled), play if isinstance(play, str) else "play"),
    ]


def _play_call(
    play: _SelfPlay, bandit: Any, environment: Environment
) -> tuple[Callable[..., Any], list[Any]]:
    """Return the function that makes a bandit play by itself, and its arguments: the rounds, or the environment."""
    if not isinstance(play, str):
        return play, [bandit]
    run = method_of(bandit, "play", play)
    values: list[Any] = []
    for each in required(named_parameters(run)):
        role = known_role(each.name)
        if role == "environment":
            values.append(environment)
        elif role == "number of rounds" or plain_name(each.name) in _LENGTH:
            values.append(environment.horizon)
        else:
            raise BanditError(f"play = {play!r} requires {each.name!r}: give play=lambda bandit: ...")
    return run, values
