"""Outputs of unusual types, and noise that repeats: dicts, words, None, infinities; one noise for two answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import shifted_laplace
from oracle import Oracle

from mechanisms import Integers, Interval
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, AnyTwo, ReplaceOne

UNIT = AnyTwo(Interval(0, 1))
ZERO, ONE = np.array(0.0), np.array(1.0)


@held_out(
    data=ReplaceOne(Interval(0, 1), 4),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="one draw of noise reused, as where a generator is seeded per call",
    oracle=Oracle(
        np.zeros(4), np.eye(4)[0], "mean and variance differ by the first's difference", impossible(1.0)
    ),
    limit=9.697,
)
def mean_and_variance(data: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Wrong: mean and variance get the same noise, so that their difference is exact. A dict."""
    noise = rng.laplace(scale=0.5)
    return {"mean": float(np.mean(data) + noise), "variance": float(np.var(data) + noise)}


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="a seed computed from the data, for repeatable reports",
    oracle=Oracle(ZERO, ONE, "the output is the first data set's", impossible(1.0)),
    limit=9.697,
)
def seeded_by_data(data: float, rng: np.random.Generator) -> float:
    """Wrong: the noise's seed is a function of the data; equal data give equal outputs."""
    return float(data) + np.random.default_rng(int(float(data) * 2**40)).laplace()


def sorted_into(noisy: float) -> Any:
    """A function of one noisy number, of another type in every range."""
    if noisy < -6:
        return -math.inf
    if noisy < -4:
        return None
    if noisy < -1:
        return [noisy, int(noisy)]
    if noisy < 0:
        return {"value": noisy}
    if noisy < 1:
        return noisy
    if noisy < 2:
        return "one"
    if noisy < 6:
        return noisy > 3, "large"
    return math.inf


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=1.0,
    source="Laplace mechanism and post-processing",
    oracle=Oracle(ZERO, ONE, "the noisy number is at most t", lambda: shifted_laplace(1.0)),
    limit=0.9844,
)
def mixed_types(data: float, rng: np.random.Generator) -> Any:
    """Correct: x + Lap(1/ε) as a number, an infinity, None, a word, a tuple, a list or a dict by its size."""
    return sorted_into(float(data + rng.laplace()))


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=2.0,
    source="Laplace mechanism with half the noise, and post-processing",
    oracle=Oracle(ZERO, ONE, "the noisy number is at most t", lambda: shifted_laplace(0.5)),
    limit=1.974,
)
def mixed_types_half_noise(data: float, rng: np.random.Generator) -> Any:
    """Wrong: the same with half the noise."""
    return sorted_into(float(data + rng.laplace(scale=0.5)))


@held_out(
    data=ReplaceOne(Interval(0, 1), 6),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="tables whose rounding was chosen by looking at the cell",
)
def digits_by_true_size(data: FloatArray, rng: np.random.Generator) -> float:
    """Wrong: a noisy sum is shown with a decimal if the true sum is at most 3, and as a whole number if not."""
    total = float(data.sum())
    return round(total + rng.laplace(), 0 if total > 3 else 1)


@held_out(
    data=ReplaceOne(Interval(0, 1), 6),
    epsilon=1.0,
    true_epsilon=1.0,
    source="post-processing",
)
def digits_by_noisy_size(data: FloatArray, rng: np.random.Generator) -> float:
    """Correct: the same by the size of the noisy sum."""
    noisy = float(data.sum() + rng.laplace())
    return round(noisy, 0 if noisy > 3 else 1)


@dataclass
class Report:
    """A number, and what its reader should know."""

    total: float
    warnings: list[str] = field(default_factory=list)


@held_out(
    data=ReplaceOne(Interval(0, 2), 5),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="libraries that warn where a bound clips",
)
def warns_of_clipping(data: FloatArray, rng: np.random.Generator) -> Report:
    """Wrong: a sum of clipped values with Lap(1/ε), and a warning if any of them was clipped."""
    warnings = ["some values were clipped"] if (data > 1).any() else []
    return Report(float(np.clip(data, 0, 1).sum() + rng.laplace()), warnings)


@held_out(
    data=ReplaceOne(Interval(0, 2), 5),
    epsilon=1.0,
    true_epsilon=1.0,
    source="post-processing",
)
def warns_of_a_negative_total(data: FloatArray, rng: np.random.Generator) -> Report:
    """Correct: the same with a warning that is about the noisy sum."""
    total = float(np.clip(data, 0, 1).sum() + rng.laplace())
    return Report(total, ["the total is negative"] if total < 0 else [])


@held_out(
    data=AnyTwo(Interval(0, 24)),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="times of day with noise, on a clock; post-processing",
)
def hour_on_clock(data: float, rng: np.random.Generator) -> str:
    """Correct: Lap(12/ε) is enough for 24 hours, as two times on a clock are 12 hours apart at most."""
    minutes = round((float(data) + rng.laplace(scale=12.0)) * 60.0) % 1440
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


@held_out(
    data=AddOrRemoveOne(Integers(0, 1, 2), 5),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="means by group that divide by the group's size",
    oracle=Oracle(
        np.ones((1, 2), dtype=int), np.ones((0, 2), dtype=int), "there is an output", impossible(1.0)
    ),
    limit=9.697,
)
def mean_of_a_group(data: FloatArray, rng: np.random.Generator) -> float:
    """Wrong: the mean of those in a group with Lap(1/ε) is not there if nobody is in it: ZeroDivisionError."""
    told = [int(answer) for member, answer in data if member]
    return float(sum(told) / len(told) + rng.laplace())


HELD_OUT = (
    hour_on_clock,
    mean_of_a_group,
    mean_and_variance,
    seeded_by_data,
    mixed_types,
    mixed_types_half_noise,
    digits_by_true_size,
    digits_by_noisy_size,
    warns_of_clipping,
    warns_of_a_negative_total,
)
