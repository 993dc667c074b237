"""One pair of worlds under test: its draws and their cost, its past, and the event of the bets."""

from __future__ import annotations

import math
import time

import numpy as np

from mechanisms import BLOCK
from mechanisms.arrays import BoolArray, FloatArray
from mechanisms.parameters import ParameterError
from verify.betting.tracked_event import FEW, TrackedEvent, best_event
from verify.betting.wealth import Wealth
from verify.conduct.spawn_keys import SpawnKey
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import Column, ViewSample
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import WorldStream
from verify.sampling.independence import dependence

_MOST_ROWS, _MOST_VALUES = 1 << 15, 1 << 21  # of one world's past, that events are chosen on
_BATCH_VALUES = 1 << 20  # of one batch of draws


class PairUnderTest:
    """One pair of worlds: its draws, its past and its current event.

    Parameters
    ----------
    candidate, index
        The pair, and its number in the run.
    seed
        The seed of its draws.
    """

    def __init__(self, candidate: NeighbouringWorlds, index: int, seed: int) -> None:
        self.candidate, self.index = candidate, index
        self.seen = 0
        """Draws a side that were used."""
        self.spent = 0
        """Draws made, both worlds."""
        self.promise = -math.inf
        """The ε that bets on it may be expected to reject, by the past."""
        self.tracked: TrackedEvent | None = None
        """The event to bet on, if there is one."""
        self._seed, self._seconds = seed, 0.0
        self._batches = 0
        self._next: list[tuple[FloatArray, FloatArray]] = []
        self._past: list[tuple[FloatArray, FloatArray]] = []
        self._marks: list[tuple[BoolArray, BoolArray]] = []
        self._columns: tuple[Column, ...] = ()

    @property
    def unused_draws(self) -> int:
        """Draws a side that were made and not used yet."""
        return sum(len(x) for x, _ in self._next)

    @property
    def marks(self) -> int:
        """Draws a side in which the current event was counted."""
        return sum(mark.size for mark, _ in self._marks)

    @property
    def cost(self) -> float:
        """Seconds for a draw of both worlds; 0 before the first."""
        return 2.0 * self._seconds / max(self.spent, 1)

    @property
    def most_rows(self) -> int:
        """Draws a side that may be made at once."""
        return max(BLOCK, _BATCH_VALUES // max(len(self._columns), 1) // BLOCK * BLOCK)

    def choose_event(self, wealth: Wealth, test: ComingTest) -> None:
        """Choose an event on the past, or take an earlier run's."""
        if self.seen == 0:
            saved = wealth.opening.bets.get(self.candidate.pair_label)
            if saved is not None:
                self.draw(1)
                self.tracked = TrackedEvent.from_dict(saved, self._columns)
        else:
            x, y = (np.concatenate(world) for world in zip(*self._past, strict=True))
            self._past = [(x, y)]
            chosen = best_event((self._sample(x), self._sample(y)), test, self.tracked)
            if chosen is not self.tracked:
                self.tracked, self._marks = chosen, []
        if self.tracked is not None:
            self.promise = self.tracked.promise(test)

    def draw(self, rows: int) -> None:
        """Make sure that `rows` draws a side are ready.

        If draws are made one by one, each pair of them has a seed of its own, the same for both worlds, and a fair coin
        decides which is drawn first: a drift from call to call that does not depend on data then favours neither.
        """
        if self.candidate.one_by_one:
            while self.unused_draws < rows:
                self._draw_batch(1, alike=True)
        elif (missing := rows - self.unused_draws) > 0:
            self._draw_batch(-(-missing // BLOCK) * BLOCK, alike=False)

    def bet_on(self, rows: int, wealth: Wealth, horizon: float | None, start: int) -> None:
        """Bet on `rows` more draws, if there is a horizon; if it is stopped meanwhile, on the complete ones.

        Parameters
        ----------
        rows
            Draws a side, at most `most_rows`.
        wealth
            The wealth: its stakes are fixed before the draws are made.
        horizon
            Draws a side to come, with these.
        start
            First draw of the bet.
        """
        tracked = self.tracked
        stakes = None if horizon is None or tracked is None else wealth.stakes(tracked, horizon)
        try:
            self.draw(rows)
        finally:
            drawn = self._take_draws(min(rows, self.unused_draws))
            if tracked is not None and drawn is not None:
                worlds = self._sample(drawn[0]), self._sample(drawn[1])
                marks = tracked.event.holds(worlds[0]), tracked.event.holds(worlds[1])
                counts = tracked.count_marks(marks)
                if stakes is not None:
                    label = self.candidate.pair_label
                    wealth.book(
                        stakes, counts, candidate=self.index, label=label, tracked=tracked, start=start
                    )
                self.tracked = tracked.with_counts(counts)
                self._marks.append(marks)

    @property
    def dependence(self) -> str | None:
        """The dependence of the draws in which the event was counted; None if there is no evidence of one.

        Draws that were made alike are compared within each world: between the worlds they do depend.
        """
        worlds = [[marks[world] for marks in self._marks] for world in (0, 1)]
        if not self.candidate.one_by_one:
            return dependence(worlds)
        whole = [np.concatenate(world) if world else np.zeros(0, dtype=np.bool_) for world in worlds]
        alone = (dependence([[world], [np.zeros_like(world)]]) for world in whole)
        return next((how for how in alone if how is not None), None)

    def _draw_batch(self, size: int, *, alike: bool) -> None:
        worlds, began = {}, time.monotonic()
        coin = SpawnKey.BETS.sequence(self._seed, self.index, 2, self._batches).generate_state(1)[0] & 1
        for world in (True, False) if alike and coin else (False, True):
            stream = WorldStream(self.candidate, self.index, SpawnKey.BETS, world, self._seed, alike)
            sample = stream.batch(self._batches, size)
            if self._columns and sample.columns != self._columns:
                raise ParameterError(
                    f"candidates must draw views with the same columns from both worlds ({self.candidate.pair_label})"
                )
            self._columns = sample.columns
            worlds[world] = sample.values
        self._next = [*self._next, (worlds[False], worlds[True])]
        self.spent += 2 * size
        self._seconds += time.monotonic() - began
        self._batches += 1

    def _take_draws(self, rows: int) -> tuple[FloatArray, FloatArray] | None:
        """Move the next draws to the past, and return them; None if there are none."""
        if rows == 0:
            return None
        x, y = (np.concatenate(world) for world in zip(*self._next, strict=True))
        taken = x[:rows], y[:rows]
        self._next = [(x[rows:], y[rows:])] if len(x) > rows else []
        self.seen += rows
        kept = min(_MOST_ROWS, max(FEW, _MOST_VALUES // len(self._columns)))
        past = [*self._past, taken]
        while sum(len(one) for one, _ in past[1:]) >= kept:
            past.pop(0)
        self._past = past
        return taken

    def _sample(self, values: FloatArray) -> ViewSample:
        return ViewSample(np.asfortranarray(values), self._columns)
