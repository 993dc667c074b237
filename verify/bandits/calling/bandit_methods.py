"""Round-by-round calls of foreign bandits: the methods that select an arm and receive its reward."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from verify.bandits.calling.bandit_calls import (
    Arguments,
    ArgumentsError,
    BanditError,
    Role,
    arguments_of,
    arm_of,
    method_of,
    methods_of,
    named_parameters,
    role_of,
)

Select = Callable[[int], int]
"""Function from the round (0, 1, ...) to the arm that is played."""
Update = Callable[[int, float], Any]
"""Function that receives the arm and its reward."""

# Names of methods that return an arm, the most usual first; of those that receive a reward; of these, those that take
# arrays, here of one entry each; and of those that receive the last arm's reward and return the next arm.
_SELECTS = (
    "select_arm", "choose_arm", "get_arm", "pick_arm", "next_arm", "pickAnArm", "select_action", "choose_action",
    "get_action", "pick_action", "sample_action", "next_action", "get_next_arm", "select_next_arm", "choose_next_arm",
    "selectArm", "chooseArm", "getArm", "nextArm", "selectAction", "chooseAction", "getAction", "decide_arm",
    "select", "choose", "choice", "act", "action", "actions", "recommend", "decide", "suggest", "ask", "pull", "play",
    "sample", "draw", "predict", "pick",
)  # fmt: skip
_UPDATES = (
    "update", "update_arm", "update_reward", "update_params", "learn", "observe", "observe_reward",
    "receive_reward", "getReward", "add_reward", "set_reward", "give_reward", "report_reward", "feedback",
    "receive_feedback", "give_feedback", "reward", "record", "partial_fit", "observe_loss", "receive_loss",
    "update_loss", "update_parameters", "updateParameters", "update_state", "update_model", "update_estimates",
    "update_values", "update_stats", "updateArm", "observeReward", "tell", "train",
)  # fmt: skip
_BATCHES = ("partial_fit",)
_STEPS = ("step", "act", "next", "choose", "select_arm")


@dataclass(frozen=True)
class _Call:
    """A method, or a function of the bandit first, with the arguments of its calls."""

    method: str | Callable[..., Any]
    arguments: Arguments

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.method if isinstance(self.method, str) else getattr(self.method, "__name__", "select")

    def bound(self, bandit: Any) -> Callable[..., Any]:
        """Return the function of its arguments that calls it."""
        if isinstance(self.method, str):
            found: Callable[..., Any] = getattr(bandit, self.method)
            return found
        return partial(self.method, bandit)


@dataclass(frozen=True)
class Calls:
    """The methods of a bandit class that are called in every round, with their arguments: one value for all bandits.

    Attributes
    ----------
    select, update
        The call that returns an arm, and the one that receives its reward.
    step
        A method that is both.
    """

    select: _Call | None = None
    update: _Call | None = None
    step: _Call | None = None

    @classmethod
    def from_bandit(
        cls,
        bandit: Any,
        *,
        select: str | Callable[[Any, int], Any] | None,
        update: str | Callable[[Any, int, float], Any] | None,
        step: str | None,
        contexts: bool,
    ) -> Calls:
        """Find the methods of a bandit; those that are not given are found by the usual names.

        Raises
        ------
        BanditError
            If it has no such method, or one requires an argument that is not available.
        """
        if step is None and select is None and update is None:
            step = _step_of(bandit)
        more: tuple[Role, ...] = ("context",) if contexts else ()
        told: tuple[Role, ...] = ("arm", "reward", "round", *more)
        if step is not None:
            return cls(step=_call_of(bandit, "step", step, told, ("reward", "arm")))
        asked: tuple[Role, ...] = ("round", "arms", *more)
        if select is None:
            select = _usual_method(bandit, "select", _SELECTS, asked, ())
        if update is None:
            update = _usual_method(bandit, "update", _UPDATES, told, ("arm", "reward"), but=select)
        return cls(
            _call_of(bandit, "select", select, asked, ("round",)),
            _call_of(bandit, "update", update, told, ("arm", "reward")),
        )

    def bound(self, bandit: Any, arms: int, contexts: Sequence[Any] | None = None) -> tuple[Select, Update]:
        """Return the functions that ask a bandit for an arm and pass it the reward; `contexts` has one a round."""
        if self.step is not None:
            return _stepper(bandit, self.step, arms, contexts)
        assert self.select is not None
        assert self.update is not None
        return _selector(bandit, self.select, arms, contexts), _updater(bandit, self.update, contexts)


def _step_of(bandit: Any) -> str | None:
    """Return the method that takes both the last arm and its reward, if no other method can take them."""
    if any(callable(getattr(bandit, name, None)) for name in ("update", "learn", "observe", "update_arm")):
        return None
    for name in _STEPS:
        method = getattr(bandit, name, None)
        if callable(method) and {"arm", "reward"} <= {
            role_of(each.name) for each in named_parameters(method)
        }:
            return name
    return None


def _usual_method(
    bandit: Any,
    parameter: str,
    names: tuple[str, ...],
    offered: tuple[Role, ...],
    otherwise: tuple[Role, ...],
    but: object = None,
) -> str:
    """Return the first method of a usual name that can be called with the available arguments."""
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


def _call_of(
    bandit: Any,
    parameter: str,
    name: str | Callable[..., Any],
    offered: tuple[Role, ...],
    otherwise: tuple[Role, ...],
) -> _Call:
    """Return a method with the arguments that it is given; a function of the user's own gets `otherwise`."""
    if not isinstance(name, str):
        return _Call(name, Arguments(otherwise))
    method = method_of(bandit, parameter, name)
    try:
        return _Call(name, arguments_of(method, offered, otherwise))
    except ArgumentsError as error:
        raise BanditError(
            f"{parameter} = {name!r} of {type(bandit).__qualname__} {error}; or give {parameter}=..., a function"
        ) from None


def _selector(bandit: Any, select: _Call, arms: int, contexts: Sequence[Any] | None) -> Select:
    name, arguments, method = select.name, select.arguments, select.bound(bandit)
    if not arguments.roles:
        return lambda number: arm_of(method(), arms, number, name)
    if arguments == Arguments(("round",)):
        return lambda number: arm_of(method(number), arms, number, name)
    every = list(range(arms))

    def select_arm(number: int) -> int:
        values: dict[Role, Any] = {
            "round": number,
            "arms": every,
            "context": None if contexts is None else contexts[number],
        }
        return arm_of(arguments.call(method, values), arms, number, name)

    return select_arm


def _updater(bandit: Any, update: _Call, contexts: Sequence[Any] | None) -> Update:
    arguments, method = update.arguments, update.bound(bandit)
    if update.method in _BATCHES:
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
        arguments.call(method, {"arm": arm, "reward": reward, "round": number, "context": context})

    return tell


def _stepper(bandit: Any, step: _Call, arms: int, contexts: Sequence[Any] | None) -> tuple[Select, Update]:
    name, arguments, method = step.name, step.arguments, step.bound(bandit)
    last: dict[Role, Any] = {"arm": None, "reward": None, "round": 0, "context": None}

    def select(number: int) -> int:
        last["round"], last["context"] = number, None if contexts is None else contexts[number]
        return arm_of(arguments.call(method, last), arms, number, name)

    def update(arm: int, reward: float) -> None:
        last["arm"], last["reward"] = arm, reward

    return select, update
