"""Paths in a directed acyclic graph: routing with unknown delays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.lanes import lookup
from algorithms.problems.problem_errors import ProblemError, checked_count
from algorithms.problems.super_arms import Structure, checked_weights
from mechanisms.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class _Stage:
    """Vertices at the same number of edges from the sink, on their longest way, with their outgoing edges."""

    vertices: IntArray  # (vertices,)
    edges: IntArray  # (vertices, largest out-degree), in increasing order of id, padded with -1
    heads: IntArray  # (vertices, largest out-degree): where each edge leads; the sink at padding


@dataclass(frozen=True)
class ShortestPath(Structure):
    """Every path from `source` to `sink` in a directed acyclic graph; base arm e is ``edges[e]``.

    The outcome of an edge is ``X_e = 1 - delay_e`` in [0, 1], so that a larger mean is better, as
    everywhere. The reward of a path is minus its total delay, ``r_mu(S) = sum_{e in S} (mu_e - 1)``:
    monotone, ``B_1 = 1``, ``B_inf = K`` with K the largest number of edges of a path. The oracle (dynamic
    programming from the sink) is exact; of equally good paths it returns the one whose edge ids come first
    in lexicographic order.

    Parameters
    ----------
    edges
        Pairs (from, to) of vertex names; parallel edges are allowed.
    source, sink
        Vertex names.

    Raises
    ------
    ProblemError
        If the graph has a cycle, no path leads from source to sink, or some edge lies on no such path (it
        would be a base arm in no super arm; leave it out).
    """

    edges: tuple[tuple[Hashable, Hashable], ...]
    source: Hashable
    sink: Hashable

    def __init__(self, edges: Sequence[tuple[Hashable, Hashable]], source: Hashable, sink: Hashable) -> None:
        try:
            object.__setattr__(self, "edges", tuple((tail, head) for tail, head in edges))
            hash((self.edges, source, sink))
        except (TypeError, ValueError):
            raise ProblemError(
                f"edges = {edges!r}: must be pairs of vertex names, as source and sink"
            ) from None
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "sink", sink)
        self._require_paths()

    @classmethod
    def grid(cls, rows: int, columns: int) -> ShortestPath:
        """Return the grid of `rows` times `columns` vertices, walked right or down from corner to corner.

        The vertices are pairs (row, column); every path has ``rows + columns - 2`` edges.

        Raises
        ------
        ProblemError
            If there are fewer than two vertices.
        """
        rows = checked_count("rows", rows)
        columns = checked_count("columns", columns)
        if checked_count("rows times columns", rows * columns) < 2:
            raise ProblemError(f"rows = {rows}, columns = {columns}: a grid needs at least two vertices")
        steps = [
            ((row, column), (row + down, column + 1 - down))
            for row in range(rows)
            for column in range(columns)
            for down in (0, 1)
            if row + down < rows and column + 1 - down < columns
        ]
        return cls(steps, (0, 0), (rows - 1, columns - 1))

    @property
    def arms(self) -> int:
        """The number of edges."""
        return len(self.edges)

    @property
    def size(self) -> int:
        """The number of edges of the longest path."""
        return len(self._stages)

    def solve(self, weights: FloatArray) -> IntArray:
        """Return the edges of a path of largest ``sum (w_e - 1)``, in the order walked, padded with -1.

        The value of a vertex is ``V(v) = max_{e = (v, u)} (w_e - 1) + V(u)``, with ``V(sink) = 0``.

        Raises
        ------
        ProblemError
            If a weight is NaN or -inf, or the shape is another.
        """
        weights = checked_weights(weights, self.arms)
        lanes = weights.shape[0]
        gain = np.empty((lanes, self.arms + 1))
        np.subtract(weights, 1.0, out=gain[:, : self.arms])
        gain[:, -1] = -np.inf  # read by padding (-1), never taken
        value = np.zeros((lanes, len(self._vertices)))
        taken = np.full((lanes, len(self._vertices)), -1, dtype=np.int64)
        for stage in self._stages:
            options = gain[:, stage.edges] + value[:, stage.heads]
            best = options.argmax(axis=2)
            value[:, stage.vertices] = options.max(axis=2)
            taken[:, stage.vertices] = stage.edges[np.arange(len(stage.vertices)), best]
        path = np.empty((lanes, self.size), dtype=np.int64)
        every = np.arange(lanes)
        at = np.full(lanes, self._vertices[self.source])
        for step in range(self.size):
            path[:, step] = taken[every, at]
            at = self._head[path[:, step]]  # -1 (at the sink already) leads to the sink
        return path

    def reward(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return minus the expected total delay, ``sum_{e in S} (mu_e - 1)``."""
        return np.asarray(lookup(means - 1.0, super_arm).sum(axis=1))

    def super_arms(self) -> Iterator[tuple[int, ...]]:
        """Yield the edges of every path, in the order walked."""
        ways: list[tuple[Hashable, tuple[int, ...]]] = [(self.source, ())]
        while ways:
            vertex, walked = ways.pop()
            if vertex == self.sink:
                yield walked
            else:
                ways.extend((self.edges[edge][1], (*walked, edge)) for edge in self._leaving[vertex])

    @cached_property
    def _vertices(self) -> dict[Hashable, int]:
        """Vertex name to number, in order of appearance."""
        names = dict.fromkeys(name for edge in self.edges for name in edge)
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def _head(self) -> IntArray:
        """Edge id to the number of the vertex it leads to; the last entry (-1) is the sink."""
        numbers = self._vertices
        return np.array([numbers[head] for _, head in self.edges] + [numbers[self.sink]], dtype=np.int64)

    @cached_property
    def _stages(self) -> tuple[_Stage, ...]:
        """The vertices in order of their longest way to the sink: 1, 2, ..., K edges."""
        stages: dict[int, list[Hashable]] = defaultdict(list)
        for vertex, edges_left in _longest_ways(self.edges).items():
            if edges_left:
                stages[edges_left].append(vertex)
        return tuple(self._stage(stages[length]) for length in sorted(stages))

    @cached_property
    def _leaving(self) -> dict[Hashable, list[int]]:
        """Vertex name to the edges that leave it, in increasing order of id."""
        leaving: dict[Hashable, list[int]] = defaultdict(list)
        for edge, (tail, _) in enumerate(self.edges):
            leaving[tail].append(edge)
        return leaving

    def _stage(self, vertices: list[Hashable]) -> _Stage:
        leaving = self._leaving
        degree = max(len(leaving[vertex]) for vertex in vertices)
        edges = np.full((len(vertices), degree), -1, dtype=np.int64)
        for row, vertex in enumerate(vertices):
            edges[row, : len(leaving[vertex])] = leaving[vertex]
        numbers = np.array([self._vertices[vertex] for vertex in vertices], dtype=np.int64)
        return _Stage(numbers, edges, self._head[edges])

    def _require_paths(self) -> None:
        _longest_ways(self.edges)  # refuses a cycle
        forward = _reachable(self.edges, self.source)
        if self.sink not in forward or self.sink == self.source:
            raise ProblemError(f"sink = {self.sink!r}: no path leads to it from source {self.source!r}")
        backward = _reachable([(head, tail) for tail, head in self.edges], self.sink)
        for edge, (tail, head) in enumerate(self.edges):
            if tail not in forward or head not in backward:
                raise ProblemError(
                    f"edges[{edge}] = {(tail, head)!r}: lies on no path from {self.source!r} "
                    f"to {self.sink!r}; leave it out"
                )


