"""Correct answers about whole data sets: sums in odd arithmetic, selections with ties, trees, samples, labels.

Each row of a table says which data sets are neighbours and what is claimed; where nothing else is said, (1, 0).
"""

import array
import collections
import contextlib
import dataclasses
import fractions
import functools
import heapq
import io
import itertools
import math
import operator
import secrets
import statistics
import types

import numpy as np
from odd_ingredients import KEEP, geometric, noisy, response

from mechanisms import Ball, Box, Categories, GaussianProfile, Integers, Interval
from verify import AddOrRemoveOne, AnyTwo, ReplaceOne, Within

ROWS, BITS = ReplaceOne(Interval(0, 1), 6), ReplaceOne(Categories(2), 6)
SOME, LABELS = AddOrRemoveOne(Interval(0, 1), 5), AddOrRemoveOne(Categories(4), 5)
POINTS, ANSWERS = AddOrRemoveOne(Box(-1, 1, 3), 4), Within(Box(-5, 5, 4), linf=1)
COUNTS = Within(Integers(0, 20, 4), l1=1)
AMPLIFIED = math.log(1.0 + 2.0 * (math.e - 1.0))  # of half of the records, to a budget of one


def two_sided(rng, epsilon, size=None):
    """Return two-sided geometric noise."""
    p = 1.0 - math.exp(-epsilon)
    return rng.geometric(p, size) - rng.geometric(p, size)


def keep_bit(bit, rng, epsilon=1.0):
    """Return a bit by randomized response."""
    return int(bit) ^ int(rng.random() >= 1.0 / (1.0 + math.exp(-epsilon)))


def select(scores, rng):
    """Return the place of a high score by the exponential mechanism; one record moves each score by at most one."""
    weights = np.exp((scores - np.max(scores)) / 2.0)
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def median_by_rank(data, rng):
    """Return a grid point by how many records lie on either side of it, ties counted on neither."""
    grid = np.linspace(0.0, 1.0, 5)
    below, above = (data[:, None] < grid).sum(axis=0), (data[:, None] > grid).sum(axis=0)
    return grid[select(-np.abs(below - above) / 2.0, rng)]  # a replacement moves the difference by two


def pairwise(values):
    """Return the sum of numbers, added in pairs."""
    return values[0] if len(values) == 1 else pairwise(values[::2]) + (pairwise(values[1::2]))


def running(data, rng):
    """Return prefix sums of four records by a binary tree of three levels."""
    node = [x + rng.laplace(scale=3.0) for x in (data[0], data[0] + data[1], data[2], data[:4].sum())]
    return [node[0], node[1], node[1] + node[2], node[3]]


def fixed_point(data, rng):
    """Return the sum in thousandths, with whole noise."""
    return sum(round(1000.0 * x) for x in data.tolist()) + int(two_sided(rng, 1e-3))


def ratio(data, rng):
    """Return the quotient of two noisy numbers, or the error of a division by nought."""
    return data.sum() + rng.laplace(scale=2.0), len(data) + int(two_sided(rng, 0.5))


def quotient(data, rng):
    """Return the floor of a quotient, or raise."""
    above, below = ratio(data, rng)
    return math.floor(above) // below


def quiet_mean(data, rng):
    """Return a mean that is not a number or is infinite if the noisy count is nought."""
    above, below = ratio(data, rng)
    with np.errstate(all="ignore"):
        return np.float64(above) / np.float64(below)


def sampled_sum(data, rng):
    """Return a noisy sum of about half of the records, without saying of which."""
    return data[rng.random(len(data)) < 0.5].sum() + rng.laplace(scale=1.0 / AMPLIFIED)


def sampled_record(data, rng):
    """Return a response of one record of six, without saying which."""
    return keep_bit(data[rng.integers(6)], rng, math.log(1.0 + 6.0 * (math.e - 1.0)))


def named_record(data, rng):
    """Return which record was asked, and its response."""
    which = int(rng.integers(6))
    return f"record {which}", keep_bit(data[which], rng)


def shuffled_responses(data, rng):
    """Return the responses of all, in any order."""
    return rng.permutation([keep_bit(bit, rng) for bit in data.tolist()])


def present_labels(data, rng):
    """Return the labels whose noisy count is large: a label of one record shows with probability 0.01."""
    counts = {label: count + rng.laplace() for label, count in collections.Counter(data.tolist()).items()}
    return {f"label {label}": round(x, 1) for label, x in counts.items() if x > 1.0 + math.log(50.0)}


