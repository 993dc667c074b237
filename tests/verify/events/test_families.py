"""Worlds drawn with the same random numbers: what an event splits is counted exactly, and makes the search sharper."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms.arrays import FloatArray
from verify.events.event import Event, HalfLine, RowTable
from verify.events.families import Pairs
from verify.events.predicted_bound import ComingTest, wilson_shifted_pair
from verify.events.search import search_events
from verify.events.tried_families import all_families, lattice_families
from verify.events.view_sample import Column, ViewSample, WorldSamples


def real(count: int) -> tuple[Column, ...]:
    return tuple(Column(f"x[{i}]", f"value {i + 1}", "real") for i in range(count))


def answers(shift: float, n: int, rng: np.random.Generator) -> FloatArray:
    """A sequence that ends with the first answer above 1, 0 before it; a whole number, which may be infinite."""
    noisy = shift + rng.laplace(size=(n, 3))
    above = noisy >= 1.0
    values = np.where(above, noisy, 0.0)
    values[np.cumsum(above, axis=1) - above >= 1] = np.nan
    whole = np.floor(4.0 * rng.random(n) + shift)
    whole[rng.random(n) < 0.01] = np.inf
    return np.column_stack([values, whole])


def worlds(n: int, seed: int, shift: float = 0.4) -> WorldSamples:
    first, second = (
        ViewSample(answers(moved, n, np.random.default_rng(seed)), real(4)) for moved in (0.0, shift)
    )
    return first, second


def split_by(event: Event, worlds: WorldSamples) -> float:
    """The share of pairs of which one draw lies in the event, one pair more taken."""
    first, second = worlds
    split = np.count_nonzero(event.holds(first) != event.holds(second))
    return float((split + 1.0) / len(first.values))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(2))
def test_families_count_the_pairs_that_their_events_split(seed: int) -> None:
    fit, choose = worlds(700, 2 * seed), worlds(700, 2 * seed + 1)
    checked: dict[type[Event], int] = {}
    for family in [*all_families(fit, choose), *lattice_families(fit, choose)]:
        if family.split is None:
            continue
        assert family.split.shape == family.hits.shape
        for at in range(0, family.hits.size, max(1, family.hits.size // 40)):
            event = family.build(at)
            assert family.split[at] == pytest.approx(split_by(event, choose), abs=1e-12), event
            checked[type(event)] = checked.get(type(event), 0) + 1
    assert min(checked.get(kind, 0) for kind in (HalfLine, RowTable)) > 20


def test_worlds_of_different_size_are_not_paired_up() -> None:
    assert Pairs.from_arrays(np.zeros(3), np.zeros(4)) is None


def test_estimates_are_surer_where_few_pairs_are_split_and_as_before_where_draws_are_independent() -> None:
    n, p, q = 100_000, 0.02, 0.018

    def log_ratio(split: float) -> float:
        one, other, share, drawn = (np.array([x]) for x in (p, q, split, float(n)))
        low, up = wilson_shifted_pair(one, other, (drawn, drawn), share, np.array([9.0]), 0.0, 1.25)
        return float(np.log(low / up)[0])

    unknown, independent, coupled, against = map(log_ratio, (np.nan, p + q - 2 * p * q, 0.003, 1.0))
    assert independent == pytest.approx(unknown, abs=2e-3)
    assert against < unknown < coupled < np.log(p / q)


def regret(alike: bool, seed: int) -> float:
    """By how much the true log ratio of the found half-line falls short of what a million draws could show best."""
    rng = np.random.default_rng(seed)
    noise = [rng.laplace(size=(10_000, 3)) for _ in range(4)]
    columns = real(3)
    shift = np.eye(3)[2] * 0.1
    fit, choose = (
        tuple(
            ViewSample(noise[2 * part + (0 if alike else world)] + world * shift, columns) for world in (0, 1)
        )
        for part in (0, 1)
    )
    found = search_events(fit, choose, ComingTest(0.0, 0.05, 1_000_000))  # type: ignore[arg-type]
    event = max(found.best, key=lambda one: one.predicted)
    big = rng.laplace(size=(400_000, 3))
    p, q = (float(np.mean(event.event.holds(ViewSample(big + world * shift, columns)))) for world in (0, 1))
    first, second = (q, p) if event.swapped else (p, q)
    return 0.1 - float(np.log(first / second) - 1.645 * np.sqrt((1 / first + 1 / second - 2) / 1e6))


@pytest.mark.slow
def test_the_same_random_numbers_find_what_independent_draws_do_not() -> None:
    """A shift of a tenth of the noise in one of three columns, 10,000 draws: hidden in independent worlds."""
    seeds = range(3)
    alike, independent = (np.array([regret(way, seed) for seed in seeds]) for way in (True, False))
    assert alike.max() < 0.02
    assert np.median(independent) > 2.0 * np.median(alike)
