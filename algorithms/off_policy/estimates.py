"""Off-policy estimates of a policy's reward from weighted events, with intervals valid for adaptive learners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mechanisms.arrays import FloatArray, IntArray

Estimator = Literal["replay", "ips", "snips"]
"""The estimators' names: the replayer, inverse propensities, and those normalised by their sum."""

_RATES = tuple(2.0**-j for j in range(1, 17))


@dataclass(frozen=True)
class Estimate:
    """The reward per round of a policy, or of the policies that a learner went through, as estimated from a log.

    Attributes
    ----------
    estimator
        Its name.
    value
        The estimate.
    standard_error
        The root of its estimated variance; NaN for fewer than two events. From several runs it includes the variation
        of the learner's path; from one run it is conditional on the learner's actions.
    interval
        Both ends of a confidence interval (`_bernstein_interval`) for the reward of the policies in force, on the paths
        that the runs took; None where none is proved.
    effective_sample_size
        ``(sum w)^2 / sum w^2`` of the events' weights: as many events of equal weight would say as much.
    """

    estimator: Estimator
    value: float
    standard_error: float
    interval: tuple[float, float] | None
    effective_sample_size: float


def replay_estimate(rewards: FloatArray, error: float, runs: IntArray | None = None) -> Estimate:
    """Return the mean reward of the events that a learner was shown: the replayer of Li et al. (2011).

    Of several runs, `runs` has the number of each event's.
    """
    low, high = _bernstein_interval(rewards, 1.0, error)
    spread = _standard_error(rewards, runs)
    return Estimate("replay", float(rewards.mean()), spread, (low, high), float(rewards.size))


def inverse_propensity(
    weights: FloatArray, rewards: FloatArray, largest: float, error: float, runs: IntArray | None = None
) -> Estimate:
    """Return the mean of weight times reward over all events, 0 where the policy takes another action.

    Parameters
    ----------
    weights, rewards
        The weight and the reward of every event.
    largest
        A bound on weights, known without the rewards.
    error
        The probability with which the interval may miss.
    runs
        For several runs, the run number of each event.
    """
    weighted = weights * rewards
    low, high = _bernstein_interval(weighted, largest, error)
    spread = _standard_error(weighted, runs)
    ends = low, min(high, 1.0)
    return Estimate("ips", float(weighted.mean()), spread, ends, _effective_size(weights))


def self_normalised(weights: FloatArray, rewards: FloatArray, runs: IntArray | None = None) -> Estimate:
    """Return the mean reward by weight, with the delta method's standard error; it is consistent, not unbiased.

    Of several runs, `runs` has the number of each event's.
    """
    total = float(weights.sum())
    if total == 0.0:
        return Estimate("snips", math.nan, math.nan, None, 0.0)
    value = float((weights * rewards).sum()) / total
    some = weights > 0.0
    spread = _between((weights * (rewards - value))[some], total, None if runs is None else runs[some])
    if spread is None:
        squares = float((weights**2 * (rewards - value) ** 2).sum())
        several = np.count_nonzero(some) > 1  # the mean of one event is its reward, without a spread
        spread = math.sqrt(squares) / total if several else math.nan
    return Estimate("snips", value, spread, None, _effective_size(weights))


def _bernstein_interval(values: FloatArray, largest: float, error: float) -> tuple[float, float]:
    """Return an interval for the mean of the values' conditional means, each given all earlier values.

    With ``Y = X / largest`` in [0, 1] and any prediction y of Y by the past, ``exp(l (Y - y) - psi(l) (Y - y)^2) <=
    1 + l (Y - y)`` for l in (0, 1), where ``psi(l) = -ln(1 - l) - l`` (Fan, Grama & Liu 2015), as ``Y - y >= -1``; so
    ``exp(l (sum of Y - E[Y | past]) - psi(l) sum of (Y - y)^2)`` is a nonnegative supermartingale, and so for 1 - Y.
    By Ville's inequality both ends hold at any stopping time, for 16 fixed l at once with a share of `error` each.

    Parameters
    ----------
    values
        In [0, largest], in their order; each may depend on all before.
    largest
        A bound that does not depend on the values.
    error
        The probability with which the interval may miss.
    """
    if not values.size:
        return 0.0, largest
    scaled = values / largest
    before = np.concatenate([[0.0], np.cumsum(scaled)[:-1]])
    predicted = (0.5 + before) / np.arange(1, scaled.size + 1)
    spread = float(((scaled - np.minimum(predicted, 1.0)) ** 2).sum())
    cost = math.log(2.0 * len(_RATES) / error)
    width = min(((-math.log1p(-rate) - rate) * spread + cost) / rate for rate in _RATES) / scaled.size
    mean = float(scaled.mean())
    return max(mean - width, 0.0) * largest, min(mean + width, 1.0) * largest


def _between(residuals: FloatArray, total: float, runs: IntArray | None) -> float | None:
    """Return the standard error of a ratio of sums over independent runs (the delta method); None of fewer than two.

    Runs are independent, their events are not: which arm a learner comes to play moves the rewards of all that follow.
    """
    if runs is None or not runs.size or runs.min() == runs.max():
        return None
    sums = np.bincount(np.unique(runs, return_inverse=True)[1], residuals)
    return math.sqrt(sums.size / (sums.size - 1) * float(sums @ sums)) / total


def _standard_error(values: FloatArray, runs: IntArray | None) -> float:
    """Return that of the mean: from how runs differ, or from how values do; NaN of fewer than two."""
    spread = _between(values - values.mean(), float(values.size), runs)
    if spread is not None:
        return spread
    return float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan


def _effective_size(weights: FloatArray) -> float:
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0