def most_frequent(data, rng):
    """Return the most frequent label; counts change one way only, so that all of the budget is for the largest."""
    counts = np.bincount(data, minlength=4)
    return "abcd"[int(np.argmax(counts + rng.exponential(size=4)))]


def above_threshold(data, rng):
    """Return for each answer whether it is above a noisy threshold, until one is."""
    threshold, said = rng.laplace(scale=2.0), []
    for answer in data.tolist():
        said.append("above" if answer + rng.laplace(scale=4.0) >= threshold else "below")
        if said[-1] == "above":
            break
    return said


def cut_noise(data, rng):
    """Return a sum with Laplace noise drawn again until it lies within 5."""
    while abs(noise := rng.laplace()) > 5.0:
        pass
    return data.sum() + noise


def one_way(points, rng):
    """Return the sum of points of L1 norm at most one, after clipping each."""
    norms = np.maximum(1.0, np.abs(points).sum(axis=1, keepdims=True))
    return (points / norms).sum(axis=0) + rng.laplace(size=3)


def tables(data, rng):
    """Return a structured array of noisy counts."""
    table = np.zeros(2, dtype=[("bin", "i4"), ("count", "f8")])
    table["bin"], table["count"] = (
        (0, 1),
        np.bincount(data > 0.5, minlength=2) + rng.laplace(scale=2.0, size=2),
    )
    return table.tolist()


@dataclasses.dataclass
class Reservoir:
    """A mechanism with state of its own, all of it public: calls so far, and the last answer."""

    last: float = 0.0
    calls: itertools.count = dataclasses.field(default_factory=itertools.count)

    def __call__(self, data, rng):
        next(self.calls)
        before, self.last = self.last, noisy(float(data.sum()), rng)
        return {"now": self.last, "rose": self.last > before}


class Noise(contextlib.AbstractContextManager):
    """Noise that may be used within a block."""

    def __init__(self, rng):
        self.rng, self.open = rng, True

    def add(self, value):
        """Return a noisy value."""
        assert self.open
        return value + self.rng.laplace()

    def __exit__(self, *_):
        self.open = False


def within_a_block(data, rng):
    """Return early from within a block."""
    with Noise(rng) as noise:
        if (answer := noise.add(data.sum())) > 3.0:
            return answer
    return -1.0


def steps(data, rng):
    """Yield an answer, one digit after the other."""
    yield from f"{abs(noisy(float(data.sum()), rng)):07.3f}"


@functools.cache
def bins(size):
    """Return bins of a public size."""
    return np.linspace(0.0, 1.0, size + 1)


def secret_noise(data, rng):
    """Return a bit by a response whose coin is the system's."""
    return int(data > 0.5) ^ int(secrets.randbelow(10**9) >= KEEP * 10**9)


def printed(data, rng):
    """Return what was printed."""
    out = io.StringIO()
    print(f"{data.sum() + rng.laplace():8.2f}", len(data), sep=";", end="\r\n", file=out)
    return out.getvalue()


def raised_with_the_answer(data, rng):
    """Raise an error whose words hold the answer, if it is large."""
    if (answer := round(float(data.sum() + rng.laplace()))) > 4:
        raise LookupError(f"answer {answer}")
    return answer


def two_groups(data, rng):
    """Return noisy sums of the records at odd and at even places."""
    sums = types.SimpleNamespace(even=data[::2].sum(), odd=data[1::2].sum())
    return {name: value + rng.laplace() for name, value in vars(sums).items()}


def leader_takes_all(data, rng):
    """Return the two largest of five noisy numbers and their places, which are half the budget each."""
    scores = np.array([*data[:4], 0.5]) + rng.laplace(scale=8.0, size=5)
    return heapq.nlargest(2, range(5), key=scores.tolist().__getitem__), float(scores.max())


