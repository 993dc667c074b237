"""The number of rounds to identify the best arm (`algorithms.semi_bandits.dp_best_arm`), and the regret meanwhile.

With ``n_j`` values and j noises of an arm after phase j, ``V = n_j / 4 + s j``, s the variance proxy of a noise of
scale b, let ``r_j(v) = (sqrt(2 V v) + b v) / n_j``, and C_j its inverse: the exponent of the sub-gamma tail
(`algorithms.theory.level_free_regret`). C_j is convex and 0 at 0, so ``C_j(d) + C_j(d') >= 2 C_j((d + d') / 2)``.

**Theorem** (phases). On the event that the best arm is never removed, whose probability is at least ``1 - error``, an
arm of gap Delta is played in expectation at most ``f + sum_j (n_{j+1} - n_j) P_j(Delta)`` times, with

``P_j(Delta) = exp(-2 C_j((Delta - w_j) / 2))``, ``(1 - h) w_j = 2 r_j(x_j / 2)``, or 1 where ``w_j >= Delta``, with
``h = 0.0002``, as Z is searched for (`algorithms.estimates.chernoff.SHORTFALL`);

and the best arm ``f + sum_j (n_{j+1} - n_j) min{1, sum over the other arms of P_j}``.

*Proof.* Let p and p' be the noisy means after phase j of the arm and of the leader. Chernoff's exponents are at least
C_j of the distance to the mean, so ``Z >= min_u C_j(u - p) + C_j(p' - u) >= 2 C_j((p' - p) / 2)``, where C_j is 0
below 0, and what is computed of Z is at least ``2 C_j((1 - h) (p' - p) / 2)``. The arm stays only if that is at most
x_j, so ``p' - p <= w_j``; and p' is at least the best arm's, which is left. The best arm's mean less the arm's own is
Delta in expectation, and the difference of two independent deviations of log moment ``psi(s)`` each is at most ``w_j
- Delta`` below it with probability ``exp(-sup_s (s n_j (Delta - w_j) - 2 psi(s)))`` at most, which is P_j. The arm is
played in phase j + 1 only if it stayed, the best arm only if another one did. QED.

**Theorem** (tolerance). With ``tolerance = eta > 0`` no arm is played more than n_j times for the first j with ``2
C_j((1 - h) eta / 2) > x_j``, whatever the rewards are: then what is computed of ``inf_u I(u + eta) + J(u)``, at least
``2 C_j((1 - h) (p' - p + eta) / 2)``, exceeds x_j for all arms, since ``p' >= p``, and it stops.

**Corollary** (regret). Without tolerance regret after T rounds is at most ``sum_a Delta_a min{T, plays of a} + error T
R_max``: after the end, and on the good event, the best arm is played.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import sympy as sp
from scipy import optimize
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.chernoff import SHORTFALL
from algorithms.learner import check_epsilon
from algorithms.semi_bandits.dp_best_arm import DPBestArm, first_batch, phase_exponent
from algorithms.theory.confidence_theorem import EliminationTheorem, j, n, x
from algorithms.theory.confidence_theorem import phase as phase_number
from algorithms.theory.level_free_regret import ReleaseCounts
from algorithms.theory.regret_bound import Delta, Instance, L, R_max, RegretBound, T, b, epsilon
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError, open_unit

ERROR = 0.05
"""The error of the registered bound: the learner's default."""

_LONGEST = 2.0**62  # rounds, where there is no horizon


def _phases(
    arms: float, scale: float, error: float, horizon: float = _LONGEST
) -> tuple[ReleaseCounts, FloatArray]:
    """Return n_j with all that follows from it, up to a horizon, and x_j."""
    first = first_batch(int(arms), error, scale)
    phases = ReleaseCounts(horizon, first, 2 * scale**2, scale, falling=0.0, growth=DPBestArm.growth)
    return phases, phase_exponent(int(arms), error, np.arange(1.0, phases.counts.size + 1))


def _stays(phases: ReleaseCounts, levels: FloatArray, gap: float) -> FloatArray:
    """Return P_j."""
    margin = gap - 2 * phases.width(levels / 2) / (1 - SHORTFALL)
    return np.where(margin > 0, np.exp(-2 * phases.exponent(np.maximum(margin, 0.0) / 2)), 1.0)


