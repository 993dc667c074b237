"""The sparse vector specimens: claims, true epsilons and the events that tell neighbours apart."""

from __future__ import annotations

import math

import numpy as np

from mechanisms.arrays import FloatArray
from verify.zoo import sparse_vector as svt
from verify.zoo.laws import laplace_cdf, laplace_cells
from verify.zoo.oracle import Masses, Oracle, by_likelihood_ratio
from verify.zoo.sparse_vector import EPSILON, GAP_VALUE_EPSILON, MOST_TRUE, NUMERICAL_MOST_TRUE, QUERIES
from verify.zoo.sparse_vector_law import first_value_cells, gap_cells, transcripts
from verify.zoo.specimen import Specimen


def _fall_and_rise(number: int, falling: float, rising: float) -> tuple[FloatArray, FloatArray]:
    """Return a pair: the first `number` answers are `falling` - 1 / `falling`, the others `rising` + 1 / `rising`.

    FALSE on the first and TRUE on the others is likelier under the first of the two.
    """
    other = np.repeat([falling, rising], [number, QUERIES - number])
    return other + np.repeat([-1.0, 1.0], [number, QUERIES - number]), other


_TRANSCRIPT = "the transcript is one of those with the largest ratios of probabilities"

SVT5_PAIRS = QUERIES // 2
_TIED = np.repeat(1.0 + np.arange(1 - SVT5_PAIRS, SVT5_PAIRS, 2), 2)  # -3, -3, -1, -1, 1, 1, 3, 3, 5, 5

