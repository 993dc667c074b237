"""Records' accounts: the price of a release, the check against the budget, and the spent totals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from accountant.budget import Amount, Budget, Cost, asked_and_left
from accountant.filters.composition_theorem import Composition, UnsupportedCharge
from accountant.filters.units import Limit, Units
from accountant.gates.lineage import RecordId
from accountant.ledger.entry import Entry
from accountant.ledger.events import Charge
from accountant.ledger.ledger import Ledger
from accountant.ledger.store import CannotPay, Receipt, Store
from accountant.place import Place, calling_place
from accountant.record_name import check_length
from accountant.refusals import (
    BudgetExceeded,
    OtherNeighbours,
    PurposeRefused,
    SensitivityExceeded,
    TheoremMissing,
)
from accountant.rules.limits import NotPermitted
from accountant.rules.reach import words_of_rule
from accountant.rules.rule import Rule
from accountant.rules.scope import CURRENT_SCOPE, Scope
from mechanisms import Mechanism, Neighbouring, Sensitivity
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.composition.inversion import most_that_fit
from mechanisms.domains.neighbouring import conversion_hint
from mechanisms.noise.mechanism import neighbouring_of
from mechanisms.parameters import ParameterError, half_open_unit, real

_KEPT = 4_096
"""The largest number of charges in the cache, by mechanism and sensitivity."""


class Accounts:
    """Every record's account under one budget and one composition theorem.

    Checking and charging are one step for other threads; a refusal changes nothing.

    Parameters
    ----------
    budget
        The largest loss of each record in total.
    composition
        The theorem that adds up losses.
    store
        The ledger of the accounts: in memory by default.
    rules
        Limits beside the budget, of accounts in memory.
    spends_on
        The scope of charges outside of any `spending_on`.

    Raises
    ------
    ParameterError
        If the theorem can guarantee nothing under this budget.
    """

    def __init__(
        self,
        budget: Budget,
        composition: Composition,
        store: Store | None,
        rules: Sequence[Rule],
        spends_on: Scope,
    ) -> None:
        composition.check(budget)
        self._spends_on = spends_on
        self._budget = budget
        self._composition = composition
        self._charging = threading.RLock()  # its holder sees no release and no addition half done
        self._ledger: Store = Ledger(composition, rules) if store is None else store
        # Held while the ledger is written: stores that last queue by themselves.
        self._bookkeeping: AbstractContextManager[object] = self._charging if store is None else nullcontext()
        self._units = Units(composition)
        self._holds = Limit(self._units, budget).holds
        self._charges: dict[tuple[Mechanism, Sensitivity], Amount] = {}

    @property
    def budget(self) -> Budget:
        """The total that each record may lose."""
        return self._budget

    @property
    def composition(self) -> Composition:
        """The theorem that adds up losses."""
        return self._composition

    @property
    def neighbouring(self) -> Neighbouring:
        """The neighbouring relation of every charge and guarantee: one record is replaced, its name stays."""
        return self._ledger.neighbouring

    def _for_relation(self, message: str) -> str:
        return f"{message} (neighbours: {self.neighbouring})"

    # --- charging --------------------------------------------------------------------------------

    def _charge(self, mechanism: Mechanism, sensitivity: Sensitivity, place: Place) -> Amount:
        key = (mechanism, sensitivity)
        charge = self._charges.get(key)
        if charge is None:
            if not mechanism.sensitivity.covers(sensitivity):
                norms = _told_apart(sensitivity, mechanism.sensitivity)
                raise SensitivityExceeded(
                    f"one record can move the value by {norms[0]}, but this {type(mechanism).__name__} is "
                    f"calibrated for {norms[1]}",
                    place,
                )
            relation = neighbouring_of(mechanism, sensitivity)
            if relation is not self.neighbouring:
                raise OtherNeighbours(
                    f"the profile of this {type(mechanism).__name__} is for neighbours {relation.value!r}, "
                    f"the accounts are for {self.neighbouring.value!r}; {conversion_hint(relation, self.neighbouring)}",
                    place,
                )
            try:
                charge = self.composition.charge(mechanism, sensitivity)
            except UnsupportedCharge as error:
                raise TheoremMissing(self._for_relation(f"{self.composition.name}: {error}"), place) from None
            if len(self._charges) >= _KEPT:  # mechanisms without end would fill the memory
                self._charges.clear()
            self._charges[key] = charge
        return charge

    def _pay(
        self,
        entries: Sequence[Entry],
        place: Place,
        *,
        hold: bool = False,
        request: str | None = None,
        lasts: int | None = None,
    ) -> Receipt:
        """Charge all the records, or refuse and charge none.

        Raises
        ------
        ParameterError
            If the request's key is no text: ledgers tell 1, 1.0, True and lists apart in ways of their own. Or if it is
            longer than stores take.
        """
        if request is not None:
            if not isinstance(request, str):
                raise ParameterError(f"request = {request!r}: must be a text")
            check_length("request", request)
        try:
            with self._bookkeeping:
                return self._ledger.do(Charge(entries, self._holds, hold, request, self._scope(), lasts))
        except CannotPay as refused:
            raise self._refusal(refused, place, entries) from None
        except NotPermitted as refused:
            raise PurposeRefused(str(refused), place) from None

    def _scope(self) -> Scope:
        """Return the scope of charges here: that of `spending_on`, and for the rest the accountant's."""
        said, usual = CURRENT_SCOPE.get(), self._spends_on
        if said.purpose is None and said.tenant is None:
            return usual
        return Scope(
            usual.purpose if said.purpose is None else said.purpose,
            usual.tenant if said.tenant is None else said.tenant,
        )

    def _refusal(self, refused: CannotPay, place: Place, entries: Sequence[Entry]) -> BudgetExceeded:
        rule = refused.rule
        left = self.composition.remaining_spend(refused.spent, self.budget if rule is None else rule.budget)
        words = asked_and_left(refused.charge, left)
        limit, bounds = "its budget" if rule is None else str(rule), ""
        if rule is not None and (rule.purpose is not None or rule.tenant is not None):
            bounds = words_of_rule(rule, self.rules, self.composition, self.budget)
        others = tuple(each for each in self._short(entries) if each != refused.record)
        return BudgetExceeded(
            refused.record, words, place, self.neighbouring, limit, refused.again, bounds, others
        )

    def _short(self, entries: Sequence[Entry]) -> list[RecordId]:
        """List the records that cannot pay their charges, each by itself, in the budget or a rule's."""
        asked: dict[RecordId, Any] = {}
        for entry in entries:
            for record in entry.records:
                asked[record] = asked[record] + entry.charge if record in asked else entry.charge
        if len(asked) == 1:  # it is the one that was refused
            return []
        scope, fits, names = self._scope(), self.composition.fits, list(asked)
        return [
            name
            for name, standing in zip(names, self._ledger.standings(names), strict=True)
            if not fits(standing.spent + asked[name], self.budget)
            or not all(
                fits(spent + asked[name], rule.budget)
                for rule, spent in standing.counted
                if rule.counts(scope)
            )
        ]

    def _check_budget(self, entries: Sequence[Entry], place: Place) -> None:
        refused = self._first_refused(entries, place)
        if refused is not None:
            raise self._refusal(refused, place, entries)

    def _first_refused(self, entries: Sequence[Entry], place: Place) -> CannotPay | None:
        """Return why the first record that cannot pay cannot."""
        try:
            with self._ledger.refusals(self._holds, self._scope()) as refusal:
                return refusal(entries)
        except NotPermitted as refused:
            raise PurposeRefused(str(refused), place) from None

    # --- spent amounts ---------------------------------------------------------------------------

    @property
    def ledger(self) -> Store:
        """Every charge so far."""
        return self._ledger

    def spent(self, record: RecordId) -> Cost:
        """Return the (epsilon, delta) that `record` has lost so far.

        Exact under basic composition. Under other theorems it is the guarantee, at the budget's delta, of a run with
        this total as its limit; a figure that holds at any stopping time is `odometer`'s.
        """
        return self.composition.guarantee(self._ledger.spent(record), self.budget)

    def remaining_spend(self, record: RecordId) -> Any:
        """Return the amount that `record` may still spend, in the theorem's currency.

        Under basic composition a `Cost`, whose epsilon is None where the budget sets no limit.
        """
        return self.composition.remaining_spend(self._ledger.spent(record), self.budget)

    @property
    def rules(self) -> Sequence[Rule]:
        """Limits beside the budget, now."""
        return self._ledger.rules

    def left_by_rule(self, record: RecordId) -> dict[Rule, Any]:
        """Return the remaining amount of `record`, or its group, under each rule that counts its charges.

        A charge needs room in the budget (`remaining_spend`) and in every rule that counts it.
        """
        return {
            rule: self.composition.remaining_spend(spent, rule.budget)
            for standing in self._ledger.standings([record])
            for rule, spent in standing.counted
        }

    def remaining_charges(self, charges: Sequence[Amount], record: RecordId) -> list[float]:
        """Return the number of times that a record can still pay each charge; inf if a trillion.

        Found by the check that refuses, all at one moment, for the current purpose and tenant (`spending_on`).

        Raises
        ------
        PurposeRefused
            If the rules name purposes or tenants, and none that goes with these.
        """
        place = calling_place()

        def count_that_fit(charge: Amount, refusal: Callable[[Sequence[Entry]], CannotPay | None]) -> float:
            def fits(count: int) -> bool:
                asked = self._units.repeated(charge, count)
                return refusal([Entry(None, None, asked, (record,), place, "")]) is None

            return most_that_fit(fits)

        try:
            with self._ledger.refusals(self._holds, self._scope()) as refusal:
                return [count_that_fit(charge, refusal) for charge in charges]
        except NotPermitted as refused:
            raise PurposeRefused(str(refused), place) from None

    def check_permitted(self) -> None:
        """Refuse unless the rules permit charges for the current purpose and tenant.

        Raises
        ------
        PurposeRefused
            If they name purposes or tenants, and none that goes with these.
        """
        self._first_refused((), calling_place())

    def odometer(self, record: RecordId, delta: float | None = None) -> Cost:
        """Return the (epsilon, delta) that covers the loss of `record` so far, valid at any time.

        Parameters
        ----------
        record
            The record.
        delta
            However the moment was chosen by what was released, the run until then is (epsilon, delta)-DP for the
            record with the epsilon read; the budget's delta by default.

        Raises
        ------
        TheoremMissing
            If the theorem in use gives no such number at this delta.
        """
        at = self.budget.delta if delta is None else real("delta", delta)
        try:
            return self.composition.odometer(self._ledger.spent(record), at)
        except UnsupportedCharge as error:
            raise TheoremMissing(
                self._for_relation(f"{self.composition.name}: {error}"), calling_place()
            ) from None

    def guarantee(self, delta: float | None = None) -> Enclosure | Bound:
        """Return the epsilon of every record in the whole run, now and later, at `delta`.

        With a plan it is the plan's, as tight as it gets; else what the budget implies.

        Raises
        ------
        TheoremMissing
            If no theorem in use supports the number; the message names the one that would.
        ParameterError
            If delta is outside [0, 1).
        """
        at = half_open_unit("delta", self.budget.delta if delta is None else delta)
        try:
            return self.composition.promise(self.budget, at).stated_for(self.neighbouring)
        except UnsupportedCharge as error:
            raise TheoremMissing(self._for_relation(str(error)), calling_place()) from None

    def worst(self) -> tuple[RecordId | None, Cost]:
        """Return the record that has spent most, and its loss in the form of `spent`."""
        record, total = self._ledger.worst()
        return record, self.composition.guarantee(total, self.budget)


def _told_apart(*sensitivities: Sensitivity) -> list[str]:
    """Return the norms of sensitivities that differ, with as many digits as it takes to see that."""
    for digits in (6, 17):
        shown = [
            f"(l1 = {s.l1:.{digits}g}, l2 = {s.l2:.{digits}g}, linf = {s.linf:.{digits}g})"
            for s in sensitivities
        ]
        if len({*shown}) > 1:
            break
    return shown
