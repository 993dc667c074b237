"""Conversions between privacy notions, each with its theorem.

Every function returns a guarantee that is implied by the one given, rounded towards more privacy loss.

=================  ==========================================================================
from               to
=================  ==========================================================================
pure ε             zCDP (`pure_to_zcdp`), Gaussian DP (`pure_to_gaussian`), the whole curve (`PureProfile`)
(ε, δ)             the whole curve (`ApproximateProfile`)
ρ-zCDP             the whole curve (`ZeroConcentratedProfile`), one Rényi order (αρ)
Rényi (α, D)       (ε, δ) (`epsilons_of_renyi`, `deltas_of_renyi`)
μ-Gaussian DP      the whole curve (`GaussianProfile`), whose `rho` is μ²/2
a curve            pure ε, zCDP, Rényi, Gaussian DP where known (`zcdp_of`, `gaussian_dp_of`)
=================  ==========================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.numerics.rounding import up
from mechanisms.parameters import ParameterError, nonnegative, open_unit, positive
from mechanisms.profiles.bounding_profiles import PureProfile, total_variation_at_most
from mechanisms.profiles.privacy_profile import PrivacyProfile

_UP = 1.0 + 1e-12  # over a few roundings of elementary functions


def pure_to_zcdp(epsilon: float) -> float:
    """Return the least ρ such that every ε-DP mechanism is ρ-zCDP: ρ = ε tanh(ε/2) <= ε²/2.

    Bun & Steinke 2016 (Prop. 1.4) have ε²/2. The worst mechanism is randomized response, for which
    ln M(z) = g(y²) - g(1/4), g(u) = ln cosh(ε√u), y = z + 1/2, z(z+1) = y² - 1/4. g is concave, so
    D_α/α = ln M(s) / (s(s+1)) is the slope of a chord that falls with s: its supremum is g'(1/4) = ε tanh(ε/2).
    """
    size = nonnegative("epsilon", epsilon)
    # One float further, for products that vanish or lose digits.
    return math.nextafter(size * math.tanh(0.5 * size) * _UP, math.inf) if size else 0.0


def pure_to_gaussian(epsilon: float) -> float:
    """Return the least μ such that every ε-DP mechanism is μ-Gaussian DP: μ = -2 Φ^{-1}(1 / (1 + e^ε)).

    The trade-off curve of ε-DP is two lines from (0, 1) and (1, 0) to the corner α = β = 1/(1+e^ε). That of
    μ-GDP, β = Φ(Φ^{-1}(1-α) - μ), is convex with the same ends, so it lies below both lines as soon as it
    passes through the corner (Dong, Roth, Su 2022, Sec. 2).
    """
    size = nonnegative("epsilon", epsilon)
    mu = PureProfile(Fraction(size)).gaussian_mu if size < math.inf else None
    return math.inf if mu is None else mu


def zcdp_of(profile: PrivacyProfile) -> float | None:
    """Return the smallest ρ known for a mechanism: its own, or from pure ε; None if there is none."""
    own = profile.rho
    known = [own] if own is not None else []
    if profile.pure_epsilon is not None:
        known.append(pure_to_zcdp(up(profile.pure_epsilon)))
    return min(known, default=None)


def gaussian_dp_of(profile: PrivacyProfile) -> float | None:
    """Return the smallest μ known for a mechanism: its own, or from pure ε; None if there is none."""
    own = profile.gaussian_mu
    known = [own] if own is not None else []
    if profile.pure_epsilon is not None:
        known.append(pure_to_gaussian(up(profile.pure_epsilon)))
    return min(known, default=None)


_LARGEST_EXPONENT = 690.0
"""The largest exponent of a δ: a smaller δ counts as e^-690, as floats much below lose digits."""


def epsilons_of_renyi(orders: FloatArray, divergences: FloatArray, delta: float) -> FloatArray:
    """Return the ε of (ε, δ)-DP implied by D_α <= divergence, the least over the orders; (..., orders) gives (...).

    ε = D + ln(1 - 1/α) - (ln δ + ln α) / (α - 1) (Canonne, Kamath, Steinke 2020, Prop. 12), at least 0. Unchecked:
    orders are above 1, and no divergence is negative.
    """
    epsilon = divergences + np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)
    least = epsilon.min(axis=-1)
    result: FloatArray = np.maximum(0.0, least + 1e-12 * (1.0 + np.abs(least)))
    return result


def deltas_of_renyi(orders: FloatArray, divergences: FloatArray, epsilon: float) -> FloatArray:
    """Return the δ of (ε, δ)-DP implied by D_α <= divergence, the least over the orders; (..., orders) gives (...).

    δ = e^{(α-1)(D-ε)} (1 - 1/α)^{α-1} / α (Canonne, Kamath, Steinke 2020, Prop. 12), at most 1. Unchecked: orders are
    above 1, and no divergence is negative.

    No δ is above the total variation, at most √(D/2) (Pinsker) and √(1 - e^{-D}) (Bretagnolle & Huber 1979) for
    D = D_1, which no D_α is below.
    """
    with np.errstate(over="ignore"):  # an exponent beyond floats is that of the smallest one
        log_delta = (orders - 1.0) * (divergences - epsilon + np.log1p(-1.0 / orders)) - np.log(orders)
    least = np.clip(log_delta.min(axis=-1), -_LARGEST_EXPONENT, 0.0)
    result: FloatArray = np.exp(np.minimum(0.0, least + 1e-12 * (1.0 + np.abs(least))))
    return np.minimum(result, total_variation_at_most(divergences.min(axis=-1)))


def corollary_4_1(epsilon: float, delta: float, count: int) -> float:
    """Return the ε' per release such that ``count`` ε'-DP releases are (ε, δ)-DP: ε / √(4 count ln(e + ε/δ)).

    Kairouz, Oh, Viswanath 2015, Cor. 4.1, for ε <= 0.9; the form paper 003 calibrates its noise with.

    Raises
    ------
    ParameterError
        If epsilon is outside (0, 0.9], delta outside (0, 1) or count below 1.
    """
    size, target = positive("epsilon", epsilon), open_unit("delta", delta)
    if size > 0.9:
        raise ParameterError(f"epsilon = {epsilon!r}: Corollary 4.1 needs epsilon <= 0.9")
    positive("count", count)
    return size / math.sqrt(4.0 * count * math.log(math.e + size / target))
