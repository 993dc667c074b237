"""The wealth of a run of bets (an e-process), and one wealth for every ε of a grid, whose end is a lower bound.

While nothing telling is known yet, bets tend to lose, and what is lost then would have to be won back later. So the
wealth is shared out beforehand: a share w_0 goes into the first bets, w_k into those from the k-th look on,
and each share is multiplied by the same bets from its look on. With B_t what one unit at stake from the beginning
has become, and B_k what it was at look k,

    W_t = sum over looks k so far of w_k B_t / B_k  +  the shares of looks to come,

a mixture of nonnegative supermartingales with weights that add up to 1, so that it is one too. A loss until look k
costs a factor of 1 / w_k at most, whatever it was.

The state is one value that is replaced as a whole: a run that is stopped between two statements, by Ctrl-C or by a
time limit, leaves the wealth as it was after the last draw that was bet on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mechanisms.arrays import BoolArray, FloatArray
from verify.betting.anytime_result import Bet, Opening
from verify.betting.e_process import Payoff, outcome_counts
from verify.betting.tracked_event import TrackedEvent

_GRID = 97  # values of ε that the lower bound can take
LATER = 0.05  # share of the wealth for looks to come
SEARCHED = 0.1  # and for bets that begin when more pairs have been searched for
_ROUNDING = 1e-12  # of a log-wealth that is put together: never rounded up


@dataclass(frozen=True, eq=False)
class _State:
    """What was won so far.

    Attributes
    ----------
    log_bets, grid_bets
        By what this run's bets multiplied their stake (logarithm), against the claim and against every ε of the grid.
    log_begun, grid_begun
        ln Σ w_k / B_k, over the shares that are at stake.
    left
        The shares of looks to come.
    looks
        How many looks there were.
    log_wealth, log_peak
        The log-wealth, and the largest that it ever was.
    grid_peak
        The largest log-wealths of the grid.
    bets
        All bets, in order.
    crossed
        Whether this run's bets refuted the claim.
    """

    log_bets: float
    log_wealth: float
    log_peak: float
    grid_bets: FloatArray
    grid_peak: FloatArray
    log_begun: float
    grid_begun: FloatArray
    left: float = 1.0
    looks: int = 0
    bets: tuple[Bet, ...] = ()
    crossed: bool = False


class Wealth:
    """The wealth, the wealths of the grid, and the bets."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        confidence: float,
        significance: float,
        opening: Opening,
        *,
        reserve: float = 0.0,
    ) -> None:
        self.claim = Payoff.for_claims(epsilon, delta)
        self.claimed = (epsilon, delta)
        self.opening, self.reserve = opening, reserve
        self.significance, self.confidence = significance, confidence
        self.grid = _grid_of(epsilon)
        self.grid_payoff = Payoff.for_claims(self.grid, delta)
        known = len(opening.grid_log_wealth) == len(self.grid) == len(opening.grid_log_peak)
        nothing = np.zeros(len(self.grid))
        self.grid_opening = np.array(opening.grid_log_wealth) if known else nothing
        peak = np.array(opening.grid_log_peak) if known else nothing
        none = np.full(len(self.grid), -math.inf)
        self.state = _State(0.0, opening.log_wealth, opening.log_peak, nothing, peak, -math.inf, none)

    def begin(self, *, searched: bool = False) -> None:
        """Begin a look: put its share of the wealth at stake; the reserve, if more pairs have been searched for."""
        before = self.state
        first = 1.0 - LATER - self.reserve
        share = (
            self.reserve
            if searched
            else LATER / (before.looks * (before.looks + 1))
            if before.looks
            else first
        )
        if share <= 0.0:
            return
        self.state = replace(
            before,
            log_begun=float(np.logaddexp(before.log_begun, math.log(share) - before.log_bets)),
            grid_begun=np.logaddexp(before.grid_begun, math.log(share) - before.grid_bets),
            left=max(0.0, before.left - share - _ROUNDING),
            looks=before.looks + (not searched),
        )

    def _wealth_of(
        self, opening: float | FloatArray, begun: float | FloatArray, bets: FloatArray
    ) -> FloatArray:
        """Log-wealth once the bets multiplied their stake so; what is withheld stays as it is."""
        withheld = self.opening.withheld
        kept = withheld + (1.0 - withheld) * self.state.left
        staked = math.log1p(-withheld) + begun + bets
        mixed = np.logaddexp(math.log(kept), staked) if kept > 0.0 else staked
        return np.asarray(opening + mixed - _ROUNDING)

    @property
    def has_rejected(self) -> bool:
        """True if the wealth ever reached 1 / `significance`, in this run or before."""
        return self.state.log_peak >= -math.log(self.significance)

    @property
    def is_finished(self) -> bool:
        """True if there is nothing left to do: the claim is refuted, and there is a bet that shows it."""
        return self.has_rejected and bool(self.state.bets)

    def stake(
        self, candidate: int, label: str, tracked: TrackedEvent, start: int, x: BoolArray, y: BoolArray
    ) -> int:
        """Bet on the next draws; return how many of them were counted before the claim was refuted.

        Parameters
        ----------
        candidate, label
            The pair.
        tracked
            The event and how often it came up before; its stake is fixed by that.
        start
            Where the stretch began: what is staked on the same event from there on is one bet.
        x, y
            Whether the draws of the likelier and of the other world lie in the event.
        """
        before = self.state
        p, q = tracked.shrunk_probabilities()
        stake = self.claim.stake(p, q)
        bets = before.log_bets + np.cumsum(self.claim.steps(float(stake[0]), x, y))
        path = self._wealth_of(self.opening.log_wealth, before.log_begun, bets)
        crossed = np.flatnonzero(path >= -math.log(self.significance))
        crosses = bool(crossed.size) and not self.has_rejected
        counted = int(crossed[0]) + 1 if crosses else len(x)
        counts = outcome_counts(x[:counted], y[:counted])
        grid_bets = before.grid_bets + self.grid_payoff.log_wealth(self.grid_payoff.stake(p, q), counts)
        bet = Bet(
            candidate=candidate,
            label=label,
            swapped=tracked.swapped,
            event=tracked.event,
            start=start,
            draws=counted,
            hits=int(np.count_nonzero(x[:counted])),
            hits_prime=int(np.count_nonzero(y[:counted])),
            gain=float(bets[counted - 1]) - before.log_bets,
        )
        grid_wealth = self._wealth_of(self.grid_opening, before.grid_begun, grid_bets)
        self.state = replace(
            before,
            log_bets=float(bets[counted - 1]),
            log_wealth=float(path[counted - 1]),
            log_peak=max(before.log_peak, float(path[:counted].max())),
            grid_bets=grid_bets,
            grid_peak=np.maximum(before.grid_peak, grid_wealth),
            bets=_appended(before.bets, bet),
            crossed=before.crossed or crosses,
        )
        return counted

    @property
    def epsilon_lower(self) -> float:
        """The largest ε of the grid up to which all are refuted; beyond the claim if that is refuted.

        For a true ε the least grid point g ≥ ε must be refuted for the bound to be wrong, which happens with
        probability at most 1 - confidence - significance, at all times together; the claim's own refutation pays
        the rest.
        """
        left = np.flatnonzero(self.state.grid_peak < -math.log(1.0 - self.confidence - self.significance))
        first = int(left[0]) if left.size else len(self.grid)
        reached = float(self.grid[first - 1]) if first else 0.0
        return max(reached, math.nextafter(self.claimed[0], math.inf) if self.has_rejected else 0.0)

    @property
    def grid_wealth(self) -> FloatArray:
        """The log-wealths of the grid."""
        return self._wealth_of(self.grid_opening, self.state.grid_begun, self.state.grid_bets)


def _appended(bets: tuple[Bet, ...], bet: Bet) -> tuple[Bet, ...]:
    """The bets with one more, or with the last one continued."""
    if bets and (bets[-1].candidate, bets[-1].start) == (bet.candidate, bet.start):
        last = bets[-1]
        longer = replace(
            last,
            draws=last.draws + bet.draws,
            hits=last.hits + bet.hits,
            hits_prime=last.hits_prime + bet.hits_prime,
            gain=last.gain + bet.gain,
        )
        return (*bets[:-1], longer)
    return (*bets, bet)


def _grid_of(claim: float) -> FloatArray:
    """Values of ε for the lower bound: evenly up to the claim, then geometrically to 16 or twice the claim."""
    start = max(claim, 0.01)
    above = np.geomspace(1.02 * start, max(16.0, 2.0 * start), _GRID - _GRID // 3)
    return np.unique(np.concatenate([start * np.arange(1, _GRID // 3 + 1) / (_GRID // 3), above]))
