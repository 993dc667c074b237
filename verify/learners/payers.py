"""The records of Pareto-maximal cost (ε, δ) under a composition theorem.

Costs have no total order: of (0.9, 0) and (0.8, 0.5) none covers the other. All records' costs are within a claim
exactly if their covering cost is, the largest epsilon beside the largest delta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from accountant import Budget, Composition, Cost, Entry, RecordId
from algorithms.claim import Claim
from mechanisms import Mechanism, Sensitivity


@dataclass(frozen=True)
class Payer:
    """A record, and its cost.

    Attributes
    ----------
    record
        Its name.
    cost
        The cost of its charges.
    charges
        Each release that it was part of, with its charge under the theorem.
    """

    record: RecordId
    cost: Cost
    charges: tuple[Entry, ...]


def within(cost: Cost, claim: Claim) -> bool:
    """Return True if a cost is within a claim, in both numbers."""
    return cost.epsilon_up <= claim.epsilon and cost.delta_up <= claim.delta


def covering(costs: Iterable[Cost]) -> Cost:
    """Return the least cost that is at least each of these in both numbers."""
    epsilon: Fraction | None = Fraction(0)
    delta = Fraction(0)
    for cost in costs:
        epsilon = None if epsilon is None or cost.epsilon is None else max(epsilon, cost.epsilon)
        delta = max(delta, cost.delta)
    return Cost(epsilon, delta)


def _maximal(payers: Iterable[Payer]) -> tuple[Payer, ...]:
    """Return the payers with costs that no other one's covers (the Pareto set), the largest epsilon first."""
    kept: list[Payer] = []
    for payer in sorted(payers, key=lambda each: (each.cost.epsilon_up, each.cost.delta_up), reverse=True):
        if not any(each.cost.delta >= payer.cost.delta for each in kept):
            kept.append(payer)
    return tuple(kept)


@dataclass(frozen=True)
class Pricing:
    """Runs as one composition theorem prices them.

    An accountant with the covering cost as its budget, under this theorem, would have refused nothing in the runs.

    Attributes
    ----------
    theorem
        The theorem that prices releases and adds up the prices.
    payers
        The Pareto set of all records of all runs.
    """

    theorem: Composition
    payers: tuple[Payer, ...] = ()

    @property
    def cost(self) -> Cost:
        """The least cost that covers every record of every run."""
        return covering(payer.cost for payer in self.payers)

    def with_payers(self, payers: Iterable[Payer]) -> Pricing:
        """Return the pricing of these runs and others."""
        return Pricing(self.theorem, _maximal([*self.payers, *payers]))

    def of_run(self, entries: Iterable[Entry], budget: Budget, *, own: bool) -> tuple[Payer, ...] | None:
        """Return the records that paid most in a run; None if the theorem has no price for a release.

        Parameters
        ----------
        entries
            The charged entries.
        budget
            The budget with which a total is compared: where it fits, its cost is at most that.
        own
            True if the theorem is the accountant's: then the entries' charges are its prices.
        """
        prices: dict[tuple[Mechanism | None, Sensitivity | None], Any] = {}
        charges: dict[RecordId, list[Entry]] = {}
        totals: dict[RecordId, Any] = {}
        for entry in entries:
            kind = (entry.mechanism, entry.sensitivity)
            if own:
                prices[kind] = entry.charge
            elif kind not in prices:
                try:
                    prices[kind] = self._price(*kind)
                except Exception:  # a user's mechanism may raise anything
                    return None
            price = prices[kind]
            priced = entry._replace(charge=price, records=())
            for record in entry.records:
                charges.setdefault(record, []).append(priced)
                totals[record] = totals[record] + price if record in totals else price
        first: dict[Any, RecordId] = {}
        for record, total in totals.items():
            first.setdefault(total, record)
        return _maximal(
            Payer(record, self.theorem.guarantee(total, budget), tuple(charges[record]))
            for total, record in first.items()
        )

    def _price(self, mechanism: Mechanism | None, moved: Sensitivity | None) -> Any:
        """Return the cost of a release to each of its records."""
        if mechanism is None or moved is None:
            return self.theorem.infinite_spend
        return self.theorem.charge(mechanism, moved)