def _longest_ways(edges: Sequence[tuple[Hashable, Hashable]]) -> dict[Hashable, int]:
    """Return for each vertex the number of edges of the longest way that starts in it; refuse a cycle."""
    leaving: dict[Hashable, int] = defaultdict(int)
    entering: dict[Hashable, list[Hashable]] = defaultdict(list)
    length: dict[Hashable, int] = {}
    for tail, head in edges:
        leaving[tail] += 1
        entering[head].append(tail)
        length[tail] = length[head] = 0
    done = [vertex for vertex in length if not leaving[vertex]]
    for vertex in done:  # grows while it is walked (Kahn's algorithm, from the ends)
        for tail in entering[vertex]:
            length[tail] = max(length[tail], length[vertex] + 1)
            leaving[tail] -= 1
            if not leaving[tail]:
                done.append(tail)
    if len(done) < len(length):
        stuck = next(vertex for vertex in length if leaving[vertex])
        raise ProblemError(
            f"edges: the graph has a cycle (reached from vertex {stuck!r}); it must be acyclic"
        )
    return length


def _reachable(edges: Sequence[tuple[Hashable, Hashable]], start: Hashable) -> set[Hashable]:
    leaving: dict[Hashable, list[Hashable]] = defaultdict(list)
    for tail, head in edges:
        leaving[tail].append(head)
    found = {start}
    waiting = [start]
    while waiting:
        for head in leaving[waiting.pop()]:
            if head not in found:
                found.add(head)
                waiting.append(head)
    return found