SCALES = {  # T, scale of ρ, scale of ν, most TRUEs
    "svt1": (0.5, 2.0 / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt2": (1.0, 2.0 * MOST_TRUE / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt3": (1.0, 2.0 / EPSILON, 2.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "svt4": (1.0, 4.0 / EPSILON, 4.0 / (3.0 * EPSILON), MOST_TRUE),
    "svt6": (1.0, 2.0 / EPSILON, 2.0 / EPSILON, None),
    "numerical-svt": (1.0, 3.0 / EPSILON, 6.0 * NUMERICAL_MOST_TRUE / EPSILON, NUMERICAL_MOST_TRUE),
    "gap-svt": (1.0, 2.0 / EPSILON, 4.0 * MOST_TRUE / EPSILON, MOST_TRUE),
    "gap-svt-value": (1.0, 2.0 / GAP_VALUE_EPSILON, 4.0 * MOST_TRUE / GAP_VALUE_EPSILON, MOST_TRUE),
}
"""Parameters of the specimens, as `transcripts` takes them."""


def transcript_masses(name: str, data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best sets of transcripts."""
    law, other_law = transcripts(data, *SCALES[name]), transcripts(other, *SCALES[name])
    return by_likelihood_ratio(np.array(list(law.values())), np.array(list(other_law.values())))


def value_masses(name: str, data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best events on the number of FALSEs and the value after them."""
    threshold, b, s, _ = SCALES[name]
    step = 2.0 ** round(math.log2(b / 160.0))  # a power of two: whole numbers are edges
    reach = int(30.0 * b / step)
    edges = np.asarray(step * np.arange(-reach, reach + 1), dtype=np.float64)
    return _with_rest(
        *first_value_cells(data, threshold, b, s, edges), *first_value_cells(other, threshold, b, s, edges)
    )


def gap_masses(data: FloatArray, other: FloatArray) -> Masses:
    """Masses of the best events on the number of FALSEs and the gap after them."""
    threshold, b, s, _ = SCALES["gap-svt"]
    edges = np.concatenate([np.linspace(0.0, 12.0 * s, 481), [math.inf]])
    return _with_rest(*gap_cells(data, threshold, b, s, edges), *gap_cells(other, threshold, b, s, edges))


def _with_rest(cells: FloatArray, rest: float, other_cells: FloatArray, other_rest: float) -> Masses:
    return by_likelihood_ratio(
        np.append(cells.reshape(-1), rest), np.append(other_cells.reshape(-1), other_rest)
    )


def numerical_masses(data: FloatArray, other: FloatArray, cells: int = 8) -> Masses:
    """Masses of the best events on the transcript and, for each TRUE, the cell of its value.

    Given the transcript the values are independent: Lap(3c/ε) around each answer. A value's loss is constant below
    and above both answers; between them it is cut into cells.
    """
    scale = 3.0 * NUMERICAL_MOST_TRUE / EPSILON
    law, other_law = transcripts(data, *SCALES["numerical-svt"]), transcripts(other, *SCALES["numerical-svt"])
    p, q = [], []
    for word, mass in law.items():
        joint, other_joint = np.array([mass]), np.array([other_law[word]])
        for i in (i for i, reply in enumerate(word) if reply == "1"):
            inner = np.linspace(min(data[i], other[i]), max(data[i], other[i]), cells + 1)
            edges = np.concatenate([[-math.inf], inner, [math.inf]])
            joint = np.outer(joint, laplace_cells((edges - data[i]) / scale)).reshape(-1)
            other_joint = np.outer(other_joint, laplace_cells((edges - other[i]) / scale)).reshape(-1)
        p.append(joint)
        q.append(other_joint)
    return by_likelihood_ratio(np.concatenate(p), np.concatenate(q))


def svt5_masses(half_width: float = SVT5_PAIRS) -> Masses:
    """P(|ρ| ≤ half_width): the thresholds at which the transcript is impossible under the neighbour.

    Five pairs of equal answers, two apart from each other, are split by 2 each: the gaps fill T ± 5, and a threshold
    in a gap gives the two of a pair different replies. (All ten answers equal and split in halves: T ± 1.)
    """
    b = 2.0 / EPSILON
    return np.atleast_1d(laplace_cdf(half_width / b) - laplace_cdf(-half_width / b)), np.array([0.0])


def _transcript_oracle(name: str, pair: tuple[FloatArray, FloatArray]) -> Oracle:
    return Oracle(*pair, _TRANSCRIPT, lambda: transcript_masses(name, *pair))


def _value_oracle(name: str, answer: float) -> Oracle:
    pair = np.full(QUERIES, answer), np.full(QUERIES, answer + 1.0)
    return Oracle(*pair, _VALUE, lambda: value_masses(name, *pair))


_LYU = "Lyu, Su, Li 2017, Understanding the sparse vector technique, Alg."
_VALUE = "the number of FALSEs and the value after them are among those with the largest ratios"

SPECIMENS = (
    Specimen(
        "svt1",
        svt.svt1,
        EPSILON,
        0.0995818,
        True,
        f"{_LYU} 1",
        "the threshold pays ε/2 and one TRUE ε/2; answers in [-10, 10] allow 0.996 ε",
        _transcript_oracle("svt1", _fall_and_rise(7, 2, 9)),
    ),
    Specimen(
        "svt2",
        svt.svt2,
        EPSILON,
        0.0995494,
        True,
        f"{_LYU} 2",
        "as Alg. 1 with c = 1, in which the threshold's noise is never drawn again",
        _transcript_oracle("svt2", _fall_and_rise(7, 3, 9)),
    ),
    Specimen(
        "svt3",
        svt.svt3,
        EPSILON,
        QUERIES * EPSILON / (2 * MOST_TRUE),
        False,
        f"{_LYU} 3",
        "the value released with TRUE bounds the noisy threshold, so every FALSE before it costs ε/2",
        _value_oracle("svt3", 5.0),
    ),
    Specimen(
        "svt4",
        svt.svt4,
        EPSILON,
        0.1749991,
        False,
        f"{_LYU} 4",
        "the query noise ignores the factor 2 (and c): (1 + 6c) ε / 4 in the limit",
        _transcript_oracle("svt4", _fall_and_rise(7, 2, 5)),
    ),
    Specimen(
        "svt5",
        svt.svt5,
        EPSILON,
        math.inf,
        False,
        f"{_LYU} 5",
        "queries without noise: equal answers never get different replies",
        Oracle(
            _TIED + np.tile([1.0, -1.0], SVT5_PAIRS),
            _TIED,
            "the two of some pair get different replies",
            svt5_masses,
        ),
    ),
    Specimen(
        "svt6",
        svt.svt6,
        EPSILON,
        0.4676630,
        False,
        f"{_LYU} 6",
        "nothing bounds the number of TRUEs: every reply costs ε/2",
        _transcript_oracle("svt6", _fall_and_rise(5, 0, 1)),
    ),
    Specimen(
        "numerical-svt",
        svt.numerical_svt,
        EPSILON,
        0.0932143,
        True,
        "Wang, Ding, Wang, Kifer, Zhang 2019, Proving differential privacy with shadow execution",
        "threshold, replies and values take ε/3 each",
        Oracle(
            *_fall_and_rise(7, 0, 9),
            "replies and values are among those with the largest ratios",
            lambda: numerical_masses(*_fall_and_rise(7, 0, 9)),
        ),
    ),
    Specimen(
        "gap-svt",
        svt.gap_svt,
        EPSILON,
        0.0995514,
        True,
        "Ding, Wang, Zhang, Kifer 2019, Free gap information from sparse vector and noisy max, Alg. 1",
        "the alignment that proves Alg. 1 moves the noisy threshold and the noisy answer together",
        Oracle(
            *_fall_and_rise(7, 3, 9),
            "the number of FALSEs and the gap are among those with the largest ratios",
            lambda: gap_masses(*_fall_and_rise(7, 3, 9)),
        ),
    ),
    Specimen(
        "gap-svt-value",
        svt.gap_svt_value,
        GAP_VALUE_EPSILON,
        QUERIES * GAP_VALUE_EPSILON / (4 * MOST_TRUE),
        False,
        "Wang, Ding, Kifer, Zhang 2020, CheckDP, BadGapSVT",
        "the noisy answer is released, not the gap: as in Alg. 3 every FALSE costs ε/4",
        _value_oracle("gap-svt-value", 1.0),
    ),
)
