"""Drifting columns, as of counters and time stamps: their steps are tested, or they are left out.

A drift makes all draws of the whole output dependent on each other, and no count of them proves anything. But the
output without its drifting columns is a function of the output: an event of it is an event of the whole output, too.

A counter may still reveal the data by the size of its steps. So the column is read as the change since the call before,
which was on either data set of the pair, by a fair coin (`FunctionRuns.sample`). If the function's claim holds for
every state of its memory, it holds for this change as well, as the call before has one law for draws on D and on D'. If
the changes themselves do not drift, they are drawn like any other output; their dependence on each other is tested as
for all draws. Clocks are left out: they move with the load of the machine, which is the same in both worlds.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from mechanisms.arrays import FloatArray
from verify.conduct.spawn_keys import SpawnKey
from verify.findings.finding import Statement
from verify.functions.probe_result import Probe
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data, Pair
from verify.outputs.output_layout import OutputLayout, step_unit


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Two blocks of draws on one data set, one after the other; the values were chosen by hand.

    Attributes
    ----------
    fewest, most
        Draws of a block.
    seconds
        That both may take, if that is enough for the fewest.
    error
        Probability with which columns that do not drift are left out, all together.
    """

    fewest: int = 64
    most: int = 512
    seconds: float = 2.0
    error: float = 1e-10


@dataclass(frozen=True, kw_only=True)
class _StepRules:
    """When a drifting column is read by its steps, and how; the values were chosen by hand.

    Attributes
    ----------
    still
        A column that does not change in more than this share of the draws, on both data sets, may be a clock that
        ticks slowly.
    pauses, pause, longest
        A clock is found by `pauses` steps with a pause of `pause` seconds and as many without. Where steps without a
        pause take longer, as on a busy machine, pauses become longer, too, up to `longest` seconds.
    mistaken
        Probability with which a counter is taken for a clock.
    calls
        Steps of fractions are rounded to the precision that the column has after so many calls.
    """

    still: float = 0.5
    pauses: int = 32
    pause: float = 0.002
    longest: float = 0.05
    mistaken: float = 1e-4
    calls: float = 2.0**24


_BLOCKS, _STEPS = _Blocks(), _StepRules()

_BothWorlds = Sequence[tuple[FloatArray, FloatArray]]
"""For each data set of a pair, the draws of two blocks, one after the other; each of shape (draws, columns)."""


def drop_drifting_columns(runs: FunctionRuns, looked: Probe, pair: Pair, seed: int) -> Probe:
    """Return the result of a first look without columns that become larger or smaller with calls on one data set.

    Those that do so by steps of one law are read by their steps; the others are left out. The names of either are a
    finding. If all columns would be left out, none is: the draws are then in doubt.
    """
    layout, columns = looked.layout, looked.layout.columns
    affordable = _BLOCKS.seconds / (4.0 * max(runs.seconds_a_draw, 1e-9))
    look = _Look(runs, pair, int(min(max(affordable, _BLOCKS.fewest), _BLOCKS.most)), seed)
    runs.draws, runs.seconds = 0, 0.0  # from here on every draw takes two calls
    seen = look.blocks(layout, 9)
    drifting = look.moving_columns(seen, range(len(columns)))
    if not drifting:
        return looked
    units: dict[int, float] = {}
    if runs.subject.single_lanes and not runs.together:
        units = {i: _unit(seen, i) for i in drifting if columns[i].kind == "real"}
    if units:
        steps = look.blocks(layout.stepping(units), 10)
        unsteady = {*look.moving_columns(steps, units), *look.clocks(layout, units)}
        units = {i: unit for i, unit in units.items() if i not in unsteady and not _stands_still(steps, i)}
    left_out = [i for i in drifting if i not in units]
    if len(left_out) == len(columns):
        return looked
    findings = list(looked.findings)
    if left_out:
        findings.append(Statement.LEFT_OUT.finding(columns=", ".join(columns[i].words for i in left_out)))
    if units:
        words = ", ".join(columns[i].words for i in units)
        findings.append(Statement.STEPS.finding(columns=words))
        layout = layout.stepping(units)
    return replace(looked, layout=layout.without(left_out), findings=findings)


@dataclass(frozen=True)
class _Look:
    """Blocks of draws of both data sets of a pair."""

    runs: FunctionRuns
    pair: Pair
    size: int
    seed: int

    def blocks(self, layout: OutputLayout, key: int) -> _BothWorlds:
        """Return for each data set the draws of two blocks, one after the other."""

        def block(data: Data, beside: Data, number: int) -> FloatArray:
            sequence = SpawnKey.PROBE.sequence(self.seed, key, number)
            return self.runs.sample(layout, data, self.size, sequence, beside).values

        pair = self.pair.data, self.pair.other
        return [(block(*one, 2 * i), block(*one, 2 * i + 1)) for i, one in enumerate((pair, pair[::-1]))]

    def moving_columns(self, seen: _BothWorlds, columns: Iterable[int]) -> list[int]:
        """Return those of `columns` that move from block to block."""
        level = _BLOCKS.error / (seen[0][0].shape[1] * len(seen))
        return [i for i in columns if any(_differ(one[:, i], other[:, i], level) for one, other in seen)]

    def clocks(self, layout: OutputLayout, columns: Collection[int]) -> list[int]:
        """Return those of `columns` that move while nothing is called."""
        found: tuple[list[FloatArray], list[FloatArray]] = [], []
        pause = max(_STEPS.pause, self.runs.seconds_a_draw)
        for turn in range(2 * _STEPS.pauses):
            begun = time.monotonic()
            first = self._draw(layout, turn)
            until = time.monotonic() + (pause if turn % 2 else 0.0)
            while time.monotonic() < until:  # a clock of the process stands still while it sleeps
                pass
            found[turn % 2].append(self._draw(layout, turn) - first)
            if turn % 2 == 0:
                pause = max(pause, min(2.0 * (time.monotonic() - begun), _STEPS.longest))
        short, long = map(np.concatenate, found)
        level = _STEPS.mistaken / len(columns)
        return [i for i in columns if _differ(short[:, i], long[:, i], level)]

    def _draw(self, layout: OutputLayout, turn: int) -> FloatArray:
        sequence = SpawnKey.PROBE.sequence(self.seed, 11, turn)
        return self.runs.sample(layout, self.pair.data, 1, sequence, self.pair.other).values


def _unit(seen: _BothWorlds, column: int) -> float:
    """Return the unit to which the steps of a column are rounded; 0 if its values are whole numbers."""
    values = [np.concatenate([one[:, column], other[:, column]]) for one, other in seen]
    present = [each[np.isfinite(each)] for each in values]
    step = max((float(np.ptp(each)) / each.size for each in present if each.size), default=0.0)
    return step_unit(np.concatenate(present), step * _STEPS.calls)


def _stands_still(steps: _BothWorlds, column: int) -> bool:
    """Return whether a column hardly ever moves, on either data set."""
    return all(float(np.mean(block[:, column] == 0.0)) > _STEPS.still for blocks in steps for block in blocks)


def _differ(first: FloatArray, second: FloatArray, level: float) -> bool:
    """Return whether one block's values are larger than the other's (Mann and Whitney's test)."""
    ours, theirs = (block[~np.isnan(block)] for block in (first, second))
    if not (ours.size and theirs.size) or np.ptp(np.concatenate([ours, theirs])) == 0.0:
        return False
    return bool(scipy.stats.mannwhitneyu(ours, theirs).pvalue < level)
