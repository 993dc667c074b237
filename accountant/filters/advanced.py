"""Advanced composition as a privacy filter."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import BasicComposition, NumberLimits
from accountant.filters.failures import DeclaredFailures
from accountant.filters.spend import Spend
from accountant.filters.zero_concentrated import odometer_of_rho
from mechanisms import Mechanism, Sensitivity
from mechanisms.numerics.rounding import up


@dataclass(frozen=True)
class AdvancedComposition(DeclaredFailures):
    """Sums of ε, ε² and δ: many small losses cost like the root of their number.

    Fully adaptive: if releases are (ε_i, δ_i)-DP given all before, and always Σ δ_i <= δ_f and

        √(2 ln(1/δ′) Σ ε_i²) + Σ ε_i² / 2 <= ε,

    the run is (ε, δ)-DP: the filter of Whitehouse, Ramdas, Rogers & Wu 2023, "Fully-adaptive composition in
    differential privacy", Section 3, with the constants of advanced composition (Rogers, Roth, Ullman &
    Vadhan 2016, Section 5, has larger ones). Proof: unless one fails (`DeclaredFailures`) the losses are those of
    ε_i²/2-zCDP mechanisms, and by Ville's inequality their sum exceeds ρ + 2√(ρ ln(1/δ′)) with
    probability at most δ′ = δ - δ_f while Σ ε_i²/2 <= ρ.

    A run may also go on while Σ ε_i <= ε: where that holds at the end the loss is at most ε outright, so
    that it has no part in δ′ and both conditions need not hold at once. The share δ_f for failures is the same.
    """

    name: ClassVar[str] = "advanced composition filter"
    _names: ClassVar[tuple[str, ...]] = ("the sum of epsilon", "the sum of epsilon²", "delta")

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return (ε, ε², δ), the pair being that of basic composition.

        Raises
        ------
        UnsupportedCharge
            If the loss is unbounded and the mechanism names no delta, or none is declared for such releases.
        """
        cost = BasicComposition().charge(mechanism, sensitivity)
        square = None if cost.epsilon is None else cost.epsilon**2
        return self.amount((cost.epsilon, square, self.paid_by_failures(mechanism, float(cost.delta))))

    def boxes(self, budget: Budget) -> Sequence[NumberLimits]:
        """Return the limits of the basic condition and of the advanced one, each with that of delta."""
        total, squares, delta = self._limits(budget)
        return (total, None, delta), (None, squares, delta)

    def _epsilon(self, spent: Spend, losses: Fraction) -> float:
        """Return the ε of the advanced condition."""
        squares, share = spent.values[1], float(losses) * (1 - 1e-15)
        if squares is None or share <= 0.0:
            return math.inf
        sum_up = up(squares)
        return (math.sqrt(-2.0 * math.log(share) * sum_up) + sum_up / 2.0) * (1 + 1e-14)

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the smaller of both epsilons at the budget's delta, the declared share of it being for failures."""
        found, (total, _, failed) = super().guarantee(spent, budget), spent.values
        assert failed is not None
        if total is None or budget.delta == 1.0 or failed > self.split(budget.delta).failures:
            return found
        return Cost(total if found.epsilon is None else min(total, found.epsilon), found.delta)

    def _loss_limits(self, epsilon: float, losses: Fraction) -> tuple[Fraction, Fraction]:
        return Fraction(epsilon), _squares_limit(epsilon, losses)

    def _rank(self, spent: Spend) -> tuple[Any, ...]:
        """Order totals by Σ ε², then Σ ε, then Σ δ."""
        total, squares, delta = spent.values
        return squares is None, squares or Fraction(0), total or Fraction(0), delta

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        The smaller of Σ ε and the zCDP odometer at ρ = Σ ε²/2.
        """
        total, squares, failed = spent.values
        by_lines = odometer_of_rho(self, None if squares is None else squares / 2, failed, delta)
        if total is None or by_lines.epsilon is None:
            return by_lines
        return Cost(min(total, by_lines.epsilon), Fraction(delta))


@functools.lru_cache(maxsize=4096)
def _squares_limit(epsilon: float, delta: Fraction) -> Fraction:
    """Return the largest Σ ε² that the condition allows, rounded down: √S <= √(2l + 2ε) - √(2l), l = ln(1/δ′)."""
    share = float(delta) * (1 - 1e-15)
    if share <= 0.0:
        return Fraction(0)
    weight = -2.0 * math.log(share)
    root = 2.0 * epsilon / (math.sqrt(weight + 2.0 * epsilon) + math.sqrt(weight))
    return Fraction(root * root * (1 - 1e-14))
