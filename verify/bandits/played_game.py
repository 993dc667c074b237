"""A game with runs on it and on its neighbours, and the ways to change its round that the runs tell of.

A run and its partner, in which the changed round pays every arm another reward, tell of all ways to change that round:
where only arm a's reward differs, the runs that played another arm in that round are the same in both worlds; and where
arm a's reward falls and all others rise, the runs that played a change places with their partners.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mechanisms.arrays import FloatArray, IntArray
from verify.bandits.reward_games import Game
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.transcript import ActionArray

_MOST_CHANGES = 2  # arms, those most played in the round, whose reward alone is changed


@dataclass(frozen=True, eq=False)
class Change:
    """One way to change the round.

    Attributes
    ----------
    first, second
        The round's rows in the two worlds.
    arm
        The arm whose reward changes, None if all do.
    swapped
        Whether all others' rewards change, too, and in the opposite sense.
    """

    first: FloatArray
    second: FloatArray
    arm: int | None = None
    swapped: bool = False


class PlayedGame:
    """A game with runs on it, and partners of some of the runs.

    Where few runs play an arm in the changed round, most of the partners can be theirs: a pair counts with the share
    of its arm's runs over its arm's pairs.

    Attributes
    ----------
    game
        What was played.
    runs
        Actions on the table; shape (runs, rounds, 1).
    at
        Which of the runs have a partner, in increasing order.
    partners
        Actions on the table with the round's row replaced; shape (pairs, rounds, 1).
    arm
        The only arm of which runs have partners, None if those of all have.
    """

    def __init__(
        self, game: Game, runs: ActionArray, at: IntArray, partners: ActionArray, arm: int | None = None
    ) -> None:
        self.game, self.runs, self.at, self.partners, self.arm = game, runs, at, partners, arm
        own = runs[:, game.record - 1, 0]
        self.own = own[at]
        arms = game.arms
        pairs = np.bincount(self.own, minlength=arms + 1)  # arm number `arms`: the bandit had stopped
        self.weights = (np.bincount(own, minlength=arms + 1) / (len(own) * np.maximum(pairs, 1)))[self.own]

    def cut(self, rounds: int) -> PlayedGame:
        """Return the first rounds of the game; all, if it has no more."""
        if rounds >= self.game.rounds:
            return self
        game = replace(self.game, table=self.game.table[: rounds + 1], family=-1)
        return PlayedGame(game, self.runs[:, :rounds], self.at, self.partners[:, :rounds], self.arm)

    def changes(self) -> list[Change]:
        """Return the ways to change the round that these runs tell of: one reward, all, one against the others."""
        game = self.game
        row, every = game.table[game.record], np.arange(game.row.size)
        if not np.array_equal(row[game.arms :], game.row[game.arms :]):
            return [Change(row, game.row)]  # another context: another arm may be played, too
        arms, counts = np.unique(self.own[self.own < game.arms], return_counts=True)
        common = arms[np.argsort(-counts, kind="stable")].tolist()
        if self.arm is not None:
            here = every == self.arm
            return [Change(row, np.where(here, game.row, row), self.arm)]
        found = [Change(row, game.row)]
        if len(arms) > 1:
            for arm in common[: 1 if len(arms) == 2 else _MOST_CHANGES]:
                here = every == arm
                first, second = np.where(here, game.row, row), np.where(here, row, game.row)
                found.append(Change(first, second, arm, swapped=True))
            for arm in common[:_MOST_CHANGES]:
                found.append(Change(row, np.where(every == arm, game.row, row), arm))
        return found

    def worlds(self, change: Change) -> tuple[ActionArray, ActionArray]:
        """Return all runs in both worlds of a change of which all runs have partners."""
        first, second = self.runs, self.runs.copy()
        second[self.at] = self.partners
        if change.swapped:
            own = self.runs[:, self.game.record - 1, :, np.newaxis] == change.arm
            first, second = np.where(own, second, first), np.where(own, first, second)
        elif change.arm is not None:
            own = self.runs[:, self.game.record - 1, :, np.newaxis] == change.arm
            second = np.where(own, second, first)
        return first, second


def background_of(game: Game, change: Change) -> Background:
    """Return the first world's table and what makes the second of it."""
    table = game.table.copy()
    table[game.record] = change.first
    neighbour = Neighbour(game.record, change.second, "the round's other row")
    return Background(table, (neighbour,), game.others)
