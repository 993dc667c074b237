"""Epochs of learners that begin afresh: their horizons, and what the sum over them comes to."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from algorithms.restarts import restart_end, restart_epoch, restart_horizon


@given(st.integers(0, 1 << 62))
def test_every_round_is_in_one_epoch(observed: int) -> None:
    epoch = restart_epoch(observed)
    begins = restart_end(epoch - 1) if epoch else 0
    assert begins <= observed < restart_end(epoch) == begins + restart_horizon(epoch)


def test_horizons_are_squared_up_to_the_longest() -> None:
    assert [restart_horizon(epoch) for epoch in range(6)] == [32, 2**10, 2**20, 2**40, 2**62, 2**62]


@given(st.integers(32, 1 << 62))
def test_logarithms_of_all_horizons_are_four_times_that_of_the_rounds_at_most(rounds: int) -> None:
    """And there are as many as the theorem says: a and c ln T of it."""
    epochs = range(restart_epoch(rounds - 1) + 1)
    assert sum(math.log(restart_horizon(epoch)) for epoch in epochs) <= 4 * math.log(rounds)
    assert len(epochs) <= 2 + math.log2(math.log(rounds) / math.log(32)) + 1e-9


@given(st.integers(33, 1 << 62))
def test_the_last_epoch_that_ended_has_fewer_rounds_than_there_were(rounds: int) -> None:
    last = restart_epoch(rounds - 1)
    assert last >= 1
    assert restart_horizon(last - 1) < rounds
    assert math.log(restart_horizon(last)) <= 2 * math.log(rounds)
