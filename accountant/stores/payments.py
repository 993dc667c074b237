"""Many charges as columns of numbers: about 50 bytes for a charge of one record."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence

from accountant.rules.scope import Scope

_Paid = list[tuple[int, tuple[int, ...]]]
"""Kinds of one charge, by position, each with the accounts that paid it."""


class Payments:
    """Charges by their positions, in order."""

    def __init__(self) -> None:
        self._positions = array("q")
        self._scopes = array("L")  # where in `_listed`
        self._parts = array("q", [0])  # where the parts of each charge begin, and those of the next one
        self._kinds = array("q")
        self._payers = array("q", [0])  # where the accounts of each part begin, and those of the next one
        self._accounts = array("q")
        self._listed: list[Scope] = []
        self._numbers: dict[Scope, int] = {}

    def add(self, position: int, paid: Sequence[tuple[int, Sequence[int]]], scope: Scope) -> None:
        """Add a charge behind all others.

        Parameters
        ----------
        position
            Its position in the store.
        paid
            Kinds, by position, each with the accounts that paid it.
        scope
            Its purpose and tenant.
        """
        number = self._numbers.get(scope)
        if number is None:
            number = self._numbers[scope] = len(self._listed)
            self._listed.append(scope)
        for kind, accounts in paid:
            self._accounts.extend(accounts)
            self._kinds.append(kind)
            self._payers.append(len(self._accounts))
        self._positions.append(position)
        self._scopes.append(number)
        self._parts.append(len(self._kinds))

    def __getitem__(self, position: int) -> _Paid:
        index = self._index(position)
        return [
            (self._kinds[part], tuple(self._accounts[self._payers[part] : self._payers[part + 1]]))
            for part in range(self._parts[index], self._parts[index + 1])
        ]

    def scope(self, position: int) -> Scope:
        """Return the purpose and tenant of a charge."""
        return self._listed[self._scopes[self._index(position)]]

    def _index(self, position: int) -> int:
        found = bisect_left(self._positions, position)
        if found == len(self._positions) or self._positions[found] != position:
            raise KeyError(position)
        return found
