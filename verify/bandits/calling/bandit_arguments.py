"""What the arguments of another's method are: the arm, its reward, the round; told by the names that are in use.

``update(arm, reward)`` is called as it is. ``update(reward, action)``, ``update(t, arm, r)`` and
``step(last_reward, last_arm)`` get the same things where their names say, so that an arm is never taken for a reward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["arm", "reward", "round", "arms", "context"]

_NAMES: dict[Role, frozenset[str]] = {
    "round": frozenset({"t", "round", "rnd", "step", "time", "turn", "trial", "iteration", "timestep"}),
    "arms": frozenset({"arms", "armids", "actions", "armlist", "availablearms", "candidates"}),
    "reward": frozenset(
        {
            "reward",
            "r",
            "rew",
            "payoff",
            "feedback",
            "outcome",
            "value",
            "val",
            "rwd",
            "gain",
            "observation",
            "obs",
            "loss",
            "losses",
            "click",
            "y",
            "score",
        }
    ),
    "context": frozenset(
        {"context", "contexts", "x", "features", "feature", "featurevector", "state", "ctx"}
    ),
    "arm": frozenset(
        {
            "arm",
            "action",
            "a",
            "i",
            "k",
            "j",
            "idx",
            "index",
            "choice",
            "item",
            "pulled",
            "played",
            "chosen",
            "decision",
            "decisions",
        }
    ),
}
_ARM_WORDS, _ARM_TAILS = ("arm", "action"), ("", "id", "idx", "index", "ix", "number", "i")


class ArgumentsError(ValueError):
    """A method requires an argument that nothing is known of."""


@dataclass(frozen=True)
class Arguments:
    """What a method's arguments are, by position and by name."""

    positional: tuple[Role, ...]
    named: tuple[tuple[str, Role], ...] = ()

    @property
    def roles(self) -> tuple[Role, ...]:
        """All of them."""
        return (*self.positional, *(role for _, role in self.named))


def role_of(name: str) -> Role | None:
    """Return what an argument of this name is, None if that is not known."""
    plain = name.lower().replace("_", "")
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
    """Return a callable's named parameters; none if it does not say."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def arguments_of(
    function: Callable[..., Any], offered: Sequence[Role], otherwise: Sequence[Role]
) -> Arguments:
    """Say what to call a method with.

    Parameters
    ----------
    function
        The method.
    offered
        What there is to give.
    otherwise
        What required arguments are, in this order, if their names do not say; and what a method gets that does not
        name its arguments at all.

    Raises
    ------
    ArgumentsError
        If it requires something else.
    """
    parameters = named_parameters(function)
    if not parameters:
        variadic = _takes_any(function)
        return Arguments(tuple(otherwise) if variadic else ())
    roles: dict[str, Role] = {}
    for each in parameters:
        role = role_of(each.name)
        required = each.default is each.empty
        # An optional argument is given what its name says without doubt; `k=1` may be anything.
        certain = required or role == "round" or len(each.name) > 2
        if role is not None and role in offered and role not in roles.values() and certain:
            roles[each.name] = role
    left = [role for role in otherwise if role not in roles.values()]
    for each in parameters:
        if each.default is each.empty and each.name not in roles:
            elsewhere = (
                role_of(each.name) is not None and len(each.name) > 1
            )  # known, and there is none to give
            if elsewhere or not left:
                raise ArgumentsError(_unknown(each.name, offered))
            roles[each.name] = left.pop(0)
    positional: list[Role] = []
    named: list[tuple[str, Role]] = []
    for each in parameters:
        if each.name not in roles:
            continue
        before = parameters[: parameters.index(each)]
        in_order = each.kind is not each.KEYWORD_ONLY and all(known.name in roles for known in before)
        if in_order:
            positional.append(roles[each.name])
        else:
            named.append((each.name, roles[each.name]))
    if _takes_any(function) and not named:  # update(arm_id, *rewards)
        positional += [role for role in otherwise if role not in positional]
    return Arguments(tuple(positional), tuple(named))


def _unknown(name: str, offered: Sequence[Role]) -> str:
    if role_of(name) == "context":
        return f"requires {name!r}: give contexts=..., an array with a row for each round"
    return f"requires {name!r}, and all there is to give is the {', the '.join(offered)}"


def _takes_any(function: Callable[..., Any]) -> bool:
    """Whether a callable takes any number of arguments, or does not say which."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(each.kind is each.VAR_POSITIONAL for each in parameters)
