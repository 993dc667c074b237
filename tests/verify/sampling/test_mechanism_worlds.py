"""The pairs of values on which a mechanism is drawn: as far apart as it is calibrated for."""

import numpy as np
import pytest

from mechanisms import DiscreteLaplace, Gaussian, Laplace, RandomizedResponse, Sensitivity
from verify.sampling.mechanism_worlds import _moves

ONE = Sensitivity(1.0, 1.0, 1.0)


def gaussian(l1, l2, linf):
    return Gaussian(sigma=1.0, sensitivity=Sensitivity(l1, l2, linf))


@pytest.mark.parametrize(
    ("mechanism", "ends"),
    [
        (Laplace(scale=1.0, sensitivity=ONE), [[1.0, 0.0]]),
        (Laplace(scale=1.0, sensitivity=Sensitivity(3.0, 3.0, 1.0)), [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]),
        (gaussian(4.0, 2.0, 1.0), [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]),
        (gaussian(4.0, np.sqrt(2.0), 1.0), [[1.0, 0.0], [1.0, 1.0]]),
        (gaussian(2.0, 1.5, 1.0), [[1.0, 0.0], [1.0, 1.0]]),
        (RandomizedResponse(size=3, epsilon=1.0), [[1]]),
    ],
)
def test_values_move_in_one_coordinate_and_in_as_many_as_can(mechanism, ends):
    pairs = _moves(mechanism)
    assert [end.tolist() for _, end in pairs] == ends
    assert all((start == 0).all() and start.shape == end.shape for start, end in pairs)


def test_whole_numbers_move_by_whole_numbers():
    (start, end), (_, spread) = _moves(DiscreteLaplace(scale=2.0, sensitivity=Sensitivity(4.0, 4.0, 2.0)))
    assert start.dtype == end.dtype == spread.dtype == np.int64
    assert (end.tolist(), spread.tolist()) == ([2, 0], [2, 2])
