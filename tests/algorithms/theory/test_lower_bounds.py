import math

import numpy as np
import pytest

from algorithms.problems import build_problem
from algorithms.theory.gaps import problem_gaps
from algorithms.theory.lower_bounds import LOWER_BOUNDS, p, two_point_bound
from algorithms.theory.regret_bound import B1, B, Delta, K, L, epsilon


def test_theorems_5_6_11_and_12():
    values = {B: 2, B1: 3, Delta: 0.2, K: 2, L: 8, epsilon: 0.5, p: 0.5}
    e = math.exp(0.5) - 1

    def value(name):
        return float(LOWER_BOUNDS[name].per_log.subs(values))

    assert value("semi-bandit local, B_inf") == pytest.approx(4 * 7 / (64 * e**2 * 0.2))
    assert value("semi-bandit local, B_1") == pytest.approx(9 * 6 * 2 / (64 * e**2 * 0.2))
    assert value("cascade local") == pytest.approx(6 * 0.5 * 0.3 * 0.7 / (2 * math.exp(1.0) * e**2 * 0.2))
    assert value("cascade central") == pytest.approx(6 * 0.5 / (200 * 0.5))


def test_the_corrected_divergence_bound_holds_where_the_printed_one_fails():
    high, low = 0.1, 0.01
    divergence = high * math.log(high / low) + (1 - high) * math.log((1 - high) / (1 - low))
    assert divergence > 0.09**2 / (high * (1 - high))
    assert divergence < 0.09**2 / (low * (1 - low))


@pytest.mark.parametrize("gap", [0.05, 0.3, 0.45])
@pytest.mark.parametrize("eps", [0.1, 1.0, 5.0])
def test_two_points_against_every_rule_that_looks_once(gap, eps):
    """Look at arm 2 in round 1 by randomized response, then commit: exact regrets of all four rules."""
    horizon, truth = 10, 1 / (1 + math.exp(-eps))
    for play_two in np.ndindex(2, 2):  # in rounds 2 to T, after symbol 0 or 1
        sums = plays = 0.0
        for sign in (-1, 1):
            mean = 0.5 + sign * gap
            one = mean * truth + (1 - mean) * (1 - truth)
            share = (1 - one) * play_two[0] + one * play_two[1]
            pulls = 1 + (horizon - 1) * share
            if sign < 0:
                plays = pulls
                sums += gap * pulls
            else:
                sums += gap * (horizon - pulls)
        assert sums >= two_point_bound(horizon, gap, eps, plays)


def test_instances_can_be_run_by_name():
    """Each has the gap that its theorem speaks of."""
    for bound in LOWER_BOUNDS.values():
        if not bound.problem:
            continue
        words = bound.problem.split()
        settings = dict(word.split("=") for word in words[2:] if "=" in word)
        problem = build_problem(words[1], settings)
        gaps = problem_gaps(problem)
        assert 0 < gaps.least_gap <= 0.8
