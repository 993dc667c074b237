"""Histograms: what a record moves, which keys are shown, small counts left out, totals kept, shares."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import analytic_mu, laplace_sum
from oracle import Masses, Oracle, by_likelihood_ratio

from mechanisms import Box, Categories, Integers, Interval, OneHot
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, AnyTwo, ReplaceOne, Within

LOSS = "the sum of the losses of the cells that move is at least t"


THRESHOLD = 1.0 + math.log(50.0)  # 1 + ln(1 / 2δ) / ε: a count of 1 passes with probability δ


@held_out(
    data=AddOrRemoveOne(Integers(0, 1, 4), 6),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source="Korolova, Kenthapadi, Mishra, Ntoulas 2009, Releasing search queries and clicks privately, without its "
    "bound on a user's items",
    oracle=Oracle(
        np.ones((1, 4), dtype=int), np.zeros((0, 4), dtype=int), "some item is shown", impossible(1 - 0.99**4)
    ),
    limit=6.17,
)
def items_above_threshold(data: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Wrong: noisy counts above a threshold for users of one item each, who bring up to four. A dict."""
    counts = np.asarray(data).reshape(-1, 4).sum(axis=0)
    noisy = {f"item{i}": float(count + rng.laplace()) for i, count in enumerate(counts) if count > 0}
    return {item: count for item, count in noisy.items() if count > THRESHOLD}


@held_out(
    data=ReplaceOne(Categories(4), 8),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Samarati and Sweeney 1998, k-anonymity by suppression",
    oracle=Oracle(
        np.array([0] * 3 + [1] * 5), np.array([0] * 2 + [1] * 6), "the first count is shown", impossible(1.0)
    ),
    limit=9.697,
)
def counts_from_three_on(data: FloatArray, rng: np.random.Generator) -> list[int | None]:
    """Wrong: exact counts, with None for those below 3; no noise at all."""
    return [int(count) if count >= 3 else None for count in np.bincount(np.ravel(data), minlength=4)]


