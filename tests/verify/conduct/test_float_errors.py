"""What a subject lets NumPy do about overflow and the like holds for its own calls, and not for what judges it."""

import numpy as np
import pytest

from mechanisms import Categories, Interval
from verify import verify


def laplace(data, rng, lanes):
    return data + rng.laplace(size=lanes)


def tells_by_what_it_raises(data, rng):
    try:
        np.multiply(1e300, 1e300 if data else 1.0)
    except FloatingPointError:
        return 1
    return 0


@pytest.fixture(autouse=True)
def raising():
    with np.errstate(all="raise"):
        yield


@pytest.mark.parametrize(
    ("subject", "neighbours", "verdict"),
    [
        (laplace, Interval(0, 1), "unproven"),
        (tells_by_what_it_raises, Categories(2), "refuted"),
    ],
)
def test_errors_of_floats_are_raised_in_the_subject_alone(subject, neighbours, verdict):
    result = verify(subject, epsilon=1.0, neighbours=neighbours, effort="quick", samples=20_000)
    assert result.verdict == verdict
    assert np.geterr()["over"] == "raise"
