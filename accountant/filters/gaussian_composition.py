"""Gaussian differential privacy as a privacy filter."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import UnsupportedCharge, implied_epsilon
from accountant.filters.failures import DeclaredFailures, limits_nothing
from accountant.filters.spend import Spend
from accountant.filters.zero_concentrated import odometer_of_rho
from mechanisms import GaussianProfile, Mechanism, Sensitivity
from mechanisms.composition.conversions import pure_to_gaussian
from mechanisms.composition.enclosure import Bound
from mechanisms.numerics.rounding import down, square_root_up
from mechanisms.profiles.gaussian_profile import largest_mu


@dataclass(frozen=True)
class GaussianComposition(DeclaredFailures):
    """Sums of μ², exact: with Gaussian noise no filter can be tighter.

    A mechanism is μ-GDP if distinguishing D from D′ is no easier than distinguishing N(0, 1) from N(μ, 1) (Dong, Roth &
    Su 2022). Fully adaptive: releases that are μ_i-GDP given all before, with Σ μ_i² <= μ² always, make a
    μ-GDP run (Smith & Thakurta 2022, "Fully adaptive composition for Gaussian differential privacy";
    Koskela, Tobaben & Honkela 2023, "Individual privacy accounting with Gaussian differential privacy",
    whose supermartingale is the hockey-stick divergence with the unspent Gaussian still to come).

    A release costs the square of its profile's `gaussian_mu`, which every pure mechanism has too. One that is
    only (ε, δ)-DP costs the square of the μ of ε-DP, and δ of the share for failures (`DeclaredFailures`).
    """

    name: ClassVar[str] = "Gaussian DP filter"
    _names: ClassVar[tuple[str, ...]] = ("mu²", "delta")
    charges_may_lead: ClassVar[bool] = True
    """It needs losses to be covered by the charges so far on every path, not each by its own (`PrivateStream`)."""

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return (μ², delta) in this currency; older files have μ² alone."""
        return super().amount(values if len(values) == 2 else (*values, Fraction(0)))

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return (μ², delta) of the mechanism at the record's sensitivity.

        Raises
        ------
        UnsupportedCharge
            If no μ is known for which the mechanism is μ-GDP, nor an epsilon at a delta of its own, or it has one and
            none is declared for that.
        """
        profile = mechanism.profile(sensitivity)
        mu, delta = profile.gaussian_mu, 0.0
        if mu is None:
            delta = mechanism.nominal_delta
            mu = pure_to_gaussian(profile.epsilon(delta)) if 0 < delta < 1 else math.inf
        if math.isinf(mu):
            raise UnsupportedCharge(
                f"no Gaussian-DP parameter is known for {type(mechanism).__name__}: its loss is unbounded and "
                "not dominated by a Gaussian's"
            )
        return self.amount((Fraction(mu) ** 2, self.paid_by_failures(mechanism, delta)))

    def _epsilon(self, spent: Spend, losses: Fraction) -> float:
        """Return the ε that μ implies, exact for losses that are Gaussian: Dong, Roth & Su 2022, Corollary 2.13."""
        square, share = spent.values[0], down(losses)
        if square == 0:
            return 0.0
        if square is None or share <= 0.0:
            return math.inf
        mu = square_root_up(square)
        return math.inf if math.isinf(mu) else GaussianProfile(mu).epsilon(share)

    def _loss_limits(self, epsilon: float, losses: Fraction) -> tuple[Fraction]:
        return (_square_limit(epsilon, down(losses)),)

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        μ-GDP implies μ²/2-zCDP (Dong, Roth & Su 2022, Cor. B.6), so the zCDP odometer applies.
        """
        square, failed = spent.values
        return odometer_of_rho(self, None if square is None else square / 2, failed, delta)

    def promise(self, budget: Budget, delta: float) -> Bound:
        """Return epsilon at any delta above that for failures: but for those a run within the budget is μ-GDP."""
        if limits_nothing(budget):
            return implied_epsilon(self.name, budget, delta)
        rest = down(Fraction(delta) - self.split(budget.delta).failures)
        if rest <= 0.0:
            return implied_epsilon(self.name, budget, delta)
        mu = square_root_up(_square_limit(budget.epsilon, down(self.split(budget.delta).losses)))
        return Bound(GaussianProfile(mu).epsilon(rest), f"budget of the {self.name}")


def _square_limit(epsilon: float, delta: float) -> Fraction:
    """Return the square of the largest μ for which the Gaussian profile is proved to be (epsilon, delta)-DP."""
    return Fraction(largest_mu(epsilon, delta)) ** 2
