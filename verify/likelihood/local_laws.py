"""Exact laws of the reports of local randomizers, by enumeration.

The probabilities are given in floating point; with the `Fraction` of them they are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import numpy.typing as npt

from mechanisms import ParameterError, RandomizedResponse
from verify.likelihood.finite_law import FiniteLaw

Number = float | Fraction

_MOST_REPORTS = 1 << 20


def randomized_response_law(mechanism: RandomizedResponse, value: int) -> FiniteLaw:
    """The law of k-ary randomized response on a category: p at `value`, q at each of the k - 1 others.

    Raises
    ------
    ParameterError
        If value is no category.
    """
    _check_value(value, mechanism.size)
    p = np.full(mechanism.size, mechanism.lie_probability)
    p[value] = mechanism.truth_probability
    return FiniteLaw.of_arrays(np.arange(mechanism.size), p)


def unary_encoding_law(value: int, *, size: int, p: Number, q: Number) -> FiniteLaw:
    """The law of unary encoding: bit `value` is reported as 1 with probability p, every other bit with q.

    Wang, Blocki, Li, Jha 2017, "Locally differentially private protocols for frequency estimation", Sec. 4.2:
    symmetric (p + q = 1) and optimized (p = 1/2); ε = ln p (1 - q) / ((1 - p) q).

    Raises
    ------
    ParameterError
        If value is no category, p or q is outside [0, 1], or there are more than 2^20 reports.
    """
    _check_value(value, size)
    return bits_law([int(bit == value) for bit in range(size)], p=p, q=q)


def rappor_law(bits: Sequence[int], *, f: Number, p: Number, q: Number) -> FiniteLaw:
    """The law of one RAPPOR report on the bits of a Bloom filter (Erlingsson, Pihur, Korolova 2014, Sec. 3.1).

    A bit survives as it is with probability 1 - f and becomes 1 or 0 with f/2 each; it is then reported as 1
    with probability q if it is 1, p if it is 0. So a true bit b is reported as 1 with probability
    q* = f (p + q) / 2 + (1 - f) q for b = 1, p* = f (p + q) / 2 + (1 - f) p for b = 0.

    Raises
    ------
    ParameterError
        If a probability is outside [0, 1], or there are more than 2^20 reports.
    """
    half = f * (p + q) / 2
    return bits_law(bits, p=half + (1 - f) * q, q=half + (1 - f) * p)


def bits_law(bits: Sequence[int], *, p: Number, q: Number) -> FiniteLaw:
    """The law of independently randomized bits: a 1 is reported as 1 with probability p, a 0 with q.

    Raises
    ------
    ParameterError
        If a bit is not 0 or 1, a probability outside [0, 1], or there are more than 2^20 reports.
    """
    if not set(bits) <= {0, 1} or not 0 < len(bits) <= 20:
        raise ParameterError(f"bits = {list(bits)}: must be 1 to 20 zeros and ones")
    for name, number in (("p", p), ("q", q)):
        if not 0 <= number <= 1:
            raise ParameterError(f"{name} = {number!r}: must lie in [0, 1]")
    reports = {}
    for report in product((0, 1), repeat=len(bits)):
        chance: Number = Fraction(1) if isinstance(p, Fraction) and isinstance(q, Fraction) else 1.0
        for bit, said in zip(bits, report, strict=True):
            one = p if bit else q
            chance = chance * (one if said else 1 - one)
        reports[report] = chance
    return FiniteLaw.of(reports)


def local_hashing_law(value: int, *, hashes: npt.ArrayLike, p: Number) -> FiniteLaw:
    """The law of local hashing: a hash function drawn at random, and its value through randomized response.

    Wang, Blocki, Li, Jha 2017, Sec. 4.4 (OLH for g = e^ε + 1 and p = 1/2); ε = ln p (g - 1) / (1 - p) as soon
    as one function tells the two values apart.

    Parameters
    ----------
    value
        The category.
    hashes
        Shape (functions, categories): the value of every function, from 0 to g - 1, at every category.
    p
        Probability of a truthful report; each other of the g values has (1 - p) / (g - 1).

    Raises
    ------
    ParameterError
        If value is no category, p is outside [0, 1] or the table has another shape.
    """
    table = np.asarray(hashes)
    if table.ndim != 2 or not np.issubdtype(table.dtype, np.integer) or table.min() < 0 or table.max() < 1:
        raise ParameterError("hashes: must be whole numbers from 0, shape (functions, categories)")
    _check_value(value, table.shape[1])
    if not 0 <= p <= 1:
        raise ParameterError(f"p = {p!r}: must lie in [0, 1]")
    functions, g = len(table), int(table.max()) + 1
    reports: dict[tuple[int, int], Number] = {}
    for number, row in enumerate(table):
        for said in range(g):
            chance = p if said == row[value] else (1 - p) / (g - 1)
            reports[number, said] = chance / functions
    return FiniteLaw.of(reports)


def subset_selection_law(value: int, *, size: int, chosen: int, p: Number) -> FiniteLaw:
    """The law of subset selection: a subset of `chosen` categories that holds `value` with probability p.

    Ye and Barg 2018, "Optimal schemes for discrete distribution estimation under locally differential privacy",
    Sec. III: given whether it holds the value, the subset is uniform. Reports are rows of 0 and 1.

    Raises
    ------
    ParameterError
        If value is no category, chosen is not from 1 to size - 1, p is outside [0, 1], or there are more than
        2^20 subsets.
    """
    _check_value(value, size)
    if not 1 <= chosen < size or comb(size, chosen) > _MOST_REPORTS:
        raise ParameterError(f"chosen = {chosen!r}: must be from 1 to {size - 1}, with at most 2^20 subsets")
    if not 0 <= p <= 1:
        raise ParameterError(f"p = {p!r}: must lie in [0, 1]")
    inside, outside = comb(size - 1, chosen - 1), comb(size - 1, chosen)
    reports: dict[tuple[int, ...], Number] = {}
    for subset in combinations(range(size), chosen):
        row = tuple(int(category in subset) for category in range(size))
        reports[row] = p / inside if value in subset else (1 - p) / outside
    return FiniteLaw.of(reports)


def _check_value(value: int, size: int) -> None:
    if not 0 <= value < size or value != int(value):
        raise ParameterError(f"value = {value!r}: must be a whole number from 0 to {size - 1}")
