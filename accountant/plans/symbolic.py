"""Plans with symbols for numbers: the cost of a record as a formula, proved or refuted for all values.

>>> import sympy as sp
>>> K, L, eps = sp.symbols("K L epsilon")
>>> values = SymbolDomain({eps: RealAbove(0), K: IntegerRange(least=1), L: IntegerRange(least=K)})
>>> plan = SymbolicPlan(values, {"one round": (SymbolicStep(SymbolicLaplace(K / eps), count=K),)})
>>> plan.costs()["one round"]
epsilon
>>> prove(plan, eps)
ProofFound(...)
>>> prove(plan, K * eps / L)
CounterexampleFound(...)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from accountant.plans.formulas import (
    ConditionUnproved,
    FormulaCase,
    PlanStatement,
    RealInterval,
    UndefinedValue,
    check_declared,
    enclose,
    formula,
)
from accountant.plans.plan import Plan, PlanStep
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain, exact_number
from mechanisms import Gaussian, Laplace, Mechanism, RandomizedResponse, Sensitivity
from mechanisms.parameters import ParameterError
from mechanisms.rounding import square_root_up, up
from mechanisms.sensitivity import UNIT

if TYPE_CHECKING:
    pass

__all__ = [
    "CounterexampleFound",
    "DeclassifiedStep",
    "IntegerRange",
    "NumericClaim",
    "ProofFound",
    "ProofUnknown",
    "RealAbove",
    "SymbolDomain",
    "SymbolicCalibrated",
    "SymbolicGaussian",
    "SymbolicLaplace",
    "SymbolicPlan",
    "SymbolicResponse",
    "SymbolicStep",
    "prove",
]


@dataclass(frozen=True)
class SymbolicLaplace:
    """Laplace noise on one coordinate that a record moves by at most 1.

    Parameters
    ----------
    scale
        Of the noise.
    coordinates
        How many coordinates of a released vector the noise is calibrated for.
    """

    scale: Any
    coordinates: Any = 1

    @property
    def epsilon(self) -> Any:
        """1 / scale."""
        return 1 / formula("scale", self.scale)

    @property
    def mu_squared(self) -> None:
        """No formula."""
        return None

    @property
    def positive_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be above 0, by name."""
        return {"the scale": self.scale, "the number of coordinates": self.coordinates}

    @property
    def integer_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be integers, by name."""
        return {"the number of coordinates": self.coordinates}

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its scale rounded up to a float, and the movement of one coordinate."""
        scale = up(_number(self.scale, point))
        size = int(_number(self.coordinates, point))
        return Laplace(scale=scale, sensitivity=Sensitivity.of_box([1.0] * size)), UNIT


