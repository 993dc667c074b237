"""Regret theorems of level-free indices, for K arms, sets, matroids and monotone rewards, also of randomized bits.

A learner has indices ``U = max {u: H(I(u)) <= ln+(tau / n)}`` (`algorithms.estimates.level_free`) of all arms, computed
again at every release, 1 before an arm's first; plays the oracle's answer to them; and feeds the q arms played of least
count. An arm's counts after its releases are ``n_1 = f, n_(j+1) = n_j + max(1, ceil(s_j n_j))``, ``s_j = max(g, phi /
j) <= 1.5`` with ``phi >= 1``, or ``s_j = g`` and ``f = 1``: public, and the same for every arm. Let

- ``C_j(d)`` be the exponent of the sub-gamma tail of n_j values and j noises: ``(n d)^2 / (V (1 + h + sqrt(1 + 2
  h)))``, ``V = n / 4 + s j``, ``h = b n d / V``, s the variance proxy of a noise. ``I >= C_j(u - p)`` at ``y <= n p``,
  and ``P(y > n (p + z)) <= e^-C_j(z)`` at a mean of p;
- ``v_j = H^-1(ln(T / n_j))``, and ``v_j(t) = H^-1(ln+((t - 1) / n_(j+1)))``.

**Lemma 1** (stale clock). In a round t in which some arm has ``n_j >= f`` released values, ``t <= (1 + s_j) tau + 1``.

*Proof.* Since the last release nothing has changed, so the fed arms are the same, and no fed arm i's batch was full
before t: ``t - tau <= B(n_i)``, the size of its open batch. B is nondecreasing in the count, and B >= f: ``s_j n_j``
is, as ``(1 + phi / j) phi / (j + 1) >= phi / j``. If ``n_i <= n_j``, then ``B(n_i) <= s_j n_j + 1 <= s_j tau + 1``, as
n_j values are of n_j completed rounds. Else ``s_i <= s_j``, and ``B(n_i) <= s_i n_i + 1 <= s_j tau + 1``. QED

**Lemma 2** (rounds below). For an arm k of mean w, and z > 0, the expected number of rounds until T with ``U_k < w -
z`` is at most ``W(z)``, the lesser of ``int_0^T min(1, sum_j e^(-v_j(t) - C_j(z))) dt`` and ``sum_j (n_(j+1) + 1) mu_j
e^-C_j(z)``, over the counts up to T, whatever is played; ``mu_j = 1 + int_0^v_j H'(v) e^(H(v) - v) dv = t^c + (t^(1 +
c) - 1) / (4 pi (1 + c))``, ``t = 1 + 4 pi v_j``.

*Proof.* At release j let ``G = I(w - z)`` and ``F = I(w)``. Where ``U_k < w - z`` that mean does not qualify, so ``y <
n_j (w - z)`` and ``tau < n_j e^H(G)``; by Lemma 1 the round is at most ``(1 + s_j) tau + 1 < n_(j+1) e^H(G) + 1``. So
if there are more than t such rounds, then ``y < n_j (w - z)`` and ``G >= v_j(t)`` at some release j. ``F - G`` falls in
y, as slopes are the maximising s, which is larger for the larger mean; so it is ``C_j(z)`` at least where ``y <= n_j (w
- z)``. As ``P(F >= x) <= e^-x``, this has probability ``e^(-v_j(t) - C_j(z))`` at most. As tau is at most T, release j
has at most ``(n_(j+1) + 1) min(e^H(G), T / n_j)`` of them; over ``y < n_j (w - z)``, where ``G >= v`` has probability
``e^(-v - C_j(z))`` at most, the mean of the minimum is ``mu_j e^-C_j(z)`` at most. QED

So where ``g_t`` are the gaps of rounds, those in ``[D, D']`` of rounds with ``U_k < w - theta g_t`` sum to ``V(D, D') =
D W(theta D) + int_D^D' W(theta u) du`` at most in expectation.

An arm's computed index is at most ``y / n_j + rho_j``, ``rho_j = (sqrt(2 v_j V) + b v_j) / n_j``, as ``ln(tau / n_j) <=
ln(T / n_j)``. Let ``a_j(u) = e^-C_j(u - rho_j)``, and 1 where ``u <= rho_j``; ``a_0 = 1`` before the first release,
where ``n_0 = 0``.

**Lemma 3** (rounds above). Let u > 0. At a release j an arm e has ``U_e >= w_e + u`` with probability ``a_j(u)`` at
most. So the expected number of rounds that feed e where ``U_e >= w_e + u`` is at most ``A(u) = f + sum_j (n_(j+1) -
n_j) a_j(u)``. With another arm i and any k, the expected number of rounds that feed i where ``U_e >= w_e + u`` for an e
that is at a release j > k, with ``n_i <= n_e``, is at most ``sum_(j > k) n_(j+1) a_j(u)``.

*Proof.* ``U_e >= w_e + u > 0`` needs ``y_e >= n_j (w_e + u - rho_j)``. While e is at release j it is fed ``n_(j+1) -
n_j`` times, and i, while it has n_j values released at most, ``n_(j+1)`` times. QED

So where gaps ``g_t`` in ``[D, D']`` are counted in rounds of such a number R(u), R falling, for every u of those that
have ``g_t >= u``, they sum to ``D R(D) + int_D^D' R(u) du`` at most in expectation; write ``S(D, D'; R)``.

**Theorem 1** (K arms, q = 1). For all theta in (0, 1) regret is at most ``sum_i Delta_i A((1 - theta) Delta_i) +
V(Delta_min, Delta_max)``.

*Proof.* Rounds with ``U_1 < mu* - theta Delta_i``, i played, are in V. Else ``U_i >= U_1 >= mu_i + (1 - theta)
Delta_i``, and i is fed. QED

**Theorem 2** (sets and matroids). With L arms (no loops), ``m = max(0, min(K - q, L - K))`` and ``N(u) = min_k (m
n_(k+1) + (L - K) sum_(j > k) n_(j+1) a_j((1 - theta) u))`` regret is at most

``sum_e S(Delta_e, Delta_e^max; A((1 - theta) .)) + (L / q) S(Delta, Delta^max; N) + sum_k V(Delta_k, Delta_k^max)``

over the arms e outside of the best basis, and k in it; Delta, Delta^max the least and largest gap of one arm and
another.

*Proof.* Let ``d_k = (w_k - U_k)+``. Brualdi's bijection rho from what is played outside of the best basis into it has
``U(rho(e)) <= U(e)``. A round's gap is the sum of all ``g_e = w(rho(e)) - w(e)``, at most that of those above 0. Either
``d_rho(e) > theta g_e``: V of ``k = rho(e)``, which is so of one e in a round. Or ``U_e >= w_e + (1 - theta) g_e``: if
e is fed, Lemma 3 counts it. If not, the q arms i that are fed have no more values released, and are charged ``g_e / q``
each. For every u and k there are m such e at most in a round that have ``g_e >= u`` and are at a release up to k; then
i is, too, which is so in ``n_(k+1)`` rounds that feed it. Lemma 3 counts the rounds of each of the L - K others. No gap
is above Delta^max. QED

**Theorem 3** (monotone reward, exact oracle). With B steep in the largest error, at most K arms in a best super arm,
Delta_i the least gap of a super arm that has arm i, and ``N(u) = min_k (n_(k+1) + L sum_(j > k) n_(j+1) a_j((1 - theta)
u))``, regret is at most ``sum_i B S(Delta_i / B, R_max / B; N) + K min(B V(Delta / B, R_max / B), (2 B_1 / theta)
int_a^1 W(z) dz)``, ``a = theta Delta / (2 K B_1)``.

*Proof.* A round's gap is at most ``B max d + B max (U - w)`` over the best super arm and the one played, and at most
``B_1 sum d + B max (U - w)``. If the second term is ``(1 - theta)`` of it at least, some e that is played has ``U_e >=
w_e + (1 - theta) gap / B``. The arm i played of least count is fed, has ``n_i <= n_e``, and is charged: in rounds of
gap B u or more ``n_(k+1)`` times with e at a release up to k, and else as Lemma 3 says of each e. Otherwise ``B max d >
theta gap``: V of some k. Or ``B_1 sum d > theta gap``: with ``a_t = theta gap / (2 K B_1) >= a``, ``B_1 sum (d_k -
a_t)+ >= theta gap / 2``, and ``E sum_t (d_k - a)+ = int_a W(z) dz``. QED

**Theorem 4** (the same, for any gaps). With at most K arms in a super arm, ``r_0 = f``, ``r_j = n_(j+1) - n_j``,
``b_0 = K - q`` and ``b_j(u) = min(K - q, L a_j(u))``, ``m_j = rho_j - h`` and ``o_j = (m_j + sqrt(m_j^2 + V / n_j^2)) /
2``, ``o_0 = 1 - h``, regret is for every h in [0, 1] at most

``B_1 (K int_0^1 min(T, W(z)) dz + q T h + L sum_j r_j o_j + sum_j L r_j int_0^1 b_j(u) du)``

over j >= 0, where of the rounds ``L r_0, L r_1, ...`` of the last sum the first T count.

*Proof.* A round's gap is at most B_1 times ``sum d`` over the best super arm and ``sum (U - w)+`` over the one played.
``E sum_t d_k = int_0^1 W(z) dz``. No U - w is above 1. At release j it is at most what the clock T makes of it, ``y /
n_j + rho_j - w``: less h, of mean m_j and variance ``V / n_j^2`` at most. The positive part of X is ``(X + |X|) / 2``,
so in expectation that is o_j at most, for each of the r_j rounds that feed the arm meanwhile; and at most q arms are
fed in a round. Let j be the last release of an arm that is fed: in at most ``L r_j`` rounds, as each feeds an arm that
is there. The others that are played, at most K - q, are at releases ``i >= j``, so that theirs sum to ``X_j = int
min(K - q, number of e with U_e >= w_e + u at such an i and the clock T) du`` at most. ``rho_i`` and ``V / n_i`` fall in
i, so the supermartingale of which ``e^-C_j`` is Markov's bound at j is no less at any such i: ``U_e >= w_e + u`` at one
of them with probability ``a_j(u)`` at most (Ville), and ``E X_j <= int b_j``. X_j falls in j: in T rounds they sum to
most where the first j come first. QED

As T grows f does, so that W(z) vanishes for every z, and theta and z may. With the exponents' own divergences in place
of C_j one of K arms is played ``(1 + max(0.1, 1.5 / k)) ln(T) / d_eps`` times in the limit, k its batches by then,
where no epsilon-private learner of Bernoulli rewards plays it less than ``ln(T) / d_eps`` times (Azize, Wu, Honda,
Orabona, Ito & Basu 2025).

No index depends on T, and nothing in the proofs on f: a learner without a horizon, with the first batches of another
horizon, has the theorems with its f at every T.

**Late feedback**, on at most W rounds at a time, adds W to t in Lemma 1, and so W to W(z) at most.
In the proofs let the q arms of least count when a round is *played* be charged. One that has no release until the round
is observed is fed by it, as counts of others only grow; and when it has one, at most W of its rounds are on their way.
So W is added to f, ``n_(j+1) - n_j`` and r_j, and ``(j + 1) W`` to ``n_(j+1)``, in A, N and Theorem 4.

**An oracle of a share.** Where the oracle earns ``alpha`` of the most for the weights that it is asked with, at least
(coverage), regret is against alpha of the best mean reward: a round's is at most ``alpha`` times the first term of the
gap, of the best super arm, and the second. So Theorems 3 and 4 hold of it.

**Randomized bits.** A bit about an arm of mean w is 1 with probability ``1/2 + (w - 1/2) / G``, G the gain; a message
has bits of q arms. Batches of messages have no further noise (s = b = 0, f = 1, ``s_j = g``), and ``U = 1/2 + (P - 1/2)
G``, P the index of the bits' mean. Means that differ by z have bits' means that differ by ``z / G``. So the theorems
hold with ``W(z / G)`` for ``W(z)``, ``C_j(z / G)`` for ``C_j(z)``, ``G rho_j`` for ``rho_j`` and ``G^2 V`` in o_j: that
bits of one message depend on each other changes nothing, as only probabilities and means are added up.

Besides, the ones of n_j bits are binomial, of a chance in ``[c, 1 - c]``, ``c = 1/2 - 1 / (2 G)``. So in W(z / G), with
``v = v_j(t)``, it may say ``Phi(-sqrt(2 (v - l)))`` for ``e^-v`` where that is less and v > l, ``l = logit(c) - logit(c
- d)`` with ``d = sqrt(v / (2 n_j)) + 1 / n_j < c``.

*Proof.* With ``n = n_j``, let p be the bits' chance and ``p' = p - z / G`` that of ``w - z``, at least c where an index
can be below. As many ones as ``i <= n p'`` are at most ``e^(-n kl(p', p)) <= e^-C_j(z / G)`` times as likely at p as at
p', for the ratio rises in i. It remains that at p' there are at most k ones with probability ``Phi(-sqrt(2 (v - l)))``
at most, k < n p' the largest number with ``F(k) = n kl(k / n, p') >= v``. Either F(k + 1) is below v or k + 1 above n
p': so ``k / n > p' - d`` (Pinsker). F is convex, of slope ``logit(i / n) - logit(p')``: at k it is -l at least, as the
slope of logit is convex and symmetric around 1/2, so that logit rises most over the outermost interval of length d. So
k + 1 is not above n p', as then F(k) would be at most l; and ``F(k + 1) >= v - l``. In that case the probability is at
most ``Phi(-sqrt(2 F(k + 1)))`` (Zubkov & Serov 2013). QED
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import sympy as sp
from scipy.special import logit, ndtr
from sympy.utilities.lambdify import implemented_function

from algorithms.estimates.doubling_batches import released_counts
from algorithms.estimates.level_free import UNCOUNTED, unsharpened
from algorithms.estimates.randomized_bits import bits_of_one_message
from algorithms.estimates.shuffled_counts import NOISE
from algorithms.problems import FailingTopK, Matroid, TopK
from algorithms.semi_bandits.cucb_batch import LevelFreeLearner
from algorithms.semi_bandits.cucb_ldp_bit import CUCBLDPBit
from algorithms.theory.confidence_theorem import ConfidenceTheorem, j, n, x
from algorithms.theory.regret_bound import (
    B1,
    T0,
    B,
    Delta,
    Delta_0,
    Delta_1,
    Delta_max,
    Instance,
    K,
    L,
    R_max,
    RegretBound,
    T,
    Tq,
    b,
    epsilon,
    mu,
    sigma,
    theta,
)
from mechanisms.arrays import FloatArray

_PIECES = 200  # of an integral
_DISTANCES = 1_000
_ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class ReleaseCounts:
    """The counts of an arm after its releases in T rounds, and the sums of the theorems over them.

    Attributes
    ----------
    horizon
        T.
    first
        f before it is rounded up.
    proxy, scale
        s, and b or 0.
    gain, falling
        G of randomized bits, else 1; and phi, 0 where ``s_j = g``.
    share, growth
        c and g.
    """

    horizon: float
    first: float
    proxy: float
    scale: float
    gain: float = 1.0
    falling: float = LevelFreeLearner.falling
    share: float = UNCOUNTED
    growth: float = LevelFreeLearner.growth

    @functools.cached_property
    def size(self) -> int:
        """The size of a first batch, f."""
        return max(1, math.ceil(self.first))

    @functools.cached_property
    def counts(self) -> FloatArray:
        """The counts up to T."""
        return self._ends[: int(np.searchsorted(self._ends, self.horizon, side="right"))]

    @functools.cached_property
    def later(self) -> FloatArray:
        """For each count the next one."""
        return self._ends[1 : self.counts.size + 1]

    @functools.cached_property
    def _ends(self) -> FloatArray:
        longest = int(4 * self.horizon) + 4 * self.size
        return np.array(released_counts(longest, self.size, self.growth, self.falling), np.float64)

    @functools.cached_property
    def levels(self) -> FloatArray:
        """``H^-1(ln(T / n))`` for each count, or hardly more."""
        return unsharpened(np.log(self.horizon / self.counts), self.share) * _ROUNDED

    @functools.cached_property
    def widths(self) -> FloatArray:
        """``G rho_j`` for each count."""
        return self.width(self.levels)

    def width(self, level: FloatArray) -> FloatArray:
        """Return G times the distance at which ``C_j`` is a level, for each count."""
        spread = np.sqrt(2 * level * self._variance) + self.scale * level
        return np.asarray(self.gain * spread / self.counts)

    @functools.cached_property
    def _variance(self) -> FloatArray:
        """V for each count."""
        return self.counts / 4 + self.proxy * np.arange(1.0, self.counts.size + 1)

    def exponent(self, distance: FloatArray) -> FloatArray:
        """Return ``C_j(d / G)`` of distances that have a column for each count, or one for all."""
        moved = distance / self.gain * self.counts
        h = self.scale * moved / self._variance
        return np.asarray(moved**2 / (self._variance * (1 + h + np.sqrt(1 + 2 * h))))

    def rejection_chance(self, level: FloatArray, count: FloatArray) -> FloatArray:
        """Return ``e^-v``, or less where the counts are of randomized bits: a bound on how likely so few are ones.

        Parameters
        ----------
        level
            v, with which they reject their own chance at least.
        count
            n_j, of a shape that is broadcast to that of `level`.
        """
        chance = 0.5 - 0.5 / self.gain
        lower = chance - np.sqrt(level / (2 * count)) - 1 / count
        likely, left = np.exp(-level), np.full_like(level, -1.0)
        left[lower > 0] = level[lower > 0] - logit(chance) + logit(lower[lower > 0])
        likely[left > 0] = np.minimum(likely[left > 0], ndtr(-np.sqrt(2 * left[left > 0])))
        return likely

    @functools.cached_property
    def _rare(self) -> tuple[FloatArray, FloatArray]:
        """Lengths of pieces of [0, T], and at the left end t of each ``e^-v_j(t)``, or less: shape (counts, pieces)."""
        ends = np.concatenate([[0.0], np.geomspace(1.0, self.horizon, _PIECES + 1)])
        late = np.log(np.maximum((ends[:-1] - 1) / self.later[:, np.newaxis], 1.0))
        level = unsharpened(late, self.share)
        return np.diff(ends), self.rejection_chance(level, self.counts[:, np.newaxis])

    @functools.cached_property
    def _below(self) -> tuple[FloatArray, FloatArray]:
        """Distances z, and ``W(z / G)`` of each."""
        z, (lengths, rare) = np.geomspace(1.0 / self.horizon, 1.0, _DISTANCES), self._rare
        some = np.minimum(np.exp(-self.exponent(z[:, np.newaxis])) @ rare, 1.0) @ lengths
        return z, np.asarray(some)

    def rounds_below(self, distance: FloatArray) -> FloatArray:
        """Return ``W(z / G)``, or hardly more: the lesser of both bounds.

        The integral is that of the next smaller one of a thousand distances, T below 1 / T.
        """
        (z, rounds), t, c = self._below, 1 + 4 * math.pi * self.levels, self.share
        each = (self.later + 1) * (t**c + (t ** (1 + c) - 1) / (4 * math.pi * (1 + c)))
        known = np.concatenate([[self.horizon], rounds])[np.searchsorted(z, distance, side="right")]
        return np.asarray(np.minimum(known, np.exp(-self.exponent(distance[:, np.newaxis])) @ each))

    def above(self, u: FloatArray) -> FloatArray:
        """Return ``a_j(u)``, shape (values of u, counts)."""
        return np.exp(-self.exponent(np.maximum(u[:, np.newaxis] - self.widths, 0.0)))

    def rounds_fed(self, u: FloatArray) -> FloatArray:
        """Return ``A(u)``, at most T."""
        return np.asarray(np.minimum(self.size + self.above(u) @ (self.later - self.counts), self.horizon))

    def rounds_charged(self, u: FloatArray, few: float, many: float) -> FloatArray:
        """Return the least over k of ``few n_(k+1) + many sum_(j > k) n_(j+1) a_j(u)``, at most T for each of few."""
        beyond = np.cumsum((self.above(u) * self.later)[:, ::-1], axis=1)[:, ::-1]
        beyond = np.concatenate([beyond, np.zeros((u.size, 1))], axis=1)
        following = np.concatenate([[self.size], self.later])
        return np.asarray(np.minimum((few * following + many * beyond).min(axis=1), few * self.horizon))

    def own_charge(self, low: float, high: float, theta: float) -> float:
        """Return S of A for gaps from low to high."""
        return _layers(low, high, lambda u: self.rounds_fed((1 - theta) * u))

    def foreign_charge(self, few: float, many: float, low: float, high: float, theta: float) -> float:
        """Return S of N for gaps from low to high."""
        return _layers(low, high, lambda u: self.rounds_charged((1 - theta) * u, few, many))

    def behind(self, low: float, high: float, theta: float) -> float:
        """Return V of gaps from low to high."""
        return _layers(low, high, lambda u: self.rounds_below(theta * u))

    def gap_free(self, size: float, arms: float, few: float) -> float:
        """Return the bound of Theorem 4, over B_1, for numbers of arms played at once, in all, and fed."""
        low = 1.0 / self.horizon  # below it, integrands are taken for their largest value
        u, pieces = _pieces(low, 1.0)
        h = np.concatenate([[0.0], u])[:, np.newaxis]
        ends = np.concatenate([[0.0, self.size], self.later])
        rounds, of_all = (np.diff(np.minimum(many * ends, self.horizon)) for many in (1.0, arms))
        mean = self.widths - h
        over = (mean + np.hypot(mean, self.gain * np.sqrt(self._variance) / self.counts)) / 2
        fed = few * self.horizon * h[:, 0] + arms * (np.concatenate([1 - h, over], axis=1) @ rounds)
        unfed = np.minimum(size - few, arms * self.above(u))
        others = np.concatenate([[size - few], low * (size - few) + pieces @ unfed])
        return _ROUNDED * float(size * (1.0 + self.shortfall(low)) + fed.min() + of_all @ others)

    def shortfall(self, least: float) -> float:
        """Return ``int_a^1 W(z) dz``, a the least."""
        return _integral(least, 1.0, self.rounds_below)


@functools.lru_cache(maxsize=256)
def _releases(*law: float) -> ReleaseCounts:
    return ReleaseCounts(*law)


def _pieces(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Return the left ends of an integral's pieces, and their lengths; none if it is empty."""
    u = low * max(high / low, 1.0) ** np.linspace(0, 1, _PIECES + 1)
    return u[:-1], np.diff(u)


