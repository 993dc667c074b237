"""Laws of views that take finitely many values, with bounds on every probability."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from accountant import CertifiedInterval
from mechanisms import ParameterError
from verify.likelihood.finite_pair import ENUMERATION, MOST_ROWS, FinitePair, row_keys

FloatArray = npt.NDArray[np.float64]

ROUNDING = 2.0**-48
"""Relative error that a probability computed in floating point is credited with, unless another is stated."""


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
        return {key: i for i, key in enumerate(row_keys(self.outcomes))}

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
        return np.array([self._index.get(key, -1) for key in row_keys(views)], dtype=np.int64)

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
        kept, rest = order[:MOST_ROWS], order[MOST_ROWS:]
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


def largest_epsilon(laws: Iterable[tuple[FiniteLaw, FiniteLaw]], delta: float = 0.0) -> CertifiedInterval:
    """The ε of a mechanism over the given pairs of laws, both orders: the largest.

    Given all pairs of a finite domain it is the mechanism's ε, as far as the laws are its laws.
    """
    largest = CertifiedInterval(0.0, 0.0, ENUMERATION, ENUMERATION)
    for law, other in laws:
        pair = law.compared(other)
        largest = largest.largest(pair.epsilon(delta)).largest(pair.swapped.epsilon(delta))
    return largest


def _below(number: Fraction | int) -> float:
    """The largest float of at most a rational number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _above(number: Fraction | int) -> float:
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
