"""The slope takes back what a score counts twice, and leaves a log-likelihood ratio as it is."""

import numpy as np
import pytest

from verify.neighbouring.score_slope import slope

N, SHIFT = 200_000, 0.5


def scores(copies, seed):
    """The log-likelihood ratio of N(s, 1) to N(0, 1) is s x - s²/2; so many copies of it are added up."""
    rng = np.random.default_rng(seed)
    draws = rng.normal(SHIFT, size=N), rng.normal(size=N)
    return [copies * (SHIFT * x - SHIFT**2 / 2.0) for x in draws]


@pytest.mark.few(2)
@pytest.mark.parametrize("copies", [1, 2, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_slope_is_one_over_the_number_of_copies(copies, seed):
    """The slope's standard error is about 1 / (copies √(2 N s²/4)) = .006 / copies: 5 of them, once in 2e6 runs."""
    assert abs(slope(*scores(copies, seed)) - 1.0 / copies) < 0.032 / copies


def test_a_modest_score_is_not_made_bolder():
    assert slope(*scores(0.5, 0)) == 1.0


def test_scores_that_say_nothing_or_the_contrary_count_nothing():
    ones = np.ones(100)
    assert slope(ones, ones) == 0.0
    assert slope(*scores(1, 0)[::-1]) == 0.0
    assert slope(np.array([np.inf, 1.0]), ones) == 0.0


def test_worlds_that_are_far_apart_do_no_harm():
    assert 0.0 <= slope(50.0 + np.arange(100.0), -50.0 - np.arange(100.0)) <= 1.0
