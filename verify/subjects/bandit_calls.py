"""How a bandit class of others is called: which generator it is given, its methods, and what counts as an arm."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_GENERATORS = frozenset({"rng", "generator", "random_generator", "prng", "np_random", "np_rng"})
_STATES = frozenset({"random_state", "randomstate"})
_SEEDS = frozenset({"seed", "random_seed", "rng_seed"})
_ROUNDS = frozenset({"t", "round", "rnd", "step", "time", "time_step", "timestep", "turn", "trial"})


class BanditError(ValueError):
    """A bandit cannot be called as it was said."""


class WrongArm(BanditError):
    """What a bandit returned is no arm."""


def maker(make: Callable[..., Any]) -> Callable[[np.random.Generator], Any]:
    """Return what makes a fresh bandit from a generator.

    A parameter with a name such as ``rng`` is given the Generator, ``random_state`` a NumPy RandomState and ``seed`` a
    whole number, both drawn from it; with none of these, one required positional parameter is given the Generator.
    Parameters that have a default are left alone otherwise.

    Raises
    ------
    BanditError
        If more than one parameter is required.
    """
    parameters = _parameters(make)
    given = next((each for each in parameters if each.name.lower() in _GENERATORS | _STATES | _SEEDS), None)
    required = [each for each in parameters if each.default is each.empty]
    given = given or next((each for each in required if each.kind is not each.KEYWORD_ONLY), None)
    others = [each.name for each in required if each is not given]
    if others:
        raise BanditError(
            f"make = {getattr(make, '__qualname__', make)}: must be called with at most one generator, but requires "
            f"{', '.join(others)} too; give make=lambda rng: ... that fills them in"
        )
    if given is None:
        return lambda rng: make()
    drawn, name = _drawn_for(given.name.lower()), given.name
    if given.kind is given.POSITIONAL_ONLY or (
        given is parameters[0] and given.kind is not given.KEYWORD_ONLY
    ):
        return lambda rng: make(drawn(rng))
    return lambda rng: make(**{name: drawn(rng)})


def _drawn_for(name: str) -> Callable[[np.random.Generator], Any]:
    """Return what a parameter of this name is given."""
    if name in _SEEDS:
        return lambda rng: int(rng.integers(2**32))
    if name in _STATES:
        return lambda rng: np.random.RandomState(int(rng.integers(2**32)))
    return lambda rng: rng


def method_of(bandit: Any, parameter: str, name: str) -> Callable[..., Any]:
    """Return a bandit's method.

    Raises
    ------
    BanditError
        If it has none of this name.
    """
    method = getattr(bandit, name, None)
    if not callable(method):
        known = [each for each in dir(type(bandit)) if not each.startswith("_")]
        raise BanditError(
            f"{parameter} = {name!r}: must name a method of {type(bandit).__qualname__}, which has "
            f"{', '.join(known) if known else 'none'}"
        )
    found: Callable[..., Any] = method
    return found


def takes_round(function: Callable[..., Any]) -> bool:
    """Whether a method must be given an argument, or has one named as a round."""
    return any(each.default is each.empty or each.name.lower() in _ROUNDS for each in _parameters(function))


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


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return a callable's named parameters; none if it does not say."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    return [each for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
