"""Plans with symbols for numbers: the cost of a record as a formula, proved or refuted for all values.

>>> import sympy as sp
>>> K, L, eps = sp.symbols("K L epsilon")
>>> values = Values({eps: Above(0), K: Whole(least=1), L: Whole(least=K)})
>>> plan = SymbolicPlan(values, {"one round": (SymbolicStep(SymbolicLaplace(K / eps), count=K),)})
>>> plan.costs()["one round"]
epsilon
>>> prove(plan, eps)
Proved(...)
>>> prove(plan, K * eps / L)
Refuted(...)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from accountant.plans.plan import Plan, Step
from mechanisms import Gaussian, Laplace, Mechanism, RandomizedResponse, Sensitivity
from mechanisms.rounding import square_root_up, up
from mechanisms.sensitivity import UNIT

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True)
class Whole:
    """A whole number that is at least `least`, a number or an expression in earlier symbols."""

    least: Any


@dataclass(frozen=True)
class Above:
    """A real number above `bound`, a number or an expression in earlier symbols."""

    bound: Any


@dataclass(frozen=True)
class Values:
    """The domain of a statement: what each symbol may be, in an order in which bounds refer backwards."""

    symbols: Mapping[Any, Whole | Above]

    def shifted(self) -> tuple[dict[Any, Any], frozenset[Any]]:
        """Return every symbol as its bound plus a new one that is not negative, and those that are positive."""
        import sympy as sp

        replaced: dict[Any, Any] = {}
        positive = set()
        for symbol, kind in self.symbols.items():
            if isinstance(kind, Whole):
                offset = sp.Symbol(f"{symbol}_", integer=True, nonnegative=True)
                replaced[symbol] = sp.sympify(kind.least).subs(replaced) + offset
            else:
                offset = sp.Symbol(f"{symbol}_", positive=True)
                positive.add(offset)
                replaced[symbol] = sp.sympify(kind.bound).subs(replaced) + offset
        return replaced, frozenset(positive)

    def samples(self) -> Iterator[dict[Any, Any]]:
        """Iterate over exact values in the domain, small ones first."""
        import sympy as sp

        steps_of = {Whole: (0, 1, 2, 3, 7, 96), Above: (sp.Integer(1), sp.Rational(1, 10), sp.Integer(10))}
        choices = [steps_of[type(kind)] for kind in self.symbols.values()]
        ranked = sorted(itertools.product(*(range(len(steps)) for steps in choices)), key=sum)
        for chosen in ranked:
            point: dict[Any, Any] = {}
            for (symbol, kind), steps, i in zip(self.symbols.items(), choices, chosen, strict=True):
                offset = steps[i]
                low = kind.least if isinstance(kind, Whole) else kind.bound
                point[symbol] = sp.sympify(low).subs(point) + offset
            yield point

    def holds(self, point: Mapping[Any, Any]) -> bool:
        """Whether a point lies in the domain."""
        import sympy as sp

        for symbol, kind in self.symbols.items():
            value = sp.sympify(point[symbol])
            if isinstance(kind, Whole):
                if not value.is_integer or value < sp.sympify(kind.least).subs(point):
                    return False
            elif not value > sp.sympify(kind.bound).subs(point):
                return False
        return True


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
        return 1 / self.scale

    @property
    def positive(self) -> Mapping[str, Any]:
        """What has to be above 0, by name."""
        return {"the scale": self.scale, "the number of coordinates": self.coordinates}

    @property
    def mu_squared(self) -> Any:
        """No rational formula: infinity."""
        import sympy as sp

        return sp.oo

    def at(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
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
    def epsilon(self) -> Any:
        """Infinity: the loss is unbounded."""
        import sympy as sp

        return sp.oo

    @property
    def positive(self) -> Mapping[str, Any]:
        """What has to be above 0, by name."""
        return {"the variance": self.variance, "the number of coordinates": self.coordinates}

    @property
    def mu_squared(self) -> Any:
        """1 / variance."""
        return 1 / self.variance

    def at(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
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
    def positive(self) -> Mapping[str, Any]:
        """What has to be above 0, by name."""
        return {"epsilon": self.epsilon, "one less than the number of categories": self.size - 1}

    @property
    def mu_squared(self) -> Any:
        """No rational formula: infinity."""
        import sympy as sp

        return sp.oo

    def at(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism at these values."""
        mechanism = RandomizedResponse(
            size=int(_number(self.size, point)), epsilon=float(_number(self.epsilon, point))
        )
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class SymbolicCalibrated:
    """A release that its maker calibrates numerically to epsilon, at a delta that all releases together stay within.

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
    def positive(self) -> Mapping[str, Any]:
        """What has to be above 0, by name."""
        return {"epsilon": self.epsilon}

    @property
    def mu_squared(self) -> Any:
        """No formula: infinity."""
        import sympy as sp

        return sp.oo

    def at(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return the mechanism at these values."""
        mechanism = self.make(point)
        return mechanism, mechanism.sensitivity


