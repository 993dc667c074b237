"""Regret theorems of matroid bandits."""

from __future__ import annotations

import sympy as sp

from algorithms.theory.confidence_theorem import ConfidenceTheorem, n, t, x
from algorithms.theory.regret_bound import (
    Delta_max,
    K,
    L,
    R_max,
    RegretBound,
    T,
    b,
    epsilon,
    k,
    rho,
    spread,
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
            index="unclipped",
            lemma="exchange",
            exponent=4 * sp.log(sp.Max(t - 1, 1)),
            failure=2 * L * t / sp.Max(t - 1, 1) ** 4,
            start="raw",
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
