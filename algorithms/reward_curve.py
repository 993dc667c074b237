"""Cumulative reward at checkpoints, for lanes that advance by different numbers of rounds."""

from __future__ import annotations

import numpy as np

from mechanisms.arrays import FloatArray, IntArray


class RewardCurve:
    """The reward that each lane has collected after every checkpoint, exact between its actions.

    Parameters
    ----------
    checkpoints
        Increasing numbers of rounds.
    lanes
        The number of lanes.

    Attributes
    ----------
    kept
        Shape (checkpoints, lanes); a row is complete when all lanes have played that far.
    """

    def __init__(self, checkpoints: IntArray, lanes: int) -> None:
        self.kept: FloatArray = np.zeros((len(checkpoints), lanes))
        self._checkpoints = checkpoints
        self._total: FloatArray = np.zeros(lanes)
        self._round: IntArray = np.zeros(lanes, dtype=np.int64)
        self._passed: IntArray = np.zeros(lanes, dtype=np.int64)  # checkpoints so far
        self._played = 0
        self._next = 0

    def add(self, reward: FloatArray) -> None:
        """Add one round in which every lane collects `reward`, shape (lanes,)."""
        self._total += reward
        self._played += 1
        if self._played == self._checkpoints[self._next]:
            self.kept[self._next] = self._total
            self._next = min(self._next + 1, len(self._checkpoints) - 1)

    def add_phases(self, reward: FloatArray, rounds: IntArray) -> None:
        """Add `rounds` rounds, shape (lanes,), in each of which a lane collects `reward`, shape (lanes,)."""
        reached = self._round + rounds
        passed = np.searchsorted(self._checkpoints, reached, side="right")
        lanes = np.flatnonzero(passed > self._passed)
        while lanes.size:
            checkpoint = self._passed[lanes]
            since = self._checkpoints[checkpoint] - self._round[lanes]
            self.kept[checkpoint, lanes] = self._total[lanes] + since * reward[lanes]
            self._passed[lanes] += 1
            lanes = lanes[self._passed[lanes] < passed[lanes]]
        self._total += reward * rounds
        self._round = reached

    @property
    def slowest_round(self) -> int:
        """Number of rounds that the slowest lane has played in phases."""
        return int(self._round.min())
