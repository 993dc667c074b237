"""Families of readings are tried exactly on the views where they can show a difference."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np
import pytest

from mechanisms.arrays import FloatArray
from verify.events.event import Event, HalfLine, Near, RowTable
from verify.events.families import EventFamily
from verify.events.readings import ColumnValue, Combination, Reading, Where
from verify.events.rounded_readings import Rounded
from verify.events.scores import AdditiveScore
from verify.events.summaries import ColumnSummary
from verify.events.tried_families import all_families, lattice_families, quick_families
from verify.events.view_sample import Column, ViewSample, WorldSamples

ROWS = 400


def samples(kind: str, draw: object) -> tuple[WorldSamples, WorldSamples]:
    """Samples to lay events out on and to choose on: `draw` of a generator and a shift gives the values."""
    rng = np.random.default_rng(7)

    def view(shift: float) -> ViewSample:
        values: FloatArray = draw(rng, shift)  # type: ignore[operator]
        names = range(1, values.shape[1] + 1)
        columns = tuple(Column(f"output[{i}]", f"output {i}", kind) for i in names)  # type: ignore[arg-type]
        return ViewSample(values, columns)

    first, second = ((view(0.0), view(0.3)) for _ in range(2))
    return first, second


def smooth(rng: np.random.Generator, shift: float) -> FloatArray:
    """Four measurements, the last of which is the sum of the others, and moves by the shift beside."""
    values = rng.laplace(shift, 1.0, (ROWS, 3))
    return np.column_stack([values, values.sum(axis=1) + shift])


def few(rng: np.random.Generator, shift: float) -> FloatArray:
    """Four whole numbers of 0, 1 and 2."""
    return np.floor(rng.random((ROWS, 4)) * 3.0 - 0.1 * shift).clip(0.0)


def stopping(rng: np.random.Generator, shift: float) -> FloatArray:
    """Zeros up to a measurement above 1, after which nothing is sent."""
    noisy = rng.laplace(shift, 1.0, (ROWS, 5))
    above = noisy >= 1.0
    values = np.where(above, noisy, 0.0)
    values[np.cumsum(above, axis=1) - above >= 1] = np.nan
    return values


def default(rng: np.random.Generator, shift: float) -> FloatArray:
    """Measurements above 1, and -1000 in place of all others."""
    noisy = rng.laplace(shift, 1.0, (ROWS, 5))
    return np.where(noisy >= 1.0, noisy, -1000.0)


def said(reading: Reading) -> str:
    """What a reading does, without its columns."""
    reading = reading.reading if isinstance(reading, Rounded) else reading
    return reading.operation if isinstance(reading, ColumnSummary) else type(reading).__name__


def tried(families: Iterable[EventFamily]) -> set[tuple[type[Event], str]]:
    """The kinds of events and of what they read, of the first event of each family."""
    found = set()
    for event in (family.build(0) for family in families):
        if isinstance(event, RowTable):
            readings = [said(reading) for reading in event.readings]
            found.add((RowTable, readings[0] if len(readings) == 1 else f"{len(readings)} {readings[0]}"))
        else:
            assert isinstance(event, HalfLine | Near)
            found.add((type(event), said(event.reading)))
    return found


LINES = {(HalfLine, what) for what in ("sum", "largest", "smallest", "place of largest", "place of smallest")}


def test_measurements_are_read_one_by_one_and_together() -> None:
    found = tried(all_families(*samples("real", smooth)))
    assert found >= LINES | {
        (HalfLine, "ColumnValue"),
        (HalfLine, "Combination"),
    }
    assert found >= {(HalfLine, "count from"), (HalfLine, "AdditiveScore"), (Near, "Combination")}
    assert not {what for _, what in found} & {"count of", "first of", "first change", "Where"}


def test_few_values_are_read_as_rows_pairs_and_counts() -> None:
    found = tried(all_families(*samples("category", few)))
    assert found >= {
        (RowTable, what) for what in ("ColumnValue", "2 ColumnValue", "4 ColumnValue", "first change")
    }
    assert found >= {(kind, what) for kind in (RowTable, HalfLine) for what in ("count of", "first of")}
    assert (HalfLine, "ColumnValue") not in found, "categories have no order"
    assert (HalfLine, "present") not in found, "nothing is absent"


def test_a_sequence_that_stops_is_read_by_its_length_and_its_last_number() -> None:
    fit, choose = samples("real", stopping)
    found = tried(all_families(fit, choose))
    assert found >= {
        (HalfLine, "present"),
        (HalfLine, "Where"),
        (HalfLine, "count of"),
        (HalfLine, "first of"),
    }
    conditions = {
        event.reading.condition.operation
        for event in (family.build(0) for family in all_families(fit, choose))
        if isinstance(event, HalfLine) and isinstance(event.reading, Where)
        and isinstance(event.reading.condition, ColumnSummary)
    }  # fmt: skip
    assert conditions == {"present"}


def test_measurements_among_defaults_are_read_where_they_are_the_largest() -> None:
    fit, choose = samples("real", default)
    readings = [
        event.reading
        for event in (family.build(0) for family in all_families(fit, choose))
        if isinstance(event, HalfLine) and isinstance(event.reading, Where)
    ]
    assert {reading.value for reading in readings} == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert {said(reading.condition) for reading in readings} == {"place of largest"}
    columns = fit[0].columns
    assert [reading.reading for reading in readings] == [
        ColumnValue(columns[int(reading.value) - 1]) for reading in readings
    ]


def test_pairs_of_data_are_compared_by_single_columns_relations_rows_and_a_score() -> None:
    fit, choose = samples("real", smooth)
    found = tried(quick_families(fit, choose, [AdditiveScore(())]))
    assert found == {(HalfLine, "ColumnValue"), (Near, "Combination"), (HalfLine, "AdditiveScore")}
    fit, choose = samples("category", few)
    found = tried(quick_families(fit, choose, [AdditiveScore(())]))
    assert found == {(RowTable, "ColumnValue"), (HalfLine, "AdditiveScore"), (RowTable, "4 ColumnValue")}


@pytest.mark.parametrize("kind", ["real", "category"])
def test_bits_of_measurements_only(kind: str) -> None:
    found = {what for _, what in tried(lattice_families(*samples(kind, smooth)))}
    assert found == (
        {"LatticeReading", "2 LatticeReading", "3 LatticeReading"} if kind == "real" else set()
    ) | {"present"}


def test_a_difference_is_that_of_a_column_and_one_before_it() -> None:
    fit, choose = samples("real", smooth)
    differences = [
        event.reading.reading
        for event in (family.build(0) for family in all_families(fit, choose))
        if isinstance(event, HalfLine) and isinstance(event.reading, Rounded)
        and isinstance(event.reading.reading, Combination)
    ]  # fmt: skip
    pairs = [tuple(fit[0].places_of(reading.columns)) for reading in differences]
    assert sorted(pairs) == [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    assert pairs[:3] == [(1, 0), (2, 1), (3, 2)], "neighbours first"


@pytest.mark.parametrize(
    ("kind", "draw"),
    [("real", smooth), ("category", few), ("real", stopping)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_families_are_as_recorded_and_their_counts_those_of_their_events(
    kind: str, draw: object, snapshot: object
) -> None:
    """A change that is meant is recorded with ``--snapshot-update``, and the difference is read like code."""
    fit, choose = samples(kind, draw)
    lines = []
    quick = quick_families(fit, choose, [AdditiveScore(())])
    for family in chain(all_families(fit, choose), lattice_families(fit, choose), quick):
        ratios = (family.hits + 5.0) / (family.hits_prime + 5.0)
        for at in dict.fromkeys((0, int(ratios.argmax()), int(ratios.argmin()), family.hits.size - 1)):
            event = family.build(at)
            drawn = [
                [int(event.holds(world).sum()) for world in (*worlds,)]
                for worlds in ((choose[0], choose[1]), (fit[0], fit[1]))
            ]
            both = family.trials[0] == 2 * ROWS
            expected = [sum(each) if both else each[0] for each in zip(*drawn, strict=True)]
            assert [family.hits[at], family.hits_prime[at]] == expected
        best = int(ratios.argmax())
        split = "" if family.split is None else f", splits {family.split[best]:.4g}"
        hits = f"{family.hits[best]} and {family.hits_prime[best]} of {family.trials[0]}{split}"
        alike = (
            f"{family.hits.size} events, {float(family.alternatives(np.array([0.01]))[0]):.4g} apart at 0.01"
        )
        lines.append(f"{alike}: {family.build(best).description:.90}: {hits}")
    assert "\n".join(lines) == snapshot
