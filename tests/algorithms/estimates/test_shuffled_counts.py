"""Shuffled counts: private by the exact law of the bits, and never noisier than the theorems count."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, Simulation, Trust
from algorithms import CascadeUCBBatchShuffle, DPBanditShuffle
from algorithms.estimates.doubling_batches import BatchSizes
from algorithms.estimates.shuffled_counts import NOISE, ShuffledBatches, ShuffledCounts
from algorithms.problems import Arms, RankedLists
from mechanisms import Box, Gaussian, OneHot, Sensitivity

CLICKS = Sensitivity(2.0, math.sqrt(2.0), 1.0)
ONE = Sensitivity(1.0, 1.0, 1.0)


def private_and_quiet(epsilon, delta, clients, moved):
    counts = ShuffledCounts(epsilon, delta, 5 if moved == 2 else 1, moved)
    shuffler = counts.mechanism(clients)
    assert shuffler.clients == clients
    assert shuffler.profile(CLICKS if moved == 2 else ONE).delta(epsilon) <= delta
    # ln E e^(s N) = trials ln cosh(s / 2 ones) <= trials s^2 / 8 ones^2.
    assert shuffler.trials / (4 * shuffler.ones**2) <= counts.noise.proxy * (1 + 1e-12)
    gaussian = Gaussian.for_epsilon_delta(epsilon, delta, sensitivity=CLICKS if moved == 2 else ONE)
    assert counts.sigma == pytest.approx(float(NOISE) * gaussian.sigma, rel=1e-12)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 1e-7), (1.0, 1e-3), (1.0, 0.3), (8.0, 1e-6), (30.0, 1e-9)]
)
@pytest.mark.parametrize("clients", [1, 47])
@pytest.mark.parametrize("moved", [1, 2])
def test_the_bits_are_private_and_quiet(epsilon, delta, clients, moved):
    private_and_quiet(epsilon, delta, clients, moved)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(
    epsilon=st.floats(0.02, 30.0),
    exponent=st.floats(-9.0, -0.5),
    clients=st.integers(1, 3000),
    moved=st.integers(1, 2),
)
def test_the_bits_of_1000_random_settings_are_private_and_quiet(epsilon, exponent, clients, moved):
    private_and_quiet(epsilon, 10.0**exponent, clients, moved)


@pytest.mark.parametrize("clients", [1, 2, 31, 32, 1000])
def test_fewer_random_bits_are_less_private(clients):
    """One bit less of each client breaks the claim, where there are few; long batches share what is within 1/16."""
    shuffler = ShuffledCounts(1.0, 1e-5).mechanism(clients)
    fewer = replace(shuffler, trials=shuffler.trials - (2 if clients > 31 else 1) * clients)
    assert fewer.profile(ONE).delta(1.0) > 1e-5


def test_a_click_moves_two_counts_of_any_number():
    few, many = (ShuffledCounts(1.0, 1e-5, positions, 2).mechanism(50) for positions in (2, 9))
    assert few.trials == many.trials
    assert few.profile(CLICKS).delta(1.0) == many.profile(CLICKS).delta(1.0) <= 1e-5
    all_moved = ShuffledCounts(1.0, 1e-5, 9, 9).mechanism(50)
    assert all_moved.trials / all_moved.ones**2 > 4 * many.trials / many.ones**2


def test_counts_are_unbiased_in_lanes_of_different_length():
    """Means of 64 x 40 counts; each fails at 1e-7 (5.3 standard errors), and masked ones are 0."""
    gate = Simulation(3, 64 * 40)
    counts = ShuffledCounts(1.0, 1e-3, 3, 2)
    clients = np.where(np.arange(gate.lanes) % 2, 7, 12)
    sums = gate.sums(3)
    values = np.tile([2.0, 0.0, 5.0], (gate.lanes, 1))
    sums.add(gate.private(values, Box(0, 9, 3), 1), np.tile(np.arange(3), (gate.lanes, 1)))
    where = np.ones((gate.lanes, 3), dtype=bool)
    where[::5] = False
    seen = counts.release(gate, sums, where, clients)
    assert not seen[~where].any()
    for number in (7, 12):
        here = seen[(clients == number) & where[:, 0]]
        shuffler = counts.mechanism(number)
        deviation = math.sqrt(shuffler.trials) / (2 * shuffler.ones)
        assert np.abs(here.mean(axis=0) - [2, 0, 5]).max() < 5.3 * deviation / math.sqrt(len(here))
        assert here.std(axis=0) == pytest.approx(deviation, rel=5.3 / math.sqrt(2 * len(here)))
        assert np.allclose((here * shuffler.ones + shuffler.trials / 2) % 1, 0)


def test_a_lane_is_the_same_whoever_is_beside_it():
    def played(lanes, clients):
        gate = Simulation(3, lanes)
        sums = gate.sums(2)
        where = np.ones((lanes, 2), dtype=bool)
        return ShuffledCounts(1.0, 1e-3, 2, 2).release(gate, sums, where, clients)

    clients = np.array([3, 8] * 64)
    both = played(128, clients)
    alone = played(64, clients[:64])
    assert (both[:64] == alone).all()
    other = played(128, np.concatenate([clients[:64], np.full(64, 5)]))
    assert (other[:64] == alone).all()


def test_batches_wait_for_the_shuffler_of_their_own_length():
    accountant = Accountant(Budget(1.0, 1e-3), trust=Trust.SHUFFLE, noise=np.random.default_rng(1))
    batches = ShuffledBatches(accountant, 2, ShuffledCounts(1.0, 1e-3), BatchSizes(3, 0.5))
    clicks = OneHot(1)
    released = [
        batches.add(np.array([[0]]), accountant.private([1.0], clicks, record)) is not None
        for record in range(8)
    ]
    assert released == [False, False, True, False, True, False, False, True]
    assert [entry.mechanism.clients for entry in accountant.ledger.entries] == [3, 2, 3]
    assert batches.size[0].tolist() == [8, 0]


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), [(1e-4, 1e-6, "1.72e+04"), (3e-4, 1e-12, "1.74e+04")])
def test_claims_that_take_too_many_bits_are_refused_when_a_learner_is_built(epsilon, delta, sigma):
    """They took minutes; nothing is spent before they are refused."""
    rule = (
        rf"epsilon = {epsilon}, delta = {delta}: must be larger for shuffled counts, .* {re.escape(sigma)} "
    )
    with pytest.raises(ValueError, match=rule):
        DPBanditShuffle(Arms(2), Simulation(1, 64), epsilon=epsilon, delta=delta, horizon=10)
    with pytest.raises(ValueError, match=r"must be larger for shuffled counts"):
        CascadeUCBBatchShuffle(RankedLists(3, 2), Simulation(1, 64), epsilon=epsilon, delta=delta, horizon=10)


def test_a_delta_that_no_bits_keep_is_refused_when_a_learner_is_built():
    """Of two counts, what is left out of their law is 1e-30 each; the first act took ten seconds to find out."""
    ShuffledCounts(1.0, 2e-30, 3, 2).mechanism(50)
    with pytest.raises(ValueError, match=r"delta = 1e-30: must be at least 2e-30"):
        ShuffledCounts(1.0, 1e-30, 3, 2)
    ShuffledCounts(1.0, 1e-300)
