"""Test a privacy claim by sampling what the adversary sees.

Four stages, each on draws of its own, so that no stage's luck leaks into the next:

A. *scan*: every candidate pair of neighbours gets a small share; the most promising are kept.
B. *choose*: for those, events are laid out on one half of fresh draws and compared on the other half; a few
   events of each pair are listed, and the events of the band.
C. *confirm*: the listed events of all pairs are counted on fresh draws, of which their luck knows nothing; one event
   of one pair, in one order, wins. The way to invert its counts is fixed here, too.
F. *final*: that one event, fixed by now, is counted on fresh draws of both worlds.

A, B and C draw both worlds with the same random numbers (`verify.sampling.draws`): they only compare, and a comparison
of draws that go together is far sharper. F draws them independently, as its bounds demand.

Because F tests a single event that was fixed before F was drawn, the choices made in A, B and C cost nothing:
there is one look, and no correction to pay (`BlackBoxResult.looks` is 1). The reported bound holds at
`confidence`. The *refutation* is decided at a stricter level only: the bound computed from the same counts
at error `false_alarm` must exceed the claim. So a true claim is refuted with probability at most
`false_alarm`, whatever the confidence.

A test that is stopped (Ctrl-C, the time allowed) before F ends uses what F has drawn, and pays for all the
other batches at whose end it could have been stopped; one that is stopped before F begins has no result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from verify.events.event import Event
from verify.events.search import ChosenEvent, Found, search_events
from verify.events.view_sample import ViewSample
from verify.evidence import silent
from verify.sampling.black_box_result import BlackBoxResult
from verify.sampling.count_events import count_events, count_pairs
from verify.sampling.draws import (
    CHOOSE,
    CONFIRM,
    MULTIPLE,
    SCAN,
    Candidate,
    batch_sizes,
    draw_all,
    draw_batch,
)
from verify.sampling.final_test import STOPPED_EARLY, FinalTask, count_task, final_counts
from verify.sampling.workers import Pool, pool
from verify.statistics.delta_band import MOST_EVENTS, delta_band
from verify.statistics.detection_floor import detection_floor
from verify.statistics.inversion import Inversion, best_share, choose_inversion
from verify.statistics.predicted_bound import promised_epsilon

Progress = Callable[[float, str], None]
Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # as `count_pairs` gives them

FINALISTS = 3  # pairs that go from the scan to the choice of the event
TIE = 1e-4  # events predicted to be as good to within this share: the pair named first is taken
FEWEST = 256  # draws a world below which a stage cannot lay out events
BEFORE_FINAL = 0.35  # of the draws, that go to the earlier stages
SHARES = (0.15, 0.15, 0.05)  # of the draws: for the scan, the choice of events and their comparison
SHARES_OF_FEW = (0.0, 0.29, 0.06)  # the same where there is nothing to scan
CONFIRMED = 2.0  # standard errors from which a listed event's confirmed log ratio is judged
LARGEST_SEARCH = 2 << 20  # values of one world held in memory while an event is chosen (16 MB)
LARGEST_LATTICE_SEARCH = 1 << 20  # the same where bits are looked at: there are many readings of each value


@dataclass(frozen=True, slots=True)
class _Search:
    """A candidate on which to look for events, and with how many draws a world."""

    index: int
    stage: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A batch of draws of both worlds of a candidate, on which to count events."""

    index: int
    batch: int
    size: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Searched:
    """What was found, and the counts of all found events on the draws they were chosen on.

    `events` are `found.shortlist` (`found.best` of a scan) and then `found.band`; `hits` has shape (2, events), data D
    first.
    """

    found: Found
    events: tuple[ChosenEvent, ...]
    hits: npt.NDArray[np.int64]
    chosen_on: int
    drawn: int
    columns: int


