"""The third stage of a black-box test: count the listed events on fresh draws, and fix the one to be tested.

It has a second round where the choice is uncertain. The first judges every event by the bound that it promises if its
log ratio is two and a half standard errors below its estimate, as far as the estimate of the best of some dozens may be
too high. By that a rare event loses to a frequent one of a smaller loss: the event of probability 4e-4 with the largest
loss of a sparse vector technique that answers without end is seen 200 times in half a million draws, so that two and a
half standard errors are more than a quarter of a unit of ε. So if an event, one standard error below its estimate,
promises a quarter more than the leader does two and a half below its own, the leader and a few others are counted once
more, on draws that would have gone to the final test, and judged one and a half standard errors below these counts.
The same is done if no event is sure to refute and one may: a few hits decide there. Elsewhere nothing is spent.

If no event promises a tenth of the claim, the one with the largest estimate is taken: a few hits in one world and none
in the other either show next to nothing, or refute the claim.

Neither round costs validity. The final test is of one event that is fixed before the first of its draws, which
are independent of all draws of this stage; the second round changes the number of draws that are left to the final
test, and that is fixed by then, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from algorithms.blocks import Workers
from mechanisms import BLOCK
from verify.conduct.progress import Progress
from verify.conduct.spawn_keys import SpawnKey
from verify.events.count_events import count_pairs
from verify.events.event import Event
from verify.events.predicted_bound import promised_epsilon
from verify.sampling.draws import LookPlan, batch_sizes
from verify.sampling.event_choice import Searched

Counts = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]  # as `count_pairs` gives them


@dataclass(frozen=True, slots=True)
class _ConfirmationRule:
    """Settings for the choice of an event, on which no bound's validity rests.

    Attributes
    ----------
    caution, of_few
        Standard errors below its estimate at which an event is judged, in the first round and in the second, of few
        events.
    sure
        Standard errors below its estimate at which an event that still promises to refute is sure to.
    likely, uncertain
        There is a second round if an event, `likely` standard errors below its estimate, promises more than `uncertain`
        times as much as the leader does `caution` below its own.
    poor, daring
        If no event promises the share `poor` of the claim, events are judged `daring` standard errors below their
        estimates.
    readable
        Share of the largest promise from which a readable event is taken in place of one that is not.
    tie
        Events with promises equal to within this share are tied: the one of the pair named first is taken.
    contenders
        The most events that are counted once more, besides the leader.
    again
        Share of all draws for the second round.
    """

    caution: float = 2.5
    of_few: float = 1.5
    sure: float = 3.0
    likely: float = 1.0
    uncertain: float = 1.25
    poor: float = 0.1
    daring: float = 0.5
    readable: float = 0.9
    tie: float = 1e-4
    contenders: int = 4
    again: float = 0.06


RULE = _ConfirmationRule()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A batch of draws of both worlds of a candidate, on which to count events."""

    index: int
    batch: int
    size: int
    events: tuple[Event, ...]

    def result(self, plan: LookPlan) -> Counts:
        """Draw the batch of both worlds, with the same random numbers, and count."""
        first, second = (
            plan.stream(self.index, SpawnKey.CONFIRM, world, alike=True).batch(self.batch, self.size)
            for world in (False, True)
        )
        return count_pairs(self.events, first, second)


