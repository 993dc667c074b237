"""The anytime mode of the black-box test: bet on events while drawing, and stop when the wealth is enough.

There is no sample split. The past, at 16, 32, 64 ... draws a side, chooses an event for each pair of data
sets and, within a stretch, the stakes; only draws that come later decide (`verify.statistics.e_process`). The
bets on all pairs multiply into one wealth, because each of them is fair given all that came before it; so neither the
number of pairs nor both orders of each, nor the looks at the wealth cost anything.

A second family of bets runs along: one wealth for every ε of a grid, on the same events with stakes of their
own. The lower bound on ε is the largest grid point below which every ε has been refuted at the level of the
confidence. It may be read at any time too (`AnytimeResult.epsilon_lower`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from verify.effort import FALSE_ALARM
from verify.events.event import Event, event_from_dict
from verify.events.families import Family, Worlds
from verify.events.layout import all_families
from verify.events.view_sample import Column, ViewSample
from verify.evidence import Progress
from verify.sampling.anytime_result import AnytimeResult, Bet, Opening
from verify.sampling.draws import MULTIPLE, Candidate, draw_batch
from verify.statistics.e_process import Payoff, moved, outcome_counts

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

ANYTIME = 3
"""First entry of the spawn keys: batch b of world w of pair i is ``SeedSequence(seed, (3, i, w, b))``."""

FIRST_LOOK = 16  # draws a side after which the first event is chosen
FIRST_BATCH = 64  # draws a side that every pair gets
MOST_KEPT = 1 << 18  # rows of the past that events are chosen on
MOST_VALUES = 1 << 22  # values of one world kept (32 MB)
BATCH_VALUES = 1 << 20  # values of one batch of draws
PRUNE_FROM = 4096  # draws a side after which the less promising half of the pairs is dropped, at every look
BET_ON = 0.5  # of the best pair's promise: pairs that promise less are looked at, not bet on
STRETCHES = 8  # a stretch between two looks has so many parts, each with a stake of its own
GRID = 97  # values of ε that the lower bound can take
CAUTION = 1.0  # standard errors by which frequencies are moved towards no bet when money is staked
CAUTIONS = (0.5, 1.0, 2.0, 3.0)  # and when events are compared


def anytime_test(
    candidates: Sequence[Candidate],
    *,
    claim_epsilon: float,
    claim_delta: float,
    samples: int,
    confidence: float = 0.95,
    false_alarm: float = FALSE_ALARM,
    seed: int,
    progress: Progress | None = None,
    opening: Opening | None = None,
) -> AnytimeResult:
    """Bet against a claim of (ε, δ)-differential privacy until it is refuted or the draws are spent.

    Parameters
    ----------
    candidates
        The pairs of neighbouring worlds; both orders of each are bet on.
    claim_epsilon, claim_delta
        The claim; ε in [0, 700), δ in [0, 1).
    samples
        The most draws to spend: both worlds, all pairs.
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

    Raises
    ------
    ValueError
        If a parameter is out of range, or a candidate draws something else than it was asked for.
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
    if samples < 2 * FIRST_BATCH * len(candidates):
        raise ValueError(
            f"samples={samples:,}: must be at least {2 * FIRST_BATCH * len(candidates):,} for {len(candidates)} "
            "pair(s) of neighbours"
        )
    table = _Table(claim_epsilon, claim_delta, confidence, false_alarm, opening or Opening())
    seats = [_Seat(candidate, index, seed) for index, candidate in enumerate(candidates)]
    spent, look = 0, 0
    while not (table.won and table.bets):
        stretch = min(look or FIRST_LOOK, _affordable(seats, samples - spent))
        if stretch == 0:
            break
        spent += sum(seat.prepare(look, table) for seat in seats)
        promising = BET_ON * max(seat.promise for seat in seats)
        for seat in seats:
            if progress is not None:
                progress(
                    min(1.0, spent / samples), f"betting, wealth {math.exp(min(table.log_wealth, 700)):.3g}"
                )
            spent += seat.play(look, stretch, table, staking=seat.promise >= promising)
            if table.crossed:
                break
        look += stretch
        if look >= PRUNE_FROM:
            ranked = sorted(seats, key=lambda seat: (-seat.promise, seat.index))
            seats = sorted(ranked[: (len(seats) + 1) // 2], key=lambda seat: seat.index)
    if progress is not None:
        progress(1.0, "done")
    return table.result(candidates, spent, seed)


def _affordable(seats: Sequence[_Seat], budget: int) -> int:
    """The longest stretch for all pairs that takes at most `budget` draws of both worlds together."""
    ready = min(seat.ready for seat in seats)
    return ready + budget // (2 * len(seats)) // MULTIPLE * MULTIPLE


@dataclass
class _Hand:
    """An event to bet on, and how often it came up in draws that it was not laid out on.

    `hits` and `draws` name the world first in which the event is meant to be likelier.
    """

    event: Event
    swapped: bool
    hits: list[int]
    draws: list[int]

    def cautious(self) -> tuple[float, float]:
        """Probabilities in the two worlds, each moved `CAUTION` standard errors towards no bet."""
        p, q = moved(self.hits[0], self.draws[0], -CAUTION), moved(self.hits[1], self.draws[1], CAUTION)
        return float(p), float(q)

    def saw(self, x: BoolArray, y: BoolArray) -> None:
        """Count more draws."""
        for world, inside in enumerate((x, y)):
            self.hits[world] += int(np.count_nonzero(inside))
            self.draws[world] += len(inside)


class _Table:
    """The wealth, the wealths of the grid, and the bets."""

    def __init__(
        self, epsilon: float, delta: float, confidence: float, false_alarm: float, opening: Opening
    ) -> None:
        self.claim = Payoff.of(epsilon, delta)
        self.claimed = (epsilon, delta)
        self.opening = opening
        self.log_wealth, self.log_peak = opening.log_wealth, opening.log_peak
        self.log_bets = 0.0
        self.crossed = False
        self.false_alarm, self.confidence = false_alarm, confidence
        self.grid = _grid(epsilon)
        self.grid_payoff = Payoff.of(self.grid, delta)
        self.grid_wealth = np.zeros(len(self.grid))
        self.grid_peak = np.zeros(len(self.grid))
        self.bets: list[Bet] = []
        self.closing: dict[str, dict[str, Any]] = {}
        self.draws = 0

    def _wealth_of(self, bets: FloatArray) -> FloatArray:
        """Log-wealth once the bets multiplied their stake so; what is in the pocket stays as it is."""
        if self.opening.pocket == 0.0:
            return np.asarray(self.opening.log_wealth + bets)
        kept, staked = math.log(self.opening.pocket), math.log1p(-self.opening.pocket)
        return np.asarray(self.opening.log_wealth + np.logaddexp(kept, staked + bets) - 1e-12)

    @property
    def won(self) -> bool:
        return self.log_peak >= -math.log(self.false_alarm)

    def stake(self, hand: _Hand, x: BoolArray, y: BoolArray) -> int:
        """Bet on the next draws; return how many of them were played before the claim was refuted."""
        p, q = hand.cautious()
        stake = self.claim.stake(p, q)
        bets = self.log_bets + np.cumsum(self.claim.steps(float(stake[0]), x, y))
        path = self._wealth_of(bets)
        crossed = np.flatnonzero(path >= -math.log(self.false_alarm))
        played = int(crossed[0]) + 1 if crossed.size and not self.won else len(x)
        self.crossed = self.crossed or played < len(x) or (bool(crossed.size) and not self.won)
        self.log_bets, self.log_wealth = float(bets[played - 1]), float(path[played - 1])
        self.log_peak = max(self.log_peak, float(path[:played].max()))
        counts = outcome_counts(x[:played], y[:played])
        self.grid_wealth += self.grid_payoff.log_wealth(self.grid_payoff.stake(p, q), counts)
        self.grid_peak = np.maximum(self.grid_peak, self.grid_wealth)
        return played

    @property
    def epsilon_lower(self) -> float:
        """The largest ε of the grid up to which all are refuted; beyond the claim if that is refuted.

        For a true ε the least grid point g ≥ ε must be refuted for the bound to be wrong, which happens with
        probability at most 1 - confidence - false_alarm; the claim's own refutation pays the rest.
        """
        left = np.flatnonzero(self.grid_peak < -math.log(1.0 - self.confidence - self.false_alarm))
        first = int(left[0]) if left.size else len(self.grid)
        reached = float(self.grid[first - 1]) if first else 0.0
        earlier = self.opening.log_peak >= -math.log(self.false_alarm)
        return max(reached, math.nextafter(self.claimed[0], math.inf) if self.won or earlier else 0.0)

    def result(self, candidates: Sequence[Candidate], spent: int, seed: int) -> AnytimeResult:
        """Name the event on which most was won."""
        gains: dict[tuple[int, bool, str], list[Bet]] = {}
        for bet in self.bets:
            key = (bet.candidate, bet.swapped, json.dumps(bet.event.to_dict(), sort_keys=True))
            gains.setdefault(key, []).append(bet)
        best = max(gains.values(), key=lambda bets: sum(bet.gain for bet in bets))
        return AnytimeResult(
            candidate=best[0].candidate,
            label=best[0].label,
            swapped=best[0].swapped,
            event=best[0].event,
            hits=sum(bet.hits for bet in best),
            hits_prime=sum(bet.hits_prime for bet in best),
            trials=sum(bet.draws for bet in best),
            claim_epsilon=self.claimed[0],
            claim_delta=self.claimed[1],
            log_wealth=self.log_wealth,
            log_peak=self.log_peak,
            refuted=self.won,
            false_alarm=self.false_alarm,
            epsilon_lower=self.epsilon_lower,
            confidence=self.confidence,
            draws=self.draws,
            samples=spent,
            bets=tuple(self.bets),
            closing={**self.opening.bets, **self.closing},
            seed=seed,
        )


class _Seat:
    """One pair of worlds: its draws, its past and its current event."""

    def __init__(self, candidate: Candidate, index: int, seed: int) -> None:
        self.candidate, self.index = candidate, index
        self.promise = -math.inf
        self._seed, self._batches = seed, 0
        self._next: tuple[FloatArray, FloatArray] | None = None
        self._past: list[tuple[FloatArray, FloatArray]] = []
        self._columns: tuple[Column, ...] = ()
        self._hand: _Hand | None = None

    @property
    def ready(self) -> int:
        """Draws a side that were made and not looked at."""
        return 0 if self._next is None else len(self._next[0])

    def prepare(self, look: int, table: _Table) -> int:
        """Choose an event on the past, or take an earlier run's; return the draws made."""
        drawn = self._draw(1) if look == 0 else 0
        self._hand = self._opening_hand(table) if look == 0 else self._chosen(table)
        if self._hand is not None:
            self.promise = float(_promise(table.claim, self._hand.hits, self._hand.draws)[0])
        return drawn

    def play(self, look: int, stretch: int, table: _Table, *, staking: bool) -> int:
        """Look at the next `stretch` draws a side, and bet on them if `staking`; return the draws made."""
        drawn = 0
        wealth, done = table.log_bets, 0
        before = (0, 0) if self._hand is None else tuple(self._hand.hits)
        while done < stretch and not table.crossed:
            part = min(self._part(stretch), stretch - done)
            drawn += self._draw(part)
            x, y = self._take(part)
            if self._hand is None:
                done += part
                continue
            first, second = (y, x) if self._hand.swapped else (x, y)
            in_first = self._hand.event.holds(ViewSample(first, self._columns))
            in_second = self._hand.event.holds(ViewSample(second, self._columns))
            played = table.stake(self._hand, in_first, in_second) if staking else part
            done += played
            self._hand.saw(in_first[:played], in_second[:played])
        table.draws = max(table.draws, look + done)
        if self._hand is not None:
            hand = self._hand
            bet = Bet(
                candidate=self.index,
                label=self.candidate.label,
                swapped=hand.swapped,
                event=hand.event,
                start=look,
                draws=done,
                hits=hand.hits[0] - before[0],
                hits_prime=hand.hits[1] - before[1],
                gain=table.log_bets - wealth,
            )
            if staking:
                table.bets.append(bet)
            table.closing[bet.label] = {
                "swapped": hand.swapped,
                "event": hand.event.to_dict(),
                "hits": list(hand.hits),
                "draws": list(hand.draws),
            }
        return drawn

    def _part(self, stretch: int) -> int:
        most = max(MULTIPLE, BATCH_VALUES // len(self._columns) // MULTIPLE * MULTIPLE)
        return min(max(1, stretch // STRETCHES), most)

    def _draw(self, rows: int) -> int:
        """Make sure that `rows` draws a side are ready; return the draws made, both worlds."""
        size = -(-(rows - self.ready) // MULTIPLE) * MULTIPLE
        if size <= 0:
            return 0
        worlds = []
        for world in (False, True):
            sample = draw_batch(self.candidate, self.index, ANYTIME, world, self._batches, size, self._seed)
            if self._columns and sample.columns != self._columns:
                raise ValueError(
                    f"candidates must draw views with the same columns from both worlds ({self.candidate.label})"
                )
            self._columns = sample.columns
            worlds.append(sample.values)
        self._batches += 1
        if self._next is not None and len(self._next[0]):
            worlds = [np.concatenate(both) for both in zip(self._next, worlds, strict=True)]
        self._next = worlds[0], worlds[1]
        return 2 * size

    def _take(self, rows: int) -> tuple[FloatArray, FloatArray]:
        """Look at the next draws; they belong to the past from now on."""
        assert self._next is not None
        taken = self._next[0][:rows], self._next[1][:rows]
        self._next = self._next[0][rows:], self._next[1][rows:]
        self._past.append(taken)
        kept = min(MOST_KEPT, max(FIRST_BATCH, MOST_VALUES // len(self._columns)))
        while sum(len(x) for x, _ in self._past) - len(self._past[0][0]) >= kept:
            self._past.pop(0)
        return taken

    def _opening_hand(self, table: _Table) -> _Hand | None:
        saved = table.opening.bets.get(self.candidate.label)
        if saved is None:
            return None
        try:
            event = event_from_dict(saved["event"], self._columns)
        except ValueError:  # the view has other columns now
            return None
        return _Hand(event, bool(saved["swapped"]), list(saved["hits"]), list(saved["draws"]))

    def _chosen(self, table: _Table) -> _Hand:
        """The event of the past with the fastest growth, its frequencies from the later half of the past."""
        x, y = (np.concatenate(world) for world in zip(*self._past, strict=True))
        self._past = [(x, y)]
        half = len(x) // 2
        fit = ViewSample(x[:half], self._columns), ViewSample(y[:half], self._columns)
        late = ViewSample(x[half : 2 * half], self._columns), ViewSample(y[half : 2 * half], self._columns)
        hands = _best_hands(table.claim, fit, late)
        if self._hand is not None:
            hands.append(self._hand)
        promises = [float(_promise(table.claim, hand.hits, hand.draws)[0]) for hand in hands]
        return hands[promises.index(max(promises))]


def _best_hands(claim: Payoff, fit: Worlds, late: Worlds) -> list[_Hand]:
    """The most promising event of either order: laid out on one sample, compared on the other."""
    best: dict[bool, tuple[float, Family, int]] = {}
    for family in all_families(fit, late):
        for swapped in (False, True):
            hits, draws = _ordered(family, swapped)
            promise = _promise(claim, hits, draws)
            at = int(np.argmax(promise))
            if swapped not in best or promise[at] > best[swapped][0]:
                best[swapped] = (float(promise[at]), family, at)
    hands = []
    for swapped, (_, family, at) in best.items():
        hits, draws = _ordered(family, swapped)
        hands.append(_Hand(family.build(at), swapped, [int(hits[0][at]), int(hits[1][at])], list(draws)))
    return hands


def _ordered(family: Family, swapped: bool) -> tuple[tuple[IntArray, IntArray], tuple[int, int]]:
    """Hits and draws, of the world in which the events are meant to be likelier first."""
    if swapped:
        return (family.hits_prime, family.hits), family.trials[::-1]
    return (family.hits, family.hits_prime), family.trials


def _promise(
    claim: Payoff, hits: Sequence[npt.ArrayLike], draws: Sequence[float], cautions: Sequence[float] = CAUTIONS
) -> FloatArray:
    """Expected growth, averaged over how cautiously the frequencies are read; shape (events,)."""
    total = np.zeros(np.size(hits[0]))
    for errors in cautions:
        p, q = moved(hits[0], draws[0], -errors), moved(hits[1], draws[1], errors)
        total += claim.expected_growth(claim.quick_stake(p, q), p, q)
    return total / len(cautions)


def _grid(claim: float) -> FloatArray:
    """Values of ε for the lower bound: evenly up to the claim, then geometrically to 16 or twice the claim."""
    start = max(claim, 0.01)
    above = np.geomspace(1.02 * start, max(16.0, 2.0 * start), GRID - GRID // 3)
    return np.unique(np.concatenate([start * np.arange(1, GRID // 3 + 1) / (GRID // 3), above]))