@dataclass(frozen=True, slots=True)
class _Test:
    """What every stage needs to know; the work of the pool."""

    candidates: Sequence[Candidate]
    final_samples: int
    claim_epsilon: float
    claim_delta: float
    error: float
    lattice: bool
    seed: int

    def work(self, task: _Search | _Comparison | FinalTask) -> _Searched | Counts | npt.NDArray[np.int64]:
        """Do one task of any stage."""
        if isinstance(task, FinalTask):
            return count_task(self.candidates, self.seed, task)
        return self.search(task) if isinstance(task, _Search) else self.compare(task)

    def compare(self, task: _Comparison) -> Counts:
        """Draw a batch of both worlds, and count."""
        candidate, index = self.candidates[task.index], task.index
        first, second = (
            draw_batch(candidate, index, CONFIRM, world, task.batch, task.size, self.seed, alike=True)
            for world in (False, True)
        )
        return count_pairs(task.events, first, second)

    def search(self, task: _Search) -> _Searched:
        """Draw both worlds and search: the first half lays events out, the second compares them."""
        candidate = self.candidates[task.index]
        most = LARGEST_LATTICE_SEARCH if self.lattice else LARGEST_SEARCH
        first, second = (
            draw_all(candidate, task.index, task.stage, world, task.rows, self.seed, most, alike=True)
            for world in (False, True)
        )
        if first.columns != second.columns:
            raise ValueError(
                f"candidates must draw views with the same columns from both worlds ({candidate.label})"
            )
        drawn = len(first.values)
        half = drawn // 2
        choose = (first.rows(half, drawn), second.rows(half, drawn))
        found = search_events(
            (first.rows(0, half), second.rows(0, half)),
            choose,
            final_samples=self.final_samples,
            delta=self.claim_delta,
            error=self.error,
            band_epsilons=band_epsilons(self.claim_epsilon) if task.stage == CHOOSE else (),
            lattice=self.lattice,
            shortlist=task.stage == CHOOSE,
        )
        events: tuple[ChosenEvent, ...] = found.shortlist or found.best
        for event in found.band:
            if len(events) - len(found.shortlist) + 3 < MOST_EVENTS:
                events = (*events, event)
        hits = _count(events, choose) if task.stage == CHOOSE else np.zeros((2, 0), dtype=np.int64)
        return _Searched(found, events, hits, drawn - half, drawn, len(first.columns))


