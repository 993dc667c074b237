"""Regret theorems of matroid bandits, and of `CUCBBatch` on other structures, too."""

from __future__ import annotations

from typing import Literal

import sympy as sp
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.doubling_batches import released_counts
from algorithms.problems import FailingTopK, Matroid, TopK
from algorithms.semi_bandits.cucb_batch import CUCBBatch
from algorithms.theory.confidence_theorem import ConfidenceTheorem, j, n, t, x
from algorithms.theory.regret_bound import (
    T0,
    B,
    Delta,
    Delta_0,
    Delta_max,
    F,
    FloorLog2,
    Instance,
    K,
    L,
    R_max,
    RegretBound,
    T,
    Tq,
    b,
    epsilon,
    k,
    rho,
    spread,
)

_batches = FloorLog2(T + 1)
_matroid = ((x, sp.log(3 * L * _batches * T)), (b, K / epsilon))

_Releases = implemented_function(
    "Releases", lambda horizon: float(len(released_counts(int(horizon), 1, CUCBBatch.growth)))
)
"""The most batches of one element in T rounds, J."""

# A few elements fed: radius at most sqrt(x / 2n) + F / n, so n <= nu = 2 x / u^2 + 4 F / u at gap u, and an element of
# which nu values were released was fed 3 nu / 2 + 1 times at most.
_best_level = sp.log(K * _Releases(T) * T)  # of the indices: only those of the best elements need be valid
_few = sp.Min(K, sp.ceiling(epsilon / 4))
_unfed = sp.Max(0, sp.Min(K - _few, L - K))
_few_elsewhere = sp.Min(K, sp.ceiling(epsilon * Tq ** sp.Rational(2, 5) / 36))


def _charged(gap: sp.Expr, largest: sp.Expr, steepness: sp.Expr = sp.S.One) -> sp.Expr:
    """Return the regret of the rounds that charge one element, of gaps from `gap` to `largest`.

    A round's gap is at most so many times that of the element's index and mean, `steepness`.
    """
    sampling, noise = 3 * steepness**2 * x * (2 / gap - 1 / largest), 6 * steepness * F
    return sampling + noise * (1 + sp.log(largest / gap)) + largest


def _few_abbreviations(few: sp.Expr) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
    return (
        (b, few / epsilon),
        (x, sp.log(L * _Releases(T) * T)),
        (F, b * (2 * sp.sqrt(_Releases(T) * x) + x)),
    )


def _few_confidence(few: sp.Expr, lemma: Literal["exchange", "B_inf"]) -> ConfidenceTheorem:
    """Return what both theorems of `CUCBBatch` rest on, with the lemma of either."""
    return ConfidenceTheorem(
        radius=(sp.sqrt(2 * x * (n / 4 + 2 * b**2 * j)) + b * x) / n,
        noise="Laplace",
        scale=b,
        feeds="least",
        few=few,
        counting="growing batches",
        first=b * _best_level.subs(T, T0),
        growth=CUCBBatch.growth,
        index="Chernoff",
        index_level=_best_level,
        lemma=lemma,
        failure=2 / T,
    )


def _exchanged(instance: Instance) -> bool:
    """Whether elements of a super arm are exchanged one by one."""
    return isinstance(instance.problem.structure, TopK | Matroid)  # type: ignore[union-attr]


def _not_exchanged(instance: Instance) -> bool:
    """Whether `CUCBBatch` feeds as many arms as where they are not."""
    return not isinstance(instance.problem.structure, TopK | FailingTopK | Matroid)  # type: ignore[union-attr]


# On the good event some optimal super arm's indices are at least its means, so by monotony and B_inf-smoothness the gap
# of what is played is at most B_inf times the largest excess of an index over its mean, and that of the least-counted
# arm played is allowed the largest. It is fed in this round; that others are fed, too, only adds to counts.
_BATCH_ELSEWHERE = RegretBound(
    family="semi-bandit",
    constant=2 * R_max,
    per_arm=sp.S.Zero,
    per_member=_charged(Delta, R_max, B),
    definitions=_few_abbreviations(_few_elsewhere),
    source="this library: growing batches of the least-counted arms, B_inf; a round charges the least-counted one",
    regime="every structure but sets of K arms and matroids; every epsilon > 0 and T >= 1",
    applies=_not_exchanged,
    confidence=_few_confidence(_few_elsewhere, "B_inf"),
)

