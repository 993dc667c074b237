"""The spent share of a budget, as one number."""

from __future__ import annotations

from fractions import Fraction

from accountant.budget import Amount, Budget
from accountant.filters.composition_theorem import Composition
from mechanisms.numerics.rounding import up

NEARLY_SPENT = 0.8
"""The share of a budget from which on it is called nearly spent."""


def share_spent(composition: Composition, spent: Amount, budget: Budget) -> float | None:
    """Return how much of a budget is spent, between 0 and 1, rounded up.

    Of several numbers that must all suffice, the one that is nearest to its limit counts. It is None if nothing limits
    them, or one of them suffices (Rényi orders): then there is no one number.
    """
    if getattr(spent, "any_suffices", False) or budget == Budget.unlimited():
        return None
    left = composition.remaining_spend(spent, budget)
    shares = [
        Fraction(1) if used is None else used / (used + rest)
        for (_, used), (_, rest) in zip(spent.parts(), left.parts(), strict=True)
        if rest is not None and (used is None or used + rest > 0)
    ]
    return up(max(shares)) if shares else None