TABLES = {
    ROWS: {
        "summed-backwards": lambda data, rng: sum(data[::-1].tolist()) + rng.laplace(),
        "summed-in-pairs": lambda data, rng: pairwise(data.tolist()) + rng.laplace(),
        "summed-exactly": lambda data, rng: math.fsum(data) + rng.laplace(),
        "summed-in-half-precision": lambda data, rng: float(data.astype(np.float16).sum()) + rng.laplace(scale=1.01),
        "summed-as-fractions": lambda data, rng: float(sum(map(fractions.Fraction, data.tolist()))) + rng.laplace(),
        "mean": lambda data, rng: statistics.fmean(data) + rng.laplace(scale=1.0 / 6.0),
        "mean-in-percent": lambda data, rng: f"{100.0 * (data.mean() + rng.laplace(scale=1.0 / 6.0)):.0f} %",
        "sum-less-a-constant": lambda data, rng: (data - 1e6).sum() + rng.laplace(),
        "clipped-to-the-middle": lambda data, rng: np.clip(data, 0.25, 0.75).sum() + rng.laplace(scale=0.5),
        "fixed-point": fixed_point,
        "distinct-tenths": lambda data, rng: len(set(np.round(data, 1).tolist())) + int(two_sided(rng, 1.0)),
        "largest-with-noise": lambda data, rng: data.max() + rng.laplace(),
        "range-with-noise": lambda data, rng: np.ptp(data) + rng.laplace(),
        "median-with-noise": lambda data, rng: statistics.median_low(data.tolist()) + rng.laplace(),
        "median-by-rank": median_by_rank,
        "neighbours-in-the-row": lambda data, rng: float(np.dot(data[1:], data[:-1])) + rng.laplace(scale=2.0),
        "rises": lambda data, rng: int((np.diff(data) > 0).sum()) + int(two_sided(rng, 1.0)),
        "halves-of-a-histogram": tables,
        "histogram": lambda data, rng: np.histogram(data, bins(3))[0] + rng.laplace(scale=2.0, size=3),
        "prefix-sums": running,
        "within-a-block": within_a_block,
        "digits-one-by-one": lambda data, rng: list(steps(data, rng)),
        "printed": printed,
        "raised-with-the-answer": raised_with_the_answer,
        "object-with-state": Reservoir(),
        "method-of-an-object": Reservoir().__call__,
        "part-of-a-function": functools.partial(lambda scale, data, rng: noisy(data.max(), rng, scale), 1.0),
        "two-groups": two_groups,
        "at-least-nought": lambda data, rng: max(-0.0, float(np.floor(data.sum() + rng.laplace()))),
        "sorted-first": lambda data, rng: functools.reduce(operator.add, sorted(data.tolist())) + rng.laplace(),
        "largest-two": leader_takes_all,
        "product": lambda data, rng: math.prod(data.tolist()) + rng.laplace(),
        "logarithm": lambda data, rng: math.log2(1.0 + data.max()) + rng.laplace(),
        "array-of-bytes": lambda data, rng: array.array("h", [round(10 * data.sum() + 10 * rng.laplace())]).tobytes(),
        "a-view-of-memory": lambda data, rng: memoryview(np.round(data[:1] + rng.laplace(), 1)).tolist(),
    },
    BITS: {
        "xor-of-all": lambda data, rng: keep_bit(functools.reduce(operator.xor, data.tolist()), rng),
        "sampled-record": sampled_record,
        "named-record": named_record,
        "shuffled-responses": shuffled_responses,
        "responses-as-a-number": lambda data, rng: int("".join(str(keep_bit(b, rng)) for b in data), 2),
        "responses-as-runs": lambda data, rng: [
            (key, len(list(run))) for key, run in itertools.groupby(keep_bit(bit, rng) for bit in data)
        ],
        "majority-of-responses": lambda data, rng: statistics.multimode(keep_bit(bit, rng) for bit in data),
        "in-eight-bits": lambda data, rng: np.uint8(250) + np.uint8((data.sum() + two_sided(rng, 1.0)) % 256),
        "wrapped-at-64-bits": lambda data, rng: (int(data.sum() + two_sided(rng, 1.0)) - 3) % 2**64 - 2**63,
        "product-of-signs": lambda data, rng: math.copysign(1.0, (-1.0) ** int(data.sum()) * (KEEP - rng.random())),
    },
    SOME: {
        "sum-of-none-or-more": lambda data, rng: float(np.sum(data)) + rng.laplace(),
        "length": lambda data, rng: [None] * max(0, len(data) + int(two_sided(rng, 1.0))),
        "quotient-or-error": quotient,
        "mean-or-nan": quiet_mean,
        "sampled-sum": sampled_sum,
        "largest-or-nought": lambda data, rng: max(data.tolist(), default=0.0) + rng.laplace(),
        "is-any": lambda data, rng: bool(keep_bit(len(data) > 0, rng)),
        "distinct": lambda data, rng: np.unique(data).size + int(two_sided(rng, 1.0)),
        "cut-sum": lambda data, rng: min(3.0, float(data.sum())) + rng.laplace(),
    },
    LABELS: {
        "most-frequent": most_frequent,
        "counts-of-all-labels": lambda data, rng: collections.Counter(
            {"abcd"[i]: int(n) for i, n in enumerate(np.bincount(data, minlength=4) + two_sided(rng, 1.0, 4))}
        ),
        "counts-as-words": lambda data, rng: " ".join(
            f"{'abcd'[i]}{n:+d}" for i, n in enumerate(np.bincount(data, minlength=4) + two_sided(rng, 1.0, 4))
        ),
        "selected": lambda data, rng: ("north", "east", "south", "west")[select(np.bincount(data, minlength=4), rng)],
    },
    POINTS: {
        "clipped-points": one_way,
        "signs-of-noisy-sums": lambda points, rng: np.sign(one_way(points, rng)).astype(int).tolist(),
        "direction": lambda points, rng: (x := one_way(points, rng)) / np.linalg.norm(x),
        "one-coordinate-by-lot": lambda points, rng: [
            which := int(rng.integers(3)), points[:, which].sum() + rng.laplace()],
        "column-sums": lambda points, rng: points.sum(axis=0) + rng.laplace(scale=3.0, size=3),
        "second-moments": lambda points, rng: (points.T @ points)[np.triu_indices(3)] + rng.laplace(scale=6.0, size=6),
    },
    ANSWERS: {
        "above-threshold": above_threshold,
        "noisy-maximum": lambda data, rng: int(np.argmax(data + rng.exponential(scale=2.0, size=4))),
        "noisy-maximum-by-laplace": lambda data, rng: int(np.argmax(data + rng.laplace(scale=2.0, size=4))),
        "selected-answer": lambda data, rng: f"no. {select(data, rng)}",
        "leading-digit": lambda data, rng: int(f"{abs(noisy(float(data.max()), rng)):e}"[0]),
    },
    COUNTS: {
        "whole-counts": lambda data, rng: data + two_sided(rng, 1.0, 4),
        "counts-below-five-hidden": lambda data, rng: [n if (n := int(x)) >= 5 else None
                                                       for x in data + two_sided(rng, 1.0, 4)],
        "consistent-total": lambda data, rng: [*(x := data + two_sided(rng, 1.0, 4)).tolist(), int(x.sum())],
    },
    AnyTwo(Categories(2)): {
        "coin-of-the-system": secret_noise,
        "through-a-table": lambda data, rng: {0: "no", 1: "yes"}[int(response(data, rng))].encode(),
    },
    AnyTwo(Integers(0, 1)): {
        "powers-of-three": lambda data, rng: 3 ** (60 + geometric(data.item(), rng)),
    },
}  # fmt: skip

