"""The smallest violations that a test of a given size detects, and the predicted power of more draws of an event."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special

from mechanisms.arrays import BoolArray, FloatArray
from verify.events.predicted_bound import predicted_epsilon
from verify.sampling.binomial_bounds import clopper_pearson_lower, clopper_pearson_upper

POWER = 0.8
"""Power at which an event counts as detectable."""

_UNLUCKY = 1.0 - math.sqrt(POWER)
"""Probability with which each of the two counts is worse than assumed: both are better with probability `POWER`."""

_CASES = 4_096  # probabilities of power are right to about a percent
_IMPOSSIBLE = -30.0  # ln of a probability that a test of this size cannot distinguish from 0


@dataclass(frozen=True, slots=True)
class Detectable:
    """An event of this probability refutes the claim, with power `POWER`, if the loss there is that large.

    Attributes
    ----------
    mass
        Probability of the event in the likelier world.
    epsilon
        The least ln((mass - δ) / q) that is detected, q being its probability in the other world; infinite if
        not even an event that is impossible there is.
    """

    mass: float
    epsilon: float

    def to_dict(self) -> dict[str, Any]:
        """Return the probability and the epsilon as JSON-able data."""
        return {"mass": self.mass, "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf"}


def detection_floor(epsilon: float, delta: float, trials: int, error: float) -> float:
    """Return the smallest event mass that `trials` draws a side can turn into a refutation at `error`.

    For an event that is impossible in the second world, the least count k with k's lower bound above
    δ + e^ε (upper bound of 0 in n), divided by n; infinite if no count will do.
    """
    q_up = float(clopper_pearson_upper(0, trials, error / 2.0))
    log_needed = epsilon + math.log(q_up)
    needed = delta + math.exp(log_needed) if log_needed < 700.0 else math.inf
    if float(clopper_pearson_lower(trials, trials, error / 2.0)) <= needed:
        return math.inf
    low, high = 0, trials  # `low` is too few, `high` is enough
    while high - low > 1:
        middle = (low + high) // 2
        enough = float(clopper_pearson_lower(middle, trials, error / 2.0)) > needed
        low, high = (low, middle) if enough else (middle, high)
    return high / trials


@lru_cache(maxsize=16)
def detectable_losses(epsilon: float, delta: float, trials: int, error: float) -> tuple[Detectable, ...]:
    """Return, for events of many probabilities, the smallest loss that refutes (epsilon, delta) with power 80 %.

    It is that at which the bound exceeds epsilon for the 0.106-quantiles of both counts: the worlds are independent, so
    that both counts are better with probability 0.8. Approximate, to about 1 %.
    """
    masses = np.array([m for e in range(-7, 0) for m in (10.0**e, 3.0 * 10.0**e)] + [0.5, 0.9])
    masses = masses[masses * trials >= 1.0]

    def refuted(q: FloatArray) -> BoolArray:
        few = np.floor(special.bdtrik(_UNLUCKY, trials, masses)) / trials
        many = np.ceil(special.bdtrik(1.0 - _UNLUCKY, trials, q)) / trials
        return np.asarray(predicted_epsilon(few, many, trials, delta, error) > epsilon)

    low, high = np.full(masses.shape, _IMPOSSIBLE), np.log(masses)
    never = ~refuted(np.exp(low)) | (masses <= delta)
    for _ in range(40):  # bisection for ln q: the bound falls as q rises
        middle = 0.5 * (low + high)
        found = refuted(np.exp(middle))
        low, high = np.where(found, middle, low), np.where(found, high, middle)
    # Below some q no hit is to be expected, and every loss beyond is detected.
    losses = np.where(never, np.inf, np.log(np.maximum(masses - delta, 1e-300)) - low)
    return tuple(Detectable(float(m), float(loss)) for m, loss in zip(masses, losses, strict=True))


@dataclass(frozen=True, slots=True)
class CountsOfEvent:
    """The counts of an event in `trials` draws of the world where it is likelier, and of the other."""

    hits: int
    other: int
    trials: int

    def loss(self, delta: float) -> float:
        """Return ln((p - delta) / q) as counted, -inf where p is at most delta."""
        excess, q = self.hits / self.trials - delta, self.other / self.trials
        return -math.inf if excess <= 0.0 else math.log(excess / q) if q > 0.0 else math.inf

    def chance_of_refuting(self, n: int, epsilon: float, delta: float, error: float) -> float:
        """Return the predictive probability that `n` fresh draws a side of the event refute the claim at an error.

        The two probabilities have their posteriors under Jeffreys' prior, and the coming counts are binomial; the
        bounds are those of `predicted_epsilon`.
        """
        rng = np.random.default_rng(0)
        p, q = (rng.binomial(n, probability) / n for probability in self._probabilities())
        return float(np.mean(predicted_epsilon(p, q, n, delta, error) > epsilon))

    def _probabilities(self) -> tuple[FloatArray, FloatArray]:
        """Return draws of both probabilities from their posteriors given these counts; the same ones in every call."""
        rng = np.random.default_rng(1)
        p, q = (rng.beta(k + 0.5, self.trials - k + 0.5, _CASES) for k in (self.hits, self.other))
        return p, q
