"""Releases in two phases: a quote with the price, then a reservation that is charged before its noise is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt

from accountant.gates.lineage import RecordId
from accountant.gates.private import Private
from accountant.gates.private_sums import PrivateSums
from accountant.ledger.entry import Entry
from accountant.ledger.store import Receipt, Settled
from accountant.place import Place
from mechanisms import Assumption, Mechanism
from mechanisms.numerics.printed_numbers import counted_noun
from mechanisms.parameters import ParameterError

if TYPE_CHECKING:
    from accountant.gates.gate import Mask
    from accountant.gates.release import GateMechanism


LONGEST = 1e9
"""The longest time to a reservation's deadline, in seconds: 31 years."""


class _Reserving(Protocol):
    """The accountant of a reservation."""

    _reserving: Lock
    """Held while a reservation changes its state."""

    def _draw(self, quote: Quote, position: int, request: str | None) -> npt.NDArray[Any]:
        """Sample a priced release that is reserved at a position of the ledger, perhaps for a request."""

    def _take_back(self, position: int) -> None:
        """Give back the charges of a cancelled reservation."""


@dataclass(frozen=True)
class Quote:
    """The charge of a release; made by `Accountant.price`, charged by `Accountant.reserve`.

    Attributes
    ----------
    entries
        The entries that the ledger would have, with the price for each record.
    place
        The line of code of the call.
    refused
        The first record that could not pay when it was priced; None if all could.
    assumptions
        The unchecked assumptions of the release.
    """

    _accountant: _Reserving = field(repr=False, compare=False)
    _own: GateMechanism = field(repr=False, compare=False)
    _private: Private | PrivateSums = field(repr=False, compare=False)
    _where: Mask | None = field(repr=False, compare=False)
    entries: tuple[Entry, ...]
    place: Place
    refused: RecordId | None
    assumptions: tuple[Assumption, ...] = ()

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of the release."""
        return self._own.shown

    @property
    def affordable(self) -> bool:
        """True if every record could pay when it was priced."""
        return self.refused is None

    def __str__(self) -> str:
        records = sum(len(entry.records) for entry in self.entries)
        costs = "; ".join(dict.fromkeys(str(entry.charge) for entry in self.entries)) or "nothing"
        return f"{counted_noun(records, 'record')} would pay {costs}"


class Reservation:
    """A release that is charged and not yet sampled; made by `Accountant.reserve`.

    ``release()`` samples, once. ``commit()`` closes it. ``cancel()`` gives the charge back while nothing has
    been sampled. In all other cases, errors included, the charge stays in the ledger, to its deadline if it has one; in
    a durable store, ``dpwitness ledger show`` lists those whose holder is gone, and ``dpwitness ledger amend
    --cancel`` gives them back. As a context manager it commits after a release and cancels if there was none, unless an
    exception leaves the block.
    """

    def __init__(
        self, accountant: _Reserving, quote: Quote, receipt: Receipt, request: str | None = None
    ) -> None:
        self._accountant = accountant
        self._quote = quote
        self._position = receipt.position
        self._until = receipt.until
        self._request = request
        self._state = "reserved"

    @property
    def position(self) -> int:
        """Its position in the ledger, which is its name on the command line."""
        return self._position

    @property
    def until(self) -> datetime | None:
        """Its deadline by the ledger's clock; None without."""
        return None if self._until is None else datetime.fromtimestamp(self._until / 1_000, UTC)

    @property
    def state(self) -> str:
        """``"reserved"``, ``"released"``, ``"committed"`` or ``"cancelled"``."""
        return self._state

    def release(self) -> npt.NDArray[Any]:
        """Sample the outputs; they are public.

        Raises
        ------
        ParameterError
            If it was released before, cancelled or given back, or its deadline has passed, or the private sums have
            changed since they were priced.
        """
        self._require("reserved", "released")
        try:
            return self._accountant._draw(self._quote, self._position, self._request)
        except Settled as settled:
            if settled.returned:  # nothing was drawn, and the charge is gone
                self._state = "cancelled"
            raise

    def commit(self) -> None:
        """Close a released reservation: the charge is final.

        Raises
        ------
        ParameterError
            If nothing was released, or it is closed already.
        """
        self._require("released", "committed")

    def cancel(self) -> None:
        """Give the charge back; nothing is to be done if its deadline has passed.

        Raises
        ------
        ParameterError
            If something was released, or it is closed already.
        """
        self._require("reserved", "cancelled")
        try:
            self._accountant._take_back(self._position)
        except Settled as settled:
            if not settled.returned or self._until is None:
                raise

    def _require(self, state: str, next_state: str) -> None:
        with self._accountant._reserving:
            if self._state != state:
                raise ParameterError(
                    f"this reservation is {self._state}: only a {state} one can be {next_state}"
                )
            self._state = next_state

    def __enter__(self) -> Reservation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state == "released":
            self.commit()
        elif self._state == "reserved" and kind is None:
            self.cancel()
