"""Checks of an accountant's arguments."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from accountant.budget import Budget
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.gates.random_streams import RandomStream, stream_generator
from accountant.plans.plan import Plan, PlannedComposition
from accountant.trust import Trust
from mechanisms import (
    Assumption,
    AssumptionKind,
    NoiseSource,
    NumpyNoise,
    OpenDPNoise,
    Randomness,
    noise_source,
)
from mechanisms.parameters import ParameterError, quoted

_THEOREM = (
    "charge",
    "check",
    "fits",
    "guarantee",
    "remaining_spend",
    "amount",
    "zero_spend",
)  # the members that accounts use
_DRAWS = ("laplace", "gaussian", "randomized_response")  # the methods of a noise source


def checked_budget(budget: object) -> Budget:
    """Return the budget; raise `ValueError` unless it is a `Budget`."""
    if not isinstance(budget, Budget):
        raise ParameterError(f"budget = {quoted(budget)}: must be a Budget, such as Budget(epsilon=1.0)")
    return budget


def checked_theorem(composition: object, plan: object) -> Composition:
    """Return the composition theorem: the one given, that of the plan, or basic composition.

    Raises
    ------
    ParameterError
        If both are given, the composition is no instance of a theorem, or the plan no `Plan`.
    """
    if plan is not None:
        if composition is not None:
            raise ParameterError("give a composition or a plan, not both: a plan has its own theorem")
        if not isinstance(plan, Plan):
            raise ParameterError(
                f"plan = {quoted(plan)}: must be a Plan, such as Plan((PlanStep(mechanism, count=3),))"
            )
        return PlannedComposition(plan)
    if composition is None:
        return BasicComposition()
    if isinstance(composition, type) or not all(hasattr(composition, name) for name in _THEOREM):
        raise ParameterError(
            f"composition = {quoted(composition)}: must be a composition theorem, such as GaussianComposition() "
            "(an instance, not the class)"
        )
    return cast(Composition, composition)


def checked_trust(trust: object) -> Trust:
    """Return the trust model; raise `ValueError` unless it is a `Trust`: its name would enforce nothing."""
    if not isinstance(trust, Trust):
        raise ParameterError(f"trust = {quoted(trust)}: must be Trust.CENTRAL, Trust.LOCAL or Trust.SHUFFLE")
    return trust


def checked_noise(noise: Any, *, strict: bool = False) -> NoiseSource:
    """Return the noise source: OpenDP's for None, NumPy's from a generator.

    A strict accountant takes a secure one only: the seed of a generator determines the noise, and the digits of
    floating-point noise may reveal the value.

    Raises
    ------
    ParameterError
        If `noise` is neither a noise source nor a generator: a release would be charged and then fail; or if it is to
        be secure and is not.
    """
    if noise is None:
        return OpenDPNoise()
    known = all(callable(getattr(noise, name, None)) for name in _DRAWS)
    if isinstance(noise, type) or not (known or isinstance(noise, Randomness)):
        raise ParameterError(
            f"noise = {quoted(noise)}: must be a noise source, a numpy.random.Generator such as "
            "numpy.random.default_rng(), or None for OpenDP's samplers"
        )
    source = noise_source(noise)
    if strict and source.secure is not True:
        raise ParameterError(
            f"noise = {quoted(noise)}: strict=True needs noise that may be shown to an adversary, and {source.name} is "
            "for tests and simulation; leave noise out for OpenDP's samplers"
        )
    if type(source) is NumpyNoise:  # a source of the accountant's own: the caller's may be patched later
        return NumpyNoise(source._randomness)
    return source


def seed_assumptions(noise: NoiseSource) -> tuple[Assumption, ...]:
    """Return the assumption on the seed of noise from a NumPy generator; none for another source.

    A generator does not show whether it was seeded, and its holders know its state.
    """
    if type(noise) is not NumpyNoise:
        return ()
    message = (
        f"the seed of the noise generator ({noise.name}) is secret and used once: an adversary that draws the same "
        "noise subtracts it"
    )
    return (Assumption(AssumptionKind.SEEDED, message),)


def checked_flag(name: str, value: object) -> bool:
    """Return the flag; raise `ValueError` unless it is True or False."""
    if not isinstance(value, bool):
        raise ParameterError(f"{name} = {quoted(value)}: must be True or False")
    return value


def checked_generator(seed: Any) -> np.random.Generator:
    """Return a generator of this seed; raise `ValueError` if NumPy takes no such seed.

    It is not ``default_rng(seed)``: noise from that, of the same seed, would be drawn again in public.
    """
    try:
        return stream_generator(seed, RandomStream.ACCOUNTANT_DRAWS)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"seed = {quoted(seed)}: must be None or a whole number of at least 0 ({error})"
        ) from None