@held_out(
    data=AnyTwo(OneHot(4)),
    epsilon=1.0,
    true_epsilon=2.0,
    source="Dwork and Roth 2014, section 3.3: histograms have sensitivity 2 where a record is replaced",
    oracle=Oracle(np.array([1.0, 0, 0, 0]), np.array([0.0, 1, 0, 0]), LOSS, lambda: laplace_sum(1.0, 2)),
    limit=1.994,
)
def one_hot(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(1/ε) on a one-hot record, of which two cells change."""
    return np.asarray(data) + rng.laplace(size=(lanes, 4))


SIGMA = 1.0 / analytic_mu(1.0, 0.01)
LATTICE = np.arange(-60, 61)
WEIGHTS = np.exp(-(LATTICE**2) / (2.0 * SIGMA**2))
WEIGHTS /= WEIGHTS.sum()


def both_counts() -> Masses:
    moved = np.concatenate([[0.0], WEIGHTS[:-1]])  # the last atom, e^-800, is left out
    return by_likelihood_ratio(np.outer(WEIGHTS, WEIGHTS).ravel(), np.outer(moved, moved).ravel())


COUNTS = Oracle(np.zeros(2, dtype=int), np.ones(2, dtype=int), "the counts are among the best", both_counts)


@held_out(
    data=Within(Integers(0, 20, 2), linf=1),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=COUNTS.epsilon(0.01),
    source="Canonne, Kamath, Steinke 2020, The discrete Gaussian, with σ for one count",
    oracle=COUNTS,
    limit=1.583,
)
def discrete_gaussian_counts(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: discrete Gaussian noise for sensitivity 1 on two counts that both move by 1."""
    return np.asarray(data) + rng.choice(LATTICE, size=(lanes, 2), p=WEIGHTS)


@held_out(
    data=AddOrRemoveOne(Box(0, 20, 3), 5),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source="stability-based histograms (Bun, Nissim, Stemmer 2016) of users with several keys; noise divided, δ not",
    oracle=Oracle(
        np.array([[0.0, 10.0, 20.0]]), np.zeros((0, 3)), "some key is shown", impossible(1 - 0.99**3)
    ),
    limit=5.770,
)
def three_keys_one_threshold(data: FloatArray, rng: np.random.Generator) -> dict[int, float]:
    """Wrong: Lap(3/ε) for users with three keys each, and the threshold that one key passes with probability δ."""
    keys, counts = np.unique([key for user in data for key in {int(x) for x in user}], return_counts=True)
    noisy = {int(key): float(count + rng.laplace(scale=3.0)) for key, count in zip(keys, counts, strict=True)}
    return {key: value for key, value in noisy.items() if value > 1.0 + 3.0 * math.log(50.0)}


def six_at_most_zero() -> Masses:
    """Six coordinates are rounded to 0 in one world, to 1 in the other: that each is at most 0 with its noise."""
    ratio = math.exp(-1.0)
    return np.array([(1.0 / (1.0 + ratio)) ** 6]), np.array([(ratio / (1.0 + ratio)) ** 6])


@held_out(
    data=Within(Box(0, 100, 6), l1=1),
    epsilon=1.0,
    true_epsilon=6.0,
    source="amounts that are rounded to whole units for discrete Laplace noise, whose scale is that of the amounts",
    oracle=Oracle(np.full(6, 0.42), np.full(6, 0.58), "all outputs are at most 0", six_at_most_zero),
    limit=5.944,
)
def rounded_before_the_noise(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: six amounts that move by 1 in all are rounded, after which each may move by 1."""
    stop = 1.0 - math.exp(-1.0)
    noise = rng.geometric(stop, size=(lanes, 6)) - rng.geometric(stop, size=(lanes, 6))
    return np.round(data) + noise


FEW = AddOrRemoveOne(Categories(3), 6)
ONE, NOBODY = np.array([0]), np.zeros(0, dtype=int)


@held_out(
    data=FEW,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="Thompson, Broadfoot, Elazar 2013, Methodology for automatic confidentialisation (TableBuilder)",
    oracle=Oracle(ONE, NOBODY, "the first cell is above 0", impossible(0.6)),
    limit=12.81,
)
def perturbed_table(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: one of -2, ..., 2 is added to each cell, and cells without records stay 0."""
    counts = np.bincount(np.ravel(data), minlength=3)
    noisy = counts + rng.integers(-2, 3, size=(lanes, 3))
    return np.where(counts > 0, np.maximum(noisy, 0), 0)


@held_out(
    data=FEW,
    epsilon=1.0,
    delta=0.01,
    true_epsilon=math.inf,
    source="invariants of the 2020 census of the United States: the total is published as it is",
    oracle=Oracle(ONE, NOBODY, "the cells add up to 1", impossible(1.0)),
    limit=9.687,
)
def exact_total(data: FloatArray, rng: np.random.Generator) -> list[int]:
    """Wrong: noisy cells, the last set so that their sum is exact; a list."""
    counts = np.bincount(np.ravel(data), minlength=3)
    first, second = (round(count + SIGMA * rng.normal()) for count in counts[:2])
    return [first, second, int(counts.sum()) - first - second]


@held_out(
    data=AddOrRemoveOne(Categories(2), 5),
    epsilon=1.0,
    delta=0.01,
    true_epsilon=1.0,
    exact=False,
    source="padding with dummies: Kellaris, Kollios, Nissim, O'Neill 2017, shifted geometric noise",
)
def padded_count(data: FloatArray, rng: np.random.Generator) -> int:
    """Correct: the count of ones and max(0, 6 + two-sided geometric noise) dummies."""
    stop = 1.0 - math.exp(-1.0)
    return int(np.sum(data)) + max(0, 6 + int(rng.geometric(stop)) - int(rng.geometric(stop)))


def normalised(data: FloatArray, rng: np.random.Generator, lanes: int, scale: float) -> FloatArray:
    """The shares of three categories: noisy counts, cut at 0, divided by their sum (1/3 each if that is 0)."""
    noisy = np.maximum(
        np.bincount(np.ravel(data), minlength=3) + rng.laplace(scale=scale, size=(lanes, 3)), 0.0
    )
    total = noisy.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, noisy / np.where(total > 0.0, total, 1.0), 1 / 3)


@held_out(
    data=ReplaceOne(Categories(3), 8),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="Zhang, Cormode, Procopiuc, Srivastava, Xiao 2014, PrivBayes, one distribution",
)
def shares(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: shares from counts with Lap(2/ε), of which a replaced record moves two; atoms at 0 and 1."""
    return normalised(data, rng, lanes, 2.0)


def no_second_share() -> Masses:
    return np.array([0.5]), np.array([0.5 * math.exp(-4.0)])


@held_out(
    data=ReplaceOne(Categories(3), 8),
    epsilon=1.0,
    true_epsilon=4.0,
    exact=False,
    source="PrivBayes as in DataSynthesizer issue 34: the noise of shares, 2/(n ε), on counts",
    oracle=Oracle(np.zeros(8, dtype=int), np.array([0] * 7 + [1]), "the second share is 0", no_second_share),
    limit=3.9885,
)
def shares_of_small_noise(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: Lap(2/(8 ε)) on counts."""
    return normalised(data, rng, lanes, 0.25)


@held_out(
    data=ReplaceOne(Interval(0, 1), 12),
    epsilon=1.0,
    true_epsilon=10.0,
    exact=False,
    source="numpy.histogram without a range: its bins are those of the data",
)
def bins_of_the_data(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: four bins from the smallest value to the largest, whose counts get Lap(2/ε) each; the bins are not told.

    Of a 0, ten times 0.2 and a last value, the last is 0.2 or 1: ten records change from the highest bin to the lowest.
    """
    counts, _ = np.histogram(data, bins=4)
    return counts + rng.laplace(scale=2.0, size=(lanes, 4))


@held_out(
    data=ReplaceOne(Interval(0, 1), 12),
    epsilon=1.0,
    true_epsilon=1.0,
    source="Laplace mechanism",
)
def bins_of_the_domain(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: the same with four bins of [0, 1]."""
    counts, _ = np.histogram(data, bins=4, range=(0, 1))
    return counts + rng.laplace(scale=2.0, size=(lanes, 4))


@held_out(
    data=ReplaceOne(Box(0, 1, 2), 6),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="GROUP BY: a group without records has no sum",
)
def sums_of_groups(data: FloatArray, rng: np.random.Generator) -> dict[str, float | None]:
    """Wrong: the sum of each of two groups with Lap(2/ε), and None for a group that nobody is in."""
    groups = {"low": data[data[:, 0] <= 0.5, 1], "high": data[data[:, 0] > 0.5, 1]}
    return {
        name: float(values.sum() + rng.laplace(scale=2.0)) if values.size else None
        for name, values in groups.items()
    }


HELD_OUT = (
    bins_of_the_data,
    bins_of_the_domain,
    sums_of_groups,
    items_above_threshold,
    counts_from_three_on,
    one_hot,
    discrete_gaussian_counts,
    three_keys_one_threshold,
    rounded_before_the_noise,
    perturbed_table,
    exact_total,
    padded_count,
    shares,
    shares_of_small_noise,
)
