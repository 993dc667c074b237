"""Symbolic plans: the cost of a record as a formula, and parameter values at which it exceeds a claim.

Only the independent checker proves that it is nowhere above (it reads `accountant.proofs.plan_document`).

>>> import sympy as sp
>>> from accountant.plans.values import IntegerRange, RealAbove
>>> K, L, eps = sp.symbols("K L epsilon")
>>> values = SymbolDomain({eps: RealAbove(0), K: IntegerRange(1), L: IntegerRange(K)})
>>> plan = SymbolicPlan(values, {"one round": (SymbolicStep(SymbolicLaplace(K / eps), count=K),)})
>>> plan.costs()["one round"]
epsilon
>>> find_counterexample(plan, eps)
>>> print(find_counterexample(plan, K * eps / L))
one round pays epsilon = 1, more than 1/2, at epsilon = 1, K = 1, L = 2
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from accountant.plans.formulas import check_declared, formula, value_at
from accountant.plans.plan import Plan, PlanStep
from accountant.plans.values import SymbolDomain
from mechanisms import Gaussian, Laplace, Mechanism, RandomizedResponse, Sensitivity
from mechanisms.domains.sensitivity import UNIT
from mechanisms.numerics.rounding import down, square_root_up, up
from mechanisms.parameters import ParameterError


class _Release:
    """Base class of kinds of releases: the rules for their parameters."""

    ABOVE: ClassVar[Mapping[str, tuple[str, int]]] = {}
    """Parameters with their names in words, and the number that each must be above."""
    WHOLE: ClassVar[tuple[str, ...]] = ()
    """Parameters that must be integers."""

    @property
    def mu_squared(self) -> Any:
        """The cost in Gaussian differential privacy; None for no formula."""
        return None


_COORDINATES = {"coordinates": ("the number of coordinates", 0)}


@dataclass(frozen=True)
class SymbolicLaplace(_Release):
    """Laplace noise on one coordinate that a record moves by at most 1.

    Parameters
    ----------
    scale
        The scale of the noise.
    coordinates
        The number of coordinates of a released vector for which the noise is calibrated.
    """

    ABOVE: ClassVar = {"scale": ("the scale", 0), **_COORDINATES}
    WHOLE: ClassVar = ("coordinates",)

    scale: Any
    coordinates: Any = 1

    @property
    def epsilon(self) -> Any:
        """1 / scale."""
        return 1 / formula("scale", self.scale)

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its scale rounded up to a float, and the movement of one coordinate."""
        scale = up(_value(self.scale, point))
        size = int(_value(self.coordinates, point))
        return Laplace(scale=scale, sensitivity=Sensitivity.of_box([1.0] * size)), UNIT


@dataclass(frozen=True)
class SymbolicGaussian(_Release):
    """Gaussian noise on one coordinate that a record moves by at most 1.

    Parameters
    ----------
    variance
        The variance of the noise.
    coordinates
        The number of coordinates of a released vector for which the noise is calibrated.
    """

    ABOVE: ClassVar = {"variance": ("the variance", 0), **_COORDINATES}
    WHOLE: ClassVar = ("coordinates",)

    variance: Any
    coordinates: Any = 1
    epsilon: ClassVar[float] = math.inf
    """Infinity: the loss is unbounded."""

    @property
    def mu_squared(self) -> Any:
        """1 / variance."""
        return 1 / formula("variance", self.variance)

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its sigma rounded up to a float, and the movement of one coordinate."""
        size = int(_value(self.coordinates, point))
        sigma = square_root_up(_value(self.variance, point))
        return Gaussian(sigma=sigma, sensitivity=Sensitivity.of_box([1.0] * size)), UNIT


@dataclass(frozen=True)
class SymbolicResponse(_Release):
    """Randomized response among `size` categories."""

    ABOVE: ClassVar = {"epsilon": ("epsilon", 0), "size": ("the number of categories", 1)}
    WHOLE: ClassVar = ("size",)

    size: Any
    epsilon: Any

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its epsilon rounded down to a float."""
        below = down(_value(self.epsilon, point))
        mechanism = RandomizedResponse(size=int(_value(self.size, point)), epsilon=below)
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class SymbolicCalibrated(_Release):
    """A release that its maker calibrates numerically to epsilon, at a delta that all releases together stay within.

    That it does so for all values cannot be proved from outside: proofs of a plan rest on it
    (`SymbolicPlan.promises`), and its proof marks it as stated. At given values it is checked.

    Parameters
    ----------
    epsilon
        The epsilon that it is calibrated to.
    make
        Function that returns the mechanism at given values.
    """

    ABOVE: ClassVar = {"epsilon": ("epsilon", 0)}

    epsilon: Any
    make: Callable[[Mapping[Any, Any]], Mechanism]

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism at these values.

        Raises
        ------
        ParameterError
            If its epsilon, at its own nominal delta, is larger than it is calibrated to.
        """
        mechanism = self.make(point)
        promised = _value(self.epsilon, point)
        if not mechanism.epsilon <= promised:
            raise ParameterError(
                f"make = {_function_name(self.make)}: gives a mechanism of epsilon = {mechanism.epsilon!r} at delta = "
                f"{mechanism.nominal_delta!r}; it must be at most {float(promised)!r}"
            )
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class DeclassifiedStep(_Release):
    """A value that is published as it is."""

    reason: str
    epsilon: ClassVar[float] = math.inf
    """Infinity."""
    mu_squared: ClassVar[float] = math.inf
    """Infinity."""

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return no mechanism."""
        return None, Sensitivity(float("inf"), float("inf"), float("inf"))


