"""The binomial law, accurate to about 1e-15 in the logarithm's own size, also for 10^9 trials."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.numerics.rounding import exact_product
from mechanisms.parameters import ParameterError, whole_number

_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_EXACT = np.array(
    [0.0] + [math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - _HALF_LOG_2PI for n in range(1, 17)]
)
NEGLIGIBLE = 700.0
"""`window` leaves out tails below exp(-NEGLIGIBLE) on either side."""
MOST_TRIALS = 2**38
"""The largest number of trials of a law that is summed term by term: a window has 37 √trials terms."""


def checked_trials(value: object) -> int:
    """Return a number of trials as an int; raise `ParameterError` unless it is whole, from 1 to `MOST_TRIALS`."""
    trials = whole_number("trials", value, least=1)
    if trials > MOST_TRIALS:
        raise ParameterError(
            f"trials = {trials}: must be at most {MOST_TRIALS}, or its law has too many terms"
        )
    return trials


def _stirling_error(n: FloatArray) -> FloatArray:
    """Return ln n! - ln(√(2πn) (n/e)^n), n a whole number >= 1 (Loader 2000, Eq. 3)."""
    m = np.maximum(n, 16.0)
    r = 1.0 / (m * m)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r * (1 / 1188))))) / m
    return np.where(n > 16.0, series, _EXACT[np.minimum(n, 16.0).astype(np.int64)])


def _deviance(x: FloatArray, mean: float, difference: FloatArray) -> FloatArray:
    """Return x ln(x / mean) + mean - x without cancellation, for difference = x - mean (Loader 2000, Eq. 5)."""
    v = difference / (x + mean)
    square = v * v
    series = np.zeros_like(x)
    for j in range(10, 0, -1):
        series = square * (1.0 / (2 * j + 1) + series)
    near = difference * v + 2.0 * x * v * series
    with np.errstate(divide="ignore", invalid="ignore"):
        far = x * np.log(x / mean) - difference
    return np.where(np.abs(v) < 0.1, near, np.where(x == 0.0, mean, far))


def divergence(y: npt.ArrayLike, trials: int, probability: float) -> FloatArray:
    """Return N kl(y/N, p): P(Bin(N, p) beyond y) <= exp(-divergence) on y's side of Np (Chernoff).

    Np is a sum of two floats: rounded to one, it would be that of another p, and of a 1 - p near 0 by far.
    """
    x = np.asarray(y, dtype=np.float64)
    near, rest = (float(part) for part in exact_product(probability, np.array(float(trials))))
    difference = (x - near) - rest
    return _deviance(x, near, difference) + _deviance(trials - x, (trials - near) - rest, -difference)


def log_binomial(y: npt.ArrayLike, trials: int, probability: float) -> FloatArray:
    """Return ln P(Bin(N, p) = y), -inf outside 0 .. N; y whole numbers.

    Loader 2000, "Fast and accurate computation of binomial probabilities": ln P = S(N) - S(y) - S(N-y)
    - D(y, Np) - D(N-y, Nq) - ½ ln(2π y (N-y) / N), S Stirling's error and D the deviance.
    """
    x = np.asarray(y, dtype=np.float64)
    inside = np.clip(x, 1.0, max(trials - 1.0, 1.0))
    rest = np.maximum(trials - inside, 1.0)
    n = np.array(float(trials))
    value = (
        _stirling_error(n)
        - _stirling_error(inside)
        - _stirling_error(rest)
        - divergence(inside, trials, probability)
        - _HALF_LOG_2PI
        - 0.5 * np.log(inside * (rest / n))
    )
    value = np.where(x == 0.0, trials * math.log1p(-probability), value)
    value = np.where(x == trials, trials * math.log(probability), value)
    return np.where((x < 0.0) | (x > trials), -np.inf, value)


def window(trials: int, probability: float) -> tuple[int, int]:
    """Return the first and last y outside of which Bin(N, p) has mass below 2 exp(-`NEGLIGIBLE`)."""

    def negligible(y: int) -> bool:
        return float(divergence(float(y), trials, probability)) > NEGLIGIBLE

    centre = min(max(round(trials * probability), 0), trials)
    low, high = 0, trials
    if negligible(0):
        out, inside = 0, centre
        while inside - out > 1:
            middle = (inside + out) // 2
            out, inside = (middle, inside) if negligible(middle) else (out, middle)
        low = inside
    if negligible(trials):
        inside, out = centre, trials
        while out - inside > 1:
            middle = (inside + out) // 2
            inside, out = (inside, middle) if negligible(middle) else (middle, out)
        high = inside
    return low, high
