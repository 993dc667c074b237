"""What two laws on finitely many views prove about privacy, by enumeration.

Every probability is known to lie between two floats; sums are rounded outwards. So "exact" means: δ(ε) and
ε(δ) of the pair lie in the interval that is returned, floating point included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from accountant import CertifiedInterval
from mechanisms import ParameterError
from verify.events.event import RowTable
from verify.events.readings import Value
from verify.events.view_sample import Column

FloatArray = npt.NDArray[np.float64]

MOST_ROWS = 512
"""Rows of a witness: a table that remains short enough to be read."""

ENUMERATION = "enumeration"
"""How the numbers here are found."""


@dataclass(frozen=True, eq=False)
class FinitePair:
    """Two laws on the same outcomes: what (ε, δ) they force, and what they allow.

    Attributes
    ----------
    outcomes
        Shape (k, p).
    p_low, p_high, q_low, q_high
        Bounds on the probabilities under D and D′, shape (k,).
    """

    outcomes: FloatArray
    p_low: FloatArray
    p_high: FloatArray
    q_low: FloatArray
    q_high: FloatArray

    @property
    def swapped(self) -> FinitePair:
        """The pair in the other order."""
        return FinitePair(self.outcomes, self.q_low, self.q_high, self.p_low, self.p_high)

    def delta(self, epsilon: float) -> CertifiedInterval:
        """δ(ε) = Σ (p - e^ε q)⁺ of this order.

        Raises
        ------
        ParameterError
            If epsilon is negative or NaN.
        """
        if not epsilon >= 0.0:
            raise ParameterError(f"epsilon = {epsilon!r}: must be at least 0")
        return CertifiedInterval(
            max(0.0, _sum_down(_excess(self.p_low, self.q_high, epsilon, -1))),
            min(1.0, _sum_up(_excess(self.p_high, self.q_low, epsilon, 1))),
            ENUMERATION,
            ENUMERATION,
        )

    def epsilon(self, delta: float = 0.0) -> CertifiedInterval:
        """The least ε ≥ 0 with δ(ε) ≤ `delta`, of this order; infinite if none has.

        For delta = 0 it is the largest ln(p / q) = log ratio of an outcome.

        Raises
        ------
        ParameterError
            If delta is not in [0, 1).
        """
        if not 0.0 <= delta < 1.0:
            raise ParameterError(f"delta = {delta!r}: must lie in [0, 1)")
        if delta == 0.0:
            return CertifiedInterval(
                _largest_log_ratio(self.p_low, self.q_high, -1),
                _largest_log_ratio(self.p_high, self.q_low, 1),
                ENUMERATION,
                ENUMERATION,
            )
        lower = _inverted(lambda x: self.delta(x).lower > delta)[0]
        upper = _inverted(lambda x: self.delta(x).upper > delta)[1]
        return CertifiedInterval(lower, upper, ENUMERATION, ENUMERATION)

    @cached_property
    def _ratio(self) -> FloatArray:
        """Ln p / q of every outcome; inf where q = 0, -inf where p = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.p_high) - np.log(self.q_high)
        return np.where(self.p_high > 0.0, ratio, -np.inf)

    def loss(self, views: FloatArray) -> FloatArray:
        """Ln p / q of each view, shape (n,); NaN for one that is impossible under both laws."""
        place = {key: i for i, key in enumerate(row_keys(self.outcomes))}
        found = np.array([place.get(key, -1) for key in row_keys(views)], dtype=np.int64)
        return np.where(found >= 0, self._ratio[found], np.nan)

    def outcomes_above(self, loss: float) -> npt.NDArray[np.int64]:
        """Indices of the outcomes with ln p / q of at least `loss`, the largest first."""
        order = np.lexsort((-self.p_low, -self._ratio))  # among equal ratios the likeliest first
        return np.asarray(order[self._ratio[order] >= loss])

    def masses(self, chosen: npt.NDArray[np.int64]) -> tuple[float, float]:
        """Probabilities of a set of outcomes in both worlds (middles of the intervals)."""
        p = math.fsum((self.p_low + self.p_high)[chosen]) / 2.0
        q = math.fsum((self.q_low + self.q_high)[chosen]) / 2.0
        return min(1.0, p), min(1.0, q)

    def event(self, loss: float, columns: Sequence[Column]) -> RowTable | None:
        """The event that ln p / q is at least `loss`, as code-free data; None if it has over 512 outcomes.

        No event of the same probability on D′ is likelier on D (Neyman and Pearson), and for loss = ε none has
        a larger p - e^ε q.
        """
        chosen = self.outcomes_above(loss)
        if not 0 < chosen.size <= MOST_ROWS:
            return None
        rows = tuple(tuple(row) for row in self.outcomes[chosen].tolist())
        return RowTable(tuple(Value(i, column) for i, column in enumerate(columns)), rows)


def row_keys(rows: FloatArray) -> list[bytes]:
    """One key per row; -0.0 is 0.0 and all NaN are one."""
    plain = np.ascontiguousarray(rows, dtype=np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    return [row.tobytes() for row in plain]


def _excess(p: FloatArray, q: FloatArray, epsilon: float, side: int) -> FloatArray:
    """(p - e^ε q)⁺, each rounded to the given side; e^ε, the product and the difference err by 2⁻⁵¹ each."""
    if math.isinf(epsilon):
        return np.where(q == 0.0, p, 0.0)
    factor = math.exp(min(epsilon, 709.0)) * (1.0 - side * 2.0**-50)
    with np.errstate(over="ignore"):
        difference = p - factor * q
    return np.asarray(np.maximum(difference * (1.0 + side * 2.0**-51), 0.0))


def _sum_down(terms: FloatArray) -> float:
    return math.nextafter(math.fsum(terms), -math.inf)  # fsum is within one rounding of the exact sum


def _sum_up(terms: FloatArray) -> float:
    return math.nextafter(math.fsum(terms), math.inf)


def _largest_log_ratio(p: FloatArray, q: FloatArray, side: int) -> float:
    """Max ln(p / q) over outcomes with p > 0, rounded to the given side, at least 0."""
    seen = p > 0.0
    if np.any(q[seen] == 0.0):
        return math.inf
    largest = float(np.max(np.log(p[seen]) - np.log(q[seen]), initial=0.0))
    slack = 2.0**-50 * (1.0 + 2.0 * float(np.max(np.abs(np.log(q[seen])), initial=0.0)))
    return max(0.0, largest + side * slack)


def _inverted(exceeds: Callable[[float], bool]) -> tuple[float, float]:
    """Two neighbouring numbers l < u with exceeds(l), or l = 0, and not exceeds(u), or u = inf."""
    low, high = 0.0, 1.0
    if not exceeds(0.0):
        return 0.0, 0.0
    while exceeds(high):
        low, high = high, 2.0 * high
        if high > 700.0:
            return low, math.inf
    while high - low > 1e-15 * max(1.0, high):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return low, high
