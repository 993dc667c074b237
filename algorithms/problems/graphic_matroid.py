"""Graphic matroids: the spanning forests of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from algorithms.problems.matroid import Matroid, MatroidState
from algorithms.problems.problem_errors import ProblemError, checked_count, whole_rows
from mechanisms.arrays import BoolArray, IntArray


@dataclass(frozen=True, init=False)
class GraphicMatroid(Matroid):
    """A set of edges is independent if it contains no cycle; the bases are the spanning forests.

    Parameters
    ----------
    vertices
        Their number V; the vertices are ``0 .. V - 1``.
    edges
        Pairs of vertices; element e is ``edges[e]``. A self-loop is a loop of the matroid; of parallel
        edges a basis holds at most one.

    Raises
    ------
    ProblemError
        If an edge names another vertex, there are no edges, or all are self-loops.
    """

    vertices: int
    edges: tuple[tuple[int, int], ...]

    def __init__(self, vertices: int, edges: Sequence[tuple[int, int]]) -> None:
        vertices = checked_count("vertices", vertices)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "edges", whole_rows("edges", edges, 2))
        for number, edge in enumerate(self.edges):
            if max(edge) >= vertices:
                raise ProblemError(f"edges[{number}] = {edge}: both ends must be among 0 .. {vertices - 1}")
        super().__post_init__()

    @property
    def arms(self) -> int:
        """The number of edges L."""
        return len(self.edges)

    def _empty(self, lanes: int) -> MatroidState:
        """Every vertex of an edge carries the lowest one of its component: at first its own."""
        return np.tile(np.arange(self._ends.max(initial=-1) + 1), (lanes, 1))

    def _extend(self, state: MatroidState, elements: IntArray) -> BoolArray:
        every = np.arange(len(state))
        tail, head = (state[every, ends[elements]] for ends in self._ends)
        lower = np.minimum(tail, head)[:, np.newaxis]
        higher = np.maximum(tail, head)[:, np.newaxis]
        np.copyto(state, lower, where=state == higher)
        return np.asarray(tail != head)

    @cached_property
    def _ends(self) -> IntArray:
        """The two ends of all edges, numbered among the vertices that have edges."""
        return np.unique(np.array(self.edges, dtype=np.int64), return_inverse=True)[1].reshape(-1, 2).T