def _integral(low: float, high: float, falling: Callable[[FloatArray], FloatArray]) -> float:
    """Return ``int_D^D' R(u) du`` of an R that falls, or hardly more."""
    u, pieces = _pieces(low, high)
    return float(pieces @ falling(u))


def _layers(low: float, high: float, falling: Callable[[FloatArray], FloatArray]) -> float:
    """Return ``D R(D) + int_D^D' R(u) du``, or hardly more."""
    return low * float(falling(np.array([low]))[0]) + _integral(low, high, falling)


_Fed = implemented_function("Fed", lambda *law: _releases(*law[:6]).own_charge(*law[6:]))
_Charged = implemented_function("Charged", lambda *law: _releases(*law[:6]).foreign_charge(*law[6:]))
_Behind = implemented_function("Behind", lambda *law: _releases(*law[:6]).behind(*law[6:]))
_GapFree = implemented_function("GapFree", lambda *law: _releases(*law[:6]).gap_free(*law[6:]))
_Shortfall = implemented_function("Shortfall", lambda *law: _releases(*law[:6]).shortfall(*law[6:]))
_Releases = implemented_function(
    "Releases",
    lambda horizon, first, falling: float(
        max(1, _releases(horizon, first, 0.0, 0.0, 1.0, falling).counts.size)
    ),
)

