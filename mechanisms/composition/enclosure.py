"""Certified answers: an upper bound, or an interval the lower end of which a pair of data sets attains.

A statement about a composition is an upper end, from a theorem that holds for every mechanism with the stated
parameters, or a lower end, from data sets that lose so much. An answer is the intersection of all statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mechanisms.domains.neighbouring import MixedNeighbours, Neighbouring
from mechanisms.parameters import DPWitnessError


@dataclass(frozen=True, slots=True)
class Bound:
    """Upper bound, rounding included, without a lower one.

    Attributes
    ----------
    upper
        The number; may be infinite.
    by
        The theorem or engine that proves it.
    neighbouring
        The relation of the data sets that are compared; None inside of an engine, which knows it for all its numbers.
    """

    upper: float
    by: str
    neighbouring: Neighbouring | None = None

    def stated_for(self, neighbouring: Neighbouring) -> Bound:
        """Return the bound with its neighbouring relation.

        Raises
        ------
        MixedNeighbours
            If it is for another one.
        """
        return replace(self, neighbouring=_common(self.neighbouring, neighbouring))

    def at_most(self, bounds: Iterable[Bound]) -> Bound:
        """Return the least of this bound and others."""
        return min((self, *bounds), key=lambda bound: bound.upper)

    def above(self, enclosures: Iterable[Enclosure]) -> Enclosure | Bound:
        """Return the enclosure of this bound and the largest lower end of some enclosures; the bound if there are none.

        Raises
        ------
        ContradictingBounds
            If that lower end is above the bound: then one of the two is wrong.
        """
        low = max(enclosures, key=lambda one: one.lower, default=None)
        if low is None:
            return self
        return Enclosure(low.lower, max(low.upper, self.upper), low.attained_by, self.by).at_most([self])

    def __str__(self) -> str:
        relation = "" if self.neighbouring is None else f"; neighbours: {self.neighbouring}"
        return f"at most {self.upper!r} ({self.by}{relation})"


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Interval [lower, upper] that contains the true value, rounding included.

    Attributes
    ----------
    lower, upper
        The ends; ``upper`` may be infinite.
    attained_by
        The engine that computed the loss of the data sets that lose at least ``lower``.
    by
        The theorem or engine that proves the upper end.
    neighbouring
        The relation of the data sets that are compared; None inside of an engine, which knows it for all its numbers.
    """

    lower: float
    upper: float
    attained_by: str
    by: str
    neighbouring: Neighbouring | None = None

    def stated_for(self, neighbouring: Neighbouring) -> Enclosure:
        """Return the enclosure with its neighbouring relation.

        Raises
        ------
        MixedNeighbours
            If it is for another one.
        """
        return replace(self, neighbouring=_common(self.neighbouring, neighbouring))

    @property
    def width(self) -> float:
        """Upper - lower; 0 if both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def __contains__(self, value: float) -> bool:
        return self.lower <= value <= self.upper

    @property
    def bound(self) -> Bound:
        """The upper end alone."""
        return Bound(self.upper, self.by, self.neighbouring)

    def intersect(self, other: Enclosure) -> Enclosure:
        """Return the intersection: the larger lower and the smaller upper end.

        Raises
        ------
        ContradictingBounds
            If nothing is left: then one of the two is wrong.
        MixedNeighbours
            If they are for different neighbouring relations.
        """
        low = self if self.lower >= other.lower else other
        high = self if self.upper <= other.upper else other
        if low.lower > high.upper:
            raise ContradictingBounds(
                f"{low.attained_by} says at least {low.lower!r}, {high.by} at most {high.upper!r}"
            )
        return self._between(low, high, other)

    def at_most(self, bounds: Iterable[Bound]) -> Enclosure:
        """Return the enclosure with the least of its upper end and some bounds.

        Raises
        ------
        ContradictingBounds
            If a bound is below the lower end: then one of the two is wrong.
        MixedNeighbours
            If a bound is for another neighbouring relation.
        """
        result = self
        for bound in bounds:
            result = result.intersect(Enclosure(0.0, bound.upper, bound.by, bound.by, bound.neighbouring))
        return result

    def maximum(self, other: Enclosure) -> Enclosure:
        """Return the enclosure of the maximum of two numbers."""
        low = self if self.lower >= other.lower else other
        high = self if self.upper >= other.upper else other
        return self._between(low, high, other)

    def _between(self, low: Enclosure, high: Enclosure, other: Enclosure) -> Enclosure:
        relation = _common(self.neighbouring, other.neighbouring)
        return Enclosure(low.lower, high.upper, low.attained_by, high.by, relation)

    def __str__(self) -> str:
        relation = "" if self.neighbouring is None else f"; neighbours: {self.neighbouring}"
        return f"[{self.lower!r}, {self.upper!r}] ({self.attained_by}; {self.by}{relation})"


def lower_end(answer: Enclosure | Bound) -> float | None:
    """Return the lower end of an answer; None for a bound."""
    return answer.lower if isinstance(answer, Enclosure) else None


def _common(one: Neighbouring | None, other: Neighbouring | None) -> Neighbouring | None:
    if one is not None and other is not None and one is not other:
        raise MixedNeighbours(
            f"a number for neighbours {one.value!r} and one for {other.value!r} do not compare"
        )
    return one or other


class ContradictingBounds(DPWitnessError, ArithmeticError):
    """Two statements about one number do not meet: a bug in one of their proofs."""
