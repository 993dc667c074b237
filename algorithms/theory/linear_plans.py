"""Plans of linear bandit learners: the releases of one client, with symbols for the numbers.

s is the number of coordinates of a client's report (1 where it has one reward), m in how many phases it reports: 1
without replacement. Gaussian claims are ones of Gaussian DP: mu is the one with which (epsilon, delta) holds.

>>> from accountant.plans.symbolic import find_counterexample
>>> linear_plan("dp-dpe-central").costs(), linear_claim("dp-dpe-central")
({'one client': mu**2}, mu**2)
>>> plan = linear_plan("dp-dpe-central", replacement=True)
>>> print(find_counterexample(plan, linear_claim("dp-dpe-central")))
one client pays m*mu**2 = 2, more than 1, at s = 1, mu = 1, m = 2
>>> print(find_counterexample(linear_plan("published/dp-dpe-local"), linear_claim("published/dp-dpe-local")))
one client pays epsilon**2/(2*l) = 31.0667, more than 16.368, at s = 1, epsilon = 10, l = 1.60944

The last one is at delta = 1/4.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from accountant.plans.plan import Plan, PlanStep
from accountant.plans.symbolic import (
    NumericClaim,
    SymbolicCalibrated,
    SymbolicGaussian,
    SymbolicPlan,
    SymbolicStep,
)
from accountant.plans.values import IntegerRange, RealAbove, SymbolDomain
from algorithms.linear.linear_phases import PAPER
from mechanisms import Gaussian, Mechanism, Sensitivity, ShuffledMean
from mechanisms.composition.enclosure import Enclosure
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    import sympy as sp

LINEAR_PLANNED = tuple(
    f"{prefix}{family}-{model}"
    for prefix in ("", "published/")
    for family in ("dp-dpe", "dp-pe")
    for model in ("central", "local", "shuffle")
)
"""The registered names of linear learners that claim privacy."""

_PRINTED_DELTA = 0.25  # the published experiment's


@functools.cache
def _linear_symbols() -> tuple[sp.Symbol, sp.Symbol, sp.Symbol, sp.Symbol]:
    """Return s, m, mu and epsilon."""
    import sympy

    s, m, mu, epsilon = sympy.symbols("s m mu epsilon")
    return s, m, mu, epsilon


def linear_plan(name: str, *, replacement: bool = False) -> SymbolicPlan:
    """Return one client's releases, the plan of a linear learner by its registered name.

    Raises
    ------
    ParameterError
        If no plan is known.
    """
    import sympy

    if name not in LINEAR_PLANNED:
        raise ParameterError(
            f"name = {name!r}: no plan is known; there are plans for {', '.join(LINEAR_PLANNED)}"
        )
    s, m, mu, epsilon = _linear_symbols()
    size = s if "-dpe-" in name else 1
    printed, shuffled = name.startswith("published/"), name.endswith("shuffle")
    times = m if replacement else 1
    why = "a client's report enters one sum" + (" in each of m phases" if replacement else "")
    if shuffled:
        step = SymbolicStep(SymbolicCalibrated(epsilon, _shuffled), times, why)
    elif printed:
        # sigma = 2B √(2 s ln(1.25/δ)) / ε on coordinates that move by 2B
        variance = 2 * size * sympy.Symbol("l") / epsilon**2
        step = SymbolicStep(SymbolicGaussian(variance, coordinates=size), times * size, why)
    else:
        step = SymbolicStep(SymbolicGaussian(size / mu**2, coordinates=size), times * size, why)
    parameter = epsilon if shuffled or printed else mu
    values: dict[Any, IntegerRange | RealAbove] = {s: IntegerRange(1), parameter: RealAbove(0)}
    if replacement:
        values[m] = IntegerRange(1)
    if printed:
        values[sympy.Symbol("l")] = RealAbove(0, computed=lambda point: log_above(1.25 / _PRINTED_DELTA))
    # The loss of binomial noise as it is printed has no formula; `verify` computes it for given numbers.
    currency: Literal["epsilon", "mu_squared"] = "epsilon" if shuffled and not printed else "mu_squared"
    source = PAPER + ("as printed" if printed else "repaired")
    return SymbolicPlan(SymbolDomain(values), {"one client": (step,)}, source, currency)


def linear_claim(name: str) -> sp.Expr | NumericClaim:
    """Return the claimed limit on the cost of a client of a learner, in the currency of its plan."""
    _, _, mu, epsilon = _linear_symbols()
    if name.startswith("published/"):
        return NumericClaim("mu(epsilon)^2", _analytic_mu_squared)
    return epsilon if name.endswith("shuffle") else mu**2


def log_above(value: float) -> Fraction:
    """Return a rational number just above the natural logarithm, which `decimal` rounds correctly."""
    return Fraction(Decimal(value).ln().next_plus())


def _analytic_mu_squared(point: Mapping[Any, Fraction]) -> Fraction:
    """Return a number above mu(epsilon)², mu the one of the analytic Gaussian mechanism at the printed delta.

    Less noise than it has by a millionth has a delta that is certified to be larger.
    """
    epsilon, delta = float(point[_linear_symbols()[3]]), _PRINTED_DELTA
    unit = Sensitivity(1.0, 1.0, 1.0)
    sigma = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=unit).sigma * (1.0 - 1e-6)
    found = Plan((PlanStep(Gaussian(sigma=sigma, sensitivity=unit), 1, unit),)).delta(epsilon)
    if not (isinstance(found, Enclosure) and found.lower > delta):
        raise ArithmeticError(
            f"epsilon = {epsilon}: the noise of the analytic Gaussian mechanism is not known"
        )
    return 1 / Fraction(sigma) ** 2


def _shuffled(point: Mapping[Any, Any]) -> Mechanism:
    """Return the bits of two clients at delta = 1e-6: an instance of the calibration, which is numerical."""
    s, _, _, epsilon = _linear_symbols()
    protocol = ShuffledMean.calibrated(float(point[epsilon]), 1e-6, clients=2, size=int(point[s]), bound=1.0)
    return protocol.mechanism
