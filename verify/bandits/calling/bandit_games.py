"""How bandits of others are played: by their methods, round by round, or by themselves in an environment."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.bandits.calling.bandit_arguments import (
    Arguments,
    ArgumentsError,
    Role,
    arguments_of,
    named_parameters,
    role_of,
)
from verify.bandits.calling.bandit_calls import BanditError, arm_of, method_of, methods_of
from verify.bandits.calling.bandit_environment import Environment, GameOver

Select = Callable[[int], int]
"""From the round (0, 1, ...) to the arm that is played."""
Update = Callable[[int, float], Any]
"""Told the arm and its reward."""

SELECTS = (
    "select_arm", "choose_arm", "get_arm", "pick_arm", "next_arm", "pickAnArm", "select_action", "choose_action",
    "get_action", "pick_action", "sample_action", "next_action", "get_next_arm", "select_next_arm", "choose_next_arm",
    "selectArm", "chooseArm", "getArm", "nextArm", "selectAction", "chooseAction", "getAction", "decide_arm",
    "select", "choose", "choice", "act", "action", "actions", "recommend", "decide", "suggest", "ask", "pull", "play",
    "sample", "draw", "predict", "pick",
)  # fmt: skip
"""Names of methods that return an arm, the most usual first."""
UPDATES = (
    "update", "update_arm", "update_reward", "update_params", "learn", "observe", "observe_reward",
    "receive_reward", "getReward", "add_reward", "set_reward", "give_reward", "report_reward", "feedback",
    "receive_feedback", "give_feedback", "reward", "record", "partial_fit", "observe_loss", "receive_loss",
    "update_loss", "update_parameters", "updateParameters", "update_state", "update_model", "update_estimates",
    "update_values", "update_stats", "updateArm", "observeReward", "tell", "train",
)  # fmt: skip
"""Names of methods that are told a reward."""
BATCHES = ("partial_fit",)
"""Names of those that are told arrays, here of one entry each."""
STEPS = ("step", "act", "next", "choose", "select_arm")
"""Names of methods that are told the last arm's reward and return the next arm."""

_ENVIRONMENT = frozenset({"env", "environment", "bandit", "bandits", "mab", "machine"})
_LENGTH = frozenset(
    {"rounds", "nrounds", "numrounds", "steps", "nsteps", "numsteps", "horizon", "t", "n", "iterations"}
)


@dataclass(frozen=True)
class Calls:
    """Which methods of a bandit class are called, and with what; said once for all of its bandits.

    Attributes
    ----------
    select, update
        The method's name with its arguments, or a function of the bandit first.
    step
        A method that is both.
    play
        With what a bandit plays by itself: a method's name, or a function of the bandit.
    """

    select: tuple[str, Arguments] | Callable[[Any, int], Any] | None = None
    update: tuple[str, Arguments] | Callable[[Any, int, float], Any] | None = None
    step: tuple[str, Arguments] | None = None
    play: str | Callable[[Any], Any] | None = None


def calls_of(
    bandit: Any,
    *,
    select: str | Callable[[Any, int], Any] | None,
    update: str | Callable[[Any, int, float], Any] | None,
    step: str | None,
    play: str | Callable[[Any], Any] | None,
    contexts: bool = False,
) -> Calls:
    """Find out how a bandit is called; what is not said is found by the names that are in use.

    Raises
    ------
    BanditError
        If it has no such method, or one requires what nobody has.
    """
    if play is not None:
        if isinstance(play, str):
            method_of(bandit, "play", play)
        return Calls(play=play)
    if step is None and select is None and update is None:
        step = _step_of(bandit)
    more: tuple[Role, ...] = ("context",) if contexts else ()
    told: tuple[Role, ...] = ("arm", "reward", "round", *more)
    if step is not None:
        return Calls(step=(step, _arguments(bandit, "step", step, told, ("reward", "arm"))))
    asked: tuple[Role, ...] = ("round", "arms", *more)
    if select is None:
        select = _usual(bandit, "select", SELECTS, asked, ())
    if update is None:
        update = _usual(bandit, "update", UPDATES, told, ("arm", "reward"), but=select)
    return Calls(
        (select, _arguments(bandit, "select", select, asked, ("round",)))
        if isinstance(select, str)
        else select,
        (update, _arguments(bandit, "update", update, told, ("arm", "reward")))
        if isinstance(update, str)
        else update,
    )


