"""Samples of fixed size, drawn without replacement, one record replaced by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from mechanisms.arrays import FloatArray
from mechanisms.delegation import delegated
from mechanisms.domains.neighbouring import Neighbouring
from mechanisms.losses.privacy_loss import ROUNDING, PrivacyLoss, SampledPair
from mechanisms.parameters import ParameterError
from mechanisms.profiles.atomic_profile import AtomicProfile
from mechanisms.profiles.gaussian_profile import GaussianProfile
from mechanisms.profiles.privacy_profile import PrivacyProfile, bounds_on_both_sides
from mechanisms.profiles.related_profile import HeldProfile, RelatedProfile, bare
from mechanisms.profiles.subsampled import SampledProfile, SubsampledDirection, check_sampled

_MOST_STRIPS = 500
"""The largest number of strips of the plane, in each direction."""
_STRIP = 0.05
_LEVELS = 24.0
"""Levels of losses in one standard deviation, and further out in a factor of e."""


def _normal_strips(edges: FloatArray, centre: float) -> FloatArray:
    """Return the probabilities of N(centre, 1) between neighbouring edges, to a relative 1e-12 (1e-13 in `ndtr`)."""
    low, high = ndtr(edges - centre), ndtr(centre - edges)
    return np.where(edges[:-1] > centre, high[:-1] - high[1:], low[1:] - low[:-1])


@lru_cache(maxsize=64)
def triangle_at_least(rate: float, mu: float) -> AtomicProfile:
    """Return a loss that is attained where three records are pairwise mu apart: one is changed to the second, all else
    like the third.

    The pair ((1-q) R + q U, (1-q) R + q V), R, U, V normal around the corners of the triangle, in its plane (the noise
    in other directions is independent of the data). The cell in which the output lies is post-processing, for any
    cells: here the rectangles between strips, those of about the same loss put together. In such a cell the loss is
    ln P/Q, and P (1 - e^{ε-L})^+ rises with L, so that losses are rounded down: by the relative errors of both sums.
    """
    reach = 8.5 + mu
    strips = min(_MOST_STRIPS, math.ceil(2.0 * reach / (_STRIP * min(1.0, 1.0 / mu))))
    edges = np.linspace(-reach, reach, strips + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    height = 0.5 * math.sqrt(3.0) * mu
    like_r = np.outer(_normal_strips(edges, -0.5 * height), _normal_strips(edges, 0.0))
    across = _normal_strips(edges, 0.5 * height)
    one, other = (
        (1.0 - rate) * like_r + rate * np.outer(across, _normal_strips(edges, side * 0.5 * mu))
        for side in (1.0, -1.0)
    )
    some = (one > 0.0) & (other > 0.0)
    one, other = one[some], other[some]
    losses = np.log(one / other)
    spread = math.sqrt(float(np.sum(one * losses * losses)))
    level = np.rint(np.arcsinh(losses / spread) * _LEVELS).astype(np.int64)
    level -= int(np.min(level))
    masses, others = np.bincount(level, one), np.bincount(level, other)
    masses, others = masses[masses > 0.0], others[masses > 0.0]
    error = 4e-12 + ROUNDING * one.size
    down = np.log(masses / others) - 2.5 * error
    return AtomicProfile(tuple(map(Fraction, down.tolist())), tuple(masses.tolist()), relative_rounding=error)


@dataclass(frozen=True)
class FixedSizeProfile(SampledProfile):
    """Profile of a mechanism run on m of n records, for replacing one of the n.

    With q = m/n and w = e^ε: δ(ε) = q δ_base(ln((w - 1 + q) / q)) for w >= 1, and δ(-ε) = 1 - 1/w + δ(ε)/w.

    *Proved* for every base (`mechanisms.losses.fixed_size_loss`; Balle, Barthe, Gaboardi 2018, Thm 5), and so composed;
    one symmetric pair. *Attained* by one release if the base pair is (all other records alike); several need not attain
    it, as other data are worst at negative ε (`attained`). The movement is that of *replacing* a record of the sample:
    twice the norm to which a record's contribution is clipped. *Adding or removing* a record has no pair: it changes n
    and q.

    Parameters
    ----------
    base : PrivacyProfile
        Profile on the sample, for replacing one record of it.
    rate : float
        m/n in (0, 1).
    triangle : bool
        True if the domain has three records that are pairwise as far apart as any two: of one-hot vectors and
        histograms it has, of vectors clipped to a norm (a ball) it has not. They are further data for a lower end; the
        base must be Gaussian.

    Raises
    ------
    ParameterError
        If the base is stated for another relation, is sampled already, or is not Gaussian with a triangle, or the rate
        is not in (0, 1).
    """

    base: PrivacyProfile
    rate: float
    triangle: bool = False

    def __post_init__(self) -> None:
        check_sampled(self.base, self.rate)
        if self.base.neighbouring is not Neighbouring.REPLACE_ONE:
            raise ParameterError(
                f"base: is for {self.base.neighbouring.value!r}; a sample of fixed size needs the movement of "
                "replacing a record of it by another, twice the norm of a contribution"
            )
        if self.triangle and not isinstance(bare(self.base), GaussianProfile):
            raise ParameterError(
                "triangle: the loss of records at the corners of a triangle is known for Gaussian noise only"
            )

    @cached_property
    def _upper_side(self) -> SubsampledDirection:
        """The pair ((1-q) Q + q P, Q): its curve at ε >= 0 is this one's."""
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

    def attained_in_the_long_run(self) -> PrivacyProfile | None:
        """Return the least loss of records at the corners of a triangle."""
        curve = bare(self.base)
        if not (self.triangle and isinstance(curve, GaussianProfile)):
            return None
        return triangle_at_least(self.rate, curve.mu)

    def loss(self) -> PrivacyLoss | None:
        """Return the law of the loss, if the base's is known."""
        base = self.base.loss()
        return None if base is None else base.on_sample(self.rate, SampledPair.FIXED_SIZE)

    def _bounds(self, epsilon: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the base's δ at both ends of the interval of its argument."""
        x = np.asarray(epsilon, dtype=np.float64)
        size = np.abs(x)
        return bounds_on_both_sides(x, self._upper_side.bounds(size))

    def _curve(self, epsilon: FloatArray) -> FloatArray:
        return self._upper_side._everywhere(epsilon)
