"""Entries of one list are a sequence; its first entries are read together."""

import numpy as np
import pytest

from verify.events.event import RowTable
from verify.events.readings import Value
from verify.events.search import search_events
from verify.events.sequences import MOST, PREFIXES, prefix_families, sequences
from verify.events.view_sample import Column, ViewSample


def columns(*names):
    return tuple(Column(name, name, "category") for name in names)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["output[1]", "output[2]", "output[3]", "shape"], [(0, 1, 2)]),
        (["output[2]", "output[3]", "output[1]"], [(2, 0, 1)]),
        (["output[1]", "output[2]"], []),
        (["output.a", "output.b", "output.c"], []),
        (["action[1,0]", "action[1,1]", "action[2,0]"], []),
        (["output[1]", "output:letter[1]", "output:letter[2]", "output:letter[3]"], [(1, 2, 3)]),
        ([f"output[{i}][{j}]" for i in (1, 2, 3) for j in (1, 2)], [(0, 2, 4), (1, 3, 5)]),
        ([f"output.x[{i}]" for i in (1, 2, 3)] + [f"output.y[{i}]" for i in (1, 2, 3, 4)], [(3, 4, 5, 6), (0, 1, 2)]),
    ],
)  # fmt: skip
def test_sequences_are_found_by_their_names(names, expected):
    assert sequences(columns(*names)) == expected


def test_few_sequences_are_looked_at():
    assert len(sequences(columns(*(f"output.{key}[{i}]" for key in "abcdefgh" for i in (1, 2, 3))))) == MOST


def parity(rng, world, n, length=10):
    """Three letters whose parity says the world nine times of ten; then others, up to a random end."""
    values = rng.integers(0, 2, (n, length)).astype(float)
    says = np.where(rng.random(n) < 0.9, world, 1 - world)
    values[:, 2] = (values[:, 0] + values[:, 1] + says) % 2
    values[np.arange(length) >= rng.integers(5, length + 1, n)[:, None]] = np.nan
    return ViewSample(values, columns(*(f"output[{i}]" for i in range(1, length + 1))))


def test_the_first_entries_tell_what_neither_one_entry_nor_the_whole_does():
    fit, choose = (
        tuple(parity(np.random.default_rng([seed, world]), world, 20_000) for world in (0, 1))
        for seed in (0, 1)
    )
    found = search_events(fit, choose, final_samples=3_000, delta=0.0, error=0.05)
    chosen = max(found.best, key=lambda event: event.predicted)
    assert chosen.predicted > np.log(9.0) - 0.3
    assert isinstance(chosen.event, RowTable)
    assert [reading.column.name for reading in chosen.event.readings] == [
        "output[1]",
        "output[2]",
        "output[3]",
    ]


def test_prefixes_are_shorter_than_the_sequence():
    fit, choose = (tuple(parity(np.random.default_rng([seed, w]), w, 500) for w in (0, 1)) for seed in (0, 1))
    values = [Value(i, column) for i, column in enumerate(fit[0].columns)]
    lengths = {len(family.build(0).readings) for family in prefix_families(fit, choose, values, range(5))}
    assert lengths == {length for length in PREFIXES if length < 5}
