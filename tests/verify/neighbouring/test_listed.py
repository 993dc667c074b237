"""Pairs that a user lists are taken as they are, or refused."""

import pytest

from mechanisms import ParameterError
from verify import Listed

BIG = 2**53 + 1


@pytest.mark.parametrize("data", [[BIG], [BIG, -3], [2.0**60], [2**53, 0.5]])
def test_large_numbers_that_an_array_holds_are_taken(data):
    (pair,) = Listed([(data, [0] * len(data))]).seeds()
    assert pair.data.tolist() == data


def test_a_whole_number_that_floats_cannot_hold_is_refused():
    with pytest.raises(ParameterError, match=f"pair 1 holds {BIG}, which an array of floats cannot hold"):
        Listed([([BIG, 0.5], [0, 0.5])])
