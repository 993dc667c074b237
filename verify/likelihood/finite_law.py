"""Laws of views that take finitely many values, and what two of them prove about privacy, by enumeration.

Every probability is known to lie between two floats; sums are rounded outwards. So "exact" means: δ(ε) and
ε(δ) of the pair lie in the interval that is returned, floating point included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from accountant import CertifiedInterval
from mechanisms import ParameterError
from verify.events.event import RowTable
from verify.events.readings import Value
from verify.events.view_sample import Column

FloatArray = npt.NDArray[np.float64]

ROUNDING = 2.0**-48
"""Relative error that a probability computed in floating point is credited with, unless another is stated."""

_MOST_ROWS = 512  # of a witness: a table that remains short enough to be read
_BY = "enumeration"


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """A law on finitely many views.

    Attributes
    ----------
    outcomes
        Shape (k, p): the views, p numbers each, all different; NaN where nothing is sent.
    low, high
        Shape (k,): the probability of each view lies between them.
    """

    outcomes: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, probabilities: Mapping[Any, float | Fraction], *, rounding: float = ROUNDING) -> FiniteLaw:
        """Make the law from a mapping of outcomes (numbers, or sequences of numbers) to probabilities.

        Fractions and whole numbers are taken exactly, floats to a relative error of `rounding`.

        Raises
        ------
        ParameterError
            If there is no outcome, outcomes have different lengths, a probability is not in [0, 1], or all of
            them do not sum to 1.
        """
        rows = [np.atleast_1d(np.asarray(outcome, dtype=np.float64)).reshape(-1) for outcome in probabilities]
        if len({row.size for row in rows}) != 1:
            raise ParameterError(
                f"probabilities={len(rows)} outcomes of {len({row.size for row in rows})} lengths: must be of one"
            )
        numbers = list(probabilities.values())
        low = np.array(
            [_below(p) if isinstance(p, Fraction | int) else p * (1.0 - rounding) for p in numbers]
        )
        high = np.array(
            [_above(p) if isinstance(p, Fraction | int) else p * (1.0 + rounding) for p in numbers]
        )
        return cls(np.stack(rows), low, high)

    @classmethod
    def of_arrays(
        cls, outcomes: npt.ArrayLike, probabilities: npt.ArrayLike, *, rounding: float = ROUNDING
    ) -> FiniteLaw:
        """Make the law from outcomes, shape (k,) or (k, p), and probabilities, shape (k,).

        Raises
        ------
        ParameterError
            As `of`.
        """
        p = np.asarray(probabilities, dtype=np.float64)
        rows = np.asarray(outcomes, dtype=np.float64).reshape(len(p), -1)
        return cls(rows, p * (1.0 - rounding), p * (1.0 + rounding))

    def __post_init__(self) -> None:
        if not len(self.low) or not np.all((self.low >= 0.0) & (self.high >= self.low)):
            raise ParameterError(
                f"probabilities={np.asarray(self.low)!r:.80}: must be numbers of at least 0, at least one"
            )
        if not math.fsum(self.low) <= 1.0 <= math.fsum(self.high):
            raise ParameterError(
                f"probabilities sum to {math.fsum(self.high)!r}: must sum to 1 within their stated rounding"
            )
        if len(self._index) < len(self.low):
            raise ParameterError("outcomes: must all be different")

    @cached_property
    def _index(self) -> dict[bytes, int]:
        return {key: i for i, key in enumerate(_keys(self.outcomes))}

    @property
    def probabilities(self) -> FloatArray:
        """Middles of the intervals, shape (k,)."""
        return (self.low + self.high) / 2.0

    def sample(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw views, shape (size, p)."""
        p = self.probabilities
        return self.outcomes[rng.choice(len(p), size=size, p=p / p.sum())]

    def positions(self, views: FloatArray) -> npt.NDArray[np.int64]:
        """Index of each view among the outcomes, -1 if the law says that it is impossible; shape (n,)."""
        return np.array([self._index.get(key, -1) for key in _keys(views)], dtype=np.int64)

    def contradiction(self, views: FloatArray, error: float) -> str | None:
        """Say what in independent draws of the view contradicts the law; None if nothing does.

        Draws from the law are contradicted with probability at most `error`: every outcome's count, of the
        512 likeliest and of all others together, is held against its exact binomial law, at an equal share.

        Parameters
        ----------
        views
            Shape (n, p).
        error
            In (0, 1).
        """
        if views.shape[1] != self.outcomes.shape[1]:
            return f"views have {views.shape[1]} numbers, {self.outcomes.shape[1]} by the law"
        place = self.positions(views)
        if np.any(place < 0):
            shown = ", ".join(f"{value:g}" for value in views[place < 0][0])
            return f"the view ({shown}) occurred, which is impossible by the law"
        counts = np.bincount(place, minlength=len(self.low))
        order = np.argsort(-self.high, kind="stable")
        kept, rest = order[:_MOST_ROWS], order[_MOST_ROWS:]
        seen = np.append(counts[kept], counts[rest].sum())
        low = np.append(self.low[kept], math.fsum(self.low[rest]))
        high = np.minimum(np.append(self.high[kept], math.fsum(self.high[rest])), 1.0)
        n, share = len(views), error / (2 * len(seen))
        # P(Bin(n, p) ≥ k) = I_p(k, n - k + 1) and P(Bin(n, p) ≤ k) = 1 - I_p(k + 1, n - k)
        many = np.where(seen > 0, special.betainc(np.maximum(seen, 1), n - seen + 1.0, high), 1.0)
        few = np.where(seen < n, special.betaincc(seen + 1.0, np.maximum(n - seen, 1), low), 1.0)
        worst = int(np.argmin(np.minimum(many, few)))
        if min(many[worst], few[worst]) >= share:
            return None
        shown = (
            "(" + ", ".join(f"{value:g}" for value in self.outcomes[kept[worst]]) + ")"
            if worst < len(kept)
            else "any of the rarer views"
        )
        return (
            f"{shown} occurred {seen[worst]:,} times in {n:,} draws; its probability by the law is "
            f"{(low[worst] + high[worst]) / 2:.6g}"
        )

    def compared(self, other: FiniteLaw) -> FinitePair:
        """The pair of this law and another, on the outcomes of both.

        Raises
        ------
        ParameterError
            If the views have different lengths.
        """
        if self.outcomes.shape[1] != other.outcomes.shape[1]:
            raise ParameterError(
                f"other has views of {other.outcomes.shape[1]} numbers: must have {self.outcomes.shape[1]}"
            )
        place = self.positions(other.outcomes)
        new = place < 0
        outcomes = np.concatenate([self.outcomes, other.outcomes[new]])
        bounds = []
        for mine, theirs in ((self.low, other.low), (self.high, other.high)):
            first = np.concatenate([mine, np.zeros(int(new.sum()))])
            second = np.zeros(len(outcomes))
            second[place[~new]], second[len(mine) :] = theirs[~new], theirs[new]
            bounds.append((first, second))
        (p_low, q_low), (p_high, q_high) = bounds
        return FinitePair(outcomes, p_low, p_high, q_low, q_high)


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
            _BY,
            _BY,
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
                _BY,
                _BY,
            )
        lower = _inverted(lambda x: self.delta(x).lower > delta)[0]
        upper = _inverted(lambda x: self.delta(x).upper > delta)[1]
        return CertifiedInterval(lower, upper, _BY, _BY)

    @cached_property
    def _ratio(self) -> FloatArray:
        """Ln p / q of every outcome; inf where q = 0, -inf where p = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.p_high) - np.log(self.q_high)
        return np.where(self.p_high > 0.0, ratio, -np.inf)

    def loss(self, views: FloatArray) -> FloatArray:
        """Ln p / q of each view, shape (n,); NaN for one that is impossible under both laws."""
        place = {key: i for i, key in enumerate(_keys(self.outcomes))}
        found = np.array([place.get(key, -1) for key in _keys(views)], dtype=np.int64)
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
        if not 0 < chosen.size <= _MOST_ROWS:
            return None
        rows = tuple(tuple(row) for row in self.outcomes[chosen].tolist())
        return RowTable(tuple(Value(i, column) for i, column in enumerate(columns)), rows)


def largest_epsilon(laws: Iterable[tuple[FiniteLaw, FiniteLaw]], delta: float = 0.0) -> CertifiedInterval:
    """The ε of a mechanism over the given pairs of laws, both orders: the largest.

    Given all pairs of a finite domain it is the mechanism's ε, as far as the laws are its laws.
    """
    largest = CertifiedInterval(0.0, 0.0, _BY, _BY)
    for law, other in laws:
        pair = law.compared(other)
        largest = largest.largest(pair.epsilon(delta)).largest(pair.swapped.epsilon(delta))
    return largest


def _keys(rows: FloatArray) -> list[bytes]:
    """One key per row; -0.0 is 0.0 and all NaN are one."""
    plain = np.ascontiguousarray(rows, dtype=np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    return [row.tobytes() for row in plain]


def _below(number: Fraction | int) -> float:
    """The largest float of at most a rational number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _above(number: Fraction | int) -> float:
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


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
