"""Seeded draws of the adversary's view, batch by batch.

Batch b of world w, drawn for candidate i at stage s, has the seed ``SeedSequence(seed, spawn_key=(s, i, w, b))``
and a size, a multiple of `mechanisms.BLOCK`, that depends on nothing but the number of rows and of columns. So draws
repeat bit by bit, in any process and any order.

Draws for comparisons alone are `alike`: both worlds get the seed of w = 0, *common random numbers* (Glasserman
and Yao 1992, Management Science 38). A view that moves little with the data then moves little from the one world to the
other, and the difference between them is seen with far less noise. The draws of each world are still independent of
each other. Draws that decide are alike only where every pair has a seed of its own (`verify.betting.e_process`); all
others are independent of everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms import BLOCK
from mechanisms.parameters import ParameterError, half_open_unit, nonnegative, open_unit
from verify.conduct.effort import FALSE_ALARM
from verify.conduct.spawn_keys import SpawnKey
from verify.events.predicted_bound import ComingTest
from verify.events.view_sample import ViewSample
from verify.events.worlds import NeighbouringWorlds

FIRST_BATCH = 1 << 13  # rows of the first batch of a stage, before the number of columns is known
STOPPED_EARLY = 0.2
"""Share of every error that is set aside for tests that were stopped before their last batch."""
_BATCH = 1 << 18  # values of one batch of draws (2 MB), so that counting stays within the cache


def batch_sizes(rows: int, columns: int) -> list[int]:
    """Sizes of the batches of `rows` draws of views with `columns` columns."""
    sizes = [min(rows, FIRST_BATCH)]
    size = max(FIRST_BATCH, _BATCH // columns // BLOCK * BLOCK)
    done = sizes[0]
    while done < rows:
        sizes.append(min(rows - done, size))
        done += sizes[-1]
    return sizes


@dataclass(frozen=True, kw_only=True)
class ClaimTest:
    """A test of a claim of (ε, δ)-differential privacy.

    Attributes
    ----------
    epsilon, delta
        The claim; ε ≥ 0 and δ in [0, 1).
    samples
        The most draws of the view to spend: both worlds, all pairs, every stage.
    confidence
        The confidence of the reported bounds.
    significance
        The error level of the refutation.
    seed
        The seed of everything random; the result is the same for the same seed, bit by bit.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """

    epsilon: float
    delta: float
    samples: int
    confidence: float = 0.95
    significance: float = FALSE_ALARM
    seed: int

    def __post_init__(self) -> None:
        nonnegative("epsilon", self.epsilon)
        half_open_unit("delta", self.delta)
        open_unit("confidence", self.confidence)
        open_unit("significance", self.significance)


@dataclass(frozen=True)
class LookPlan(ClaimTest):
    """The parameters that all stages of a black-box test share.

    Attributes
    ----------
    candidates
        The pairs; each is tried in both orders.
    lattice
        True to test only the place of numbers on the floating-point lattice.
    """

    candidates: Sequence[NeighbouringWorlds]
    lattice: bool = False

    @property
    def final_samples(self) -> int:
        """Draws a side of the final test, about."""
        return self.samples // 4

    @property
    def error(self) -> float:
        """The error of the reported bound, of a test that runs to its end."""
        return (1.0 - self.confidence) * (1.0 - STOPPED_EARLY)

    @property
    def strict_error(self) -> float:
        """The error of the bound that refutes, of a test that runs to its end."""
        return self.significance * (1.0 - STOPPED_EARLY)

    def coming_test(self, error: float) -> ComingTest:
        """Return the final test, at one of the two errors."""
        return ComingTest(self.delta, error, self.final_samples)

    def stream(self, index: int, stage: SpawnKey, world: bool, *, alike: bool) -> WorldStream:
        """Return the draws of one world of a candidate at a stage."""
        return WorldStream(self.candidates[index], index, stage, world, self.seed, alike)


@dataclass(frozen=True, slots=True)
class WorldStream:
    """The draws of one world of a candidate at one stage.

    Attributes
    ----------
    candidate, index
        The candidate and its number.
    stage
        The stage of the test.
    world
        True for D′.
    seed
        The seed of the test.
    alike
        True if they are drawn with the random numbers of the first world.
    """

    candidate: NeighbouringWorlds
    index: int
    stage: SpawnKey
    world: bool
    seed: int
    alike: bool = False

    def batch(self, number: int, size: int) -> ViewSample:
        """Draw one batch.

        Raises
        ------
        ParameterError
            If the candidate draws another number of views than it was asked for.
        """
        sequence = self.stage.sequence(self.seed, self.index, int(self.world and not self.alike), number)
        sample = self.candidate.draw(self.world, size, sequence)
        if len(sample.values) != size:
            raise ParameterError(
                f"draw returned {len(sample.values)} views ({self.candidate.pair_label}): must return {size}"
            )
        return sample

    def sample(self, rows: int, most_values: int) -> ViewSample:
        """Draw `rows` views, fewer if they would hold more than `most_values` values; see `batch`."""
        first = self.batch(0, min(rows, FIRST_BATCH))
        columns = len(first.columns)
        allowed = max(len(first.values), most_values // columns // BLOCK * BLOCK)
        values = np.empty((min(rows, allowed), columns), order="F")  # whole columns are read
        values[: len(first.values)] = first.values
        done = len(first.values)
        for number, size in enumerate(batch_sizes(len(values), columns)[1:], start=1):
            values[done : done + size] = self.batch(number, size).values
            done += size
        return ViewSample(values, first.columns)
