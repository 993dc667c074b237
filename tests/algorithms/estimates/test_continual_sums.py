"""Tree counters through a gate: right sums, the counters' variance, and what the ledger charges."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from accountant import Accountant, Budget, Simulation
from algorithms.estimates.continual_sums import PrivateHybridSums, PrivateTreeSums
from mechanisms import BinaryTree, Box, HorizonExceeded, Hybrid, Sensitivity

PAIR = Box(0.0, 1.0, 2)
TWO = PAIR.sensitivity


def sparse(rounds: int, lanes: int, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values (rounds, lanes, 2) and two distinct coordinates each, the second sometimes padding."""
    rng = np.random.default_rng(seed)
    at = np.array([[rng.choice(size, 2, replace=False) for _ in range(lanes)] for _ in range(rounds)])
    at[rng.random((rounds, lanes)) < 0.3, 1] = -1
    return rng.random((rounds, lanes, 2)) * (at >= 0), at


def prefix_sums(values: np.ndarray, at: np.ndarray, size: int) -> np.ndarray:
    total = np.zeros((len(values), values.shape[1], size))
    for t in range(len(values)):
        for lane in range(values.shape[1]):
            for value, place in zip(values[t, lane], at[t, lane], strict=True):
                if place >= 0:
                    total[t:, lane, place] += value
    return total


def test_the_sums_are_right() -> None:
    """With next to no noise: every prefix, every coordinate, padding, clocks that run apart."""
    values, at = sparse(70, 64, 5, 1)
    wanted = prefix_sums(values, at, 5)
    for counters in (
        lambda gate: PrivateTreeSums(gate, BinaryTree.for_epsilon(1e12, horizon=70, sensitivity=TWO), 5),
        lambda gate: PrivateHybridSums(gate, Hybrid(epsilon=1e12, sensitivity=TWO), 5),
    ):
        gate = Simulation(3, 64)
        sums = counters(gate)
        for t in range(70):
            running = sums.step(gate.private(values[t], PAIR, t), at[t])
            np.testing.assert_allclose(running, wanted[t], atol=1e-6)


def test_variance_is_the_counters() -> None:
    """640 lanes of 3 coordinates, 20 steps: each step's variance, false alarm 1e-7 each."""
    lanes = 640
    tree, hybrid = BinaryTree.for_epsilon(1.0, horizon=20), Hybrid(epsilon=1.0)
    spread = stats.norm.isf(5e-8) * math.sqrt(5.0 / (3 * lanes))  # kurtosis of sums of Laplace draws <= 6
    for build in (
        lambda gate: PrivateTreeSums(gate, tree, 3),
        lambda gate: PrivateHybridSums(gate, hybrid, 3),
    ):
        gate = Simulation(7, lanes)
        sums = build(gate)
        counter = tree if isinstance(sums, PrivateTreeSums) else hybrid
        for t in range(1, 21):
            everywhere = np.tile(np.arange(3), (lanes, 1))
            running = sums.step(gate.private(np.zeros((lanes, 3)), Box(0, 1, 3), t), everywhere)
            assert np.mean(running**2) / counter.variance(t) == pytest.approx(1.0, abs=spread)


def test_every_record_pays_for_the_nodes_that_hold_it() -> None:
    """The first record lies in the most nodes and pays the whole ε; nobody pays more."""
    epsilon, horizon = 0.7, 37
    tree = BinaryTree.for_epsilon(epsilon, horizon=horizon, sensitivity=TWO)
    accountant = Accountant(Budget(epsilon), noise=np.random.default_rng(0))
    sums = PrivateTreeSums(accountant, tree, 4)
    for t in range(horizon):
        sums.step(accountant.private([0.5, 1.0], PAIR, t), np.array([[t % 4, (t + 1) % 4]]))
    per_node = Fraction(2) / Fraction(tree.mechanism.scale)
    nodes = tree.materialize(horizon).right.sum(axis=0)
    for t in range(horizon):
        owed = int(nodes[t]) * per_node
        assert (
            owed <= accountant.spent(t).epsilon <= owed * (1 + Fraction(1, 2**120))
        )  # charges are rounded up
    assert float(accountant.worst()[1].epsilon) == pytest.approx(epsilon, rel=1e-15)  # type: ignore[arg-type]
    with pytest.raises(HorizonExceeded):
        sums.step(accountant.private([0.5, 1.0], PAIR, 99), np.array([[0, 1]]))


def test_the_published_scale_is_charged_truly() -> None:
    """Lemma 1's scale, l1 ln T / ε, costs the first record (⌊log₂ T⌋ + 1) / ln T times ε."""
    tree = BinaryTree.as_published(1.0, horizon=100, sensitivity=TWO, factor=1.0)
    accountant = Accountant(Budget(math.inf), noise=np.random.default_rng(0))
    sums = PrivateTreeSums(accountant, tree, 2)
    for t in range(100):
        sums.step(accountant.private([0.5, 1.0], PAIR, t), np.array([[0, 1]]))
    assert float(accountant.worst()[1].epsilon) == pytest.approx(7 / math.log(100))  # type: ignore[arg-type]


def test_hybrid_records_pay_at_most_epsilon() -> None:
    accountant = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    sums = PrivateHybridSums(accountant, Hybrid(epsilon=1.0, sensitivity=TWO), 3)
    values, at = sparse(80, 1, 3, 4)
    for t in range(80):
        sums.step(accountant.private(values[t, 0], PAIR, t), at[t])
    assert 0.9 < float(accountant.worst()[1].epsilon) <= 1.0  # type: ignore[arg-type]


def test_a_record_beyond_the_declared_movement_is_refused() -> None:
    accountant = Accountant(Budget(math.inf), noise=np.random.default_rng(0))
    sums = PrivateTreeSums(
        accountant, BinaryTree.for_epsilon(1.0, horizon=1, sensitivity=Sensitivity(1, 1, 1)), 2
    )
    with pytest.raises(ValueError, match="calibrated for"):
        sums.step(accountant.private([0.5, 1.0], PAIR, 1), np.array([[0, 1]]))
