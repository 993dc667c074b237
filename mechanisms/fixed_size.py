"""Samples of fixed size, drawn without replacement, one record replaced by another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.neighbouring import Neighbouring
from mechanisms.parameters import ParameterError
from mechanisms.privacy_loss import ROUNDING, PrivacyLoss
from mechanisms.profile import PrivacyProfile
from mechanisms.related_profile import HeldProfile, RelatedProfile
from mechanisms.rounding import up
from mechanisms.subsampled import SampledProfile, SubsampledDirection, check_sampled


@dataclass(frozen=True)
class FixedSizeProfile(SampledProfile):
    """Profile of a mechanism run on m of n records, for replacing one of the n.

    With q = m/n and w = e^ε: δ(ε) = q δ_base(ln((w - 1 + q) / q)) for w >= 1, and δ(-ε) = 1 - 1/w + δ(ε)/w.

    *Proved* for every base (`mechanisms.fixed_size_loss`; Balle, Barthe, Gaboardi 2018, Thm 5), and so composed; one
    symmetric pair. *Attained* by one release if the base pair is (all other records alike); several need not attain it,
    as other data are worst at negative ε (`attained`). The movement is that of *replacing* a record of the sample:
    twice the norm to which a record's contribution is clipped. *Adding or removing* a record has no pair: it changes n
    and q.

    Parameters
    ----------
    base : PrivacyProfile
        Profile on the sample, for replacing one record of it.
    rate : float
        m/n in (0, 1).

    Raises
    ------
    ParameterError
        If the base is stated for another relation, is sampled already, or the rate is not in (0, 1).
    """

    base: PrivacyProfile
    rate: float

    def __post_init__(self) -> None:
        check_sampled(self.base, self.rate)
        if self.base.neighbouring is not Neighbouring.REPLACE_ONE:
            raise ParameterError(
                f"base: is for {self.base.neighbouring.value!r}; a sample of fixed size needs the movement of "
                "replacing a record of it by another, twice the norm of what a record contributes"
            )

    @cached_property
    def _upper_side(self) -> SubsampledDirection:
        """The pair ((1-q) Q + q P, Q), whose curve is this one's at ε >= 0."""
        removed = RelatedProfile(
            self.base, Neighbouring.ADD_OR_REMOVE
        )  # for its curve, which is not stated anew
        return SubsampledDirection(removed, self.rate, False)

    pure_epsilon = delegated("_upper_side.pure_epsilon")
    infinite_mass = delegated("_upper_side.infinite_mass")

    def attained(self) -> tuple[PrivacyProfile, ...]:
        """Return the pairs of data in which all other records are like the second of both records, or like the first.

        One is worst at ε >= 0, the other at ε < 0, and data cannot be both. Each second one is the one before with both
        data sets exchanged; so are the pairs of the base, if there are two.
        """
        parts = [RelatedProfile(own, Neighbouring.ADD_OR_REMOVE) for own in self.base.attained()]
        return tuple(
            HeldProfile(SubsampledDirection(side, self.rate, added), Neighbouring.REPLACE_ONE)
            for own, exchanged in zip(parts, reversed(parts), strict=True)
            for side, added in ((own, False), (exchanged, True))
        )

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss, if the base's is known."""
        base = self.base.loss()
        return None if base is None else base.fixed_size(self.rate)

    def bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the base's δ at both ends of the interval of its argument."""
        x = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(x)
        low, high = self._upper_side.bounds(size)
        if self.pure_epsilon is not None:
            high = np.where(size >= up(self.pure_epsilon), 0.0, high)
        shrink, fall = np.exp(-size), -np.expm1(-size)
        lower = np.where(x >= 0.0, low, (fall + shrink * low) * (1.0 - 8.0 * ROUNDING))
        upper = np.where(x >= 0.0, high, (fall + shrink * high) * (1.0 + 8.0 * ROUNDING))
        return lower, np.minimum(upper, 1.0)

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._upper_side._everywhere(epsilon)
