"""The deciding test: events fixed beforehand, counted on fresh draws of both worlds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.blocks import Workers
from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.conduct.interrupts import Stop
from verify.conduct.spawn_keys import SpawnKey
from verify.events.count_events import counted_and_marked
from verify.events.event import Event
from verify.events.reading_bins import ReadingBins
from verify.events.view_sample import ReadOnce
from verify.findings.finding import ReadingLaws
from verify.sampling.draws import STOPPED_EARLY, LookPlan, batch_sizes
from verify.sampling.independence import dependence

OPENING_SHARE = 0.05
"""Of these, the share for tests that were stopped before their first batch: for bets made before the test."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The numbers of `size` draws in each event, and the draws in the first: eight in a byte, and in bins."""

    counts: IntArray
    packed: npt.NDArray[np.uint8]
    size: int
    binned: FloatArray | None

    @property
    def in_event(self) -> BoolArray:
        """True for each draw that lies in the first event, in the order of drawing."""
        return np.unpackbits(self.packed, count=self.size).view(np.bool_)


@dataclass(frozen=True, slots=True)
class FinalTask:
    """One batch to draw and to count."""

    index: int
    world: bool
    batch: int
    size: int
    events: tuple[Event, ...]
    bins: ReadingBins | None

    def result(self, plan: LookPlan) -> Batch:
        """Draw the batch and count its events."""
        stream = plan.stream(self.index, SpawnKey.FINAL, self.world, alike=False)
        sample = ReadOnce.from_sample(stream.batch(self.batch, self.size))
        counts, marks = counted_and_marked(self.events, sample)
        binned = None if self.bins is None else self.bins.counts(sample, marks)
        return Batch(counts, np.packbits(marks), self.size, binned)


@dataclass(frozen=True, slots=True, eq=False)
class _FinalCounts:
    """The counts of the final draws.

    Attributes
    ----------
    hits
        Draws in each event; shape (2, events), data D first.
    sizes
        Sizes of the batches that were drawn of both worlds.
    planned
        Number of batches planned.
    stopped
        The interrupt before the last batch, None if there was none.
    batches
        The batches of each world, in the order in which they were drawn.
    """

    hits: IntArray
    sizes: tuple[int, ...]
    planned: int
    stopped: Stop | None
    batches: tuple[Sequence[Batch], Sequence[Batch]]

    @property
    def trials(self) -> int:
        """Draws a world."""
        return sum(self.sizes)

    def laws(self, bins: ReadingBins | None, *, swapped: bool) -> ReadingLaws | None:
        """Return the laws of the draws in bins; `swapped` if the second world is D."""
        if bins is None or not self.sizes:
            return None
        first, second = (
            np.sum([batch.binned for batch in world if batch.binned is not None], axis=0)
            for world in self.batches
        )
        return bins.laws((second, first) if swapped else (first, second), self.trials)

    @property
    def dependence(self) -> str | None:
        """The dependence between draws of the first event; None if there is no evidence against their independence."""
        return dependence([[batch.in_event for batch in world] for world in self.batches])

    @property
    def share_of_error(self) -> float:
        """The share of an error that a bound from these counts may spend; see `share_of_error`."""
        return share_of_error(len(self.sizes), self.planned)


def share_of_error(batches: int, planned: int) -> float:
    """Return the share of an error that a bound may spend if it is computed after `batches` of `planned` batches.

    A test may be stopped after any batch, and the reason for that may depend on the draws. So each batch's end is a
    look of its own: the last one has 1 - `STOPPED_EARLY` of the error, the b-th before it
    ``(STOPPED_EARLY - OPENING_SHARE) · 6 / (π² b²)``; together they spend no more than the error.
    """
    if batches == planned:
        return 1.0 - STOPPED_EARLY
    return (STOPPED_EARLY - OPENING_SHARE) * 6.0 / (math.pi * batches) ** 2


def final_counts(
    pool: Workers,
    index: int,
    events: Sequence[Event],
    bins: ReadingBins | None = None,
    *,
    trials: int,
    columns: int,
    progress: Callable[[float], None],
) -> _FinalCounts:
    """Count events on `trials` fresh draws of each world of candidate `index`.

    The worlds take turns, so that a test that is stopped has as many draws of the one as of the other.

    Parameters
    ----------
    pool
        Its work on a `FinalTask` is `FinalTask.result`.
    bins
        The bins of the first event.
    columns
        The columns of the view.
    progress
        Function that is called with the share done.

    Returns
    -------
    _FinalCounts
        The counts of batches that were drawn of both worlds before a `Stop` (Ctrl-C, or a time limit).
    """
    sizes = batch_sizes(trials, columns)
    shared = tuple(events)
    tasks = [
        FinalTask(index, world, batch, size, shared, bins)
        for batch, size in enumerate(sizes)
        for world in (False, True)
    ]
    drawn: list[Batch] = []
    stopped: Stop | None = None
    try:
        for batch_counts in pool.results(tasks):
            drawn.append(batch_counts)
            if len(drawn) % 2 == 0:
                progress(sum(sizes[: len(drawn) // 2]) / trials)
    except Stop as stop:
        if len(drawn) < len(tasks):  # else it came too late to change anything
            stopped = stop
    done = len(drawn) // 2
    batches = drawn[: 2 * done : 2], drawn[1::2]
    hits = np.zeros((2, len(shared)), dtype=np.int64)
    for counts, world in zip(hits, batches, strict=True):
        for batch in world:
            counts += batch.counts
    return _FinalCounts(hits, tuple(sizes[:done]), len(sizes), stopped, batches)
