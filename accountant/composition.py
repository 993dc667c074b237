"""Composition theorems that hold for fully adaptive use, behind one interface.

The ledger keeps, per record, what it has spent *in the currency of a composition theorem*. A theorem
says what one release costs in its currency, how costs add up, whether a total fits a budget, and what
(epsilon, delta) a total amounts to. Parallel composition needs no theorem here: releases that share no
record never meet in an account.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from mechanisms import Mechanism, Sensitivity

from .budget import Budget, Cost


class Composition(Protocol):
    """A composition theorem as a privacy filter (Rogers, Roth, Ullman & Vadhan, 2016).

    The currency is `Cost`, an exact pair; a theorem gives its two entries their meaning.
    """

    @property
    def name(self) -> str:
        """The name of the theorem, as reports print it."""

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Cost:
        """Return what one release costs a record that moves the value by `sensitivity`.

        Raises
        ------
        UnsupportedCharge
            If the theorem gives no cost for this mechanism.
        """

    def add(self, spent: Cost, charge: Cost) -> Cost:
        """Return what a record has spent after one more charge."""

    def fits(self, spent: Cost, budget: Budget) -> bool:
        """Whether a record that has spent this is within `budget`, whatever came adaptively."""

    def guarantee(self, spent: Cost) -> Cost:
        """Return the (epsilon, delta) that the total amounts to."""

    def left(self, spent: Cost, budget: Budget) -> Cost:
        """Return what a record may still spend."""


class UnsupportedCharge(ValueError):
    """A composition theorem has no cost for a mechanism."""


class BasicComposition:
    """Sums of epsilons and deltas, exact in rational arithmetic.

    A record that took part in releases with guarantees (epsilon_i, delta_i), each chosen adaptively
    from what was released before, has lost at most (sum epsilon_i, sum delta_i) (Dwork, McSherry,
    Nissim & Smith 2006; fully adaptive: Rogers et al. 2016, Theorem 3.1).

    Each release is charged at the record's *own* sensitivity: a mechanism calibrated for K moved
    coordinates costs a record that moves one of them its K-th part.
    """

    name = "basic composition"

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Cost:
        """Return (epsilon, delta) of the mechanism at the record's sensitivity.

        For a mechanism of unbounded privacy loss, delta is the mechanism's own `nominal_delta` and
        epsilon is its profile's value there.

        Raises
        ------
        UnsupportedCharge
            If the loss is unbounded and the mechanism names no delta in (0, 1).
        """
        profile = mechanism.profile(sensitivity)
        if profile.pure_epsilon is not None:
            return Cost(Fraction(profile.pure_epsilon), Fraction(0))
        delta = mechanism.nominal_delta
        name = type(mechanism).__name__
        if delta == 0:
            raise UnsupportedCharge(
                f"{name} has unbounded privacy loss and names no delta, which this theorem needs "
                "(build it with for_epsilon_delta, or pass delta=...)"
            )
        if not 0 < delta < 1:
            raise UnsupportedCharge(f"{name} names delta={delta!r}, which is not in (0, 1)")
        epsilon = profile.epsilon(delta)
        if not epsilon >= 0:
            raise UnsupportedCharge(f"the profile of {name} gives epsilon={epsilon!r} at delta={delta!r}")
        if epsilon == float("inf"):
            return Cost(None, Fraction(delta))
        return Cost(Fraction(epsilon), Fraction(delta))

    def add(self, spent: Cost, charge: Cost) -> Cost:
        """Return the coordinate-wise sum."""
        return spent + charge

    def fits(self, spent: Cost, budget: Budget) -> bool:
        """Compare both coordinates exactly."""
        return spent.within(budget)

    def guarantee(self, spent: Cost) -> Cost:
        """Return the total itself."""
        return spent

    def left(self, spent: Cost, budget: Budget) -> Cost:
        """Return the difference, at least 0; epsilon is None where the budget sets no limit."""
        delta = max(Fraction(0), Fraction(budget.delta) - spent.delta)
        if budget.epsilon == float("inf"):
            return Cost(None, delta)
        if spent.epsilon is None:
            return Cost(Fraction(0), delta)
        return Cost(max(Fraction(0), Fraction(budget.epsilon) - spent.epsilon), delta)


COMPOSITIONS: dict[str, type[Composition]] = {BasicComposition.name: BasicComposition}
"""Composition theorems by name, for loading a ledger."""