@dataclass(frozen=True)
class SymbolicGaussian:
    """Gaussian noise on one coordinate that a record moves by at most 1.

    Parameters
    ----------
    variance
        Of the noise.
    coordinates
        How many coordinates of a released vector the noise is calibrated for.
    """

    variance: Any
    coordinates: Any = 1

    @property
    def epsilon(self) -> float:
        """Infinity: the loss is unbounded."""
        return math.inf

    @property
    def mu_squared(self) -> Any:
        """1 / variance."""
        return 1 / formula("variance", self.variance)

    @property
    def positive_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be above 0, by name."""
        return {"the variance": self.variance, "the number of coordinates": self.coordinates}

    @property
    def integer_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be integers, by name."""
        return {"the number of coordinates": self.coordinates}

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its sigma rounded up to a float, and the movement of one coordinate."""
        size = int(_number(self.coordinates, point))
        sigma = square_root_up(_number(self.variance, point))
        return Gaussian(sigma=sigma, sensitivity=Sensitivity.of_box([1.0] * size)), UNIT


@dataclass(frozen=True)
class SymbolicResponse:
    """Randomized response among `size` categories."""

    size: Any
    epsilon: Any

    @property
    def mu_squared(self) -> None:
        """No formula."""
        return None

    @property
    def positive_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be above 0, by name."""
        return {"epsilon": self.epsilon, "one less than the number of categories": self.size - 1}

    @property
    def integer_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be integers, by name."""
        return {"the number of categories": self.size}

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism, its epsilon rounded down to a float."""
        below = -up(-_number(self.epsilon, point))
        mechanism = RandomizedResponse(size=int(_number(self.size, point)), epsilon=below)
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class SymbolicCalibrated:
    """A release that its maker calibrates numerically to epsilon, at a delta that all releases together stay within.

    That it does so for all values cannot be proved from outside: what is proved of a plan rests on it
    (`ProofFound.rests_on`). At given values it is checked.

    Parameters
    ----------
    epsilon
        What it is calibrated to.
    make
        Builds the mechanism at given values.
    """

    epsilon: Any
    make: Callable[[Mapping[Any, Any]], Mechanism]

    @property
    def mu_squared(self) -> None:
        """No formula."""
        return None

    @property
    def positive_expressions(self) -> Mapping[str, Any]:
        """The expressions that must be above 0, by name."""
        return {"epsilon": self.epsilon}

    @property
    def integer_expressions(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}

    def evaluate(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism at these values.

        Raises
        ------
        ParameterError
            If its epsilon, at its own nominal delta, is larger than it is calibrated to.
        """
        mechanism = self.make(point)
        promised = _number(self.epsilon, point)
        if not mechanism.epsilon <= promised:
            raise ParameterError(
                f"make={_named(self.make)}: gives a mechanism of epsilon = {mechanism.epsilon!r} at delta = "
                f"{mechanism.nominal_delta!r}; it must be at most {float(promised)!r}"
            )
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class DeclassifiedStep:
    """A value that is published as it is."""

    reason: str

    @property
    def epsilon(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def mu_squared(self) -> float:
        """Infinity."""
        return math.inf

    @property
    def positive_expressions(self) -> Mapping[str, Any]:
        """Nothing: it has no parameters."""
        return {}

    @property
    def integer_expressions(self) -> Mapping[str, Any]:
        """Nothing: it has no parameters."""
        return {}

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
        What the symbols may be.
    records
        Steps by the kind of record ("one round", "the round-0 vector"); the cost of the run is the largest
        over kinds, because the account is per record.
    source
        Where the algorithm is described.
    currency
        What adds up: ``"epsilon"`` (basic composition of pure losses) or ``"mu_squared"`` (Gaussian DP).
    """

    values: SymbolDomain
    records: Mapping[str, tuple[SymbolicStep, ...]]
    source: str = ""
    currency: Literal["epsilon", "mu_squared"] = "epsilon"

    def __post_init__(self) -> None:
        if not self.records:
            raise ParameterError("records = {}: a plan must say what at least one kind of record is part of")
        if self.currency not in ("epsilon", "mu_squared"):
            raise ParameterError(f"currency={self.currency!r}: it must be 'epsilon' or 'mu_squared'")
        object.__setattr__(self, "records", {kind: tuple(steps) for kind, steps in self.records.items()})
        if type(self.values) is not SymbolDomain:
            raise ParameterError(
                f"values={self.values!r}: it must be SymbolDomain({{symbol: IntegerRange(...) or RealAbove(...)}})"
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
        return {kind: self._cost(steps) for kind, steps in self.records.items()}

    def _cost(self, steps: tuple[SymbolicStep, ...]) -> Any:
        import sympy as sp

        total = _total(steps, self.currency)
        if total is None or total == math.inf:
            return None if total is None else sp.oo
        try:
            return PlanStatement(self.values.declared, [total]).normal_form(total)
        except ConditionUnproved:
            return total

    def evaluate(self, point: Mapping[Any, Any], kind: str) -> Plan | None:
        """Return the plan of one kind of record at given values, to hold a run to; None if it declassifies."""
        steps = []
        for step in self.records[kind]:
            mechanism, moved = step.release.evaluate(point)
            if mechanism is None:
                return None
            steps.append(PlanStep(mechanism, int(_number(step.count, point)), moved))
        return Plan(tuple(steps))


@dataclass(frozen=True)
class ProofFound:
    """The claim holds for all values of the domain.

    Attributes
    ----------
    costs
        The proved cost of each kind of record.
    argument
        Why it holds.
    rests_on
        What is not proved: that noise which is calibrated by a program keeps what it is calibrated to.
    """

    costs: dict[str, Any]
    argument: str
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class CounterexampleFound:
    """The claim fails: a counterexample, checked in exact arithmetic.

    Attributes
    ----------
    kind
        The kind of record that pays more than is claimed.
    point
        Values of the symbols.
    cost, claim
        Both at these values; the cost is larger.
    formula
        The cost as an expression.
    """

    kind: str
    point: dict[Any, Any]
    cost: Any
    claim: Any
    formula: Any

    def __str__(self) -> str:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in self.point.items())
        return f"{self.kind} pays {self.formula} = {self.cost}, more than {self.claim}, at {at}"


@dataclass(frozen=True)
class ProofUnknown:
    """Neither a proof nor a counterexample was found. It is not a proof.

    Attributes
    ----------
    reason
        Which inequality was left open.
    """

    reason: str


@dataclass(frozen=True)
class NumericClaim:
    """A claim that is known as a bound at given values only: it can be refuted, and is never proved.

    Parameters
    ----------
    name
        What is claimed, in words.
    at_most
        Returns a number that is proved to be at least what is claimed, at exact values of the symbols.
    """

    name: str
    at_most: Callable[[Mapping[Any, Fraction]], Fraction]

    def __str__(self) -> str:
        return self.name


def prove(plan: SymbolicPlan, claim: Any) -> ProofFound | CounterexampleFound | ProofUnknown:
    """Decide whether every record's cost is at most `claim` for all values of the domain.

    Every symbol is written as its bound plus an offset. Before anything is proved, every formula is shown to have
    a value on the whole domain, every count to be a whole number of at least 0 and every parameter of noise to be
    above 0, for a plan that cannot be run has no cost. The claim is proved if claim - cost is then a quotient of
    polynomials of which neither has negative coefficients and the lower one is not zero
    (`accountant.plans.formulas`). It is refuted by exact evaluation at small values. Else: unknown.

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
        raise ParameterError(f"plan={plan!r}: it must be a SymbolicPlan")
    if type(claim) is not NumericClaim:
        claim = formula("claim", claim)
        check_declared("claim", claim, plan.values.symbols)
    try:
        refuted = _refutation(plan, claim)
        if refuted is not None:
            return refuted
        return _proof(plan, claim)
    except ConditionUnproved as doubt:
        return ProofUnknown(f"it is not shown for all values that {doubt}")
    except UndefinedValue as error:
        return ProofUnknown(f"the claim {claim} or the plan has no value that could be told: {error}")


def _refutation(plan: SymbolicPlan, claim: Any) -> CounterexampleFound | None:
    """Return a point where the steps can be made and cost more than is claimed, if one of the first ones is."""
    import sympy as sp

    totals = {kind: _total(steps, plan.currency) for kind, steps in plan.records.items()}
    for point in plan.values.samples():
        claimed = claim.at_most(point) if isinstance(claim, NumericClaim) else enclose(claim, point).upper
        for kind, steps in plan.records.items():
            total = totals[kind]
            if total is None or not all(_can_be_made(step, point) for step in steps):
                continue
            if total == math.inf:
                sure = any(
                    getattr(step.release, plan.currency) == math.inf
                    and enclose(formula("count", step.count), point).lower > 0
                    for step in steps
                )
                paid = RealInterval(Fraction(0), Fraction(0))
            else:
                paid = enclose(total, point)
                sure = paid.lower > claimed
            if sure:
                shown = {symbol: sp.Rational(value) for symbol, value in point.items()}
                cost = plan.costs()[kind]
                stated = sp.Float(float(claimed)) if isinstance(claim, NumericClaim) else claim.subs(shown)
                exact = (
                    sp.Rational(paid.exact)
                    if paid.exact is not None and total != math.inf
                    else cost.subs(shown)
                )
                return CounterexampleFound(kind, shown, exact, stated, cost)
    return None


def _proof(plan: SymbolicPlan, claim: Any) -> ProofFound | ProofUnknown:
    totals = {kind: _total(steps, plan.currency) for kind, steps in plan.records.items()}
    if isinstance(claim, NumericClaim):
        return ProofUnknown(f"no counterexample was found, and {claim} is known at given values only")
    for kind, total in totals.items():
        if total is None or total == math.inf:
            return ProofUnknown(f"{kind}: there is no formula for its cost")
    of_steps = [
        formula(name, value)
        for steps in plan.records.values()
        for step in steps
        for name, value in _formulas(step).items()
    ]
    statement = PlanStatement(plan.values.declared, [claim, *totals.values(), *of_steps])
    for case in statement.cases():
        for kind, steps in plan.records.items():
            for doubt in (doubt for step in steps for doubt in _doubts(step, case)):
                return ProofUnknown(f"{kind}: it is not shown for all values that {doubt}")
            if not case.is_never_above(totals[kind], claim):
                return ProofUnknown(
                    f"{kind}: neither proved nor refuted that {plan.costs()[kind]} <= {claim}"
                )
    made = dict.fromkeys(
        f"noise is calibrated to epsilon = {step.release.epsilon} for all values, by {_named(step.release.make)}"
        for steps in plan.records.values()
        for step in steps
        if isinstance(step.release, SymbolicCalibrated)
    )
    return ProofFound(
        plan.costs(), "claim - cost has no negative coefficient in nonnegative symbols", tuple(made)
    )


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


_RELEASES = (SymbolicLaplace, SymbolicGaussian, SymbolicResponse, SymbolicCalibrated, DeclassifiedStep)


def _formulas(step: SymbolicStep) -> dict[str, Any]:
    """Return every formula of a step, by name."""
    return {"the count": step.count, **step.release.positive_expressions, **step.release.integer_expressions}


def _total(steps: tuple[SymbolicStep, ...], currency: str) -> Any:
    """Return the cost of steps as an expression; infinity, or None if one of them has no formula."""
    import sympy as sp

    costs = [getattr(step.release, currency) for step in steps]
    if any(cost is None for cost in costs):
        return None
    if math.inf in costs:
        return math.inf
    return sp.Add(*(formula("the count", step.count) * cost for step, cost in zip(steps, costs, strict=True)))


def _doubts(step: SymbolicStep, case: FormulaCase) -> Iterator[str]:
    """Iterate over requirements of a step that are not shown to hold on the whole domain.

    Costs of impossible steps (half a release, noise of negative scale) would cancel those of real ones.
    """
    count = formula("the count", step.count)
    if not case.is_integer(count):
        yield f"the count {step.count} is a whole number"
    if not case.is_not_negative(count):
        yield f"the count {step.count} is at least 0"
    for name, value in step.release.integer_expressions.items():
        if not case.is_integer(formula(name, value)):
            yield f"{name} {value} is a whole number"
    for name, value in step.release.positive_expressions.items():
        if not case.is_positive(formula(name, value)):
            yield f"{name} {value} is above 0"


def _can_be_made(step: SymbolicStep, point: Mapping[Any, Fraction]) -> bool:
    """Whether a step surely meets its requirements at a point."""
    count = enclose(formula("the count", step.count), point).exact
    if count is None or count < 0 or count.denominator != 1:
        return False
    sizes = [
        enclose(formula(name, value), point).exact for name, value in step.release.integer_expressions.items()
    ]
    if any(size is None or size.denominator != 1 for size in sizes):
        return False
    return all(
        enclose(formula(name, value), point).lower > 0
        for name, value in step.release.positive_expressions.items()
    )


def _number(expression: Any, point: Mapping[Any, Any]) -> Fraction:
    """Return the exact value of an expression; floats among the values count as what they are."""
    exact = {symbol: exact_number(value) for symbol, value in point.items()}
    value = enclose(formula("expression", expression), exact).exact
    if value is None:
        raise ParameterError(
            f"{expression} is not rational at {dict(point)}: no mechanism can have it exactly"
        )
    return value
