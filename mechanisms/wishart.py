"""Wishart noise on sums of regression moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, multigammaln, ndtr

from mechanisms.arrays import FloatArray
from mechanisms.bounds import ApproximateProfile, NoPrivacy, PerfectPrivacy
from mechanisms.mechanism import BuiltInMechanism, register
from mechanisms.noise import NoiseSource, noise_source
from mechanisms.parameters import ParameterError, open_unit, positive, whole
from mechanisms.profile import PrivacyProfile
from mechanisms.regression_moments import MOST_WEIGHT, RegressionMoments
from mechanisms.sensitivity import Sensitivity

_UP = (
    1.0 + 1e-9
)  # more than all that is rounded where every difference is above `_APART` of what it is taken from
_APART = 1e-3


@register
@dataclass(frozen=True, kw_only=True)
class Wishart(BuiltInMechanism):
    """Add one Wishart matrix to moments (M, u): ``N ~ W_p(scale I, freedom)``, p = d + 1, without its last corner.

    A value's last axis is one of `RegressionMoments(features, sqrt 2)` or a sum of them: M and u are the first d rows
    of a symmetric matrix of p rows, with the Frobenius norm of the value if its corner is 0. N is positive definite,
    of mean ``freedom scale I``; every coordinate of the value gets noise of variance ``2 freedom scale^2``.

    Unlike other mechanisms' the coordinates' noises are not independent. `log_density` gives each coordinate an equal
    share of the logarithm of their joint density, so that sums over all of them are right, and only these; a mask must
    keep or leave all coordinates of a lane. The noise is for simulations and audits: no sampler is known whose output
    may be shown to an adversary, and secure noise sources are refused.

    **Theorem.** Let k be the freedom, ``D = l2 / scale`` how far a record moves the value, ``a = (k - p - 1) / 2``,
    ``v = k - p + 1``, ``x = ln(4 p / delta)``, ``t = sqrt(2 ln(2 / delta))``, ``low = v - 2 sqrt(v x)``, ``high = v + 2
    sqrt(v x) + 2 x``, ``l = (sqrt k - sqrt p - t)^2``, ``g = max(a / low - 1/2, 1/2 - a / high)``. If ``sqrt k > sqrt p
    + t``, ``low > 0`` and ``l > D``, the release is ``(g sqrt(p) D + a D^2 / (2 l (l - D)), delta)``-differentially
    private.

    *Proof.* The corner is dropped after the release of all of N, which costs nothing; both values get 0 there. Take
    scale = 1. N has the density ``c det(X)^a exp(-tr X / 2)`` on positive definite X. Let the values differ by a
    symmetric Q, ``|Q|_F <= D``. If ``N - Q`` is positive definite, the loss is ``a (ln det N - ln det(N - Q)) - tr Q /
    2``. Let ``B = N^-1/2 Q N^-1/2``: ``-ln(1 - b) <= b + b^2 / (2 (1 - r))`` where ``|b| <= r < 1``, so with r = D / l
    and if the least eigenvalue of N is at least l, ``-ln det(I - B) <= tr(N^-1 Q) + D^2 / (2 l^2 (1 - r))``, and N - Q
    is positive definite. In the axes of Q, with its eigenvalues q, ``a tr(N^-1 Q) - tr Q / 2 = sum q_i (a (N^-1)_ii -
    1/2)``, at most ``g sum |q_i| <= g sqrt(p) D`` if all ``1 / (N^-1)_ii`` are from low to high. These have the
    chi-square distribution with v degrees of freedom in any axes (Muirhead 1982, Theorem 3.2.12), so one of them is
    outside with probability ``2 p e^-x = delta / 2`` at most (Laurent & Massart 2000, Lemma 1); the eigenvalue is below
    l with ``e^(-t^2/2) = delta / 2`` at most (Davidson & Szarek 2001, Theorem II.13). The loss is above epsilon with
    probability delta at most, and the same holds for -Q. QED

    The bound is not tight: for large k the loss is about ``N(0, D^2 / (2 k))``, and the bound ``sqrt(p x / ln(1 /
    delta))`` times its (1 - delta)-quantile. Sheffet 2019 ("Old techniques in differentially private linear
    regression") has the mechanism.

    Parameters
    ----------
    features
        d, the length of u.
    freedom
        k, a whole number from p + 1 on.
    scale
        Above 0.
    delta
        The delta of the bound, at which composition reads the profile.
    sensitivity
        How far one record moves the value; its L2 movement counts.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """

    features: int
    freedom: int
    scale: float
    delta: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        domain = RegressionMoments(self.features, MOST_WEIGHT)
        object.__setattr__(self, "features", domain.features)
        object.__setattr__(self, "freedom", whole("freedom", self.freedom, least=self.features + 2))
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "delta", open_unit("delta", self.delta))
        if not isinstance(self.sensitivity, Sensitivity):
            raise ParameterError(f"sensitivity = {self.sensitivity!r}: must be a Sensitivity(l1, l2, linf)")

    @property
    def samples_securely(self) -> bool:
        """False."""
        return False

    @property
    def nominal_delta(self) -> float:
        """The delta of the bound."""
        return self.delta

    @cached_property
    def _own_profile(self) -> PrivacyProfile:
        return self._profile_at(self.sensitivity)

    def _profile_at(self, moved: Sensitivity) -> PrivacyProfile:
        if moved.l2 == 0.0:
            return PerfectPrivacy()
        epsilon = wishart_epsilon(self.features + 1, self.freedom, moved.l2 / self.scale, self.delta)
        if math.isinf(epsilon):
            return NoPrivacy()
        return ApproximateProfile(Fraction(epsilon), self.delta, "concentration of Wishart noise")

    def profile(self, sensitivity: Sensitivity | None = None) -> PrivacyProfile:
        """Return the theorem's bound at the L2 movement; `NoPrivacy` where its conditions do not hold."""
        return self._own_profile if sensitivity is None else self._profile_at(sensitivity)

    @cached_property
    def epsilon(self) -> float:
        """The theorem's epsilon at `delta`; inf where its conditions do not hold."""
        return self.profile().epsilon(self.delta)

    @property
    def coordinates(self) -> int:
        """How many coordinates a value's last axis has."""
        return self._domain.shape[0]

    @property
    def _domain(self) -> RegressionMoments:
        return RegressionMoments(self.features, MOST_WEIGHT)

    def _checked(self, value: npt.ArrayLike) -> FloatArray:
        array, size = np.asarray(value, dtype=np.float64), self.coordinates
        if array.shape[-1:] != (size,):
            raise ParameterError(
                f"value of shape {array.shape}: must have {size} coordinates on its last axis"
            )
        return array

    def release(self, value: npt.ArrayLike, noise: NoiseSource | np.random.Generator) -> FloatArray:
        """Return value + noise, same shape; each row of the last axis gets one matrix.

        By Bartlett's decomposition ``N = A A'``, of one normal variate per coordinate: those of A's diagonal become
        chi-square ones through their distribution functions.

        Raises
        ------
        ParameterError
            If the last axis is not of the moments' length, or the noise source is secure.
        """
        array, d = self._checked(value), self.features
        source = noise_source(noise)
        if source.secure:
            raise ParameterError(f"noise = {source.name}: Wishart noise has no secure sampler")
        normal = source.gaussian(np.zeros(array.shape), 1.0)
        rows, columns = np.triu_indices(d)
        factor = np.zeros((*array.shape[:-1], d, d))
        factor[..., columns, rows] = normal[..., : rows.size]
        axes = np.arange(d)
        uniform = np.minimum(ndtr(factor[..., axes, axes]), math.nextafter(1.0, 0.0))
        factor[..., axes, axes] = np.sqrt(2.0 * gammaincinv(0.5 * (float(self.freedom) - axes), uniform))
        matrix = self.scale * (factor @ np.swapaxes(factor, -1, -2))
        vector = self.scale * np.einsum("...ij,...j->...i", factor, normal[..., rows.size :])
        weights = np.where(rows == columns, 1.0, math.sqrt(2.0))
        drawn = np.concatenate([matrix[..., rows, columns] * weights, MOST_WEIGHT * vector], axis=-1)
        return np.asarray(array + drawn)

    def log_density(self, output: npt.ArrayLike, value: npt.ArrayLike) -> FloatArray:
        """Return the log of the joint density of a row's coordinates, divided evenly among them.

        Of the noise, M is ``W_d(scale I, freedom)`` and u given M is ``N(0, scale M)``.

        Raises
        ------
        ParameterError
            If the last axis is not of the moments' length.
        """
        noise = self._checked(np.subtract(output, value))
        d, k = self.features, self.freedom
        matrix, vector = self._domain.parts(noise / self.scale)
        values, axes = np.linalg.eigh(matrix)
        inside = values[..., 0] > 0.0
        values = np.where(inside[..., np.newaxis], values, 1.0)
        volume = np.log(values).sum(axis=-1)
        turned = np.einsum("...ij,...i->...j", axes, vector)
        square = (turned * turned / values).sum(axis=-1)
        of_matrix = 0.5 * (k - d - 1) * volume - 0.5 * values.sum(axis=-1)
        of_matrix -= 0.5 * k * d * math.log(2.0) + float(multigammaln(0.5 * k, d))
        of_vector = -0.5 * (volume + square + d * math.log(2.0 * math.pi))
        off_diagonal = d * (d - 1) // 2 + d  # coordinates that are sqrt 2 times an entry
        joint = (
            of_matrix
            + of_vector
            - 0.5 * off_diagonal * math.log(2.0)
            - noise.shape[-1] * math.log(self.scale)
        )
        share = np.where(inside, joint, -np.inf) / noise.shape[-1]
        return np.asarray(np.broadcast_to(share[..., np.newaxis], noise.shape))


def wishart_epsilon(rows: int, freedom: int, moved: float, delta: float) -> float:
    """Return the epsilon of `Wishart`'s theorem, rounded up; inf where its conditions hold by less than a thousandth.

    Parameters
    ----------
    rows
        p.
    freedom
        k.
    moved
        D.
    delta
        In (0, 1).
    """
    k, free = float(freedom), float(freedom - rows + 1)
    a, x = 0.5 * (free - 2.0), math.log(4.0 * rows / delta)
    apart = math.sqrt(k) - math.sqrt(rows) - math.sqrt(2.0 * math.log(2.0 / delta))
    spread = math.sqrt(free * x)
    low, high = free - 2.0 * spread, free + 2.0 * spread + 2.0 * x
    if apart <= _APART * math.sqrt(k) or low <= _APART * free:
        return math.inf
    least = apart * apart
    if least - moved <= _APART * least:
        return math.inf
    largest = max((spread - 1.0) / low, (spread + x + 1.0) / high)  # a / low - 1/2, 1/2 - a / high
    first = largest * math.sqrt(rows) * moved
    return (first + 0.5 * a * moved * moved / (least * (least - moved))) * _UP