def _step_of(bandit: Any) -> str | None:
    """Return the method that is told both the last arm and its reward, if no other could be told them."""
    if any(callable(getattr(bandit, name, None)) for name in ("update", "learn", "observe", "update_arm")):
        return None
    for name in STEPS:
        method = getattr(bandit, name, None)
        if callable(method) and {"arm", "reward"} <= {
            role_of(each.name) for each in named_parameters(method)
        }:
            return name
    return None


def _usual(
    bandit: Any,
    parameter: str,
    names: tuple[str, ...],
    offered: tuple[Role, ...],
    otherwise: tuple[Role, ...],
    but: object = None,
) -> str:
    """Return the first method of a usual name that can be called with what there is."""
    failed: ArgumentsError | None = None
    known = [name for name in names if name != but and callable(getattr(bandit, name, None))]
    for name in known:
        try:
            arguments_of(getattr(bandit, name), offered, otherwise)
        except ArgumentsError as error:
            failed = failed or error
        else:
            return name
    kind = type(bandit).__qualname__
    if failed is not None:
        raise BanditError(f"{parameter}: {kind}.{known[0]} {failed}; or give {parameter}=..., a function")
    raise BanditError(
        f"{parameter}: {kind} has no method of a usual name ({', '.join(names[:4])}, ...); it has "
        f"{', '.join(methods_of(bandit)) or 'none'}; give {parameter}=..., the name of its method or a function, or "
        "play=... if it plays by itself"
    )


def _arguments(
    bandit: Any, parameter: str, name: str, offered: tuple[Role, ...], otherwise: tuple[Role, ...]
) -> Arguments:
    method = method_of(bandit, parameter, name)
    try:
        return arguments_of(method, offered, otherwise)
    except ArgumentsError as error:
        raise BanditError(
            f"{parameter} = {name!r} of {type(bandit).__qualname__} {error}; or give {parameter}=..., a function"
        ) from None


def methods_for(
    calls: Calls, bandit: Any, arms: int, contexts: Sequence[Any] | None = None
) -> tuple[Select, Update]:
    """Return how one bandit is asked for an arm, and told its reward; `contexts` has one for each round."""
    if calls.step is not None:
        return _stepper(bandit, *calls.step, arms, contexts)
    assert calls.select is not None
    assert calls.update is not None
    return _selector(bandit, calls.select, arms, contexts), _updater(bandit, calls.update, contexts)


def play_alone(calls: Calls, bandit: Any, environment: Environment) -> list[int]:
    """Let a bandit play in its environment until the game is over; the arms it pulled.

    Its method is called again as long as it pulls arms: some play one round a call, some all of them.

    Raises
    ------
    BanditError
        If it stops before.
    """
    play = calls.play
    run, given = _played_with(play, bandit, environment)
    try:
        while len(environment.pulled) < environment.rounds:
            before = len(environment.pulled)
            run(*given)
            if len(environment.pulled) == before:
                raise BanditError(
                    f"play = {getattr(play, '__name__', play)!r}: pulled {before} of {environment.rounds} arms of its "
                    "environment; must go on until the environment stops it; give stops=True if it stops by itself, as "
                    "best-arm identification does"
                )
    except GameOver:
        pass
    return environment.pulled


def play_until_it_stops(calls: Calls, bandit: Any, environment: Environment) -> list[int]:
    """Let a bandit play in its environment until it stops by itself, or the game is over.

    Returns
    -------
    list of int
        The arms it pulled; then, if rounds are left, the arm it returned if it did, and for each other round the number
        of arms, which stands for none.

    Raises
    ------
    WrongArm
        If what it returns is no arm.
    """
    run, given = _played_with(calls.play, bandit, environment)
    found = environment.pulled
    try:
        returned = run(*given)
    except GameOver:
        return found
    left = environment.rounds - len(found)
    if isinstance(returned, tuple) and returned:
        returned = returned[-1]
    if left and returned is not None:
        name = calls.play if isinstance(calls.play, str) else "play"
        found = [*found, arm_of(returned, environment.arms, len(found), name)]
    return [*found, *[environment.arms] * (environment.rounds - len(found))]


