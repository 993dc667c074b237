"""δ(ε) of one release on a Poisson subsample when one record is replaced; the pairs of `poisson_replaced`."""

from __future__ import annotations

import math

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.gaussian import GaussianProfile
from mechanisms.log_sum import log_mixture


def poisson_replaced_gaussian_delta(rate: float, sigma: float, epsilon: FloatArray) -> FloatArray:
    """Return δ(ε) at ε >= 0 of ((1-q) N(0,σ²) + q N(1,σ²), (1-q) N(0,σ²) + q N(-1,σ²)).

    The likelihood ratio increases, so δ counts the outputs above τ where it is w = e^ε. With
    w(1-q) + wq e^{v(-x)} = 1-q + q e^{v(x)} there, λ = (w-1)(1-q) e^{-v(τ)} / q and 1-λ = w e^{-2τ/σ²},

        δ = q (λ (Φ(-t) - e^{x_1} Φ(-t-1/σ)) + (1-λ) (Φ(-t) - e^{x_2} Φ(-t-2/σ))),  t = (τ-1)/σ:

    a mixture of two Gaussian curves, μ = 1/σ at x_1 = (τ - 1/2)/σ² and μ = 2/σ at x_2 = 2τ/σ², all terms
    nonnegative. τ = σ² (ε/2 + y), sinh y = ((1-q)/q) e^{1/2σ²} sinh(ε/2). Relative error below 1e-11: τ/σ² is
    off by at most about 30u of itself, and ln δ falls by at most about t² <= 1,500 times that.
    """
    variance = sigma * sigma
    half = 0.5 * np.asarray(epsilon, dtype=np.float64)
    log_scale = math.log1p(-rate) - math.log(rate) + 0.5 / variance
    with np.errstate(divide="ignore"):
        log_sinh = half + np.log(-0.5 * np.expm1(-2.0 * half)) + log_scale
    y = np.where(log_sinh > 300.0, log_sinh + math.log(2.0), np.arcsinh(np.exp(np.minimum(log_sinh, 300.0))))
    over = half + y  # τ/σ²
    near = np.exp(2.0 * (half - over))
    far = -np.expm1(2.0 * (half - over))
    one = np.asarray(GaussianProfile(1.0 / sigma).delta(over - 0.5 / variance))
    with np.errstate(over="ignore"):
        two = np.asarray(GaussianProfile(2.0 / sigma).delta(2.0 * over))
    return rate * (far * one + near * two)


def poisson_replaced_laplace_delta(rate: float, largest: float, epsilon: FloatArray) -> FloatArray:
    """Return δ(ε) at ε >= 0 of ((1-q) F(x) + q F(x-e), (1-q) F(x) + q F(x+e)), F Laplace noise of scale 1.

    For noise x > 0, where all positive losses are, the second density is K times that of F, K = 1-q + q e^{-e}.
    So δ(ε) = q (1 - e^{-(e - l0)/2}), the Laplace curve at l0, e^{l0} = (e^ε - 1) (1-q)/q + e^{ε-e}. Near the largest
    loss, with g the distance to it, e - l0 = -ln(1 - (1 + (1-q) e^{-e} / q) (1 - e^{-g})).

    Parameters
    ----------
    largest
        e, the largest loss of the Laplace mechanism.
    """
    e, q = largest, rate
    x = np.asarray(epsilon, dtype=np.float64)
    low, high = (float(log_mixture(q, np.array(side * e))) for side in (-1.0, 1.0))
    gap = np.maximum(high - low - x, 0.0)
    lost = (1.0 + (1.0 - q) / q * math.exp(-e)) * -np.expm1(-gap)
    with np.errstate(divide="ignore"):
        grown = x + np.log(-np.expm1(-x)) + math.log1p(-q) - math.log(q)  # ln((e^ε - 1) (1-q)/q)
    # The exponent is above 0 beyond the largest loss only, where it may be too large.
    kept = np.exp(np.minimum(0.5 * (np.logaddexp(grown, x - e) - e), 1.0))
    near = -np.expm1(0.5 * np.log1p(-np.minimum(lost, 0.9)))
    return np.asarray(q * np.where(kept > 0.5, near, 1.0 - kept))
