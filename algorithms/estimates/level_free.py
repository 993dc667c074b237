"""Level-free indices: upper indices of means that need no confidence level.

``U = max {u in [0, 1]: H(I(u)) <= ln+(tau / n)}`` of n values, with I(u) the exponent with which Chernoff's inequality
rejects a mean of u or more (`algorithms.estimates.chernoff`), tau the rounds so far when something was released last,
and

``H(v) = v + c w ln(1 + 4 pi v)``.

``ln(tau / n)`` is small for what is played all the time, and grows for what is not: as of indices by divergence (Honda
& Takemura 2015), but an oracle takes it. Sums that are near normal have ``P(I > x)`` near ``e^-x / (2 sqrt(pi x))``,
which is ``e^-H`` with c = 1/2; c = 0 is Chernoff's inequality as it stands. What regret proofs need of a computed U
(`algorithms.theory.level_free_regret`) holds of any value from U to the additive bound at the exponent ``H^-1(ln+(tau /
n))``, where no steps are too few.
"""

from __future__ import annotations

import math

import numpy as np

from algorithms.estimates.chernoff import NoiseTail, chernoff_upper
from algorithms.estimates.divergence import divergence_upper
from mechanisms.arrays import FloatArray

UNCOUNTED = 0.4
"""c where it is not 0: the share of ``ln(1 + 4 pi v)`` that is added to the exponent v against a mean."""

_STEPS = 5
_DIVERGENCE_STEPS = 3


def _sharpened(exponent: FloatArray, share: FloatArray | float = UNCOUNTED) -> FloatArray:
    """Return ``H(v) = v + c ln(1 + 4 pi v)`` of exponents v, c the share."""
    return np.asarray(exponent + share * np.log1p(4.0 * math.pi * exponent))


def unsharpened(level: FloatArray, share: float = UNCOUNTED) -> FloatArray:
    """Return v with ``H(v) = level``, or hardly less: Newton's steps from below stay there, as H is concave."""
    if share == 0:
        return level.copy()
    v = np.maximum(2.0 * level - _sharpened(level, share), 0.0)
    for _ in range(_STEPS):
        slope = 1.0 + 4.0 * math.pi * share / (1.0 + 4.0 * math.pi * v)
        v = np.maximum(v + (level - _sharpened(v, share)) / slope, 0.0)
    return v


def level_free_upper(
    n: FloatArray,
    m: FloatArray,
    total: FloatArray,
    rounds: FloatArray,
    *,
    noise: NoiseTail,
    share: float = UNCOUNTED,
) -> FloatArray:
    """Return U, where the additive bound is lowered by Chernoff's inequality; without noise I(u) is ``n kl(y / n, u)``.

    Parameters
    ----------
    n, m, total
        The numbers of values and of noises in totals y; n > 0.
    rounds
        tau.
    noise
        The law of a noise.
    share
        c.

    Examples
    --------
    >>> n, m, y, tau = (np.array([each]) for each in (143.0, 5.0, 21.25, 20_000.0))
    >>> level_free_upper(n, m, y, tau, noise=NoiseTail(proxy=8.0, scale=2.0)).round(6).tolist()
    [0.309826]
    """
    exponent = unsharpened(np.log(np.maximum(rounds / n, 1.0)), share)
    if noise.proxy == 0:
        return divergence_upper(np.clip(total / n, 0.0, 1.0), exponent / n, steps=_DIVERGENCE_STEPS)
    width = np.sqrt(2 * exponent * (0.25 * n + noise.proxy * m)) + noise.scale * exponent
    return chernoff_upper(
        np.clip((total + width) / n, 0.0, 1.0), n, m, total, n, noise=noise, exponent=exponent
    )
