"""The sequential test of a claim: bets on events while drawing, until the draws or the time are spent.

There is no sample split. The past, at 1, 2, 4 ... draws a side, chooses an event for each pair of data sets and the
stakes; only draws that come later decide (`verify.betting.e_process`). Of all pairs under test the one that promises
most is bet on. All bets multiply into one wealth, because each of them is fair given all that came before it; so
neither the number of pairs nor both orders of each, nor the looks at the wealth cost anything.

The known pairs are bet on at once, so that gross bugs show within a few draws. The time of a draw is measured, for each
pair by itself: if time allows few draws, few pairs are tried, and stakes are for the number of draws that time and
draws leave for this pair. Both may be functions of the past. A run that is stopped bets on the draws that are complete,
and skips none: to leave out slow ones would condition on being fast.

If these bets win nothing, more pairs are searched for, if the source can search (`CandidateSource.further_candidates`),
once the bets have spent a fair part of the cost of the search; the pairs that it finds catch up and are bet on beside
the others. Its draws count as spent, and no bet is on them.

One wealth for every ε of a grid runs along, on the same events with stakes of its own. The lower bound on ε is the
largest grid point up to which every ε has been rejected at the level of the confidence. It may be read at any time too
(`AnytimeResult.epsilon_lower`): a run that is stopped has its bound, at no cost.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mechanisms import BLOCK
from mechanisms.parameters import ParameterError
from verify.betting.anytime_result import AnytimeResult, Bet, Opening, Outlook
from verify.betting.pair_under_test import PairUnderTest
from verify.betting.wealth import Wealth
from verify.conduct.interrupts import Stop
from verify.conduct.progress import Progress, no_progress
from verify.conduct.time_limit import TimeLimitReached
from verify.events.predicted_bound import ComingTest
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.draws import ClaimTest
from verify.sampling.stage_sizes import FEWEST_OF_PAIR
from verify.sampling.tester import ONCE, Candidates, CandidateSource, Pace


@dataclass(frozen=True, slots=True)
class _BettingSchedule:
    """Settings for the looks, the search and the dropping of pairs, on which no bet's validity rests.

    Attributes
    ----------
    first_look
        Draws a side after which the first event is chosen, where they come in blocks.
    parts
        The parts of a stretch between two looks, each with stakes of its own.
    search_after
        Draws a side before which no more pairs are searched for.
    patience, longest
        Shares of the cost of the search that bets spend before it: usually, and at most, while they win.
    prune_from, prune_dear_from
        Draws a side after which the less promising half of the pairs is dropped, at every look; where draws are dear.
    worth_a_pair
        Draws a side that must be affordable for every pair that is tried.
    independence
        Draws a side of the event that won in which dependence is looked for, if they can be had.
    first_bound, first_seconds
        Draws a side, and seconds, before the task for meanwhile is run.
    kept
        Pairs of searches that the next run begins with.
    """

    first_look: int = 16
    parts: int = 16
    search_after: int = 1024
    patience: float = 0.25
    longest: float = 1.0
    prune_from: int = 1024
    prune_dear_from: int = 16
    worth_a_pair: int = 32
    first_bound: int = 4
    independence: int = 2048
    first_seconds: float = 2.0
    kept: int = 3


SCHEDULE = _BettingSchedule()


def anytime_test(
    candidates: Sequence[NeighbouringWorlds],
    test: ClaimTest,
    *,
    progress: Progress = no_progress,
    opening: Opening | None = None,
    source: CandidateSource | None = None,
    pace: Pace = ONCE,
) -> AnytimeResult:
    """Bet against a claim of (ε, δ)-differential privacy until it is refuted, or the draws or the time are spent.

    Parameters
    ----------
    candidates
        The pairs of neighbouring worlds; both orders of each are bet on.
    test
        The claim, with ε below 700; the draws, of the search for more pairs too; the confidence of the lower bound on
        ε; and the significance: the claim is refuted when the wealth reaches 1 / significance, which is at most half of
        1 - confidence. With an `opening`, the seed is one that no earlier run used.
    progress
        Function that is called with the share of the draws that is spent, and the present task in words.
    opening
        The wealth of earlier runs.
    source
        The source of the pairs, and of more, once, if the first ones do not refute the claim soon.
    pace
        The time limit, and the task for meanwhile.

    Returns
    -------
    AnytimeResult
        The result of the draws until then, if the run was stopped by Ctrl-C or by a time limit: its wealth and bounds
        hold.

    Raises
    ------
    ParameterError
        If there are no candidates, or too few draws for them, the claim has too large an ε, or a candidate draws
        something else than it was asked for.
    Stop
        If it came before any bet.
    """
    if not candidates:
        raise ParameterError("candidates must not be empty")
    confidence = test.confidence
    significance = min(test.significance, (1.0 - confidence) / 2.0)  # the error of the bound pays for it, too
    least = FEWEST_OF_PAIR * len(candidates)
    if test.samples < least:
        raise ParameterError(
            f"samples = {test.samples:,}: must be at least {least:,} for {len(candidates)} pair(s) of neighbours"
        )
    source = source or Candidates(candidates, test.samples)
    wealth = Wealth(test.epsilon, test.delta, confidence, significance, opening or Opening())
    run = _Run(wealth, candidates, test.samples, test.seed, progress, source, pace)
    stopped: Stop | None = None
    try:
        run.bet()
    except Stop as stop:
        if not wealth.state.bets:
            raise
        stopped = stop
    return run.result(stopped)


@dataclass(eq=False)
class _Run:
    """A run of bets: the pairs under test, and the draws and seconds left."""

    wealth: Wealth
    candidates: Sequence[NeighbouringWorlds]
    samples: int
    seed: int
    tell: Progress
    source: CandidateSource
    pace: Pace

    def __post_init__(self) -> None:
        self.to_search, self.meanwhile = self.source.search_samples > 0, self.pace.meanwhile
        self.began, self.searched, self.limit = time.monotonic(), 0, self.samples
        self.active = self.pairs = self._new_pairs(self.candidates, 0)

    def _new_pairs(self, worlds: Sequence[NeighbouringWorlds], first: int) -> list[PairUnderTest]:
        """Return pairs under test, numbered from `first` on."""
        return [PairUnderTest(one, i, self.seed) for i, one in enumerate(worlds, start=first)]

    @property
    def spent(self) -> int:
        """Draws so far, of the search too."""
        return self.searched + sum(pair.spent for pair in self.pairs)

    def bet(self) -> None:
        """Bet until the claim is refuted, unless it is to go on to the end, or draws or time are spent."""
        while not self._is_done:
            seen = min(pair.seen for pair in self.active)
            if self.to_search and seen >= SCHEDULE.search_after and self._search_is_due:
                self._search()
                self.to_search = False
                continue
            behind = [pair for pair in self.active if pair.seen == seen]  # later pairs catch up
            first = 1 if self.active[0].candidate.one_by_one else SCHEDULE.first_look
            if not self._advance(behind, seen or first):
                break
            self._drop_pairs(late=len(behind) < len(self.active))
        if self.wealth.has_rejected:
            self._draw_for_independence()
        self.tell(1.0, "done")

    def _draw_for_independence(self) -> None:
        """Draw the event that won more often, without a bet: in few draws dependence does not show.

        Draws that are made one by one have seeds of their own.
        """
        pair = self.pairs[self._bets_of_best_event()[0].candidate]
        missing = min(SCHEDULE.independence - pair.marks, pair.most_rows, self._affordable([pair]))
        if missing > 0 and pair.tracked is not None and not pair.candidate.one_by_one:
            pair.bet_on(missing, self.wealth, None, pair.seen)

    def _bets_of_best_event(self) -> list[Bet]:
        """Return the bets on the event that won most."""
        gains: dict[tuple[int, bool, str], list[Bet]] = {}
        for bet in self.wealth.state.bets:
            key = (bet.candidate, bet.swapped, json.dumps(bet.event.to_dict(), sort_keys=True))
            gains.setdefault(key, []).append(bet)
        return max(gains.values(), key=lambda bets: sum(bet.gain for bet in bets))

    @property
    def _is_done(self) -> bool:
        return self.wealth.is_finished and not self.pace.to_the_end

    @property
    def _time_left(self) -> float:
        return max(self.began + self.pace.seconds - time.monotonic(), 0.0)

    def _run_meanwhile(self, pair: PairUnderTest) -> None:
        """Run the task for meanwhile, once there is a first bound."""
        if self.meanwhile is None or pair.seen < SCHEDULE.first_bound:
            return
        if time.monotonic() - self.began >= SCHEDULE.first_seconds:
            look, self.meanwhile = self.meanwhile, None
            look()

    @property
    def _search_is_due(self) -> bool:
        """True if the bets have spent enough for a search to be worth its draws."""
        winning = self.wealth.state.log_wealth[0] > self.wealth.opening.log_wealth
        return self.spent >= (SCHEDULE.longest if winning else SCHEDULE.patience) * self.source.search_samples

    def _affordable(self, pairs: Sequence[PairUnderTest]) -> int:
        """Return the draws a side of each of some pairs that draws and time allow, all pairs together."""
        ready = min(pair.unused_draws for pair in pairs)
        draws = max(0, self.limit - self.spent) // (2 * len(pairs))
        block = 1 if pairs[0].candidate.one_by_one else BLOCK
        cost = sum(pair.cost for pair in pairs)
        if cost > 0.0 and math.isfinite(self.pace.seconds):
            draws = min(draws, int(self._time_left / cost))
        return ready + draws // block * block

    def _drop_pairs(self, *, late: bool) -> None:
        """Drop pairs that promise less: more of them, and sooner, where few draws are affordable."""
        dear = self.active[0].candidate.one_by_one
        if dear:
            most = self._affordable(self.active[:1]) // SCHEDULE.worth_a_pair
            self.active = self._most_promising(max(1, most))
        if not late and self.active[0].seen >= (SCHEDULE.prune_dear_from if dear else SCHEDULE.prune_from):
            self.active = self._most_promising((len(self.active) + 1) // 2)

    def _most_promising(self, most: int) -> list[PairUnderTest]:
        """Return the pairs that promise most, in their order."""
        ranked = sorted(self.active, key=lambda pair: (-pair.promise, pair.index))[:most]
        return sorted(ranked, key=lambda pair: pair.index)

    def _advance(self, pairs: Sequence[PairUnderTest], stretch: int) -> bool:
        """Draw a stretch of some pairs, and bet on one if it promises most of all; return False if nothing is left."""
        for pair in pairs:
            aim = ComingTest(self.wealth.claimed[1], self.wealth.error_of_bound, self._affordable([pair]))
            pair.choose_event(self.wealth, aim)
        best = max(self.active, key=lambda pair: (pair.promise, -pair.index))
        start, end = pairs[0].seen, pairs[0].seen + stretch
        while pairs[0].seen < end:
            part = min(max(1, stretch // SCHEDULE.parts), end - pairs[0].seen, pairs[0].most_rows)
            part = min(part, self._affordable(pairs))
            if part == 0:
                return False
            wealth = math.exp(min(self.wealth.state.log_wealth[0], 700.0))
            self.tell(min(1.0, self.spent / self.samples), f"betting, wealth {wealth:.3g}")
            for pair in pairs:
                if self.source.calls_are_dear:
                    pair.draw(min(end - pair.seen, pair.most_rows, self._affordable([pair])))
                drawn = pair.seen - start
                horizon = drawn + float(self._affordable([pair])) if pair is best else None
                pair.bet_on(part, self.wealth, horizon, start)
                if self._is_done:
                    return True
                self._run_meanwhile(pair)
        return True

    def _search(self) -> None:
        """Search for more pairs."""
        found = self.source.further_candidates(self.limit - self.spent)
        self.searched += found.searched
        self.limit = int(min(self.limit, self.spent + found.samples))
        late = self._new_pairs(found.worlds, len(self.pairs))
        self.pairs = [*self.pairs, *late]
        self.active = [*self.active, *late]

    def result(self, stopped: Stop | None) -> AnytimeResult:
        """Name the event on which most was won."""
        wealth, state = self.wealth, self.wealth.state
        best = self._bets_of_best_event()
        dependent = self.pairs[best[0].candidate].dependence if stopped is None else None
        tracked = {
            pair.candidate.pair_label: pair.tracked.to_dict()
            for pair in self.pairs
            if pair.tracked is not None
        }
        searched = [
            (pair.promise, pair.candidate.found) for pair in self.pairs if pair.candidate.found is not None
        ]
        opening = wealth.opening
        closing = replace(
            opening,
            log_wealth=float(state.log_wealth[0]),
            log_peak=float(state.log_peak[0]),
            bets={**opening.bets, **tracked},
            grid_log_wealth=tuple(state.log_wealth[1:].tolist()),
            grid_log_peak=tuple(state.log_peak[1:].tolist()),
            pairs=tuple(found for _, found in sorted(searched, key=lambda pair: -pair[0])[: SCHEDULE.kept]),
        )
        return AnytimeResult(
            candidate=best[0].candidate,
            worlds=self.pairs[best[0].candidate].candidate,
            swapped=best[0].swapped,
            event=best[0].event,
            hits=sum(bet.hits for bet in best),
            hits_prime=sum(bet.hits_prime for bet in best),
            trials=sum(bet.draws for bet in best),
            claim_epsilon=wealth.claimed[0],
            claim_delta=wealth.claimed[1],
            log_wealth=float(state.log_wealth[0]),
            log_peak=float(state.log_peak[0]),
            refuted=wealth.has_rejected and dependent is None,
            significance=wealth.significance,
            epsilon_lower=wealth.epsilon_lower,
            confidence=wealth.confidence,
            draws=max(pair.seen for pair in self.pairs),
            samples=self.spent,
            search_samples=self.searched,
            bets=state.bets,
            closing=closing,
            seed=self.seed,
            interrupted=stopped is not None,
            by_time_limit=isinstance(stopped, TimeLimitReached),
            dependent=dependent,
            outlook=self._outlook(self.pairs[best[0].candidate]),
        )

    def _outlook(self, pair: PairUnderTest) -> Outlook | None:
        """Return the expected results of more draws of a pair, from the counts of its event."""
        wealth, tracked = self.wealth, pair.tracked
        if tracked is None or not math.isfinite(self.pace.seconds):
            return None
        aim = ComingTest(wealth.claimed[1], wealth.error_of_bound, 4.0 * pair.seen)
        growth = wealth.expected_growth(tracked)
        missing = -math.log(wealth.significance) - float(wealth.state.log_wealth[0])
        promised, needed = tracked.promise(aim), None
        if not wealth.has_rejected and growth > 0.0:
            needed = math.ceil(missing / growth)
            then = tracked.promise(ComingTest(aim.delta, wealth.significance, pair.seen + needed))
            shown = wealth.epsilon_lower
            if max(promised, shown) <= 0.0 or max(then, shown) <= wealth.claimed[0]:
                needed = None  # a few draws that happened to win are no reason to expect it
        return Outlook(pair.cost, promised, needed)
