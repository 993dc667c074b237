"""Exact amounts as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from accountant.budget import Amount
from accountant.filters.composition_theorem import Composition


def written(amount: Amount) -> list[str | None]:
    """Return an amount as JSON-able data, exact."""
    return [None if value is None else str(value) for value in amount.values]


def read(values: Sequence[str | None], composition: Composition) -> Any:
    """Return the amount that `written` described."""
    return composition.amount(tuple(None if value is None else Fraction(value) for value in values))


class Amounts:
    """Amounts by their text, read once."""

    def __init__(self, composition: Composition, most: int = 65_536) -> None:
        self._composition = composition
        self._most = most
        self._read: dict[str, Any] = {}

    def of(self, text: str) -> Any:
        """Return the amount of a text."""
        known = self._read.get(text)
        if known is None:
            if len(self._read) >= self._most:
                self._read.clear()
            known = self._read[text] = read(json.loads(text), self._composition)
        return known

    @staticmethod
    def text(amount: Amount) -> str:
        """Return the text of an amount."""
        return json.dumps(written(amount), separators=(",", ":"))
