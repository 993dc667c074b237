"""Regret theorems of K-armed bandits by indexed minimum empirical divergence, at every T.

Let ``n_1 = f, n_2, ...`` be an arm's counts after its releases, the same for every arm, and ``C_j(D)`` the exponent of
the sub-gamma tail of n_j values and j noises: ``C = (n D)^2 / (V (1 + h + sqrt(1 + 2 h)))``, ``V = n / 4 + s j`` with s
the variance proxy of a noise and ``h = b n D / V``. What speaks against a mean, I(u), is at least ``C_j(u - p)`` at ``y
<= n p``: Chernoff's exponent is, by Hoeffding's lemma and ``-ln(1 - b^2 s^2) <= b^2 s^2 / (1 - b s)``, and that of the
exact law of the noises is no smaller (`algorithms.estimates.laplace_sums`). The index has ``J(u) = I(u) - min(Z, 8)``,
Z what y says against every mean (`noise_exponent`): I(0) with Chernoff's exponents, ``-ln P(|L| >= -y)`` with the exact
law of the noises' sum L, and 0 where ``y >= 0``. J is at most I, nondecreasing in u as I is, and nonincreasing in y, as
``I(u) - I(0)`` is for the reason that is given for ``I(u) - I(w)`` in (B).

**Theorem** (IMED on accumulated batches). For every ``0 < z < Delta / 2``, the expected number of plays of an arm of
gap Delta is at most

``max{f, n_(k+1)} + sum_j (n_(j+1) - n_j) e^-C_j(z) + a sum_j B_j e^-C_j(z)``,
``B_j = (n_(j+1) + 1) (M(v_T) - M(v_j) + 1[v_j = 0])``, ``M(v) = t^0.4 + t^1.4 / (5.6 pi)`` of ``t = 1 + 4 pi v``,

where n_k is the largest count with ``H_k(C_k(Delta - 2 z) - o) <= ln T``; a = 1 and o = 0 with Chernoff's exponents; a
= 2 and o = 0.05 with those of the exact law, which are computed to that as far as 28, and J so as far as 20; beyond
about e^20 rounds the theorem says T. ``H(v_T) = ln T``, ``H(v_j) = ln(max{f, n_(k+1)} / (n_(j+1) + 1))``, and v_j is 0
where that is below 0; in both w is 1.

*Proof.* Let mu be the arm's mean, mu* the largest, ``u = max_k y_k / n_k`` clipped to [0, 1], ``H(J_i(u)) + ln n_i``
the indices, ``H(v) = v + 0.4 w ln(1 + 4 pi v)`` with w in [0, 1] of the arm's counts. (A) Plays while ``u >= mu* - z``.
An arm of largest y / n, which is above 0, has J = 0, so the arm chosen has ``H(J(u)) <= ln T``, and J is nondecreasing
in u: ``H(J(mu* - z)) <= ln T``. If ``y <= n (mu + z)``, then J is there at least what it is at ``y = n (mu + z)``,
where it is I as that is not below 0: ``H_j(C_j(Delta - 2 z) - o) <= ln T``, so the count is n_k at most, and such
plays, with all before, are ``max{f, n_(k+1)}`` at most. Else, after release j, of probability ``e^-C_j(z)`` at most,
the next batch follows: the second term.

(B) Plays while ``u < mu* - z``. Let the best arm be at its release j: ``y < n_j (mu* - z)``; let ``G = I(mu* - z)`` and
``F = I(mu*)`` of its data. The arm chosen has ``ln n <= H(J) + ln n_j <= H(G) + ln n_j``, H with the best arm's w, so
while the best arm stays there the other one is chosen at counts up to ``n_j e^H(G)``. Shares fall, so a batch that
begins at n_j or later makes a count at most ``n_(j+1) / n_j`` times as large, but for rounding by 1: it is played
``(n_(j+1) + 1) min(e^H(G), T)`` times at most, and up to ``max{f, n_(k+1)}`` of these are counted already. As y falls F
grows at least as fast as G: with Chernoff's exponents because their slopes are the maximising s, which is larger for
the larger u; with the exact law because ``Q_(mu*)(y) / Q_(mu* - z)(y)`` falls as y does. Where y comes to ``n_j (mu* -
z)``, F is ``c = C_j(z)`` at least, and G is 0, or ``ln 2`` at most with the exact law: half of all sums of noises are
negative. So ``P(G > v) <= P(F >= v + c - ln a) <= a e^(-v - c)``, and what is not counted is in the mean, H with w = 1,
which is the largest, at most ``n_(j+1) + 1`` times the integral of ``H'(v) e^H(v) a e^(-v - c)`` from v_j to v_T, and
``e^-c`` more where it begins at 0: ``a B_j e^-c``, as ``H'(v) e^(H(v) - v) = (1 + 4 pi v)^0.4 + 1.6 pi (1 + 4 pi
v)^-0.6`` is the derivative of M. The best arm is at each release once: the third term. QED.

As T grows f does, so that the sums vanish, as z may. With the exponents' own divergences in place of C_j in (A), an arm
is played ``(1 + max(0.1, 1.5 / k)) ln(T) / d_eps`` times in the limit, k its batches by then: 2.5 where it needs little
more than its first, 1.25 where that is 12 times its first, and 1.1 from 45 times on.

Shuffled, a value is the bit that it was rounded to, of the same mean, and the noise of a batch that of random bits: its
log moment is at most that of normal noise of the deviation that the index counts (`ShuffledCounts`), which is all that
the proof asks of it.

On randomized bits there are no noises, gaps of the bits' means are ``tanh(epsilon / 2) Delta``, and batches are single
messages. The same proof, with ``H(2 nu (Delta - 2 z)^2) = ln T``, gives ``max{f, nu + 1} + sum_{n >= f} e^-C_n(z) + B
sum_{n >= f} (n + 1) e^-C_n(z)`` with ``C_n(D) = 2 n D^2``, w = 1/2 and ``B = M(v_T) - M(0) + 1``.

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
from algorithms.estimates.laplace_sums import FAR, OFF
from algorithms.estimates.shuffled_counts import NOISE
from algorithms.semi_bandits.dp_bandit import BIT_SHARE, EXCUSED, UNCOUNTED, DPBandit, sharpened
from algorithms.theory.confidence_theorem import ConfidenceTheorem, j, n, x
from algorithms.theory.regret_bound import T0, Delta, RegretBound, T, b, epsilon, mu, sigma
from mechanisms.arrays import FloatArray

_SHARES = np.linspace(0.02, 0.48, 47)
"""The values of z / Delta among which the least bound is taken."""


def _mass(v: FloatArray, share: float) -> FloatArray:
    """Return M(v), of derivative ``H'(v) e^(H(v) - v)``."""
    t, power = 1.0 + 4.0 * math.pi * v, UNCOUNTED * share
    return np.asarray(t**power + t ** (1.0 + power) / (4.0 * math.pi * (1.0 + power)))


