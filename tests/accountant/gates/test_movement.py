"""Movements beyond what was declared, in each norm."""

import numpy as np
import pytest

from accountant.gates.movement import distance, excess
from mechanisms import Sensitivity

LIMIT = Sensitivity(3.0, 1.5, 1.0)


@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ([1.0, 1.0, 1.0, 0.5], "3.5 in L1 norm, more than the 3"),
        ([1.25, 0.0, 0.0, 0.0], "1.25 in one coordinate, more than the 1"),
        ([1.0, 1.0, 1.0, 0.0], "1.73205 in L2 norm, more than the 1.5"),
    ],
)
def test_each_norm_is_checked_and_named(moved, words):
    broken, found = excess(np.array([[0.0] * 4, moved]), LIMIT)
    assert broken.tolist() == [False, True]
    assert found == words


def test_what_is_declared_is_allowed_up_to_rounding():
    broken, _ = excess(np.array([[1.0, 1.0, 0.5, 0.0], [1.0 + 1e-12, 0.0, 0.0, 0.0], [0.0] * 4]), LIMIT)
    assert not broken.any()
    assert not excess(np.zeros((2, 0)), LIMIT)[0].any()


def test_distances():
    assert distance(np.array([0, 5]), np.array([3, 5]), categorical=True).tolist() == [1.0, 0.0]
    assert distance(np.array([0, 5]), np.array([3, 5]), categorical=False).tolist() == [3.0, 0.0]
    assert distance(np.array([False]), np.array([True]), categorical=False).tolist() == [1.0]
    assert distance(np.array([1], np.uint8), np.array([2], np.uint8), categorical=False).tolist() == [1.0]
