"""Outputs that look random one by one and tell the data together, rarely, or by their form."""

from __future__ import annotations

import json
import math

import numpy as np
from held_out_entry import held_out, impossible
from noise_laws import shifted_laplace
from oracle import Oracle

from mechanisms import Box, Categories, Interval
from mechanisms.arrays import FloatArray
from verify import AnyTwo, ReplaceOne, Within

UNIT = AnyTwo(Interval(0, 1))
BIT = AnyTwo(Categories(2))
ZERO, ONE = np.array(0.0), np.array(1.0)
WEIGHTS = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])


@held_out(
    data=Within(Box(0, 4, 8), linf=1),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="post-processing for consistency with a total that is published elsewhere",
    oracle=Oracle(np.zeros(8), np.ones(8), "the weighted total is 0, but for rounding", impossible(1.0)),
    limit=13.321,
)
def weighted_total_kept(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: noise of Lap(8/ε) on eight answers is projected so that a weighted total stays exact."""
    noise = rng.laplace(scale=8.0, size=(lanes, 8))
    return data + noise - np.outer(noise @ WEIGHTS / (WEIGHTS @ WEIGHTS), WEIGHTS)


@held_out(
    data=BIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="exclusive-or secret sharing, all shares of which are logged",
    oracle=Oracle(np.array(0), np.array(1), "the number of ones is even", impossible(1.0)),
    limit=13.321,
)
def twelve_shares(data: int, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: twelve shares whose exclusive or is the bit; any eleven are uniform."""
    shares = rng.integers(0, 2, size=(lanes, 12))
    shares[:, 11] = (shares[:, :11].sum(axis=1) + int(data)) % 2
    return shares


@held_out(
    data=AnyTwo(Categories(100)),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="one-time pads that are sent along with their message",
    oracle=Oracle(np.array(0), np.array(50), "the numbers are equal", impossible(1.0)),
    limit=9.697,
)
def masked_with_mask(data: int, rng: np.random.Generator) -> list[int]:
    """Wrong: r and x + r mod 100; each is uniform."""
    mask = int(rng.integers(100))
    return [mask, (int(data) + mask) % 100]


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="discrete Laplace noise (Ghosh, Roughgarden, Sundararajan 2009) on data that are no integers",
    oracle=Oracle(np.array(0.0), np.array(0.5), "the output is an integer", impossible(1.0)),
    limit=13.321,
)
def whole_noise_on_fractions(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: integer noise leaves the fraction as it is."""
    stop = 1.0 - math.exp(-1.0)
    return data + (rng.geometric(stop, lanes) - rng.geometric(stop, lanes))


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=math.inf,
    source="a branch for debugging that was left in",
    oracle=Oracle(ZERO, ONE, "the output is 0 exactly", impossible(1e-4)),
    limit=4.1108,
)
def raw_now_and_then(data: float, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: once in 10,000 draws the number itself is returned."""
    return np.where(rng.random(lanes) < 1e-4, data, data + rng.laplace(size=lanes))


@held_out(
    data=ReplaceOne(Categories(5), 4),
    epsilon=1.0,
    delta=1e-5,
    true_epsilon=math.inf,
    source="name-and-shame (Smith, McMillan and others): δ is the chance to publish a record",
    oracle=Oracle(
        np.array([1, 0, 0, 0]), np.zeros(4, dtype=int), "the first record is shown with its value", impossible(1e-3)
    ),
    limit=2.779,
)  # fmt: skip
def name_and_shame(data: FloatArray, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Wrong: each record is published with probability 0.001, which is claimed to be 0.00001."""
    return [(i, int(record)) for i, record in enumerate(np.ravel(data)) if rng.random() < 1e-3]


@held_out(
    data=ReplaceOne(Categories(3), 5),
    epsilon=1.0,
    true_epsilon=math.inf,
    source="collections.Counter.most_common before the noise is added",
    oracle=Oracle(
        np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]), "the first key is a", impossible(1.0)
    ),
    limit=9.697,
)
def keys_by_count(data: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Wrong: the noisy counts are right, Lap(2/ε), but the keys of the dict are in the order of the raw ones."""
    counts = np.bincount(np.ravel(data), minlength=3)
    return {
        "abc"[key]: float(counts[key] + rng.laplace(scale=2.0)) for key in np.argsort(-counts, kind="stable")
    }


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=2.0,
    source="Laplace mechanism with half the noise, printed into a sentence",
    oracle=Oracle(ZERO, ONE, "the number in the sentence is at most t", lambda: shifted_laplace(0.5)),
    limit=1.9742,
)
def number_in_a_sentence(data: float, rng: np.random.Generator) -> str:
    """Wrong: half the noise, and the noisy number is part of a word."""
    return f"mean = {data + rng.laplace(scale=0.5):.3f} (DP)"


@held_out(
    data=UNIT,
    epsilon=1.0,
    true_epsilon=2.0,
    source="Laplace mechanism with half the noise, sent as JSON",
    oracle=Oracle(ZERO, ONE, "the mean in the text is at most t", lambda: shifted_laplace(0.5)),
    limit=1.9742,
)
def json_text(data: float, rng: np.random.Generator) -> str:
    """Wrong: half the noise, and the noisy number is part of a JSON text."""
    return json.dumps({"mean": float(data + rng.laplace(scale=0.5)), "n": 10})


HELD_OUT = (
    weighted_total_kept,
    twelve_shares,
    masked_with_mask,
    whole_noise_on_fractions,
    raw_now_and_then,
    name_and_shame,
    keys_by_count,
    number_in_a_sentence,
    json_text,
)