@dataclass(frozen=True)
class SymbolicStep:
    """Releases of one kind: the largest number of them in which a record may take part."""

    release: SymbolicLaplace | SymbolicGaussian | SymbolicResponse | SymbolicCalibrated | DeclassifiedStep
    count: Any = 1
    reason: str = ""


@dataclass(frozen=True)
class SymbolicPlan:
    """The releases in which a record of each kind takes part, with symbols for numbers.

    Parameters
    ----------
    values
        The domain of the symbols.
    records
        Steps by the kind of record ("one round", "the round-0 vector"); the cost of the run is the largest
        over kinds, because the account is per record.
    source
        The publication of the algorithm.
    currency
        The quantity that adds up: ``"epsilon"`` (basic composition of pure losses) or ``"mu_squared"`` (Gaussian DP).
    """

    values: SymbolDomain
    records: Mapping[str, tuple[SymbolicStep, ...]]
    source: str = ""
    currency: Literal["epsilon", "mu_squared"] = "epsilon"

    def __post_init__(self) -> None:
        if not self.records:
            raise ParameterError("records = {}: a plan must say what at least one kind of record is part of")
        if self.currency not in ("epsilon", "mu_squared"):
            raise ParameterError(f"currency = {self.currency!r}: it must be 'epsilon' or 'mu_squared'")
        object.__setattr__(self, "records", {kind: tuple(steps) for kind, steps in self.records.items()})
        if type(self.values) is not SymbolDomain:
            raise ParameterError(
                f"values = {self.values!r}: it must be SymbolDomain({{symbol: IntegerRange(...) or RealAbove(...)}})"
            )
        for kind, steps in self.records.items():
            for step in steps:
                if type(step) is not SymbolicStep or type(step.release) not in _RELEASES:
                    raise ParameterError(
                        f"records: a step of {kind} is {step!r}; it must be a SymbolicStep of one of "
                        f"{', '.join(release.__name__ for release in _RELEASES)}, and none of a subclass"
                    )
                for name, value in _formulas(step).items():
                    check_declared(name, formula(name, value), self.values.symbols)

    def costs(self) -> dict[str, Any]:
        """Return the total cost of each kind of record, as an expression; None where there is no formula for it."""
        import sympy as sp

        totals = {kind: _total(steps, self.currency) for kind, steps in self.records.items()}
        return {
            kind: total if total is None else sp.oo if total == math.inf else sp.cancel(total)
            for kind, total in totals.items()
        }

    @property
    def promises(self) -> tuple[str, ...]:
        """The unproved statements: for each `SymbolicCalibrated`, that its noise is calibrated for all values."""
        calibrated = [
            step.release
            for steps in self.records.values()
            for step in steps
            if isinstance(step.release, SymbolicCalibrated)
        ]
        return tuple(
            dict.fromkeys(
                f"noise is calibrated to epsilon = {release.epsilon} for all values, by {_function_name(release.make)}"
                for release in calibrated
            )
        )

    def evaluate(self, point: Mapping[Any, Any], kind: str) -> Plan | None:
        """Return the plan of one kind of record at given values, to hold a run to; None if it declassifies."""
        exact = self.values.exact_point(point)
        steps = []
        for step in self.records[kind]:
            mechanism, moved = step.release.evaluate(exact)
            if mechanism is None:
                return None
            steps.append(PlanStep(mechanism, int(_value(step.count, exact)), moved))
        return Plan(tuple(steps))


