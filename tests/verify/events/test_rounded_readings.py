"""Differences by rounding alone are no event: true claims about exactly related outputs are not refuted."""

import json

import numpy as np
import pytest

from mechanisms import Interval
from verify import AnyTwo, claimed, verify
from verify.events.readings import Combination, Reading
from verify.events.rounded_readings import Rounded, Rounding
from verify.events.view_sample import Column, ViewSample

COLUMNS = tuple(Column(f"output[{i}]", f"output {i}", "real") for i in (1, 2))
STEP = Combination.difference(COLUMNS[1], COLUMNS[0])


def view(values):
    return ViewSample(np.asarray(values, dtype=np.float64), COLUMNS)


@pytest.mark.parametrize("shift", [1.0, 0.3, -1e-5])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_shift_is_one_number(shift, scale):
    y = np.random.default_rng(1).laplace(size=10_000) * scale
    sample = view(np.column_stack([y, y + shift * scale]))
    rounded = Rounding([sample]).round_reading(STEP)
    (value,) = np.unique(rounded.values(sample))
    assert abs(value - shift * scale) < 1e-10 * scale
    assert rounded.description == STEP.description
    assert Reading.rebuild(json.loads(json.dumps(rounded.to_dict())), COLUMNS) == rounded


def test_whole_numbers_stay_as_they_are():
    sample = view([[1.0, 2.0**50], [3.0, -7.0]])
    assert Rounding([sample]).round_reading(STEP) is STEP
    assert isinstance(Rounding([sample, view([[0.5, 1.0]])]).round_reading(STEP), Rounded)


def test_absent_and_infinite_values_are_passed_over():
    sample = view([[np.nan, 1.5], [np.inf, -np.inf], [0.25, np.nan]])
    rounded = Rounding([sample]).round_reading(STEP)
    np.testing.assert_equal(rounded.values(sample), [np.nan, -np.inf, np.nan])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("other", [lambda y: y + 1.0, lambda y: 0.3 - y], ids=["shifted", "mirrored"])
def test_one_noisy_number_said_twice_is_not_refuted(other, seed):
    """Each is Laplace with epsilon 1; differences as they come showed 1.37 and 11.9 (false alarm here: 1e-4)."""

    def function(data, rng, lanes):
        y = data + rng.laplace(size=lanes)
        return np.stack([y, other(y)], axis=1)

    claim = claimed(data=AnyTwo(Interval(0.0, 1.0)))(function)
    result = verify(claim, epsilon=1.0, seed=seed, samples=200_000)
    assert result.verdict == "unproven"
    assert result.lower.epsilon > 0.9
