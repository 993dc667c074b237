"""Regret theorems of K-armed bandits as published, with the constants that their proofs give.

**Theorem** (DP-SE at beta = 1 / T). Regret is at most ``R_max + sum_a Delta_a min(T, sum_(e <= e_a) ceil(R_e))``, e_a
the first epoch with ``2^-e <= Delta_a`` and R_e that of all arms.

*Proof.* In epoch e an arm's mean is off by more than h_e with probability ``beta / (4 |S| e^2)`` at most (Hoeffding),
its noise is beyond c_e with as much; together over arms and epochs, ``beta pi^2 / 12 < 1 / T``, which costs R_max at
most.
Else the best arm is never more than ``2 h_e + 2 c_e`` below the largest noisy mean, and stays; an arm of gap above ``4
(h_e + c_e)`` goes. As ``h_e, c_e < 2^-e / 8``, that is any of gap 2^-e or more; and R_e increases with |S|. QED.

**Theorem** (AdaP-KLUCB, alpha > 2). An arm of gap Delta is played at most ``max{1, 2 N} + sum_(t = m + 1)^T 3 (1 + log2
t) t^(1 - alpha)`` times in expectation, N the largest power of two with ``2 sqrt(alpha ln(T) / N) + 4 alpha ln(T) /
(epsilon N) >= Delta``, or 0.

*Proof.* Let an episode start in round t, N be the plays of an arm, ``r = sqrt(alpha ln(t) / N)``, ``c = 2 alpha ln(t) /
(epsilon N)``. The arm's last N / 2 values (one, if N = 1) have a mean above ``mu + r``, or one from which kl to mu is
above ``alpha ln(t) / (N / 2)`` from below, each with probability ``t^-alpha`` at most (Hoeffding, Chernoff), and their
noise is beyond c on either side with ``t^-alpha / 2``. N is one of ``1 + log2 t`` numbers. Where none of this happens
to the arm from above and to the best one from below, the best arm's index is mu* at least, and by Pinsker's inequality
the arm's is ``mu + 2 r + 2 c`` at most: it is only played if that is mu* or more, and then up to 2 N plays in all.
Where it happens the episode has N <= t rounds. QED.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.elimination_epochs import epoch_pulls
from algorithms.theory.confidence_theorem import ConfidenceTheorem, EliminationTheorem, left, n, phase, t, x
from algorithms.theory.regret_bound import Delta, L, R_max, RegretBound, T, b, epsilon

_ALPHA = 3.1
"""The alpha of AdaP-KLUCB by default."""

_EXPONENT = sp.Rational(str(_ALPHA))

_SUMMED = 10_000
"""The last round with a term of failures added by itself; an integral bounds the later ones."""


def _elimination_plays(horizon: float, arms: float, epsilon: float, gap: float) -> float:
    """Return the theorem's bound on the plays of an arm of some gap by DP-SE, and T at most.

    Parameters
    ----------
    horizon, arms, epsilon, gap
        T, how many arms there are, epsilon and Delta.
    """
    last = max(1, math.ceil(-math.log2(gap)))
    epochs = np.arange(1.0, last + 1)
    pulls = epoch_pulls(epochs, np.array(arms), epsilon=epsilon, horizon=int(horizon))
    return min(horizon, float(np.ceil(pulls).sum()))


def _episode_plays(horizon: float, arms: float, epsilon: float, gap: float) -> float:
    """Return the theorem's bound on the plays of an arm of some gap by AdaP-KLUCB, and T at most.

    Parameters
    ----------
    horizon, arms, epsilon, gap
        As for `_elimination_plays`.
    """
    level = _ALPHA * math.log(horizon)
    plays, played = 1.0, 1.0
    while played <= horizon and 2 * math.sqrt(level / played) + 4 * level / (epsilon * played) >= gap:
        plays, played = 2 * played, 2 * played
    return min(horizon, plays + _failures(horizon, arms))


def _failures(horizon: float, arms: float) -> float:
    """Return at least ``sum 3 (1 + log2 t) t^(1 - alpha)`` over t from arms + 1 to T."""
    power = _ALPHA - 1
    rounds = np.arange(arms + 1, min(horizon, _SUMMED) + 1)
    failures = float(np.sum(3 * (1 + np.log2(rounds)) * rounds**-power))
    # The terms fall, and the integral of ln(t) t^-p from N is N^(1-p) (ln N + 1/(p-1)) / (p-1).
    if horizon > _SUMMED:
        start, less = max(_SUMMED, arms), power - 1
        logarithm = (math.log(start) + 1 / less) / math.log(2)
        failures += 3 * start**-less * (1 + logarithm) / less
    return failures


_level = sp.log(8 * left * phase**2 * T)
_EliminationPlays = implemented_function("EliminationPlays", _elimination_plays)
_EpisodePlays = implemented_function("EpisodePlays", _episode_plays)

PUBLISHED_BANDIT_BOUNDS: dict[str, RegretBound] = {
    "published/dp-se": RegretBound(
        family="bandit",
        constant=R_max,
        per_arm=Delta * _EliminationPlays(T, L, epsilon, Delta),
        source="Sajed & Sheffet 2019, the regret bound of Algorithm 2 (algorithms.theory.published_bandit_regret)",
        printed="O(sum_a ln(T) / Delta_a + L ln(T) / epsilon)",
        definitions=((b, 1 / epsilon),),
        correction="the constants of the proof, which are large: R_1 alone is 128 ln(8 L T) pulls of every arm",
        confidence=EliminationTheorem(
            radius=sp.sqrt(x / (2 * n)) + b * (x - sp.log(2)) / n,
            noise="Laplace",
            scale=b,
            sides=2.0,
            batch=sp.Max(32 * 4**phase * _level, 8 * b * 2**phase * (_level - sp.log(2))) + 1,
            level=_level,
            apart="radii",
            fresh=True,
            failure=1 / T,
            largest=2**-phase,
        ),
    ),
    "published/adap-klucb": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _EpisodePlays(T, L, epsilon, Delta),
        source="Azize & Basu 2022, Theorem 8 (algorithms.theory.published_bandit_regret)",
        printed="sum_a C_1(alpha) Delta_a ln(T) / min{d_inf(mu_a, mu*), C_2 epsilon Delta_a} + alpha / (alpha - 3)",
        definitions=((b, 1 / epsilon),),
        correction="C_1 and C_2 are not given; here the constants of a proof by Hoeffding's and Pinsker's inequalities",
        confidence=ConfidenceTheorem(
            radius=sp.sqrt(x / (2 * n)) + b * x / n,
            noise="Laplace",
            scale=b,
            counting="doubling episodes",
            index="divergence",
            lemma="episode",
            failure=3 * (1 + sp.log(t, 2)) * t**-_EXPONENT,
            sides=1.5,
            exponent=_EXPONENT * sp.log(t),
        ),
    ),
}
"""Regret bounds of K-armed bandits as published, by the registered name."""
