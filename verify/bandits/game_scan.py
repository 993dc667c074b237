"""Play games with a bandit: runs and their partners, of which further ones may be had later.

Runs of one number have the same random numbers on all tables (`verify.bandits.calling.plain_bandit`), and tables of one
family are beginnings of one another, so the runs on them are played once for all of the family's games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray
from verify.bandits.call_cost import cost_of
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.paired_scan import Promise, best_promise, view_pair_of
from verify.bandits.played_game import Change, PlayedGame
from verify.bandits.reward_games import Game
from verify.conduct.effort import Effort
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.transcript import ActionArray
from verify.transcripts.view_pair import ViewPair

SCAN_ROUNDS = 32
"""Rounds of the runs by which their cost is told."""
UNITS_OF_ROUND = 5
"""Units of cost that a test of plain Python may spend for each lane-round of the effort."""

_FEWEST_LANE_ROUNDS = 3_000_000
_MOST_FINAL = 100_000  # draws that leads are ranked for
_LEAD_CAUTION = 1.5
_COUNTED = 8


class GameScan:
    """A bandit, what it is held to, and the games that are played with it.

    Parameters
    ----------
    bandit, claim
        The bandit, and what it is held to.
    effort
        How much work.
    seed
        Of all runs.

    Attributes
    ----------
    cost
        Of a round, in units of `verify.bandits.call_cost`.
    planned
        The final test.
    """

    def __init__(
        self,
        bandit: PlainBandit,
        claim: Claim,
        effort: Effort,
        seed: np.random.SeedSequence,
    ) -> None:
        self.bandit, self.claim, self.effort, self.seed = bandit, claim, effort, seed
        few = min(bandit.rounds, SCAN_ROUNDS)
        self.cost = run_cost(bandit, few) / few
        self.planned = PlannedTest(
            delta=claim.delta,
            hidden=claim.view == View.OTHER_ACTIONS.value,
            units=UNITS_OF_ROUND * effort.lane_rounds / 4.0,
            most_draws=_MOST_FINAL,
            round_cost=self.cost,
        )
        self._tables: dict[int, FloatArray] = {}
        self._runs: dict[int, ActionArray] = {}

    def keep_families(self, games: Iterable[Game]) -> None:
        """Note the longest tables of families, whose runs are shared."""
        for game in games:
            longest = self._tables.get(game.family)
            if longest is None or game.rounds >= len(longest):
                self._tables[game.family] = game.table

    @property
    def lane_rounds(self) -> int:
        """What the scan goes by: the effort's, but a test of few draws needs a good pair even more."""
        return max(self.effort.lane_rounds, _FEWEST_LANE_ROUNDS)

    def affordable(self, units: float, rounds: float) -> float:
        """Return how often so many rounds can be played for so many units a lane-round of the effort."""
        return units * self.lane_rounds / (self.cost * max(rounds, 1.0))

    def begin(self, games: Sequence[Game], runs: Sequence[int], pairs: int) -> list[PlayedGame]:
        """Play games from the start: so many runs of each, and partners of at most so many for every arm."""
        return [
            self._paired(game, self._base(game, count), pairs)
            for game, count in zip(games, runs, strict=True)
        ]

    def go_on(self, played: PlayedGame, runs: int, pairs: int | None, arm: int | None = None) -> PlayedGame:
        """Play more runs of a game, until there are so many, and more partners.

        Parameters
        ----------
        played
            The game so far.
        runs
            How many runs there shall be.
        pairs
            How many partners for every arm, at most; None: all runs have one.
        arm
            Only runs of this arm in the changed round get partners; None: of all.
        """
        done = len(played.runs)
        more = played.runs
        if runs > done and played.game.family >= 0:
            more = self._base(played.game, runs)
        elif runs > done:
            more = np.concatenate([more, self._play(played.game.table, range(done, runs))])
        return self._paired(played.game, more, pairs, arm, played)

    def promise(self, played: PlayedGame, caution: float) -> Promise | None:
        """Return the best promise of a game, less so many standard errors."""
        return best_promise(played, self.planned, caution=caution)

    def lead(self, played: PlayedGame, change: Change) -> ViewPair | None:
        """Return a game as a lead; see `verify.bandits.paired_scan.view_pair_of`."""
        return view_pair_of(played, change, self.bandit.action_space, self.planned, caution=_LEAD_CAUTION)

    def _play(self, table: FloatArray, numbers: Sequence[int]) -> ActionArray:
        """Play the runs of these numbers."""
        return self.bandit.actions(table, numbers, self.seed)

    def _base(self, game: Game, runs: int) -> ActionArray:
        """Return runs number 0 .. `runs` - 1 on a game's table."""
        if game.family < 0:
            return self._play(game.table, range(runs))
        known = self._runs.get(game.family)
        done = 0 if known is None else len(known)
        if known is None or runs > done:
            more = self._play(self._tables[game.family], range(done, runs))
            known = more if known is None else np.concatenate([known, more])
            self._runs[game.family] = known
        return known[:runs, : game.rounds]

    def _paired(
        self,
        game: Game,
        runs: ActionArray,
        pairs: int | None,
        arm: int | None = None,
        before: PlayedGame | None = None,
    ) -> PlayedGame:
        """Give partners to the first `pairs` runs of every arm in the changed round (None: to all), or of one arm."""
        own = runs[:, game.record - 1, 0]
        wanted = np.zeros(len(runs), dtype=np.bool_)
        for each in np.unique(own) if arm is None else [arm]:
            wanted[np.flatnonzero(own == each)[:pairs]] = True
        at = np.flatnonzero(wanted)
        partners = np.empty((len(at), game.rounds, 1), dtype=np.int16)
        known = np.zeros(len(at), dtype=np.bool_)
        if before is not None:
            known = np.isin(at, before.at)
            partners[known] = before.partners[np.isin(before.at, at)]
        partners[~known] = self._play(game.changed, at[~known].tolist())
        return PlayedGame(game, runs, at, partners, arm)


def run_cost(bandit: PlainBandit, rounds: int) -> float:
    """Return the cost of one run of so many rounds, on rewards drawn by coins: the mean of a few runs."""
    rng = np.random.default_rng(0)
    table = bandit.records.coins(rounds, rng)
    seeds = np.random.SeedSequence(0)
    bandit.actions(table, 1, seeds)  # whatever is done once only
    return cost_of(lambda: bandit.actions(table, _COUNTED, seeds)) / _COUNTED
