"""The composition of a finite loss with one curve, term by term."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import UNDERFLOW
from mechanisms.numerics.rounding import either_up
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.privacy_profile import BoundedCurve, PrivacyProfile

_LARGEST_TABLE = 1_000_000
"""The largest number of entries held at once."""


@dataclass(frozen=True)
class FiniteMixture(BoundedCurve):
    """δ(x) = m_∞ + Σᵢ pᵢ δ₂(x - lᵢ), for one direction: the loss is the independent sum of both."""

    finite: AtomicProfile
    rest: PrivacyProfile

    @property
    def bound(self) -> str:
        """The bound of the first part that has one."""
        return self.finite.bound or self.rest.bound

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of both; None if one is unbounded."""
        one, two = self.finite.pure_epsilon, self.rest.pure_epsilon
        return None if one is None or two is None else one + two

    @property
    def infinite_mass(self) -> float:
        """m_∞ + (1 - m_∞) m₂, with m₂ the other one's, rounded up."""
        return either_up(self.finite.infinite_mass, self.rest.infinite_mass)

    @property
    def largest_finite(self) -> Fraction | None:
        """The sum of both; None if one is not known."""
        one, two = self.finite.largest_finite, self.rest.largest_finite
        return None if one is None or two is None else one + two

    def _shifted_arguments(self, epsilon: FloatArray) -> Iterator[FloatArray]:
        """Yield x - lᵢ, shape (x, i), for as many x at once as a table holds."""
        near, rest, _ = self.finite._arrays
        flat = np.ravel(epsilon)
        for block in np.array_split(flat, max(1, math.ceil(flat.size * near.size / _LARGEST_TABLE))):
            yield (block[:, np.newaxis] - near) - rest

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the rest's δ at both ends of the interval of each x - lᵢ before rounding."""
        error, mass = self.finite.relative_error, self.finite.infinite_mass
        _, rest, weights = self.finite._arrays
        ends = []
        for at in self._shifted_arguments(epsilon):
            # Exact within a factor of 2, else a rounding of x - near and one of the sum.
            off = 4.0 * 2.0**-53 * np.abs(at) + 2.0**-53 * np.abs(rest)
            lower, upper = self.rest.bounds(at + off)[0], self.rest.bounds(at - off)[1]
            ends.append(((lower * weights).sum(axis=1), (upper * weights).sum(axis=1)))
        low, high = (mass + np.concatenate(end).reshape(np.shape(epsilon)) for end in zip(*ends, strict=True))
        return low * (1.0 - error) - UNDERFLOW, np.minimum(1.0, high * (1.0 + error) + UNDERFLOW)
