"""Regret theorems of experts, with private sums (Theorem 4 of `leader_regret`) and without noise."""

from __future__ import annotations

import functools
import math

import sympy as sp
from sympy.utilities.lambdify import implemented_function

from accountant import LONGEST_STREAM
from algorithms.full_information.hedge import expert_counter
from algorithms.full_information.leader_regret import last_deviation
from algorithms.theory.confidence_theorem import WeightTheorem
from algorithms.theory.regret_bound import Instance, K, R_max, RegretBound, T, delta, epsilon


@functools.lru_cache(maxsize=256)
def _mean_of_largest(count: float) -> float:
    """Return the mean of the largest of `count` standard normals, from above.

    The integral of x K Phi(x)^(K-1) phi(x), over probabilities; at most sqrt(2 ln K).
    """
    from scipy import integrate, stats

    def survival(x: float) -> float:
        """1 - Phi(x)^K, and Phi(-x)^K of the other side: the mean is the integral of their difference."""
        return -math.expm1(count * float(stats.norm.logcdf(x))) - math.exp(
            count * float(stats.norm.logcdf(-x))
        )

    value, error = integrate.quad(survival, 0.0, 40.0, epsabs=1e-11, limit=500, points=(1.0, 3.0, 6.0))
    return min(float(value + error) + 1e-9, math.sqrt(2.0 * math.log(count)))


@functools.lru_cache(maxsize=256)
def _expert_deviation(horizon: float, experts: float, epsilon: float, delta: float) -> float:
    counter = expert_counter(int(experts), epsilon=epsilon, delta=delta, horizon=int(horizon))
    return last_deviation(counter)


def _known_or_short(instance: Instance) -> bool:
    """Return False beyond the longest epoch of a learner without a horizon."""
    return not instance.anytime or instance.horizon <= LONGEST_STREAM


_Largest = implemented_function("m", _mean_of_largest)
_Deviation = implemented_function("s", _expert_deviation)


def _theorem(noise: sp.Expr, source: str, regime: str) -> RegretBound:
    """Return the theorem of exponential weights, with the cost of noise in their sums."""
    return RegretBound(
        family="experts",
        constant=sp.Min(T * R_max, sp.sqrt(T * sp.log(K) / 2) + noise),
        confidence=WeightTheorem(sp.sqrt(8 * sp.log(K) / T), noisy=noise != 0),
        restarts=True,
        applies=_known_or_short,
        source=source,
        regime=f"{regime}; outcomes that do not answer the actions",
    )


EXPERT_BOUNDS: dict[str, RegretBound] = {
    "hedge": _theorem(
        sp.S.Zero,
        "Freund & Schapire 1997, with the constant of Hoeffding's lemma",
        f"every T >= 1 (without a horizon up to {LONGEST_STREAM:,})",
    ),
    "dp-hedge": _theorem(
        _Largest(K) * _Deviation(T, K, epsilon, delta),
        "this library (algorithms.full_information.leader_regret, Theorem 4)",
        f"every epsilon > 0 and T from 1 to {LONGEST_STREAM:,}",
    ),
}
"""Bounds by the learner's registered name."""
