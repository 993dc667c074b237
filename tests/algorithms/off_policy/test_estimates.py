"""Estimates against their definitions; intervals against how often they miss, of policies that adapt, too."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from algorithms.off_policy.estimates import (
    _bernstein_interval,
    inverse_propensity,
    replay_estimate,
    self_normalised,
)

WEIGHTS = np.array([2.0, 0.0, 4.0, 0.0])
REWARDS = np.array([1.0, 1.0, 0.5, 0.0])


def test_estimates_are_their_formulas():
    ips = inverse_propensity(WEIGHTS, REWARDS, 4.0, 0.05)
    assert (ips.value, ips.effective_sample_size) == (1.0, 36 / 20)
    assert ips.standard_error == pytest.approx(math.sqrt((1 + 1 + 1 + 1) / 3 / 4))
    snips = self_normalised(WEIGHTS, REWARDS)
    assert snips.value == pytest.approx(4 / 6)
    assert snips.standard_error == pytest.approx(math.sqrt(4 / 9 + 16 / 36) / 6)
    assert snips.interval is None
    assert math.isnan(self_normalised(np.zeros(4), REWARDS).value)
    one = self_normalised(np.array([0.0, 3.0, 0.0, 0.0]), REWARDS)  # it had a standard error of 0
    assert one.value == REWARDS[1]
    assert math.isnan(one.standard_error)
    shown = replay_estimate(REWARDS, 0.05)
    assert (shown.value, shown.effective_sample_size) == (0.625, 4.0)
    assert shown.interval == _bernstein_interval(REWARDS, 1.0, 0.05)
    assert math.isnan(replay_estimate(REWARDS[:1], 0.05).standard_error)


def test_no_value_says_nothing():
    assert _bernstein_interval(np.zeros(0), 3.0, 0.05) == (0.0, 3.0)


def test_intervals_narrow_with_the_variance_and_the_number():
    wide = np.diff(_bernstein_interval(np.arange(1000) % 2 * 1.0, 1.0, 0.05))
    steady = np.diff(_bernstein_interval(np.full(1000, 0.5), 1.0, 0.05))
    longer = np.diff(_bernstein_interval(np.arange(16000) % 2 * 1.0, 1.0, 0.05))
    assert steady < 0.5 * wide
    assert longer == pytest.approx(wide / 4, rel=0.15)
    assert np.diff(_bernstein_interval(np.arange(1000) % 2 * 1.0, 1.0, 1e-6)) > wide


@pytest.mark.parametrize("largest", [1.0, 5.0])
def test_intervals_miss_as_seldom_as_they_say_however_means_adapt(largest):
    """400 runs stopped by what they saw; P(more than 20 % miss at 10 %) < 1e-8."""
    rng, missed = np.random.default_rng(5), 0
    for _ in range(400):
        values, means = [], []
        while len(values) < 120 and (len(values) < 20 or np.mean(values) < 0.9 * largest * 0.3):
            means.append(0.5 if values and values[-1] else 0.2)  # a hit makes the next one likelier
            values.append(largest * float(rng.random() < means[-1]))
        low, high = _bernstein_interval(np.array(values), largest, 0.1)
        missed += not low <= largest * np.mean(means) <= high
    assert binom.sf(80, 400, 0.1) < 1e-8
    assert missed <= 80


def test_standard_errors_of_several_runs_are_from_how_they_differ():
    """Two runs that settled on two arms have means of 1 and 0: they had that of six independent events."""
    rewards, runs, weights = np.repeat([1.0, 0.0], 3), np.repeat([0, 4], 3), np.full(6, 2.0)
    for estimate in (
        replay_estimate(rewards, 0.05, runs),
        inverse_propensity(weights / 2.0, rewards, 1.0, 0.05, runs),
        self_normalised(weights, rewards, runs),
    ):
        assert estimate.value == 0.5
        assert estimate.standard_error == pytest.approx(np.std([1.0, 0.0], ddof=1) / math.sqrt(2))
    alone = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])  # the other run agrees with no event
    assert self_normalised(alone, rewards, runs) == self_normalised(alone, rewards)
    assert replay_estimate(rewards, 0.05, np.zeros(6, dtype=int)) == replay_estimate(rewards, 0.05)
