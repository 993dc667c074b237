"""Costs are counts: the same on every machine, larger where more is called, and NumPy's calls weigh more."""

import cProfile
import functools
import pstats
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.bandits.call_cost import _rounded_up, cost_of


def nothing():
    pass


def call(function, times):
    for _ in range(times):
        function()


def test_calls_are_counted_and_what_was_there_is_put_back():
    def profile(frame, event, argument):
        pass

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        costs = [cost_of(functools.partial(call, nothing, times)) for times in (60, 60, 500)]
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)
    assert costs == [64, 64, 512]


def test_a_profiler_goes_on_afterwards():
    with cProfile.Profile() as profiler:
        cost_of(functools.partial(call, nothing, 60))
        call(nothing, 40)
    calls = {name: count for (_, _, name), (count, *_) in pstats.Stats(profiler).stats.items()}
    # Before Python 3.12 there is room for one profiler at a time.
    assert calls["nothing"] == (40 if sys.version_info < (3, 12) else 100)


def test_calls_of_numpy_weigh_more():
    array, number = np.zeros(3), [0.0] * 3
    builtin = cost_of(lambda: [len(number) for _ in range(100)])
    numpy = cost_of(lambda: [array.sum() for _ in range(100)])
    assert numpy >= 6 * builtin


def test_an_error_ends_the_count():
    def fail():
        raise KeyError("x")

    before = sys.getprofile()
    with pytest.raises(KeyError):
        cost_of(fail)
    assert sys.getprofile() is before


@given(st.integers(1, 10**9))
def test_counts_are_rounded_up_to_few_values(units):
    rounded = _rounded_up(units)
    assert units <= rounded <= max(1.5 * units, 1)
    power = rounded & -rounded
    assert rounded // power in (1, 3)
