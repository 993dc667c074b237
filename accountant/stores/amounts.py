"""Amounts as text."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition
from accountant.filters.units import Units, Vector


def written(amount: Amount) -> list[str | None]:
    """Return an amount as JSON-able data, exact."""
    return [None if value is None else str(value) for value in amount.values]


def read(values: Sequence[str | None], composition: Composition) -> Any:
    """Return the amount that `written` described."""
    return composition.amount(tuple(None if value is None else Fraction(value) for value in values))


class Texts:
    """Totals of accounts by their text, read once.

    Attributes
    ----------
    units
        The theorem's.
    """

    def __init__(self, units: Units, most: int = 65_536) -> None:
        self.units = units
        self._most = most
        self._read: dict[str, Vector] = {}

    def of(self, text: str) -> Vector:
        """Return the total of a text."""
        known = self._read.get(text)
        if known is None:
            if len(self._read) >= self._most:
                self._read.clear()
            known = self._read[text] = self.units.parse_vector(text)
        return known
