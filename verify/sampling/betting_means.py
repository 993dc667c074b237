"""Confidence limits for the mean of independent numbers, exact at every sample size: no normal approximation.

Both come from betting (Waudby-Smith and Ramdas 2024): if the mean is b, the average over a few stakes of
``prod(1 + stake (x / b - 1))`` has expectation at most 1, so it exceeds 1 / error with probability at most `error`
(Markov), and a mean b at which it does is ruled out. Mirrored at a largest value it limits the mean from above.
"""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray

_STAKES = np.array([0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95])[:, np.newaxis]
_HALVINGS = 60


def mean_at_least(values: FloatArray, error: float) -> float:
    """Return a lower confidence limit on the mean of nonnegative numbers; their range does not enter.

    Parameters
    ----------
    values
        Independent draws of at least 0; below, they count as 0 (sums of nonnegative terms round).
    error
        Probability that the limit is wrong, in (0, 1).
    """
    values = np.maximum(values, 0.0)
    low, high = 0.0, float(values.mean())
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle > 0 and _log_wealth(values / middle - 1.0) >= -np.log(error):
            low = middle
        else:
            high = middle
    return low


def mean_at_most(values: FloatArray, largest: float, error: float) -> float:
    """Return an upper confidence limit on the mean of numbers in [0, largest].

    Parameters
    ----------
    values
        Independent draws; outside [0, largest], where rounding may put them, they count as its end.
    largest
        The largest possible value.
    error
        Probability that the limit is wrong, in (0, 1).
    """
    values = np.clip(values, 0.0, largest)
    low, high = float(values.mean()), largest
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle < largest and _log_wealth((middle - values) / (largest - middle)) >= -np.log(error):
            high = middle
        else:
            low = middle
    return high


def _log_wealth(gains: FloatArray) -> float:
    """Return the logarithm of the average wealth over the stakes, of gains of at least -1."""
    logs = np.log1p(_STAKES * gains).sum(axis=1)
    return float(np.logaddexp.reduce(logs) - np.log(len(_STAKES)))
