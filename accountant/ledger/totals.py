"""Running totals of records under one composition theorem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition
from accountant.gates.lineage import RecordId

_INTERNED = 5_461
"""So many sums are kept: histories that differ would fill the memory with what is never met again."""


class Totals:
    """What every record has spent, in the currency of a composition theorem.

    Totals are interned: records with the same recent history of charges share one exact rational, so a charge
    is one dictionary look-up whatever the number of records or earlier charges. What is known by ids holds the objects
    and is believed of these alone: another thread, which asks for prices, may forget at any line.
    """

    def __init__(self, composition: Composition) -> None:
        self._composition = composition
        self._totals: dict[RecordId, Any] = {}
        # by the ids of a total and a charge: both, and their sum
        self._sums: dict[tuple[int, int], tuple[Any, Amount, Any]] = {}
        # by the ids of a total and of the charge that led to it: both, and the total before
        self._before: dict[tuple[int, int], tuple[Any, Amount, Any]] = {}
        self._times: dict[RecordId, int] = {}
        self._affordable: dict[int, tuple[Any, bool]] = {}
        self._zero = composition.zero
        self._worst: tuple[RecordId | None, Any] | None = (None, self._zero)  # None: to be found again

    def __len__(self) -> int:
        return len(self._totals)

    def __contains__(self, record: RecordId) -> bool:
        return record in self._totals

    def records(self) -> Iterator[RecordId]:
        """Iterate over the records that have paid for anything."""
        return iter(self._totals)

    def spent(self, record: RecordId) -> Any:
        """Return what `record` has spent."""
        return self._totals.get(record, self._zero)

    def after(self, record: RecordId, charge: Amount) -> Any:
        """Return what `record` would have spent after one more `charge`; changes nothing."""
        return self.plus(self._totals.get(record, self._zero), charge)

    def affordable(self, record: RecordId, charge: Amount, fits: Callable[[Any], bool]) -> bool:
        """Whether `record` can pay one more `charge`; `fits` is always the same function."""
        return self.is_within(self.after(record, charge), fits)

    def is_within(self, after: Any, fits: Callable[[Any], bool]) -> bool:
        """Compare a total with the budget; `fits` is always the same function."""
        known = self._affordable.get(id(after))
        if known is None or known[0] is not after:
            known = self._affordable[id(after)] = after, fits(after)
        return known[1]

    def add(self, record: RecordId, charge: Amount, *, held: bool = False) -> None:
        """Charge a record; a charge that is held may be taken back soon."""
        # Interrupted (Ctrl-C), totals and counts are too high, never too low.
        self._times[record] = self._times.get(record, 0) + 1
        spent = self._totals.get(record, self._zero)
        total = self._totals[record] = self.plus(spent, charge)
        if held:
            self._before[id(total), id(charge)] = total, charge, spent
        worst = self._worst
        if worst is not None and total is not worst[1] and self._is_worse(total, worst):
            self._worst = (record, total)

    def take_back(self, record: RecordId, charge: Amount) -> None:
        """Subtract a charge that a record paid, exactly (both are finite); forget one that paid for nothing else."""
        total = self._totals[record]
        if self._worst is not None and self._worst[0] == record:
            self._worst = None
        if self._times[record] == 1:
            del self._totals[record]
            del self._times[record]
            return
        known = self._before.get((id(total), id(charge)))
        if known is not None and known[0] is total and known[1] is charge:
            self._totals[record] = known[2]
        else:
            values = zip(total.values, charge.values, strict=True)
            self._totals[record] = self._composition.amount(tuple(mine - other for mine, other in values))
        self._times[record] -= 1

    def recount(self, records: Collection[RecordId], charged: Iterable[tuple[RecordId, Amount]]) -> None:
        """Set what some records have spent to the sums of these charges, and forget those that have none."""
        totals = {record: total for record, total in self._totals.items() if record not in records}
        times = {record: number for record, number in self._times.items() if record not in records}
        for record, charge in charged:
            totals[record] = self.plus(totals.get(record, self._zero), charge)
            times[record] = times.get(record, 0) + 1
        self._totals, self._times, self._worst = totals, times, None

    def worst(self) -> tuple[RecordId | None, Any]:
        """Return the record that has spent most, and what it has spent; by a search after it was given some back."""
        if self._worst is None:
            worst: tuple[RecordId | None, Any] = (None, self._zero)
            for record, total in self._totals.items():
                if total is not worst[1] and self._is_worse(total, worst):
                    worst = (record, total)
            self._worst = worst
        return self._worst

    def _is_worse(self, total: Any, worst: tuple[RecordId | None, Any]) -> bool:
        return worst[0] is None or self._composition.exceeds(total, worst[1])

    def plus(self, spent: Any, charge: Amount) -> Any:
        """Return the sum of a total and a charge; of the same ones the same object."""
        key = (id(spent), id(charge))
        known = self._sums.get(key)
        if known is not None and known[0] is spent and known[1] is charge:
            return known[2]
        if len(self._sums) >= _INTERNED:
            self._forget()
        total = spent + charge
        self._sums[key] = spent, charge, total
        return total

    def _forget(self) -> None:
        """Forget what is known by ids, all of it."""
        self._sums.clear()
        self._before.clear()
        self._affordable.clear()
