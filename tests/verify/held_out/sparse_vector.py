"""Sparse vector technique: monotone queries, a threshold drawn again, one-sided noise, gaps."""

from __future__ import annotations

import math

import numpy as np
from held_out_entry import held_out
from oracle import Masses, Oracle, by_likelihood_ratio
from sparse_vector_laws import transcripts

from mechanisms import Box, Integers
from mechanisms.arrays import FloatArray
from verify import AddOrRemoveOne, ReplaceOne, Within

QUERIES, MOST = 6, 2
LYU = "Lyu, Su, Li 2017, Understanding the sparse vector technique"


def sparse_vector(
    answers: FloatArray,
    rng: np.random.Generator,
    lanes: int,
    threshold: float,
    b: float,
    s: float,
    redraw: bool = False,
) -> FloatArray:
    """1 for above, 0 for below, NaN once two were above; threshold noise Lap(b), query noise Lap(s)."""
    replies = np.full((lanes, len(answers)), np.nan)
    rho = rng.laplace(scale=b, size=lanes)
    above = np.zeros(lanes, dtype=int)
    for i, answer in enumerate(answers):
        running = above < MOST
        is_above = answer + rng.laplace(scale=s, size=lanes) >= threshold + rho
        replies[running, i] = is_above[running]
        above += running & is_above
        if redraw:
            rho = np.where(running & is_above, rng.laplace(scale=b, size=lanes), rho)
    return replies


