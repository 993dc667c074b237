"""Zero-concentrated differential privacy as a privacy filter."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from accountant.budget import Cost
from accountant.filters.composition_theorem import UnsupportedCharge
from accountant.filters.failures import DeclaredFailures
from accountant.filters.loss_mixture import loss_at_every_moment
from accountant.filters.renyi import allowance, epsilon_of
from accountant.filters.spend import Spend
from mechanisms import Mechanism, Sensitivity
from mechanisms.composition.conversions import pure_to_zcdp, zcdp_of
from mechanisms.numerics.rounding import up

_ODOMETER_ORDERS = tuple(1.0 + 2.0**k for k in range(-4, 13))
_ODOMETER_WEIGHTS = (1.0 / len(_ODOMETER_ORDERS),) * len(_ODOMETER_ORDERS)


@dataclass(frozen=True)
class ZeroConcentratedComposition(DeclaredFailures):
    """Sums of rho, exact: the filter for Gaussian noise, and a good one for small pure losses.

    A mechanism is δ-approximately ρ-zCDP if, but for probability δ, its Rényi divergences are at most ρα for
    every α > 1 (Bun & Steinke 2016, Definition 8.1). Fully adaptive: releases that are δ_i-approximately
    ρ_i-zCDP given all before, with Σ ρ_i <= ρ and Σ δ_i <= δ always, make a δ-approximately ρ-zCDP run
    (Feldman & Zrnic 2021, Theorem 3.1, for every order at once, since all orders stop together; Lécuyer
    2021; with the δ_i: Whitehouse, Ramdas, Rogers & Wu 2023, the approximate zCDP filter of Section 3).

    The limits are the share for failures that was declared, Σ δ_i <= δ_f, and the ρ that implies (ε, δ - δ_f)-DP; see
    `DeclaredFailures`, also for the cost of a δ that is split during the run.

    A release costs the ρ of its profile; else ε tanh(ε/2) if it is ε-DP (`pure_to_zcdp`), and δ with it if it
    is (ε, δ)-DP (Bun & Steinke 2016, Section 8).
    """

    name: ClassVar[str] = "zCDP filter"
    _names: ClassVar[tuple[str, ...]] = ("rho", "delta")
    charges_may_lead: ClassVar[bool] = True
    """It needs losses to be covered by the charges so far on every path, not each by its own (`PrivateStream`)."""

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return (rho, delta) of the mechanism at the record's sensitivity.

        Raises
        ------
        UnsupportedCharge
            If neither a rho nor a finite epsilon is known, or the release has a delta and none is declared for that.
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
        return self.amount((Fraction(pure_to_zcdp(epsilon)), self.paid_by_failures(mechanism, delta)))

    def _epsilon(self, spent: Spend, losses: Fraction) -> float:
        """Return the ε that rho implies."""
        rho = spent.values[0]
        if rho == 0:
            return 0.0
        return (
            math.inf if rho is None or losses <= 0 else _epsilon_of_rho(up(rho), float(losses) * (1 - 1e-15))
        )

    def _loss_limits(self, epsilon: float, losses: Fraction) -> tuple[Fraction]:
        return (_rho_limit(epsilon, losses),)

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        exp(λ(L_n - (1+λ)ρ_n)) is a supermartingale (Whitehouse et al. 2023, Section 4); a mixture of 17 of them
        is bounded as in `loss_mixture`.
        """
        rho, failed = spent.values
        assert failed is not None
        split = self.failures_in_odometer(failed, delta)
        if rho is None:
            return Cost(None, Fraction(delta))
        size = up(rho)
        if math.isinf(size):
            return Cost(None, Fraction(delta))
        lines = [order * size for order in _ODOMETER_ORDERS]
        share = float(split.losses) * (1 - 1e-15)
        most = loss_at_every_moment(_ODOMETER_ORDERS, _ODOMETER_WEIGHTS, lines, share)
        return Cost(None if math.isinf(most) else Fraction(most), Fraction(delta))


def odometer_of_rho(
    theorem: DeclaredFailures, rho: Fraction | None, failed: Fraction | None, delta: float
) -> Cost:
    """Return the zCDP odometer's answer for a total of another theorem, with that one's share for failures."""
    concentrated = ZeroConcentratedComposition(failures=theorem.failures)
    return concentrated.odometer(concentrated.amount((rho, failed)), delta)


@functools.lru_cache(maxsize=4096)
def _rho_limit(epsilon: float, delta: Fraction) -> Fraction:
    """Return the largest rho that implies (epsilon, delta)-DP, rounded down.

    The largest `allowance` / α over the orders: every order gives a valid one.
    """
    share = float(delta) * (1 - 1e-15)
    if share <= 0.0:
        return Fraction(0)
    order = _best_order(lambda alpha: -allowance(alpha, epsilon, share) / alpha)
    return Fraction(max(0.0, allowance(order, epsilon, share) / order * (1 - 1e-15)))


def _epsilon_of_rho(rho: float, delta: float) -> float:
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
