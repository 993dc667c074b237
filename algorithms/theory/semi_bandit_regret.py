"""Regret theorems of combinatorial semi-bandits (Chen et al. 2020, and their repairs)."""

from __future__ import annotations

from typing import Any

import sympy as sp

from algorithms.problems import LinearBandit, LinearContexts
from algorithms.theory.confidence_theorem import ConfidenceTheorem, n, t, x
from algorithms.theory.regret_bound import (
    B1,
    B,
    Delta,
    Delta_0,
    Instance,
    K,
    L,
    N,
    R_max,
    RegretBound,
    T,
    delta,
    epsilon,
    mu,
    spread,
    v,
)

_printed_regime: dict[str, Any] = {
    "regime": "T >= 10: for fewer rounds the printed radius is too small for its own noise",
    "applies": lambda instance: instance.horizon >= 10,
}

# A radius without a term for sampling, 4 b sqrt(2 ln(T) / n) at noise of scale b: by Chernoff's inequality for values
# and noises together, all counts fail with probability 2 / T at most for b >= 1 / 3.65 and these T. Of one message
# Laplace noise alone is beyond it with probability exp(-sqrt(32 ln T)), more than 2 / T from 3e14 on.
_LONGEST_PRINTED = 400_000_000


def _size(instance: Instance) -> int:
    """Return K."""
    assert not isinstance(instance.problem, LinearBandit | LinearContexts)
    return instance.problem.structure.size


def _radius_holds(instance: Instance, scale: float) -> bool:
    """Return True if the radius printed for noise of a scale holds: that is not small, nor T (H_k) too large."""
    return scale >= 1 / 3.65 and instance.level_horizon <= _LONGEST_PRINTED


_deviation = sp.sqrt(2 * K * sp.log(sp.Rational(5, 4) / delta)) / epsilon  # of the classical mechanism


_printed_plays = 128 * K * sp.log(sp.Rational(5, 4) / delta) * B**2 / (sp.Min(epsilon**2, 2) * Delta_0**2)


def _printed_tree(*, least: bool) -> ConfidenceTheorem:
    """Return the proof of Algorithm 3: with u = 3 ln T, 2 sqrt(J u) + u <= 6 ln^2 T noise scales from T = 10 on."""
    fed = sp.Integer(1) if least else K
    return ConfidenceTheorem(
        radius=sp.sqrt(4 * x / n) + 12 * fed * sp.log(T) ** 3 / (epsilon * n),
        noise="Laplace",
        scale=2 * fed * sp.log(T) / epsilon,
        feeds="least" if least else "all",
        counting="tree",
        index="clipped",
        lemma="B_inf" if least else "B_1",
        failure=3 * L / T**2,
        sides=None,
    )


def _printed_messages(sent: sp.Expr, theorem: str, *, least: bool) -> RegretBound:
    """Return the theorem of messages about `sent` outcomes with Laplace noise, as printed: of one or all played."""
    times, square = ("", "") if least else (" K", "K^2 ")
    return RegretBound(
        family="semi-bandit",
        constant=3 * L * R_max,
        per_member=spread(128 * sent**2 * B**2 * sp.log(T) / epsilon**2, R_max),
        definitions=((x, sp.log(T)),),
        source=f"Chen et al. 2020, {theorem}; constants from the counting argument of its appendix, its "
        "O(m Delta_max) taken as 3 m Delta_max",
        regime=f"epsilon <= 3.65{times}: beyond, the printed radius is too small for its own sampling error; T "
        "(without a horizon, H_k) up to 4e8: beyond, it is too small for the noise of one message",
        applies=lambda instance: _radius_holds(
            instance, (1 if least else _size(instance)) / instance.epsilon
        ),
        printed=f"O(sum_i {square}B_inf^2 ln T / (epsilon^2 Delta_i)), for every epsilon",
        correction="its radius, printed without a term for sampling, fails at many messages with probability T^-3 at "
        f"most for epsilon <= 3.65{times} only (T^-1 up to 7.48{times}); beyond, the regret is larger than the bound. "
        "At one message it fails with probability exp(-sqrt(32 ln T)) for every epsilon, which in the end is more than "
        "1/T",
        confidence=ConfidenceTheorem(
            radius=4 * sent * sp.sqrt(2 * x / n) / epsilon,
            noise="Laplace",
            scale=sent / epsilon,
            feeds="least" if least else "all",
            index="clipped",
            lemma="B_inf" if least else "B_1",
            failure=2 * L / T,
            sides=None,
        ),
    )


