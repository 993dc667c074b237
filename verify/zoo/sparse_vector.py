"""The sparse vector technique: six published versions, two of them right, and versions that release numbers.

Alg. 1-6 are those of Lyu, Su, Li 2017, *Understanding the sparse vector technique for differential privacy*
(Fig. 1), with the parameters of DP-Sniper: ε = 0.1, ten queries, c = 1. In outputs 1 is TRUE (above the
threshold), 0 is FALSE, and NaN stands where the algorithm had stopped.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.functions.claimed import claimed
from verify.neighbouring.within import Within
from verify.zoo.specimen import specimen

_LYU = "Lyu, Su, Li 2017, Understanding the sparse vector technique, Alg."


EPSILON = 0.1
QUERIES = 10
GAP_VALUE_EPSILON = 1.0
MOST_TRUE = 1  # c in the paper
NUMERICAL_MOST_TRUE = 2
ANSWERS = Within(Box(-10, 10, QUERIES), linf=1)
_RECORD = "one individual, who moves each of ten query answers by at most 1"


def _noise(rng: np.random.Generator, scale: float, lanes: int, queries: int = QUERIES) -> FloatArray:
    return rng.laplace(scale=scale, size=(lanes, queries))


def _is_after_stop(above: npt.NDArray[np.bool_], most: int) -> npt.NDArray[np.bool_]:
    """Return True for each place after the `most`-th TRUE of its row."""
    return np.cumsum(above, axis=1, dtype=np.int8) - above >= most


def _transcript(above: npt.NDArray[np.bool_], most: int | None) -> FloatArray:
    """TRUE and FALSE as 1 and 0, NaN after the `most`-th TRUE."""
    out = above.astype(np.float64)
    if most is not None:
        out[_is_after_stop(above, most)] = np.nan
    return out


def _values(above: npt.NDArray[np.bool_], values: FloatArray, most: int) -> FloatArray:
    """The value where TRUE, 0 where FALSE, NaN after the `most`-th TRUE."""
    out = np.where(above, values, 0.0)
    out[_is_after_stop(above, most)] = np.nan
    return out


_on_answers = partial(specimen, epsilon=EPSILON, make=claimed(data=ANSWERS, comment=_RECORD))


@_on_answers(
    "svt1",
    true_epsilon=0.0995818,
    source=f"{_LYU} 1",
    why="the threshold pays ε/2 and one TRUE ε/2; answers in [-10, 10] allow 0.996 ε",
)
def _svt1(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 1: ρ = Lap(2/ε) once, ν_i = Lap(4c/ε), TRUE if q_i + ν_i ≥ T + ρ, stop after c. Correct. T = ½."""
    rho = _noise(rng, 2.0 / EPSILON, lanes, 1)
    nu = _noise(rng, 4.0 * MOST_TRUE / EPSILON, lanes)
    return _transcript(data + nu >= 0.5 + rho, MOST_TRUE)


