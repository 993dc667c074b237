"""The theorems of level-free indices: bounds to the digits that were computed apart, and the lemmas on random plays."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.optimize import brentq

from accountant import Simulation
from algorithms import DPBandit
from algorithms.estimates.doubling_batches import released_counts
from algorithms.estimates.level_free import sharpened
from algorithms.play import play_fresh
from algorithms.problems import Arms, SemiBandit, TopK, build_problem
from algorithms.theory.level_free_regret import ReleaseCounts
from algorithms.theory.regret import BOUNDS
from algorithms.theory.regret_bound import Instance
from mechanisms import LaneStreams

GRID = np.linspace(0.05, 0.9, 35)


@pytest.mark.parametrize(
    ("means", "horizon", "plain", "sharp"),
    [
        ([0.75, 0.7, 0.7, 0.7, 0.7], 10**6, 6942.7, 12214.3),
        ([0.75, 0.625, 0.5, 0.375, 0.25], 10**5, 2364.4, 4126.5),
        ([0.75, 0.625, 0.5, 0.375, 0.25], 10**6, 2860.0, 5518.4),
        ([0.1, 0.9], 10**5, 221.0, 342.6),
        ([0.1, 0.9], 10**6, 245.8, 394.1),
    ],
)
def test_theorem_1_to_the_digits(means, horizon, plain, sharp):
    bound = BOUNDS["dp-bandit"].evaluate(Instance(SemiBandit(Arms(len(means)), means), 1.0, horizon))
    assert bound == pytest.approx(sharp, abs=0.1)
    gaps = [max(means) - mean for mean in means if mean < max(means)]
    releases = ReleaseCounts(horizon, math.log(horizon), 2.0, 1.0, share=0.0)
    u = np.geomspace(min(gaps), max(gaps), 201) if min(gaps) < max(gaps) else np.array(gaps[:1])
    found = np.inf
    for theta in GRID:
        below = releases.rounds_below(theta * u)
        behind = u[0] * below[0] + float(np.diff(u) @ below[:-1])
        found = min(found, sum(gap * releases.plays(gap, theta) for gap in gaps) + behind)
    assert found == pytest.approx(plain, abs=0.1)


@pytest.mark.parametrize(
    ("epsilon", "horizon", "expected"),
    [(1.0, 10**5, 111_734), (1.0, 10**6, 136_380), (10.0, 10**5, 38_380), (10.0, 10**6, 46_378)],
)
def test_theorem_2_to_the_digits(epsilon, horizon, expected):
    problem = SemiBandit(TopK(20, 4), [0.2] * 4 + [0.05] * 16)
    assert BOUNDS["cucb-batch"].evaluate(Instance(problem, epsilon, horizon)) == pytest.approx(
        expected, abs=0.5
    )


def test_theorem_3_by_hand():
    """On the paths through a grid: every term at the theta of the least sum, by plain loops."""
    problem = build_problem("shortest-path")
    instance = Instance(problem, 1.0, 10**5)
    gaps, size, steep = instance.gaps, problem.structure.size, problem.structure.smoothness_linf
    few = min(size, math.ceil(10**2 / 36))
    b, first = few, few * math.log(10**5)
    releases = ReleaseCounts(10**5, first, 2 * b * b, b)
    x = math.log(problem.structure.arms * releases.counts.size * 10**5)
    noise = b * (2 * math.sqrt(releases.counts.size * x) + x)
    found = np.inf
    for theta in np.linspace(0.05, 0.6, 12):
        own = sum(
            steep * releases.charge(x, noise, gap / steep, gaps.largest_regret / steep, theta)
            for gap in gaps.members
        )
        one = steep * releases.behind(gaps.least_gap / steep, gaps.largest_regret / steep, theta)
        z = np.geomspace(theta * gaps.least_gap / (2 * size), 1, 201)
        summed = 2 / theta * float(np.diff(z) @ releases.rounds_below(z)[:-1])
        found = min(found, gaps.largest_regret + own + size * min(one, summed))
    assert BOUNDS["cucb-batch"].bound_for(instance).evaluate(instance) == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_rounds_below_by_numerical_integration(share):
    """The mass of Lemma 2: int H' e^(H - v) dv for each count, and C_j by its definition."""
    releases, z, found = ReleaseCounts(10**4, 9.0, 2.0, 1.0, share=share), 0.3, 0.0
    for j, (n, later) in enumerate(zip(releases.counts, releases.later, strict=True), 1):
        variance, most = n / 4 + 2 * j, math.log(10**4 / n)
        h = n * z / variance
        tail = (n * z) ** 2 / (variance * (1 + h + math.sqrt(1 + 2 * h)))
        top = brentq(lambda v, level=most: float(sharpened(np.array(v), share)) - level, 0, 20)
        slope = integrate.quad(
            lambda v: (
                (1 + 4 * math.pi * share / (1 + 4 * math.pi * v))
                * math.exp(float(sharpened(np.array(v), share)) - v)
            ),
            0,
            top,
        )[0]
        found += (later + 1) * (1 + slope) * math.exp(-tail)
    assert releases.rounds_below(np.array([z]))[0] == pytest.approx(found, rel=1e-6)


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_clock_is_never_staler_than_lemma_1_says(first, few, random):
    """Any arms may be played, as long as that changes with releases only; the least counted are fed."""
    arms, rounds = 6, 400
    ends = released_counts(100 * rounds, first, 0.1, 1.5)
    releases, filled, tau, played = [0] * arms, [0] * arms, 0, random.sample(range(arms), 5)
    for t in range(1, rounds + 1):
        for j in releases:
            if j:
                share = max(0.1, 1.5 / j)
                assert t <= (1 + share) * tau + 1 + 1e-9
        fed = sorted(played, key=lambda arm: (releases[arm], arm))[:few]
        full = False
        for arm in fed:
            filled[arm] += 1
            if filled[arm] == ends[releases[arm]]:
                releases[arm] += 1
                full = True
        if full:
            tau, played = t, random.sample(range(arms), 5)


