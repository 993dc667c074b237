"""Zero-concentrated differential privacy as a privacy filter."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import UnsupportedCharge, promised
from accountant.filters.conversions import pure_to_zcdp, zcdp_of
from accountant.filters.renyi import allowance, epsilon_of
from accountant.filters.spend import Spend, difference, needs_delta
from accountant.losses.certified_interval import CertifiedInterval
from mechanisms import Mechanism, Sensitivity
from mechanisms.rounding import up

_NAMES = ("rho", "delta")
_LINES = tuple(2.0**k for k in range(-4, 13))  # slopes λ of an odometer's lines


@dataclass(frozen=True)
class ZeroConcentratedComposition:
    """Sums of rho, exact: the filter for Gaussian noise, and a good one for small pure losses.

    A mechanism is δ-approximately ρ-zCDP if, but for probability δ, its Rényi divergences are at most ρα for
    every α > 1 (Bun & Steinke 2016, Definition 8.1). Fully adaptive: releases that are δ_i-approximately
    ρ_i-zCDP given all before, with Σ ρ_i <= ρ and Σ δ_i <= δ always, make a δ-approximately ρ-zCDP run
    (Feldman & Zrnic 2021, Theorem 3.1, for every order at once, since all orders stop together; Lécuyer
    2021; with the δ_i: Whitehouse, Ramdas, Rogers & Wu 2023, the approximate zCDP filter of Section 3).

    A release costs the ρ of its profile; else ε tanh(ε/2) if it is ε-DP (`pure_to_zcdp`), and δ with it if it
    is (ε, δ)-DP (Bun & Steinke 2016, Section 8).
    """

    name = "zCDP filter"

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return (rho, delta) in this currency."""
        rho, delta = values
        return Spend(_NAMES, (rho, delta))

    @property
    def zero(self) -> Spend:
        """Nothing spent."""
        return self.amount((Fraction(0), Fraction(0)))

    @property
    def infinite(self) -> Spend:
        """What a declassification costs."""
        return self.amount((None, Fraction(0)))

    def settings(self) -> dict[str, Any]:
        """Return no parameters."""
        return {}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> ZeroConcentratedComposition:
        """Rebuild from `settings`."""
        return cls()

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` unless the budget has a delta."""
        needs_delta(self.name, budget)

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return (rho, delta) of the mechanism at the record's sensitivity.

        Raises
        ------
        UnsupportedCharge
            If neither a rho nor a finite epsilon is known.
        """
        profile = mechanism.profile(sensitivity)
        rho = zcdp_of(profile)
        if rho is not None:
            return self.amount((Fraction(rho), Fraction(0)))
        delta = mechanism.nominal_delta
        epsilon = profile.epsilon(delta) if 0 < delta < 1 else math.inf
        if math.isinf(epsilon):
            raise UnsupportedCharge(
                f"no zCDP parameter is known for {type(mechanism).__name__} (RenyiComposition may have one)"
            )
        return self.amount((Fraction(pure_to_zcdp(epsilon)), Fraction(delta)))

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Whether rho is at most what implies the budget's epsilon at the delta that is left."""
        rho, delta = spent.values
        assert delta is not None
        if delta > Fraction(budget.delta):
            return False
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return True
        return rho is not None and rho <= rho_limit(budget.epsilon, Fraction(budget.delta) - delta)

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the epsilon that rho implies at the budget's delta."""
        rho, delta = spent.values
        assert delta is not None
        if budget.delta == 1.0:
            return Cost(Fraction(0), Fraction(1))
        left = Fraction(budget.delta) - delta
        if rho is None or left <= 0:
            epsilon = Fraction(0) if rho == 0 and left == 0 else None
            return Cost(epsilon, max(Fraction(budget.delta), delta))
        return Cost(Fraction(epsilon_of_rho(up(rho), float(left) * (1 - 1e-15))), Fraction(budget.delta))

    def left(self, spent: Spend, budget: Budget) -> Spend:
        """Return the rho and delta that are left."""
        delta = spent.values[1]
        assert delta is not None
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return self.amount((None, Fraction(budget.delta)))
        rho = rho_limit(budget.epsilon, max(Fraction(0), Fraction(budget.delta) - delta))
        return difference(_NAMES, (rho, Fraction(budget.delta)), spent)

    def exceeds(self, spent: Spend, other: Spend) -> bool:
        """Whether one total is worse than another: by rho, then by delta."""
        return _rank(spent) > _rank(other)

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        exp(λ(L_n - (1+λ)ρ_n)) is a supermartingale, so by Ville's inequality P(∃n: L_n > (1+λ)ρ_n +
        ln(1/δ)/λ) <= δ (Whitehouse et al. 2023, Section 4: odometers that are tight at one chosen point);
        δ is shared among 17 lines.
        """
        rho, failed = spent.values
        assert failed is not None
        left = float(Fraction(delta) - failed) * (1 - 1e-15)
        if left <= 0:
            raise UnsupportedCharge(f"no bound holds at every moment with delta = {delta:g}")
        if rho is None:
            return Cost(None, Fraction(delta))
        weight = math.log(len(_LINES) / left)
        best = min((1 + slope) * up(rho) + weight / slope for slope in _LINES)
        return Cost(Fraction(best * (1 + 1e-14)), Fraction(delta))

    def promise(self, budget: Budget, delta: float) -> CertifiedInterval:
        """Return what (epsilon, delta)-DP of the budget implies."""
        return promised(self.name, budget, delta)


def _rank(spent: Spend) -> tuple[bool, Fraction, Fraction]:
    rho, delta = spent.values
    assert delta is not None
    return rho is None, rho or Fraction(0), delta


@functools.lru_cache(maxsize=4096)
def rho_limit(epsilon: float, delta: Fraction) -> Fraction:
    """Return the largest rho that implies (epsilon, delta)-DP, rounded down.

    The largest `allowance` / α over the orders: every order gives a valid one.
    """
    share = float(delta) * (1 - 1e-15)
    if share <= 0.0:
        return Fraction(0)
    order = _best_order(lambda alpha: -allowance(alpha, epsilon, share) / alpha)
    return Fraction(max(0.0, allowance(order, epsilon, share) / order * (1 - 1e-15)))


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the epsilon that rho-zCDP implies at delta, rounded up: the least over the Rényi orders."""
    if rho == 0.0:
        return 0.0
    order = _best_order(lambda alpha: epsilon_of(alpha, alpha * rho, delta))
    return epsilon_of(order, order * rho * (1 + 1e-15), delta)


def _best_order(cost: Callable[[float], float]) -> float:
    """Minimise over orders 1 + e^t by golden section: a poor minimum is still a valid bound."""
    shrink = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = -14.0, 24.0
    inner, outer = high - shrink * (high - low), low + shrink * (high - low)
    at_inner, at_outer = cost(1.0 + math.exp(inner)), cost(1.0 + math.exp(outer))
    for _ in range(60):
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - shrink * (high - low)
            at_inner = cost(1.0 + math.exp(inner))
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + shrink * (high - low)
            at_outer = cost(1.0 + math.exp(outer))
    return 1.0 + math.exp(0.5 * (low + high))
