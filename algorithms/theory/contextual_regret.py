"""Regret bounds of contextual linear bandits: sums of widths over a run, which are no function of T.

**Theorem** (regret by widths). Let ``|theta_j - theta*|_(V_j) <= beta_j`` at all times but with probability phi, and
play in round t the x_t of largest ``theta_j . x + beta_j |x|_(V_j^-1)``. Then but with probability phi the regret of a
run is at most ``W_T = sum_t min(R_max, 2 beta_j |x_t|_(V_j^-1))``, with the V and beta that were acted on; and expected
regret is at most ``E W_T + phi T R_max``.

*Proof.* ``|(theta_j - theta*) . x| <= beta_j |x|_(V_j^-1)`` for all x (Cauchy and Schwarz). So with x* the best action
offered, ``theta* . x* <= theta_j . x* + beta_j |x*| <= theta_j . x_t + beta_j |x_t| <= theta* . x_t + 2 beta_j |x_t|``.
Otherwise regret is at most ``T R_max``. QED.

W_T is of public numbers, but for the actions played, which are their users'. Its expectation is no function of T that
anybody could state beforehand: a third of all rounds may be in one batch of `DPLinUCB`, and contexts may change at its
begin. So it is estimated from runs, and a confidence limit on their mean is the bound.

Widths. Those of `DPLinUCB` and `LinUCB` are a theorem (`algorithms.linear.dp_linucb`; ``phi = 2 / T``). So are those of
`TreeLinUCBGaussian`, with the same phi (the paper has ``alpha = 1 / T``):

*Proof.* A sum has the noise of ``k <= m`` nodes, symmetric with deviation ``sqrt(2 k) s`` in each direction, and ``h ~
N(0, k s^2 I)``. With ``l = ln(2 n / alpha) = ln(2 n^2)`` its norm is at most ``sqrt(2 m) s (sqrt(2 d) + 2 l) <=
Upsilon`` but with probability ``2 e^(-2 l^2)``, and ``|h| <= sqrt(m) s (sqrt d + sqrt(2 l))`` but with probability
``e^-l``: over n rounds together ``2 n e^(-2 l^2) + 1 / (2 n)`` at most. Then ``rho_min I <= V - G <= rho_max I``, and
the width is the sum of the same three terms as there: the self-normalised bound is at one rho_min, so for all rounds at
once, and fails with probability ``alpha / 2 = 1 / (2 n)``. And ``2 n e^(-2 l^2) <= 1 / n``, as ``2 l >= 1``. QED.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from algorithms.estimates.doubling_batches import released_counts
from algorithms.linear.dp_linucb import BatchedLinUCB
from algorithms.problems.linear_contexts import LinearContexts
from algorithms.theory.confidence_theorem import WidthTheorem, j, n, volume
from algorithms.theory.regret_bound import (
    FloorLog2,
    Instance,
    R_max,
    RegretBound,
    T,
    allowed,
    delta,
    epsilon,
    mu,
    unit_mu,
)
from mechanisms import RegressionMoments
from mechanisms.domains.regression_moments import MOST_WEIGHT

d, norm, J, distance = sp.symbols("d S_theta J D_2", positive=True)

_FAILURE = 2 / T


def _batches(deviation: sp.Expr) -> WidthTheorem:
    """Return the widths of growing batches, of sums with normal noise of a deviation."""
    far = sp.sqrt(2 * sp.log(3 * J * T))
    operator = sp.sqrt(j) * deviation * (sp.sqrt(2 * d) + far)
    vector = sp.sqrt(j) * deviation * (sp.sqrt(d) + far)
    least = sp.Max(1, operator)
    return WidthTheorem(
        shift=operator + least,
        least=least,
        width=sp.sqrt(2 * sp.log(J * T) + volume)
        + norm * sp.sqrt(2 * operator + least)
        + vector / sp.sqrt(least),
        volume=d * sp.log(1 + n / (d * least)),
        weight=1.0,
        scale=deviation,
        counting="growing batches",
        failure=_FAILURE,
        first=sp.Max(1, operator.subs(j, 1)),
        growth=BatchedLinUCB.growth,
    )


def _printed_tree() -> WidthTheorem:
    """Return the widths of section 4.2 of Shariff & Sheffet (2018), at alpha = 1 / T."""
    nodes = 2 + FloorLog2(T - 1)  # 1 + ceil(log2 T), for T = 1 too
    deviation = 8 * sp.sqrt(nodes) * sp.log(4 / delta) / epsilon
    far = sp.log(2 * T**2)
    least = sp.sqrt(2 * nodes) * deviation * (4 * sp.sqrt(d) + 2 * far)
    return WidthTheorem(
        shift=2 * least,
        least=least,
        width=sp.sqrt(2 * sp.log(2 * T) + volume)
        + norm * sp.sqrt(3 * least)
        + deviation * sp.sqrt(nodes / least) * (sp.sqrt(d) + sp.sqrt(2 * far)),
        volume=sp.oo,
        weight=MOST_WEIGHT,
        scale=MOST_WEIGHT * deviation,
        counting="tree",
        failure=_FAILURE,
    )


def _covered(instance: Instance) -> bool:
    problem = instance.problem
    return isinstance(problem, LinearContexts) and bool(
        np.linalg.norm(problem.parameter) <= _norm(instance) * (1 + 1e-12)
    )


def _norm(instance: Instance) -> float:
    return float(instance.settings.get("norm", 1.0))


_THEOREMS = {
    "dp-linucb": (_batches(distance / mu), "this library: regret by widths"),
    "linucb": (_batches(sp.S.Zero), "this library: regret by widths, without noise"),
    "published/tree-linucb-gaussian": (
        _printed_tree(),
        "Shariff & Sheffet 2018, proof of Theorem 5: regret by widths",
    ),
}

CONTEXTUAL_BOUNDS: dict[str, RegretBound] = {
    name: RegretBound(
        family="contextual",
        constant=allowed + _FAILURE * T * R_max,
        source=source,
        regime="actions in the unit ball, rewards in [-1, 1] of mean theta* . x, |theta*| <= S (the setting norm)",
        applies=_covered,
        confidence=theorem,
    )
    for name, (theorem, source) in _THEOREMS.items()
}
"""The theorems by the learner's registered name."""


def contextual_values(instance: Instance) -> dict[sp.Symbol, float]:
    """Return the value of every symbol on an instance; infinity for those known only from runs."""
    problem = instance.problem
    assert isinstance(problem, LinearContexts)
    return {
        T: instance.level_horizon,
        allowed: np.inf,
        R_max: problem.largest_regret,
        d: problem.features,
        norm: _norm(instance),
        J: max(1, len(released_counts(instance.level_horizon, 1, BatchedLinUCB.growth))),
        distance: RegressionMoments(problem.features).sensitivity.l2,
        epsilon: instance.epsilon,
        delta: instance.delta,
        mu: unit_mu(instance.epsilon, instance.delta),
    }
