"""The joint inversion of two binomial counts by Stouffer's weighted combination of their p-values.

One event has k₁ hits in n₁ draws on data D and k₂ in n₂ on data D′. For a probability p on D and q on D′,

    P₁(p) = P(Bin(n₁, p) ≥ k₁)  and  P₂(q) = P(Bin(n₂, q) ≤ k₂)

are independent and super-uniform if p and q are the true ones. With u = Φ⁻¹(1 - P₁), v = Φ⁻¹(1 - P₂) and
weights w₁² + w₂² = 1 fixed before the counts are seen, w₁ u + w₂ v is stochastically at most a standard
normal (Stouffer et al., *The American Soldier* I, 1949; Lipták 1958). So

    R = {(p, q): w₁ u(p) + w₂ v(q) ≤ z,  p ≥ p_box,  q ≤ q_box},    Φ(-z) = error - box,

holds the true pair with probability at least 1 - error, where the two Clopper-Pearson bounds p_box and q_box
share the small error `box` between them (Berger and Boos, JASA 89, 1994, who so keep an infimum over a
nuisance parameter away from its far ends). A union of two Clopper-Pearson bounds is a rectangle; R cuts off
the corner that decides about ε and δ, and the bounds come out up to 1.65 times closer to the estimate.

The bounds are infima over R, and rigorous ones: u and v are replaced by lower bounds, and the edge of R by a
staircase outside it. A Beta distribution with both parameters at least 1 has a log-concave density, hence a
log-concave distribution function (Prékopa 1973), so that ln Φ(u) = ln(1 - P₁), a concave function of p, lies
above its chords; the same holds for ln Φ(v) in q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.sampling.binomial_bounds import Inversion, clopper_pearson_lower, clopper_pearson_upper

BOX = 0.01
"""Share of the error that is spent on the box around the estimates."""

_KNOTS = 256  # exact values of u and of v, between which chords are drawn
_STAIRS = 4096  # steps of the staircase; it costs 0.3 % of the distance between estimate and bound
_ROUNDING = 1e-9  # relative; the beta function was never further than 3e-12 from one of 40 digits
_LEAST_SCORE = -37.0  # Φ of less is hardly a floating-point number
_TINY = float(np.finfo(np.float64).tiny)  # below Φ(-37)
_LEAST_WEIGHT = 0.05  # below it, and above the next, one count is as good as known
_MOST_WEIGHT = 0.98


@dataclass(frozen=True, slots=True)
class Stouffer(Inversion):
    """Bounds on ε and δ from the joint region of two counts.

    Attributes
    ----------
    weight
        w₁, the weight of the count on data D; in [0.05, 0.98]. It must be fixed before the counts are seen.
        Best is the share of p in the standard error of ln((p - δ) / q), as by `stouffer_weight`.

    Raises
    ------
    ParameterError
        If the weight is out of range.
    """

    name: ClassVar[str] = "stouffer"
    weight: float

    def __post_init__(self) -> None:
        if not _LEAST_WEIGHT <= self.weight <= _MOST_WEIGHT:
            raise ParameterError(
                f"weight = {self.weight!r}: must lie in [{_LEAST_WEIGHT}, {_MOST_WEIGHT}]; beyond, one count "
                "is as good as known and a union of two bounds is sharper"
            )

    def region_corners(
        self, hits: int, n: int, hits_other: int, n_other: int, error: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return corners of a staircase around the region R of the module; see `Inversion`.

        If there were no hits on D, or only hits on D′, it is the corner of the box alone.
        """
        top = -float(special.ndtri(0.5 * BOX * error))  # the box's normal score, for u and for v
        z = -float(special.ndtri((1.0 - BOX) * error))
        w1, w2 = self.weight, math.sqrt(1.0 - self.weight * self.weight)
        p_box = float(clopper_pearson_lower(hits, n, 0.5 * BOX * error))
        q_box = float(clopper_pearson_upper(hits_other, n_other, 0.5 * BOX * error))
        if hits == 0 or hits_other == n_other:
            return np.array([p_box * (1.0 - _ROUNDING)]), np.array([min(q_box * (1.0 + _ROUNDING), 1.0)])
        # The edge runs from (u, v) = (top, least v) to (least u, top).
        least_u = max((z - w2 * top) / w1, _LEAST_SCORE)
        least_v = max((z - w1 * top) / w2, _LEAST_SCORE)
        p_end = _beta_quantile(hits, n - hits + 1.0, -least_u)
        q_start = _beta_quantile(hits_other + 1.0, n_other - hits_other, least_v)

        p_knots = _spread(p_box, p_end)
        above, below = (f(hits, n - hits + 1.0, p_knots) for f in (special.betainc, special.betaincc))
        log_u = _log_of_complement(above, below)  # ln Φ(u), falling in p
        q_knots = _spread(q_start, q_box)
        above, below = (
            f(hits_other + 1.0, n_other - hits_other, q_knots) for f in (special.betaincc, special.betainc)
        )
        log_v = np.maximum.accumulate(_log_of_complement(above, below))  # ln Φ(v), rising in q

        p = np.interp(np.linspace(0.0, 1.0, _STAIRS), np.linspace(0.0, 1.0, _KNOTS), p_knots)
        u = special.ndtri_exp(np.interp(p, p_knots, log_u))
        # On a step p lies between p[i] and p[i + 1] and u is at least u[i + 1]: v is at most this, or top.
        v = np.minimum((z - w1 * np.minimum.accumulate(u)[1:]) / w2, top)
        q = np.interp(special.log_ndtr(v), log_v, q_knots, right=q_box)
        # Where least_u was cut off, the rest of the edge lies right of the last corner, (p_end, q_box).
        return p * (1.0 - _ROUNDING), np.minimum(np.append(q, q_box) * (1.0 + _ROUNDING), 1.0)


