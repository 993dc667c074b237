"""The largest distances between neighbours, decided exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mechanisms.parameters import ParameterError, real


@dataclass(frozen=True)
class Distances:
    """The largest L1, L2 and L∞ distance of two neighbours; infinity is no limit.

    Raises
    ------
    ParameterError
        If a distance is not positive.
    """

    l1: float = math.inf
    l2: float = math.inf
    linf: float = math.inf

    def __post_init__(self) -> None:
        for name in ("l1", "l2", "linf"):
            value = real(name, getattr(self, name))
            if not value > 0.0:
                raise ParameterError(f"{name} = {value!r}: a distance of neighbours must be above 0")
            object.__setattr__(self, name, value)

    @property
    def description(self) -> str:
        """The limits as a clause; empty if there are none."""
        limits = (
            ("no coordinate further apart than", self.linf),
            ("L1 distance at most", self.l1),
            ("L2 distance at most", self.l2),
        )
        return ", ".join(f"{words} {limit:g}" for words, limit in limits if limit < math.inf)

    def step(self, direction: npt.NDArray[np.float64]) -> float:
        """Return the largest t for which ``t * direction`` is within all limits, up to rounding."""
        steps = [self.l1 / float(np.abs(direction).sum()), self.linf / float(np.abs(direction).max())]
        return min(*steps, self.l2 / float(np.linalg.norm(direction.ravel())))

    def allow(self, start: npt.NDArray[Any], end: npt.NDArray[Any]) -> bool:
        """Return whether two points are within all limits, in exact arithmetic."""
        limits = (self.l1, self.l2, self.linf)
        if all(math.isinf(limit) for limit in limits):
            return True
        if not (np.isfinite(start).all() and np.isfinite(end).all()):
            return False
        pairs = zip(start.ravel().tolist(), end.ravel().tolist(), strict=True)
        moves = [abs(Fraction(a) - Fraction(b)) for a, b in pairs]
        sizes = (sum(moves), sum(move * move for move in moves), max(moves))
        squared = (1, 2, 1)
        return all(
            math.isinf(limit) or size <= Fraction(limit) ** power
            for limit, size, power in zip(limits, sizes, squared, strict=True)
        )
