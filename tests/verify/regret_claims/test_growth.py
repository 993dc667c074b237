"""Regret like log T is not called faster; regret like the root of T is."""

import numpy as np
import pytest

from algorithms import CUCB, CUCBBatch
from algorithms.problems import ProblemError
from verify.regret_claims.growth import measure_growth
from verify.regret_claims.simulated_regret import RegretOptions


class Exploring(CUCB):
    """Explores in every t-th round with probability 1 / sqrt(t): regret like the root of T."""

    def choose(self):
        chosen, lanes = super().choose(), self.gate.lanes
        explore = self.gate.random.random((lanes, 1)) < self.round**-0.5
        return np.where(explore, (self.gate.random.random((lanes, 1)) < 0.5).astype(np.int64), chosen)


class Uniform(CUCBBatch):
    """Learns nothing: an arm at random in every phase."""

    def choose(self):
        return (self.gate.random.random((self.gate.lanes, 1)) < 0.5).astype(np.int64)


def test_regret_like_log_t():
    report = measure_growth(CUCBBatch, RegretOptions(epsilon=4.0))
    assert not report.faster
    assert report.ratio < 1.5


def test_regret_like_t():
    report = measure_growth(Uniform, RegretOptions(epsilon=4.0, runs=256))
    assert report.faster
    assert report.ratio == pytest.approx(16, rel=0.2)


@pytest.mark.slow
def test_regret_like_the_root_of_t():
    assert not measure_growth(CUCB, RegretOptions()).faster
    report = measure_growth(Exploring, RegretOptions())
    assert report.faster
    assert report.ratio == pytest.approx(4, rel=0.2)


def test_the_first_horizon_is_where_a_bound_speaks():
    report = measure_growth(CUCBBatch, RegretOptions(runs=64), bound=lambda instance: 150.0)
    assert 750 <= report.horizons[0] <= 760  # 150 is a third of 0.6 T


def test_learners_of_linear_bandits_are_refused():
    class Linear:
        family = "linear"

    with pytest.raises(ProblemError, match="linear"):
        measure_growth(Linear, RegretOptions())
