"""Noise that is cut off, drawn again, or drawn from few random bits."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import laplace_cdf
from oracle import Masses, Oracle, by_likelihood_ratio, half_lines

from mechanisms import Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo, Within

COUNT = Within(Interval(0, 10), linf=1)
UNIT = AnyTwo(Interval(0, 1))
ZERO, ONE = np.array(0.0), np.array(1.0)
LOW = "the output is at most t"
GENG = "Geng, Ding, Guo, Kumar 2020, Tight analysis of privacy and utility tradeoff in approximate DP"
HOLOHAN = "Holohan, Antonatos, Braghin, Mac Aonghusa 2018, The bounded Laplace mechanism"


def support(delta: float) -> float:
    """ln(1 + (e^ε - 1) / 2δ) for ε = 1."""
    return math.log1p(math.expm1(1.0) / (2.0 * delta))


def truncated(rng: np.random.Generator, lanes: int, end: float) -> FloatArray:
    """Laplace noise between -end and end, by inversion."""
    size = -np.log1p(rng.random(lanes) * math.expm1(-end))
    return np.where(rng.random(lanes) < 0.5, size, -size)


def truncated_masses() -> Masses:
    end = support(0.01)

    def cdf(t: FloatArray) -> FloatArray:
        tail = 0.5 * math.exp(-end)
        return np.clip((laplace_cdf(np.clip(t, -end, end)) - tail) / (1.0 - 2.0 * tail), 0.0, 1.0)

    return half_lines(cdf, lambda t: cdf(t - 1.0), np.linspace(-end, end + 1.0, 4001))


@held_out(
    data=COUNT,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=1.0,
    source=GENG,
    oracle=Oracle(ZERO, ONE, LOW, truncated_masses),
    limit=0.9974,
)
def truncated_laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: Laplace noise truncated so that what falls outside the neighbour's support has probability δ."""
    return data + truncated(rng, lanes, support(0.01))


@held_out(
    data=COUNT,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source=f"{GENG}; the bug is ours",
    oracle=Oracle(ZERO, ONE, "the output is below the neighbour's support", impossible(0.05)),
    limit=10.1,
)
def truncated_laplace_delta(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: truncated as for δ = 0.05."""
    return data + truncated(rng, lanes, support(0.05))


SCALE = 0.1


def inside(center: float) -> float:
    """P(center + Lap(0.1) lies in [0, 1])."""
    return float(laplace_cdf((1.0 - center) / SCALE) - laplace_cdf(-center / SCALE))


def bounded_masses() -> Masses:
    t = np.logspace(-5, -1, 801)
    at_zero = (laplace_cdf(t / SCALE) - laplace_cdf(0.0)) / inside(0.0)
    return at_zero, (laplace_cdf((t - 0.1) / SCALE) - laplace_cdf(-0.1 / SCALE)) / inside(0.1)


@held_out(
    data=Within(Interval(0, 1), linf=0.1),
    epsilon=1.0,
    true_epsilon=1.0 + math.log(inside(0.1) / inside(0.0)),
    source=f"{HOLOHAN}, whose larger scale is left out",
    oracle=Oracle(np.array(0.0), np.array(0.1), LOW, bounded_masses),
    limit=1.455,
)
def bounded_laplace(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(0.1/ε) drawn again until the output is in [0, 1]; how often that happens depends on the data."""
    low, high = laplace_cdf(-data / SCALE), laplace_cdf((1.0 - data) / SCALE)
    u = low + (high - low) * rng.random(lanes)
    return np.clip(data + SCALE * np.where(u < 0.5, np.log(2.0 * u), -np.log(2.0 * (1.0 - u))), 0.0, 1.0)


def tries() -> Masses:
    """P(at least t tries), where one succeeds with probability (1 - e^-4)/2 around 0, 1 - e^-2 around 1/2."""
    before = np.arange(29)
    return (1.0 - 0.5 * -math.expm1(-4.0)) ** before, math.exp(-2.0) ** before


@held_out(
    data=Within(Interval(0, 1), linf=0.5),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="rejection sampling whose number of tries, or time, is seen",
    oracle=Oracle(np.array(0.0), np.array(0.5), "there were at least t tries", tries),
    limit=8.072,
)
def rejections_counted(data: float, rng: np.random.Generator, lanes: int) -> tuple[FloatArray, FloatArray]:
    """Wrong: Lap(1/4) drawn again until the output is in [0, 1], and the number of tries is returned too."""
    output, count = np.full(lanes, np.nan), np.zeros(lanes, dtype=int)
    while (open_lanes := np.flatnonzero(np.isnan(output))).size:
        noisy = data + rng.laplace(scale=0.25, size=open_lanes.size)
        count[open_lanes] += 1
        accepted = (noisy >= 0.0) & (noisy <= 1.0)
        output[open_lanes[accepted]] = noisy[accepted]
    return output, count


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="noise generators seeded with a few bits, as in demonstrations that fix a small range of seeds",
    oracle=Oracle(ZERO, ONE, "the output is one of the first data set's thousand", impossible(1.0)),
    limit=9.697,
)
def thousand_seeds(data: float, rng: np.random.Generator) -> float:
    """Wrong: the generator of the noise has one of 1000 seeds, so that there are 1000 outputs."""
    seed = int(rng.integers(1000))
    return float(data) + float(np.random.default_rng(seed).laplace())


def cents(center: float) -> FloatArray:
    """The 1024 outputs of Laplace noise by inversion of (k + 1/2) / 1024, rounded to cents."""
    u = (np.arange(1024) + 0.5) / 1024 - 0.5
    return np.round(center - np.sign(u) * np.log1p(-2.0 * np.abs(u)), 2)


def cents_masses() -> Masses:
    outputs = np.union1d(cents(0.0), cents(1.0))
    return by_likelihood_ratio(*((cents(x)[:, None] == outputs).mean(axis=0) for x in (0.0, 1.0)))


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Mironov 2012, On significance of the least significant bits, with ten bits in place of 53",
    oracle=Oracle(ZERO, ONE, "the output is one of those that the other data set cannot give", cents_masses),
    limit=11.42,
)
def ten_random_bits(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Laplace noise by inversion of ten random bits, rounded to cents: the tails have holes."""
    return cents(data)[rng.integers(1024, size=lanes)]


HELD_OUT = (
    truncated_laplace,
    truncated_laplace_delta,
    bounded_laplace,
    rejections_counted,
    thousand_seeds,
    ten_random_bits,
)
