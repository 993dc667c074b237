"""The domain of counts."""

import numpy as np
import pytest

from mechanisms import DomainError, Integers, ParameterError


def test_integers_check_to_an_integer_type_and_refuse_fractions():
    counts = Integers(0, 5, 2)
    checked = counts.check([[0.0, 5.0], [2, 3]])
    assert checked.dtype == np.int64
    for wrong in ([0, 6], [-1, 0], [0.5, 1], [np.nan, 1], [1]):
        with pytest.raises(DomainError):
            counts.check(wrong)


def test_integers_know_their_movement_and_extremes():
    counts = Integers(-1, 2, 4)
    assert (counts.sensitivity.l1, counts.sensitivity.linf) == (12.0, 3.0)
    assert counts.sensitivity.l2 >= 6.0
    assert counts.extremes().dtype == np.int64
    np.testing.assert_array_equal(counts.extremes()[:3], [[-1] * 4, [2] * 4, [2, -1, -1, -1]])
    np.testing.assert_array_equal(counts.clip([-3.2, 0.6, 9, 1.4]), [-1, 1, 2, 1])


@pytest.mark.parametrize(("lower", "upper"), [(2, 1), (0.5, 1), (0, 2**60), (True, 2)])
def test_integers_refuse_bad_bounds(lower, upper):
    with pytest.raises(ParameterError):
        Integers(lower, upper)
