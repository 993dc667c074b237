"""Composition theorems that hold for fully adaptive use, behind one interface.

The ledger keeps each record's spend *in the currency of a composition theorem*. A theorem states the cost of
one release in its currency, the sum of costs, whether a total is within a budget, and the (epsilon, delta) of
a total. Parallel composition needs no theorem here: releases that share no
record never meet in an account.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from accountant.budget import Budget, Cost
from mechanisms import ApproximateProfile, Mechanism, Sensitivity
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.parameters import DPWitnessError, ParameterError


class Composition(Protocol):
    """A composition theorem as a privacy filter (Rogers, Roth, Ullman & Vadhan, 2016).

    Its currency is a tuple of exact numbers that add up one by one: epsilon and delta, rho, squares of Gaussian
    mu, one Rényi divergence for each order, counts of planned releases. The theorem gives them meaning. Values
    of a composition are immutable.
    """

    @property
    def name(self) -> str:
        """The name of the theorem, as reports print it."""

    def amount(self, values: tuple[Fraction | None, ...]) -> Any:
        """Return an amount of the currency with these numbers.

        A theorem may have an attribute ``denominators``, too: for each number one that its charges are multiples of, a
        divisor of `accountant.filters.units.UNIT`, so that accounts are counted in short numbers.
        """

    @property
    def zero_spend(self) -> Any:
        """Nothing spent."""

    @property
    def infinite_spend(self) -> Any:
        """The spend of a declassification: more than every finite budget."""

    def settings(self) -> dict[str, Any]:
        """Return the theorem's parameters as JSON-able data, exact to the last bit."""

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Composition:
        """Rebuild from `settings`."""

    def check(self, budget: Budget) -> None:
        """Raise `ValueError` if the theorem can guarantee nothing under this budget."""

    def charge(self, mechanism: Mechanism, sensitivity: Sensitivity) -> Any:
        """Return the cost of one release for a record that moves the value by `sensitivity`.

        Raises
        ------
        UnsupportedCharge
            If the theorem gives no cost for this mechanism.
        """

    def fits(self, spent: Any, budget: Budget) -> bool:
        """Return True if a total spend is within `budget`, also if the releases were chosen adaptively.

        A theorem may have a method ``boxes(budget)``, too, which returns the `NumberLimits` that each suffice alone, so
        that most totals need not be asked for.
        """

    def guarantee(self, spent: Any, budget: Budget) -> Cost:
        """Return the (epsilon, delta) that a total amounts to, delta being the budget's.

        It is the guarantee of a run with this total as its limit.
        """

    def remaining_spend(self, spent: Any, budget: Budget) -> Any:
        """Return the spend that is left to a record."""

    def exceeds(self, spent: Any, other: Any) -> bool:
        """Return True if one total is worse than another."""

    def odometer(self, spent: Any, delta: float) -> Cost:
        """Return the (epsilon, delta) of the run so far, valid at every stopping time that depends on released values.

        With L the loss and ε the reading then, E(1 - e^{ε-L})^+ <= δ, whatever the rule for stopping.

        Raises
        ------
        UnsupportedCharge
            If the theorem gives none at this delta.
        """

    def promise(self, budget: Budget, delta: float) -> Enclosure | Bound:
        """Return the epsilon of a whole run within `budget`, now and later, at `delta`.

        Raises
        ------
        UnsupportedCharge
            If the theorem says nothing there; the message names the theorem that would.
        """


NumberLimits = tuple[Fraction | None, ...]
"""A limit for each number of a currency; None for those that have none."""


def is_within(values: Sequence[Fraction | None], box: NumberLimits) -> bool:
    """Compare each number with its limit: True if it is finite and within it, or has none."""
    return all(
        most is None or (value is not None and value <= most) for value, most in zip(values, box, strict=True)
    )


class UnsupportedCharge(DPWitnessError, ValueError):
    """A composition theorem has no cost for a mechanism."""


@dataclass(frozen=True)
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

    def amount(self, values: tuple[Fraction | None, ...]) -> Cost:
        """Return (epsilon, delta)."""
        epsilon, delta = values
        if delta is None:
            raise ParameterError("delta = None: must be a number")
        return Cost(epsilon, delta)

    @property
    def zero_spend(self) -> Cost:
        """Nothing spent."""
        return Cost(Fraction(0), Fraction(0))

    @property
    def infinite_spend(self) -> Cost:
        """No finite epsilon."""
        return Cost(None, Fraction(0))

    def settings(self) -> dict[str, Any]:
        """Return no parameters."""
        return {}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> BasicComposition:
        """Rebuild from `settings`."""
        return cls()

    def check(self, budget: Budget) -> None:
        """Accept every budget."""

    def boxes(self, budget: Budget) -> Sequence[NumberLimits]:
        """Return the limits of both numbers."""
        if math.isinf(budget.epsilon):
            return ((None, None if budget.delta == 1.0 else Fraction(budget.delta)),)
        return ((Fraction(budget.epsilon), Fraction(budget.delta)),)

    def fits(self, spent: Cost, budget: Budget) -> bool:
        """Compare both coordinates exactly."""
        return spent.within(budget)

    def guarantee(self, spent: Cost, budget: Budget) -> Cost:
        """Return the total itself."""
        return spent

    def exceeds(self, spent: Cost, other: Cost) -> bool:
        """Return True if one total is worse than another: by epsilon, then by delta."""
        if spent.epsilon is None or other.epsilon is None:
            return other.epsilon is not None or (spent.epsilon is None and spent.delta > other.delta)
        return (spent.epsilon, spent.delta) > (other.epsilon, other.delta)

    def odometer(self, spent: Cost, delta: float) -> Cost:
        """Return the total: sums bound the loss at every moment (Rogers et al. 2016, Section 3).

        Raises
        ------
        UnsupportedCharge
            If the total's delta is more than `delta`.
        """
        if spent.delta > Fraction(delta):
            raise UnsupportedCharge(
                f"the releases sum to delta = {spent.delta_up:g}; for {delta:g} another theorem is needed "
                "(a filter on rho or Rényi divergences, or a plan)"
            )
        return spent

    def promise(self, budget: Budget, delta: float) -> Bound:
        """Return the epsilon at `delta` that (epsilon, delta)-DP of the budget implies."""
        return implied_epsilon(self.name, budget, delta)

    def remaining_spend(self, spent: Cost, budget: Budget) -> Cost:
        """Return the difference, at least 0; epsilon is None where the budget sets no limit."""
        delta = max(Fraction(0), Fraction(budget.delta) - spent.delta)
        if budget.epsilon == float("inf"):
            return Cost(None, delta)
        if spent.epsilon is None:
            return Cost(Fraction(0), delta)
        return Cost(max(Fraction(0), Fraction(budget.epsilon) - spent.epsilon), delta)


def implied_epsilon(theorem: str, budget: Budget, delta: float) -> Bound:
    """Return the epsilon that the budget implies at `delta`.

    Raises
    ------
    UnsupportedCharge
        Below the budget's delta.
    """
    if math.isinf(budget.epsilon):
        raise UnsupportedCharge(f"budget = {budget} limits nothing")
    if delta < budget.delta:
        raise UnsupportedCharge(
            f"the {theorem} guarantees epsilon = {budget.epsilon:g} at delta = {budget.delta:g} and nothing at "
            f"{delta:g}: optimal composition (Kairouz, Oh & Viswanath 2015) and privacy-loss distributions need "
            "mechanisms that are fixed in advance: declare a plan"
        )
    profile = ApproximateProfile(Fraction(budget.epsilon), budget.delta)
    return Bound(profile.epsilon(delta), f"budget of the {theorem}")
