"""The least noise with which a composition meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import scipy
from scipy.special import log_ndtr, ndtri

from mechanisms.composition.composed_loss import ComposedLoss, compose
from mechanisms.composition.product import CountedProfiles
from mechanisms.composition.risk import checked_rate, true_positive_rate_at_most
from mechanisms.domains.neighbouring import common_neighbouring
from mechanisms.numerics.deadline import OutOfTime, time_is_over
from mechanisms.parameters import DPWitnessError, ParameterError, half_open_unit, open_unit, positive

Compositions = Callable[[float], Sequence[CountedProfiles]]
"""From a factor on the noise to the releases of each record (one sequence of (profile, count) each)."""

RELATIVE = 1e-7
"""The factor found is at most this much above the least one, where bounds on δ are tight."""
MOST_EPSILON = 1e100
"""The largest target: squares of numbers near it are floats."""
_FARTHEST = 2.0**60
_OUT_OF_REACH = "no factor up to 2^60 on the noise meets the target"


class OutOfReach(DPWitnessError, ValueError):
    """No amount of noise meets the target."""


def least_noise(compositions: Compositions, epsilon: float, delta: float) -> float:
    """Return the least factor on all noise with which every record has at most (epsilon, delta).

    Noise must be such that more of it never costs more. Every factor is judged by the certified upper bound
    on δ, so the one returned meets the target. The search follows 1/μ, μ the Gaussian-DP parameter with the
    same δ at epsilon: in the factor this is a straight line for Gaussian noise and nearly one for many
    releases of any kind, and secants find the root in a few evaluations.

    Parameters
    ----------
    compositions
        The releases at a factor.
    epsilon, delta
        The target.

    Raises
    ------
    OutOfReach
        If no factor below 2^60 is enough.
    OutOfTime
        If none was proved to be enough before a deadline; else the least that was is returned.
    ParameterError
        If epsilon is not positive and at most `MOST_EPSILON` (or 0, with a positive delta: then delta is the advantage
        of attacks), or delta outside [0, 1).
    MixedNeighbours
        If two compositions are for different neighbouring relations.
    """
    half_open_unit("delta", delta)
    if (epsilon != 0.0 or delta == 0.0) and positive("epsilon", epsilon) > MOST_EPSILON:
        raise ParameterError(f"epsilon = {epsilon!r}: a target must be at most {MOST_EPSILON:g}")
    if delta == 0.0:
        return _bisect(
            lambda factor: _maximum(compositions(factor), lambda loss: loss.epsilon(0.0).upper) <= epsilon
        )
    goal = _inverse_mu(epsilon, delta)

    def height(factor: float) -> tuple[bool, float]:
        upper = _maximum(compositions(factor), lambda loss: loss.delta_at_most(epsilon))
        return upper <= delta, _inverse_mu(epsilon, upper)

    return _secants(height, goal)


def least_noise_for_risk(
    compositions: Compositions, true_positive_rate: float, false_positive_rate: float
) -> float:
    """Return the least factor on all noise with which no attack on any record has these rates, or better ones.

    As `least_noise`, with the true positive rate's certified upper end; μ = Φ⁻¹(TPR) - Φ⁻¹(FPR).

    Raises
    ------
    OutOfReach
        If no factor below 2^60 is enough.
    OutOfTime
        If none was proved to be enough before a deadline; else the least that was is returned.
    ParameterError
        If the rates are not 0 < false < true < 1.
    MixedNeighbours
        If two compositions are for different neighbouring relations.
    """
    k = checked_rate(false_positive_rate)
    target = open_unit("true_positive_rate", true_positive_rate)
    if not target > k:
        raise ParameterError(
            f"true_positive_rate = {target!r}: must be above the false positive rate, {k!r}, which guessing reaches"
        )

    def height(factor: float) -> tuple[bool, float]:
        upper = _maximum(compositions(factor), lambda loss: true_positive_rate_at_most(loss, k))
        mu = float(ndtri(min(upper, 1.0 - 1e-16)) - ndtri(k))
        return upper <= target, 1.0 / max(mu, 1e-12)

    return _secants(height, 1.0 / float(ndtri(target) - ndtri(k)))


def _maximum(compositions: Iterable[CountedProfiles], read: Callable[[ComposedLoss], float]) -> float:
    """Return the largest number of all records' compositions, all for one neighbouring relation."""
    losses = [compose(one) for one in compositions]
    common_neighbouring(losses)
    return max(read(loss) for loss in losses)


def _inverse_mu(epsilon: float, delta: float) -> float:
    """Return 1/μ with δ_μ(epsilon) = delta (between 1e-300 and 1 - 1e-12); only steers the search."""
    log_goal = math.log(min(max(delta, 1e-300), 1.0 - 1e-12))

    def excess(log_mu: float) -> float:
        mu = math.exp(log_mu)
        near, far = log_ndtr(0.5 * mu - epsilon / mu), log_ndtr(-0.5 * mu - epsilon / mu)
        share = -math.expm1(min(epsilon + far - near, 0.0))  # δ_μ = Φ(near) - e^ε Φ(far)
        return float(near + math.log(share) if share > 0.0 else -1e6) - log_goal

    low, high = -40.0, 5.0
    while excess(high) < 0.0:
        high += 5.0
    return math.exp(-float(scipy.optimize.brentq(excess, low, high, xtol=1e-13)))


def _secants(height: Callable[[float], tuple[bool, float]], goal: float) -> float:
    """Find the least private factor: secants through the origin and the last points, inside a bracket."""
    goal *= 1.0 + 0.5 * RELATIVE  # aim at the private side
    low, high = 0.0, math.inf  # not private; private
    previous, factor, flat = (0.0, 0.0), 1.0, False
    for _ in range(300):
        private, reached = height(factor)
        if time_is_over():
            return _so_far(factor if private else high)
        low, high = (low, factor) if private else (factor, high)
        if high <= low * (1.0 + RELATIVE) or high < 1.0 / _FARTHEST:
            return high
        if low > _FARTHEST:
            break
        rise = reached - previous[1]
        guess = factor + (goal - reached) * (factor - previous[0]) / rise if rise else math.nan
        if private and abs(guess - factor) <= 0.5 * RELATIVE * factor:
            # δ may be the goal over a range of factors, that of an infinite loss for example: does less noise do?
            guess = math.nan if flat else factor * (1.0 - 0.9 * RELATIVE)
            flat = True
        if not low < guess < high:
            guess = 2.0 * low if math.isinf(high) else 0.5 * high if low == 0.0 else math.sqrt(low * high)
        previous, factor = (factor, reached), guess
    raise OutOfReach(_OUT_OF_REACH)


def _bisect(private: Callable[[float], bool]) -> float:
    low, high = 1.0, 1.0
    while not private(high):
        if time_is_over():
            return _so_far(math.inf)
        low, high = high, 2.0 * high
        if high > _FARTHEST:
            raise OutOfReach(_OUT_OF_REACH)
    while low == high or private(low):
        low, high = 0.5 * low, low
        if low < 1.0 / _FARTHEST:
            return high
    while high > low * (1.0 + RELATIVE):
        if time_is_over():
            return _so_far(high)
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _so_far(private: float) -> float:
    """Return a factor that is proved to be enough; after a deadline it need not be the least."""
    if math.isinf(private):
        raise OutOfTime("no amount of noise was proved to meet the target within the time limit")
    return private
