"""The construction of bandits of foreign classes: the constructor's arguments, and a call before the first round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verify.bandits.calling.bandit_calls import (
    Arguments,
    BanditError,
    Role,
    named_parameters,
    plain_name,
    required,
)

# By the name in lower case: the first parameter of such a name is given the randomness, even if it has a default.
_DRAWN: dict[Role, frozenset[str]] = {
    "generator": frozenset({"rng", "generator", "random_generator", "prng", "np_random", "np_rng"}),
    "random state": frozenset({"random_state", "randomstate"}),
    "seed": frozenset({"seed", "random_seed", "rng_seed"}),
}
# By the name without underscores: required parameters.
_KNOWN: dict[Role, frozenset[str]] = {
    "environment": frozenset({"env", "environment", "bandit", "bandits", "machine", "mab", "casino"}),
    "arms": frozenset({"arms", "actions", "armlist", "armids"}),  # lists of them, or their number
    "number of arms": frozenset({
        "narms", "numarms", "nbarms", "numberofarms", "k", "nactions", "numactions", "nbactions",
    }),
    "number of rounds": frozenset({
        "rounds", "nrounds", "numrounds", "horizon", "t", "timehorizon", "nsteps", "numsteps",
    }),
}  # fmt: skip
# Names of numbers, which are no generators.
_NUMBERS = frozenset({
    "epsilon", "eps", "delta", "alpha", "beta", "gamma", "sigma", "scale", "c",
})  # fmt: skip
_STARTS = ("startGame", "start_game", "initialize")  # must be called before the first round


class MissingArguments(BanditError):
    """The constructor of a bandit requires arguments with names of unknown meaning.

    Parameters
    ----------
    make
        The constructor.
    known
        Required arguments that are known numbers, by their names.
    missing
        The names of the others.
    claim
        Numbers of the claim by name, for the arguments of these names.
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


class Maker:
    """Makes fresh bandits, each from a generator and an environment.

    A parameter with a name such as ``rng`` is given the Generator, ``random_state`` a NumPy RandomState and ``seed`` a
    whole number, both drawn from it; required ones named as ``n_arms``, ``horizon`` or ``env`` are given the number of
    arms, of rounds, or the environment; one named ``arms`` or ``actions`` the list of them, if it is annotated as one
    or takes no number. If no name is known, the first required positional parameter is given the Generator. Other
    parameters that have a default keep it.

    Parameters
    ----------
    make
        The class, or a function that makes a bandit.
    arms, rounds
        Their numbers.

    Raises
    ------
    MissingArguments
        If another parameter is required.
    """

    def __init__(self, make: Callable[..., Any], arms: int, rounds: int) -> None:
        self._make = make
        self._numbers: dict[Role, int] = {"arms": arms, "number of arms": arms, "number of rounds": rounds}
        parameters = named_parameters(make)
        needed = required(parameters)
        roles: dict[str, Role] = {}
        for each in parameters:
            drawn = _role_named(each.name.lower(), _DRAWN)
            if drawn is not None and not roles:
                roles[each.name] = drawn
        for each in needed:
            known = known_role(each.name)
            if each.name not in roles and known is not None:
                roles[each.name] = known
        others = [each for each in needed if each.name not in roles]
        first = others[0] if others and not roles else None
        if first and first.kind is not first.KEYWORD_ONLY and first.name.lower() not in _NUMBERS:
            roles[others.pop(0).name] = "generator"
        if others:
            numbers = {name: self._numbers[role] for name, role in roles.items() if role in self._numbers}
            raise MissingArguments(make, numbers, [each.name for each in others])
        self._arguments, self._roles = Arguments.from_parameters(parameters, roles), frozenset(roles.values())
        self._listed = any(
            word in str(each.annotation).lower()
            for each in needed
            for word in ("list", "sequence", "iterable", "tuple")
            if roles[each.name] == "arms"
        )

    def __call__(self, rng: np.random.Generator, environment: Any) -> Any:
        """Return a fresh bandit."""
        try:
            return self._make_bandit(rng, environment)
        except TypeError as error:
            no_number = "'int' object is not" in str(error) or "type 'int' has no len" in str(error)
            if self._listed or "arms" not in self._roles or not no_number:
                raise
        self._listed = True
        return self._make_bandit(rng, environment)

    def _make_bandit(self, rng: np.random.Generator, environment: Any) -> Any:
        values: dict[Role, Any] = {**self._numbers, "environment": environment, "generator": rng}
        if self._listed:
            values["arms"] = list(range(self._numbers["arms"]))
        if "seed" in self._roles:
            values["seed"] = int(rng.integers(2**32))
        if "random state" in self._roles:
            values["random state"] = np.random.RandomState(int(rng.integers(2**32)))
        return self._arguments.call(self._make, values)

    def starter(self, made: Any) -> Callable[[Any], object] | None:
        """Return the call that a bandit's class requires once before the first round, None if it has no such method.

        That is a method of a usual name, if it requires no more than the numbers of arms and rounds.
        """
        for name in _STARTS:
            method = getattr(made, name, None)
            if callable(method):
                roles = [known_role(each.name) for each in required(named_parameters(method))]
                given = [self._numbers[role] for role in roles if role in self._numbers]
                if len(given) == len(roles):  # there is no environment yet
                    return lambda bandit: getattr(bandit, name)(*given)
        return None


def known_role(name: str) -> Role | None:
    """Return the role of a required parameter of this name if its value is known, None otherwise."""
    return _role_named(plain_name(name), _KNOWN)


def _role_named(name: str, names: Mapping[Role, frozenset[str]]) -> Role | None:
    return next((role for role, those in names.items() if name in those), None)
