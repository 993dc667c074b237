"""Additive noise of other shapes: staircase, planar, Cauchy, rounded, in L2 norm; and none at all."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out
from noise_laws import analytic_mu, gaussian_masses, laplace_sum, shifted_laplace
from oracle import Masses, Oracle
from scipy.special import chdtrc

from mechanisms import Ball, Box, Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo, Within

ANSWER = Within(Interval(-10, 10), linf=1)
UNIT = AnyTwo(Interval(0, 1))
ZERO, ONE = np.array(0.0), np.array(1.0)
LOW = "the output is at most t"
ANDRES = "Andrés, Bordenabe, Chatzikokolakis, Palamidessi 2013, Geo-indistinguishability"


@held_out(
    data=Within(Interval(-5, 5), linf=1),
    epsilon=1.0,
    true_epsilon=1.0,
    source="Geng, Kairouz, Oh, Viswanath 2015, The staircase mechanism in differential privacy",
)
def staircase_wide(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: staircase noise with γ = 0.9, which is far from the best."""
    gamma, falls = 0.9, math.exp(-1.0)
    sign = np.where(rng.random(lanes) < 0.5, 1.0, -1.0)
    step = rng.geometric(1.0 - falls, size=lanes) - 1
    left = rng.random(lanes) < gamma / (gamma + (1.0 - gamma) * falls)
    u = rng.random(lanes)
    return data + sign * np.where(left, step + gamma * u, step + gamma + (1.0 - gamma) * u)


@held_out(
    data=ANSWER,
    epsilon=0.3,
    true_epsilon=1 / 3,
    source="integer division where a scale is computed",
    oracle=Oracle(ZERO, ONE, LOW, lambda: shifted_laplace(3.0)),
    limit=0.3315,
)
def whole_scale(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the scale is int(1/ε) = 3 for ε = 0.3; the output is cut to an integer."""
    return (data + rng.laplace(scale=int(1 / 0.3), size=lanes)).astype(int)


@held_out(
    data=ANSWER,
    epsilon=0.3,
    true_epsilon=0.3,
    source="Dwork, McSherry, Nissim, Smith 2006, and post-processing",
    oracle=Oracle(ZERO, ONE, LOW, lambda: shifted_laplace(1 / 0.3)),
    limit=0.2982,
)
def cut_to_integer(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: int(x + Lap(1/ε))."""
    return (data + rng.laplace(scale=1 / 0.3, size=lanes)).astype(int)


def norms() -> Masses:
    """P(norm ≥ t) of three N(0, x²), x = 2 or 1."""
    squared = np.linspace(0.01, 100.0, 5001)
    return chdtrc(3, squared / 4.0), chdtrc(3, squared)


PROJECTED = Oracle(np.array(2.0), np.array(1.0), "the norm is at least t", norms)


@held_out(
    data=AnyTwo(Interval(1, 2)),
    epsilon=1.0,
    delta=1e-3,
    true_epsilon=21.4,
    exact=False,
    source="Blocki, Blum, Datta, Sheffet 2012, The Johnson-Lindenstrauss transform itself preserves privacy",
    oracle=PROJECTED,
    limit=10.09,
)
def projections_only(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: three random projections without noise, of data shorter than the theorem asks for."""
    return data * rng.standard_normal((lanes, 3))


DISK = AnyTwo(Ball(1, 2))


def in_the_plane(data: FloatArray, rng: np.random.Generator, radius: FloatArray) -> FloatArray:
    angle = 2.0 * math.pi * rng.random(len(radius))
    return np.asarray(data) + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@held_out(data=DISK, epsilon=1.0, true_epsilon=1.0, source=f"{ANDRES}, section 4")
def planar_laplace(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: planar Laplace noise with ε/2 per unit of length, radius ~ Gamma(2), on a disk of diameter 2."""
    return in_the_plane(data, rng, rng.gamma(2.0, 2.0, size=lanes))


def small_disks() -> Masses:
    """P(the output is within t of the point), 2 away from the other, with density e^(-d/2) / (4π d) there."""
    t = np.logspace(-3.5, 0.0, 200)
    radius = (np.arange(60) + 0.5) / 60 * t[:, None, None]
    angle = np.linspace(0.0, 2.0 * math.pi, 400, endpoint=False)[:, None]
    distance = np.hypot(2.0 + radius * np.cos(angle), radius * np.sin(angle))
    density = np.exp(-distance / 2.0) / (4.0 * math.pi * distance)
    return -np.expm1(-t / 2.0), (density * radius).mean(axis=(1, 2)) * 2.0 * math.pi * t


@held_out(
    data=DISK,
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{ANDRES}, with the radius drawn as in one dimension",
    oracle=Oracle(
        np.array([1.0, 0.0]), np.array([-1.0, 0.0]), "the output is within t of the point", small_disks
    ),
    limit=6.661,
)
def planar_exponential(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: radius ~ Exp in place of Gamma(2), so that the density has a pole at the true place."""
    return in_the_plane(data, rng, rng.exponential(2.0, size=lanes))


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source="Nissim, Raskhodnikova, Smith 2007, Cauchy noise, with the exact constant",
)
def cauchy(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: 2 sinh(1/2) x + Cauchy noise; the loss is ε at two points only, and outputs may be huge."""
    return 2.0 * math.sinh(0.5) * data + rng.standard_cauchy(lanes)


HALVES = np.zeros(4), np.full(4, 0.5)


@held_out(
    data=Within(Box(-3, 3, 4), l2=1),
    epsilon=1.0,
    true_epsilon=2.0,
    source="Dwork and Roth 2014, Theorem 3.6 asks for L1 sensitivity",
    oracle=Oracle(*HALVES, "the sum of the losses is at least t", lambda: laplace_sum(2.0, 4)),
    limit=1.987,
)
def laplace_for_l2(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(1/ε) on four answers that move by 1 in L2 norm, 2 in L1 norm."""
    return np.asarray(data) + rng.laplace(size=(lanes, 4))


MU = analytic_mu(1.0, 0.01)


@held_out(
    data=Within(Box(0, 10, 4), l2=2),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=1.0,
    source="Balle and Wang 2018, Theorem 8",
    oracle=Oracle(
        np.zeros(4), np.ones(4), "a linear function of the output is at most t", lambda: gaussian_masses(MU)
    ),
    limit=0.9898,
)
def gaussian_for_l2(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: Gaussian noise for four answers that move by 2 in L2 norm."""
    return np.asarray(data) + 2.0 / MU * rng.standard_normal((lanes, 4))


HELD_OUT = (
    staircase_wide,
    whole_scale,
    cut_to_integer,
    projections_only,
    planar_laplace,
    planar_exponential,
    cauchy,
    laplace_for_l2,
    gaussian_for_l2,
)