def _played_with(
    play: str | Callable[[Any], Any] | None, bandit: Any, environment: Environment
) -> tuple[Callable[..., Any], list[Any]]:
    """Return what lets a bandit play by itself, and what it is called with."""
    if isinstance(play, str):
        run = method_of(bandit, "play", play)
        return run, _values_for(run, play, environment)
    assert play is not None
    return play, [bandit]


def _values_for(run: Callable[..., Any], name: str, environment: Environment) -> list[Any]:
    """Return what a method that plays by itself requires: the number of rounds, or the environment."""
    values: list[Any] = []
    for each in named_parameters(run):
        if each.default is not each.empty:
            continue
        plain = each.name.lower().replace("_", "")
        if plain in _ENVIRONMENT:
            values.append(environment)
        elif plain in _LENGTH:
            values.append(environment.horizon)
        else:
            raise BanditError(f"play = {name!r} requires {each.name!r}: give play=lambda bandit: ...")
    return values


def _selector(
    bandit: Any,
    select: tuple[str, Arguments] | Callable[[Any, int], Any],
    arms: int,
    contexts: Sequence[Any] | None,
) -> Select:
    if not isinstance(select, tuple):
        function, called = select, getattr(select, "__name__", "select")
        return lambda number: arm_of(function(bandit, number), arms, number, called)
    name, arguments = select
    method = getattr(bandit, name)
    if not arguments.roles:
        return lambda number: arm_of(method(), arms, number, name)
    if arguments == Arguments(("round",)):
        return lambda number: arm_of(method(number), arms, number, name)
    every = list(range(arms))

    def chosen(number: int) -> int:
        values: dict[Role, Any] = {
            "round": number,
            "arms": every,
            "context": None if contexts is None else contexts[number],
        }
        return arm_of(_called(method, arguments, values), arms, number, name)

    return chosen


def _updater(
    bandit: Any,
    update: tuple[str, Arguments] | Callable[[Any, int, float], Any],
    contexts: Sequence[Any] | None,
) -> Update:
    if not isinstance(update, tuple):
        function = update
        return lambda arm, reward: function(bandit, arm, reward)
    name, arguments = update
    method: Callable[..., Any] = getattr(bandit, name)
    if name in BATCHES:
        told = method

        def method(*values: Any, **named: Any) -> Any:
            each = {key: np.array([value]) for key, value in named.items()}
            return told(*[np.array([value]) for value in values], **each)

    if arguments == Arguments(("arm", "reward")):
        return method
    if arguments == Arguments(("reward", "arm")):
        return lambda arm, reward: method(reward, arm)
    if arguments == Arguments(("reward",)):
        return lambda arm, reward: method(reward)
    rounds = itertools.count()

    def tell(arm: int, reward: float) -> None:
        number = next(rounds)
        context = None if contexts is None else contexts[number]
        _called(method, arguments, {"arm": arm, "reward": reward, "round": number, "context": context})

    return tell


def _stepper(
    bandit: Any, name: str, arguments: Arguments, arms: int, contexts: Sequence[Any] | None
) -> tuple[Select, Update]:
    method: Callable[..., Any] = getattr(bandit, name)
    last: dict[Role, Any] = {"arm": None, "reward": None, "round": 0, "context": None}

    def select(number: int) -> int:
        last["round"], last["context"] = number, None if contexts is None else contexts[number]
        return arm_of(_called(method, arguments, last), arms, number, name)

    def update(arm: int, reward: float) -> None:
        last["arm"], last["reward"] = arm, reward

    return select, update


def _called(method: Callable[..., Any], arguments: Arguments, values: Mapping[Role, Any]) -> Any:
    return method(
        *[values[role] for role in arguments.positional],
        **{name: values[role] for name, role in arguments.named},
    )
