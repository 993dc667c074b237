"""Advanced composition as a privacy filter."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant.budget import Budget, Cost
from accountant.filters.composition_theorem import BasicComposition, UnsupportedCharge, promised
from accountant.filters.spend import Spend, difference, needs_delta
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from accountant.losses.certified_interval import CertifiedInterval
from mechanisms import Mechanism, Sensitivity
from mechanisms.rounding import up

_NAMES = ("the sum of epsilon", "the sum of epsilon²", "delta")


@dataclass(frozen=True)
class AdvancedComposition:
    """Sums of ε, ε² and δ: many small losses cost like the root of their number.

    Fully adaptive: if releases are (ε_i, δ_i)-DP given all before, and always Σ δ_i <= δ - δ′ and

        √(2 ln(1/δ′) Σ ε_i²) + Σ ε_i² / 2 <= ε,

    the run is (ε, δ)-DP: the filter of Whitehouse, Ramdas, Rogers & Wu 2023, "Fully-adaptive composition in
    differential privacy", Section 3, with the constants of advanced composition (Rogers, Roth, Ullman &
    Vadhan 2016, Section 5, has larger ones). Proof: but for probability Σ δ_i the losses are those of
    ε_i²/2-zCDP mechanisms, and by Ville's inequality their sum exceeds ρ + 2√(ρ ln(1/δ′)) with
    probability at most δ′ while Σ ε_i²/2 <= ρ.

    A run may also go on while Σ ε_i <= ε: where that holds at the end the loss is at most ε outright, so
    that it has no part in δ′ and both conditions need not hold at once.
    """

    name = "advanced composition filter"

    def amount(self, values: tuple[Fraction | None, ...]) -> Spend:
        """Return (Σ ε, Σ ε², Σ δ) in this currency."""
        total, squares, delta = values
        return Spend(_NAMES, (total, squares, delta))

    @property
    def zero(self) -> Spend:
        """Nothing spent."""
        return self.amount((Fraction(0), Fraction(0), Fraction(0)))

    @property
    def infinite(self) -> Spend:
        """What a declassification costs."""
        return self.amount((None, None, Fraction(0)))

    def settings(self) -> dict[str, Any]:
        """Return no parameters."""
        return {}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> AdvancedComposition:
        """Rebuild from `settings`."""
        return cls()

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` unless the budget has a delta."""
        needs_delta(self.name, budget)

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Spend:
        """Return (ε, ε², δ), the pair being that of basic composition.

        Raises
        ------
        UnsupportedCharge
            If the loss is unbounded and the mechanism names no delta.
        """
        cost = BasicComposition().charge(mechanism, sensitivity)
        square = None if cost.epsilon is None else cost.epsilon**2
        return self.amount((cost.epsilon, square, cost.delta))

    def fits(self, spent: Spend, budget: Budget) -> bool:
        """Whether the advanced or the basic condition holds."""
        total, squares, delta = spent.values
        assert delta is not None
        left = Fraction(budget.delta) - delta
        if left < 0:
            return False
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return True
        if total is None or squares is None:
            return False
        return total <= Fraction(budget.epsilon) or squares <= _squares_limit(budget.epsilon, left)

    def guarantee(self, spent: Spend, budget: Budget) -> Cost:
        """Return the smaller of both epsilons at the budget's delta."""
        total, squares, delta = spent.values
        assert delta is not None
        if budget.delta == 1.0:
            return Cost(Fraction(0), Fraction(1))
        left = float(Fraction(budget.delta) - delta) * (1 - 1e-15)
        if total is None or squares is None or left < 0:
            return Cost(None, max(Fraction(budget.delta), delta))
        if left == 0:
            return Cost(total, delta)
        sum_up = up(squares)
        epsilon = (math.sqrt(2.0 * math.log(1.0 / left) * sum_up) + sum_up / 2.0) * (1 + 1e-14)
        return Cost(min(total, Fraction(epsilon)), Fraction(budget.delta))

    def left(self, spent: Spend, budget: Budget) -> Spend:
        """Return what is left of Σ ε, Σ ε² (one of them suffices) and Σ δ."""
        delta = spent.values[2]
        assert delta is not None
        if math.isinf(budget.epsilon) or budget.delta == 1.0:
            return self.amount((None, None, Fraction(budget.delta)))
        rest = max(Fraction(0), Fraction(budget.delta) - delta)
        limits = (Fraction(budget.epsilon), _squares_limit(budget.epsilon, rest), Fraction(budget.delta))
        return difference(_NAMES, limits, spent)

    def exceeds(self, spent: Spend, other: Spend) -> bool:
        """Whether one total is worse than another: by Σ ε², then Σ ε, then Σ δ."""
        return _rank(spent) > _rank(other)

    def odometer(self, spent: Spend, delta: float) -> Cost:
        """Return an epsilon that covers the loss at every moment at once, up to probability `delta`.

        The smaller of Σ ε and the zCDP odometer at ρ = Σ ε²/2.
        """
        total, squares, failed = spent.values
        assert failed is not None
        if failed > Fraction(delta):
            raise UnsupportedCharge(f"the releases alone have delta = {float(failed):g}, more than {delta:g}")
        if total is None or squares is None:
            return Cost(None, Fraction(delta))
        if failed == Fraction(delta):
            return Cost(total, failed)
        concentrated = ZeroConcentratedComposition()
        by_lines = concentrated.odometer(concentrated.amount((squares / 2, failed)), delta)
        assert by_lines.epsilon is not None
        return Cost(min(total, by_lines.epsilon), Fraction(delta))

    def promise(self, budget: Budget, delta: float) -> CertifiedInterval:
        """Return what (epsilon, delta)-DP of the budget implies."""
        return promised(self.name, budget, delta)


def _rank(spent: Spend) -> tuple[bool, Fraction, Fraction, Fraction]:
    total, squares, delta = spent.values
    assert delta is not None
    return squares is None, squares or Fraction(0), total or Fraction(0), delta


@functools.lru_cache(maxsize=4096)
def _squares_limit(epsilon: float, delta: Fraction) -> Fraction:
    """Return the largest Σ ε² that the condition allows, rounded down: √S <= √(2l + 2ε) - √(2l), l = ln(1/δ′)."""
    share = float(delta) * (1 - 1e-15)
    if share <= 0.0:
        return Fraction(0)
    weight = 2.0 * math.log(1.0 / share)
    root = 2.0 * epsilon / (math.sqrt(weight + 2.0 * epsilon) + math.sqrt(weight))
    return Fraction(root * root * (1 - 1e-14))
