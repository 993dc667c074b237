"""Paired runs on two neighbouring reward tables with the same random numbers, and the changes of the round.

Runs of one number have the same random numbers on all tables (`verify.bandits.calling.plain_bandit`). A run and its
partner, in which the changed round pays every arm another reward, are samples of all ways to change that round: where
only arm a's reward differs, the runs that played another arm in that round are the same in both worlds; and where arm
a's reward falls and all others rise, the runs that played a change places with their partners.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from algorithms.claim import Claim, View
from mechanisms.arrays import FloatArray, IntArray
from verify.bandits.call_cost import SCAN_ROUNDS, run_cost
from verify.bandits.calling.plain_bandit import PlainBandit
from verify.bandits.neighbouring_tables import NeighbouringTables
from verify.conduct.effort import Effort
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.predicted_bounds import PlannedTest
from verify.transcripts.transcript import ActionArray

UNITS_OF_ROUND = 5
"""Units of cost that a test of plain Python may spend for each lane-round of the effort."""

_MOST_CHANGES = 2  # arms, those most played in the round, of which the reward alone is changed
_FEWEST_LANE_ROUNDS = 3_000_000
_MOST_FINAL = 100_000  # draws that pairs are ranked for


@dataclass(frozen=True, eq=False)
class RoundChange:
    """One way to change the round.

    Attributes
    ----------
    first, second
        The round's rows in the two worlds.
    arm
        The arm of which the reward changes, None if all do.
    swapped
        True if all others' rewards change, too, and in the opposite sense.
    """

    first: FloatArray
    second: FloatArray
    arm: int | None = None
    swapped: bool = False

    @property
    def only_arm(self) -> int | None:
        """The arm that must be played in the round for the two worlds to differ; None if there is none."""
        return None if self.swapped else self.arm


class PairedRuns:
    """Runs on a table, and partners of some of them on its neighbour.

    Where few runs play an arm in the changed round, most of the partners can be theirs: a pair counts with the share
    of its arm's runs over its arm's pairs.

    Attributes
    ----------
    tables
        The tables.
    runs
        Actions on the table; shape (runs, rounds, 1).
    at
        Numbers of the runs that have a partner, in increasing order.
    partners
        Actions on the neighbour; shape (pairs, rounds, 1).
    arm
        The only arm of which runs have partners, None if those of all have.
    own
        The arms that runs with a partner played in the changed round; shape (pairs,).
    weights
        The weights of the pairs; shape (pairs,).
    """

    def __init__(
        self,
        tables: NeighbouringTables,
        runs: ActionArray,
        at: IntArray,
        partners: ActionArray,
        arm: int | None = None,
    ) -> None:
        self.tables, self.runs, self.at, self.partners, self.arm = tables, runs, at, partners, arm
        own = runs[:, tables.record - 1, 0]
        self.own = own[at]
        most = int(own.max()) + 1  # from arm number `tables.arms` on: the bandit had stopped
        pairs = np.bincount(self.own, minlength=most)
        self.weights = (np.bincount(own, minlength=most) / (len(own) * np.maximum(pairs, 1)))[self.own]

    def first_rounds(self, rounds: int) -> PairedRuns:
        """Return the first rounds of the runs; all, if there are no more."""
        if rounds >= self.tables.rounds:
            return self
        tables = replace(self.tables, table=self.tables.table[: rounds + 1], family=-1)
        return PairedRuns(tables, self.runs[:, :rounds], self.at, self.partners[:, :rounds], self.arm)

    def changes(self) -> list[RoundChange]:
        """Return the changes of the round that these runs are samples of: one reward, all, one against the others."""
        tables = self.tables
        row, every = tables.table[tables.record], np.arange(tables.row.size)
        if not np.array_equal(row[tables.arms :], tables.row[tables.arms :]):
            return [RoundChange(row, tables.row)]  # another context: another arm may be played, too
        if self.arm is not None:
            return [RoundChange(row, np.where(every == self.arm, tables.row, row), self.arm)]
        arms, counts = np.unique(self.own[self.own < tables.arms], return_counts=True)
        common = arms[np.argsort(-counts, kind="stable")].tolist()
        found = [RoundChange(row, tables.row)]
        if len(arms) > 1:
            for arm in common[: 1 if len(arms) == 2 else _MOST_CHANGES]:
                here = every == arm
                first, second = np.where(here, tables.row, row), np.where(here, row, tables.row)
                found.append(RoundChange(first, second, arm, swapped=True))
            for arm in common[:_MOST_CHANGES]:
                found.append(RoundChange(row, np.where(every == arm, tables.row, row), arm))
        return found

    def worlds(self, change: RoundChange) -> tuple[ActionArray, ActionArray]:
        """Return all runs in both worlds of a change of which all runs have partners."""
        first, second = self.runs, self.runs.copy()
        second[self.at] = self.partners
        if change.arm is None:
            return first, second
        own = self.runs[:, self.tables.record - 1, :, np.newaxis] == change.arm
        if change.swapped:
            return np.where(own, second, first), np.where(own, first, second)
        return first, np.where(own, second, first)

    def background(self, change: RoundChange) -> Background:
        """Return the first world's table, and the second's as its neighbour."""
        table = self.tables.table.copy()
        table[self.tables.record] = change.first
        neighbour = Neighbour(self.tables.record, change.second, "the round's other row")
        return Background(table, (neighbour,), self.tables.unchanged_rounds)


class PairedPlayer:
    """A player of a bandit on neighbouring tables with the same random numbers, in as many runs as are affordable.

    Parameters
    ----------
    bandit, claim
        The bandit, and its claim.
    effort
        The effort preset.
    seed
        The seed of all runs.

    Attributes
    ----------
    cost
        The cost of a round, in units of `verify.bandits.call_cost`.
    planned
        The final test.
    """

    def __init__(
        self, bandit: PlainBandit, claim: Claim, effort: Effort, seed: np.random.SeedSequence
    ) -> None:
        self.bandit, self.seed = bandit, seed
        few = min(bandit.places, SCAN_ROUNDS)
        self.cost = run_cost(bandit, few) / few
        self.planned = PlannedTest(
            delta=claim.delta,
            hidden=View(claim.view).hides_own_action,
            units=UNITS_OF_ROUND * effort.lane_rounds / 4.0,
            most_draws=_MOST_FINAL,
            round_cost=self.cost,
        )
        # A test of few draws needs a good pair even more.
        self._lane_rounds = max(effort.lane_rounds, _FEWEST_LANE_ROUNDS)
        self._longest: dict[int, FloatArray] = {}
        self._shared: dict[int, ActionArray] = {}

    def share_runs(self, every: Iterable[NeighbouringTables]) -> None:
        """Play tables of one family, which are beginnings of one another, by the same runs on the longest of them."""
        for tables in every:
            longest = self._longest.get(tables.family)
            if longest is None or tables.rounds >= len(longest):
                self._longest[tables.family] = tables.table

    def affordable(self, units: float, rounds: float) -> float:
        """Return the number of plays of `rounds` rounds that `units` units a lane-round of the effort pay for."""
        return units * self._lane_rounds / (self.cost * max(rounds, 1.0))

    def runs(self, units: float, rounds: float, limits: tuple[int, int]) -> int:
        """Return the same number, within the fewest and the most."""
        fewest, most = limits
        return int(min(max(self.affordable(units, rounds), fewest), most))

    def play(
        self,
        tables: NeighbouringTables,
        runs: int,
        pairs: int | None,
        *,
        arm: int | None = None,
        before: PairedRuns | None = None,
    ) -> PairedRuns:
        """Play a table until there are `runs` runs, and its neighbour.

        Parameters
        ----------
        tables
            The two.
        runs
            Number of runs in all.
        pairs
            Most of them that get partners, for every arm of the changed round; None: all.
        arm
            Only runs of this arm get partners; None: of all.
        before
            Earlier runs on the same tables, to be continued.
        """
        found = self._runs(tables, runs, before)
        own = found[:, tables.record - 1, 0]
        wanted = np.zeros(len(found), dtype=np.bool_)
        for each in np.unique(own) if arm is None else [arm]:
            wanted[np.flatnonzero(own == each)[:pairs]] = True
        at = np.flatnonzero(wanted)
        partners = np.empty((len(at), tables.rounds, 1), dtype=np.int16)
        known = np.zeros(len(at), dtype=np.bool_)
        if before is not None:
            known = np.isin(at, before.at)
            partners[known] = before.partners[np.isin(before.at, at)]
        partners[~known] = self.bandit.actions(tables.neighbour, at[~known].tolist(), self.seed)
        return PairedRuns(tables, found, at, partners, arm)

    def _runs(self, tables: NeighbouringTables, number: int, before: PairedRuns | None) -> ActionArray:
        """Return `number` runs on the table, those of before first, or all of them if they are more."""
        if before is not None and number <= len(before.runs):
            return before.runs
        if tables.family < 0:
            return self._extend_runs(tables.table, number, None if before is None else before.runs)
        shared = self._extend_runs(self._longest[tables.family], number, self._shared.get(tables.family))
        self._shared[tables.family] = shared
        return shared[:number, : tables.rounds]

    def _extend_runs(self, table: FloatArray, number: int, known: ActionArray | None) -> ActionArray:
        """Return runs number 0 .. `number` - 1 on a table, and the known ones beyond."""
        if known is None:
            return self.bandit.actions(table, number, self.seed)
        if number <= len(known):
            return known
        return np.concatenate([known, self.bandit.actions(table, range(len(known), number), self.seed)])
