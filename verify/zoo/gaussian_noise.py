"""The Gaussian mechanism: exact calibration, the classical formula where it holds and where not, wrong inputs."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.oracle import Masses, Oracle
from verify.zoo.specimen import Specimen

EPSILON, DELTA = 1.0, 0.01
CLASSIC = 0.9, 0.01
LARGE = 8.0, 0.2
TIGHT = 1.0, 0.001
VARIANCE = 4.0, 0.01
COORDINATES = 4
COUNT = Within(Interval(-10, 10), linf=1)
VECTOR = Within(Box(-10, 10, COORDINATES), linf=1)
_UNIT = "one individual, who moves the answer by at most 1"


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ), μ = sensitivity / σ (Balle and Wang 2018, Thm 8)."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The ε at which δ(ε) is `delta`."""
    return float(
        brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, mu * (mu + 40.0), xtol=1e-13)
    )


def analytic_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ)-private."""
    return float(
        brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-3, 2.0 * epsilon + 10.0, xtol=1e-14)
    )


def classic_sigma(epsilon: float, delta: float) -> float:
    """σ = √(2 ln(1.25/δ)) / ε, proved for ε ≤ 1 only (Dwork and Roth 2014, Thm 3.22)."""
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


SIGMA = 1.0 / analytic_mu(EPSILON, DELTA)
VARIANCE_SIGMA = 1.0 / analytic_mu(*VARIANCE)
LOOSE_SIGMA = classic_sigma(1.0, 0.1)


@claimed(data=COUNT, unit=_UNIT)
def gaussian(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism calibrated exactly to (1, 0.01). Correct, and nothing is given away."""
    return data + SIGMA * rng.standard_normal(lanes)


@claimed(data=COUNT, unit=_UNIT)
def classic(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism with the classical σ at (0.9, 0.01). Correct: the formula holds for ε ≤ 1, with room."""
    return data + classic_sigma(*CLASSIC) * rng.standard_normal(lanes)


@claimed(data=COUNT, unit=_UNIT)
def classic_large_epsilon(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism with the classical σ at ε = 8, δ = 0.2, beyond the ε ≤ 1 of its proof.

    σ falls as 1/ε, but at large ε privacy needs about 1/√(2ε) (Balle and Wang 2018, section 2.3).
    """
    return data + classic_sigma(*LARGE) * rng.standard_normal(lanes)


@claimed(data=COUNT, unit=_UNIT)
def wrong_delta(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism whose σ was computed for δ = 0.1 and which is sold with δ = 0.001."""
    return data + LOOSE_SIGMA * rng.standard_normal(lanes)


@claimed(data=VECTOR, unit="one individual, who moves each of four answers by at most 1")
def wrong_sensitivity(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian noise for sensitivity 1 on four answers that all move: the L2 sensitivity is √4 = 2."""
    return np.asarray(data) + SIGMA * rng.standard_normal((lanes, COORDINATES))


@claimed(data=COUNT, unit=_UNIT)
def variance_for_scale(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Gaussian mechanism in which σ² was passed where the standard deviation belongs; σ < 1, so it is too small."""
    return data + VARIANCE_SIGMA**2 * rng.standard_normal(lanes)


def gaussian_masses(mu: float) -> Masses:
    """Masses of "at most t" under N(0, 1) and N(μ, 1)."""
    grid = np.linspace(-9.0, 9.0 + mu, 20001)
    return ndtr(grid), ndtr(grid - mu)


def _oracle(mu: float, size: int | None = None) -> Oracle:
    low, high = (np.array(0.0), np.array(1.0)) if size is None else (np.zeros(size), np.ones(size))
    return Oracle(low, high, "the answers' sum is at most t", lambda: gaussian_masses(mu))


_BALLE = "Balle, Wang 2018, Improving the Gaussian mechanism for differential privacy"
_DWORK = "Dwork, Roth 2014, The algorithmic foundations of differential privacy, Thm 3.22"

SPECIMENS = (
    Specimen(
        "gaussian",
        gaussian,
        EPSILON,
        EPSILON,
        True,
        f"{_BALLE}, Alg. 1",
        "σ solves δ(ε) = δ exactly",
        _oracle(1.0 / SIGMA),
        DELTA,
    ),
    Specimen(
        "gaussian-classic",
        classic,
        CLASSIC[0],
        gaussian_epsilon(1.0 / classic_sigma(*CLASSIC), CLASSIC[1]),
        True,
        _DWORK,
        "the classical σ is larger than needed for ε ≤ 1",
        _oracle(1.0 / classic_sigma(*CLASSIC)),
        CLASSIC[1],
    ),
    Specimen(
        "gaussian-classic-large",
        classic_large_epsilon,
        LARGE[0],
        gaussian_epsilon(1.0 / classic_sigma(*LARGE), LARGE[1]),
        False,
        f"{_DWORK}, outside its range; {_BALLE}, section 2.3",
        "the classical σ is too small for large ε: δ(8) is 0.48, not 0.2",
        _oracle(1.0 / classic_sigma(*LARGE)),
        LARGE[1],
    ),
    Specimen(
        "gaussian-wrong-delta",
        wrong_delta,
        TIGHT[0],
        gaussian_epsilon(1.0 / LOOSE_SIGMA, TIGHT[1]),
        False,
        f"{_DWORK}, with another δ than claimed",
        "σ was computed for δ = 0.1: δ(1) is 0.0031, not 0.001",
        _oracle(1.0 / LOOSE_SIGMA),
        TIGHT[1],
    ),
    Specimen(
        "gaussian-wrong-sensitivity",
        wrong_sensitivity,
        EPSILON,
        gaussian_epsilon(2.0 / SIGMA, DELTA),
        False,
        f"{_BALLE}, with the L∞ for the L2 sensitivity",
        "four answers move by 1 each: μ is twice what it should be",
        _oracle(2.0 / SIGMA, COORDINATES),
        DELTA,
    ),
    Specimen(
        "gaussian-variance",
        variance_for_scale,
        VARIANCE[0],
        gaussian_epsilon(1.0 / VARIANCE_SIGMA**2, VARIANCE[1]),
        False,
        "a mistake of practice: NumPy's scale is the standard deviation",
        "σ < 1, so the variance is smaller than σ",
        _oracle(1.0 / VARIANCE_SIGMA**2),
        VARIANCE[1],
    ),
)
