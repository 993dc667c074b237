"""The hybrid mechanism (Chan, Shi & Song 2011) for one running sum per arm, in many lanes, behind a gate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private
from algorithms.lanes import gather, scatter_add
from mechanisms import Laplace, Sensitivity
from mechanisms.arrays import FloatArray, IntArray


class HybridSums:
    """Per arm, the private sum of all values so far, epsilon-differentially private for one value in [0, 1].

    Half of epsilon goes to segments that end at the 1st, 2nd, 4th, 8th ... value, each released with
    ``Lap(2 / epsilon)``; half to a binary tree inside the open segment that starts after value 2^k, of k levels,
    whose nodes are released with ``Lap(2 k / epsilon)``.

    Parameters
    ----------
    gate
        Where sums are kept and released.
    arms
        How many arms.
    horizon
        The largest number of values of one arm.
    epsilon
        Of each arm's mechanism.
    sensitivity
        How far one record moves what is released together, over all arms.
    """

    def __init__(
        self, gate: Gate, arms: int, *, horizon: int, epsilon: float, sensitivity: Sensitivity
    ) -> None:
        self.horizon = horizon
        self.levels = max(1, horizon.bit_length() - 1)
        self.count: IntArray = np.zeros((gate.lanes, arms), dtype=np.int64)
        self.segments: FloatArray = np.zeros((gate.lanes, arms))  # released segments, added up
        self.nodes: FloatArray = np.zeros((gate.lanes, arms, self.levels))  # of the open segment's prefix
        self._gate, self._arms, self._epsilon, self._sensitivity = gate, arms, epsilon, sensitivity
        self._width = 1 + self.levels  # coordinates of an arm: its segment, and a node of each level
        self._sums = gate.sums(arms * self._width)

    @property
    def total(self) -> FloatArray:
        """The private sums, shape (lanes, arms)."""
        total: FloatArray = self.segments + self.nodes.sum(axis=2)
        return total

    def add(self, arms: IntArray, values: Private, present: npt.NDArray[np.bool_]) -> None:
        """Insert values of some arms, shape (lanes, k), where `present`; release the sums that are complete."""
        each = np.arange(self._width)
        places = np.where(present[..., None], np.arange(arms.shape[1])[:, None] + 0 * each, -1)
        where = np.where(present[..., None], arms[..., None] * self._width + each, -1)
        lanes = len(arms)
        self._sums.add(values.take(places.reshape(lanes, -1)), at=where.reshape(lanes, -1))
        scatter_add(self.count, np.where(present, arms, -1), np.ones(arms.shape, dtype=np.int64))
        count = np.where(present, gather(self.count, arms), 1)
        k = np.frexp(count)[1] - 1  # floor(log2 count)
        offset = count - (1 << k)
        ends = offset == 0
        level = np.where(ends, -1, np.frexp(np.where(ends, 1, offset & -offset))[1] - 1)
        self._release(arms, present, np.where(ends, 0, k), level)
        # A segment's end clears all; a node of level i the nodes up to i, which it covers.
        covered = (each[1:] - 1 <= level[..., None]) | ends[..., None]
        cleared = np.concatenate([ends[..., None], covered], axis=2) & present[..., None]
        mask = np.zeros((lanes, self._arms * self._width), dtype=bool)
        mask[np.nonzero(cleared)[0], where[cleared]] = True
        self._sums.clear(mask)

    def _release(self, arms: IntArray, present: npt.NDArray[np.bool_], k: IntArray, level: IntArray) -> None:
        """Release the segment (k = 0) or the node of `level` that each present value completes."""
        for depth in np.unique(k[present]).tolist():
            lane, place = np.nonzero(present & (k == depth))
            arm, node = arms[lane, place], level[lane, place]
            coordinate = arm * self._width + 1 + node
            mask = np.zeros((len(arms), self._arms * self._width), dtype=bool)
            mask[lane, coordinate] = True
            noise = Laplace(scale=2.0 * max(depth, 1) / self._epsilon, sensitivity=self._sensitivity)
            released = self._gate.release(noise, self._sums, where=mask)[lane, coordinate]
            if depth == 0:
                self.segments[lane, arm] += released
                self.nodes[lane, arm] = 0.0
            else:
                below = np.arange(self.levels) < node[:, None]
                self.nodes[lane, arm] = np.where(below, 0.0, self.nodes[lane, arm])
                self.nodes[lane, arm, node] = released