def stouffer_weight(p: float, q: float, delta: float) -> float:
    """Return the weight with which the combination has most power for ln((p - δ) / q), for equal sample sizes.

    The standard errors of ln(p - δ) and of ln q, √(p(1-p)/n) / (p - δ) and √((1-q)/(nq)), are the legs of a
    right triangle; the weight is the first over the hypotenuse. It makes the edge of the region parallel to
    the line p = e^ε q + δ, so that the test is Wald's. Clipped to the allowed range.
    """
    first = math.sqrt(p * (1.0 - p)) / max(p - delta, 1e-300)
    second = math.sqrt((1.0 - q) / q)
    whole = math.hypot(first, second)
    share = first / whole if 0.0 < whole < math.inf else 0.5
    return min(max(share, _LEAST_WEIGHT), _MOST_WEIGHT)


def _beta_quantile(a: float, b: float, score: float) -> float:
    """The quantile of Beta(a, b) at Φ(score), to full precision on both sides."""
    if score < 0.0:
        return float(special.betaincinv(a, b, special.ndtr(score)))
    return float(special.betainccinv(a, b, special.ndtr(-score)))


def _spread(start: float, end: float) -> FloatArray:
    """Knots from start to end, evenly spaced in the normal score (to the variance-stabilising arcsine)."""
    angles = np.linspace(math.asin(math.sqrt(start)), math.asin(math.sqrt(end)), _KNOTS)
    knots = np.sin(angles) ** 2
    knots[0], knots[-1] = start, end
    return np.asarray(np.maximum.accumulate(knots), dtype=np.float64)


def _log_of_complement(tail: FloatArray, complement: FloatArray) -> FloatArray:
    """ln(1 - tail), rounded down; from whichever of the two is the smaller one."""
    small = tail < 0.5
    from_tail = np.log1p(-np.where(small, tail * (1.0 + _ROUNDING), 0.0))
    kept = np.maximum(complement * (1.0 - _ROUNDING), _TINY)  # 0 where a knot was rounded to 1
    from_complement = np.log(np.where(small, 1.0, kept))
    return np.asarray(np.where(small, from_tail, from_complement), dtype=np.float64)
