"""How a bandit class of others is made: what its constructor is given; its methods, and what counts as an arm."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from verify.subjects.bandit_arguments import named_parameters

_GENERATORS = frozenset({"rng", "generator", "random_generator", "prng", "np_random", "np_rng"})
_STATES = frozenset({"random_state", "randomstate"})
_SEEDS = frozenset({"seed", "random_seed", "rng_seed"})
_ARMS = frozenset(
    {"arms", "narms", "numarms", "nbarms", "numberofarms", "k", "nactions", "numactions", "nbactions"}
)
_ROUNDS = frozenset({"rounds", "nrounds", "numrounds", "horizon", "t", "timehorizon", "nsteps", "numsteps"})
_NUMBERS = frozenset(
    {"epsilon", "eps", "delta", "alpha", "beta", "gamma", "sigma", "scale", "c"}
)  # no generator
_ENVIRONMENTS = frozenset({"env", "environment", "bandit", "bandits", "machine", "mab", "casino"})


class BanditError(ValueError):
    """A bandit cannot be called as it was said."""


class WrongArm(BanditError):
    """What a bandit returned is no arm."""


def maker(make: Callable[..., Any], arms: int, rounds: int) -> Callable[[np.random.Generator, Any], Any]:
    """Return what makes a fresh bandit from a generator and an environment.

    A parameter with a name such as ``rng`` is given the Generator, ``random_state`` a NumPy RandomState and ``seed`` a
    whole number, both drawn from it; required ones named as ``n_arms``, ``horizon`` or ``env`` are given the number of
    arms, of rounds, or the environment. Where nothing is known by its name, the first required positional parameter is
    given the Generator. Parameters that have a default are left alone otherwise.

    Raises
    ------
    BanditError
        If another parameter is required.
    """
    parameters = named_parameters(make)
    required = [each for each in parameters if each.default is each.empty]
    given: dict[str, Callable[[np.random.Generator, Any], Any]] = {}
    for each in parameters:
        if each.name.lower() in _GENERATORS | _STATES | _SEEDS and not given:
            given[each.name] = _drawn_for(each.name.lower())
    for each in required:
        known = _known(each.name, arms, rounds)
        if each.name not in given and known is not None:
            given[each.name] = known
    others = [each for each in required if each.name not in given]
    first = others[0] if others and not given else None
    if first and first.kind is not first.KEYWORD_ONLY and first.name.lower() not in _NUMBERS:
        given[others.pop(0).name] = _drawn_for("")
    if others:
        raise BanditError(
            f"make = {getattr(make, '__qualname__', make)}: must be called with a generator, the numbers of arms and "
            f"rounds and an environment at most, but requires {', '.join(each.name for each in others)} too; give "
            "make=lambda rng: ... that fills them in"
        )
    ordered = [each for each in parameters if each.name in given]
    leading = [each for each, first in zip(ordered, parameters, strict=False) if each is first]
    leading = [each for each in leading if each.kind is not each.KEYWORD_ONLY]
    by_position = [given[each.name] for each in leading]
    by_name = {each.name: given[each.name] for each in ordered[len(leading) :]}

    def made(rng: np.random.Generator, environment: Any) -> Any:
        return make(
            *[value(rng, environment) for value in by_position],
            **{name: value(rng, environment) for name, value in by_name.items()},
        )

    return made


def _known(name: str, arms: int, rounds: int) -> Callable[[np.random.Generator, Any], Any] | None:
    """Return what a required parameter of this name is given, None if nothing is."""
    plain = name.lower().replace("_", "")
    if plain in _ENVIRONMENTS:
        return lambda rng, environment: environment
    if plain in _ARMS:
        return lambda rng, environment: arms
    if plain in _ROUNDS:
        return lambda rng, environment: rounds
    return None


def _drawn_for(name: str) -> Callable[[np.random.Generator, Any], Any]:
    """Return what a parameter of this name is given."""
    if name in _SEEDS:
        return lambda rng, environment: int(rng.integers(2**32))
    if name in _STATES:
        return lambda rng, environment: np.random.RandomState(int(rng.integers(2**32)))
    return lambda rng, environment: rng


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
    """Return what a bandit returned as the number of an arm.

    Parameters
    ----------
    returned
        A whole number, of Python or NumPy; as a float, too.
    arms
        How many arms there are.
    number
        The round, counted from 0.
    name
        Of what returned it.

    Raises
    ------
    WrongArm
        If it is no whole number from 0 to `arms` - 1.
    """
    arm = returned
    if type(arm) is not int:
        arm = _whole(returned)
    if arm is None or not 0 <= arm < arms:
        raise WrongArm(
            f"{name} returned {_short(returned)} in round {number + 1}: must be a whole number from 0 to {arms - 1}"
        )
    return int(arm)


def _whole(value: Any) -> int | None:
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