@_on_answers(
    "svt2",
    true_epsilon=0.0995494,
    source=f"{_LYU} 2",
    why="as Alg. 1 with c = 1, in which the threshold's noise is never drawn again",
)
def _svt2(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 2 (Dwork and Roth 2014): ρ = Lap(2c/ε), drawn again after each TRUE, ν_i = Lap(4c/ε). Correct. T = 1.

    With c = 1 it stops at the first TRUE, so that ρ is never drawn again and the law is Alg. 1's.
    """
    nu = _noise(rng, 4.0 * MOST_TRUE / EPSILON, lanes)
    rho = _noise(rng, 2.0 * MOST_TRUE / EPSILON, lanes, MOST_TRUE)
    above = np.zeros((lanes, QUERIES), dtype=bool)
    answered = np.zeros(lanes, dtype=np.intp)  # TRUEs so far: which ρ is in force
    for i in range(QUERIES):
        in_force = rho[np.arange(lanes), np.minimum(answered, MOST_TRUE - 1)]
        above[:, i] = data[i] + nu[:, i] >= 1.0 + in_force
        answered += above[:, i]
    return _transcript(above, MOST_TRUE)


@_on_answers(
    "svt3",
    true_epsilon=QUERIES * EPSILON / (2 * MOST_TRUE),
    source=f"{_LYU} 3",
    why="the value released with TRUE bounds the noisy threshold, so every FALSE before it costs ε/2",
)
def _svt3(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 3 (Roth's lecture notes 2011): ν_i = Lap(2c/ε), and TRUE is answered with q_i + ν_i. T = 1.

    The released value bounds the noisy threshold from above, so ρ cannot hide that all earlier answers were
    below it: each FALSE costs ε/(2c), and so does the value. 10 ε/(2c) for ten queries, unbounded in general.
    """
    rho = _noise(rng, 2.0 / EPSILON, lanes, 1)
    noisy = data + _noise(rng, 2.0 * MOST_TRUE / EPSILON, lanes)
    return _values(noisy >= 1.0 + rho, noisy, MOST_TRUE)


@_on_answers(
    "svt4",
    true_epsilon=0.1749991,
    source=f"{_LYU} 4",
    why="the query noise ignores the factor 2 (and c): (1 + 6c) ε / 4 in the limit",
)
def _svt4(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 4 (Lee and Clifton 2014): ρ = Lap(4/ε), ν_i = Lap(4/(3ε)), the same for every c. T = 1.

    A TRUE costs 2 · 3ε/4 and the threshold ε/4: (1 + 6c) ε / 4, which is 1.75 ε at c = 1.
    """
    rho = _noise(rng, 4.0 / EPSILON, lanes, 1)
    nu = _noise(rng, 4.0 / (3.0 * EPSILON), lanes)
    return _transcript(data + nu >= 1.0 + rho, MOST_TRUE)


@_on_answers(
    "svt5",
    true_epsilon=math.inf,
    source=f"{_LYU} 5",
    why="queries without noise: equal answers never get different replies",
)
def _svt5(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 5 (Stoddard, Chen, Machanavajjhala 2014): no noise on the queries, any number of TRUEs. T = 1.

    Two queries with equal answers always get the same reply; once their answers differ they may not.
    """
    rho = _noise(rng, 2.0 / EPSILON, lanes, 1)
    return _transcript(np.broadcast_to(data, (lanes, QUERIES)) >= 1.0 + rho, None)


@_on_answers(
    "svt6",
    true_epsilon=0.4676630,
    source=f"{_LYU} 6",
    why="nothing bounds the number of TRUEs: every reply costs ε/2",
)
def _svt6(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Alg. 6 (Chen et al. 2015): ν_i = Lap(2/ε) and any number of TRUEs. T = 1.

    Each of the m replies costs up to ε/2 and no stop bounds their number: unbounded in m, near 5 ε at m = 10.
    """
    rho = _noise(rng, 2.0 / EPSILON, lanes, 1)
    return _transcript(data + _noise(rng, 2.0 / EPSILON, lanes) >= 1.0 + rho, None)


@_on_answers(
    "numerical-svt",
    true_epsilon=0.0932143,
    source="Wang, Ding, Wang, Kifer, Zhang 2019, Proving differential privacy with shadow execution",
    why="threshold, replies and values take ε/3 each",
)
def _numerical_svt(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """Numerical SVT (Wang et al. 2019, ShadowDP): TRUE is answered with q_i and a fresh Lap(3c/ε). Correct.

    ρ = Lap(3/ε) and ν_i = Lap(6c/ε) take 2ε/3, the c values ε/3. T = 1, c = 2.
    """
    c = NUMERICAL_MOST_TRUE
    rho = _noise(rng, 3.0 / EPSILON, lanes, 1)
    above = data + _noise(rng, 6.0 * c / EPSILON, lanes) >= 1.0 + rho
    fresh = _noise(rng, 3.0 * c / EPSILON, lanes, c)
    before = np.cumsum(above, axis=1, dtype=np.int8) - above  # TRUEs so far
    out = np.zeros((lanes, QUERIES))
    for answered in range(c):
        here = np.flatnonzero(above & (before == answered))
        lane, i = np.divmod(here, QUERIES)
        out.reshape(-1)[here] = data[i] + fresh[lane, answered]
    out[before >= c] = np.nan
    return out


@_on_answers(
    "gap-svt",
    true_epsilon=0.0995514,
    source="Ding, Wang, Zhang, Kifer 2019, Free gap information from sparse vector and noisy max, Alg. 1",
    why="the alignment that proves Alg. 1 moves the noisy threshold and the noisy answer together",
)
def _gap_svt(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """SVT with free gap (Ding, Wang, Zhang, Kifer 2019): TRUE is answered with q_i + ν_i - (T + ρ). Correct.

    Noise as in Alg. 1: the shift of ρ and ν_i that proves Alg. 1 leaves the gap as it is. T = 1.
    """
    threshold = 1.0 + _noise(rng, 2.0 / EPSILON, lanes, 1)
    noisy = data + _noise(rng, 4.0 * MOST_TRUE / EPSILON, lanes)
    return _values(noisy >= threshold, noisy - threshold, MOST_TRUE)


@_on_answers(
    "gap-svt-value",
    epsilon=GAP_VALUE_EPSILON,
    true_epsilon=QUERIES * GAP_VALUE_EPSILON / (4 * MOST_TRUE),
    source="Wang, Ding, Kifer, Zhang 2020, CheckDP, BadGapSVT",
    why="the noisy answer is released, not the gap: as in Alg. 3 every FALSE costs ε/4",
)
def _gap_svt_value(data: FloatArray, rng: np.random.Generator, lanes: int) -> FloatArray:
    """BadGapSVT (Wang, Ding, Kifer, Zhang 2020, CheckDP): answers q_i + ν_i, not the gap. T = 1.

    As Alg. 3, with twice its noise: each FALSE and the value cost ε/(4c), 10 ε/(4c) for ten queries. ε = 1, at which
    two million draws can show it.
    """
    threshold = 1.0 + _noise(rng, 2.0 / GAP_VALUE_EPSILON, lanes, 1)
    noisy = data + _noise(rng, 4.0 * MOST_TRUE / GAP_VALUE_EPSILON, lanes)
    return _values(noisy >= threshold, noisy, MOST_TRUE)