def black_box_test(
    candidates: Sequence[Candidate],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.95,
    false_alarm: float = 1e-4,
    seed: int,
    progress: Progress | None = None,
    workers: int = 1,
    lattice: bool = False,
) -> BlackBoxResult:
    """Try to refute a claim of (ε, δ)-differential privacy on some pairs of neighbours.

    Parameters
    ----------
    candidates
        The pairs; each is tried in both orders.
    claim_epsilon, claim_delta
        The claim; ε ≥ 0 and δ in [0, 1).
    samples
        Draws of the view to spend in all: every stage, both worlds, all candidates.
    confidence
        Of the reported bounds.
    false_alarm
        Error level of the refutation.
    seed
        Of everything random; the result is the same for the same seed, bit by bit.
    progress
        Called with the fraction done and what is being done.
    workers
        Processes that draw and count; the result does not depend on it.
    lattice
        Look only at how numbers lie on the floating-point lattice.

    Returns
    -------
    BlackBoxResult
        The final test of the one chosen event; of the draws until then, if it was stopped by Ctrl-C or by a
        time limit.

    Raises
    ------
    ValueError
        If a parameter is out of range, there are too few samples for the candidates, or a candidate draws
        something else than it was asked for.
    KeyboardInterrupt
        If it came before any final draws.
    """
    if not candidates:
        raise ValueError("candidates must not be empty")
    if not claim_epsilon >= 0.0:
        raise ValueError(f"claim_epsilon must be at least 0, got {claim_epsilon}")
    if not 0.0 <= claim_delta < 1.0:
        raise ValueError(f"claim_delta must lie in [0, 1), got {claim_delta}")
    for name, level in (("confidence", confidence), ("false_alarm", false_alarm)):
        if not 0.0 < level < 1.0:
            raise ValueError(f"{name} must lie in (0, 1), got {level}")
    tell = progress if progress is not None else silent
    sizes = _stage_sizes(len(candidates), samples)
    error = (1.0 - confidence) * (1.0 - STOPPED_EARLY)  # of a test that runs to its end
    strict_error = false_alarm * (1.0 - STOPPED_EARLY)
    test = _Test(candidates, samples // 4, claim_epsilon, claim_delta, error, lattice, seed)

    with pool(test.work, workers) as processes:
        finalists, spent = _choose(processes, len(candidates), sizes, samples, tell)
        # What the choice was too large to use goes to the comparison of what it found.
        rows = max(sizes.confirm, (int(BEFORE_FINAL * samples) - spent) // (2 * len(finalists)))
        rows = rows // MULTIPLE * MULTIPLE
        index, chosen, searched, confirmed, spent = _confirm(
            processes, finalists, test, rows, samples, spent, tell
        )
        best = searched.events[chosen]
        first, second = confirmed[::-1] if best.swapped else confirmed
        trials = (samples - spent) // 2 // MULTIPLE * MULTIPLE
        estimates = (int(first), int(second), rows, trials, claim_delta)
        inversion = choose_inversion(*estimates, error)
        strict_inversion = choose_inversion(*estimates, strict_error)
        events = _band_events(searched, chosen, trials, error)
        counts = final_counts(
            processes,
            index,
            [event for event, _, _ in events],
            trials=trials,
            columns=searched.columns,
            progress=lambda done: tell((spent + done * 2 * trials) / samples, "final test"),
        )
    if counts.stopped is not None and counts.trials == 0:
        raise counts.stopped
    tell(1.0, "done")
    n, share = counts.trials, counts.share_of_error
    hits, hits_prime = map(int, counts.hits[::-1, 0] if best.swapped else counts.hits[:, 0])
    bounds = _bounds(inversion, hits, hits_prime, n, claim_epsilon, claim_delta, (1.0 - confidence) * share)
    strict, _ = _bounds(
        strict_inversion, hits, hits_prime, n, claim_epsilon, claim_delta, false_alarm * share
    )
    return BlackBoxResult(
        candidate=index,
        label=candidates[index].label,
        swapped=best.swapped,
        event=best.event,
        hits=hits,
        hits_prime=hits_prime,
        trials=n,
        claim_epsilon=claim_epsilon,
        claim_delta=claim_delta,
        epsilon_lower=bounds[0],
        delta_lower=bounds[1],
        confidence=confidence,
        inverted_by=inversion,
        strict_epsilon_lower=strict,
        strictly_inverted_by=strict_inversion,
        share_of_error=share,
        band=delta_band(events, counts.hits, n, confidence=confidence, share_of_error=share),
        refuted=strict > claim_epsilon,
        false_alarm=false_alarm,
        looks=1,
        samples=spent + 2 * n,
        detection_floor=detection_floor(claim_epsilon, claim_delta, n, false_alarm * share),
        interrupted=counts.stopped is not None,
        seed=seed,
        final_batches=counts.sizes,
    )


def band_epsilons(claim: float) -> tuple[float, ...]:
    """Values of ε for each of which the band is to have an event: around the claim, and on a fixed scale."""
    around = [claim * factor for factor in (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0)]
    return tuple(sorted({0.0, *around, *np.geomspace(0.03, 12.0, 20).tolist()}))


def _choose(
    processes: Pool, candidates: int, sizes: _StageSizes, samples: int, tell: Progress
) -> tuple[list[tuple[int, _Searched]], int]:
    """Run the first two stages; the pairs' indices, what was found on each, and the draws spent."""
    finalists, spent = list(range(candidates)), 0
    if sizes.scan:
        ranked: list[tuple[float, int]] = []
        tell(0.0, f"scanning pair 1 of {candidates}")
        for searched in processes.results([_Search(i, SCAN, sizes.scan) for i in finalists]):
            spent += 2 * searched.drawn
            # Rounded: among pairs that promise the same, those named first go on.
            promise = max(event.predicted for event in searched.found.best)
            ranked.append((-round(promise, 3), len(ranked)))
            tell(spent / samples, f"scanning pair {min(len(ranked) + 1, candidates)} of {candidates}")
        finalists = [index for _, index in sorted(ranked)[:FINALISTS]]
    found: list[tuple[int, _Searched]] = []
    tell(spent / samples, f"choosing an event on pair 1 of {len(finalists)}")
    tasks = [_Search(index, CHOOSE, sizes.choose) for index in finalists]
    for rank, searched in enumerate(processes.results(tasks)):
        spent += 2 * searched.drawn
        tell(
            spent / samples,
            f"choosing an event on pair {min(rank + 2, len(finalists))} of {len(finalists)}",
        )
        found.append((finalists[rank], searched))
    return found, spent


def _confirm(
    processes: Pool,
    finalists: Sequence[tuple[int, _Searched]],
    test: _Test,
    rows: int,
    samples: int,
    spent: int,
    tell: Progress,
) -> tuple[int, int, _Searched, npt.NDArray[np.int64], int]:
    """Count the listed events on `rows` fresh draws of each world of each pair.

    Returns
    -------
    tuple
        The winner's pair, its place among that pair's events, what was found there, its counts (data D first), and the
        draws spent so far.
    """
    found: list[tuple[float, int, int, _Searched, npt.NDArray[np.int64]]] = []
    for rank, (index, searched) in enumerate(finalists):
        tell(spent / samples, f"comparing events on pair {rank + 1} of {len(finalists)}")
        events = tuple(event.event for event in searched.found.shortlist)
        tasks = [
            _Comparison(index, batch, size, events)
            for batch, size in enumerate(batch_sizes(rows, searched.columns))
        ]
        hits, split = np.zeros((2, len(events)), dtype=np.int64), np.zeros(len(events), dtype=np.int64)
        for counts in processes.results(tasks):
            hits, split = hits + counts[0], split + counts[1]
        spent += 2 * rows
        for place, event in enumerate(searched.found.shortlist):
            first, second = hits[::-1, place] if event.swapped else hits[:, place]
            promise = promised_epsilon(
                int(first),
                int(second),
                rows,
                test.final_samples,
                test.claim_delta,
                test.error,
                CONFIRMED,
                int(split[place]),
            )
            found.append((promise, index, place, searched, hits[:, place]))
    top = max(entry[0] for entry in found)
    ties = [entry for entry in found if entry[0] >= top - TIE * abs(top)]
    _, index, place, searched, counts = min(ties, key=lambda entry: (entry[1], -entry[0]))
    return index, place, searched, counts, spent


def _count(events: Sequence[ChosenEvent], worlds: tuple[ViewSample, ViewSample]) -> npt.NDArray[np.int64]:
    return np.stack([count_events([event.event for event in events], world) for world in worlds])


def _band_events(
    searched: _Searched, chosen: int, trials: int, error: float
) -> list[tuple[Event, bool, float]]:
    """The tested event, the best of each order and those of the band, each with the best split of its error."""
    listed = len(searched.found.shortlist)
    known = searched.events[chosen]
    others = [
        i
        for i in (*range(len(searched.found.best)), *range(listed, len(searched.events)))
        if (searched.events[i].event, searched.events[i].swapped) != (known.event, known.swapped)
    ]
    level = error / (1 + len(others))
    events = []
    for i in (chosen, *others):
        event = searched.events[i]
        first, second = searched.hits[::-1, i] if event.swapped else searched.hits[:, i]
        p, q = ((int(count) + 0.5) / (searched.chosen_on + 1) for count in (first, second))
        events.append((event.event, event.swapped, best_share(p, q, trials, level)))
    return events


def _bounds(
    inversion: Inversion, hits: int, other: int, n: int, epsilon: float, delta: float, error: float
) -> tuple[float, float]:
    """Lower bounds on ε at the claimed δ and on δ at the claimed ε; at least 0."""
    return (
        max(0.0, inversion.epsilon_lower(hits, n, other, n, delta, error)),
        max(0.0, inversion.delta_lower(hits, n, other, n, epsilon, error)),
    )


@dataclass(frozen=True, slots=True)
class _StageSizes:
    """Draws a world and candidate of the scan (0: nothing to scan), of the choice of events and of their comparison."""

    scan: int
    choose: int
    confirm: int


def _stage_sizes(candidates: int, samples: int) -> _StageSizes:
    few = candidates <= FINALISTS
    scanned, chosen, confirmed = SHARES_OF_FEW if few else SHARES
    worlds = 2 * min(candidates, FINALISTS)
    scan = int(scanned * samples) // (2 * candidates) // MULTIPLE * MULTIPLE
    choose = int(chosen * samples) // worlds // MULTIPLE * MULTIPLE
    confirm = max(MULTIPLE, int(confirmed * samples) // worlds // MULTIPLE * MULTIPLE)
    if (scan < FEWEST and not few) or choose < FEWEST:
        least = (
            _least(chosen, worlds) if few else max(_least(scanned, 2 * candidates), _least(chosen, worlds))
        )
        raise ValueError(
            f"samples must be at least {least:,} for {candidates} pair(s) of neighbours, got {samples:,}"
        )
    return _StageSizes(scan, choose, confirm)


def _least(share: float, worlds: int) -> int:
    """Return the fewest samples of which `share` gives each of so many worlds enough draws."""
    enough = FEWEST * worlds
    samples = math.floor(enough / share) - 1  # rounding may move the edge by one
    while int(share * samples) < enough:
        samples += 1
    return samples
