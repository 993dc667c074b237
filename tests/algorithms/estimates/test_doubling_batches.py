import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accountant import Accountant, Budget, Simulation
from algorithms.estimates import doubling_batches
from algorithms.estimates.doubling_batches import DoublingBatches
from mechanisms import Box, Laplace

ELEMENTS = 4


def tiny_noise():
    return Laplace(scale=1e-9, sensitivity=Box(0, 1, ELEMENTS).sensitivity)


@settings(max_examples=40)
@given(
    first=st.integers(1, 3),
    plays=st.lists(st.lists(st.integers(0, ELEMENTS - 1), min_size=2, max_size=2, unique=True), max_size=40),
)
def test_every_observation_enters_one_batch_of_its_element(first, plays):
    gate = Simulation(0, 64)
    batches = DoublingBatches(gate, ELEMENTS, tiny_noise(), first)
    values = np.random.default_rng(1).random((len(plays), 64, 2))
    fed = [[] for _ in range(ELEMENTS)]
    for t, play in enumerate(plays):
        batches.add(np.tile(play, (64, 1)), gate.private(values[t], Box(0, 1, 2), t))
        for k, element in enumerate(play):
            fed[element].append(values[t, :, k])
    for element, seen in enumerate(fed):
        size, start = first, 0
        mean, released = np.zeros(64), 0
        while start + size <= len(seen):
            mean, released = np.mean(seen[start : start + size], axis=0), size
            start, size = start + size, 2 * size
        np.testing.assert_allclose(batches.mean[:, element], mean, atol=1e-6)
        np.testing.assert_array_equal(batches.size[:, element], released)


def test_padding_is_no_observation():
    gate = Simulation(0, 64)
    batches = DoublingBatches(gate, ELEMENTS, tiny_noise(), 1)
    batches.add(np.tile([2, -1], (64, 1)), gate.private(np.ones((64, 2)), Box(0, 1, 2), 1))
    np.testing.assert_array_equal(batches.size, np.tile([0, 0, 1, 0], (64, 1)))


def test_lanes_close_their_batches_on_their_own():
    gate = Simulation(0, 64)
    batches = DoublingBatches(gate, ELEMENTS, tiny_noise(), 2)
    lane = np.arange(64)[:, None] % 2
    for t in range(2):
        batches.add(lane * t, gate.private(np.ones((64, 1)), Box(0, 1, 1), t))  # odd lanes: element 0, then 1
    np.testing.assert_array_equal(batches.size[:, 0], np.where(lane[:, 0] == 0, 2, 0))
    np.testing.assert_array_equal(batches.size[:, 1:], 0)


def test_a_record_is_charged_when_its_batch_closes_and_never_again():
    accountant = Accountant(Budget.unlimited(), noise=np.random.default_rng(0))
    mechanism = Laplace(scale=2.0, sensitivity=Box(0, 1, 2).sensitivity)
    batches = DoublingBatches(accountant, ELEMENTS, mechanism, 1)
    spent = []
    for t in range(1, 8):
        batches.add(np.array([[0, 1]]), accountant.private(np.ones((1, 2)), Box(0, 1, 2), t))
        spent.append([float(accountant.spent(record).epsilon) for record in range(1, 8)])
    assert spent[0] == pytest.approx([1, 0, 0, 0, 0, 0, 0])
    assert spent[1] == spent[0]
    assert spent[2] == pytest.approx([1, 1, 1, 0, 0, 0, 0])
    assert spent[6] == pytest.approx([1] * 7)


def test_a_batch_that_was_interrupted_before_its_release_is_released_with_the_next_value(monkeypatch):
    """Ctrl-C left it full: it had room for 0 values, so that learners which hold actions took no round any more."""
    accountant = Accountant(Budget(epsilon=1.0), noise=np.random.default_rng(0))
    mechanism = Laplace(scale=1.0, sensitivity=Box(0, 1, 1).sensitivity)
    batches, own = DoublingBatches(accountant, ELEMENTS, mechanism, 2), doubling_batches.scatter_add
    at = np.array([[1]])

    def add(record):
        batches.add(at, accountant.private([1.0], Box(0, 1, 1), record))

    def interrupted(*given):
        own(*given)
        raise KeyboardInterrupt

    add("ann")
    monkeypatch.setattr(doubling_batches, "scatter_add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        add("bob")
    monkeypatch.setattr(doubling_batches, "scatter_add", own)
    assert batches.values_until_full(at).tolist() == [1]
    add("cid")
    assert batches.size[0, 1] == 3  # as many values as it holds
    assert [accountant.spent(record).epsilon for record in ("ann", "bob", "cid")] == [1, 1, 1]
    assert batches.values_until_full(at).tolist() == [4]
