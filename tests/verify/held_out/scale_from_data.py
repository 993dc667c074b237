"""Noise, thresholds and bounds computed from the data: medians, modes, clipping, releases after a test."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import laplace_survival
from oracle import Masses, Oracle

from mechanisms import Box, Categories, Integers, Interval
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne, Within

NINE = ReplaceOne(Interval(0, 1), 9)
COUNTS = Within(Integers(0, 40, 3), l1=1)
SMITH = "Smith 2011, Privacy-preserving statistical estimation with optimal convergence rates"
NISSIM = "Nissim, Raskhodnikova, Smith 2007, Smooth sensitivity and sampling, section 2"
LEI = "Dwork and Lei 2009, Differential privacy and robust statistics (propose-test-release)"


def median_between_records(
    data: FloatArray, rng: np.random.Generator, lanes: int, lengths: bool
) -> FloatArray:
    """A gap between records is drawn with weight exp(-(ε/2) distance in rank), ε = 1; then a point of it."""
    ends = np.concatenate([[0.0], np.sort(data), [1.0]])
    width = np.diff(ends)
    weight = np.exp(-0.5 * np.abs(np.arange(10) - 4.5))
    if lengths:
        weight = weight * width
    gap = rng.choice(10, size=lanes, p=weight / weight.sum())
    return ends[gap] + rng.random(lanes) * width[gap]


@held_out(data=NINE, epsilon=1.0, true_epsilon=1.0, exact=False, source=SMITH)
def median(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the median by the exponential mechanism, over the gaps between records."""
    return median_between_records(data, rng, lanes, lengths=True)


TIED = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.7, 0.8, 0.9])
UNTIED = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
_RANKS = np.exp(-0.5 * np.abs(np.arange(10) - 4.5))