@dataclass(frozen=True)
class CounterexampleFound:
    """Values at which a record pays more than is claimed, in exact arithmetic.

    Attributes
    ----------
    kind
        The kind of record.
    point
        Values of the symbols.
    cost, claim
        Both at these values; the cost, which may be infinite, is larger.
    formula
        The cost as an expression.
    """

    kind: str
    point: dict[Any, Fraction]
    cost: Fraction | float
    claim: Fraction
    formula: Any

    def __str__(self) -> str:
        at = ", ".join(f"{symbol} = {_number_text(value)}" for symbol, value in self.point.items())
        paid, claim = _number_text(self.cost), _number_text(self.claim)
        return f"{self.kind} pays {self.formula} = {paid}, more than {claim}, at {at}"


@dataclass(frozen=True)
class NumericClaim:
    """A claim that is known as a bound at given values only: it can be refuted, and has no proof.

    Parameters
    ----------
    name
        The claim in words.
    at_most
        Function that returns a number that is proved to be at least the claimed one, at exact values of the symbols.
    """

    name: str
    at_most: Callable[[Mapping[Any, Fraction]], Fraction]

    def __str__(self) -> str:
        return self.name


def find_counterexample(plan: SymbolicPlan, claim: Any) -> CounterexampleFound | None:
    """Return small values at which a record of a plan that can be run pays more than a claim; None if none were found.

    None is no proof.

    Parameters
    ----------
    plan
        The plan.
    claim
        An expression in the plan's symbols, a whole number or a `fractions.Fraction`; or `NumericClaim`.

    Raises
    ------
    ParameterError
        If the claim is no formula (a float, text, a relation), or has a symbol that the plan does not declare.
    """
    if type(plan) is not SymbolicPlan:
        raise ParameterError(f"plan = {plan!r}: it must be a SymbolicPlan")
    if type(claim) is not NumericClaim:
        claim = formula("claim", claim)
        check_declared("claim", claim, plan.values.symbols)
    claimed = claim.at_most if isinstance(claim, NumericClaim) else functools.partial(value_at, claim)
    for point in plan.values.samples():
        for kind, steps in plan.records.items():
            # No value: the claim says nothing here, or the plan has no meaning.
            with contextlib.suppress(ZeroDivisionError):
                paid = _cost_at(steps, plan.currency, point)
                if paid is not None and paid > (most := claimed(point)):
                    return CounterexampleFound(kind, point, paid, most, plan.costs()[kind])
    return None


def _function_name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


_RELEASES = (SymbolicLaplace, SymbolicGaussian, SymbolicResponse, SymbolicCalibrated, DeclassifiedStep)


def _formulas(step: SymbolicStep) -> dict[str, Any]:
    """Return every formula of a step, by name."""
    release = step.release
    return {
        "the count": step.count,
        **{words: getattr(release, name) for name, (words, _) in release.ABOVE.items()},
    }


def _total(steps: tuple[SymbolicStep, ...], currency: str) -> Any:
    """Return the cost of steps as an expression; infinity, or None if one of them has no formula."""
    import sympy as sp

    costs = [getattr(step.release, currency) for step in steps]
    if any(cost is None for cost in costs):
        return None
    if math.inf in costs:
        return math.inf
    return sp.Add(*(formula("the count", step.count) * cost for step, cost in zip(steps, costs, strict=True)))


def _cost_at(
    steps: tuple[SymbolicStep, ...], currency: str, point: Mapping[Any, Fraction]
) -> Fraction | float | None:
    """Return the cost of steps at a point; None if one of them is impossible there, or has no formula.

    Costs of impossible steps (half a release, noise of negative scale) would cancel those of real ones.
    """
    total: Fraction | float = Fraction(0)
    for step in steps:
        count, cost = _value(step.count, point), getattr(step.release, currency)
        given = {name: _value(getattr(step.release, name), point) for name in step.release.ABOVE}
        if (
            cost is None
            or count < 0
            or any(n.denominator != 1 for n in (count, *(given[name] for name in step.release.WHOLE)))
            or any(given[name] <= least for name, (_, least) in step.release.ABOVE.items())
        ):
            return None
        total += 0 if count == 0 else cost if cost == math.inf else count * _value(cost, point)
    return total


def _value(expression: Any, point: Mapping[Any, Fraction]) -> Fraction:
    return value_at(formula("expression", expression), point)


def _number_text(value: Fraction | float) -> str:
    """Return a number as text: exact if it is short, else with 6 digits."""
    return str(value) if len(str(value)) < 20 else f"{float(value):.6g}"
