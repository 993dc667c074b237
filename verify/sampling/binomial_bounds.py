"""Exact confidence bounds for two event probabilities, and the bounds on ε and δ that follow.

One event S is watched under two worlds: it has probability p on data D and q on the neighbouring data D′. A
mechanism that is (ε, δ)-differentially private obeys p ≤ e^ε q + δ, so a lower confidence bound on p
together with an upper confidence bound on q bounds ε from below at any δ, and δ from below at any ε.

The two one-sided bounds are Clopper and Pearson's (*The use of confidence or fiducial limits illustrated in
the case of the binomial*, Biometrika 26, 1934): exact, i.e. their coverage holds for every sample size and
every probability.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import special

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError


def clopper_pearson_lower(successes: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> FloatArray:
    """Lower confidence bound on a success probability.

    It is the p that solves P(Binomial(n, p) ≥ k) = error, the `error` quantile of Beta(k, n - k + 1); 0 if k
    = 0. For every true p, the bound exceeds p with probability at most `error`.

    Parameters
    ----------
    successes, trials
        Counts with 0 ≤ successes ≤ trials and trials ≥ 1; they broadcast.
    error
        Probability that the bound is wrong, in (0, 1).

    Returns
    -------
    FloatArray
        The bounds, in the broadcast shape (zero-dimensional for scalars).

    Raises
    ------
    ParameterError
        If a count or the error is out of range.
    """
    k, n = _counts(successes, trials, error)
    # At k = 0 the Beta distribution is not defined: any positive first parameter will do, its bound is overwritten.
    bound = special.betaincinv(np.where(k > 0, k, 1.0), n - k + 1.0, error)
    return np.asarray(np.where(k > 0, bound, 0.0), dtype=np.float64)


def clopper_pearson_upper(successes: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> FloatArray:
    """Upper confidence bound on a success probability.

    It is the p that solves P(Binomial(n, p) ≤ k) = error, the 1 - `error` quantile of Beta(k + 1, n - k); 1
    if k = n. It is always positive. For every true p, the bound falls below p with probability at most
    `error`.

    Parameters, shapes and errors are those of `clopper_pearson_lower`.
    """
    k, n = _counts(successes, trials, error)
    # The complemented inverse keeps full precision for errors near 0, where 1 - error would round.
    bound = special.betainccinv(k + 1.0, np.where(k < n, n - k, 1.0), error)
    return np.asarray(np.where(k < n, bound, 1.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Inversion(ABC):
    """A way to invert the counts of one event into bounds on ε and δ, both from one confidence region."""

    name: ClassVar[str]

    @abstractmethod
    def region_corners(
        self, hits: int, n: int, hits_other: int, n_other: int, error: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return corners (p, q) of the region that holds both probabilities, but for an error of at most `error`.

        Every point of the region has, for one of the corners, a p at least as large and a q at most as large. A
        function that increases in p and decreases in q is therefore bounded by its least value at the corners.

        Parameters
        ----------
        hits, n
            Number of occurrences of the event, and of draws, on data D.
        hits_other, n_other
            The same on data D′.
        error
            In (0, 1).

        Returns
        -------
        tuple of FloatArray
            p and q, shape (corners,); q is above 0.

        Raises
        ------
        ParameterError
            If a count or the error is out of range.
        """

    def epsilon_lower(
        self, hits: int, n: int, hits_other: int, n_other: int, delta: float, error: float
    ) -> float:
        """Lower confidence bound on the ε that an event forces at a given δ: the infimum of ln((p - δ) / q).

        Every (ε, δ)-DP mechanism has ε ≥ ln((p - δ) / q), so that the bound is wrong with probability at most `error`.

        Parameters
        ----------
        hits, n, hits_other, n_other, error
            As of `region_corners`.
        delta
            The δ at which ε is bounded, in [0, 1).

        Returns
        -------
        float
            The bound; negative where the event says nothing, -inf where some p of the region is at most δ; never
            +inf, because q > 0.

        Raises
        ------
        ParameterError
            If a count, delta or the error is out of range.
        """
        if not 0.0 <= delta < 1.0:
            raise ParameterError(f"delta must lie in [0, 1), got {delta}")
        p, q = self.region_corners(hits, n, hits_other, n_other, error)
        return float(np.log((p - delta) / q).min()) if p.min() > delta else -math.inf

    def delta_lower(
        self, hits: int, n: int, hits_other: int, n_other: int, epsilon: float, error: float
    ) -> float:
        """Lower confidence bound on the δ that an event forces at a given ε: the infimum of p - e^ε q.

        The region is that of `epsilon_lower`; so all statements, for all ε and all δ, hold together with probability
        1 - `error`. Negative where the event says nothing, -inf where e^ε q is out of a float's range.

        Raises
        ------
        ParameterError
            If a count, epsilon or the error is out of range.
        """
        if math.isnan(epsilon):
            raise ParameterError("epsilon must be a number, got nan")
        p, q = self.region_corners(hits, n, hits_other, n_other, error)
        exponent = epsilon + np.log(q)  # q ≤ 1: above 700 the product is far above 1
        return float((p - np.exp(exponent)).min()) if exponent.max() < 700.0 else -math.inf

    def to_dict(self) -> dict[str, Any]:
        """The inversion as JSON-able data."""
        return {"name": self.name, **{own.name: getattr(self, own.name) for own in fields(self)}}


@dataclass(frozen=True, slots=True)
class Union(Inversion):
    """Two Clopper-Pearson bounds that hold together by the union bound.

    p ≥ p_low is wrong with probability at most `share` of the error, q ≤ q_up with the rest.

    Attributes
    ----------
    share
        The share of the error that is spent on the probability on data D; the rest is spent on D′. In (0, 1). It must
        not look at the counts: a split that does is one more choice made on the data that decide, and would have to be
        paid for.

    Raises
    ------
    ParameterError
        If the share is out of range.
    """

    name: ClassVar[str] = "union"
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise ParameterError(f"share = {self.share!r}: must lie in (0, 1)")

    def region_corners(
        self, hits: int, n: int, hits_other: int, n_other: int, error: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the one corner of a rectangle: p_low and q_up."""
        p_low = clopper_pearson_lower(hits, n, error * self.share)
        q_up = clopper_pearson_upper(hits_other, n_other, error * (1.0 - self.share))
        return np.atleast_1d(p_low), np.atleast_1d(q_up)


def _counts(successes: npt.ArrayLike, trials: npt.ArrayLike, error: float) -> tuple[FloatArray, FloatArray]:
    """Return successes and trials as arrays of one shape; refuse impossible counts, and an error outside (0, 1)."""
    k, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64))
    if not 0.0 < error < 1.0:
        raise ParameterError(f"error = {error!r}: must lie in (0, 1)")
    if not np.all(n >= 1):
        raise ParameterError(f"trials = {trials!r}: must be at least 1")
    if not np.all((k >= 0) & (k <= n)):
        raise ParameterError(f"successes = {successes!r}: must lie between 0 and the trials, {trials!r}")
    return k, n
