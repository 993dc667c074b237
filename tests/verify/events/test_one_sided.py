"""Noise from a table of a few thousand values is found by all its values together; continuous noise is not."""

import numpy as np
import pytest

from verify.events import one_sided
from verify.events.event import RowTable
from verify.events.families import Sorted
from verify.events.one_sided import one_sided_families
from verify.events.predicted_bound import ComingTest
from verify.events.readings import ColumnValue
from verify.events.search import search_events
from verify.events.view_sample import Column, ViewSample

COLUMN = Column("output", "the output", "real")
ROWS = 60_000


def samples(noise, seed=0):
    """Two samples of the two worlds 0 + noise and 1 + noise."""
    rng = np.random.default_rng(seed)
    drawn = [[(x + noise(rng))[:, None] for x in (0.0, 1.0)] for _ in range(2)]
    fit, choose = (tuple(ViewSample(values, (COLUMN,)) for values in worlds) for worlds in drawn)
    return fit, choose


def from_table(size):
    table = np.random.default_rng(size).laplace(size=size)
    return lambda rng: table[rng.integers(size, size=ROWS)]


@pytest.mark.parametrize("size", [1_500, 6_000])
def test_a_table_of_noise_is_told_by_all_its_values_together(size):
    fit, choose = samples(from_table(size))
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 10**6)).best
    for event in found:
        assert isinstance(event.event, RowTable)
        held = [event.event.holds(world).mean() for world in choose]
        assert max(held) > 0.9
        assert min(held) < 1e-3


def test_the_most_frequent_values_are_listed_if_they_are_too_many(monkeypatch):
    monkeypatch.setattr(one_sided, "MOST_LISTED", 100)
    fit, choose = samples(from_table(1_500))
    view = Sorted.from_reading(ColumnValue(COLUMN), fit, choose)
    (family,) = one_sided_families(view)
    tables = [np.array(family.build(at).rows)[:, 0] for at in range(family.hits.size)]
    assert {table.size for table in tables} == {100}
    values, counts = np.unique(fit[0].values, return_counts=True)
    shown = counts[np.searchsorted(values, tables[0])]
    assert shown.min() >= np.sort(counts)[-101]
    for at, table in enumerate(tables):
        counted = [int(np.isin(world.values, table).sum()) for world in choose]
        assert counted == [family.hits[at], family.hits_prime[at]], "fresh draws alone are counted"


def test_continuous_noise_has_no_values_that_come_again():
    fit, choose = samples(lambda rng: rng.laplace(size=ROWS))
    assert not list(one_sided_families(Sorted.from_reading(ColumnValue(COLUMN), fit, choose)))
    fit, choose = samples(lambda rng: rng.random(ROWS, dtype=np.float32).astype(float))
    assert not list(one_sided_families(Sorted.from_reading(ColumnValue(COLUMN), fit, choose)))


def test_values_of_both_worlds_are_not_listed():
    fit, choose = samples(lambda rng: np.round(rng.laplace(size=ROWS)))
    for family in one_sided_families(Sorted.from_reading(ColumnValue(COLUMN), fit, choose)):
        for at in range(family.hits.size):
            for (value,) in family.build(at).rows:
                assert min(int((world.values == value).sum()) for world in fit) == 0
