"""Simulation: the same lane, the same numbers, whatever stands beside it."""

import numpy as np
import pytest

from accountant import RawRead, Simulation
from mechanisms import Box, Categories, Laplace, RandomizedResponse, Sensitivity

LAPLACE = Laplace(scale=2.0, sensitivity=Sensitivity.of_box([1.0] * 3))


def run(lanes, first_block=0, seed=7, rounds=6):
    """A small learner with masks, sums, categories and own draws; return all it published, (lanes, ...)."""
    gate = Simulation(seed, lanes, first_block=first_block)
    numbers = np.arange(first_block * 64, first_block * 64 + lanes)
    sums, published = gate.sums(3), []
    level = np.zeros((lanes, 3))
    for round_ in range(rounds):
        values = ((numbers[:, None] * 7 + np.arange(3) + round_) % 5) / 5
        private = gate.private(values, Box(0, 1, 3), round_)
        sums.add(private, at=np.tile([[2, 0, 1]], (lanes, 1)))
        where = (level + gate.random.random((lanes, 3))) > 0.6
        level = gate.release(LAPLACE, sums, where)
        sums.clear(where)
        symbols = gate.private((numbers + round_) % 4, Categories(4), round_)
        published += [level, gate.release(RandomizedResponse(size=4, epsilon=1.0), symbols)]
        published += [gate.random.standard_normal((lanes, 1)), gate.release(LAPLACE, private)]
    return np.concatenate(published, axis=1)


def test_lanes_do_not_depend_on_their_number_or_on_how_they_are_split():
    whole = run(192)
    np.testing.assert_array_equal(whole[:64], run(64))
    np.testing.assert_array_equal(whole[64:], run(128, first_block=1))
    np.testing.assert_array_equal(whole[128:], run(64, first_block=2))


def test_the_seed_decides():
    np.testing.assert_array_equal(run(64), run(64))
    np.testing.assert_array_equal(run(64), run(64, seed=np.random.SeedSequence(7)))
    assert (run(64) != run(64, seed=8)).any()
    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(1, first_block=1)).any()
    assert (run(128)[:64] != run(128)[64:]).any()


def test_noise_and_own_draws_come_from_different_streams():
    gate = Simulation(7, 64)
    noise = gate.release(Laplace(scale=1.0), gate.private(np.zeros((64, 1)), Box(0, 1, 1), 1))
    pair = gate.random.standard_exponential((64, 1, 2))
    assert not np.isclose(noise, pair[..., 0] - pair[..., 1]).any()


def test_unreleased_coordinates_are_zero_and_draw_nothing():
    gate, other = Simulation(7, 64), Simulation(7, 64)
    private = [g.private(np.ones((64, 3)), Box(0, 1, 3), 1) for g in (gate, other)]
    none = np.zeros((64, 3), bool)
    assert not gate.release(LAPLACE, private[0], none).any()
    np.testing.assert_array_equal(gate.release(LAPLACE, private[0]), other.release(LAPLACE, private[1]))


def test_the_transcript_holds_what_was_sent():
    gate = Simulation(7, 64, transcript=True)
    private = gate.private(np.ones((64, 3)), Box(0, 1, 3), 12)
    where = np.tile([[True, False, True]], (64, 1))
    outputs = gate.release(LAPLACE, private, where)
    gate.declassify(private, "not sent", shown=False)
    gate.declassify(private, "sent")
    (first, sent), (second, raw) = gate.published
    assert (first, second) == (12, 12)
    np.testing.assert_array_equal(sent, np.where(where, outputs, np.nan))
    np.testing.assert_array_equal(raw, np.ones((64, 3)))
    assert Simulation(7, 64).published is None


def test_nothing_is_examined_or_assumed():
    """Nothing rests on samples: a user's own mechanism is used as it is given, and so is a function."""

    class Silent(Laplace):
        def release(self, value, noise):
            return np.asarray(value)

    gate = Simulation(7, 64)
    private = gate.private(np.full((64, 1), 0.5), Box(0, 1, 1), 1)
    mapped = private.map(lambda values: 1 - values, into=Box(0, 1, 1))
    mechanism = Silent(scale=1.0)
    assert gate.examine(mechanism) == (mechanism, ())
    assert gate.examine(mechanism)[0] is mechanism
    assert (gate.release(mechanism, mapped) == 0.5).all()
    assert not hasattr(gate, "assumptions")


def test_lanes_come_in_blocks():
    with pytest.raises(ValueError, match="lanes = 100: must be a multiple of 64"):
        Simulation(7, 100)


def test_reads_are_refused_unless_permitted():
    with pytest.raises(RawRead):
        float(Simulation(7, 1).private([0.5], Box(0, 1, 1), 1))
    assert float(Simulation(7, 1, permissive=True).private([0.5], Box(0, 1, 1), 1)) == 0.5
