"""One pair of worlds under test: its draws, its past, and the event that is bet on."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mechanisms import BLOCK
from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.betting.tracked_event import TrackedEvent, best_event
from verify.betting.wealth import Wealth
from verify.conduct.spawn_keys import SpawnKey
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import WorldStream
from verify.sampling.stage_sizes import FEWEST_OF_PAIR

_PARTS = 8  # a stretch between two looks has so many parts, each with a stake of its own


@dataclass(frozen=True, slots=True)
class _Memory:
    """How much is held in memory: settings of this library, on which no bet's validity rests.

    Attributes
    ----------
    rows
        Of the past, that events are chosen on.
    values
        Of one world's past (32 MB).
    batch_values
        Of one batch of draws.
    """

    rows: int = 1 << 17
    values: int = 1 << 22
    batch_values: int = 1 << 20


_MEMORY = _Memory()


class PairUnderTest:
    """One pair of worlds: its draws, its past and its current event.

    Parameters
    ----------
    candidate, index
        The pair, and its number in the run.
    seed
        Of its draws.
    whole_stretches
        Draw a whole stretch in one call, where a call costs more than its draws; else no more than are soon bet on.
    """

    def __init__(self, candidate: NeighbouringWorlds, index: int, seed: int, whole_stretches: bool) -> None:
        self.candidate, self.index = candidate, index
        self.seen = 0
        """Draws a side that were looked at."""
        self.growth = -math.inf
        """Expected growth of the log-wealth per pair of draws, by the past."""
        self.spent = 0
        """Draws made, both worlds."""
        self.tracked: TrackedEvent | None = None
        """The event to bet on, if there is one."""
        self._seed, self._batches, self._whole = seed, 0, whole_stretches
        self._next: tuple[FloatArray, FloatArray] | None = None
        self._past: list[tuple[FloatArray, FloatArray]] = []
        self._columns: tuple[Column, ...] = ()

    @property
    def unused_draws(self) -> int:
        """Draws a side that were made and not looked at."""
        return 0 if self._next is None else len(self._next[0])

    def choose_event(self, wealth: Wealth) -> None:
        """Choose an event on the past, or take an earlier run's."""
        if self.seen == 0:
            self._draw(1)
            saved = wealth.opening.bets.get(self.candidate.pair_label)
            self.tracked = None if saved is None else TrackedEvent.from_dict(saved, self._columns)
        else:
            self.tracked = self._chosen(wealth)
        if self.tracked is not None:
            self.growth = self.tracked.growth(wealth.claim)

    def advance(self, stretch: int, wealth: Wealth, *, staking: bool) -> None:
        """Draw the next `stretch` views a side, and bet on them if `staking`, until the claim is refuted."""
        start = self.seen
        while self.seen < start + stretch and not wealth.state.crossed:
            left = start + stretch - self.seen
            part = min(self._part(stretch), left)
            self._draw(min(left, self._most) if self._whole else part)
            x, y = self._take(part)
            counted = part
            if self.tracked is not None:
                first, second = (y, x) if self.tracked.swapped else (x, y)
                in_first = self.tracked.event.holds(ViewSample(first, self._columns))
                in_second = self.tracked.event.holds(ViewSample(second, self._columns))
                if staking:
                    label = self.candidate.pair_label
                    counted = wealth.stake(self.index, label, self.tracked, start, in_first, in_second)
                self.tracked = self.tracked.with_draws(in_first[:counted], in_second[:counted])
            self.seen += counted

    @property
    def _most(self) -> int:
        """Rows of one batch of draws at most."""
        return max(BLOCK, _MEMORY.batch_values // len(self._columns) // BLOCK * BLOCK)

    def _part(self, stretch: int) -> int:
        return min(max(1, stretch // _PARTS), self._most)

    def _draw(self, rows: int) -> None:
        """Make sure that `rows` draws a side are ready."""
        size = -(-(rows - self.unused_draws) // BLOCK) * BLOCK
        if size <= 0:
            return
        worlds = []
        for world in (False, True):
            stream = WorldStream(self.candidate, self.index, SpawnKey.BETS, world, self._seed)
            sample = stream.batch(self._batches, size)
            if self._columns and sample.columns != self._columns:
                raise ParameterError(
                    f"candidates must draw views with the same columns from both worlds ({self.candidate.pair_label})"
                )
            self._columns = sample.columns
            worlds.append(sample.values)
            self.spent += size
        self._batches += 1
        if self._next is not None and len(self._next[0]):
            worlds = [np.concatenate(both) for both in zip(self._next, worlds, strict=True)]
        self._next = worlds[0], worlds[1]

    def _take(self, rows: int) -> tuple[FloatArray, FloatArray]:
        """Look at the next draws; they belong to the past from now on."""
        assert self._next is not None
        taken = self._next[0][:rows], self._next[1][:rows]
        self._next = self._next[0][rows:], self._next[1][rows:]
        self._past.append(taken)
        kept = min(_MEMORY.rows, max(FEWEST_OF_PAIR // 2, _MEMORY.values // len(self._columns)))
        while sum(len(x) for x, _ in self._past) - len(self._past[0][0]) >= kept:
            self._past.pop(0)
        return taken

    def _chosen(self, wealth: Wealth) -> TrackedEvent:
        """The event of the past with the fastest growth, its frequencies from the later half of the past."""
        x, y = (np.concatenate(world) for world in zip(*self._past, strict=True))
        self._past = [(x, y)]
        half = len(x) // 2
        fit = ViewSample(x[:half], self._columns), ViewSample(y[:half], self._columns)
        late = ViewSample(x[half : 2 * half], self._columns), ViewSample(y[half : 2 * half], self._columns)
        return best_event(wealth.claim, fit, late, self.tracked)
