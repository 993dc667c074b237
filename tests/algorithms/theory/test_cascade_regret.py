"""The theorems of lists: what their proofs add up, by itself, and on random plays."""

import functools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from accountant import Simulation
from algorithms.catalogue.structured_entries import learners
from algorithms.play import play_fresh
from algorithms.problems import Cascade
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import LaneStreams


def displays(name, problem, epsilon, horizon, gap):
    """N(u) of one item that is so much worse than all of the best, which cost the same."""
    settings = {"index": "confidence"} if name == "cascade-ucb-batch" else {}
    return (BOUNDS[name].evaluate(Instance(problem, epsilon, horizon, settings=settings)) - 1) / gap


def test_theorem_5_adds_up_its_proof_s_probabilities():
    """N(u) is above the sum over all numbers of displays of what Hoeffding's inequality leaves, and not far."""
    epsilon, horizon, p0 = 2.0, 10**6, 0.4
    x, gain = math.log(6 * 3 * horizon**2), (math.exp(epsilon) - 1) / (math.exp(epsilon) + 2)
    n = np.arange(1, horizon + 1)
    for gap in (0.05, 0.2, 0.6):
        problem = Cascade(3, 2, [0.6, 0.6, 0.6 - gap])
        plays = displays("cascade-ucb-rr", problem, epsilon, horizon, gap)
        few = p0 * ((math.sqrt(x) + math.sqrt(2)) / (math.sqrt(2) * gain * p0 * gap)) ** 2
        z = math.sqrt(2) * gain * np.maximum(p0 * n, few) / np.sqrt(n)
        summed = few + 1 + np.exp(-((gap * z - math.sqrt(x)) ** 2)).sum() + np.exp(-(z**2)).sum()
        assert 0.97 * plays < summed < plays


@pytest.mark.parametrize(("epsilon", "gap"), [(1.0, 0.15), (1.0, 0.6), (20.0, 0.05), (20.0, 0.3)])
def test_theorem_6_leaves_as_few_rounds_as_its_proof_says(epsilon, gap):
    """At the best z for n_0 a phase has at most ``n_0 e^-y`` rounds in expectation, whatever the displays before it.

    Of the event about clicks, where it is attained, and of that about examinations.
    """
    horizon, p0, b, best = 10**6, 0.4, 2 / epsilon, 0.6
    phases = 3 * (2 + math.log2(horizon))
    x, y = math.log(9 * phases * horizon**2), math.log(20 * phases)
    problem = Cascade(3, 2, [best, best, best - gap])
    n0 = (displays("cascade-ucb-batch", problem, epsilon, horizon, gap) - 1) / (p0 + 1.1)
    n = np.concatenate([[n0], np.geomspace(1, 10**9, 2001)])
    long = np.maximum(n, n0)  # R and V are no larger before n_0, and Q no less

    def rounds(z, drift, noise, width):
        variance = long / 4 + 2 * b * b * phases * noise
        return np.log(n) - z * (drift * p0 * long - width(variance)) + z**2 * variance / (2 * (1 - b * z))

    for drift, noise, width in (
        (gap, 1 + best**2, lambda variance: b * x + np.sqrt(2 * x * variance)),
        (1.0, 1.0, lambda variance: np.sqrt(2 * x * 2 * b * b * phases)),
    ):
        z = minimize_scalar(
            lambda z, given=(drift, noise, width): rounds(z, *given)[0], bounds=(0, 1 / b), method="bounded"
        ).x
        most = rounds(z, drift, noise, width).max()
        assert most < math.log(n0) - y + 1e-6
        assert drift == 1 or most > math.log(n0) - y - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epsilon"), [("cascade-ucb-rr", 3.0), ("cascade-ucb-batch", 8.0)])
def test_items_are_shown_as_rarely_as_the_theorems_say(name, epsilon):
    """Of an item that is .5 worse than two: its expected examinations at an index of so much more, and the others'."""
    problem, horizon, runs = Cascade(3, 2, [0.6, 0.6, 0.1]), 20_000, 64
    gate = Simulation(1, runs)
    given = {"index": "confidence"} if name == "cascade-ucb-batch" else {}
    learner = functools.partial(learners[name].make, epsilon=epsilon, horizon=horizon, **given)(
        problem.structure, gate
    )
    seen, valid, index = 0.0, True, learner.click_confidence().index.copy()
    for shown in play_fresh(learner, problem, gate, LaneStreams(1, runs, key=(2,)), horizon):
        above = np.cumprod(1 - problem.means[shown], axis=1) / (1 - problem.means[shown])
        bad = (shown == 2) & (index[:, 2:] >= 0.6)
        seen += float((above * bad).sum(axis=1).mean())
        index = learner.click_confidence().index.copy()
        valid &= bool((index[:, :2] >= 0.6).all())
    most = displays(name, problem, epsilon, horizon, 0.5)
    assert valid
    assert most / 30 < seen < most
