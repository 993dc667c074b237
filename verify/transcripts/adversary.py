"""An interactive adversary: it sees past actions, picks the next rewards, and once two alternative rewards.

Differential privacy of an online algorithm is claimed against data that were fixed beforehand, or against an
adversary that reacts; a learner must be private against both. In every round the adversary chooses the outcome of
every arm. Once in a run it chooses two: in the one world the first happens, in the other the second. All else is a
function of the actions that both worlds show, so the worlds differ in one record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.parameters import DPWitnessError
from verify.transcripts.transcript import ActionArray


class AdversaryError(DPWitnessError, ValueError):
    """An adversary broke the rules: it challenged twice, or its outcomes have the wrong shape."""


@dataclass(frozen=True, eq=False)
class Turn:
    """The outcomes of one round, in any number of independent runs.

    Attributes
    ----------
    outcomes
        The outcomes of every arm, shape (lanes, arms).
    other
        The outcomes in the other world, same shape; None in rounds without a challenge. A lane is challenged where the
        two rows differ, and that once at most.
    """

    outcomes: FloatArray
    other: FloatArray | None = None


class Adversary(Protocol):
    """A strategy that plays many lanes side by side; it must treat each by its own past alone."""

    @property
    def description(self) -> str:
        """The strategy in words, as in "pays 0 until arm 0 is played twice, then ..."."""
        ...

    def turn(self, actions: ActionArray, arms: int) -> Turn:
        """Return the outcomes of the next round.

        Parameters
        ----------
        actions
            The actions of all rounds so far, shape (lanes, rounds, size).
        arms
            The number of arms.
        """
        ...


@dataclass(frozen=True)
class ChallengeOnPlay:
    """Pays every arm `others` until an arm has been played some times, then once `low` or `high`, then `others` again.

    The challenge comes in the first round after the arm's play of that number.

    Parameters
    ----------
    arm, number
        Challenge after this arm's play of this number; 0: in the first round.
    low, high
        The challenge: the reward of all arms in either world.
    others
        The reward of all arms in every other round.
    """

    arm: int
    number: int
    low: float = 0.0
    high: float = 1.0
    others: float = 0.0

    @property
    def description(self) -> str:
        """The time and the rewards of the challenge, in words."""
        after = f"after arm {self.arm} has been played {self.number} times" if self.number else "in round 1"
        return f"an adversary pays {self.others:g}, and once, {after}, {self.high:g} (in the other world {self.low:g})"

    def turn(self, actions: ActionArray, arms: int) -> Turn:
        """Challenge where the arm's play of that number was the last action."""
        lanes, rounds = actions.shape[:2]
        usual = np.full((lanes, arms), self.others)
        if self.number == 0:
            now = np.full(lanes, rounds == 0)
        else:
            played = (actions == self.arm).any(axis=2)
            now = (played.sum(axis=1) == self.number) & (played[:, -1:].any(axis=1))
        if not now.any():
            return Turn(usual)
        first, second = usual.copy(), usual.copy()
        first[now], second[now] = self.high, self.low
        return Turn(first, second)


class Interaction:
    """Rounds of an adversary and a bandit, asked for one by one.

    Parameters
    ----------
    adversary
        The strategy.
    rounds, arms, size, lanes
        Numbers of rounds, of arms, of places of an action and of runs side by side.
    other_world
        The alternative of a challenge that happens.

    Attributes
    ----------
    actions
        Those of all rounds, shape (lanes, rounds, size); filled up to round `played`.
    """

    def __init__(
        self, adversary: Adversary, *, rounds: int, arms: int, size: int, lanes: int, other_world: bool
    ) -> None:
        self.adversary, self.arms, self.lanes, self.other_world = adversary, arms, lanes, other_world
        self.actions = np.empty((lanes, rounds, size), dtype=np.int16)
        self.played = 0
        self._challenged = np.zeros(lanes, dtype=np.bool_)

    def outcomes(self) -> FloatArray:
        """Return the outcomes of the next round, shape (lanes, arms); to be asked for once a round.

        Raises
        ------
        AdversaryError
            If a lane is challenged twice, or outcomes have another shape than (lanes, arms).
        """
        past = self.actions[:, : self.played]
        past.flags.writeable = False
        turn = self.adversary.turn(past, self.arms)
        shape = (self.lanes, self.arms)
        for outcomes in (turn.outcomes, turn.other):
            if outcomes is not None and np.shape(outcomes) != shape:
                raise AdversaryError(
                    f"outcomes of shape {np.shape(outcomes)} in round {self.played + 1}: must be {shape}"
                )
        if turn.other is None:
            return np.asarray(turn.outcomes, dtype=np.float64)
        now = (turn.outcomes != turn.other).any(axis=1)
        if (now & self._challenged).any():
            raise AdversaryError(f"round {self.played + 1}: a run is challenged a second time")
        self._challenged |= now
        return np.asarray(turn.other if self.other_world else turn.outcomes, dtype=np.float64)

    def play(self, actions: npt.NDArray[np.integer] | int) -> None:
        """Note the actions of the round, shape (lanes, size)."""
        self.actions[:, self.played] = actions
        self.played += 1