_Bits = implemented_function("Bits", lambda epsilon, size: bits_of_one_message(float(epsilon), int(size)))

_Noise = Literal["none", "bit", "Laplace", "Gaussian", "below Gaussian"]

# A message of randomized bits is about q arms; 1/2 + (Y - 1/2) g is unbiased for each (`randomized_bits`).
q, g = sp.symbols("q g", positive=True)
_bits = (
    (q, _Bits(epsilon, K)),
    (g, 1 + 2**q * sp.exp(-epsilon) / (1 - sp.exp(-epsilon))),
)
_THETAS = tuple(np.linspace(0.05, 0.9, 35).tolist())
"""Values of theta, of which the one with the least bound is taken."""


def _exchanged(instance: Instance) -> bool:
    """True if elements of a super arm are exchanged one by one, as those of a matroid's bases are."""
    return isinstance(instance.problem.structure, TopK | Matroid)  # type: ignore[union-attr]


def _not_exchanged(instance: Instance) -> bool:
    """True if the structure is no matroid and no top-k, whether or not the oracle fails."""
    return not isinstance(instance.problem.structure, TopK | FailingTopK | Matroid)  # type: ignore[union-attr]


@dataclass(frozen=True)
class _Form:
    """A learner's noise, and how many arms it feeds."""

    noise: _Noise
    few: sp.Expr
    deviation: sp.Expr

    @property
    def scale(self) -> sp.Expr:
        """The scale of Laplace noise b, the deviation sigma of noise at or below normal, or the gain of bits g."""
        return {"none": sp.S.Zero, "bit": g, "Laplace": b}.get(self.noise, sigma)

    @property
    def first(self) -> sp.Expr:
        """The size of a first batch, to be rounded up."""
        if self.noise in ("none", "bit"):
            return sp.S.One
        logarithm = sp.log(T0)
        return b * logarithm if self.noise == "Laplace" else sigma * sp.sqrt(2 * logarithm)

    @property
    def tail(self) -> tuple[sp.Expr, sp.Expr]:
        """The variance proxy of a noise, and b or 0."""
        if self.noise in ("none", "bit"):
            return sp.S.Zero, sp.S.Zero
        return (2 * b**2, b) if self.noise == "Laplace" else (sigma**2, sp.S.Zero)

    @property
    def falling(self) -> float:
        """Phi."""
        return CUCBLDPBit.falling if self.noise == "bit" else LevelFreeLearner.falling

    @property
    def law(self) -> tuple[sp.Expr, ...]:
        """T, f, the tail of a noise, G and phi."""
        gain = g if self.noise == "bit" else sp.S.One
        return (T, self.first, *self.tail, gain, sp.Float(self.falling))

    @property
    def definitions(self) -> tuple[tuple[sp.Symbol, sp.Expr], ...]:
        """Definitions of b, sigma, or q and g; of x, at which all estimates are within their radii but for 1 / T."""
        releases = _Releases(T, self.first, sp.Float(self.falling))
        own = {"none": (), "bit": _bits}.get(self.noise, ((self.scale, self.deviation),))
        return (*own, (x, sp.log(L * releases * T)))

    def confidence(self, lemma: Literal["exchange", "B_inf"]) -> ConfidenceTheorem:
        """Return the statements of the proofs, with the lemma of either."""
        proxy, scale = self.tail
        gain = self.law[4]
        return ConfidenceTheorem(
            radius=gain * (sp.sqrt(2 * x * (n / 4 + proxy * j)) + scale * x) / n,
            noise=self.noise,
            scale=self.scale,
            feeds="least",
            few=self.few,
            counting="growing batches",
            first=self.first,
            growth=LevelFreeLearner.growth,
            falling=self.falling,
            index="level-free",
            lemma=lemma,
            failure=1 / T,
        )


