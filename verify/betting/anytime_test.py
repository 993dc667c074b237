"""The anytime mode of the black-box test: bet on events while drawing, and stop when the wealth is enough.

There is no sample split. The past, at 16, 32, 64 ... draws a side, chooses an event for each pair of data
sets and, within a stretch, the stakes; only draws that come later decide (`verify.betting.e_process`). The
bets on all pairs multiply into one wealth, because each of them is fair given all that came before it; so neither the
number of pairs nor both orders of each, nor the looks at the wealth cost anything.

The known pairs are bet on at once, so that gross bugs end the run within a few draws. Where these bets win nothing,
more pairs are searched for, if there is anything to search (`CandidateSource.further_candidates`), once they have spent
a fair part of the cost of the search; the pairs that it finds catch up and are bet on beside the others. Its draws
count as spent, and no bet is on them.

A second family of bets runs along: one wealth for every ε of a grid, on the same events with stakes of their
own. The lower bound on ε is the largest grid point below which every ε has been refuted at the level of the
confidence. It may be read at any time too (`AnytimeResult.epsilon_lower`): a run that is stopped says what it
has seen, at no cost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mechanisms import BLOCK
from mechanisms.parameters import ParameterError
from verify.betting.anytime_result import AnytimeResult, Bet, Opening
from verify.betting.pair_under_test import PairUnderTest
from verify.betting.wealth import SEARCHED, Wealth
from verify.conduct.effort import FALSE_ALARM
from verify.conduct.progress import Progress, no_progress
from verify.conduct.time_limit import TimeLimitReached
from verify.events.worlds import NeighbouringWorlds
from verify.sampling.stage_sizes import FEWEST_OF_PAIR
from verify.sampling.tester import Candidates, CandidateSource


@dataclass(frozen=True, slots=True)
class _BettingSchedule:
    """When a run looks, searches, and gives up pairs: settings of this library, on which no bet's validity rests.

    Attributes
    ----------
    first_look
        Draws a side after which the first event is chosen.
    search_after
        Draws a side before which no more pairs are searched for.
    patience, longest
        Of the cost of the search, what bets spend before it; and at most, while they win.
    prune_from
        Draws a side after which the slower half of the pairs is dropped, at every look.
    bet_on
        Of the best pair's expected growth: slower pairs are looked at, not bet on.
    kept
        Pairs of searches that the next run begins with.
    """

    first_look: int = 16
    search_after: int = 1024
    patience: float = 0.25
    longest: float = 1.0
    prune_from: int = 4096
    bet_on: float = 0.5
    kept: int = 3


SCHEDULE = _BettingSchedule()


def anytime_test(
    candidates: Sequence[NeighbouringWorlds],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.95,
    significance: float = FALSE_ALARM,
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
    significance
        The claim is refuted when the wealth reaches 1 / `significance`.
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
    ParameterError
        If a parameter is out of range, or a candidate draws something else than it was asked for.
    KeyboardInterrupt
        If it came before any bet.
    """
    if not candidates:
        raise ParameterError("candidates must not be empty")
    for name, level in (("confidence", confidence), ("significance", significance)):
        if not 0.0 < level < 1.0:
            raise ParameterError(f"{name}={level!r}: must lie in (0, 1)")
    if not significance < 1.0 - confidence:
        raise ParameterError(
            f"significance={significance!r}: must be below 1 - confidence={1.0 - confidence:.6g}, which also "
            "pays for it"
        )
    least = FEWEST_OF_PAIR * len(candidates)
    if samples < least:
        raise ParameterError(
            f"samples={samples:,}: must be at least {least:,} for {len(candidates)} pair(s) of neighbours"
        )
    source = source or Candidates(candidates, samples)
    reserve = SEARCHED if source.search_samples else 0.0
    wealth = Wealth(
        claim_epsilon, claim_delta, confidence, significance, opening or Opening(), reserve=reserve
    )
    run = _Run(wealth, candidates, samples, seed, progress or no_progress, source)
    stopped: KeyboardInterrupt | None = None
    try:
        run.bet()
    except KeyboardInterrupt as stop:
        if not wealth.state.bets:
            raise
        stopped = stop
    return run.result(stopped)


