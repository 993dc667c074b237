"""Rényi differential privacy as a privacy filter, and what a Rényi divergence says about (epsilon, delta)."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import UnsupportedCharge, promised
from accountant.filters.spend import Spend, difference, needs_delta
from accountant.losses.certified_interval import CertifiedInterval
from mechanisms import Mechanism, PrivacyProfile, Sensitivity
from mechanisms.parameters import ParameterError, real
from mechanisms.rounding import up

_SLACK = 1e-13  # covers the rounding of the few floating-point operations of a conversion
_UNIT = 2**60  # divergences are kept as multiples of 1 / _UNIT, rounded up
_DEFAULT_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0)


def allowance(order: float, epsilon: float, delta: float) -> float:
    """Return the largest Rényi divergence of an order that implies (epsilon, delta)-DP, rounded down.

    delta = exp((α-1)(D - ε)) (1 - 1/α)^α / (α-1) (Canonne, Kamath & Steinke 2020, Proposition 12), so
    D = ε + (ln δ + ln(α-1) - α ln(1 - 1/α)) / (α-1). Negative if nothing may be released.
    """
    if delta <= 0.0:
        return -math.inf
    s = order - 1.0
    terms = (math.log(delta), math.log(s), -order * math.log1p(-1.0 / order))
    return epsilon + sum(terms) / s - _SLACK * (abs(epsilon) + sum(map(abs, terms)) / s)


def epsilon_of(order: float, divergence: float, delta: float) -> float:
    """Return the epsilon that a Rényi divergence implies at `delta`, rounded up: `allowance` inverted."""
    if delta <= 0.0 or math.isinf(divergence):
        return math.inf
    s = order - 1.0
    terms = (math.log(delta), math.log(s), -order * math.log1p(-1.0 / order))
    epsilon = divergence - sum(terms) / s
    return max(0.0, epsilon + 2 * _SLACK * (divergence + sum(map(abs, terms)) / s))


def divergences(profile: PrivacyProfile, orders: tuple[float, ...]) -> list[float]:
    """Return upper bounds on the Rényi divergences of the finite part of a loss, in both directions.

    ln E[e^{(α-1)L}; L < ∞] / (α-1) from the moments of the loss, with the error bound they come with;
    else αρ from ρ-zCDP; else min(α ε²/2, ε) from pure ε (Bun & Steinke 2016, Proposition 3.3); else ∞.
    """
    losses = [side.loss() for side in profile.directions()]
    if any(loss is None for loss in losses):
        if profile.rho is not None:
            return [order * profile.rho * (1 + _SLACK) for order in orders]
        if profile.pure_epsilon is not None:
            largest = up(profile.pure_epsilon)
            return [min(order * largest * largest / 2 * (1 + _SLACK), largest) for order in orders]
        return [math.inf] * len(orders)
    bounds = []
    for order in orders:
        worst = 0.0
        for loss in losses:
            assert loss is not None
            value, error = loss.log_mgf_line(order - 1.0, np.zeros(1))
            worst = max(worst, (float(value[0].real) + float(error[0])) / (order - 1.0))
        bounds.append(worst * (1 + _SLACK) if worst < math.inf else math.inf)
    return bounds


@dataclass(frozen=True)
class RenyiComposition:
    """Rényi divergences add up, order by order; made for subsampled mechanisms.

    Fully adaptive: if the divergences of order α of releases chosen adaptively never sum to more than B,
    the run is (α, B)-Rényi-DP (Feldman & Zrnic 2021, "Individual privacy accounting via a Rényi filter",
    Theorems 3.1 and 4.3; Lécuyer 2021): exp((α-1)(L_n - Σ D_α)) is a supermartingale.

    With several orders a run may go on as long as one of them is within its limit. Which one that will be
    may depend on what was released, so no single order covers the run; but every outcome ends within the
    limit of at least one, and each bounds its own share of δ. So the limits are taken at δ / (number of
    orders), by the union bound, and one order costs nothing extra.

    A loss that is infinite with probability p adds p to a sum of its own, which is taken off δ.

    Parameters
    ----------
    orders
        Above 1, increasing.
    """

    orders: tuple[float, ...] = _DEFAULT_ORDERS
    name = "Rényi filter"

    def __post_init__(self) -> None:
        orders = tuple(real("orders", order) for order in self.orders)
        if not orders or orders[0] <= 1 or math.isinf(orders[-1]) or list(orders) != sorted(set(orders)):
            raise ParameterError(f"orders = {self.orders!r}: must increase, above 1 and finite")
        object.__setattr__(self, "orders", orders)

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:
        return ("delta", *(f"Rényi divergence of order {order:g}" for order in self.orders))

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return numbers in this currency: delta, then one divergence for each order."""
        if len(values) != len(self._names):
            raise ValueError(f"{len(values)} numbers: this theorem counts {len(self._names)}")
        return Spend(self._names, values, any_suffices=True)

    @property
    def zero(self) -> Spend:
        """Nothing spent."""
        return self.amount((Fraction(0),) * len(self._names))

    @property
    def infinite(self) -> Spend:
        """What a declassification costs."""
        return self.amount((Fraction(0), *(None,) * len(self.orders)))

    def settings(self) -> dict[str, Any]:
        """Return the parameters as JSON-able data."""
        return {"orders": [order.hex() for order in self.orders]}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> RenyiComposition:
        """Rebuild from `settings`."""
        return cls(tuple(map(float.fromhex, settings["orders"])))

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` unless the budget has a delta."""
        needs_delta(self.name, budget)

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return the divergences of the mechanism at the record's sensitivity, rounded up.

        Raises
        ------
        UnsupportedCharge
            If none of the orders has a finite divergence.
        """
        profile = mechanism.profile(sensitivity)
        bounds = divergences(profile, self.orders)
        if min(bounds) == math.inf:
            raise UnsupportedCharge(
                f"{type(mechanism).__name__} has no finite Rényi divergence at these orders"
            )
        return self.amount(
            (
                Fraction(profile.infinite_mass),
                *(None if math.isinf(b) else Fraction(math.ceil(Fraction(b) * _UNIT), _UNIT) for b in bounds),
            )
        )

    def _limits(self, spent: Spend, budget: Budget) -> tuple[Fraction | None, ...]:
        assert spent.values[0] is not None
        return _order_limits(self.orders, budget.epsilon, Fraction(budget.delta) - spent.values[0])

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Whether delta is within the budget and one order within its limit."""
        delta, *divergence = spent.values
        assert delta is not None
        if delta > Fraction(budget.delta):
            return False
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return True
        return any(
            value is not None and limit is not None and value <= limit
            for value, limit in zip(divergence, self._limits(spent, budget), strict=True)
        )

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the best epsilon over the orders, at the budget's delta."""
        assert spent.values[0] is not None
        left = float(Fraction(budget.delta) - spent.values[0]) * (1 - _SLACK)
        if budget.delta == 1.0:
            return Cost(Fraction(0), Fraction(1))
        share = left / len(self.orders)
        best = min(
            math.inf if value is None else epsilon_of(order, up(value), share)
            for order, value in zip(self.orders, spent.values[1:], strict=True)
        )
        return Cost(None if math.isinf(best) else Fraction(best), Fraction(budget.delta))

    def left(self, spent: Spend, budget: Budget) -> Spend:
        """Return what each order has left."""
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return self.amount((Fraction(budget.delta), *(None,) * len(self.orders)))
        limits = tuple(limit or Fraction(0) for limit in self._limits(spent, budget))
        return difference(self._names, (Fraction(budget.delta), *limits), spent)

    def exceeds(self, spent: Spend, other: Spend) -> bool:
        """Whether one total is worse than another: by its best epsilon at delta = 1e-6."""
        return self._rank(spent) > self._rank(other)

    def _rank(self, spent: Spend) -> tuple[float, Fraction]:
        assert spent.values[0] is not None
        pairs = zip(self.orders, spent.values[1:], strict=True)
        return min(
            math.inf if value is None else epsilon_of(order, up(value), 1e-6) for order, value in pairs
        ), spent.values[0]

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        By Ville's inequality P(∃n: L_n > Σ D_α + ln(1/δ)/(α-1)) <= δ for each order; δ is shared.
        """
        assert spent.values[0] is not None
        left = float(Fraction(delta) - spent.values[0]) * (1 - _SLACK)
        if left <= 0:
            raise UnsupportedCharge(f"no bound holds at every moment with delta = {delta:g}")
        weight = math.log(len(self.orders) / left)
        best = min(
            math.inf if value is None else (up(value) + weight / (order - 1.0)) * (1 + _SLACK)
            for order, value in zip(self.orders, spent.values[1:], strict=True)
        )
        return Cost(None if math.isinf(best) else Fraction(best), Fraction(delta))

    def promise(self, budget: Budget, delta: float) -> CertifiedInterval:
        """Return what (epsilon, delta)-DP of the budget implies."""
        return promised(self.name, budget, delta)


@functools.lru_cache(maxsize=4096)
def _order_limits(orders: tuple[float, ...], epsilon: float, delta: Fraction) -> tuple[Fraction | None, ...]:
    share = float(delta) * (1 - _SLACK) / len(orders)
    limits = (allowance(order, epsilon, share) for order in orders)
    return tuple(None if limit < 0 else Fraction(limit) for limit in limits)
