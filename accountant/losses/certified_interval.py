"""Numbers with a proof: an interval that contains the truth, and the names of what proved its ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CertifiedInterval:
    """The truth lies in [lower, upper], rounding included.

    Attributes
    ----------
    lower, upper
        The ends; ``upper`` may be infinite.
    lower_by, upper_by
        The theorem or engine that gave each end.
    """

    lower: float
    upper: float
    lower_by: str
    upper_by: str

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
        """
        low = self if self.lower >= other.lower else other
        high = self if self.upper <= other.upper else other
        if low.lower > high.upper:
            raise ContradictingBounds(
                f"{low.lower_by} says at least {low.lower!r}, {high.upper_by} at most {high.upper!r}"
            )
        return CertifiedInterval(low.lower, high.upper, low.lower_by, high.upper_by)

    def largest(self, other: CertifiedInterval) -> CertifiedInterval:
        """Return the interval of the maximum of two numbers known by intervals."""
        low = self if self.lower >= other.lower else other
        high = self if self.upper >= other.upper else other
        return CertifiedInterval(low.lower, high.upper, low.lower_by, high.upper_by)

    def with_lower(self, others: Iterable[CertifiedInterval]) -> CertifiedInterval:
        """Return this upper end with the largest lower end of some other intervals."""
        low = max(others, key=lambda other: other.lower)
        return CertifiedInterval(low.lower, self.upper, low.lower_by, self.upper_by)

    def __str__(self) -> str:
        return f"[{self.lower!r}, {self.upper!r}] ({self.lower_by}; {self.upper_by})"


class ContradictingBounds(ArithmeticError):
    """Two certified intervals for one number do not meet: a bug in one of their proofs."""