@dataclass(frozen=True, slots=True, eq=False)
class _ListedEvent:
    """An event of a pair's shortlist, and its counts on draws independent of its choice.

    Attributes
    ----------
    index
        The pair.
    place
        The place of the event in the pair's shortlist.
    searched
        The events found on the pair.
    hits
        Draws in the event, data D first.
    split
        Pairs of draws of which exactly one is in the event.
    counted
        Draws of each world.
    """

    index: int
    place: int
    searched: Searched
    hits: tuple[int, int]
    split: int
    counted: int

    @property
    def event(self) -> Event:
        """The event."""
        return self.searched.found.shortlist[self.place].event

    @property
    def estimates(self) -> tuple[int, int]:
        """The hits, those of the world in which the event was found to be the likelier one first."""
        first, second = self.hits
        return (second, first) if self.searched.found.shortlist[self.place].swapped else (first, second)

    def with_counts(self, counts: Counts, at: int, drawn: int) -> _ListedEvent:
        """The same with further draws, in which it was number `at` of the events that were counted."""
        first, second = (int(world[at]) for world in counts[0])
        return replace(
            self,
            hits=(self.hits[0] + first, self.hits[1] + second),
            split=self.split + int(counts[1][at]),
            counted=self.counted + drawn,
        )


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The confirmation of events on fresh draws.

    Attributes
    ----------
    pool
        Its work on a `Comparison` is `Comparison.result`.
    plan
        The plan of the test.
    tell
        Function that is called with the progress.
    """

    pool: Workers
    plan: LookPlan
    tell: Progress

    def winner(
        self, finalists: Sequence[tuple[int, Searched]], rows: int, spent: int
    ) -> tuple[_ListedEvent, int]:
        """Return the event to test, and the draws that are spent by then.

        Parameters
        ----------
        finalists
            Pairs, and the events found on them.
        rows
            Draws of each world of each pair in the first round.
        spent
            Draws before.
        """
        listed: list[_ListedEvent] = []
        for rank, (index, searched) in enumerate(finalists):
            self.tell(spent / self.plan.samples, f"comparing events on pair {rank + 1} of {len(finalists)}")
            new = [
                _ListedEvent(index, place, searched, (0, 0), 0, 0)
                for place in range(len(searched.found.shortlist))
            ]
            listed += self._count_events(new, rows, 0)
            spent += 2 * rows
        leader = self._choose(listed, RULE.caution)
        rivals = self._contenders(listed, leader)
        if not rivals:
            return leader, spent
        self.tell(spent / self.plan.samples, "counting a few events once more")
        pairs = list(dict.fromkeys(one.index for one in (leader, *rivals)))
        more = int(RULE.again * self.plan.samples) // (2 * len(pairs)) // BLOCK * BLOCK
        if more == 0:
            return leader, spent
        again: list[_ListedEvent] = []
        for index in pairs:
            some = [one for one in (leader, *rivals) if one.index == index]
            # The batch numbers go on from those of the first round, so that the draws are fresh.
            again += self._count_events(some, more, len(batch_sizes(rows, some[0].searched.columns)))
        return self._choose(again, RULE.of_few), spent + 2 * more * len(pairs)

    def _count_events(self, some: Sequence[_ListedEvent], rows: int, batch: int) -> list[_ListedEvent]:
        """Count events of one pair on `rows` more draws of each world, in batches from number `batch` on."""
        index, columns = some[0].index, some[0].searched.columns
        events = tuple(one.event for one in some)
        sizes = batch_sizes(rows, columns)
        tasks = [Comparison(index, number, size, events) for number, size in enumerate(sizes, start=batch)]
        hits, split = np.zeros((2, len(events)), dtype=np.int64), np.zeros(len(events), dtype=np.int64)
        for counts in self.pool.results(tasks):
            hits, split = hits + counts[0], split + counts[1]
        return [one.with_counts((hits, split), at, rows) for at, one in enumerate(some)]

    def _promise(self, one: _ListedEvent, caution: float, error: float | None = None) -> float:
        test = self.plan.coming_test(error or self.plan.error)
        return promised_epsilon(*one.estimates, one.counted, test, caution, one.split, few_known=True)

    def _choose(self, listed: Iterable[_ListedEvent], caution: float) -> _ListedEvent:
        """Return the event that promises most, at some caution; of equal ones, one of the pair named first.

        Events that are sure to refute go first, then those that promise to: at the strict level a rare event may give
        less than a frequent one, and a few hits more or fewer decide whether it refutes. A readable event is taken if
        it promises nearly as much.
        """
        events = list(listed)
        refuting = self._refuting(events, RULE.sure) or self._refuting(events, caution)
        promises = [(self._promise(one, caution), one) for one in refuting or events]
        if max(promise for promise, _ in promises) < RULE.poor * self.plan.epsilon:
            promises = [(self._promise(one, RULE.daring), one) for one in events]
        top = max(promise for promise, _ in promises)
        if found := [each for each in promises if each[1].event.readable and each[0] >= RULE.readable * top]:
            promises, top = found, max(promise for promise, _ in found)
        ties = [entry for entry in promises if entry[0] >= top - RULE.tie * abs(top)]
        return min(ties, key=lambda entry: (entry[1].index, -entry[0]))[1]

    def _refuting(self, events: Sequence[_ListedEvent], caution: float) -> list[_ListedEvent]:
        """Return the events that refute the claim at its strict level, `caution` errors below their estimates."""
        return [
            one for one in events if self._promise(one, caution, self.plan.strict_error) > self.plan.epsilon
        ]

    def _contenders(self, listed: Sequence[_ListedEvent], leader: _ListedEvent) -> list[_ListedEvent]:
        """Return the events to count once more, if the choice is uncertain: the next safest, then by estimate."""
        safe = self._promise(leader, RULE.caution)
        better = any(self._promise(one, RULE.likely) > max(RULE.uncertain * safe, 0.0) for one in listed)
        in_reach = self._refuting(listed, -RULE.likely) and not self._refuting(listed, RULE.caution)
        if not (better or in_reach):
            return []
        others = [one for one in listed if one is not leader]
        next_safest = sorted(others, key=lambda one: -self._promise(one, RULE.caution))[:1]
        best = sorted(others, key=lambda one: -self._promise(one, 0.0))
        return list(dict.fromkeys([*next_safest, *best]))[: RULE.contenders]
