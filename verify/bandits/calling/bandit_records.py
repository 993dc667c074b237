"""The possible data of one round of a bandit: a reward for every arm and, if contexts are private, the context."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mechanisms.arrays import FloatArray

_SHARES = (0.0, 1.0, 0.5, 0.25, 0.75)  # of the highest reward in a stretch of rounds


@dataclass(frozen=True)
class BanditRecords:
    """The rows of a bandit's tables: the rewards of all arms, then the entries of the context, if it is private.

    Attributes
    ----------
    arms
        Number of rewards.
    low, high
        Their range.
    context
        The shape of a private context, of Euclidean norm at most 1 (every row of it, if it has a row for every arm); ()
        if there is none.
    between
        Rewards between the two that are played, too.
    """

    arms: int
    low: float
    high: float
    context: tuple[int, ...] = ()
    between: tuple[float, ...] = ()

    @property
    def private(self) -> bool:
        """True if a row has a context."""
        return bool(self.context)

    @property
    def places(self) -> int:
        """Number of entries of a row."""
        return self.arms + (math.prod(self.context) if self.context else 0)

    def context_of(self, row: FloatArray) -> Any:
        """Return a row's context as an array of its shape."""
        return row[self.arms :].reshape(self.context)

    def points(self) -> list[FloatArray]:
        """Return rows that level arms or put one ahead: all lowest, all highest, one best or worst, two, half best.

        All have the first of the contexts.
        """
        every = np.arange(self.arms)
        best = [every < 0, every >= 0, every == 0, every != 0, every == self.arms - 1]
        if self.arms > 2:
            best += [every < 2, every >= self.arms - 2, every < self.arms // 2]
        rewards = [np.where(which, self.high, self.low) for which in best]
        return _distinct_rows(self._with(each, self._contexts()[0]) for each in rewards)

    def middle(self) -> list[FloatArray]:
        """Return rows in which all arms pay the same, one of the rewards between the two ends."""
        return [self._with(np.full(self.arms, reward), self._contexts()[0]) for reward in self.between]

    def coins(self, rounds: int, rng: np.random.Generator) -> FloatArray:
        """Return rows 0 .. rounds with rewards drawn by coins, and contexts drawn from a few."""
        rewards = np.where(rng.random((rounds + 1, self.arms)) < 0.5, self.high, self.low)
        if not self.private:
            return rewards
        contexts = np.array([each.reshape(-1) for each in self._contexts()])
        return np.hstack([rewards, contexts[rng.integers(len(contexts), size=rounds + 1)]])

    def alternatives(self, row: FloatArray) -> list[FloatArray]:
        """Return the rows that replace a row in neighbouring tables, all different from it.

        Every arm pays the farther end of the range; where contexts are private, the context is another, too, or alone.
        """
        rewards = row[: self.arms]
        opposite = np.where(rewards <= 0.5 * (self.low + self.high), self.high, self.low)
        if not self.private:
            return [opposite]
        own = self.context_of(row)
        contexts = [own, -own, *self._contexts()]
        found = [self._with(opposite, context) for context in contexts]
        found += [self._with(rewards, context) for context in contexts[1:]]
        return _distinct_rows(found, but=row)

    def changed_stretch(
        self, table: FloatArray, first: int, last: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return a copy of a table with other rewards, of one arm or all, or another context in rounds first..last."""
        changed = table.copy()
        if self.private and rng.random() < 0.4:
            contexts = self._contexts()
            changed[first : last + 1, self.arms :] = contexts[rng.integers(len(contexts))].reshape(-1)
            return changed
        level = int(rng.integers(len(_SHARES) + len(self.between)))
        which = slice(0, self.arms) if rng.random() < 0.3 else int(rng.integers(self.arms))
        stretch = changed[first : last + 1, which]
        if level < len(_SHARES):  # coins stay among the rewards that occur
            stretch[...] = np.where(rng.random(stretch.shape) < _SHARES[level], self.high, self.low)
        else:
            stretch[...] = self.between[level - len(_SHARES)]
        return changed

    def _contexts(self) -> list[FloatArray]:
        """Return known patterns of contexts: unit vectors, their opposites, all entries equal, zero."""
        if not self.private:
            return [np.empty(0)]
        size = self.context[-1]
        units = [*np.eye(size)[:2], np.full(size, 1.0 / math.sqrt(size))]
        rows = _distinct_rows([units[0], -units[0], *units[1:], np.zeros(size)])
        if len(self.context) == 1:
            return rows
        same = [np.tile(row, (*self.context[:-1], 1)) for row in rows]
        each = np.resize(np.eye(size), self.context)  # a unit vector of its own for every arm
        return [each, -each, each[::-1].copy(), *same]

    def _with(self, rewards: FloatArray, context: FloatArray) -> FloatArray:
        return np.concatenate([rewards, context.reshape(-1)])


def _distinct_rows(rows: Iterable[FloatArray], but: FloatArray | None = None) -> list[FloatArray]:
    """Return rows without repeats."""
    seen = set() if but is None else {(but + 0.0).tobytes()}
    found = []
    for row in rows:
        key = (row + 0.0).tobytes()  # -0.0 is 0.0
        if key not in seen:
            seen.add(key)
            found.append(row)
    return found
