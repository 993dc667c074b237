"""The joint privacy loss of people protected as a group."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

from accountant.budget import Budget
from accountant.filters.composition_theorem import BasicComposition, Composition
from accountant.filters.gaussian_composition import GaussianComposition
from accountant.filters.units import INFINITE, UNIT, Units, Vector
from accountant.filters.zero_concentrated import ZeroConcentratedComposition
from mechanisms.parameters import ParameterError

_DIGITS = 80
"""Binary digits of roots after the point."""


def check_groups(composition: Composition, budget: Budget) -> None:
    """Raise `ValueError` unless the losses of a group's members under this theorem have a sum under this budget.

    With a delta of the releases' own, the loss of k records has factors e^{kε}: no sum is offered for it.
    """
    if not isinstance(composition, BasicComposition | ZeroConcentratedComposition | GaussianComposition):
        raise ParameterError(
            f"rules: the {composition.name} has no sum for groups; basic composition (delta = 0), zCDP and Gaussian "
            "DP have one"
        )
    if isinstance(composition, BasicComposition) and budget.delta > 0:
        raise ParameterError(
            f"rules: a group's budget has delta = {budget.delta:g}, which under {composition.name} grows by factors "
            "of e^epsilon with each member; give it delta = 0, or use zCDP or Gaussian DP"
        )


def spent_together(units: Units, totals: Sequence[Vector]) -> Vector:
    """Return the spend of a group from its members' spends, rounded up; `check_groups` takes the theorem.

    Σ ε under basic composition; (Σ √ρ)², (Σ √μ²)² under the others. Infinite if a release had a delta of its own.

    For ρ: D_α(P‖R) <= α (ρ₁ k/(k - 1) + ρ₂ k) for k > 1 (Bun & Steinke 2016, Lemma 5.2), least for k = 1 + √(ρ₁/ρ₂).
    Gaussian trade-off functions compose to the sum of their μ (Dong, Roth & Su 2022, Section 2.4). Of several releases,
    Σ_i (Σ_j √ρ_ij)² <= (Σ_j √(Σ_i ρ_ij))² (Minkowski), however they were chosen: each ρ_ij is spent at its turn.
    """
    spent = [total for total in totals if any(total)]
    if len(spent) < 2:
        return spent[0] if spent else units.zero
    if any(loss >= INFINITE or delta for loss, delta in spent):
        return INFINITE, 0
    if isinstance(units.composition, BasicComposition):
        return sum(loss for loss, _ in spent), 0
    root = sum(_root_up(loss) for loss, _ in spent)
    return -(-root * root * UNIT >> 2 * _DIGITS), 0


def _root_up(loss: int) -> int:
    """Return at least the square root of a positive number of units, in 2^-80, by less than one of those."""
    scaled = -(-(loss << 2 * _DIGITS) // UNIT)  # rounded up
    return isqrt(scaled - 1) + 1
