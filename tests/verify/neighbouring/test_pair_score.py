"""The score of a pair predicts what the final test of it reports."""

import math

import numpy as np
import pytest

from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import Column, ViewSample
from verify.neighbouring.pair_score import halves, score_pair


def lower_bound(worlds, samples=10_000):
    return score_pair(*halves(tuple(worlds)), ComingTest(0.0, 1e-4, samples), coupled=True).lower


def test_the_score_is_about_epsilon():
    """Randomized response at epsilon 1: the divergence says epsilon, up to its error; a sure event says more."""
    rng = np.random.default_rng(0)
    column = (Column("output", "the output", "category"),)
    heads = math.e / (1 + math.e)
    worlds = [ViewSample((rng.random((20_000, 1)) < p).astype(float), column) for p in (heads, 1 - heads)]
    assert lower_bound(worlds) == pytest.approx(1.0, abs=0.1)
    same = [ViewSample(rng.normal(size=(20_000, 1)), column) for _ in range(2)]
    assert lower_bound(same) < 0.05
    rare = [ViewSample((rng.random((20_000, 1)) < p).astype(float), column) for p in (0.02, 0.0)]
    assert lower_bound(rare) > 2.0


@pytest.mark.slow
def test_on_many_draws_a_coming_test_is_predicted():
    """A leak of 0.1 that every draw shows is worth more than luck in the tails of eight columns of noise."""
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(8))
    rng = np.random.default_rng(1)
    scores = []
    for shift in (0.1, 0.0):
        worlds = [ViewSample(rng.laplace(0.0, 1.0, (60_000, 8)), columns) for _ in range(2)]
        worlds[1].values[:, 5] += shift
        scores.append(lower_bound(worlds, 2_000_000))
    assert scores[1] < 0.04 < 0.06 < scores[0] < 0.12


def test_worlds_that_show_the_same_constant_say_nothing():
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(3))
    same = [ViewSample(np.ones((600, 3)), columns) for _ in range(2)]
    score = score_pair(*halves(tuple(same)), ComingTest(0.0, 1e-4, 10_000), coupled=True)
    assert score.lower <= 0.0 == score.divergence


@pytest.mark.slow
def test_a_step_hidden_in_running_sums_counts():
    """A record that moves two steps of a running sum is ranked above one that moves the first, on few draws."""
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(16))
    rng = np.random.default_rng(2)
    scores = []
    for moved in ([0], [9, 12]):
        steps = rng.laplace(size=(2, 1_024, 16))
        steps[1][:, moved] += 1.0
        worlds = [ViewSample(values, columns) for values in np.cumsum(steps, axis=2)]
        scores.append(
            score_pair(*halves(tuple(worlds)), ComingTest(0.0, 1e-4, 10_000), coupled=True).divergence
        )
    assert scores[0] < 0.85 < scores[1]