@pytest.mark.slow
def test_rounds_below_are_as_rare_as_lemma_2_says():
    """Of the best of .75, .7 x 4 at epsilon = 1: measured 178, 25 and 4 rounds of 10^4 at z = .05, .1 and .2."""
    problem, horizon = SemiBandit(Arms(5), [0.75, 0.7, 0.7, 0.7, 0.7]), 10_000
    gate = Simulation(1, 128)
    learner = DPBandit(problem.structure, gate, epsilon=1.0, horizon=horizon)
    below = np.zeros(3)
    z = np.array([0.05, 0.1, 0.2])
    for _ in play_fresh(learner, problem, gate, LaneStreams(1, 128, key=(2,)), horizon):
        below += (learner.index[:, :1] < 0.75 - z).mean(axis=0)
    bound = ReleaseCounts(horizon, math.log(horizon), 2.0, 1.0).rounds_below(z)
    assert (below < bound).all()
    assert below[0] > 1  # it happens


def test_what_the_theorem_says_of_plays():
    """Larger gaps never raise it, nor does less noise, but for where batches end; and it is T at most."""
    assert ReleaseCounts(10**4, math.log(10**4), 2.0, 1.0).plays(1e-3, 0.5) == 10**4
    assert ReleaseCounts(1, 0.0, 2.0, 1.0).plays(0.5, 0.5) <= 1
    assert ReleaseCounts(100, 1000.0, 2.0, 1.0).plays(0.5, 0.5) == 100
    by_gap = [ReleaseCounts(10**6, math.log(10**6), 2.0, 1.0).plays(gap, 0.1) for gap in (0.2, 0.4, 0.8)]
    assert by_gap == sorted(by_gap, reverse=True)
    by_noise = [
        ReleaseCounts(10**6, b * math.log(10**6), 2 * b * b, b).plays(0.8, 0.1) for b in (0.01, 0.1, 1.0)
    ]
    assert by_noise[0] < 1.03 * by_noise[1] < by_noise[2]


def test_recommended_learners_have_bounds_below_a_third_of_the_worst_regret():
    """At epsilon = 1 and T = 10^6, on their default problems."""
    for name, problem in (("dp-bandit", "arms"), ("cucb-batch", "top-k"), ("cucb-batch", "graphic-matroid")):
        instance = Instance(build_problem(problem), 1.0, 10**6)
        assert BOUNDS[name].evaluate(instance) < instance.trivial_regret / 3
