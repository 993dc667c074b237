"""The event that tells two data sets apart best, from a privacy profile."""

from __future__ import annotations

import math
from collections.abc import Callable

_STEP = 1e-6  # in epsilon, of the slope


def likeliest_event(delta: Callable[[float], float], epsilon: float) -> tuple[float, float]:
    """Return the probabilities P under D and Q under D′ of the event {privacy loss > epsilon}.

    With the profile δ(ε) = P - e^ε Q of the pair, Q is minus the slope of δ in e^ε (the derivative of P - e^ε Q in the
    event's own threshold is 0, since there the densities' ratio is e^ε).

    Parameters
    ----------
    delta
        The privacy profile of the pair, in this order.
    epsilon
        At least 0.
    """
    at, beyond = delta(epsilon), delta(epsilon + _STEP)
    rest = max(0.0, (at - beyond) / math.expm1(_STEP))  # e^ε Q, which a float may not hold at large ε
    return min(1.0, at + rest), min(1.0, rest * math.exp(-epsilon))
