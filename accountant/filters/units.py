"""Privacy spends as integers of one small unit, each charge rounded up.

A sum of fractions has the least common multiple of their denominators: with every other scale of noise it grows,
without end. Integers add up, and subtract, exactly, in any order.

**Rounding is sound for every filter.** Let a filter accept while a vector of sums S lies in a set F that is closed
downwards, and be valid for any predictable upper bounds c_i of the releases' costs. Let ĉ_i = ⌈UNIT c_i⌉. Accepting
while Σ ĉ_i / UNIT lies in F is valid for the same budget: ĉ_i / UNIT is at least c_i, and a function of it, so
predictable; and a release of cost c also has every larger cost, since all these notions are monotone. So the run is one
of costs ĉ_i / UNIT that stays in F. Roundings of different numbers of a charge (ε and ε², one divergence for each
order) need not go together: the theorems use upper bounds of each alone. What is read from a total (`guarantee`,
`remaining_spend`, `odometer`) does not fall in any of its numbers, and stays an upper bound.

**Loss.** n charges are counted by less than n units too much, 2^-1684 n. None is where 1 / UNIT divides: floats from
2^-203 on, squares of floats from 2^-75 on, and n-th parts of them for n up to 1,000, so that n charges of exactly a
budget's n-th part fit it n times, and no further one does.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from accountant.budget import Amount, Budget
from accountant.filters.composition_theorem import Composition

_ODD = math.lcm(*range(1, 1_001, 2))
UNIT = 2**256 * _ODD
"""Units in a charge of 1, for each number of a theorem without a coarser unit of its own (`denominators`)."""
INFINITE = 2**4_096
"""Infinity in units, above every limit. Sums keep the number of infinite charges, so that one can be returned."""

Vector = tuple[int, ...]
"""An amount in units, one number for each of the theorem's."""

_KEPT = 4_096
"""The largest number of prices in the cache, which bounds its memory."""
_KEPT_TEXTS = 65_536


def minus(total: Vector, price: Vector) -> Vector:
    """Return a total without a price that it holds."""
    return tuple(map(operator.sub, total, price))


class Units:
    """The amounts of a composition theorem in units.

    Parameters
    ----------
    composition
        The theorem.

    Attributes
    ----------
    composition
        The theorem.
    zero
        Nothing.
    denominators
        Units in a charge of 1, for each of the theorem's numbers.
    """

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self.zero: Vector = (0,) * len(composition.zero_spend.values)
        self.denominators: tuple[int, ...] = getattr(composition, "denominators", None) or tuple(
            [UNIT] * len(self.zero)
        )
        # By ids of the objects beside them, which keeps these alive.
        self._prices: dict[int, tuple[Amount, Vector]] = {}
        self._sums: dict[int, tuple[Vector, Vector, Vector]] = {}
        self._parsed: dict[str, Vector] = {}
        self._texts: dict[int, tuple[Vector, str]] = {}

    def price(self, charge: Amount) -> Vector:
        """Return a charge in units, each number rounded up; of the same charge the same object."""
        known = self._prices.get(id(charge))
        if known is not None and known[0] is charge:
            return known[1]
        if len(self._prices) >= _KEPT:
            self._prices.clear()
        price = tuple(
            [
                INFINITE if value is None else -(-value.numerator * one // value.denominator)
                for value, one in zip(charge.values, self.denominators, strict=True)
            ]
        )
        self._prices[id(charge)] = charge, price
        return price

    def repeated(self, charge: Amount, times: int) -> Any:
        """Return the sum of `times` equal charges, each rounded up."""
        return self.amount(tuple([times * units for units in self.price(charge)]))

    def add(self, total: Vector, price: Vector) -> Vector:
        """Return a sum; records that have paid the same, in the same order, share it."""
        known = self._sums.get(id(price))
        if known is not None and known[0] is total and known[1] is price:
            return known[2]
        if len(self._sums) >= _KEPT:
            self._sums.clear()
        found = (*map(operator.add, total, price),)
        self._sums[id(price)] = total, price, found
        return found

    def amount(self, total: Vector) -> Any:
        """Return the theorem's amount for a total in units."""
        return self.composition.amount(
            tuple(
                [
                    None if units >= INFINITE else Fraction(units, one)
                    for units, one in zip(total, self.denominators, strict=True)
                ]
            )
        )

    def format_vector(self, total: Vector) -> str:
        """Return units as text: integer multiples of 2^-256, and the exact remainder, in hexadecimal digits."""
        known = self._texts.get(id(total))
        if known is None or known[0] is not total:
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            known = self._texts[id(total)] = total, " ".join(map(_text, total, self.denominators))
        return known[1]

    def parse_vector(self, text: str) -> Vector:
        """Return the units that `format_vector` wrote; of the same text the same object."""
        known = self._parsed.get(text)
        if known is None:
            if len(self._parsed) >= _KEPT_TEXTS:
                self._parsed.clear()
            numbers = zip(text.split(" "), self.denominators, strict=True)
            known = self._parsed[text] = tuple([_parse(number, one) for number, one in numbers])
        return known


def _text(units: int, one: int) -> str:
    endless, finite = divmod(units, INFINITE)
    parts, rest = divmod(finite * (UNIT // one), _ODD)
    return f"{parts:x}" + (f"+{rest:x}" if rest else "") + (f"*{endless:x}" if endless else "")


def _parse(text: str, one: int) -> int:
    finite, _, endless = text.partition("*")
    parts, _, rest = finite.partition("+")
    found = int(parts, 16) * _ODD + int(rest or "0", 16)
    return int(endless or "0", 16) * INFINITE - (-found // (UNIT // one))


class Limit:
    """The totals within a budget.

    Parameters
    ----------
    units
        The theorem's.
    budget
        The budget.
    """

    def __init__(self, units: Units, budget: Budget) -> None:
        self._units = units
        self._budget = budget
        # Only the numbers that have a limit: a theorem of many numbers may limit two of them in each box.
        self._boxes = [
            [
                (i, most.numerator * units.denominators[i] // most.denominator)
                for i, most in enumerate(box)
                if most is not None
            ]
            for box in _boxes(units.composition, budget)
        ]

    def holds(self, total: Vector) -> bool:
        """Compare a total in units with the theorem's limits, and else by the theorem."""
        for box in self._boxes:
            for i, most in box:
                if total[i] > most:
                    break
            else:
                return True
        return self._units.composition.fits(self._units.amount(total), self._budget)


def _boxes(composition: Composition, budget: Budget) -> Sequence[Sequence[Fraction | None]]:
    """Return the boxes of totals that a theorem accepts; none of one that decides by `fits` alone."""
    classes = type(composition).__mro__
    says = next((i for i, each in enumerate(classes) if "boxes" in vars(each)), len(classes))
    decides = next((i for i, each in enumerate(classes) if "fits" in vars(each)), len(classes))
    return composition.boxes(budget) if says <= decides and says < len(classes) else ()  # type: ignore[attr-defined]
