"""Running sums: values, padding, clearing, and misuse."""

import copy
import pickle

import numpy as np
import pytest

from accountant import Accountant, Budget, Coupled, ForeignValue, RawRead, Simulation
from mechanisms import Box, OneHot, Sensitivity

SIZE = 4


def unlimited():
    return Accountant(Budget.unlimited(), noise=np.random.default_rng(0))


def test_an_accountants_sums_add_where_they_should():
    gate = unlimited()
    sums = gate.sums(SIZE)
    sums.add(gate.private([0.25, 0.5], Box(0, 1, 2), 1), at=np.array([[3, 1]]))
    sums.add(gate.private([0.25, 1.0], Box(0, 1, 2), 2), at=np.array([[1, -1]]))
    assert gate.declassify(sums, "a test").tolist() == [[0.0, 0.75, 0.0, 0.25]]
    sums.clear(np.array([[False, True, False, False]]))
    assert gate.declassify(sums, "a test").tolist() == [[0.0, 0.0, 0.0, 0.25]]


def test_lanes_and_worlds_add_like_a_literal_loop():
    rng = np.random.default_rng(3)
    gate = Coupled(0, 64, 2)
    sums = gate.sums(SIZE)
    literal = np.zeros((3, 64, SIZE))
    for step in range(30):
        worlds = 3 if step % 4 == 0 else 1
        values = rng.integers(0, 2**20, (worlds, 64, 2), endpoint=True) / 2**20
        at = np.array([rng.choice(SIZE, 2, replace=False) for _ in range(64)])
        at[rng.random((64, 2)) < 0.2] = -1
        sums.add(gate.private(values, Box(0, 1, 2), step), at=at)
        for world in range(3):
            for lane in range(64):
                for k in range(2):
                    if at[lane, k] >= 0:
                        literal[world, lane, at[lane, k]] += values[world % worlds, lane, k]
        where = rng.random((64, SIZE)) < 0.1
        sums.clear(where)
        literal[:, where] = 0.0
        np.testing.assert_array_equal(sums._values, literal)


def test_clearing_forgets_the_records_and_their_joint_bounds():
    gate = unlimited()
    sums = gate.sums(3)
    everything = np.ones((1, 3), bool)
    for _ in range(5):
        sums.add(gate.private([0.0, 1.0, 0.0], OneHot(3), "u"), at=np.array([[0, 1, 2]]))
        ((sensitivity, records, _),) = sums._provenance.movements(None)
        assert (sensitivity.l1, sensitivity.linf, list(records)) == (2.0, 1.0, ["u"])
        sums.clear(everything)
        assert sums._provenance.movements(None) == []


def test_one_hot_and_other_records_in_one_sum():
    gate = unlimited()
    sums, at = gate.sums(3), np.array([[0, 1, 2]])
    sums.add(gate.private([0.0, 1.0, 0.0], OneHot(3), "one-hot"), at=at)
    sums.add(gate.private([0.5] * 3, Box(0, 1, 3), "box"), at=at)
    found = {record: moved for moved, records, _ in sums._provenance.movements(None) for record in records}
    assert found["box"] == Sensitivity.of_box([1.0] * 3)
    assert found["one-hot"].l1 >= 2.0


BAD_AT = {
    "shape": [[0]],
    "flat": [0, 1],
    "too large": [[0, 4]],
    "fraction": [[0.0, 1.0]],
    "mask": [[True, False]],
    "twice": [[2, 2]],
    "the first twice": [[0, 0]],
}


@pytest.mark.parametrize("at", BAD_AT.values(), ids=BAD_AT)
def test_wrong_coordinates_are_refused_and_change_nothing(at):
    gate = unlimited()
    sums = gate.sums(SIZE)
    private = gate.private([0.5, 0.5], Box(0, 1, 2), 1)
    with pytest.raises(ValueError, match=r"at"):
        sums.add(private, at=np.array(at))
    assert sums._provenance.movements(None) == []
    assert not sums._values.any()


def test_none_may_be_named_twice():
    gate = unlimited()
    sums = gate.sums(SIZE)
    sums.add(gate.private([0.5, 0.5], Box(0, 1, 2), 1), at=np.array([[-1, -1]]))
    assert not sums._values.any()


@pytest.mark.parametrize("where", [np.ones(4, bool), np.zeros((1, 4), int), np.ones((2, 4), bool)])
def test_clear_needs_a_mask(where):
    with pytest.raises(ValueError, match=r"a boolean mask of the value's shape \(1, 4\)"):
        unlimited().sums(SIZE).clear(where)


def test_only_private_values_of_the_same_gate_are_added():
    gate = unlimited()
    with pytest.raises(TypeError, match="a ndarray cannot be added"):
        gate.sums(1).add(np.ones((1, 1)), at=np.array([[0]]))
    with pytest.raises(ForeignValue, match="another gate"):
        gate.sums(1).add(unlimited().private([0.5], Box(0, 1, 1), 1), at=np.array([[0]]))


def test_sums_are_not_read_or_forked():
    gate = unlimited()
    sums = gate.sums(1)
    sums.add(gate.private([0.625], Box(0, 1, 1), 1), at=np.array([[0]]))
    for fork in (copy.copy, copy.deepcopy, pickle.dumps, lambda s: s.__getstate__()):
        with pytest.raises(RawRead, match="copied or pickled"):
            fork(sums)
    for read in (float, int, list, lambda s: s + 1, lambda s: s[0], lambda s: s.sum(), np.exp):
        with pytest.raises((TypeError, AttributeError)):
            read(sums)
    assert repr(sums) == "<private sums of shape (1, 1)>"
    for read in (np.asarray, np.sum, bool, sorted, lambda s: s > 0, lambda s: 0 + s):
        with pytest.raises(RawRead, match="release sums through their gate"):
            read(sums)


def test_a_simulation_sums_too():
    gate = Simulation(0, 64)
    sums = gate.sums(2)
    sums.add(gate.private(np.full((64, 1), 0.5), Box(0, 1, 1), 1), at=np.ones((64, 1), int))
    assert gate.declassify(sums, "a test")[5].tolist() == [0.0, 0.5]
