"""Gaussian differential privacy as a privacy filter."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import UnsupportedCharge, promised
from accountant.filters.spend import Spend, difference, needs_delta
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.losses.certified_interval import CertifiedInterval
from mechanisms import Gaussian, GaussianProfile, Mechanism, Sensitivity
from mechanisms.profile import gaussian_mu_at
from mechanisms.rounding import divide_up, square_root_up
from mechanisms.sensitivity import UNIT

_NAMES = ("mu²",)
_ULPS = 1 + 4 * 2.0**-52  # calibration rounds sigma, and the ratio to the sensitivity


@dataclass(frozen=True)
class GaussianComposition:
    """Sums of μ², exact: with Gaussian noise no filter can be tighter.

    A mechanism is μ-GDP if telling D from D′ is no easier than telling N(0, 1) from N(μ, 1) (Dong, Roth &
    Su 2022). Fully adaptive: releases that are μ_i-GDP given all before, with Σ μ_i² <= μ² always, make a
    μ-GDP run (Smith & Thakurta 2022, "Fully adaptive composition for Gaussian differential privacy";
    Koskela, Tobaben & Honkela 2023, "Individual privacy accounting with Gaussian differential privacy",
    whose supermartingale is the hockey-stick divergence with the unspent Gaussian still to come).

    A release costs the square of its profile's `gaussian_mu`, which every pure mechanism has too.
    """

    name = "Gaussian DP filter"

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return μ² in this currency."""
        (square,) = values
        return Spend(_NAMES, (square,))

    @property
    def zero(self) -> Spend:
        """Nothing spent."""
        return self.amount((Fraction(0),))

    @property
    def infinite(self) -> Spend:
        """What a declassification costs."""
        return self.amount((None,))

    def settings(self) -> dict[str, Any]:
        """Return no parameters."""
        return {}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> GaussianComposition:
        """Rebuild from `settings`."""
        return cls()

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` unless the budget has a delta."""
        needs_delta(self.name, budget)

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return μ² of the mechanism at the record's sensitivity.

        Raises
        ------
        UnsupportedCharge
            If no μ is known for which the mechanism is μ-GDP.
        """
        mu = mechanism.profile(sensitivity).gaussian_mu
        if mu is None:
            raise UnsupportedCharge(
                f"no Gaussian-DP parameter is known for {type(mechanism).__name__}: its loss is unbounded and "
                "not dominated by a Gaussian's"
            )
        return self.amount((Fraction(mu) ** 2,))

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Whether μ² is at most what implies (epsilon, delta)."""
        (square,) = spent.values
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return True
        return square is not None and square <= square_limit(budget.epsilon, budget.delta)

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the epsilon that μ implies at the budget's delta (exact: Dong, Roth & Su 2022, Corollary 2.13)."""
        (square,) = spent.values
        delta = Fraction(budget.delta)
        if budget.delta == 1.0 or square == 0:
            return Cost(Fraction(0), delta)
        if square is None or delta == 0:
            return Cost(None, delta)
        epsilon = GaussianProfile(square_root_up(square)).epsilon(budget.delta)
        if self.fits(spent, budget):  # the inverse may end a few units in the last place above
            epsilon = min(epsilon, budget.epsilon)
        return Cost(Fraction(epsilon), delta)

    def left(self, spent: Spend, budget: Budget) -> Spend:
        """Return the μ² that is left."""
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return self.infinite
        return difference(_NAMES, (square_limit(budget.epsilon, budget.delta),), spent)

    def exceeds(self, spent: Spend, other: Spend) -> bool:
        """Whether one total is worse than another."""
        (mine,), (others,) = spent.values, other.values
        return others is not None and (mine is None or mine > others)

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        μ-GDP implies μ²/2-zCDP (Dong, Roth & Su 2022, Cor. B.6), so the zCDP odometer applies.
        """
        concentrated = ZeroConcentratedComposition()
        (square,) = spent.values
        rho = None if square is None else square / 2
        return concentrated.odometer(concentrated.amount((rho, Fraction(0))), delta)

    def promise(self, budget: Budget, delta: float) -> CertifiedInterval:
        """Return epsilon at any delta > 0: a run within the budget is μ-GDP as a whole."""
        if math.isinf(budget.epsilon) or budget.delta == 1.0 or delta == 0.0:
            return promised(self.name, budget, delta)
        mu = square_root_up(square_limit(budget.epsilon, budget.delta))
        upper = GaussianProfile(mu).epsilon(delta)
        return CertifiedInterval(0.0, upper, "none", f"budget of the {self.name}")


@functools.lru_cache(maxsize=1024)
def square_limit(epsilon: float, delta: float) -> Fraction:
    """Return the square of the largest μ whose Gaussian profile passes through (epsilon, delta).

    As the exact calibration has it: one release that is calibrated for (epsilon, delta) fits. Both are as
    accurate as the profile, whose δ has a relative error of about 1e-12.
    """
    if delta <= 0.0:
        return Fraction(0)
    if epsilon == 0.0:
        mu = gaussian_mu_at(0.5 * (1.0 - delta), delta)
    else:
        mu = divide_up(1.0, Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=UNIT).sigma)
    return Fraction(mu * _ULPS) ** 2
