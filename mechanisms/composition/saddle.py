"""Saddle points for contours: the tilt at which a privacy loss is centred on the ε of interest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.losses.privacy_loss import PrivacyLoss
from mechanisms.numerics.deadline import GRACE, time_is_over


@dataclass(frozen=True, slots=True)
class Saddle:
    """A tilt s > 0 with the ε it belongs to; any s gives valid bounds, a good one gives tight ones.

    Attributes
    ----------
    s
        Abscissa of the contour, the optimal Rényi order minus one.
    epsilon
        The ε asked for, or the Chernoff bound on ε(δ).
    log_delta
        ln of the δ asked for, or of an estimate of δ(ε).
    """

    s: float
    epsilon: float
    log_delta: float


def log_chernoff_factor(s: FloatArray) -> FloatArray:
    """Return ln c(s), c(s) = sup_{v>=0} (1 - e^{-v}) e^{-sv} = (1/(1+s)) (s/(1+s))^s.

    δ(y) = E(1 - e^{y-L})^+ <= c(s) E e^{s(L-y)} for every real y and s > 0: the conversion from a Rényi order
    α = s + 1 (Canonne, Kamath, Steinke 2020, Prop. 12).
    """
    return -s * np.log1p(1.0 / s) - np.log1p(s)


_COARSE = 8.0 ** np.arange(-2.0, 3.0)
_FINE = 2.0 ** np.arange(-2.25, 2.3, 0.75)
_FINER = 2.0 ** np.arange(-0.5, 0.6, 0.25)


def _minimise(objective: Callable[[FloatArray], FloatArray]) -> tuple[float, float]:
    """Return the s that roughly minimises a unimodal function of ln s, and the minimum."""
    centre = 1.0
    for factors in (_COARSE, _FINE, _FINER):
        for _ in range(12):
            s = centre * factors
            with np.errstate(all="ignore"):
                values = objective(s)
            values = np.where(np.isnan(values), np.inf, values)
            best = int(np.argmin(values))
            centre = float(s[best])
            if 0 < best < len(s) - 1 or not 1e-9 < centre < 1e12 or time_is_over(GRACE):
                break
    return centre, float(values[best])


def saddle_for_delta(loss: PrivacyLoss, delta: float) -> Saddle:
    """Return the tilt of the best Rényi bound ε <= (ln M(s) + ln c(s) - ln δ) / s."""
    log_delta, rough = math.log(delta), loss.approximation()
    s, epsilon = _minimise(lambda s: (rough.log_mgf_real(s) + log_chernoff_factor(s) - log_delta) / s)
    return Saddle(s, max(0.0, min(epsilon, loss.supremum)), log_delta)


def saddle_for_epsilon(loss: PrivacyLoss, epsilon: float) -> Saddle:
    """Return the minimiser of ln |integrand| = ln M(s) - sε - ln s(s+1), and an estimate of ln δ(ε)."""
    rough = loss.approximation()
    s, height = _minimise(lambda s: rough.log_mgf_real(s) - s * epsilon - np.log(s * (s + 1.0)))
    return Saddle(s, epsilon, min(0.0, height - math.log1p(1.0 / s) - 2.0))