WITH_DELTA = {
    "present-labels": (present_labels, LABELS, 1.0, 0.01),
    "cut-noise": (cut_noise, ROWS, 1.0, (math.exp(-4.0) - math.exp(-5.0)) / (2.0 * (1.0 - math.exp(-5.0)))),
    "uniform-noise": (lambda data, rng: data.sum() + rng.uniform(-10, 10), ROWS, 0.1, 1.0 / 20.0),
    "gaussian-noise": (
        lambda points, rng: (points / np.maximum(1.0, np.linalg.norm(points, axis=1, keepdims=True))).sum(axis=0)
        + rng.normal(scale=2.0, size=3), POINTS, GaussianProfile(0.5).epsilon(1e-3), 1e-3,
    ),
    "rarely-in-the-clear": (
        lambda data, rng: tuple(data.tolist()) if rng.random() < 0.01 else keep_bit(data[0], rng), BITS, 1.0, 0.01,
    ),
    "mean-of-a-ball": (
        lambda points, rng: points.sum(axis=0) + rng.normal(scale=4.0, size=2),
        AddOrRemoveOne(Ball(2, 2), 3), GaussianProfile(0.5).epsilon(1e-2), 1e-2,
    ),
}  # fmt: skip

SUBJECTS = {
    name: (function, neighbours, 1.0, 0.0)
    for neighbours, table in TABLES.items()
    for name, function in table.items()
}
SUBJECTS |= WITH_DELTA
