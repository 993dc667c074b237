"""The first two stages of a black-box test: scan pairs of neighbours, and choose events of the most promising ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from algorithms.blocks import Workers
from mechanisms.parameters import ParameterError
from verify.conduct.progress import Progress
from verify.conduct.spawn_keys import SpawnKey
from verify.events.count_events import count_events
from verify.events.reading_bins import ReadingBins
from verify.events.search import ChosenEvent, Found, search_events
from verify.events.view_sample import ViewSample, WorldSamples
from verify.sampling.delta_band import MOST_EVENTS
from verify.sampling.draws import LookPlan
from verify.sampling.stage_sizes import FINALISTS, StageSizes

_LARGEST_SEARCH = 2 << 20  # values of one world held in memory while an event is chosen (16 MB)
_LARGEST_LATTICE_SEARCH = 1 << 20  # the same where bits are tested: there are many readings of each value


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """The events found by a search, and the counts of all of them on the draws they were chosen on.

    `events` are `found.shortlist` and then `found.band`; `hits` has shape (2, events), data D
    first. `bins` are those of the shortlist.
    """

    found: Found
    events: tuple[ChosenEvent, ...]
    hits: npt.NDArray[np.int64]
    chosen_on: int
    drawn: int
    columns: int
    bins: tuple[ReadingBins | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Search:
    """A candidate on which to search for events, with the number of draws a world, and these if they are made."""

    index: int
    stage: SpawnKey
    rows: int
    worlds: WorldSamples | None = None

    def result(self, plan: LookPlan) -> Searched:
        """Draw both worlds and search: the first half lays events out, the second compares them."""
        first, second = self.worlds or (WorldDraws(self, world).result(plan) for world in (False, True))
        if first.columns != second.columns:
            label = plan.candidates[self.index].pair_label
            raise ParameterError(
                f"candidates must draw views with the same columns from both worlds ({label})"
            )
        drawn = len(first.values)
        half = drawn // 2
        choose = (first.rows(half), second.rows(half))
        choosing = self.stage == SpawnKey.CHOOSE
        found = search_events(
            (first.rows(0, half), second.rows(0, half)),
            choose,
            plan.coming_test(plan.error),
            band_epsilons=band_epsilons(plan.epsilon) if choosing else (),
            lattice=plan.lattice,
            shortlist=choosing,
        )
        events = (*found.shortlist, *found.band[: MOST_EVENTS - 3])
        hits, bins = np.zeros((2, 0), dtype=np.int64), tuple[ReadingBins | None, ...]()
        if choosing:
            bins = tuple(ReadingBins.for_event(one.event, *choose) for one in found.shortlist)
            hits = np.stack([count_events([one.event for one in events], world) for world in choose])
        return Searched(found, events, hits, drawn - half, drawn, len(first.columns), bins)


@dataclass(frozen=True, slots=True)
class WorldDraws:
    """One world of a candidate on which to look for events."""

    search: Search
    world: bool

    def result(self, plan: LookPlan) -> ViewSample:
        """Draw it, with the random numbers of the first world."""
        task, most = self.search, _LARGEST_LATTICE_SEARCH if plan.lattice else _LARGEST_SEARCH
        return plan.stream(task.index, task.stage, self.world, alike=True).sample(task.rows, most)


def band_epsilons(claim: float) -> tuple[float, ...]:
    """Values of ε for each of which the band is to have an event: around the claim, and on a fixed scale."""
    around = [claim * factor for factor in (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)]
    return tuple(sorted({0.0, *around, *np.geomspace(0.03, 12.0, 20).tolist()}))


def choose_events(
    processes: Workers, plan: LookPlan, sizes: StageSizes, tell: Progress
) -> tuple[list[tuple[int, Searched]], int]:
    """Run the two stages; return the pairs' indices with the search of each, and the draws spent."""
    candidates, samples, spent = len(plan.candidates), plan.samples, 0
    finalists = list(range(candidates))
    if sizes.scan:
        ranked: list[tuple[float, int]] = []
        tell(0.0, f"scanning pair 1 of {candidates}")
        for searched in processes.results([Search(i, SpawnKey.SCAN, sizes.scan) for i in finalists]):
            spent += 2 * searched.drawn
            # Rounded: among pairs that promise the same, those named first go on.
            promise = max(event.predicted for event in searched.found.best)
            ranked.append((-round(promise, 3), len(ranked)))
            tell(spent / samples, f"scanning pair {min(len(ranked) + 1, candidates)} of {candidates}")
        finalists = [index for _, index in sorted(ranked)[:FINALISTS]]
    found: list[tuple[int, Searched]] = []
    tell(spent / samples, f"choosing an event on pair 1 of {len(finalists)}")
    tasks = [Search(index, SpawnKey.CHOOSE, sizes.choose) for index in finalists]
    if len(tasks) == 1:  # then both worlds can be drawn at the same time
        first, second = processes.results([WorldDraws(tasks[0], world) for world in (False, True)])
        tasks = [replace(tasks[0], worlds=(first, second))]
    for rank, searched in enumerate(processes.results(tasks)):
        spent += 2 * searched.drawn
        tell(
            spent / samples,
            f"choosing an event on pair {min(rank + 2, len(finalists))} of {len(finalists)}",
        )
        found.append((finalists[rank], searched))
    return found, spent