SEMI_BANDIT_BOUNDS: dict[str, RegretBound] = {
    "cucb": RegretBound(
        family="semi-bandit",
        constant=L * R_max * (6 * sp.log(T) * B**2 / Delta_0**2 + sp.pi**2 / 3 + 1),
        source="Chen, Wang & Yuan 2013, Theorem 1, with f(z) = B_inf z and Delta_0 the least gap",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(x / (2 * n)),
            index="clipped",
            lemma="B_inf",
            exponent=3 * sp.log(t),
            failure=2 * L / t**2,
        ),
    ),
    "cucb-ldp1": _printed_messages(K, "Theorem 2", least=False),
    "cucb-ldp2": _printed_messages(sp.S.One, "Theorem 4", least=True),
    "cucb-ldp-gaussian": RegretBound(
        family="semi-bandit",
        constant=R_max,
        per_member=32 * K * B1**2 * v * x / Delta + 4 * B1 * sp.sqrt(2 * x * v) + R_max,
        definitions=((v, sp.Rational(1, 4) + K / mu**2), (x, sp.log(2 * L * T**2))),
        source="this library: all outcomes with Gaussian noise (Theorem 3, B_1)",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(2 * x * v / n),
            noise="Gaussian",
            scale=sp.sqrt(K) / mu,
            index="clipped",
            lemma="B_1",
            failure=1 / T,
        ),
    ),
    "published/cucb-dp": RegretBound(
        family="semi-bandit",
        constant=3 * L * R_max,
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
        printed="O(sum_i K B_1^2 ln^2 T / Delta_i) + O(m K B_1 ln^3 T ln(B_1 K ln T / (Delta epsilon)) / epsilon)",
        correction="its proof gives ln T in the first term",
        confidence=_printed_tree(least=False),
        **_printed_regime,
    ),
    "published/cucb-dp-least": RegretBound(
        family="semi-bandit",
        constant=3 * L * R_max / T,
        per_member=spread(16 * B**2 * x, R_max)
        + 48 * B * sp.log(T) ** 3 / epsilon * (1 + sp.log(R_max / Delta))
        + R_max,
        definitions=((x, sp.log(L * T)),),
        source="Chen et al. 2020, end of section 3.2, stated there without proof (counted as in Theorem 1b)",
        confidence=_printed_tree(least=True),
        **_printed_regime,
    ),
    "published/cucb-ldp-gaussian": RegretBound(
        family="semi-bandit",
        constant=(_printed_plays * sp.log(T + L) + 2 * (1 + sp.log(T)) + 1) * L * R_max,
        source="cascading bandits paper, Theorem 10, with f(z) = B_inf z",
        regime="every epsilon, delta <= 0.85: there 12 <= 64 K ln(1.25 / delta) / epsilon^2 where epsilon^2 <= 2",
        applies=lambda instance: instance.delta <= 0.85,
        printed="[128 K ln(1.25 / delta) ln T / (min(epsilon^2, 2) f^-1(Delta_min)^2) + pi^2 / 3 + 1] m Delta_max",
        correction="rounds start at m + 1, so ln(T + m); the radius fails with probability 2 t^-2 for each count, "
        "which sums to 2 (1 + ln T) over counts and rounds, not to pi^2 / 3",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(3 * x / (2 * n)) + 2 * _deviation * sp.sqrt(x / n),
            noise="Gaussian",
            scale=_deviation,
            index="unclipped",
            lemma="B_inf",
            exponent=sp.log(t + L),
            failure=2 * L * (1 / (t + L) + 1 / (t + L) ** 2),  # 2 (t^-3 + t^-2) for each arm and count
            start="raw",
        ),
    ),
}
"""Regret bounds of semi-bandits by the registered name."""
