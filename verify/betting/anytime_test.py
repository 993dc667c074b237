"""The anytime mode of the black-box test: bet on events while drawing, and stop when the wealth is enough.

There is no sample split. The past, at 16, 32, 64 ... draws a side, chooses an event for each pair of data
sets and, within a stretch, the stakes; only draws that come later decide (`verify.betting.e_process`). The
bets on all pairs multiply into one wealth, because each of them is fair given all that came before it; so neither the
number of pairs nor both orders of each, nor the looks at the wealth cost anything.

The known pairs are bet on at once, so that gross bugs end the run within a few draws. Where these bets win nothing,
more pairs are searched for, if there is anything to search (`CandidateSource.further`), once they have spent a fair
part of what it costs; the pairs that it finds catch up and are bet on beside the others. Its draws count as spent, and
no bet is on them.

A second family of bets runs along: one wealth for every ε of a grid, on the same events with stakes of their
own. The lower bound on ε is the largest grid point below which every ε has been refuted at the level of the
confidence. It may be read at any time too (`AnytimeResult.epsilon_lower`): a run that is stopped says what it
has seen, at no cost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from verify.betting.anytime_result import AnytimeResult, Bet, Opening
from verify.betting.anytime_seat import FEWEST_OF_PAIR, Seat
from verify.betting.anytime_table import SEARCHED, Table
from verify.conduct.effort import FALSE_ALARM
from verify.conduct.progress import Progress, silent
from verify.conduct.time_limit import TimeLimitReached
from verify.sampling.draws import MULTIPLE
from verify.sampling.tester import Candidates, CandidateSource
from verify.sampling.worlds import NeighbouringWorlds

FIRST_LOOK = 16  # draws a side after which the first event is chosen
SEARCH_AFTER = 1024  # draws a side before which no more pairs are searched for
PATIENCE, LONGEST = 0.25, 1.0  # of the cost of the search, that bets spend before it; at most, while they win
PRUNE_FROM = 4096  # draws a side after which the less promising half of the pairs is dropped, at every look
KEPT = 3  # pairs of searches that the next run begins with
BET_ON = 0.5  # of the best pair's promise: pairs that promise less are looked at, not bet on


def anytime_test(
    candidates: Sequence[NeighbouringWorlds],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.95,
    false_alarm: float = FALSE_ALARM,
    seed: int,
    progress: Progress | None = None,
    opening: Opening | None = None,
    source: CandidateSource | None = None,
) -> AnytimeResult:
    """Bet against a claim of (ε, δ)-differential privacy until it is refuted or the draws are spent.

    Parameters
    ----------
    candidates
        The pairs of neighbouring worlds; both orders of each are bet on.
    claim_epsilon, claim_delta
        The claim; ε in [0, 700), δ in [0, 1).
    samples
        The most draws to spend: both worlds, all pairs, and the search for more.
    confidence
        Of the lower bound on ε.
    false_alarm
        The claim is refuted when the wealth reaches 1 / `false_alarm`.
    seed
        Of everything random. With an `opening`, one that no earlier run used.
    progress
        Called with the share of `samples` that is spent and what is being done.
    opening
        What earlier runs won.
    source
        Where the pairs come from, and more, once, if the first ones do not refute the claim soon.

    Returns
    -------
    AnytimeResult
        Of the draws until then, if the run was stopped by Ctrl-C or by a time limit: its wealth and bounds hold.

    Raises
    ------
    ValueError
        If a parameter is out of range, or a candidate draws something else than it was asked for.
    KeyboardInterrupt
        If it came before any bet.
    """
    if not candidates:
        raise ValueError("candidates must not be empty")
    for name, level in (("confidence", confidence), ("false_alarm", false_alarm)):
        if not 0.0 < level < 1.0:
            raise ValueError(f"{name}={level!r}: must lie in (0, 1)")
    if not false_alarm < 1.0 - confidence:
        raise ValueError(
            f"false_alarm={false_alarm!r}: must be below 1 - confidence={1.0 - confidence:.6g}, which also "
            "pays for it"
        )
    least = FEWEST_OF_PAIR * len(candidates)
    if samples < least:
        raise ValueError(
            f"samples={samples:,}: must be at least {least:,} for {len(candidates)} pair(s) of neighbours"
        )
    source = source or Candidates(candidates, samples)
    reserve = SEARCHED if source.search_samples else 0.0
    table = Table(claim_epsilon, claim_delta, confidence, false_alarm, opening or Opening(), reserve=reserve)
    run = _Run(table, candidates, samples, seed, progress or silent, source)
    stopped: KeyboardInterrupt | None = None
    try:
        run.play()
    except KeyboardInterrupt as stop:
        if not table.state.bets:
            raise
        stopped = stop
    return run.result(stopped)


class _Run:
    """The pairs at the table, and the draws that are left."""

    def __init__(
        self,
        table: Table,
        candidates: Sequence[NeighbouringWorlds],
        samples: int,
        seed: int,
        tell: Progress,
        source: CandidateSource,
    ) -> None:
        self.table, self.samples, self.seed, self.tell = table, samples, seed, tell
        self.source, self.to_search = source, source.search_samples > 0
        self.searched, self.limit = 0, samples
        self.everyone = [Seat(one, i, seed, source.calls_are_dear) for i, one in enumerate(candidates)]
        self.seats = self.everyone

    @property
    def spent(self) -> int:
        """Draws so far, of the search too."""
        return self.searched + sum(seat.spent for seat in self.everyone)

    def play(self) -> None:
        """Play until the claim is refuted or the draws are spent."""
        while not self.table.over:
            seen = min(seat.seen for seat in self.seats)
            if self.to_search and seen >= SEARCH_AFTER and self._search_is_due:
                self._search()
                self.to_search = False
                continue
            behind = [seat for seat in self.seats if seat.seen == seen]  # those who came late catch up
            stretch = min(seen or FIRST_LOOK, _affordable(behind, self.limit - self.spent))
            if stretch == 0:
                break
            self._turn(behind, stretch)
            if seen + stretch >= PRUNE_FROM and len(behind) == len(self.seats):
                ranked = sorted(self.seats, key=lambda seat: (-seat.promise, seat.index))
                self.seats = sorted(ranked[: (len(ranked) + 1) // 2], key=lambda seat: seat.index)
        self.tell(1.0, "done")

    @property
    def _search_is_due(self) -> bool:
        """Whether the bets cost enough for a search to be worth its draws."""
        winning = self.table.state.log_wealth > self.table.opening.log_wealth
        return self.spent >= (LONGEST if winning else PATIENCE) * self.source.search_samples

    def _turn(self, seats: Sequence[Seat], stretch: int) -> None:
        """Bet on the next draws of some pairs, on those that promise as much as the best of all."""
        for seat in seats:
            seat.prepare(self.table)
        if any(seat.holds for seat in seats):
            self.table.begin()
        promising = BET_ON * max(seat.promise for seat in self.seats)
        for seat in seats:
            wealth = math.exp(min(self.table.state.log_wealth, 700.0))
            self.tell(min(1.0, self.spent / self.samples), f"betting, wealth {wealth:.3g}")
            seat.play(stretch, self.table, staking=seat.promise >= promising)
            if self.table.state.crossed:
                return

    def _search(self) -> None:
        """Search for more pairs."""
        found = self.source.further(self.limit - self.spent)
        self.searched += found.searched
        self.table.begin(searched=True)
        self.limit = int(min(self.limit, self.spent + found.samples))
        first = len(self.everyone)
        late = [
            Seat(one, first + i, self.seed, self.source.calls_are_dear) for i, one in enumerate(found.worlds)
        ]
        self.everyone = [*self.everyone, *late]
        self.seats = [*self.seats, *late]

    def result(self, stopped: KeyboardInterrupt | None) -> AnytimeResult:
        """Name the event on which most was won."""
        table, state = self.table, self.table.state
        gains: dict[tuple[int, bool, str], list[Bet]] = {}
        for bet in state.bets:
            key = (bet.candidate, bet.swapped, json.dumps(bet.event.to_dict(), sort_keys=True))
            gains.setdefault(key, []).append(bet)
        best = max(gains.values(), key=lambda bets: sum(bet.gain for bet in bets))
        held = {seat.candidate.label: seat.closing for seat in self.everyone}
        searched = [
            (seat.promise, seat.candidate.found) for seat in self.everyone if seat.candidate.found is not None
        ]
        opening = table.opening
        closing = replace(
            opening,
            log_wealth=state.log_wealth,
            log_peak=state.log_peak,
            bets={**opening.bets, **{label: hand for label, hand in held.items() if hand is not None}},
            grid_log_wealth=tuple(table.grid_wealth.tolist()),
            grid_log_peak=tuple(state.grid_peak.tolist()),
            pairs=tuple(found for _, found in sorted(searched, key=lambda pair: -pair[0])[:KEPT]),
        )
        return AnytimeResult(
            candidate=best[0].candidate,
            worlds=self.everyone[best[0].candidate].candidate,
            swapped=best[0].swapped,
            event=best[0].event,
            hits=sum(bet.hits for bet in best),
            hits_prime=sum(bet.hits_prime for bet in best),
            trials=sum(bet.draws for bet in best),
            claim_epsilon=table.claimed[0],
            claim_delta=table.claimed[1],
            log_wealth=state.log_wealth,
            log_peak=state.log_peak,
            refuted=table.won,
            false_alarm=table.false_alarm,
            epsilon_lower=table.epsilon_lower,
            confidence=table.confidence,
            draws=max(seat.seen for seat in self.everyone),
            samples=self.spent,
            search_samples=self.searched,
            bets=state.bets,
            closing=closing,
            seed=self.seed,
            interrupted=stopped is not None,
            by_time_limit=isinstance(stopped, TimeLimitReached),
            dependent=None,
        )


def _affordable(seats: Sequence[Seat], budget: int) -> int:
    """The longest stretch for all pairs that takes at most `budget` draws of both worlds together."""
    ready = min(seat.ready for seat in seats)
    return ready + max(0, budget) // (2 * len(seats)) // MULTIPLE * MULTIPLE
