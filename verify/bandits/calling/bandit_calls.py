"""How a bandit class of others is made: what its constructor is given; its methods, and what counts as an arm."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verify.bandits.calling.bandit_arguments import named_parameters

_GENERATORS = frozenset({"rng", "generator", "random_generator", "prng", "np_random", "np_rng"})
_STATES = frozenset({"random_state", "randomstate"})
_SEEDS = frozenset({"seed", "random_seed", "rng_seed"})
_ARM_LISTS = frozenset({"arms", "actions", "armlist", "armids"})  # lists of them, or how many there are
_ARMS = _ARM_LISTS | {
    "narms",
    "numarms",
    "nbarms",
    "numberofarms",
    "k",
    "nactions",
    "numactions",
    "nbactions",
}
_ROUNDS = frozenset({"rounds", "nrounds", "numrounds", "horizon", "t", "timehorizon", "nsteps", "numsteps"})
_NUMBERS = frozenset(
    {"epsilon", "eps", "delta", "alpha", "beta", "gamma", "sigma", "scale", "c"}
)  # no generator
_ENVIRONMENTS = frozenset({"env", "environment", "bandit", "bandits", "machine", "mab", "casino"})


STARTS = ("startGame", "start_game", "initialize")
"""Names of methods that must be called before the first round."""


class BanditError(ValueError):
    """A bandit cannot be called as it was said."""


class WrongArm(BanditError):
    """What a bandit returned is no arm."""


class MissingArguments(BanditError):
    """What makes a bandit requires arguments that nothing is known of.

    Parameters
    ----------
    make
        What was called.
    known
        Required arguments that are numbers and known, by their names.
    missing
        The names of the others.
    claim
        Numbers of the claim by name, for those that a user may want to give.
    """

    def __init__(
        self,
        make: Callable[..., Any],
        known: Mapping[str, int],
        missing: Sequence[str],
        claim: Mapping[str, float] | None = None,
    ) -> None:
        self.make, self.known, self.missing = make, known, missing
        numbers = {} if claim is None else claim
        shown = [f"{name}={value}" for name, value in known.items()]
        for name in missing:
            plain = {"eps": "epsilon"}.get(name.lower(), name.lower())
            shown.append(f"{name}={numbers[plain]:g}" if plain in numbers else f"{name}=...")
        super().__init__(
            f"make = {getattr(make, '__qualname__', make)}: must be called with a generator, the numbers of arms and "
            f"rounds and an environment at most, but requires {', '.join(missing)} too; give a function that fills "
            f"them in: make=lambda: {getattr(make, '__name__', 'Bandit')}({', '.join(shown)})"
        )

    def with_claim(self, epsilon: float, delta: float) -> MissingArguments:
        """Return the same with the claim's numbers."""
        return MissingArguments(self.make, self.known, self.missing, {"epsilon": epsilon, "delta": delta})


def maker(make: Callable[..., Any], arms: int, rounds: int) -> Callable[[np.random.Generator, Any], Any]:
    """Return what makes a fresh bandit from a generator and an environment.

    A parameter with a name such as ``rng`` is given the Generator, ``random_state`` a NumPy RandomState and ``seed`` a
    whole number, both drawn from it; required ones named as ``n_arms``, ``horizon`` or ``env`` are given the number of
    arms, of rounds, or the environment; one named ``arms`` or ``actions`` the list of them, if it is annotated as one
    or takes no number. Where nothing is known by its name, the first required positional parameter is given the
    Generator. Parameters that have a default are left alone otherwise.

    Raises
    ------
    MissingArguments
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
        numbers = {
            each.name: arms if _plain(each.name) in _ARMS else rounds
            for each in required
            if _plain(each.name) in _ARMS | _ROUNDS
        }
        raise MissingArguments(make, numbers, [each.name for each in others])
    ordered = [each for each in parameters if each.name in given]
    leading = [each for each, first in zip(ordered, parameters, strict=False) if each is first]
    leading = [each for each in leading if each.kind is not each.KEYWORD_ONLY]
    by_position = [given[each.name] for each in leading]
    by_name = {each.name: given[each.name] for each in ordered[len(leading) :]}
    listed = {each.name: list(range(arms)) for each in required if _plain(each.name) in _ARM_LISTS}
    as_list = any(
        word in str(each.annotation).lower()
        for each in required
        for word in ("list", "sequence", "iterable", "tuple")
        if each.name in listed
    )

    def called(rng: np.random.Generator, environment: Any, lists: bool) -> Any:
        def value(name: str, of: Callable[[np.random.Generator, Any], Any]) -> Any:
            return list(listed[name]) if lists and name in listed else of(rng, environment)

        return make(
            *[value(each.name, of) for each, of in zip(leading, by_position, strict=True)],
            **{name: value(name, of) for name, of in by_name.items()},
        )

    def made(rng: np.random.Generator, environment: Any) -> Any:
        nonlocal as_list
        if as_list or not listed:
            return called(rng, environment, as_list)
        try:
            return called(rng, environment, False)
        except TypeError as error:
            if "'int' object is not" not in str(error) and "type 'int' has no len" not in str(error):
                raise
            as_list = True
            return called(rng, environment, True)

    return made


def starter(made: Any, arms: int, rounds: int) -> Callable[[Any], object] | None:
    """Return what a bandit's class wants to be called once before the first round, None if nothing of a usual name.

    That is `STARTS`, if it requires no more than the numbers of arms and rounds.
    """
    for name in STARTS:
        method = getattr(made, name, None)
        if not callable(method):
            continue
        required = [each for each in named_parameters(method) if each.default is each.empty]
        values = [_known(each.name, arms, rounds) for each in required]
        given = [value(np.random.default_rng(0), None) for value in values if value is not None]
        if len(given) == len(required) and None not in given:  # there is no environment yet
            return lambda bandit: getattr(bandit, name)(*given)
    return None


def _known(name: str, arms: int, rounds: int) -> Callable[[np.random.Generator, Any], Any] | None:
    """Return what a required parameter of this name is given, None if nothing is."""
    plain = _plain(name)
    if plain in _ENVIRONMENTS:
        return lambda rng, environment: environment
    if plain in _ARMS:
        return lambda rng, environment: arms
    if plain in _ROUNDS:
        return lambda rng, environment: rounds
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


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
