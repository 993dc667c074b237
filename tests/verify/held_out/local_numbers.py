"""One user's number, or her share of it: local randomizers, secret sharing, noise from several parties."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from held_out_entry import held_out
from noise_laws import shifted_laplace
from oracle import Masses, Oracle
from scipy.integrate import quad
from scipy.special import k0, ndtr

from mechanisms import Box, Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo

UNIT = AnyTwo(Interval(0, 1))
ZERO, ONE = np.array(0.0), np.array(1.0)
BALCER = "distributed Laplace noise as a sum of Gamma differences (Ács and Castelluccia 2011)"


def wrapped_masses() -> Masses:
    """P(the shares differ by at most t on the circle), a normal law with σ = 0.1 around 0 or around 1/2."""
    t = np.linspace(0.0, 0.5, 501)[1:]
    turns = np.arange(-3, 4)[:, None]
    return (
        (ndtr((turns + t) / 0.1) - ndtr((turns - t) / 0.1)).sum(axis=0),
        (ndtr((turns + 0.5 + t) / 0.1) - ndtr((turns + 0.5 - t) / 0.1)).sum(axis=0),
    )


@held_out(
    data=AnyTwo(Interval(0, 1)),
    epsilon=1.0,
    true_epsilon=12.5 - math.log(2.0),
    source="additive secret sharing, both shares of which reach one server",
    oracle=Oracle(ZERO, ONE, "the shares differ by at most t on the circle", wrapped_masses),
    limit=10.77,
)
def both_shares(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: u and u + x/2 + N(0, 0.1²) mod 1 are uniform each, and tell x together."""
    share = rng.random(lanes)
    return np.stack([share, (share + data / 2 + 0.1 * rng.standard_normal(lanes)) % 1.0], axis=1)


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source=BALCER,
    oracle=Oracle(ZERO, ONE, "the output is at most t", lambda: shifted_laplace(1.0)),
    limit=0.99745,
)
def gamma_shares(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: ten parties add differences of Gamma(1/10) draws, Lap(1/ε) in all."""
    return data + (rng.gamma(0.1, size=(lanes, 10)) - rng.gamma(0.1, size=(lanes, 10))).sum(axis=1)


def near_the_truth() -> Masses:
    """P(the output is within t of the first data set): the noise has density K0(|z|) / π."""
    t = np.logspace(-6, -0.3, 120)
    edges = np.concatenate([[0.0], t])
    inner = [2.0 * quad(k0, a, b)[0] / math.pi for a, b in pairwise(edges)]
    return np.cumsum(inner), np.array([quad(k0, 1.0 - x, 1.0 + x)[0] / math.pi for x in t])


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{BALCER}, with half of the parties missing",
    oracle=Oracle(ZERO, ONE, "the output is within t of the truth", near_the_truth),
    limit=2.9846,
)
def gamma_shares_missing(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: five of the ten parties drop out, and the density has a pole at the truth."""
    return data + (rng.gamma(0.1, size=(lanes, 5)) - rng.gamma(0.1, size=(lanes, 5))).sum(axis=1)


@held_out(
    data=AnyTwo(Interval(-1, 1)),
    epsilon=1.0,
    true_epsilon=1.0,
    source="Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019, Collecting and analyzing multidimensional data",
)
def hybrid_mean(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: piecewise mechanism with probability 1 - e^(-ε/2), else Duchi's: a density and two atoms."""
    c = (math.exp(0.5) + 1) / (math.exp(0.5) - 1)
    left = (c + 1) / 2 * data - (c - 1) / 2
    near = left + (c - 1) * rng.random(lanes)
    u = (c + 1) * rng.random(lanes)
    far = np.where(u < left + c, u - c, u - 1)  # in [-c, left] or in [left + c - 1, c]
    piecewise = np.where(rng.random(lanes) < math.exp(0.5) / (math.exp(0.5) + 1), near, far)
    end = (math.e + 1) / (math.e - 1)
    duchi = np.where(rng.random(lanes) < (math.e - 1) / (2 * math.e + 2) * data + 0.5, end, -end)
    return np.where(rng.random(lanes) < 1 - math.exp(-0.5), piecewise, duchi)


def cap_masses() -> Masses:
    """The message is in the cap of (1, 1, 1), of measure 0.35; or is not in that of the opposite vector."""
    told, measure = math.e / (1.0 + math.e), 0.35
    missed = (1.0 - told) * measure / (1.0 - measure)
    return np.array([told, 1.0 - missed]), np.array([missed, 1.0 - told])


@held_out(
    data=AnyTwo(Box(-1, 1, 3)),
    epsilon=1.0,
    true_epsilon=1.0 + math.log(0.65 / 0.35),
    source="Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018, PrivUnit, in three dimensions",
    oracle=Oracle(-np.ones(3), np.ones(3), "the message is in the first vector's cap", cap_masses),
    limit=1.6163,
)
def unit_vector_in_cap(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the cap is hit with e^ε / (1 + e^ε), as if it were a half of the sphere; it is 35 % of it."""
    norm = np.linalg.norm(data)
    unit = data / norm if norm > 0.0 else np.eye(3)[0]
    inside = rng.random(lanes) < math.e / (1.0 + math.e)
    height = np.where(inside, rng.uniform(0.3, 1.0, lanes), rng.uniform(-1.0, 0.3, lanes))
    across = rng.standard_normal((lanes, 3))
    across -= np.outer(across @ unit, unit)
    across *= (np.sqrt(1.0 - height**2) / np.linalg.norm(across, axis=1))[:, None]
    return np.outer(height, unit) + across


HELD_OUT = (both_shares, gamma_shares, gamma_shares_missing, hybrid_mean, unit_vector_in_cap)
