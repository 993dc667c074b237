"""K-ary randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from mechanisms.composition.composed_profile import composed_profile
from mechanisms.domains.sensitivity import UNIT, Sensitivity
from mechanisms.noise.discrete_laplace import whole_values
from mechanisms.noise.mechanism import BuiltInMechanism, register
from mechanisms.noise.noise_sources import NoiseSource, noise_source
from mechanisms.parameters import positive, whole_number
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.bounding_profiles import BASIC, PerfectPrivacy, PureProfile, unlimited_movement
from mechanisms.profiles.privacy_profile import PrivacyProfile

_MOST_CHANGES = 10_000


@register
@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(BuiltInMechanism):
    """Report a category truthfully with probability p = e^ε/(e^ε + k - 1), each other one with p e^{-ε}.

    Kairouz, Bonawitz, Ramage 2016, "Discrete distribution estimation under local privacy", Sec. 3.

    Distances are in the discrete metric: ``sensitivity`` is (1, 1, 1), one record changes one category,
    as `Categories` declares it. At a larger movement l1, ⌊l1⌋ categories change and their losses add.

    Parameters
    ----------
    size : int
        Number k of categories 0 .. k - 1, at least 2.
    epsilon : float
        The largest privacy loss, positive and finite; met exactly.

    Raises
    ------
    ParameterError
        If size is below 2 or epsilon is not positive and finite.
    """

    size: int
    epsilon: float = field()  # without a default, which the property of other mechanisms would be

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole_number("size", self.size, least=2))
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))

    @property
    def categorical(self) -> bool:
        """True: values are category names."""
        return True

    @property
    def whole_numbers(self) -> bool:
        """True: category names are whole numbers."""
        return True

    @property
    def counts_in_public(self) -> bool:
        """True: the existence of a report is visible."""
        return True

    @property
    def sensitivity(self) -> Sensitivity:
        """(1, 1, 1): one category changes."""
        return UNIT

    @property
    def truth_probability(self) -> float:
        """P = e^ε / (e^ε + k - 1)."""
        return math.exp(self._log_truth)

    @property
    def lie_probability(self) -> float:
        """Q = 1 / (e^ε + k - 1), for each of the k - 1 other categories."""
        return math.exp(self._log_truth - self.epsilon)

    @cached_property
    def _log_truth(self) -> float:
        return -math.log1p((self.size - 1) * math.exp(-self.epsilon))

    @cached_property
    def _one_change(self) -> AtomicProfile:
        # Loss ε at the true category, -ε at the neighbour's, 0 at the k - 2 others.
        loss, p, q = Fraction(self.epsilon), self.truth_probability, self.lie_probability
        # Exponentials of numbers that are themselves rounded.
        rounding = 2.0**-53 * (16.0 + 6.0 * (self.epsilon - self._log_truth))
        losses, probabilities = (loss, -loss, Fraction(0)), (p, q, (self.size - 2) * q)
        values = 2 if self.size == 2 else 3
        return AtomicProfile(
            losses[:values], probabilities[:values], relative_rounding=rounding, mirrored=True
        )

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        """Return the profile; for one change δ(x) = (p - e^x q)⁺ + (q - e^x p)⁺ + (k-2) q (1 - e^x)⁺.

        Exact up to 10,000 changes; of more, the sum of their ε.
        """
        if moved.l1 < 1.0:
            return PerfectPrivacy()
        if math.isinf(moved.l1):
            return unlimited_movement(moved)
        changes = math.floor(moved.l1)
        if changes > _MOST_CHANGES:
            return PureProfile(changes * Fraction(self.epsilon), BASIC)
        return composed_profile([(self._one_change, changes)])

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> IntArray:
        """Return the reported categories, same shape.

        Raises
        ------
        DomainError
            If the value is not of an integer type.
        """
        return noise_source(noise).randomized_response(whole_values(value), self.size, self.epsilon)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return ln p where output is the value, ln q at another category, -inf at none."""
        reported = np.asarray(output)
        log_q = self._log_truth - self.epsilon
        other = np.where(
            (reported >= 0) & (reported < self.size) & (reported == np.rint(reported)), log_q, -np.inf
        )
        return np.where(np.equal(reported, value), self._log_truth, other)
