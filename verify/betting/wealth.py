"""The wealth of a run of bets (an e-process): against the claim, and against every ε of a grid, for a lower bound.

Stakes are for a horizon (`verify.betting.e_process`), and a run may be stopped long before it. So the wealth is shared
out beforehand among stakes for the whole horizon, a quarter and a twentieth of it,

    W_t = sum over horizons j of w_j prod over draws i up to t of (1 + λ_ij g_i),     sum of w_j = 1,

a mixture of nonnegative supermartingales that begin at 1, so that it is one too. It is kept for the claim, which is
refuted at its own level, and for a grid of ε: the lower bound is the largest grid point up to which all have been
rejected at the level of the confidence.

The state is one value that is replaced as a whole: a run that is stopped between two statements, by Ctrl-C or by a
time limit, leaves the wealth as it was after the last draws that were bet on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mechanisms.arrays import FloatArray
from verify.betting.anytime_result import Bet, Opening
from verify.betting.e_process import LONGEST_SHARE, Payoff
from verify.betting.tracked_event import TrackedEvent

_HORIZONS = np.array([1.0, 0.25, 0.05])  # of the draws to come
_SHARES = np.array([LONGEST_SHARE, 0.1, 0.05, 0.15])  # of the wealth, for each, and for past frequencies
_SHORTEST = 8.0  # draws of a horizon
_GRID_FROM, _GRID_TO, _GRID_STEP = 1e-3, 24.0, 0.0085  # ε of the grid, and their relative step
_ROUNDING = 1e-12  # of a log-wealth that is put together: never rounded up


@dataclass(frozen=True, eq=False)
class _State:
    """The wealth so far, against the claim and then against every ε of the grid.

    Attributes
    ----------
    log_bets
        ln of the factors by which this run's bets multiplied each share, shape (horizons, 1 + grid).
    log_wealth, log_peak
        The log-wealths, and the largest that they ever were; shape (1 + grid,).
    bets
        All bets, in order.
    """

    log_bets: FloatArray
    log_wealth: FloatArray
    log_peak: FloatArray
    bets: tuple[Bet, ...] = ()


class Wealth:
    """The wealth, the wealths of the grid, and the bets."""

    def __init__(
        self, epsilon: float, delta: float, confidence: float, significance: float, opening: Opening
    ) -> None:
        Payoff.for_claims(epsilon, delta)  # refuses ε and δ of no claim
        self.claimed = (epsilon, delta)
        self.opening = opening
        self.significance, self.confidence = significance, confidence
        self.grid = _grid_of(epsilon)
        self.payoff = Payoff.for_claims([epsilon, *self.grid], delta)
        self.errors = np.array([significance, *[self.error_of_bound] * len(self.grid)])
        known = len(opening.grid_log_wealth) == len(self.grid) == len(opening.grid_log_peak)
        nothing = [min(0.0, opening.log_wealth)] * len(self.grid)  # a share of it, if this is the first run
        self._begun = np.array([opening.log_wealth, *(opening.grid_log_wealth if known else nothing)])
        peak = np.array([opening.log_peak, *(opening.grid_log_peak if known else nothing)])
        self.state = _State(np.zeros((_SHARES.size, peak.size)), self._begun, peak)

    @property
    def error_of_bound(self) -> float:
        """The error of the lower bound alone; the claim's own refutation has the rest of 1 - confidence."""
        return 1.0 - self.confidence - self.significance

    @property
    def has_rejected(self) -> bool:
        """True if the wealth ever reached 1 / `significance`, in this run or before."""
        return bool(self.state.log_peak[0] >= -math.log(self.significance))

    @property
    def is_finished(self) -> bool:
        """True if the claim is refuted, and there is a bet that shows it."""
        return self.has_rejected and bool(self.state.bets)

    def stakes(self, tracked: TrackedEvent, horizon: float) -> FloatArray:
        """Return the stakes on an event for `horizon` draws a side to come; they are fixed before these are drawn."""
        spans = np.maximum(_HORIZONS * horizon, _SHORTEST)
        planned = [self.payoff.stake(tracked.joint, span, self.errors) for span in spans]
        return np.stack([*planned, self.payoff.seen_stake(tracked.joint)])

    def expected_growth(self, tracked: TrackedEvent) -> float:
        """Return the mean growth of the log-wealth against the claim by a draw, at the past frequencies of outcomes."""
        seen = np.array(tracked.joint, dtype=np.float64)
        steps = np.log1p(self.payoff.seen_stake(seen)[0] * self.payoff.outcomes[:, 0])
        return float(seen @ steps / max(seen.sum(), 1.0))

    def book(
        self,
        stakes: FloatArray,
        counts: Sequence[int],
        *,
        candidate: int,
        label: str,
        tracked: TrackedEvent,
        start: int,
    ) -> None:
        """Add gains or losses on the next draws of a pair, by the counts of their outcomes.

        All stakes on one event of one pair from draw `start` on are one bet.
        """
        before = self.state
        bets = before.log_bets + self.payoff.log_wealth(stakes, counts)
        withheld = self.opening.withheld
        mixed = np.logaddexp.reduce(bets + np.log(_SHARES)[:, None], axis=0)
        if withheld > 0.0:
            mixed = np.logaddexp(math.log(withheld), math.log1p(-withheld) + mixed)
        wealth = self._begun + mixed - _ROUNDING
        bet = Bet(
            candidate=candidate,
            label=label,
            swapped=tracked.swapped,
            event=tracked.event,
            start=start,
            draws=sum(counts),
            hits=counts[0] + counts[1],
            hits_prime=counts[0] + counts[2],
            gain=float(wealth[0] - before.log_wealth[0]),
        )
        self.state = _State(bets, wealth, np.maximum(before.log_peak, wealth), _with_bet(before.bets, bet))

    @property
    def epsilon_lower(self) -> float:
        """The largest ε of the grid up to which all are rejected; beyond the claim if that is refuted.

        For a true ε the least grid point g ≥ ε must be rejected for the bound to be wrong, which happens with
        probability at most `error_of_bound`, at all times together; the claim's own refutation pays the rest.
        """
        left = np.flatnonzero(self.state.log_peak[1:] < -math.log(self.error_of_bound))
        first = int(left[0]) if left.size else len(self.grid)
        reached = float(self.grid[first - 1]) if first else 0.0
        return max(reached, math.nextafter(self.claimed[0], math.inf) if self.has_rejected else 0.0)


def _with_bet(bets: tuple[Bet, ...], bet: Bet) -> tuple[Bet, ...]:
    """The bets with one more, or with the last one continued."""
    if not bets or (bets[-1].candidate, bets[-1].start) != (bet.candidate, bet.start):
        return (*bets, bet)
    last = bets[-1]
    longer = replace(
        last,
        draws=last.draws + bet.draws,
        hits=last.hits + bet.hits,
        hits_prime=last.hits_prime + bet.hits_prime,
        gain=last.gain + bet.gain,
    )
    return (*bets[:-1], longer)


def _grid_of(claim: float) -> FloatArray:
    """Values of ε for the lower bound: 0, and geometrically up to 24 or twice the claim."""
    top = min(max(_GRID_TO, 2.0 * claim), 699.0)
    return np.array(
        [0.0, *np.geomspace(_GRID_FROM, top, 1 + math.ceil(math.log(top / _GRID_FROM) / _GRID_STEP))]
    )
