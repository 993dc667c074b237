"""Innovations show the steps of running sums, in any units, and leave out what says nothing new."""

import numpy as np
import pytest

from verify.events.innovations import innovations
from verify.events.view_sample import Column, ViewSample


def worlds(first, second):
    columns = tuple(Column(f"x{i}", f"value {i}", "real") for i in range(first.shape[1]))
    return ViewSample(first, columns), ViewSample(second, columns)


def all_innovations(first, second):
    both = worlds(first, second)
    return innovations(both, both[0].columns)


def running_sums(shift, *, seed=0, rows=4_000):
    rng = np.random.default_rng(seed)
    steps = rng.laplace(size=(2, rows, 4))
    steps[1, :, 2] += shift
    return worlds(*np.cumsum(steps, axis=2))


def test_of_running_sums_they_are_the_steps():
    """The record's step is in one innovation alone, with the noise of one step and not of three."""
    both = running_sums(1.0)
    found = innovations(both, both[0].columns)
    assert [each.columns for each in found] == [both[0].columns[: i + 1] for i in range(4)]
    assert [len(each.weights) for each in found] == [1, 2, 3, 4]
    shifts = [abs(float(each.values(both[0]).mean() - each.values(both[1]).mean())) for each in found]
    assert shifts[2] == pytest.approx(1 / np.sqrt(2), abs=0.1)
    assert max(shifts[0], shifts[1], shifts[3]) < 0.1
    for each in found:
        assert np.concatenate([each.values(world) for world in both]).std() == pytest.approx(1.0, abs=0.1)


def test_they_do_not_depend_on_units():
    both = running_sums(1.0)
    units = np.array([1e-9, 1.0, 1e12, 7.0])
    scaled = worlds(*(world.values * units for world in both))
    for plain, changed in zip(
        innovations(both, both[0].columns), innovations(scaled, scaled[0].columns), strict=True
    ):
        np.testing.assert_allclose(changed.values(scaled[0]), plain.values(both[0]), rtol=1e-6, atol=1e-6)


def test_what_says_nothing_new_is_left_out():
    """Constants, what is told by those before, and what is not always finite."""
    rng = np.random.default_rng(1)
    first, second = (rng.normal(size=(500, 6)) for _ in range(2))
    for values in (first, second):
        values[:, 1] = 3.0
        values[:, 3] = 2.0 * values[:, 0] - values[:, 2]
        values[7, 4] = np.inf
    found = all_innovations(first, second)
    assert [each.columns[-1].name for each in found] == ["x0", "x2", "x5"]


def test_few_draws_or_columns_say_none():
    rng = np.random.default_rng(2)
    assert all_innovations(*rng.normal(size=(2, 100, 1))) == []
    assert all_innovations(*rng.normal(size=(2, 7, 4))) == []
    assert len(all_innovations(*rng.normal(size=(2, 8, 4)))) == 4
    constant = np.ones((50, 3))
    assert all_innovations(constant, constant) == []
