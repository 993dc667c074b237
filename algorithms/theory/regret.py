"""Regret theorems as data: SymPy expressions, the regime in which they apply, and their source.

A bound is ``constant + sum over suboptimal arms of per_arm + sum over optimal arms of per_optimal + sum
over all arms of per_member``, with abbreviations (x, b, rho ...) defined by further expressions.
`RegretBound.evaluate` puts in an instance.

>>> str(BOUNDS["omm"].per_arm)
'16*log(T)/Delta + 4*pi**2*Delta_max*k/3'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from algorithms.learner import DEFAULT_DELTA
from algorithms.problems import LinearBandit, Problem
from algorithms.theory.gaps import exchange_gaps
from algorithms.theory.linear_regret import LINEAR_THEOREMS, linear_values
from mechanisms import Gaussian, Sensitivity

T, epsilon, K, L, B, B1 = sp.symbols("T epsilon K L B_inf B_1", positive=True)
Delta, Delta_max, rho, k = sp.symbols("Delta Delta_max rho k", positive=True)
R_max, Delta_0, p0 = sp.symbols("R_max Delta_0 p_0", positive=True)
w_K, mu = sp.symbols("w_K mu", positive=True)
x, b, A, v, N = sp.symbols("x b A v N", positive=True)
sigma, F, W, M = sp.symbols("sigma F W M", positive=True)


@dataclass(frozen=True)
class RegretBound:
    """An upper bound on the expected regret after T rounds.

    Attributes
    ----------
    constant, per_arm, per_optimal, per_member
        SymPy expressions. Free symbols: T, epsilon, K (size of a super arm), L (number of arms), B_inf and B_1, R_max
        (the largest regret of a round), Delta_0 (the least gap of all), p_0 (a cascade's least examination
        probability), w_K (the least mean of the K best arms), mu (1/sigma of the Gaussian mechanism that is
        (epsilon, delta)-differentially private at distance 1); in `per_arm` Delta and Delta_max (an arm's least
        and largest gap), rho (their ratio) and k (how many optimal arms are better); in `per_optimal` and
        `per_member` Delta (see `Gaps`).
    definitions
        Abbreviations, in the order in which they are put in.
    regime
        Where the theorem applies, in words.
    applies
        The same as a predicate of (epsilon, K, T).
    source
        The paper and theorem.
    """

    constant: sp.Expr
    per_arm: sp.Expr
    source: str
    regime: str = "every epsilon > 0 and T >= 1"
    per_optimal: sp.Expr = sp.S.Zero
    per_member: sp.Expr = sp.S.Zero
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    applies: Callable[[float, int, int], bool] = field(default=lambda epsilon, size, horizon: True)

    def evaluate(
        self,
        problem: Problem | LinearBandit,
        *,
        epsilon_value: float,
        horizon: int,
        delta_value: float = DEFAULT_DELTA,
    ) -> float:
        """Return the bound's value on an instance; infinite where the theorem says nothing.

        `delta_value` counts for learners with Gaussian noise. Linear bandits have symbols of their own
        (`algorithms.theory.linear_regret`).

        Raises
        ------
        GapsUnavailable
            If the instance's gaps have no closed form.
        """
        if isinstance(problem, LinearBandit):
            values = linear_values(
                problem, epsilon_value=epsilon_value, horizon=horizon, delta_value=delta_value
            )
            return self._number(self.constant, values)
        gaps = exchange_gaps(problem)
        structure = problem.structure
        best = np.sort(problem.means)[::-1][: structure.size]
        unit = Sensitivity(1.0, 1.0, 1.0)
        common = {
            T: horizon,
            epsilon: epsilon_value,
            K: structure.size,
            L: structure.arms,
            B: structure.smoothness_linf,
            B1: structure.smoothness_l1,
            R_max: gaps.largest_regret,
            Delta_0: min((gap.least for gap in gaps.suboptimal), default=1.0),
            p0: float(np.prod(1 - best[:-1])),
            w_K: float(best[-1]),
            mu: 1.0 / Gaussian.for_epsilon_delta(epsilon_value, delta_value, sensitivity=unit).sigma,
        }
        total = self._number(self.constant, common)
        for gap in gaps.suboptimal:
            arm = {Delta: gap.least, Delta_max: gap.largest, rho: gap.largest / gap.least, k: gap.count}
            total += self._number(self.per_arm, common | arm)
        for least in gaps.optimal:
            total += self._number(self.per_optimal, common | {Delta: least})
        for least in gaps.members:
            total += self._number(self.per_member, common | {Delta: least})
        return total

    def _number(self, expression: sp.Expr, values: dict[sp.Symbol, float]) -> float:
        for symbol, definition in reversed(self.definitions):
            expression = expression.subs(symbol, definition)
        number = expression.subs(values).doit()
        return float(number) if number.is_finite else math.inf  # infinite where p_0 = 0


_batches = sp.floor(sp.log(T + 1, 2))
_matroid = ((x, sp.log(3 * L * _batches * T)), (b, K / epsilon))
# Two clicks differ by 2 in L1 and sqrt(2) in L2 norm, a click and none (all there is for K = 1) by 1.
_clicks = ((b, sp.Min(K, 2) / epsilon), (sigma, sp.sqrt(sp.Min(K, 2)) / mu))
_message_exponent = (x, sp.log(2 * L * T**2))
_item = w_K - Delta  # the item's own mean
_local_item = x / p0 * (8 * A**2 / Delta + 4 * A * F * (1 + sp.log(rho)) + F**2 * Delta_max) + Delta_max
_phase_noise = 2 * b * sp.sqrt(x * M * (1 + _item**2 * (K - 1))) + b * x
_phase_exponent = ((M, L * (2 + sp.log(T, 2))), (x, sp.log(3 * L * M * T**2)))
_gain = (sp.exp(epsilon) - 1) / (sp.exp(epsilon) + K)

# Accumulated batches: radius at most sqrt(x / 2n) + F / n, and an arm's N-th feed has n >= (N - 1) / 2.
_batch_exponent = (x, sp.log(2 * L * _batches * T))
_laplace_tail = (F, b * (2 * sp.sqrt(_batches * x) + x))
_all_fed = 20 * K * B1**2 * x / Delta + 8 * B1 * F * (1 + sp.Max(0, sp.log(N))) + 4 * B1 * sp.sqrt(x) + R_max
_feeds = (N, 16 * B1**2 * K**2 * x / Delta**2 + 16 * K * B1 * F / Delta)

# A tree: radius at most sqrt(x / 2n) + F / n after n feeds; F with the noises of all levels at once.
_nodes = sp.floor(sp.log(T, 2)) + 1
_tree_exponent = (x, sp.log(4 * L * T**2))
_tree_tail = (F, b * (2 * sp.sqrt(_nodes * x) + x))
_printed_regime: dict[str, Any] = {
    "regime": "T >= 10 and L <= T: for fewer rounds the printed radius is too small for its own noise",
    "applies": lambda epsilon, size, horizon: horizon >= 10,
}


def _phases(noise: sp.Expr, scarce: sp.Expr) -> sp.Expr:
    """Theorem 6 with the noise B_e of an item's clicks and B' of its examinations."""
    spread = 1 + sp.log(rho)
    sampling = x / (2 * p0) * (8 / Delta + 4 * spread + Delta_max)
    return (1 + 1 / p0) * (sampling + 4 * noise * spread + 2 * scarce * Delta_max) + Delta_max


BOUNDS: dict[str, RegretBound] = {
    "cucb": RegretBound(
        constant=L * R_max * (6 * sp.log(T) * B**2 / Delta_0**2 + sp.pi**2 / 3 + 1),
        per_arm=sp.S.Zero,
        source="Chen, Wang & Yuan 2013, Theorem 1, with f(z) = B_inf z and Delta_0 the least gap",
    ),
    "cucb-ldp1": RegretBound(
        constant=3 * L * R_max,
        per_arm=sp.S.Zero,
        per_member=256 * K**2 * B**2 * sp.log(T) / (epsilon**2 * Delta),
        source="Chen et al. 2020, Theorem 2; constants from the counting argument of its appendix, its "
        "O(m Delta_max) taken as 3 m Delta_max",
        regime="epsilon <= 3.65 K: beyond, the printed radius is too small for its own sampling error",
        applies=lambda epsilon, size, horizon: epsilon <= 3.65 * size,
    ),
    "cucb-ldp2": RegretBound(
        constant=3 * L * R_max,
        per_arm=sp.S.Zero,
        per_member=256 * B**2 * sp.log(T) / (epsilon**2 * Delta),
        source="Chen et al. 2020, Theorem 4; constants from the counting argument of its appendix, its "
        "O(m Delta_max) taken as 3 m Delta_max",
        regime="epsilon <= 3.65: beyond, the printed radius is too small for its own sampling error",
        applies=lambda epsilon, size, horizon: epsilon <= 3.65,
    ),
    "cucb-ldp-bit": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=4 * B**2 * sp.coth(epsilon / 2) ** 2 * x / Delta + R_max,
        definitions=(_message_exponent,),
        source="one randomized bit of the least-counted arm (Theorem 1a)",
    ),
    "cucb-ldp-laplace-one": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=8 * B**2 * v * x / Delta + 4 * B * b * x * (1 + sp.log(R_max / Delta)) + R_max,
        definitions=((b, 1 / epsilon), (v, sp.Rational(1, 2) + 4 * b**2), _message_exponent),
        source="one outcome of the least-counted arm with Laplace noise (Theorem 1b)",
    ),
    "cucb-ldp-laplace-all": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=20 * K * B1**2 * v * x / Delta
        + 4 * B1 * b * x * (1 + sp.Max(0, sp.log(N)))
        + 4 * B1 * sp.sqrt(x * v)
        + R_max,
        definitions=(
            (b, K / epsilon),
            (v, sp.Rational(1, 2) + 4 * b**2),
            _message_exponent,
            (N, 16 * B1**2 * K**2 * x * v / Delta**2 + 8 * K * B1 * b * x / Delta),
        ),
        source="all outcomes with Laplace noise (Theorem 1c)",
    ),
    "cucb-ldp-gaussian": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=32 * K * B1**2 * v * x / Delta + 4 * B1 * sp.sqrt(2 * x * v) + R_max,
        definitions=((v, sp.Rational(1, 4) + K / mu**2), _message_exponent),
        source="all outcomes with Gaussian noise (Theorem 3, B_1)",
    ),
    "cucb-batch-all": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=_all_fed,
        definitions=((b, K / epsilon), _batch_exponent, _laplace_tail, _feeds),
        source="accumulated batches of all arms, B_1 (Theorem 2d, summed as Theorem 2b)",
    ),
    "cucb-batch-least": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=8 * B**2 * x / Delta + 8 * B * F * (1 + sp.log(R_max / Delta)) + R_max,
        definitions=((b, 1 / epsilon), _batch_exponent, _laplace_tail),
        source="accumulated batches of the least-counted arm (Theorem 2d)",
    ),
    "cucb-batch-gaussian": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=_all_fed,
        definitions=(
            (sigma, sp.sqrt(K) / mu),
            _batch_exponent,
            (F, sigma * sp.sqrt(2 * _batches * x)),
            _feeds,
        ),
        source="accumulated batches of all arms with Gaussian noise, B_1 (Theorem 2c, summed as 2b)",
    ),
    "cucb-dp": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=10 * K * B1**2 * x / Delta
        + 4 * B1 * F * (1 + sp.Max(0, sp.log(N)))
        + 2 * sp.sqrt(2 * x) * B1
        + R_max,
        definitions=(
            (b, K * _nodes / epsilon),
            _tree_exponent,
            _tree_tail,
            (N, 8 * B1**2 * K**2 * x / Delta**2 + 8 * K * B1 * F / Delta),
        ),
        source="Chen et al. 2020, Theorem 8, for the exact noise and radius (summed as Theorem 1c)",
    ),
    "cucb-dp-least": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=4 * B**2 * x / Delta + 4 * B * F * (1 + sp.log(R_max / Delta)) + R_max,
        definitions=((b, _nodes / epsilon), _tree_exponent, _tree_tail),
        source="a tree fed by the least-counted arm, B_inf (counted as in Theorem 1b)",
    ),
    "published/cucb-dp": RegretBound(
        constant=3 * L * R_max,
        per_arm=sp.S.Zero,
        per_member=(256 + 8 * sp.sqrt(96)) * K * B1**2 * x / Delta
        + (8 * sp.sqrt(96) + 48 + 48 * sp.log(N)) * K * B1 * sp.log(T) ** 3 / epsilon,
        definitions=(
            (x, sp.log(L * T)),
            (
                N,
                sp.Max(
                    256 * B1**2 * K**2 * x / Delta**2, 96 * B1 * K**2 * sp.log(T) ** 3 / (epsilon * Delta)
                ),
            ),
        ),
        source="Chen et al. 2020, Theorem 8; constants from its proof, with ln(mT) where the radius has it",
        **_printed_regime,
    ),
    "published/cucb-dp-least": RegretBound(
        constant=R_max,
        per_arm=sp.S.Zero,
        per_member=32 * B**2 * x / Delta
        + 48 * B * sp.log(T) ** 3 / epsilon * (1 + sp.log(R_max / Delta))
        + R_max,
        definitions=((x, sp.log(L * T)),),
        source="Chen et al. 2020, end of section 3.2, stated there without proof (counted as in Theorem 1b)",
        **_printed_regime,
    ),
    "omm": RegretBound(
        constant=sp.Integer(0),
        per_arm=16 * sp.log(T) / Delta + sp.Rational(4, 3) * sp.pi**2 * k * Delta_max,
        source="Kveton et al. 2014, gap-dependent bound (sum of gaps bounded by k Delta_max)",
        regime="every T >= 1",
    ),
    "dpucb-mat": RegretBound(
        constant=K,
        per_arm=16 * x / Delta + 16 * b * x * sp.Min(k, 1 + sp.log(rho)) + Delta_max,
        definitions=_matroid,
        source="bijective exchange, batches of doubling size, one failure event (Theorem 4U)",
    ),
    "dpts-mat": RegretBound(
        constant=K + 1,
        per_arm=81 * x / Delta + 24 * b * x * sp.Min(k, 1 + sp.log(rho)) + Delta_max,
        per_optimal=2 * sp.Integer(61) / Delta,
        definitions=_matroid,
        source="Gaussian samples of variance 1/n on truncated noise (Theorem 4T, c = 1)",
    ),
    "cascade-ucb1": RegretBound(
        constant=sp.pi**2 / 3 * L,
        per_arm=12 * sp.log(T) / Delta,
        source="Kveton et al. 2015, Theorem 2",
        regime="every T >= 1",
    ),
    "cascade-ucb-rr": RegretBound(
        constant=sp.Integer(1),
        per_arm=x / p0 * (8 * A**2 / Delta + 4 * A**2 * (1 + sp.log(rho)) + A**2 * Delta_max) + Delta_max,
        definitions=((x, sp.log(3 * L * T**2)), (A, 1 / (sp.sqrt(2) * _gain))),
        source="unbiased estimating equation, Hoeffding radius (Theorem 5, randomized response)",
    ),
    "cascade-ucb-ldp-laplace": RegretBound(
        constant=sp.Integer(1),
        per_arm=_local_item + 4 * b * x * (1 + sp.log(rho)) + 2 * b * x * Delta_max,
        definitions=(
            *_clicks,
            (x, sp.log(3 * L * T**2)),
            (A, sp.sqrt(sp.Rational(1, 2) + 4 * b**2 * (1 + _item**2 * (K - 1)))),
            (F, sp.sqrt(sp.Rational(1, 2) + 4 * b**2 * (K - 1)) + 2 * b * sp.sqrt(K - 1)),
        ),
        source="unbiased estimating equation (Theorem 5, Laplace noise)",
    ),
    "cascade-ucb-ldp-gaussian": RegretBound(
        constant=sp.Integer(1),
        per_arm=_local_item,
        definitions=(
            *_clicks,
            (x, sp.log(3 * L * T**2)),
            (A, sp.sqrt(sp.Rational(1, 2) + 2 * sigma**2 * (1 + _item**2 * (K - 1)))),
            (F, sp.sqrt(sp.Rational(1, 2) + 2 * sigma**2 * (K - 1)) + sigma * sp.sqrt(2 * (K - 1))),
        ),
        source="unbiased estimating equation (Theorem 5, Gaussian noise)",
    ),
    "cascade-ucb-batch": RegretBound(
        constant=sp.Integer(1),
        per_arm=_phases(_phase_noise, 4 * b * sp.sqrt(x * M * (K - 1)) + b * x),
        definitions=(*_clicks, *_phase_exponent),
        source="phases of doubling length and the estimating equation (Theorem 6, lambda = 1)",
    ),
    "cascade-ucb-batch-gaussian": RegretBound(
        constant=sp.Integer(1),
        per_arm=_phases(
            sigma * sp.sqrt(2 * x * M * (1 + _item**2 * (K - 1))), 2 * sigma * sp.sqrt(2 * x * M * (K - 1))
        ),
        definitions=(*_clicks, *_phase_exponent),
        source="phases of doubling length with Gaussian noise (Theorem 6, lambda = 1, 2 b^2 -> sigma^2)",
    ),
    **{
        name: RegretBound(
            constant=theorem.bound, per_arm=sp.S.Zero, source=theorem.source, regime=theorem.regime
        )
        for name, theorem in LINEAR_THEOREMS.items()
    },
}
"""Regret bounds by the learner's registered name."""
