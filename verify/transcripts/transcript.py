"""Sequences of actions, as an adversary sees them: draws of a learner's or bandit's whole runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from algorithms.problems import Problem, RankedLists

ActionArray = npt.NDArray[np.int16]
"""Shape (draws, rounds, size): the super arm of every round, -1 for padding."""

MOST_ARMS = 1 << 15
"""Arms that fit in the array type of a transcript."""


@dataclass(frozen=True)
class ActionSpace:
    """The space of actions.

    Attributes
    ----------
    arms
        Number of arms.
    size
        Number of places of an action.
    ranked
        True if their order counts.
    ends
        The words of the last "arms", which are none.
    """

    arms: int
    size: int
    ranked: bool = False
    ends: tuple[str, ...] = ()

    @classmethod
    def from_problem(cls, problem: Problem) -> ActionSpace:
        """Return that of a problem."""
        structure = problem.structure
        return cls(structure.arms, structure.size, isinstance(structure, RankedLists))

    @property
    def labels(self) -> tuple[tuple[float, str], ...]:
        """The words of "arms" that are none."""
        return tuple(enumerate(self.ends, start=self.arms - len(self.ends)))


class Transcript:
    """Actions of many independent draws; quantities that several features need are computed once.

    Parameters
    ----------
    actions
        Shape (draws, rounds, size).

    Attributes
    ----------
    actions
        The array.
    rounds
        Number of rounds.
    """

    def __init__(self, actions: ActionArray) -> None:
        self.actions = actions
        self.rounds = actions.shape[1]
        self._counts: dict[int, npt.NDArray[np.int32]] = {}

    def counts(self, arm: int) -> npt.NDArray[np.int32]:
        """Return the number of plays of the arm up to each round, shape (draws, rounds)."""
        if arm not in self._counts:
            self._counts[arm] = np.cumsum((self.actions == arm).any(axis=2), axis=1, dtype=np.int32)
        return self._counts[arm]

    def plays_until(self, arm: int, last: int) -> npt.NDArray[np.int32]:
        """Return the number of plays of the arm in rounds 1 .. last, shape (draws,)."""
        if last == 0:
            return np.zeros(len(self.actions), dtype=np.int32)
        return self.counts(arm)[:, min(last, self.rounds) - 1]

    def hide(self, record: int) -> None:
        """Forget the action of one round: the view of joint differential privacy."""
        self.actions[:, record - 1] = -1
        self._counts.clear()
