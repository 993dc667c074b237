"""Continual sums of private values: the tree counters of `mechanisms`, node by node through a gate.

Counters on trees release complete nodes, so each node is one release and the ledger charges every record for
exactly the nodes that hold it. (`SignedTree` and the Toeplitz counters add noise that belongs to no single
node; they work on streams of raw numbers.)
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private, PrivateSums
from mechanisms import BinaryTree, Hybrid

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class PrivateTreeSums:
    """Running sums of vectors under one clock: every step is one leaf of a binary tree.

    Parameters
    ----------
    gate
        Where values are kept and released.
    tree
        Its mechanism adds the noise of each coordinate of a node, its horizon bounds the steps.
    size
        Coordinates of a running sum.
    """

    def __init__(self, gate: Gate, tree: BinaryTree, size: int) -> None:
        self._gate = gate
        self._tree = tree
        self.steps = 0
        self._open = [gate.sums(size) for _ in range(tree.levels)]
        self._nodes: FloatArray = np.zeros((tree.levels, gate.lanes, size))

    def step(self, values: Private, at: IntArray) -> FloatArray:
        """Add private values (lanes, k) at public coordinates (negative: padding); return all running sums.

        Returns
        -------
        ndarray
            Shape (lanes, size).

        Raises
        ------
        HorizonExceeded
            Beyond the tree's horizon, before anything is added.
        """
        self._tree.variance(self.steps + 1)  # refuses a step beyond the horizon
        for sums in self._open:
            sums.add(values, at=at)
        self.steps += 1
        level = (self.steps & -self.steps).bit_length() - 1
        everywhere = np.ones(self._nodes.shape[1:], dtype=bool)
        self._nodes[level] = self._gate.release(self._tree.mechanism, self._open[level])
        self._nodes[:level] = 0.0
        for sums in self._open[: level + 1]:
            sums.clear(everywhere)
        running: FloatArray = self._nodes.sum(axis=0)
        return running


class PrivateHybridSums:
    """Running sums of single numbers, each under its own clock: one hybrid mechanism per coordinate.

    A coordinate's clock counts its own increments, so which coordinates are hit must be public.

    Parameters
    ----------
    gate
        Where values are kept and released.
    counter
        The hybrid mechanism of each coordinate.
    size
        How many coordinates.
    """

    def __init__(self, gate: Gate, counter: Hybrid, size: int) -> None:
        self._gate = gate
        self._counter = counter
        self._size = size
        self.steps: IntArray = np.zeros((gate.lanes, size), dtype=np.int64)
        self._segment = gate.sums(size)
        self._open: list[PrivateSums] = []  # one per tree level, opened when a clock first needs it
        self._complete: FloatArray = np.zeros((gate.lanes, size))
        self._nodes: FloatArray = np.zeros((0, gate.lanes, size))

    def step(self, values: Private, at: IntArray) -> FloatArray:
        """Add private values (lanes, k) at public coordinates (negative: padding); return all running sums.

        Coordinates that are not hit keep their last running sum; those never hit are at 0.

        Returns
        -------
        ndarray
            Shape (lanes, size).
        """
        hit = np.zeros(self.steps.shape, dtype=bool)
        lanes, places = np.nonzero(at >= 0)
        hit[lanes, at[lanes, places]] = True
        self.steps += hit
        # Increment 2^k + r is in the tree of a segment with k levels; r = 0 completes a segment.
        k = np.frexp(self.steps.astype(np.float64))[1] - 1
        inside = self.steps - (np.int64(1) << np.maximum(k, 0).astype(np.int64))
        while len(self._open) < int(k[hit].max(initial=0)):
            self._open.append(self._gate.sums(self._size))
            self._nodes = np.concatenate([self._nodes, np.zeros((1, *self.steps.shape))])
        for sums in (self._segment, *self._open):
            sums.add(values, at=at)
        self._complete_segments(hit & (inside == 0))
        in_tree = hit & (inside > 0)
        level = np.bitwise_count((inside & -inside) - 1)
        for depth, sums in enumerate(self._open):
            here = in_tree & (level == depth)
            for levels in np.unique(k[here]).tolist():
                where = here & (k == levels)
                released = self._gate.release(self._counter.node(levels), sums, where=where)
                self._nodes[depth][where] = released[where]
            for lower in range(depth):
                self._nodes[lower][here] = 0.0
            for done in self._open[: depth + 1]:
                done.clear(here)
        running: FloatArray = self._complete + self._nodes.sum(axis=0)
        return running

    def _complete_segments(self, complete: npt.NDArray[np.bool_]) -> None:
        if complete.any():
            released = self._gate.release(self._counter.node(1), self._segment, where=complete)
            self._complete[complete] += released[complete]
            self._nodes[:, complete] = 0.0
            for sums in (self._segment, *self._open):
                sums.clear(complete)