MATROID_BOUNDS: dict[str, RegretBound] = {
    "omm": RegretBound(
        family="matroid",
        constant=sp.Integer(0),
        per_arm=spread(8 * sp.log(T)) + sp.Rational(4, 3) * sp.pi**2 * k * Delta_max,
        source="Kveton et al. 2014, gap-dependent bound (sum of gaps bounded by k Delta_max)",
        regime="every T >= 1",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(x / (2 * n)),
            noise="none",
            scale=sp.S.Zero,
            feeds="all",
            counting="every value",
            index="unclipped",
            lemma="exchange",
            exponent=4 * sp.log(sp.Max(t - 1, 1)),
            failure=2 * L * t / sp.Max(t - 1, 1) ** 4,
            start="raw",
        ),
    ),
    "dpucb-mat": RegretBound(
        family="matroid",
        constant=K,
        per_arm=spread(8 * x) + 16 * b * x * sp.Min(k, 1 + sp.log(rho)) + Delta_max,
        definitions=_matroid,
        source="this library: bijective exchange, batches of doubling size, one failure event (Theorem 4U)",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(x / (2 * n)) + b * x / n,
            noise="Laplace",
            scale=b,
            feeds="all",
            counting="last batch",
            index="unclipped",
            lemma="exchange",
            failure=1 / T,
            sides=1.5,  # e^-x for the values, and half of that for the noise
        ),
    ),
    "cucb-batch": RegretBound(
        family="semi-bandit",
        constant=2 * R_max + L * _unfed / _few * _charged(Delta_0, R_max),
        per_arm=_charged(Delta, Delta_max),
        definitions=_few_abbreviations(_few),
        source="this library: bijective exchange, growing batches of the least-counted elements; a bad element that is "
        "not fed charges those that are",
        regime="sets of K arms and matroids; every epsilon > 0 and T >= 1",
        applies=_exchanged,
        confidence=_few_confidence(_few, "exchange"),
        elsewhere=_BATCH_ELSEWHERE,
    ),
    "dpts-mat": RegretBound(
        family="matroid",
        constant=K + 1,
        per_arm=spread(sp.Rational(81, 2) * x) + 24 * b * x * sp.Min(k, 1 + sp.log(rho)) + Delta_max,
        per_optimal=2 * sp.Integer(61) / Delta,
        definitions=_matroid,
        restarts=True,
        source="this library: Gaussian samples of variance 1/n on truncated noise (Theorem 4T, c = 1)",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(x / (2 * n)) + b * x / n,
            noise="Laplace",
            scale=b,
            feeds="all",
            counting="last batch",
            index="sampled",
            lemma="none",  # its count is one in expectation
            failure=1 / T,
            sides=1.5,
            shift=b * x / n,
        ),
    ),
    "published/dpucb-mat": RegretBound(
        family="matroid",
        # Lemma Q of 2 r >= u at r = sqrt(3 x / n) + 3 b x / n: n <= 12 x / u^2 + 12 b x / u; feeds <= 4 n.
        # Failures: 3 (K t)^-3 for each element and count, of which there are 1 + log2 t in round t.
        constant=sp.Rational(9, 2) * L * R_max / K**3,
        per_arm=spread(48 * x) + 48 * b * x * sp.Min(k, 1 + sp.log(rho)),
        definitions=((x, sp.log(K * T)), (b, K / epsilon)),
        source="matroid bandits paper, Theorem 2; its constants derived here",
        printed="sum_e O(ln(KT) / Delta_e + min(K, ln(KT)) K ln(KT) / epsilon)",
        correction="its Lemma 4 sums failures to O(1 / (K^2 n^2)), without the one of round 1, K^-3",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(3 * x / n) + 3 * b * x / n,
            noise="Laplace",
            scale=b,
            feeds="all",
            counting="last batch",
            index="unclipped",
            lemma="exchange",
            exponent=sp.log(K * t),
            failure=3 * L * (1 + sp.log(t, 2)) / (K * t) ** 3,
            start="noisy",
        ),
    ),
}
"""Regret bounds on matroids by the registered name."""
