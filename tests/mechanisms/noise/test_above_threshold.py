"""Sparse vector with Gaussian noise: its curve is above exact runs on data that move by what they may."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from accountant.audit.release_tables import from_tables
from accountant.audit.releases import ReleaseFileError
from mechanisms.composition.composed_loss import compose
from mechanisms.composition.enclosure import Bound, Enclosure
from mechanisms.noise.above_threshold import AboveThresholdProfile


def outcomes(values, thresholds, sigma, tau):
    """Return the probabilities of each query to be the first above, and of none: sums over the threshold's noise."""
    y = np.linspace(-10.0, 10.0, 2001) * sigma
    weights = norm.pdf(y / sigma) / sigma * (y[1] - y[0])
    going_on, found = np.ones(y.size), []
    for value, threshold in zip(values, thresholds, strict=True):
        at = (threshold + y - value) / tau
        found.append(float(going_on * norm.sf(at) @ weights))
        going_on = going_on * norm.cdf(at)
    return np.array([*found, float(going_on @ weights)])


@pytest.mark.parametrize("monotone", [False, True])
def test_no_data_lose_more(monotone):
    """With one query far above and the record's movement down for all before, the bound is nearly met."""
    rng, nearest = np.random.default_rng(7), 0.0
    for _ in range(60):
        k, (sigma, tau) = int(rng.choice([1, 2, 5, 12])), rng.uniform(0.7, 5.0, 2)
        thresholds = tau * (rng.normal(0.0, 1.0, k) + rng.uniform(0.0, 3.0))
        moved = np.append(np.ones(k - 1), -1.0) if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, k)
        moved = np.abs(moved) * rng.choice([-1.0, 1.0]) if monotone else moved
        p, q = (outcomes(own, thresholds, sigma, tau) for own in (np.zeros(k), moved))
        own = AboveThresholdProfile(1 / Fraction(sigma), (1 if monotone else 2) / Fraction(tau), k)
        for epsilon in (0.0, 0.2, 0.7, 1.5):
            for one, other in ((p, q), (q, p)):
                truth = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
                assert truth <= own.delta(epsilon) + 1e-12
                nearest = max(nearest, truth / own.delta(epsilon))
    assert nearest > 0.1


def test_many_runs_cost_the_hull_of_the_curve():
    """The curve is 1 up to some ε; chords from (0, 1) to where it falls are what the composition needs."""
    runs = compose([(AboveThresholdProfile(Fraction(1, 10), Fraction(1, 5), 10), 20)])
    assert 7.48 < runs.epsilon(1e-3).upper < 7.49  # 10.12 by the curve itself
    assert 9.85 < runs.epsilon(1e-6).upper < 9.86


def test_a_run_in_a_file():
    table = {
        "mechanism": "gaussian-sparse-vector",
        "threshold_sigma": 10.0,
        "query_sigma": 20.0,
        "queries": 100,
    }
    found = {}
    for monotone in (False, True):
        releases = from_tables("a file", {"release": [{**table, "monotone": monotone, "count": 3}]})
        found[monotone] = compose(releases.profile_counts(releases.groups[0])).epsilon(1e-6)
        assert isinstance(found[monotone], Bound)
        assert not isinstance(found[monotone], Enclosure)
    assert found[True].upper < found[False].upper
    with pytest.raises(ReleaseFileError, match="queries = 0"):
        from_tables("a file", {"release": [{**table, "queries": 0}]})
    with pytest.raises(ReleaseFileError, match="queries = 1000001: must be at most 1,000,000"):
        from_tables("a file", {"release": [{**table, "queries": 1_000_001}]})
    with pytest.raises(ReleaseFileError, match="query_mu = inf: must be positive and finite"):
        from_tables("a file", {"release": [{**table, "query_sigma": 5e-324}]})


def test_more_queries_and_less_noise_cost_more():
    def epsilon(a, b, queries):
        return AboveThresholdProfile(Fraction(a), Fraction(b), queries).epsilon(1e-6)

    assert epsilon(0.1, 0.1, 10) < epsilon(0.1, 0.1, 1000) < epsilon(0.1, 0.2, 1000) < epsilon(0.2, 0.2, 1000)
