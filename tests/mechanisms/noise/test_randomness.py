import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mechanisms import BLOCK, LaneStreams, ParameterError, Randomness

DRAWS = {
    "random": lambda r, n: r.random((n, 4)),
    "random-flat": lambda r, n: r.random(n),
    "standard_normal": lambda r, n: r.standard_normal((n, 3)),
    "standard_exponential": lambda r, n: r.standard_exponential((n, 2, 2)),
    "integers": lambda r, n: r.integers(0, 7, (n, 5)),
}
each = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


@each
def test_a_lane_does_not_depend_on_the_number_of_lanes(draw) -> None:  # type: ignore[no-untyped-def]
    few, many = LaneStreams(7, 64), LaneStreams(7, 1024)
    for _ in range(3):
        np.testing.assert_array_equal(draw(few, 64), draw(many, 1024)[:64])


@each
def test_a_lane_does_not_depend_on_the_division_into_chunks(draw) -> None:  # type: ignore[no-untyped-def]
    whole = LaneStreams(7, 512, key=(1, 2))
    parts = [
        LaneStreams(7, 128, key=(1, 2)),
        LaneStreams(7, 64, first_block=2, key=(1, 2)),
        LaneStreams(7, 320, first_block=3, key=(1, 2)),
    ]
    for _ in range(3):
        np.testing.assert_array_equal(draw(whole, 512), np.concatenate([draw(p, p.lanes) for p in parts]))


def test_blocks_keys_and_seeds_differ() -> None:
    draws = [
        LaneStreams(seed, 64, first_block=block, key=key).random(64).tobytes()
        for seed in (0, 1)
        for block in (0, 1)
        for key in ((), (0,), (1,))
    ]
    assert len(set(draws)) == len(draws)


def test_block_is_a_spawned_seed_sequence() -> None:
    child = np.random.SeedSequence(11, spawn_key=(5, 3, 1))
    expected = np.random.Generator(np.random.SFC64(child)).random((BLOCK, 2))
    found = LaneStreams(np.random.SeedSequence(11, spawn_key=(5,)), 128, key=(3,)).random((128, 2))
    np.testing.assert_array_equal(found[BLOCK:], expected)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 255), max_size=300).map(sorted), st.booleans())
def test_ragged_draws_belong_to_their_lanes(lanes: list[int], pairs: bool) -> None:
    """Entries of block b are what that block alone would draw, whatever the other blocks ask for."""
    lane_of = np.array(lanes, dtype=np.int64)
    size = (len(lanes), 2) if pairs else (len(lanes),)
    together = LaneStreams(3, 256)
    first = together.for_lanes(lane_of).standard_exponential(size)
    after = together.random((256, 2))
    for block in range(4):
        mine = lane_of // BLOCK == block
        alone = LaneStreams(3, 64, first_block=block)
        own = alone.for_lanes(lane_of[mine] - block * BLOCK).standard_exponential(
            (int(mine.sum()), *size[1:])
        )
        np.testing.assert_array_equal(first[mine], own)
        np.testing.assert_array_equal(after[block * BLOCK : (block + 1) * BLOCK], alone.random((64, 2)))


def test_state_and_restore_are_bit_identical() -> None:
    streams = LaneStreams(9, 192)
    streams.integers(0, 3, (192, 1))  # leaves half a word buffered
    saved = json.loads(json.dumps(streams.state()))
    ahead = [draw(streams, 192) for draw in DRAWS.values()]
    other = LaneStreams(123, 192)
    other.restore(saved)
    for draw, expected in zip(DRAWS.values(), ahead, strict=True):
        np.testing.assert_array_equal(draw(other, 192), expected)
    with pytest.raises(ParameterError, match="3 blocks: must hold 1"):
        LaneStreams(9, 64).restore(saved)


def test_draws_have_the_right_law() -> None:
    """Kolmogorov-Smirnov at 1e-6 for each of three laws, chi-square at 1e-6 for whole numbers."""
    streams = LaneStreams(21, 1024)
    assert stats.kstest(streams.random((1024, 20)).ravel(), "uniform").pvalue > 1e-6
    assert stats.kstest(streams.standard_normal((1024, 20)).ravel(), "norm").pvalue > 1e-6
    assert stats.kstest(streams.standard_exponential((1024, 20)).ravel(), "expon").pvalue > 1e-6
    counts = np.bincount(streams.integers(2, 7, (1024, 20)).ravel(), minlength=7)
    assert counts[:2].sum() == 0
    assert stats.chisquare(counts[2:]).pvalue > 1e-6


def test_both_are_randomness() -> None:
    assert isinstance(LaneStreams(0, 64), Randomness)
    assert isinstance(np.random.default_rng(), Randomness)


@pytest.mark.parametrize("lanes", [0, 1, 63, 100, -64, 64.0])
def test_lanes_come_in_blocks(lanes: int) -> None:
    with pytest.raises(ParameterError, match="lanes"):
        LaneStreams(0, lanes)


def test_sizes_lead_with_the_lanes() -> None:
    streams = LaneStreams(0, 64)
    for size in (63, (128, 2), ()):
        with pytest.raises(ParameterError, match="size"):
            streams.random(size)
        with pytest.raises(ParameterError, match="size"):
            streams.integers(0, 2, size)
    for lanes in ([3, 2], [3, 64], [-1, 3]):
        with pytest.raises(ParameterError, match=r"ascend within 0 \.\. 63"):
            streams.for_lanes(np.array(lanes))


def test_binomial_draws_of_a_lane_do_not_depend_on_the_other_lanes():
    n, p = np.full((64 * 3, 2), 10**9), np.linspace(0, 1, 64 * 6).reshape(64 * 3, 2)
    all_lanes = LaneStreams(1, 64 * 3).binomial(n, p)
    last = LaneStreams(1, 64, first_block=2).binomial(n[128:], p[128:])
    np.testing.assert_array_equal(all_lanes[128:], last)
    assert (all_lanes[0, 0], all_lanes[-1, -1]) == (0, 10**9)
    with pytest.raises(ParameterError, match="leading axis"):
        LaneStreams(1, 64).binomial(n, p)