def _inverse(index: FloatArray, share: float) -> FloatArray:
    """Return at most v with ``H(v) = index``: Newton's steps stay below, as H is concave."""
    v = np.zeros_like(index)
    for _ in range(8):
        slope = 1.0 + 4.0 * math.pi * UNCOUNTED * share / (1.0 + 4.0 * math.pi * v)
        v = np.maximum(v + (index - sharpened(v, share)) * (1.0 - 1e-12) / slope, 0.0)
    return v


def _behind(horizon: float, plays: FloatArray, counted: float, share: float = 1.0) -> FloatArray:
    """Return what is played of another arm while the best one looks bad, beyond what is counted, over ``a e^-c``.

    Parameters
    ----------
    horizon
        T.
    plays
        ``n_(j+1) + 1``, the plays where nothing speaks against the best arm.
    counted
        The plays that the first term counts.
    share
        w, or more.
    """
    most = _inverse(np.array([math.log(horizon)]), share) * (1.0 + 1e-9)
    short = np.maximum(np.log(counted / plays), 0.0)
    started = np.where(plays >= counted, 1.0, 0.0)
    passed = _mass(most, share) - _mass(_inverse(short, share), share)
    return np.asarray(plays * (np.maximum(passed, 0.0) + started))


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
    f = max(1, math.ceil(first))
    ends = released_counts(int(horizon), f, DPBandit.growth, DPBandit.falling)
    last = ends[-1] if ends else 0
    following = released_counts(4 * last + f, f, DPBandit.growth, DPBandit.falling)
    counts = np.array(ends, dtype=np.float64)
    later = np.array(following[1 : len(ends) + 1], dtype=np.float64)
    noises = np.arange(1.0, len(counts) + 1)
    variance = counts / 4 + proxy * noises
    exact = scale > 0

    def exponent(difference: float) -> FloatArray:
        moved = counts * difference
        h = scale * moved / variance
        return np.asarray(moved**2 / (variance * (1 + h + np.sqrt(1 + 2 * h))))

    plays, off, level = float(horizon), OFF if exact else 0.0, math.log(horizon)
    if exact and level + off > FAR - EXCUSED:
        return plays
    share = counts / 4 / variance if exact else 1.0
    for z in (_SHARES * gap).tolist():
        index = sharpened(np.maximum(exponent(gap - 2 * z) - off, 0.0), share)
        needed = float(later[index <= level].max(initial=0.0))
        rare = np.exp(-exponent(z))
        late = float(np.sum((later - counts) * rare))
        counted = max(f, needed)
        behind = (2 if exact else 1) * float(np.sum(_behind(horizon, later + 1, counted) * rare))
        plays = min(plays, counted + late + behind)
    return plays


