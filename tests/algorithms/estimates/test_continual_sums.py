"""Tree counters through a gate: right sums, the counters' variance, and what the ledger charges."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from accountant import Accountant, Budget, BudgetExceeded, Simulation
from algorithms.estimates.continual_sums import PrivateHybridSums, PrivateTreeSums
from mechanisms import BinaryTree, Box, HorizonExceeded, Hybrid, Laplace, Sensitivity

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


def test_a_restarted_tree_sums_what_came_since() -> None:
    """With next to no noise: running sums of all values after the release that failed."""
    gate = Accountant(Budget(1e12), noise=np.random.default_rng(0))
    pair = Box(0, 1, 2)
    at = np.array([[0, 1]])
    for sums in (
        PrivateTreeSums(gate, BinaryTree.for_epsilon(1e11, horizon=40, sensitivity=pair.sensitivity), 2),
        PrivateHybridSums(gate, Hybrid(epsilon=1e11, sensitivity=pair.sensitivity), 2),
    ):
        kind = type(sums).__name__
        for i in range(5):
            sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
        left = float(gate.remaining_spend(f"{kind}-4").epsilon)
        gate.release(
            Laplace.for_epsilon(left - 1.0, sensitivity=pair.sensitivity),
            gate.private([1.0, 0.5], pair, f"{kind}-4"),
        )
        i, lost = 5, False
        while not lost:
            try:
                sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
            except BudgetExceeded as refused:
                lost = refused.record == f"{kind}-4"
                assert lost
            i += 1
        for since in range(1, 25):
            running = sums.step(gate.private([1.0, 0.5], pair, f"{kind}-{i}"), at)
            np.testing.assert_allclose(running, [[since, 0.5 * since]], atol=1e-6)
            i += 1


def ask_at_the_door(
    build: Callable[[Accountant], Any], node: Laplace, paid: Fraction, leaf: int, steps: int
) -> None:
    """Bring a user with just enough, and one with a hair less, to a counter at this leaf; play on to the end."""
    pair = Box(0, 1, 2)
    gate = Accountant(Budget(1.0), noise=np.random.default_rng(0))
    counter = build(gate)
    at = np.array([[0, 1]])
    value = [1.0, 0.5]
    for i in range(1, leaf):
        counter.step(gate.private(value, pair, i), at)
    for name, rest in (("short", paid - Fraction(1, 10**6)), ("exact", paid + Fraction(1, 10**6))):
        elsewhere = Laplace.for_epsilon(float(1 - rest), sensitivity=pair.sensitivity)
        gate.release(elsewhere, gate.private(value, pair, name))
    before = gate.spent("exact").epsilon
    with pytest.raises(BudgetExceeded, match="'short'"):
        counter.step(gate.private(value, pair, "short"), at)
    counter.step(gate.private(value, pair, "exact"), at)
    for i in range(leaf + 1, steps + 1):
        counter.step(gate.private(value, pair, i), at)
    charged = gate.spent("exact").epsilon - before  # type: ignore[operator]
    assert charged == pytest.approx(paid, rel=1e-36, abs=0.0)  # charges are rounded up


def test_a_tree_asks_for_all_nodes_that_it_will_release_and_no_more() -> None:
    pair = Box(0, 1, 2).sensitivity
    tree = BinaryTree.for_epsilon(0.9, horizon=13, sensitivity=pair)
    nodes = tree.materialize(13).right.sum(axis=0)
    for leaf in range(1, 14):
        paid = int(nodes[leaf - 1]) * Fraction(2) / Fraction(tree.mechanism.scale)
        ask_at_the_door(lambda gate: PrivateTreeSums(gate, tree, 2), tree.mechanism, paid, leaf, 13)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_hybrid_counter_does_too() -> None:
    pair = Box(0, 1, 2).sensitivity
    hybrid = Hybrid(epsilon=0.9, sensitivity=pair)
    for leaf in range(1, 17):
        levels = leaf.bit_length() - 1
        inside = leaf - (1 << levels)
        tree = BinaryTree(horizon=max((1 << levels) - 1, 1), mechanism=hybrid.node(1))
        nodes = int(tree.materialize(tree.horizon).right.sum(axis=0)[inside - 1]) if inside else 0
        paid = Fraction(2) / Fraction(hybrid.node(1).scale)
        if nodes:
            paid += nodes * Fraction(2) / Fraction(hybrid.node(levels).scale)
        ask_at_the_door(lambda gate: PrivateHybridSums(gate, hybrid, 2), hybrid.node(1), paid, leaf, 32)