def _theorem(
    form: _Form, source: str, lemma: Literal["exchange", "B_inf"] = "exchange"
) -> functools.partial[RegretBound]:
    """Return the maker of a bound, with a form's confidence as its proof."""
    return functools.partial(
        RegretBound,
        definitions=form.definitions,
        source=f"this library: level-free indices on growing batches ({source})",
        confidence=form.confidence(lemma),
        levels=False,
    )


def _one_arm(noise: _Noise, deviation: sp.Expr) -> RegretBound:
    """Return Theorem 1."""
    form = _Form(noise, q if noise == "bit" else sp.S.One, deviation)
    return _theorem(form, "Theorem 1")(
        family="bandit",
        shares=_THETAS,
        constant=_Behind(*form.law, Delta_0, Delta_1, theta),
        per_arm=_Fed(*form.law, Delta, Delta, theta),
    )


def _super_arms(form: _Form, elsewhere: _Form) -> RegretBound:
    """Return Theorem 2, with Theorem 3 elsewhere."""
    unfed = sp.Max(0, sp.Min(K - form.few, L - K))
    by_arm = B * _Behind(*elsewhere.law, Delta_0 / B, R_max / B, theta)
    least = theta * Delta_0 / (2 * K * B1)
    by_sum = 2 * B1 / theta * _Shortfall(*elsewhere.law, least)
    return _theorem(form, "Theorem 2: bijective exchange")(
        family="semi-bandit",
        shares=_THETAS,
        regime="sets of K arms and matroids; every epsilon > 0 and T >= 1",
        applies=_exchanged,
        constant=L / form.few * _Charged(*form.law, unfed, sp.Max(0, L - K), Delta_0, Delta_1, theta),
        per_arm=_Fed(*form.law, Delta, Delta_max, theta),
        per_optimal=_Behind(*form.law, Delta, Delta_max, theta),
        elsewhere=_theorem(
            elsewhere,
            "Theorem 3: the least-counted arm is charged; Theorem 4: overestimates are added up",
            "B_inf",
        )(
            family="semi-bandit",
            shares=_THETAS,
            regime="every structure but sets of K arms and matroids; every epsilon > 0 and T >= 1",
            applies=_not_exchanged,
            constant=K * sp.Min(by_arm, by_sum),
            per_arm=sp.S.Zero,
            per_member=B * _Charged(*elsewhere.law, sp.S.One, L, Delta / B, R_max / B, theta),
            gap_free=B1 * _GapFree(*elsewhere.law, K, L, elsewhere.few),
        ),
    )


_few = sp.Min(K, sp.ceiling(epsilon / 4))
_few_elsewhere = sp.Min(K, sp.ceiling(epsilon * Tq ** sp.Rational(2, 5) / 36))
_normal = _Form("Gaussian", K, sp.sqrt(K) / mu)
_local = _Form("bit", q, g)
_open = _Form("none", K, sp.S.Zero)

LEVEL_FREE_BOUNDS: dict[str, RegretBound] = {
    "dp-bandit": _one_arm("Laplace", 1 / epsilon),
    "dp-bandit-gaussian": _one_arm("Gaussian", 1 / mu),
    "dp-bandit-shuffle": _one_arm("below Gaussian", sp.Rational(NOISE.numerator, NOISE.denominator) / mu),
    "dp-bandit-ldp": _one_arm("bit", g),
    "cucb-batch": _super_arms(
        _Form("Laplace", _few, _few / epsilon), _Form("Laplace", _few_elsewhere, _few_elsewhere / epsilon)
    ),
    "cucb-batch-gaussian": _super_arms(_normal, _normal),
    "cucb-ldp-bit": _super_arms(_local, _local),
    "cucb-kl": _super_arms(_open, _open),
}
"""Regret bounds of learners with level-free indices by the registered name."""