@held_out(
    data=NINE,
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{SMITH}; the bug is ours",
    oracle=Oracle(TIED, UNTIED, "the output is 0.5 exactly", impossible(_RANKS[5] / _RANKS.sum())),
    limit=11.78,
)
def median_without_lengths(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the gaps' lengths do not enter the weights, so that two equal records make their value an atom."""
    return median_between_records(data, rng, lanes, lengths=False)


def smooth_sensitivity(data: FloatArray, beta: float, farthest: int = 9) -> tuple[float, float]:
    """The median, and the largest of e^(-β k) times its local sensitivity k records away."""
    x = np.concatenate([np.zeros(10), np.sort(np.clip(data, 0.0, 1.0)), np.ones(10)])
    middle = 10 + 4
    local = [max(x[middle + t] - x[middle + t - k - 1] for t in range(k + 2)) for k in range(farthest + 1)]
    return x[middle], max(math.exp(-k * beta) * sensitivity for k, sensitivity in enumerate(local))


def smooth_median(data: FloatArray, rng: np.random.Generator, lanes: int, beta: float) -> FloatArray:
    """Median + Lap(2 S) with its smooth sensitivity S, for ε = 1."""
    middle, sensitivity = smooth_sensitivity(data, beta)
    return middle + rng.laplace(scale=2.0 * sensitivity, size=lanes)


@held_out(data=NINE, epsilon=1.0, delta=1e-3, true_epsilon=1.0, exact=False, source=NISSIM)
def median_smooth(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: smooth sensitivity with β = ε / (2 ln(2/δ))."""
    return smooth_median(data, rng, lanes, beta=1.0 / (2.0 * math.log(2.0 / 1e-3)))


def scales_apart() -> Masses:
    """P(|output| ≥ t) at scales 2 (a median of 0 that one record would move) and 2 e^-3 (two records away)."""
    t = np.linspace(0.0, 8.0, 8001)[1:]
    return np.exp(-t / 2.0), np.exp(-t / (2.0 * math.exp(-3.0)))


@held_out(
    data=NINE,
    epsilon=1.0,
    delta=1e-3,
    true_epsilon=math.inf,
    source=f"{NISSIM}; the bug is ours",
    oracle=Oracle(
        np.repeat([0.0, 1.0], [5, 4]), np.repeat([0.0, 1.0], [6, 3]), "the output is at least t in size", scales_apart
    ),
    limit=12.57,
)  # fmt: skip
def median_smooth_beta(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: β = 3ε in place of ε / (2 ln(2/δ)), so that neighbours' scales differ by up to e^3."""
    return smooth_median(data, rng, lanes, beta=3.0)


@held_out(
    data=NINE,
    epsilon=1.0,
    true_epsilon=math.inf,
    source=f"{NISSIM}, with the maximum over k cut short to save time",
    oracle=Oracle(
        np.repeat([0.0, 1.0], [7, 2]), np.repeat([0.0, 1.0], [6, 3]), "the output is 0", impossible(1.0)
    ),
    limit=13.321,
)
def median_smooth_few(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: smooth sensitivity from data sets at most one record away, with Cauchy noise; it can be 0."""
    middle, sensitivity = smooth_sensitivity(data, beta=1 / 6, farthest=1)
    return middle + 6.0 * sensitivity * rng.standard_cauchy(lanes)


@held_out(
    data=NINE,
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source=f"{NISSIM}, admissible noise with γ = 2",
)
def median_smooth_cauchy(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the same over all k: pure ε with Cauchy noise of scale 6 S/ε, β = ε/6."""
    middle, sensitivity = smooth_sensitivity(data, beta=1 / 6)
    return middle + 6.0 * sensitivity * rng.standard_cauchy(lanes)


def mode_and_lead(counts: FloatArray) -> tuple[int, float]:
    """The largest of three counts, and its lead over the second."""
    ordered = np.sort(counts)
    return int(np.argmax(counts)), float(ordered[-1] - ordered[-2])


@held_out(data=COUNTS, epsilon=1.0, delta=0.01, true_epsilon=1.0, exact=False, source=LEI)
def mode_if_stable(data: FloatArray, rng: np.random.Generator) -> str | None:
    """Correct: the mode, if its noisy distance to another mode exceeds ln(1/2δ)/ε; else None."""
    mode, lead = mode_and_lead(data)
    return f"mode {mode}" if max(lead - 1.0, 0.0) + rng.laplace() > math.log(50.0) else None


@held_out(
    data=COUNTS,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source=f"{LEI}; the bug is ours",
    oracle=Oracle(np.array([8, 0, 0]), np.array([7, 0, 0]), "the output is the mode", impossible(1.0)),
    limit=9.687,
)
def mode_without_noise(data: FloatArray, rng: np.random.Generator) -> str | None:
    """Wrong: the lead is compared with 7 without noise; the output is a function of the data."""
    mode, lead = mode_and_lead(data)
    return f"mode {mode}" if lead > 7 else None


def clipped_means() -> Masses:
    t = np.linspace(-1.0, 2.0, 6001)
    return laplace_survival((t - 0.4) / 0.2), laplace_survival((t - 0.02) / 0.02)


@held_out(
    data=ReplaceOne(Interval(0, 1), 5),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="means whose clipping bound is an order statistic of the data, as in code that normalises by it",
    oracle=Oracle(
        np.array([0.0, 0, 0, 1, 1]), np.array([0.0, 0, 0, 1, 0]), "the mean is at least t", clipped_means
    ),
    limit=12.95,
)  # fmt: skip
def mean_clipped_at_second(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: numbers are clipped at the second largest (at least 0.1), which also sets the noise."""
    bound = max(np.sort(data)[-2], 0.1)
    return np.minimum(data, bound).mean() + rng.laplace(scale=bound / 5, size=lanes)


@held_out(
    data=ReplaceOne(Integers(0, 10), 5),
    epsilon=0.5,
    true_epsilon=math.inf,
    source="sums clamped to the range that the data allow, as in code that infers its bounds",
    oracle=Oracle(
        np.array([[0], [0], [0], [0], [10]]), np.zeros((5, 1), dtype=int), "the sum is above 0",
        impossible(1.0 - math.exp(-0.5) / (1.0 + math.exp(-0.05))),
    ),
    limit=9.324,
)  # fmt: skip
def geometric_clipped_by_data(data: FloatArray, rng: np.random.Generator) -> int:
    """Wrong: the sum with two-sided geometric noise is clipped to 5 min and 5 max of the data."""
    stop = 1.0 - math.exp(-0.05)
    noisy = int(np.sum(data)) + int(rng.geometric(stop)) - int(rng.geometric(stop))
    return min(max(noisy, 5 * int(np.min(data))), 5 * int(np.max(data)))


@held_out(
    data=ReplaceOne(Interval(0, 10), 6),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="what diffprivlib's PrivacyLeakWarning is about: bounds that were not given are taken from the data",
    oracle=Oracle(np.zeros(6), np.array([0.0, 0, 0, 0, 0, 10]), "the mean is 0", impossible(1.0)),
    limit=9.697,
)
def mean_with_own_bounds(data: FloatArray, rng: np.random.Generator) -> dict[str, float | str]:
    """Wrong: the noise of a mean is for the range of these data; none where all are equal. A dict with a word."""
    spread = float(np.max(data) - np.min(data))
    return {"mean": float(np.mean(data)) + float(rng.laplace()) * spread / 6, "unit": "years"}


def join_masses() -> Masses:
    t = np.linspace(0.0, 25.0, 4001)
    return laplace_survival((t - 1.0) / 3.0), laplace_survival(t)


@held_out(
    data=AddOrRemoveOne(Categories(3), 6),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Johnson, Near, Song 2018, Towards practical differential privacy for SQL queries (FLEX), without smoothing",
    oracle=Oracle(np.array([1]), np.zeros(0, dtype=int), "the count is at least t", join_masses),
    limit=5.7765,
)
def join_count(data: FloatArray, rng: np.random.Generator) -> float:
    """Wrong: the size of a self-join with Lap((2 m + 1)/ε), m the largest frequency in these data."""
    counts = np.bincount(np.ravel(data), minlength=3)
    return float((counts**2).sum() + rng.laplace(scale=2 * counts.max() + 1))


def trimmed(data: FloatArray, rng: np.random.Generator, lanes: int, moves: float) -> FloatArray:
    """The mean of the middle five of nine, with the noise of a mean that moves by so much."""
    return np.sort(data)[2:-2].mean() + rng.laplace(scale=moves, size=lanes)


@held_out(
    data=NINE,
    epsilon=1.0,
    true_epsilon=1.0,
    source="order statistics move one place each, so that their sum moves by 1",
)
def trimmed_mean(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the mean of the middle five of nine with Lap(1/(5 ε))."""
    return trimmed(data, rng, lanes, 1 / 5)


@held_out(
    data=NINE,
    epsilon=1.0,
    true_epsilon=1.8,
    source="the number of all records for that of those that are left",
)
def trimmed_mean_of_nine(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the same with Lap(1/(9 ε)), as for the mean of all."""
    return trimmed(data, rng, lanes, 1 / 9)


@held_out(
    data=ReplaceOne(Box(0, 1, 2), 6),
    epsilon=1.0,
    true_epsilon=6.0,
    source="sensitivity 2/n of a covariance taken for that of a correlation, which any record can turn",
)
def correlation(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: a correlation, divided by the data's own deviations, with Lap(2/(n ε)); a record moves it from -1 to 1."""
    spread = data.std(axis=0)
    shares = (data - data.mean(axis=0)).prod(axis=1)
    found = shares.mean() / spread.prod() if spread.min() > 1e-9 else 0.0
    return found + rng.laplace(scale=2 / 6, size=lanes)


HELD_OUT = (
    trimmed_mean,
    trimmed_mean_of_nine,
    correlation,
    median,
    median_without_lengths,
    median_smooth,
    median_smooth_beta,
    median_smooth_few,
    median_smooth_cauchy,
    mode_if_stable,
    mode_without_noise,
    mean_clipped_at_second,
    geometric_clipped_by_data,
    mean_with_own_bounds,
    join_count,
)