def _arm_plays(horizon: float, arms: float, epsilon: float, gap: float, error: float = ERROR) -> float:
    """Return the theorem's bound on the plays of an arm of some gap, and T at most.

    Parameters
    ----------
    horizon, arms, epsilon, gap, error
        T, m, epsilon, Delta, and the probability of a wrong recommendation.
    """
    phases, levels = _phases(arms, 1 / epsilon, error, horizon)
    batches = phases.later - phases.counts
    return min(horizon, phases.size + float(batches @ _stays(phases, levels, gap)))


def expected_rounds(means: Sequence[float], *, epsilon: float, error: float = ERROR) -> float:
    """Return the theorem's bound on the rounds until `DPBestArm` stops, while the best arm is not removed.

    Parameters
    ----------
    means
        The means of the arms; infinite rounds are returned where two of them are the largest.
    epsilon, error
        As for `DPBestArm`, at tolerance 0.

    Raises
    ------
    ParameterError
        If there is no arm, or epsilon is out of range.

    Examples
    --------
    >>> from algorithms.theory.best_arm import expected_rounds
    >>> round(expected_rounds([0.9, 0.5, 0.4], epsilon=1.0), -2)
    700.0
    """
    scale = 1 / check_epsilon(epsilon)
    ordered = np.sort(np.asarray(means, dtype=np.float64))[::-1]
    if ordered.size == 0:
        raise ParameterError("means: must have at least one arm")
    gaps = ordered[0] - ordered[1:]
    if gaps.size == 0:
        return 0.0
    if gaps[0] == 0:
        return math.inf
    phases, levels = _phases(ordered.size, scale, error)
    stays = sum(_stays(phases, levels, gap) for gap in gaps.tolist())
    batches = phases.later - phases.counts
    return phases.size * ordered.size + float(batches @ (stays + np.minimum(1.0, stays)))


def most_plays(arms: int, *, epsilon: float, tolerance: float, error: float = ERROR) -> float:
    """Return the most rounds in which `DPBestArm` plays one of the arms before it stops, for any rewards.

    Parameters
    ----------
    arms, epsilon, tolerance, error
        As for `DPBestArm`.

    Raises
    ------
    ParameterError
        If epsilon is out of range, or the tolerance not above 0.
    """
    scale = 1 / check_epsilon(epsilon)
    open_unit("tolerance", tolerance)
    if arms == 1:
        return 0.0
    phases, levels = _phases(arms, scale, error)
    apart = 2 * phases.exponent(np.full(levels.size, (1 - SHORTFALL) * tolerance / 2)) > levels
    return float(phases.counts[apart.argmax()])


def _as_default(instance: Instance) -> bool:
    settings = instance.settings
    return settings.get("error", ERROR) == ERROR and not settings.get("tolerance", 0.0)


def _sum_level(probability: float) -> float:
    """Return x with ``(1 + x) e^-x`` of this probability."""
    return float(optimize.brentq(lambda x: math.log1p(x) - x - math.log(probability), 0.0, 800.0, xtol=1e-14))


_ArmPlays = implemented_function("ArmPlays", _arm_plays)
_SumLevel = implemented_function("SumLevel", _sum_level)


def _level(number: sp.Expr) -> sp.Expr:
    """Return x of a phase."""
    return _SumLevel(ERROR / ((L - 1) * number * (number + 1)))


BEST_ARM_BOUNDS: dict[str, RegretBound] = {
    "dp-best-arm": RegretBound(
        family="bandit",
        constant=ERROR * T * R_max,
        per_arm=Delta * _ArmPlays(T, L, epsilon, Delta),
        source="this library: successive elimination on accumulated batches with Laplace noise",
        regime=f"every epsilon > 0 and T >= 1; error {ERROR}, tolerance 0",
        definitions=((b, 1 / epsilon),),
        applies=_as_default,
        confidence=EliminationTheorem(
            radius=(sp.sqrt(2 * x * (n / 4 + 2 * b**2 * j)) + b * x) / n,
            noise="Laplace",
            scale=b,
            sides=1.0,
            batch=sp.Piecewise((b * _level(sp.S.One), phase_number <= 1), (DPBestArm.growth * n, True)),
            level=_level(phase_number),
            apart="separation",
            fresh=False,
            failure=sp.Float(ERROR),
        ),
    )
}
"""The regret bound of finding the best arm, by the registered name."""