class _Run:
    """The pairs under test, and the draws that are left."""

    def __init__(
        self,
        wealth: Wealth,
        candidates: Sequence[NeighbouringWorlds],
        samples: int,
        seed: int,
        tell: Progress,
        source: CandidateSource,
    ) -> None:
        self.wealth, self.samples, self.seed, self.tell = wealth, samples, seed, tell
        self.source, self.to_search = source, source.search_samples > 0
        self.searched, self.limit = 0, samples
        self.pairs = self._under_test(candidates, 0)
        self.active = self.pairs

    def _under_test(self, worlds: Sequence[NeighbouringWorlds], first: int) -> list[PairUnderTest]:
        """Return pairs under test, numbered from `first` on."""
        dear = self.source.calls_are_dear
        return [PairUnderTest(one, i, self.seed, dear) for i, one in enumerate(worlds, start=first)]

    @property
    def spent(self) -> int:
        """Draws so far, of the search too."""
        return self.searched + sum(pair.spent for pair in self.pairs)

    def bet(self) -> None:
        """Bet until the claim is refuted or the draws are spent."""
        while not self.wealth.is_finished:
            seen = min(pair.seen for pair in self.active)
            if self.to_search and seen >= SCHEDULE.search_after and self._search_is_due:
                self._search()
                self.to_search = False
                continue
            behind = [pair for pair in self.active if pair.seen == seen]  # those who came late catch up
            stretch = min(seen or SCHEDULE.first_look, _affordable(behind, self.limit - self.spent))
            if stretch == 0:
                break
            self._advance(behind, stretch)
            if seen + stretch >= SCHEDULE.prune_from and len(behind) == len(self.active):
                ranked = sorted(self.active, key=lambda pair: (-pair.growth, pair.index))
                self.active = sorted(ranked[: (len(ranked) + 1) // 2], key=lambda pair: pair.index)
        self.tell(1.0, "done")

    @property
    def _search_is_due(self) -> bool:
        """Whether the bets cost enough for a search to be worth its draws."""
        winning = self.wealth.state.log_wealth > self.wealth.opening.log_wealth
        return self.spent >= (SCHEDULE.longest if winning else SCHEDULE.patience) * self.source.search_samples

    def _advance(self, pairs: Sequence[PairUnderTest], stretch: int) -> None:
        """Bet on the next draws of some pairs, on those that are expected to grow about as fast as the best of all."""
        for pair in pairs:
            pair.choose_event(self.wealth)
        if any(pair.tracked is not None for pair in pairs):
            self.wealth.begin()
        worth_it = SCHEDULE.bet_on * max(pair.growth for pair in self.active)
        for pair in pairs:
            wealth = math.exp(min(self.wealth.state.log_wealth, 700.0))
            self.tell(min(1.0, self.spent / self.samples), f"betting, wealth {wealth:.3g}")
            pair.advance(stretch, self.wealth, staking=pair.growth >= worth_it)
            if self.wealth.state.crossed:
                return

    def _search(self) -> None:
        """Search for more pairs."""
        found = self.source.further_candidates(self.limit - self.spent)
        self.searched += found.searched
        self.wealth.begin(searched=True)
        self.limit = int(min(self.limit, self.spent + found.samples))
        late = self._under_test(found.worlds, len(self.pairs))
        self.pairs = [*self.pairs, *late]
        self.active = [*self.active, *late]

    def result(self, stopped: KeyboardInterrupt | None) -> AnytimeResult:
        """Name the event on which most was won."""
        wealth, state = self.wealth, self.wealth.state
        gains: dict[tuple[int, bool, str], list[Bet]] = {}
        for bet in state.bets:
            key = (bet.candidate, bet.swapped, json.dumps(bet.event.to_dict(), sort_keys=True))
            gains.setdefault(key, []).append(bet)
        best = max(gains.values(), key=lambda bets: sum(bet.gain for bet in bets))
        tracked = {
            pair.candidate.pair_label: pair.tracked.to_dict()
            for pair in self.pairs
            if pair.tracked is not None
        }
        searched = [
            (pair.growth, pair.candidate.found) for pair in self.pairs if pair.candidate.found is not None
        ]
        opening = wealth.opening
        closing = replace(
            opening,
            log_wealth=state.log_wealth,
            log_peak=state.log_peak,
            bets={**opening.bets, **tracked},
            grid_log_wealth=tuple(wealth.grid_wealth.tolist()),
            grid_log_peak=tuple(state.grid_peak.tolist()),
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
            log_wealth=state.log_wealth,
            log_peak=state.log_peak,
            refuted=wealth.has_rejected,
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
            dependent=None,
        )


def _affordable(pairs: Sequence[PairUnderTest], budget: int) -> int:
    """The longest stretch for all pairs that takes at most `budget` draws of both worlds together."""
    ready = min(pair.unused_draws for pair in pairs)
    return ready + max(0, budget) // (2 * len(pairs)) // BLOCK * BLOCK
