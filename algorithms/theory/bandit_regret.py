"""Regret theorems of K-armed bandits by indexed minimum empirical divergence, at every T.

Let g be the growth of batches, ``n_1 = f, n_2, ...`` an arm's counts after its releases, and ``C_j(D)`` the exponent
of the sub-gamma tail of n_j values and j noises: ``C = (n D)^2 / (V (1 + h + sqrt(1 + 2 h)))``, ``V = n / 4 + s j``
with s the variance proxy of a noise and ``h = b n D / V``. Chernoff's exponent I(u) at ``y <= n p`` is at least
``C_j(u - p)``, by Hoeffding's lemma and ``-ln(1 - b^2 s^2) <= b^2 s^2 / (1 - b s)``.

**Theorem** (IMED on accumulated batches). For every ``0 < z < Delta / 2``, the expected number of plays of an arm of
gap Delta is at most

``max{f, (1 + g) nu + 1} + sum_j (g n_j + 1) e^-C_j(z) + (1 + ln T) sum_j ((1 + g) n_j + 1) e^-C_j(z)``,

where nu is the largest n_j with ``C_j(Delta - 2 z) <= ln T``.

*Proof.* Let mu be the arm's mean, mu* the largest, ``u = max_k y_k / n_k`` clipped to [0, 1], ``I_i(u) + ln n_i`` the
indices. (A) Plays while ``u >= mu* - z``. An arm of largest y / n has I = 0, so the arm chosen has ``I(u) <= ln T``,
and I is nondecreasing in u: ``I(mu* - z) <= ln T``. If ``y <= n (mu + z)``, then ``C_j(Delta - 2 z) <= ln T``, so n
<= nu, and such plays, with all before, are ``max{f, (1 + g) nu + 1}`` at most. Else, after release j, of probability
``e^-C_j(z)`` at most, a batch of ``g n_j + 1`` at most follows: the second term.

(B) Plays while ``u < mu* - z``. Let the best arm be at its release j: ``y < n_j (mu* - z)``; let ``G = I(mu* - z)``
and ``F = I(mu*)`` of its data. The arm chosen has ``ln n <= G + ln n_j``, so while the best arm stays there the other
one is played ``((1 + g) n_j + 1) min(e^G, T)`` times at most. As y falls F grows at least as fast as G (their slopes
are the maximising s, which is larger for the larger u), and where ``y = n_j (mu* - z)``, G is 0 and ``F >= c =
C_j(z)``. So ``P(G > v) <= P(F > v + c) <= e^(-v - c)`` by Chernoff's inequality, and the mean of ``min(e^G, T)``
where ``y < n_j (mu* - z)`` is at most ``e^-c + int_0^(ln T) e^v e^(-v - c) dv = (1 + ln T) e^-c``. The best arm is at
each release once: the third term. QED.

Shuffled, a value is the bit that it was rounded to, of the same mean, and the noise of a batch that of random bits: its
log moment is at most that of normal noise of the deviation that the index counts (`ShuffledCounts`), which is all that
the proof asks of it.

On randomized bits there are no noises, gaps of the bits' means are ``tanh(epsilon / 2) Delta``, and batches are
single messages. The same proof gives ``max{f, nu + 1} + sum_{n >= f} e^-C_n(z) + (1 + ln T) sum_{n >= f} (n + 1)
e^-C_n(z)`` with ``C_n(D) = 2 n D^2``.

No index depends on T, and nothing in the proof on f: so a learner that is not told T, whose first batches are those of
another horizon T_0, has the theorem with its f at every T.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import sympy as sp
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.doubling_batches import released_counts
from algorithms.estimates.shuffled_counts import NOISE
from algorithms.semi_bandits.dp_bandit import DPBandit
from algorithms.theory.confidence_theorem import ConfidenceTheorem, j, n, x
from algorithms.theory.regret_bound import T0, Delta, RegretBound, T, b, epsilon, mu, sigma
from mechanisms.arrays import FloatArray

_SHARES = np.linspace(0.02, 0.48, 47)
"""The values of z / Delta among which the least bound is taken."""


def batch_plays(horizon: float, first: float, proxy: float, scale: float, gap: float) -> float:
    """Return the theorem's bound on the plays of an arm of some gap, and T at most.

    Parameters
    ----------
    horizon
        T.
    first
        The size of an arm's first batch before it is rounded up.
    proxy, scale
        s, and b or 0.
    gap
        Delta.
    """
    f, growth = max(1, math.ceil(first)), DPBandit.growth
    counts = np.array(released_counts(int(horizon), f, growth), dtype=np.float64)
    noises = np.arange(1.0, len(counts) + 1)
    variance = counts / 4 + proxy * noises

    def exponent(difference: float) -> FloatArray:
        moved = counts * difference
        h = scale * moved / variance
        return np.asarray(moved**2 / (variance * (1 + h + np.sqrt(1 + 2 * h))))

    plays = float(horizon)
    for z in (_SHARES * gap).tolist():
        allowed = counts[exponent(gap - 2 * z) <= math.log(horizon)]
        nu = float(allowed.max(initial=0.0))
        rare = np.exp(-exponent(z))
        late = float(np.sum((growth * counts + 1) * rare))
        behind = (1 + math.log(horizon)) * float(np.sum(((1 + growth) * counts + 1) * rare))
        plays = min(plays, max(f, (1 + growth) * nu + 1) + late + behind)
    return plays


def bit_plays(horizon: float, first: float, gain: float, gap: float) -> float:
    """Return the theorem's bound for randomized bits, whose means differ by gap / gain, and T at most."""
    f, plays = max(1, math.ceil(first)), float(horizon)
    for z in (_SHARES * gap / gain).tolist():
        nu = math.log(horizon) / (2 * (gap / gain - 2 * z) ** 2)
        share = math.exp(-2 * z * z)
        rest = -math.expm1(-2 * z * z)
        if rest == 0:  # the sums have more terms than there are numbers
            continue
        late = share**f / rest
        behind = (1 + math.log(horizon)) * share**f * ((f + 1) / rest + share / rest**2)
        plays = min(plays, max(f, nu + 1) + late + behind)
    return plays


