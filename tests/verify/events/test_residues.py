"""A remainder that depends on the data is read, however many values the number takes; of others nothing is read."""

import numpy as np
import pytest

from mechanisms import Interval
from verify import Listed, verify
from verify.events.readings import ColumnValue, Reading
from verify.events.residues import Residue, residue_families
from verify.events.view_sample import Column, ViewSample

COLUMN = Column("x", "the output", "real")
VALUE = ColumnValue(COLUMN)


def sample(values):
    return ViewSample(np.asarray(values, dtype=np.float64)[:, np.newaxis], (COLUMN,))


def test_remainders_and_digit_sums_of_whole_numbers_alone():
    view = sample([1234.0, -7.0, 0.5, np.nan, np.inf, 2.0**60, 99.0])
    nan = np.nan
    np.testing.assert_array_equal(Residue(VALUE, 5).values(view), [4, 3, nan, nan, nan, nan, 4])
    np.testing.assert_array_equal(Residue(VALUE, 10, True).values(view), [0, 7, nan, nan, nan, nan, 8])


@pytest.mark.parametrize("of_digits", [False, True])
def test_a_residue_is_data(of_digits):
    residue = Residue(VALUE, 10, of_digits)
    assert Reading.rebuild(residue.to_dict(), (COLUMN,)) == residue
    assert "mod 10" in residue.description


def families(first, second):
    worlds = sample(first), sample(second)
    return list(residue_families(worlds, worlds, [VALUE]))


def test_nothing_is_read_where_residues_are_alike_or_numbers_have_fractions():
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(2_000_000_000, size=(2, 1 << 14))
    assert not families(ours, theirs)
    assert not families(2 * ours + 0.5, 2 * theirs + 1.5)
    assert families(2 * ours, 2 * theirs + 1)


def leaking(modulus, of_digits=False):
    def leak(data, rng, lanes):
        numbers = rng.integers(2_000_000, size=lanes) * 10
        if of_digits:
            digits = np.array([sum(map(int, str(number))) for number in numbers.tolist()])
            return numbers + (int(data) - digits) % 10
        return numbers // 10 * modulus + int(data)

    return leak


@pytest.mark.slow_cells("10-True", "7-False", "2-False")
@pytest.mark.parametrize(("modulus", "of_digits"), [(2, False), (7, False), (97, False), (10, True)])
def test_the_remainder_that_the_data_choose_gives_them_away(modulus, of_digits):
    result = verify(
        leaking(modulus, of_digits), epsilon=1.0, neighbours=Listed([(0.0, 1.0)]), samples=100_000
    )
    assert result.verdict == "refuted"
    assert result.lower.epsilon > 7.0
    assert " mod " in result.witness.event


@pytest.mark.slow
def test_whole_numbers_with_correct_noise_are_not_refuted():
    def geometric(data, rng, lanes):
        p = 1.0 - np.exp(-1.0)
        return 7 * (round(data) + rng.geometric(p, lanes) - rng.geometric(p, lanes))

    assert verify(geometric, epsilon=1.0, neighbours=Interval(0, 1), samples=100_000).verdict == "unproven"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_search_for_neighbours_sees_a_parity_that_only_some_pairs_change(seed):
    def parity(data, rng, lanes):
        return 2 * rng.integers(1_000_000_000, size=lanes) + int(data > 0.5)

    result = verify(parity, epsilon=1.0, neighbours=Interval(0, 1), samples=200_000, seed=seed)
    assert result.verdict == "refuted"