@dataclass(frozen=True)
class Declassified:
    """A value that is published as it is."""

    reason: str

    @property
    def positive(self) -> Mapping[str, Any]:
        """Nothing: it has no parameters."""
        return {}

    @property
    def epsilon(self) -> Any:
        """Infinity."""
        import sympy as sp

        return sp.oo

    @property
    def mu_squared(self) -> Any:
        """Infinity."""
        return self.epsilon

    def at(self, point: Mapping[Any, Any]) -> tuple[Mechanism | None, Sensitivity]:
        """Return no mechanism."""
        return None, Sensitivity(float("inf"), float("inf"), float("inf"))


@dataclass(frozen=True)
class SymbolicStep:
    """So many releases of one kind; what a record may be part of at most."""

    release: SymbolicLaplace | SymbolicGaussian | SymbolicResponse | SymbolicCalibrated | Declassified
    count: Any = 1
    reason: str = ""


@dataclass(frozen=True)
class SymbolicPlan:
    """What every record of each kind is part of, with symbols for numbers.

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

    values: Values
    records: Mapping[str, tuple[SymbolicStep, ...]]
    source: str = ""
    currency: Literal["epsilon", "mu_squared"] = "epsilon"

    def __post_init__(self) -> None:
        if not self.records:
            raise ValueError("records = {}: a plan must say what at least one kind of record is part of")

    def costs(self) -> dict[str, Any]:
        """Return what each kind of record pays in total, as an expression."""
        import sympy as sp

        return {kind: sp.simplify(sp.Add(*map(self._cost, steps))) for kind, steps in self.records.items()}

    def _cost(self, step: SymbolicStep) -> Any:
        import sympy as sp

        return sp.sympify(step.count) * getattr(step.release, self.currency)

    def at(self, point: Mapping[Any, Any], kind: str) -> Plan | None:
        """Return the plan of one kind of record at given values, to hold a run to; None if it declassifies."""
        steps = []
        for step in self.records[kind]:
            mechanism, moved = step.release.at(point)
            if mechanism is None:
                return None
            steps.append(Step(mechanism, int(_number(step.count, point)), moved))
        return Plan(tuple(steps))


@dataclass(frozen=True)
class Proved:
    """The claim holds for all values of the domain.

    Attributes
    ----------
    costs
        The proved cost of each kind of record.
    argument
        Why it holds.
    """

    costs: dict[str, Any]
    argument: str


@dataclass(frozen=True)
class Refuted:
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
class Unknown:
    """Neither a proof nor a counterexample was found. It is not a proof.

    Attributes
    ----------
    reason
        Which inequality was left open.
    """

    reason: str


def prove(plan: SymbolicPlan, claim: Any) -> Proved | Refuted | Unknown:
    """Decide whether every record's cost is at most `claim` for all values of the domain.

    Every symbol is written as its bound plus a nonnegative one. Before anything is proved, every count is
    shown to be a whole number of at least 0 and every parameter of noise to be above 0, for a plan that cannot
    be run has no cost. The claim is proved if cost - claim is then
    a quotient of polynomials of which the denominator has coefficients >= 0 and is not zero, and the
    numerator coefficients <= 0. It is refuted by exact evaluation at small values. Else: unknown.

    Parameters
    ----------
    plan
        The plan.
    claim
        An expression in the plan's symbols, or a number.
    """
    import sympy as sp

    claim = sp.sympify(claim)
    costs = plan.costs()
    for point in plan.values.samples():
        for kind, cost in costs.items():
            paid, claimed = sp.sympify(cost).subs(point), claim.subs(point)
            if not (paid.is_extended_real and claimed.is_extended_real):
                return Unknown(f"{kind}: cost {cost} or claim {claim} is no real number at {point}")
            if (paid > claimed) == True:  # noqa: E712 (a relation that stays symbolic is not True)
                return Refuted(kind, point, paid, claimed, cost)
    for kind, steps in plan.records.items():
        for step in steps:
            doubt = _doubt(step, plan.values)
            if doubt:
                return Unknown(f"{kind}: it is not shown for all values that {doubt}")
    for kind, cost in costs.items():
        if not _never_above(sp.sympify(cost), claim, plan.values):
            return Unknown(f"{kind}: neither proved nor refuted that {cost} <= {claim}")
    argument = "cost - claim has no positive coefficient in nonnegative symbols"
    return Proved(costs, argument)


def _doubt(step: SymbolicStep, values: Values) -> str:
    """Return which requirement of a step is not shown to hold on the whole domain; empty if none.

    Costs of impossible steps (half a release, noise of negative scale) would cancel those of real ones.
    """
    import sympy as sp

    replaced, _ = values.shifted()
    count = sp.simplify(sp.sympify(step.count).subs(replaced))
    if count.is_integer is not True:
        return f"the count {step.count} is a whole number"
    if not (count.is_nonnegative or _never_above(sp.Integer(0), sp.sympify(step.count), values)):
        return f"the count {step.count} is at least 0"
    for name, value in step.release.positive.items():
        if not _is_positive(sp.sympify(value), values):
            return f"{name} {value} is above 0"
    return ""


def _is_positive(expression: sp.Expr, values: Values) -> bool:
    """Whether an expression is a quotient of polynomials with coefficients >= 0 that are nowhere zero."""
    import sympy as sp

    replaced, positive = values.shifted()
    shifted = sp.simplify(expression.subs(replaced))
    if shifted.is_positive:
        return True
    symbols = sorted(set().union(*(new.free_symbols for new in replaced.values())), key=str)
    for part in sp.fraction(sp.together(shifted)):
        try:
            polynomial = sp.Poly(part, *symbols)
        except sp.PolynomialError:
            return False
        if not (_has_sign(polynomial, 1) and _is_nonzero(polynomial, positive)):
            return False
    return True


def _never_above(cost: sp.Expr, claim: sp.Expr, values: Values) -> bool:
    import sympy as sp

    replaced, positive = values.shifted()
    top, bottom = sp.fraction(sp.together(sp.simplify((cost - claim).subs(replaced))))
    symbols = sorted(set().union(*(new.free_symbols for new in replaced.values())), key=str)
    try:
        numerator, denominator = sp.Poly(top, *symbols), sp.Poly(bottom, *symbols)
    except sp.PolynomialError:
        return False
    if _has_sign(denominator, -1):
        numerator, denominator = -numerator, -denominator
    return (
        _has_sign(denominator, 1)
        and _is_nonzero(denominator, positive)
        and (numerator.is_zero or _has_sign(numerator, -1))
    )


def _has_sign(polynomial: sp.Poly, sign: int) -> bool:
    return all(c.is_number and c.is_real and (sign * c > 0) == True for c in polynomial.coeffs())  # noqa: E712


def _is_nonzero(polynomial: sp.Poly, positive: frozenset[Any]) -> bool:
    """Whether one term with a positive coefficient consists of positive symbols only."""
    return any(
        all(symbol in positive for symbol, power in zip(polynomial.gens, powers, strict=True) if power)
        for powers in polynomial.monoms()
    )


def _number(expression: Any, point: Mapping[Any, Any]) -> Fraction:
    """Return the exact value of an expression; floats count as what they are."""
    import sympy as sp

    exact = {symbol: sp.Rational(*Fraction(value).as_integer_ratio()) for symbol, value in point.items()}
    value = sp.nsimplify(sp.sympify(expression).subs(exact), rational=True)
    return Fraction(int(value.p), int(value.q))