def bit_plays(horizon: float, first: float, gain: float, gap: float) -> float:
    """Return the theorem's bound for randomized bits, with means that differ by gap / gain; at most T."""
    f, plays = max(1, math.ceil(first)), float(horizon)
    level = float(_inverse(np.array([math.log(horizon)]), BIT_SHARE)[0]) * (1.0 + 1e-9)
    longest = float(_behind(horizon, np.ones(1), 0.5, BIT_SHARE)[0])
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


_BatchPlays = implemented_function("BatchPlays", batch_plays)
_BitPlays = implemented_function("BitPlays", bit_plays)

_exponent = (x, sp.log(T))
_exact_exponent = (x, sp.log(T) + sp.Rational(str(OFF)))
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
        falling=DPBandit.falling,
        exact=noise == "Laplace",
    )


_first_laplace, _first_gaussian = b * _first_level, sigma * sp.sqrt(2 * _first_level)
_first_bits = sp.sqrt(_first_level)

BANDIT_BOUNDS: dict[str, RegretBound] = {
    "dp-bandit": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_laplace, 2 * b**2, b, Delta),
        definitions=((b, 1 / epsilon), _exact_exponent),
        source="this library: IMED on accumulated batches with Laplace noise",
        confidence=_batches("Laplace", _first_laplace),
        levels=False,
    ),
    "dp-bandit-gaussian": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_gaussian, sigma**2, 0, Delta),
        definitions=((sigma, 1 / mu), _exponent),
        source="this library: IMED on accumulated batches with Gaussian noise",
        confidence=_batches("Gaussian", _first_gaussian),
        levels=False,
    ),
    "dp-bandit-shuffle": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _BatchPlays(T, _first_gaussian, sigma**2, 0, Delta),
        definitions=((sigma, sp.Rational(NOISE.numerator, NOISE.denominator) / mu), _exponent),
        source="this library: IMED on accumulated batches of shuffled bits",
        confidence=_batches("below Gaussian", _first_gaussian),
        levels=False,
    ),
    "dp-bandit-ldp": RegretBound(
        family="bandit",
        constant=sp.S.Zero,
        per_arm=Delta * _BitPlays(T, _first_bits, sp.coth(epsilon / 2), Delta),
        definitions=(_exponent,),
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