_BatchPlays = implemented_function("BatchPlays", batch_plays)
_BitPlays = implemented_function("BitPlays", bit_plays)

_exponent = (x, sp.log(T))
_first_level = sp.log(T0)


def _batches(noise: Literal["Laplace", "Gaussian", "below Gaussian"], first: sp.Expr) -> ConfidenceTheorem:
    """Return the proof on accumulated batches: C_j(D) >= x where D is the radius of level x."""
    proxy, tail, scale = (2 * b**2, b * x, b) if noise == "Laplace" else (sigma**2, sp.S.Zero, sigma)
    return ConfidenceTheorem(
        radius=(sp.sqrt(2 * x * (n / 4 + proxy * j)) + tail) / n,
        noise=noise,
        scale=scale,
        feeds="all",
        counting="growing batches",
        index="evidence",
        lemma="evidence",
        failure=None,
        first=first,
        growth=DPBandit.growth,
    )


_first_laplace, _first_gaussian = b * _first_level, sigma * sp.sqrt(2 * _first_level)
_first_bits = sp.sqrt(_first_level)

BANDIT_BOUNDS: dict[str, RegretBound] = {
    "dp-bandit": RegretBound(
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_laplace, 2 * b**2, b, Delta),
        definitions=((b, 1 / epsilon), _exponent),
        source="this library: IMED on accumulated batches with Laplace noise",
        confidence=_batches("Laplace", _first_laplace),
        levels=False,
    ),
    "dp-bandit-gaussian": RegretBound(
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_gaussian, sigma**2, 0, Delta),
        definitions=((sigma, 1 / mu), _exponent),
        source="this library: IMED on accumulated batches with Gaussian noise",
        confidence=_batches("Gaussian", _first_gaussian),
        levels=False,
    ),
    "dp-bandit-shuffle": RegretBound(
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_gaussian, sigma**2, 0, Delta),
        definitions=((sigma, sp.Rational(NOISE.numerator, NOISE.denominator) / mu), _exponent),
        source="this library: IMED on accumulated batches of shuffled bits",
        confidence=_batches("below Gaussian", _first_gaussian),
        levels=False,
    ),
    "dp-bandit-ldp": RegretBound(
        constant=sp.S.Zero,
        per_arm=Delta * _BitPlays(T, _first_bits, sp.coth(epsilon / 2), Delta),
        definitions=(_exponent,),
        source="this library: IMED on randomized bits",
        confidence=ConfidenceTheorem(
            radius=sp.coth(epsilon / 2) * sp.sqrt(x / (2 * n)),
            noise="bit",
            scale=sp.S.One,
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
