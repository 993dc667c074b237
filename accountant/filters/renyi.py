"""Rényi differential privacy as a privacy filter, and the (ε, δ) that a Rényi divergence implies."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import NumberLimits, UnsupportedCharge, is_within
from accountant.filters.failures import DeclaredFailures, limits_nothing
from accountant.filters.loss_mixture import epsilon_of_mixture, loss_at_every_moment
from accountant.filters.spend import Spend
from accountant.filters.units import UNIT
from mechanisms import Mechanism, PrivacyProfile, Sensitivity
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, real

_SLACK = 1e-13  # covers the rounding of the few floating-point operations of a conversion
_UNIT = 2**60  # divergences are kept as multiples of 1 / _UNIT, rounded up
_EXPECTED = 0.9  # the weight of an order that is named
_DEFAULT_ORDERS = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 128.0, 256.0)


def allowance(order: float, epsilon: float, delta: float) -> float:
    """Return the largest Rényi divergence of an order that implies (epsilon, delta)-DP, rounded down.

    delta = exp((α-1)(D - ε)) (1 - 1/α)^α / (α-1) (Canonne, Kamath & Steinke 2020, Proposition 12), so
    D = ε + (ln δ + ln(1+s) + s ln(1+1/s)) / s with s = α-1. Negative if nothing may be released.
    """
    if delta <= 0.0:
        return -math.inf
    s = order - 1.0
    terms = (math.log(delta), math.log1p(s), s * math.log1p(1.0 / s))
    return epsilon + sum(terms) / s - _SLACK * (abs(epsilon) + sum(map(abs, terms)) / s)


def epsilon_of(order: float, divergence: float, delta: float) -> float:
    """Return the epsilon that a Rényi divergence implies at `delta`, rounded up: `allowance` inverted."""
    if delta <= 0.0 or math.isinf(divergence):
        return math.inf
    s = order - 1.0
    terms = (math.log(delta), math.log1p(s), s * math.log1p(1.0 / s))
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
class RenyiComposition(DeclaredFailures):
    """Sums of Rényi divergences, order by order: the filter for subsampled mechanisms.

    Fully adaptive: if the divergences of order α of releases chosen adaptively never sum to more than B,
    the run is (α, B)-Rényi-DP (Feldman & Zrnic 2021, "Individual privacy accounting via a Rényi filter",
    Theorems 3.1 and 4.3; Lécuyer 2021): exp((α-1)(L_n - Σ D_α)) is a supermartingale.

    With several orders, the best one at the end of a run may depend on the releases, so that no single order covers it.
    Their mixture does, at weights that are declared with the theorem; see `loss_mixture`. It allows 5 % more than a
    limit for each order at its share of δ (14 orders, Gaussian noise, ε = 1, δ = 1e-6; 22 % at δ = 0.01). Naming the
    best order, where it is known, allows 18 % more again, within 1 % of that order alone.

    A loss that is infinite with probability p takes p of the share of δ for failures. Divergences are those of the
    finite part, E[e^{(α-1)L}; L < ∞], so that bounds on it need no renormalising.

    Parameters
    ----------
    orders
        Above 1, increasing.
    expected
        The order that gets the weight 0.9, the others sharing 0.1; by default all weigh the same.
    failures
        The share of the budget's δ for losses that are infinite; see `DeclaredFailures`.
    """

    orders: tuple[float, ...] = _DEFAULT_ORDERS
    expected: float | None = None
    name: ClassVar[str] = "Rényi filter"
    _any_suffices: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        # One order, as in "renyi, orders=2".
        given = self.orders if isinstance(self.orders, Iterable) else (self.orders,)
        orders = tuple(real("orders", order) for order in given)
        if not orders or orders[0] <= 1 or math.isinf(orders[-1]) or list(orders) != sorted(set(orders)):
            raise ParameterError(f"orders = {self.orders!r}: must increase, above 1 and finite")
        object.__setattr__(self, "orders", orders)
        if self.expected is not None:
            expected = real("expected", self.expected)
            if expected not in orders:
                raise ParameterError(f"expected = {self.expected!r}: must be one of orders = {orders}")
            object.__setattr__(self, "expected", expected)

    @functools.cached_property
    def _weights(self) -> tuple[float, ...]:
        number = len(self.orders)
        if self.expected is None or number == 1:
            return (1.0 / number,) * number
        rest = (1.0 - _EXPECTED) / (number - 1)
        return tuple(_EXPECTED if order == self.expected else rest for order in self.orders)

    @functools.cached_property
    def denominators(self) -> tuple[int, ...]:
        """Units in a charge of 1: `UNIT` for δ, and 2^60 for divergences, which keeps their sums short."""
        return (UNIT, *(_UNIT,) * len(self.orders))

    @functools.cached_property
    def _names(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("delta", *(f"Rényi divergence of order {order:g}" for order in self.orders))

    def settings(self) -> dict[str, Any]:
        """Return the parameters as JSON-able data, exact to the last bit."""
        return {
            **super().settings(),
            "orders": [order.hex() for order in self.orders],
            "expected": None if self.expected is None else self.expected.hex(),
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> RenyiComposition:
        """Rebuild from `settings`; files without an expected order or a declared share have none."""
        expected = settings.get("expected")
        return cls(
            tuple(map(float.fromhex, settings["orders"])),
            None if expected is None else float.fromhex(expected),
            failures=float.fromhex(settings.get("failures", "0x0p+0")),
        )

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return the divergences of the mechanism at the record's sensitivity, rounded up.

        Raises
        ------
        UnsupportedCharge
            If none of the orders has a finite divergence, or the loss may be infinite and no share of δ is declared
            for that.
        """
        profile = mechanism.profile(sensitivity)
        bounds = divergences(profile, self.orders)
        least = 0 if profile.pure_epsilon == 0 else 1  # a divergence may be too small for a float
        if min(bounds) == math.inf:
            raise UnsupportedCharge(
                f"{type(mechanism).__name__} has no finite Rényi divergence at these orders"
            )
        return self.amount(
            (
                self.paid_by_failures(mechanism, profile.infinite_mass),
                *(
                    None if math.isinf(b) else Fraction(max(least, math.ceil(Fraction(b) * _UNIT)), _UNIT)
                    for b in bounds
                ),
            )
        )

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Return True if delta is within its limit and the mixture of all orders implies the budget's epsilon."""
        if any(is_within(spent.values, box) for box in self.boxes(budget)):
            return True
        delta, most = spent.values[0], self.failure_limit(budget)
        assert delta is not None
        assert most is not None
        return delta <= most and self._epsilon(spent, self.split(budget.delta).losses) <= budget.epsilon

    def boxes(self, budget: Budget) -> Sequence[NumberLimits]:
        """Return the limit of each order alone, with that of delta: it is all that counts for most of a run."""
        delta, *limits = self._limits(budget)
        if limits_nothing(budget):
            return ((delta, *limits),)
        without = (None,) * len(limits)
        return [(delta, *without[:i], limit, *without[i + 1 :]) for i, limit in enumerate(limits)]

    def _loss_limits(self, epsilon: float, losses: Fraction) -> tuple[Fraction, ...]:
        """Return the limit of each order alone; all orders together may allow a little more."""
        return _order_limits(self.orders, self._weights, epsilon, losses)

    def _epsilon(self, spent: Spend, losses: Fraction) -> float:
        """Return the ε that the mixture implies."""
        share = float(losses) * (1 - _SLACK)
        return epsilon_of_mixture(self.orders, self._weights, _rounded_up(spent), share)

    def _rank(self, spent: Spend) -> tuple[float, Fraction]:
        """Order totals by their best ε at δ = 1e-6."""
        assert spent.values[0] is not None
        pairs = zip(self.orders, spent.values[1:], strict=True)
        return min(
            math.inf if value is None else epsilon_of(order, up(value), 1e-6) for order, value in pairs
        ), spent.values[0]

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        By Ville's inequality for the mixture; see `loss_mixture`.
        """
        assert spent.values[0] is not None
        split = self.failures_in_odometer(spent.values[0], delta)
        share = float(split.losses) * (1 - _SLACK)
        most = loss_at_every_moment(self.orders, self._weights, _rounded_up(spent), share)
        return Cost(None if math.isinf(most) else Fraction(most), Fraction(delta))


def _rounded_up(spent: Spend) -> list[float]:
    return [math.inf if value is None else up(value) for value in spent.values[1:]]


@functools.lru_cache(maxsize=4096)
def _order_limits(
    orders: tuple[float, ...], weights: tuple[float, ...], epsilon: float, delta: Fraction
) -> tuple[Fraction, ...]:
    """Return the largest divergence of each order that implies (epsilon, delta)-DP by itself."""
    share = float(delta) * (1 - _SLACK)
    limits = (
        allowance(order, epsilon, weight * share) for order, weight in zip(orders, weights, strict=True)
    )
    return tuple(Fraction(max(0.0, limit)) for limit in limits)
