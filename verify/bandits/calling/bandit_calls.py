"""Calls of foreign methods: their arguments (the arm, its reward, the round), by names in use, and the returned arm.

``update(arm, reward)`` is called as it is. ``update(reward, action)``, ``update(t, arm, r)`` and
``step(last_reward, last_arm)`` get the same things by the names of their parameters, so that an arm is never taken for
a reward.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mechanisms.parameters import DPWitnessError

Role = Literal[
    "arm", "reward", "round", "arms", "context",
    "number of arms", "number of rounds", "environment", "generator", "random state", "seed",
]  # fmt: skip
"""Roles of arguments: of the methods of every round, of constructors, and of methods that play by themselves."""

_NAMES: dict[Role, frozenset[str]] = {
    "round": frozenset({"t", "round", "rnd", "step", "time", "turn", "trial", "iteration", "timestep"}),
    "arms": frozenset({"arms", "armids", "actions", "armlist", "availablearms", "candidates"}),
    "reward": frozenset({
        "reward", "r", "rew", "payoff", "feedback", "outcome", "value", "val", "rwd", "gain",
        "observation", "obs", "loss", "losses", "click", "y", "score",
    }),
    "context": frozenset({
        "context", "contexts", "x", "features", "feature", "featurevector", "state", "ctx",
    }),
    "arm": frozenset({
        "arm", "action", "a", "i", "k", "j", "idx", "index", "choice", "item", "pulled", "played",
        "chosen", "decision", "decisions",
    }),
}  # fmt: skip
# Other names of an arm end in one of these words and one of these tails, such as ``chosen_arm_id``.
_ARM_WORDS = ("arm", "action")
_ARM_TAILS = ("", "id", "idx", "index", "ix", "number", "i")


class BanditError(DPWitnessError, ValueError):
    """A bandit cannot be called in the given way."""


class WrongArm(BanditError):
    """A bandit returned a value that is no arm."""


class ArgumentsError(DPWitnessError, ValueError):
    """A method requires an argument of unknown meaning."""


@dataclass(frozen=True)
class Arguments:
    """The roles of the arguments of a method call, by position and by name."""

    positional: tuple[Role, ...]
    named: tuple[tuple[str, Role], ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """All of them."""
        return (*self.positional, *(role for _, role in self.named))

    @classmethod
    def from_parameters(cls, parameters: Sequence[inspect.Parameter], roles: Mapping[str, Role]) -> Arguments:
        """Give parameters their roles by position, as far as those before them have some, and else by name."""
        known = [each for each in parameters if each.name in roles]
        leading = [
            each
            for each, first in zip(known, parameters, strict=False)
            if each is first and each.kind is not each.KEYWORD_ONLY
        ]
        return cls(
            tuple(roles[each.name] for each in leading),
            tuple((each.name, roles[each.name]) for each in known[len(leading) :]),
        )

    def call(self, function: Callable[..., Any], values: Mapping[Role, Any]) -> Any:
        """Call a function with the values of its arguments."""
        return function(
            *[values[role] for role in self.positional], **{name: values[role] for name, role in self.named}
        )


def plain_name(name: str) -> str:
    """Return a name without underscores and capital letters."""
    return name.lower().replace("_", "")


def role_of(name: str) -> Role | None:
    """Return the role of an argument of this name, None if the name is unknown."""
    plain = plain_name(name)
    for role, names in _NAMES.items():
        if plain in names:
            return role
    if plain.endswith(("reward", "loss")) or plain.startswith("reward"):
        return "reward"
    if plain.endswith(("featurevector", "context")):
        return "context"
    if any(plain.endswith(word + tail) for word in _ARM_WORDS for tail in _ARM_TAILS):
        return "arm"
    return None


def named_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a callable's named parameters; none if its signature is unknown."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def required(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters that have no default."""
    return [each for each in parameters if each.default is each.empty]


def arguments_of(
    function: Callable[..., Any], offered: Sequence[Role], otherwise: Sequence[Role]
) -> Arguments:
    """Return the arguments with which to call a method.

    Parameters
    ----------
    function
        The method.
    offered
        The roles of available values.
    otherwise
        The roles of required arguments, in this order, if their names are unknown; and those passed to a method without
        named arguments.

    Raises
    ------
    ArgumentsError
        If it requires something else.
    """
    parameters = named_parameters(function)
    if not parameters:
        return Arguments(tuple(otherwise) if _takes_any(function) else ())
    needed = required(parameters)
    roles: dict[str, Role] = {}
    for each in parameters:
        role = role_of(each.name)
        # An optional argument is given a value only if its name is clear; `k=1` may be anything.
        certain = each in needed or role == "round" or len(each.name) > 2
        if role is not None and role in offered and role not in roles.values() and certain:
            roles[each.name] = role
    left = [role for role in otherwise if role not in roles.values()]
    for each in needed:
        if each.name not in roles:
            # A name of a role that is not available gets no other role.
            elsewhere = role_of(each.name) is not None and len(each.name) > 1
            if elsewhere or not left:
                raise ArgumentsError(_unknown(each.name, offered))
            roles[each.name] = left.pop(0)
    found = Arguments.from_parameters(parameters, roles)
    if _takes_any(function) and not found.named:  # update(arm_id, *rewards)
        more = (role for role in otherwise if role not in found.positional)
        return Arguments((*found.positional, *more))
    return found


def _unknown(name: str, offered: Sequence[Role]) -> str:
    if role_of(name) == "context":
        return f"requires {name!r}: give contexts=..., an array with a row for each round"
    return f"requires {name!r}; available are the {', the '.join(offered)}"


def _takes_any(function: Callable[..., Any]) -> bool:
    """Return True if a callable takes any number of arguments, or its signature is unknown."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(each.kind is each.VAR_POSITIONAL for each in parameters)


def method_of(bandit: Any, parameter: str, name: str) -> Callable[..., Any]:
    """Return a bandit's method.

    Raises
    ------
    BanditError
        If it has none of this name.
    """
    method = getattr(bandit, name, None)
    if not callable(method):
        raise BanditError(
            f"{parameter} = {name!r}: must name a method of {type(bandit).__qualname__}, which has "
            f"{', '.join(methods_of(bandit)) or 'none'}"
        )
    found: Callable[..., Any] = method
    return found


def methods_of(bandit: Any) -> list[str]:
    """Return the names of a bandit's methods and other public attributes of its class."""
    return [each for each in dir(type(bandit)) if not each.startswith("_")]


def arm_of(returned: Any, arms: int, number: int, name: str) -> int:
    """Return the value that a bandit returned as the number of an arm.

    Parameters
    ----------
    returned
        A whole number, of Python or NumPy; as a float, too.
    arms
        Number of arms.
    number
        The round, counted from 0.
    name
        Name of the function that returned it.

    Raises
    ------
    WrongArm
        If it is no whole number from 0 to `arms` - 1.
    """
    arm = returned
    if type(arm) is not int:
        arm = _as_whole_number(returned)
    if arm is None or not 0 <= arm < arms:
        raise WrongArm(
            f"{name} returned {_short(returned)} in round {number + 1}: must be a whole number from 0 to {arms - 1}"
        )
    return int(arm)


def _as_whole_number(value: Any) -> int | None:
    """Return a value as a whole number, None if it is none."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, float | np.floating):
        return int(value) if float(value).is_integer() else None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}..."
