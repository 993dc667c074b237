"""Neighbouring tables differ in one round, stay in the domain, and are said in words."""

import itertools

import numpy as np
import pytest

from verify.bandits.calling.bandit_records import BanditRecords
from verify.bandits.neighbouring_tables import (
    _other_round,
    _rows_in_words,
    _stretch,
    first_tables,
    row_in_words,
    variants,
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


@pytest.mark.parametrize("records", [RECORDS, BanditRecords(3, -1.0, 1.0), BanditRecords(2, 0.0, 1.0, (3,))])
def test_variants_are_tables_of_the_same_domain_that_differ(records):
    rng = np.random.default_rng(1)
    parent = first_tables(records, 16, rng)[5]
    for child in itertools.islice(variants(parent, records, rng), 60):
        assert child.table.shape == parent.table.shape
        assert 1 <= child.record <= child.rounds
        assert child.record != parent.record or not np.array_equal(child.table, parent.table)
        assert not np.array_equal(child.row, child.table[child.record])
        rewards = child.table[1:, : records.arms]
        assert ((rewards >= records.low) & (rewards <= records.high)).all()


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
    for each in first[:4]:
        for variant in itertools.islice(variants(each, records, rng), 20):
            assert set(np.unique(variant.table[1:])) | set(np.unique(variant.row)) <= found


def test_nothing_is_said_of_others_where_there_are_none():
    assert _rows_in_words(np.zeros((2, 2)), 1, 2) == ""


@pytest.mark.parametrize(
    ("record", "stretches"),
    [
        (5, {(1, 4), (6, 13), (1, 13), (1, 1), (2, 3), (4, 7), (8, 13)}),
        (1, {(1, 1), (2, 13), (1, 13), (2, 3), (4, 7), (8, 13)}),
        (13, {(1, 12), (13, 13), (1, 13), (1, 1), (2, 3), (4, 7), (8, 13)}),
    ],
)
def test_stretches_are_before_the_change_after_it_all_and_between_doublings(record, stretches):
    """Of 1,000 draws; the rarest has a chance of 1/20: one is missed with probability 4e-22."""
    rng = np.random.default_rng(3)
    assert {_stretch(record, 13, rng) for _ in range(1_000)} == stretches


@pytest.mark.parametrize(
    ("record", "near"), [(8, {4, 5, 6, 7, 9, 10, 11, 12}), (1, {1, 2, 3}), (12, {*range(6, 14)} - {12})]
)
def test_changed_rounds_move_by_one_or_two_or_up_to_half_as_far_again(record, near):
    rng = np.random.default_rng(3)
    assert {_other_round(record, 13, rng) for _ in range(1_000)} - {record} == near - {record}


def test_the_context_of_a_row_is_said_after_its_rewards():
    row = np.array([1.0, 1.0, 0.25, -0.5])
    assert row_in_words(row, 2) == "outcome 1 for all 2 arms and the context (0.25, -0.5)"
    assert row_in_words(row[:2], 2) == "outcome 1 for all 2 arms"


RECORDED = {
    "two arms": (BanditRecords(2, 0.0, 1.0), 8),
    "five arms and rewards between": (BanditRecords(5, -1.0, 2.0, between=(0.5,)), 12),
    "a context": (BanditRecords(2, 0.0, 1.0, context=(3,)), 5),
    "a context for every arm": (BanditRecords(3, 0.0, 1.0, context=(3, 2)), 4),
}


@pytest.mark.parametrize("name", RECORDED)
def test_first_tables_and_their_variants_are_as_recorded(name, snapshot):
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    records, rounds = RECORDED[name]
    rng = np.random.default_rng(7)
    first = first_tables(records, rounds, rng)
    further = [next(variants(tables, records, rng)) for tables in first[:: max(1, len(first) // 12)]]
    lines = [
        f"{one.family}, {one.rounds} rounds, {one.record}: {row_in_words(one.row, one.arms)} for "
        f"{row_in_words(one.table[one.record], one.arms)}; {one.unchanged_rounds}"
        for one in (*first, *further)
    ]
    assert "\n".join(lines) == snapshot
