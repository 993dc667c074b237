"""The operations of a service on its ledger, with the JSON names of its clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from accountant.accountant import Accountant
from accountant.filters.share import share_spent
from accountant.gates.lineage import RecordId
from accountant.gates.messages import some_value
from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums
from accountant.ledger.quote import Quote
from accountant.ledger.store import AnswerErased, KeyUsed, Settled
from accountant.ledger.summary import Summary
from accountant.place import acting_for
from accountant.refusals import BudgetExceeded, GateClosed, PurposeRefused, Refusal
from accountant.rules.clock import ClockAhead
from accountant.service.amounts_json import accounts_json, summary_json
from accountant.service.cached_value import CachedValue
from accountant.service.problem_details import Problems, ServiceProblem, answered_as, invalid, kind_of
from accountant.service.record_account import RecordAccount
from accountant.service.request_bodies import ReleaseRequest
from accountant.service.rules_shown import RuleShown, rules_shown
from accountant.stores.sql_store import OpenReservation, SQLStore
from accountant.stores.store_refusals import LedgerDamaged, StoreRefused
from mechanisms import Domain, DomainError, Mechanism


@contextmanager
def _mechanism_problems() -> Iterator[None]:
    """Turn a gate's refusals into problems of the mechanism; refusals for other reasons pass."""
    try:
        yield
    except (ClockAhead, GateClosed, PurposeRefused, StoreRefused):
        raise
    except Refusal as refused:
        raise ServiceProblem(422, kind_of(refused), refused.message, "mechanism") from None
    except (TypeError, ValueError) as error:
        raise invalid("mechanism", str(error)) from None


_PROBLEMS: Problems = {
    BudgetExceeded: (409, "budget-exceeded", "{0.message}"),
    PurposeRefused: (403, "purpose-refused", "{0.message}"),
    ClockAhead: (503, "clock-ahead", "{0}"),
    KeyUsed: (
        *(409, "key-used"),
        "this key was used for something else: other mechanism, domain or records, or another step",
        "request",
    ),
    AnswerErased: (
        *(410, "gone"),
        "the answer to this request was erased, and is not drawn anew: another release needs another key",
        "request",
    ),
    Settled: (409, "settled", "the reservation was drawn or given back before, or it has ended"),
    # The reason may tell of private data.
    GateClosed: (503, "closed", "the ledger is closed: nothing more is charged"),
    LedgerDamaged: (503, "damaged", "the ledger is damaged: dpwitness check shows the place"),
    StoreRefused: (503, "store-refused", "the store is not spent from ({1})"),
    # The store was out of reach before its commit, in it or after it.
    OSError: (503, "unknown", "it is unknown whether it was charged: repeat the request under its key"),
}


