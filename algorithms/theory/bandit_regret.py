"""The regret theorem of K-armed bandits by indexed minimum empirical divergence on randomized bits, at every T.

An arm with o ones among n bits has the index ``H(n kl(o / n, u)) + ln n``, u the largest mean of an arm's bits, ``H(v) = v
+ c ln(1 + 4 pi v)`` with c = 0.2; the arm of least index is played, after f messages of each (Honda & Takemura 2015).

**Theorem.** For every ``0 < z < Delta / 2``, Delta the gap of the bits' means (``tanh(epsilon / 2)`` of the arms'), an arm
is played ``max{f, nu + 1} + sum_(n >= f) e^(-2 n z^2) + B sum_(n >= f) (n + 1) e^(-2 n z^2)`` times at most in expectation,
``H(2 nu (Delta - 2 z)^2) = ln T``, ``B = M(v_T) - M(0) + 1``, ``H(v_T) = ln T`` and M as in `algorithms.theory.batch_regret`.

*Proof.* Let p be the mean of the arm's bits, p* the largest. (A) Plays while ``u >= p* - z``. An arm of largest mean has
the index ``ln n``, so the arm chosen has ``H(n kl) <= ln T``, and kl is nondecreasing in u. If ``o <= n (p + z)``, then
``H(2 n (Delta - 2 z)^2) <= ln T``: ``n <= nu``. Else, at n messages with probability ``e^(-2 n z^2)`` at most, one play.

(B) Plays while ``u < p* - z``. Let the best arm have n messages, ``o < n (p* - z)`` ones, ``G = n kl(o / n, p* - z)`` and ``F
= n kl(o / n, p*)``. The arm chosen has ``ln n' <= H(G) + ln n``, so while the best arm stays there it is played ``(n + 1)
min(e^H(G), T)`` times at most. ``F - G >= 2 n z^2``, as in Lemma 2 there, so ``P(G > v) <= e^(-v - 2 n z^2)``, and the mean of
the minimum is at most ``e^(-2 n z^2) (1 + int_0^(v_T) H' e^(H - v) dv)``. The best arm is at each count once. QED

As T grows so does f, the sums vanish, and z may: an arm is played ``ln(T) / kl(p, p*)`` times in the limit. No index
depends on T, and nothing in the proof on f: a learner that is not told T has the theorem at every T.
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.level_free import unsharpened
from algorithms.semi_bandits.dp_bandit import BIT_SHARE
from algorithms.theory.batch_regret import mass
from algorithms.theory.confidence_theorem import ConfidenceTheorem, n, x
from algorithms.theory.regret_bound import T0, Delta, RegretBound, T, epsilon

_SHARES = np.linspace(0.02, 0.48, 47)
"""The values of z / Delta among which the least bound is taken."""


def bit_plays(horizon: float, first: float, gain: float, gap: float) -> float:
    """Return the theorem's bound for randomized bits, with means that differ by gap / gain; at most T."""
    f, plays = max(1, math.ceil(first)), float(horizon)
    levels = unsharpened(np.array([math.log(horizon)]), BIT_SHARE) * (1.0 + 1e-9)
    level = float(levels[0])
    longest = 1.0 + float((mass(levels, BIT_SHARE) - mass(0.0 * levels, BIT_SHARE))[0])
    for z in (_SHARES * gap / gain).tolist():
        nu = level / (2 * (gap / gain - 2 * z) ** 2)
        share = math.exp(-2 * z * z)
        rest = -math.expm1(-2 * z * z)
        if rest == 0:  # the sums have more terms than there are numbers
            continue
        late = share**f / rest
        behind = longest * share**f * ((f + 1) / rest + share / rest**2)
        plays = min(plays, max(f, nu + 1) + late + behind)
    return plays


_BitPlays = implemented_function("BitPlays", bit_plays)

_first_bits = sp.sqrt(sp.log(T0))

BANDIT_BOUNDS: dict[str, RegretBound] = {
    "dp-bandit-ldp": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _BitPlays(T, _first_bits, sp.coth(epsilon / 2), Delta),
        definitions=((x, sp.log(T)),),
        source="this library: IMED on randomized bits",
        confidence=ConfidenceTheorem(
            radius=sp.coth(epsilon / 2) * sp.sqrt(x / (2 * n)),
            noise="bit",
            scale=sp.coth(epsilon / 2),
            feeds="all",
            counting="every value",
            index="evidence",
            lemma="evidence",
            failure=None,
            first=_first_bits,
        ),
        levels=False,
    ),
}
"""Regret bounds of K-armed bandits by the registered name."""
