"""Numbers with a proof: an interval that contains the truth, and the names of what proved its ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from mechanisms.neighbouring import MixedNeighbours, Neighbouring


@dataclass(frozen=True, slots=True)
class CertifiedInterval:
    """The truth lies in [lower, upper], rounding included.

    Attributes
    ----------
    lower, upper
        The ends; ``upper`` may be infinite.
    lower_by, upper_by
        The theorem or engine that gave each end.
    neighbouring
        The relation of the data sets that are compared; None inside of an engine, which knows it for all its numbers.
    """

    lower: float
    upper: float
    lower_by: str
    upper_by: str
    neighbouring: Neighbouring | None = None

    def stated_for(self, neighbouring: Neighbouring) -> CertifiedInterval:
        """Return the interval with its neighbouring relation.

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

    def intersect(self, other: CertifiedInterval) -> CertifiedInterval:
        """Return what both intervals allow: the larger lower and the smaller upper end.

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
                f"{low.lower_by} says at least {low.lower!r}, {high.upper_by} at most {high.upper!r}"
            )
        return self._between(low, high, other)

    def largest(self, other: CertifiedInterval) -> CertifiedInterval:
        """Return the interval of the maximum of two numbers known by intervals."""
        low = self if self.lower >= other.lower else other
        high = self if self.upper >= other.upper else other
        return self._between(low, high, other)

    def with_lower(self, others: Iterable[CertifiedInterval]) -> CertifiedInterval:
        """Return this upper end with the largest lower end of some other intervals."""
        low = max(others, key=lambda other: other.lower)
        return self._between(low, self, low)

    def _between(
        self, low: CertifiedInterval, high: CertifiedInterval, other: CertifiedInterval
    ) -> CertifiedInterval:
        relation = _common(self.neighbouring, other.neighbouring)
        return CertifiedInterval(low.lower, high.upper, low.lower_by, high.upper_by, relation)

    def __str__(self) -> str:
        relation = "" if self.neighbouring is None else f"; neighbours: {self.neighbouring}"
        return f"[{self.lower!r}, {self.upper!r}] ({self.lower_by}; {self.upper_by}{relation})"


def _common(one: Neighbouring | None, other: Neighbouring | None) -> Neighbouring | None:
    if one is not None and other is not None and one is not other:
        raise MixedNeighbours(
            f"an interval for neighbours {one.value!r} and one for {other.value!r} do not compare"
        )
    return one or other


class ContradictingBounds(ArithmeticError):
    """Two certified intervals for one number do not meet: a bug in one of their proofs."""