@held_out(
    data=AddOrRemoveOne(Integers(0, 1, QUERIES), 4),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source=f"{LYU}, Algorithm 7 for monotone queries",
)
def svt_monotone(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Correct: six counts that all rise or all fall need half the query noise, Lap(c/(ε/2)) with c = 2."""
    return sparse_vector(np.reshape(data, (-1, QUERIES)).sum(axis=0), rng, lanes, 2.0, 2.0, 4.0)


MIXED = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]])
RISES, FALLS = np.array([[0, 0, 0, 0, 1, 1]]), np.array([[1, 1, 1, 1, 0, 0]])


def monotone_masses() -> Masses:
    laws = [
        transcripts(np.array(counts), 4.0, 2.0, 4.0, MOST)
        for counts in ([4.0] * 4 + [3.0] * 2, [5.0] * 4 + [2.0] * 2)
    ]
    return by_likelihood_ratio(*(np.array(list(law.values())) for law in laws))


MONOTONE = Oracle(
    np.vstack([MIXED, RISES]), np.vstack([MIXED, FALLS]), "the replies are among the best", monotone_masses
)


@held_out(
    data=ReplaceOne(Integers(0, 1, QUERIES), 5),
    epsilon=1.0,
    true_epsilon=1.227,
    exact=False,
    source=f"{LYU}, on what monotone means",
    oracle=MONOTONE,
    limit=1.202,
)
def svt_monotone_replace(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the noise of monotone queries where a record is replaced, so that some counts rise and others fall."""
    return sparse_vector(np.asarray(data).sum(axis=0), rng, lanes, 4.0, 2.0, 4.0)


LOW = np.array([2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 2.0, 1.0])
HIGH = np.array([3.0, 3.0, 3.0, 0.0, 3.0, 3.0, 3.0, 0.0])


def redrawn_law(answers: FloatArray) -> FloatArray:
    """The part after the first reply "above" is a sparse vector of its own."""
    law = []
    for word, mass in transcripts(answers, 0.0, 2.0, 4.0, 1).items():
        rest = answers[len(word) :]
        again = transcripts(rest, 0.0, 2.0, 4.0, 1).values() if word.endswith("1") and len(rest) else [1.0]
        law.extend(mass * each for each in again)
    return np.array(law)


REDRAWN = Oracle(
    LOW,
    HIGH,
    "the replies are among the best",
    lambda: by_likelihood_ratio(redrawn_law(LOW), redrawn_law(HIGH)),
)


@held_out(
    data=Within(Box(-6, 6, 8), linf=1),
    epsilon=1.0,
    true_epsilon=1.64,
    exact=False,
    source=f"{LYU}, Algorithm 2 (Dwork and Roth 2014), with too little noise",
    oracle=REDRAWN,
    limit=1.532,
)
def svt_reset(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Wrong: the threshold is drawn again after "above", which needs c = 2 in both noises. 2ε in the limit."""
    return sparse_vector(data, rng, lanes, 0.0, 2.0, 4.0, redraw=True)


@held_out(
    data=Within(Box(-5, 5, 4), linf=1),
    epsilon=1.0,
    true_epsilon=1.0,
    exact=False,
    source="exponential noise as in Ding, Kifer, Steinke, Wang, Xiao, Zhang 2021, The permute-and-flip mechanism is "
    "identical to report-noisy-max with exponential noise",
)
def svt_index_exponential(data: FloatArray, rng: np.random.Generator) -> int | None:
    """Correct: the index of the first answer above the threshold, or None; all shifts of the alignment are upward."""
    threshold = 1.0 + rng.exponential(2.0)
    for i, answer in enumerate(data):
        if answer + rng.exponential(4.0) >= threshold:
            return i
    return None


RISEN, SPLIT = np.array([-3.0, -3.0, -3.0, -3.0, -4.0]), np.array([-4.0, -4.0, -4.0, -4.0, -3.0])


def located_masses() -> Masses:
    """Threshold noise 4 + Lap(1), query noise 8 + Lap(1)."""
    laws = [transcripts(answers, -4.0, 1.0, 1.0, 1) for answers in (SPLIT, RISEN)]
    return by_likelihood_ratio(*(np.array(list(law.values())) for law in laws))


@held_out(
    data=Within(Box(-10, 10, 5), linf=1),
    epsilon=0.5,
    true_epsilon=2.73,
    exact=False,
    source=f"{LYU}, Algorithm 1, in public code that calls numpy.random.laplace(2.0 / epsilon)",
    oracle=Oracle(SPLIT, RISEN, "the replies are among the best", located_masses),
    limit=2.6357,
)
def svt_scale_as_location(data: FloatArray, rng: np.random.Generator) -> list[bool]:
    """Wrong: the scales are passed as locations; all noises have scale 1."""
    threshold = rng.laplace(2.0 / 0.5)
    replies = []
    for answer in data:
        replies.append(bool(answer + rng.laplace(4.0 / 0.5) >= threshold))
        if replies[-1]:
            break
    return replies


def adaptive_sparse_vector(
    answers: FloatArray, rng: np.random.Generator, middle_costs: float
) -> list[tuple[str, float] | None]:
    """ε = 1: half for the threshold, a quarter for a middle answer, an eighth for a top answer."""
    threshold = rng.laplace(scale=2.0)
    far = 2.0 * math.sqrt(2.0) * 8.0  # two standard deviations of the top noise
    spent = 0.5
    replies: list[tuple[str, float] | None] = []
    for answer in answers:
        top = answer + rng.laplace(scale=16.0) - threshold
        middle = answer + rng.laplace(scale=8.0) - threshold
        if top >= far:
            replies.append(("top", top))
            spent += 0.125
        elif middle >= 0.0:
            replies.append(("middle", middle))
            spent += middle_costs
        else:
            replies.append(None)
        if spent > 0.75 + 1e-12:
            break
    return replies


@held_out(
    data=Within(Box(-10, 10, 5), linf=1),
    epsilon=1.0,
    true_epsilon=15 / 16,
    exact=False,
    source="Ding, Wang, Zhang, Kifer 2019, Free gap information from the exponential and sparse vector mechanisms, "
    "Algorithm 2",
)
def adaptive_svt_gap(data: FloatArray, rng: np.random.Generator) -> list[tuple[str, float] | None]:
    """Correct: adaptive sparse vector with gaps, two middle answers or four top ones; lists of varying length."""
    return adaptive_sparse_vector(data, rng, middle_costs=0.25)


@held_out(
    data=Within(Box(-10, 10, 5), linf=1),
    epsilon=1.0,
    true_epsilon=15 / 16,
    exact=False,
    source="Ding, Wang, Zhang, Kifer 2019, Algorithm 2; the bug is ours",
)
def adaptive_svt_charges(data: FloatArray, rng: np.random.Generator) -> list[tuple[str, float] | None]:
    """Correct by luck: a middle answer is charged as a top one, but five answers cannot lose more than 15/16.

    Given the threshold, a reply's probability changes by at most e^(1/16 + 1/8); of many answers the claim is false.
    """
    return adaptive_sparse_vector(data, rng, middle_costs=0.125)


HELD_OUT = (
    svt_monotone,
    svt_monotone_replace,
    svt_reset,
    svt_index_exponential,
    svt_scale_as_location,
    adaptive_svt_gap,
    adaptive_svt_charges,
)
