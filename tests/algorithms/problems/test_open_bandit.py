import numpy as np
import pytest

from algorithms.problems import (
    ProblemError,
    open_bandit,
    open_bandit_cascade,
    open_bandit_counts,
    open_bandit_rates,
)


def test_the_counts_are_those_of_the_log():
    displays, clicks = open_bandit_counts()
    assert displays.shape == clicks.shape == (80, 3)
    assert displays.sum(axis=0).tolist() == [3322, 3412, 3266]
    assert clicks.sum(axis=0).tolist() == [13, 14, 11]
    assert (displays.sum(axis=1).min(), displays.sum(axis=1).max()) == (96, 160)
    assert (clicks.sum(axis=1) == 0).sum() == 51
    assert (clicks <= displays).all()


def test_rates_are_clicks_over_displays():
    displays, clicks = open_bandit_counts()
    np.testing.assert_array_equal(open_bandit_rates(), clicks.sum(axis=1) / displays.sum(axis=1))
    np.testing.assert_array_equal(open_bandit_rates(2), clicks[:, 1] / displays[:, 1])
    assert open_bandit_rates().argmax() == 49
    assert open_bandit_rates()[49] == 3 / 114


def test_the_best_three_items():
    problem = open_bandit()
    best = problem.structure.solve(problem.means[np.newaxis])[0]
    assert best.tolist() == [49, 53, 58]
    rates = [3 / 114, 2 / 105, 2 / 112]
    assert np.isclose(problem.optimum, sum(rates), rtol=1e-12)
    assert np.isclose(open_bandit_cascade().optimum, 1 - np.prod(1 - np.array(rates)), rtol=1e-12)


@pytest.mark.parametrize("make", [open_bandit, open_bandit_cascade])
@pytest.mark.parametrize("items", [0, 81])
def test_items_that_the_log_does_not_have_are_refused(make, items):
    with pytest.raises(ProblemError, match=f"items = {items}: must be at (least 1|most .* in the log, 80)"):
        make(items)
    assert make(80).means.size == 80
    assert make(4).means.tolist() == open_bandit_rates()[:4].tolist()
