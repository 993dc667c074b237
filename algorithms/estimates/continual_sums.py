"""Continual sums of private values: the tree counters of `mechanisms`, node by node through a gate.

Counters on trees release complete nodes, so each node is one release and the ledger charges every record for
exactly the nodes that hold it. (`SignedTree` and the Toeplitz counters add noise that belongs to no single
node; they work on streams of raw numbers.)

Under an accountant a record is refused before anything changes if it could not pay for all the releases that it would
be part of, now and later, or still waits for one of them. Should a record spend that budget elsewhere meanwhile, the
release of a node fails: then the counter starts afresh, and the earlier increments are lost.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from accountant import Gate, Private, PrivateSums, add_to_all
from algorithms.lanes import scatter_add
from mechanisms import BinaryTree, Hybrid, Mechanism
from mechanisms.arrays import FloatArray, IntArray
from mechanisms.counters.continual import checked_steps


class PrivateTreeSums:
    """Running sums of vectors under one clock: every step is one leaf of a binary tree.

    Parameters
    ----------
    gate
        The gate of the values.
    tree
        Its mechanism adds the noise of a node, its horizon bounds the steps.
    size
        Coordinates of a running sum.

    Attributes
    ----------
    steps
        The steps so far.
    count
        The number of values each running sum holds, shape (lanes, size): all so far, if no release has failed.
    """

    def __init__(self, gate: Gate, tree: BinaryTree, size: int) -> None:
        self._gate = gate
        self._tree = tree
        self.steps = 0
        self.count: FloatArray = np.zeros((gate.lanes, size))
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
        RecordWaiting, BudgetExceeded, SensitivityExceeded, TheoremMissing, ForeignValue, TypeError, ValueError
            As `PrivateSums.add`, before anything is added; from the release of a node, after which the sums are empty.
        """
        checked_steps(self.steps + 1, self._tree.horizon)
        holding = [self._open[level] for level in self._released_levels(self.steps + 1)]
        add_to_all(holding, values, at, ((self._tree.mechanism, values, len(holding)),))
        self.steps += 1
        scatter_add(self.count, at, 1.0)
        level = (self.steps & -self.steps).bit_length() - 1
        everywhere = np.ones(self._nodes.shape[1:], dtype=bool)
        try:
            self._nodes[level] = self._gate.release(self._tree.mechanism, self._open[level])
        except BaseException:
            self._start_afresh(everywhere)
            raise
        self._nodes[:level] = 0.0
        self._open[level].clear(everywhere)
        running: FloatArray = self._nodes[level].copy()
        for further in range(level + 1, self.steps.bit_length()):
            if self.steps >> further & 1:  # the others are 0
                running += self._nodes[further]
        return running

    def _released_levels(self, leaf: int) -> list[int]:
        """Return the levels of the nodes that hold this leaf, 1, 2, ..., and are released within the horizon.

        Node i of a level, i = 1, 2, ..., is complete after ``i 2^level`` steps; it is released if i is odd, as two
        nodes that are complete at once are an even one and its parent.
        """
        nodes = (((leaf - 1) >> level) + 1 for level in range(self._tree.levels))
        return [level for level, i in enumerate(nodes) if i & 1 and i << level <= self._tree.horizon]

    def _start_afresh(self, everywhere: npt.NDArray[np.bool_]) -> None:
        """Empty the sums, of which nothing could ever be released."""
        self._nodes[:] = 0.0
        self.count[:] = 0.0
        for sums in self._open:
            sums.clear(everywhere)


class PrivateHybridSums:
    """Running sums of single numbers, each under its own clock: one hybrid mechanism per coordinate.

    A coordinate's clock counts its own increments, so which coordinates are hit must be public.

    Parameters
    ----------
    gate
        The gate of the values.
    counter
        The hybrid mechanism of each coordinate.
    size
        The number of coordinates.
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

        Raises
        ------
        RecordWaiting, BudgetExceeded, SensitivityExceeded, TheoremMissing, ForeignValue, TypeError, ValueError
            As `PrivateSums.add`, before anything is added; from the release of a node, after which the sums are empty.
        """
        hit = np.zeros(self.steps.shape, dtype=bool)
        lanes, places = np.nonzero(at >= 0)
        hit[lanes, at[lanes, places]] = True
        # Increment 2^k + r is in the tree of a segment with k levels; r = 0 completes a segment.
        steps = self.steps + hit
        k = np.frexp(steps.astype(np.float64))[1] - 1
        inside = steps - (np.int64(1) << np.maximum(k, 0).astype(np.int64))
        while len(self._open) < int(k[hit].max(initial=0)):
            self._open.append(self._gate.sums(self._size))
            self._nodes = np.concatenate([self._nodes, np.zeros((1, *self.steps.shape))])
        add_to_all((self._segment, *self._open), values, at, self._releases(values, at, k, inside))
        self.steps = steps
        try:
            return self._release_complete(hit, k, inside)
        except BaseException:
            self._start_afresh()
            raise

    def _releases(
        self, values: Private, at: IntArray, k: IntArray, inside: IntArray
    ) -> list[tuple[Mechanism, Private, int]]:
        """Return the releases that the values will be part of, in the one lane that an accountant has."""
        releases: list[tuple[Mechanism, Private, int]] = []
        if len(at) > 1:
            return releases
        for place in np.flatnonzero(at[0] >= 0).tolist():
            levels, leaf = int(k[0, at[0, place]]), int(inside[0, at[0, place]])
            value = values.take(np.array([[place]]))
            releases.append((self._counter.node(1), value, 1))  # the segment, now (r = 0) or when it ends
            nodes = sum(
                not (leaf - 1) >> level & 1 and (((leaf - 1) >> level) + 1) << level < 1 << levels
                for level in range(levels)
            )
            if leaf and nodes:
                releases.append((self._counter.node(levels), value, nodes))
        return releases

    def _start_afresh(self) -> None:
        """Empty the sums, of which nothing could ever be released."""
        self._complete[:] = 0.0
        self._nodes[:] = 0.0
        for sums in (self._segment, *self._open):
            sums.clear(np.ones(self.steps.shape, dtype=bool))

    def _release_complete(self, hit: npt.NDArray[np.bool_], k: IntArray, inside: IntArray) -> FloatArray:
        """Release the nodes and segments that the step has completed; return the running sums."""
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
        return np.asarray(self._complete + self._nodes.sum(axis=0))

    def _complete_segments(self, complete: npt.NDArray[np.bool_]) -> None:
        if complete.any():
            released = self._gate.release(self._counter.node(1), self._segment, where=complete)
            self._complete[complete] += released[complete]
            self._nodes[:, complete] = 0.0
            for sums in (self._segment, *self._open):
                sums.clear(complete)
