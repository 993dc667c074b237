"""Sensitivity: the largest movement of a released value by the replacement of one record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.numerics.rounding import add_up, multiply_up, square_root_up, up
from mechanisms.parameters import ParameterError, nonnegative, real

_TOLERANCE = 1e-12  # l2 may be a rounded square root, so the order of the norms is checked up to this


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Largest L1, L2 and L∞ distance between the values on two data sets that differ in one record.

    Every operation rounds up, so a derived sensitivity never falls below the exact one.

    Parameters
    ----------
    l1, l2, linf : float
        Nonnegative, infinity allowed, with ``linf <= l2 <= l1`` (relative tolerance 1e-12).

    Raises
    ------
    ParameterError
        If a norm is negative or NaN, or the norms are out of order.

    Examples
    --------
    >>> Sensitivity.of_box([1.0, 1.0, 1.0, 1.0])
    Sensitivity(l1=4.0, l2=2.0, linf=1.0)
    """

    l1: float
    l2: float
    linf: float

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "linf"):
            object.__setattr__(self, name, nonnegative(name, getattr(self, name)))
        slack = 1.0 + _TOLERANCE
        if self.linf > self.l2 * slack or self.l2 > self.l1 * slack:
            raise ParameterError(
                f"(l1, l2, linf) = ({self.l1!r}, {self.l2!r}, {self.linf!r}): must satisfy linf <= l2 <= l1"
            )

    @classmethod
    def of_box(cls, widths: float | Sequence[float] | FloatArray) -> Sensitivity:
        """Return the sensitivity of coordinates that move independently by at most ``widths``.

        l1 = Σ wᵢ, l2 = √Σ wᵢ², linf = max wᵢ, each the smallest float not below the exact value
        (l2: up to two units in the last place).
        """
        checked = [nonnegative("widths", float(width)) for width in np.ravel(widths)]
        if any(math.isinf(width) for width in checked):
            return cls(math.inf, math.inf, math.inf)
        exact = [Fraction(width) for width in checked]
        l1 = up(sum(exact, Fraction(0)))
        l2 = square_root_up(sum((width * width for width in exact), Fraction(0)))
        return cls(l1, min(l1, l2), max(checked, default=0.0))

    @property
    def moves_one_coordinate(self) -> bool:
        """True if the declared norms force the whole change into a single coordinate (l1 = linf)."""
        return self.l1 <= self.linf

    def multiply_by(self, factor: float) -> Sensitivity:
        """Return the sensitivity of the value multiplied by ``factor`` (its sign does not matter)."""
        size = abs(real("factor", factor))
        if size == 1.0:
            return self
        return Sensitivity(*(multiply_up(norm, size) for norm in (self.l1, self.l2, self.linf)))

    def __add__(self, other: Sensitivity) -> Sensitivity:
        """Return the sensitivity of a sum of two values that hold the same record (triangle inequality)."""
        if not isinstance(other, Sensitivity):
            return NotImplemented
        return Sensitivity(
            add_up(self.l1, other.l1), add_up(self.l2, other.l2), add_up(self.linf, other.linf)
        )

    def covers(self, other: Sensitivity) -> bool:
        """Return True if no norm of ``other`` exceeds this one's."""
        return self.l1 >= other.l1 and self.l2 >= other.l2 and self.linf >= other.linf


UNIT = Sensitivity(1.0, 1.0, 1.0)  # one coordinate moves by at most one
