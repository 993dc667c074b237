"""Neighbouring tables differ in one round, stay in the domain, and are said in words."""

import numpy as np
import pytest

from verify.bandits.calling.bandit_records import BanditRecords
from verify.bandits.neighbouring_tables import (
    _rows_in_words,
    first_tables,
    row_in_words,
)

RECORDS = BanditRecords(2, 0.0, 1.0)


def test_first_tables_change_one_row_and_share_tables():
    every = first_tables(RECORDS, 64, np.random.default_rng(0))
    assert {each.record for each in every} >= {1, 2, 3, 4, 8, 16, 32, 48}
    longest = {}
    for each in every:
        assert 1 <= each.record <= each.rounds <= 64
        assert (each.table != each.neighbour).any(axis=1).sum() == 1
        assert (each.table[each.record] != each.row).all()
        known = longest.setdefault(each.family, each.table)
        shared = min(len(known), len(each.table))
        assert np.array_equal(known[:shared], each.table[:shared])
        if len(each.table) > len(known):
            longest[each.family] = each.table


def test_rows_are_said_in_stretches():
    table = np.zeros((7, 2))
    table[3:] = [1.0, 0.0]
    said = _rows_in_words(table, 2, 2)
    assert said == (
        "of the other users, that of round 1 has outcome 0 for all 2 arms; those of rounds 3 to 6 have outcome 1 for "
        "arm 0 and 0 for the others"
    )
    assert _rows_in_words(np.zeros((5, 2)), 2, 2) == "all other users have outcome 0 for all 2 arms"
    assert _rows_in_words(np.arange(60.0).reshape(30, 2), 2, 2) == ""


@pytest.mark.parametrize("between", [(), (0.5,)])
def test_no_table_has_rewards_that_were_not_said_to_occur(between):
    records, rng = BanditRecords(3, 0.0, 1.0, (), between), np.random.default_rng(1)
    first = first_tables(records, 32, rng)
    found = {float(value) for each in first for value in np.unique(each.table[1:])}
    assert found == {0.0, 1.0, *between}
    assert all(set(np.unique(each.row)) <= found for each in first)


def test_nothing_is_said_of_others_where_there_are_none():
    assert _rows_in_words(np.zeros((2, 2)), 1, 2) == ""


def test_the_context_of_a_row_is_said_after_its_rewards():
    row = np.array([1.0, 1.0, 0.25, -0.5])
    assert row_in_words(row, 2) == "outcome 1 for all 2 arms and the context (0.25, -0.5)"
    assert row_in_words(row[:2], 2) == "outcome 1 for all 2 arms"
