"""Regret theorems of leaders on noisy sums: experts, linear losses, convex losses.

Let phi be convex with ``phi(theta) = max_{w in W} <theta, w> - r(w)``, ``r >= 0``, ``min r = 0``, and play ``w_t = grad
phi(-S_{t-1} - b_{t-1})``: S the sum of gradients g, b_t normal with deviation s_t a coordinate, ``s_0 = 0`` and s not
falling, as counters of Toeplitz factors have it.

**Lemma.** If ``phi(theta - g) <= phi(theta) - <g, grad phi(theta)> + q`` for all theta and every g that occurs, then
without noise, for every u in W, ``sum <g_t, w_t - u> <= r(u) + T q``, whatever the g_t answer.

*Proof.* ``phi(-S_t) - phi(-S_{t-1}) <= -<g_t, w_t> + q``, added up; ``phi(0) = 0`` and ``phi(-S_T) >= -<S_T, u> -
r(u)``. QED. In the ball of radius D, ``r = lambda |w|^2 / 2``, q is ``G^2 / (2 lambda)``; on the simplex, ``r = (ln K +
sum p ln p) / eta``, it is ``eta / 8`` for losses in [0, 1] (Hoeffding).

**Theorem 2** (convex losses, an adversary that sees everything). With ``B = (1 / T) sum sqrt(d) s_{t-1}`` and ``lambda
= sqrt(T (G^2 + 2 G B)) / D`` expected regret is at most ``D sqrt(T (G^2 + 2 G B))``.

*Proof.* By convexity it is at most ``sum <g_t, w_t - u>``; w without noise, for the same g_t, is ``|b_{t-1}| / lambda``
away at most: ``lambda D^2 / 2 + T G^2 / (2 lambda) + G T B / lambda``. QED (Kairouz et al. 2021, with its constants.)

**Theorem 3** (linear losses fixed in advance). With ``lambda = G sqrt(T) / D`` it is at most ``D G sqrt(T) + D sqrt(d)
s_{T-1}``.

**Theorem 4** (experts, losses in [0, 1] fixed in advance). With ``eta = sqrt(8 ln K / T)`` it is at most ``sqrt(T ln K
/ 2) + m_K s_{T-1}``, m_K the mean of the largest of K standard normals. The same where an expert is drawn by the
weights, and, of rewards in [0, 1], to the best expert.

*Proof of both.* Let ``psi_t(theta) = E phi(theta - b_t)``. As g_t is fixed, ``E w_t = grad psi_{t-1}(-S_{t-1})``: only
the law of b_{t-1} by itself counts. psi has phi's q, so ``sum <g_t, E w_t>`` is at most ``psi_0(0) - psi_{T-1}(-S_T) +
sum_{t<T} (psi_t - psi_{t-1})(-S_t) + T q``. ``psi_{T-1} >= phi`` (Jensen). With noise s xi, ``d/ds E phi(theta - s xi)
= -E <grad phi, xi> <= E max_{w in W} <w, -xi>``, which is ``D E|xi| <= D sqrt(d)``, or m_K: as s does not fall, these
add up to that times s_{T-1}. QED

Theorem 3 is false for gradients that depend on the weights; there is a test that sees it.
"""

from __future__ import annotations

import math

import numpy as np

from mechanisms.counters.toeplitz_counter import ToeplitzCounter

_POINTS = 1 << 16


def last_deviation(counter: ToeplitzCounter) -> float:
    """Return s_{T-1}, the noise's deviation in the sums from which the last action is chosen."""
    return math.sqrt(float(counter.variance(counter.horizon - 1))) if counter.horizon > 1 else 0.0


def _mean_deviation(counter: ToeplitzCounter) -> float:
    """Return the mean of s_0 = 0, s_1, ..., s_{T-1}; of more than 2^16 steps, the last of each equal part's for all."""
    part = -(-(counter.horizon - 1) // _POINTS)
    lasts = np.arange(counter.horizon - 1, 0, -max(part, 1))  # s does not fall: no sum is less than it is
    lengths = np.diff(lasts[::-1], prepend=0)
    return float(lengths @ np.sqrt(counter.variance(lasts[::-1]))) / counter.horizon


def gradient_regret(
    counter: ToeplitzCounter, size: int, *, radius: float, gradient: float
) -> tuple[float, float]:
    """Return lambda and the bound of Theorem 2, in `size` dimensions."""
    noise = math.sqrt(size) * _mean_deviation(counter)
    root = math.sqrt(counter.horizon * (gradient**2 + 2.0 * gradient * noise))
    return root / radius, radius * root


def linear_regret(
    counter: ToeplitzCounter, size: int, *, radius: float, gradient: float
) -> tuple[float, float]:
    """Return lambda and the bound of Theorem 3, in `size` dimensions."""
    root = gradient * math.sqrt(counter.horizon)
    return root / radius, radius * (root + math.sqrt(size) * last_deviation(counter))