class Desk:
    """An accountant on a store, as operations in the names of clients.

    Each client has request keys of its own: two clients may use the same ones.

    Parameters
    ----------
    store
        The ledger; its terms are those that it was made for.
    """

    def __init__(self, store: SQLStore) -> None:
        self.store = store
        terms = store.terms
        self._accountant = Accountant(
            terms.budget,
            composition=terms.composition,
            trust=terms.trust,
            strict=terms.strict,
            store=store,
        )
        self._rules = CachedValue(self._read_rules)

    # --- spending --------------------------------------------------------------------------------

    def release(self, client: str, asked: ReleaseRequest) -> dict[str, Any]:
        """Charge, and return outputs: once for each request's key, however often it is asked."""
        with self._acting_for(client):
            private = self._private_values(asked)
            self._quote(asked, private)
            key = _key(client, asked.request)
            outputs = self._accountant.release(asked.mechanism, private, request=key).tolist()
        return {"request": asked.request, "outputs": outputs}

    def reserve(self, client: str, asked: ReleaseRequest) -> dict[str, Any]:
        """Charge for a release of values that are not known yet."""
        with self._acting_for(client):
            quote, key = self._quote(asked, self._private_values(asked)), _key(client, asked.request)
            made = self._accountant.reserve(quote, request=key, seconds=asked.seconds)
        return {"request": asked.request, "until": made.until and made.until.isoformat()}

    def commit(self, client: str, asked: ReleaseRequest) -> dict[str, Any]:
        """Draw a reserved release; the charge is final from here on."""
        self._find_reservation(client, asked.request)
        return self.release(client, asked)

    def cancel(self, client: str, request: str) -> dict[str, Any]:
        """Give a reservation's charge back."""
        self.give_back(client, self._find_reservation(client, request))
        return {"request": request, "state": "returned"}

    def give_back(self, client: str, position: int) -> dict[str, Any]:
        """Give a reservation of any client back."""
        with self._acting_for(client):
            try:
                self.store.give_back(position)
            except Settled as settled:
                if not settled.returned:  # else asked again: the answer is the same
                    raise
        return {"reservation": position, "state": "returned"}

    def _quote(self, asked: ReleaseRequest, private: Private | PrivateSums) -> Quote:
        """Return the price of a release; a refusal here depends on public data only."""
        with _mechanism_problems():
            return self._accountant.price(asked.mechanism, private)

    def _private_values(self, asked: ReleaseRequest) -> Private | PrivateSums:
        """Let a request's values in; a reservation has arbitrary ones, as the cost depends on their domain only."""
        domain = asked.domain
        values = asked.values
        if values is None:
            values = (some_value(domain),) * len(asked.records)
        entered = []
        for i, (record, value) in enumerate(zip(asked.records, values, strict=True)):
            try:
                entered.append(self._accountant.private(value, domain, record))
            except Refusal:
                raise
            except (DomainError, ValueError, OverflowError):  # its message has the value
                raise invalid(
                    f"data[{i}].value", f"must be of shape {domain.shape} and in the domain"
                ) from None
        if len(entered) == 1:
            return entered[0]
        size = entered[0].shape[-1]
        sums, at = self._accountant.sums(size), np.arange(size)[None, :]
        for each in entered:
            sums.add(each, at)
        return sums

    def _find_reservation(self, client: str, request: str) -> int:
        with self._acting_for(client):
            found = self.store.find_request(_key(client, request))
        if found is None or found[1] is None:
            raise ServiceProblem(
                404, "no-reservation", f"request = {request!r}: nothing was reserved with this key", "request"
            )
        return found[0]

    @contextmanager
    def _acting_for(self, client: str) -> Iterator[None]:
        """Act in a client's name in the block, and turn its refusals into problems."""
        with answered_as(_PROBLEMS), acting_for(f"key {client}"):
            yield

    # --- reading ---------------------------------------------------------------------------------

    def remaining(self, client: str, records: tuple[RecordId, ...]) -> dict[str, Any]:
        """Return the amounts that records have spent, rounded up, and have left, rounded down; None is no limit."""
        with self._acting_for(client):
            standings = self.store.standings(records)
        return accounts_json(self._accountant, records, standings)

    def remaining_releases(
        self, client: str, mechanism: Mechanism, domain: Domain, records: tuple[RecordId, ...]
    ) -> dict[str, Any]:
        """Return the number of further releases through a mechanism that records can afford, of values in a domain."""
        moved = domain.sensitivity
        with self._acting_for(client), _mechanism_problems():
            rooms = [
                self._accountant.remaining_releases(mechanism, each, sensitivity=moved) for each in records
            ]
        pairs = zip(records, rooms, strict=True)
        found = [{"record": each, "room": None if room == float("inf") else room} for each, room in pairs]
        return {"records": found}

    def find_record(self, client: str, record: RecordId) -> RecordAccount:
        """Return a record's spent and remaining amounts, and the number of each release it can still pay for."""
        terms, composition = self.store.terms, self.store.terms.composition
        with self._acting_for(client):
            (standing,) = self.store.standings((record,))
            lines = self._accountant.summary().lines
            more: list[float] | None = None
            with suppress(PurposeRefused):
                more = self._accountant.remaining_charges([line.charge for line in lines], record)
        return RecordAccount(
            record,
            composition.guarantee(standing.spent, terms.budget).description,
            composition.remaining_spend(standing.spent, terms.budget).words_left,
            [
                (str(rule), composition.remaining_spend(spent, rule.budget).words_left)
                for rule, spent in standing.counted
            ],
            lines,
            more,
        )

    def summary(self, client: str = "") -> Summary:
        """Summarise the charges by release."""
        with self._acting_for(client):
            return self._accountant.summary()

    def summary_json(self, client: str) -> dict[str, Any]:
        """Return the summary as JSON-able data."""
        with self._acting_for(client):
            return summary_json(self._accountant)

    def most_spent(self, count: int, client: str = "") -> list[tuple[RecordId, str, str, float | None]]:
        """Return the records that have spent most: record, spent and left in words, and the share that is spent."""
        with self._acting_for(client):
            found = self.store.most_spent(count)
        terms = self.store.terms
        composition, budget = terms.composition, terms.budget
        return [
            (
                record,
                composition.guarantee(spent, budget).description,
                composition.remaining_spend(spent, budget).words_left,
                share_spent(composition, spent, budget),
            )
            for record, spent in found
        ]

    def rules(self, client: str = "") -> list[RuleShown]:
        """Return the remaining amount under each rule of the record nearest to its limit."""
        with self._acting_for(client):
            return self._rules.get()

    def _read_rules(self) -> list[RuleShown]:
        terms = self.store.terms
        return rules_shown(terms.composition, terms.budget, self.store.rule_standings())

    def reservations(self, client: str = "") -> dict[int, OpenReservation]:
        """Return the open reservations, by position."""
        with self._acting_for(client):
            return self.store.reservations()

    def check(self) -> None:
        """Refuse if nothing can be charged.

        Raises
        ------
        ServiceProblem
            With the reason.
        """
        with self._acting_for(""):
            self._accountant.check_open()
            self.store.check()


def _key(client: str, request: str) -> str:
    return f"{client}:{request}"  # no name of a key has a colon
