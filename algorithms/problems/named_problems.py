"""The catalogue of problems by name, with the settings that ``list`` shows and ``--set key=value`` changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from algorithms.learner import Family
from algorithms.problems.arms import Arms
from algorithms.problems.cascade import Cascade
from algorithms.problems.coverage import MaximumCoverage
from algorithms.problems.disjoint_paths import DisjointPaths
from algorithms.problems.experts import Experts
from algorithms.problems.failing_oracle import FailingTopK
from algorithms.problems.graphic_matroid import GraphicMatroid
from algorithms.problems.linear_matroid import LinearMatroid
from algorithms.problems.movielens import movielens
from algorithms.problems.open_bandit import open_bandit, open_bandit_cascade
from algorithms.problems.partition_matroid import PartitionMatroid, UniformMatroid
from algorithms.problems.problem import Problem
from algorithms.problems.problem_errors import SettingError
from algorithms.problems.problem_settings import Parameter, Value, known_name, parse_settings
from algorithms.problems.public_arms import PublicArms
from algorithms.problems.semi_bandit import SemiBandit
from algorithms.problems.shared_outcomes import SharedOutcomes
from algorithms.problems.shortest_path import ShortestPath
from algorithms.problems.synthetic_movies import synthetic_movies
from algorithms.problems.top_k import TopK

_Built = TypeVar("_Built", covariant=True)


@dataclass(frozen=True)
class ProblemEntry(Generic[_Built]):
    """A problem that can be asked for by name.

    Attributes
    ----------
    name, summary
        Its name, and a description in one line.
    family
        The family of learners that run on it: ``"semi-bandit"``, ``"matroid"`` (a semi-bandit whose super arms are
        bases), ``"cascade"``, ``"experts"``, ``"linear"`` or ``"contextual"``.
    parameters
        Its settings, with defaults.
    make
        Builds it from a checked value of every parameter.
    """

    name: str
    summary: str
    family: Family
    parameters: tuple[Parameter, ...]
    make: Callable[..., _Built]

    def build(self, **settings: Value) -> _Built:
        """Return the problem with these settings, values as typed text or already of their kind.

        >>> problems["top-k"].build(arms="5", size=2).structure
        TopK(arms=5, size=2)

        Raises
        ------
        ProblemError
            If a setting is unknown, malformed or out of range, or settings contradict each other.
        """
        return self.make(**parse_settings(settings, self.parameters))


def build_problem(name: str, settings: Mapping[str, Value] | None = None) -> Problem:
    """Return a problem of the catalogue by name.

    Raises
    ------
    ProblemError
        If the name is unknown or the settings are wrong.
    """
    return problems[known_name("problem", name, problems)].build(**(settings or {}))


_MEANS = Parameter(
    "means", "str", "", meaning="means of all arms, separated by commas; empty: the default means"
)


def _integers(name: str, text: str) -> list[int]:
    """Read integers separated by commas or spaces."""
    try:
        return [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise SettingError(f"{name} = {text}: must be integers separated by commas") from None


def _means(text: str, default: list[float]) -> npt.NDArray[np.float64]:
    """Read means separated by commas or spaces; of an empty text, return the default ones."""
    try:
        return np.array([float(part) for part in text.replace(",", " ").split()] or default)
    except ValueError:
        raise SettingError(f"means = {text}: must be numbers separated by commas") from None


def _two_levels(count: int, best: int, good: float, other: float) -> list[float]:
    """Return `good` for `best` arms, evenly spread over the ids, and `other` for the rest.

    Spread, because oracles break ties by the lowest id: were the good arms the first ones, a learner that
    knows nothing would play them.
    """
    chosen = {(2 * rank + 1) * count // (2 * best) for rank in range(best)}
    return [good if arm in chosen else other for arm in range(count)]


def _spread(count: int, low: float = 0.1, high: float = 0.9) -> list[float]:
    """Return distinct, evenly spread, unordered means: multiples of the golden ratio, modulo 1."""
    golden = (5**0.5 - 1) / 2
    return [round(low + (high - low) * (golden * (arm + 1) % 1), 3) for arm in range(count)]


def _edges(text: str) -> list[tuple[str, str]]:
    edges = []
    for part in text.replace(",", " ").split():
        tail, dash, head = part.partition("-")
        if not (tail and dash and head):
            raise SettingError(f"edges: {part!r} must be two vertices joined by a dash, as in 0-1")
        edges.append((tail, head))
    return edges


def _arms(arms: int, good: float, other: float, means: str) -> Problem:
    return SemiBandit(Arms(arms), _means(means, _two_levels(arms, 1, good, other)))


def _top_k(arms: int, size: int, good: float, other: float, means: str) -> Problem:
    return SemiBandit(TopK(arms, size), _means(means, _two_levels(arms, size, good, other)))


def _shortest_path(rows: int, columns: int, edges: str, source: str, sink: str, means: str) -> Problem:
    graph = ShortestPath(_edges(edges), source, sink) if edges.strip() else ShortestPath.grid(rows, columns)
    return SemiBandit(graph, _means(means, _spread(graph.arms)))


def _coverage(left: int, right: int, size: int, means: str) -> Problem:
    structure = MaximumCoverage(left, right, size)
    return SemiBandit(structure, _means(means, _spread(structure.arms, 0.05, 0.5)))


def _identical_paths(paths: int, length: int, gap: float) -> Problem:
    means = np.full(paths * length, 0.5 - gap / length)
    means[-length:] = 0.5  # the last one, as ties go to the first
    groups = np.repeat(np.arange(paths), length).tolist()
    return SharedOutcomes(DisjointPaths(paths, length), means, groups)


def _public_arms(arms: int, size: int, gap: float) -> Problem:
    structure = PublicArms(arms, size)
    means = np.full(arms, 0.5)
    means[size - 1 : arms - size] -= gap
    public = [0] * (size - 1)
    return SharedOutcomes(structure, means, [*public, *range(1, arms - size + 2)])


def _failing_top_k(arms: int, size: int, good: float, other: float, means: str, beta: float) -> Problem:
    return SemiBandit(FailingTopK(arms, size, beta), _means(means, _two_levels(arms, size, good, other)))


def _experts(experts: int, good: float, other: float, means: str) -> Problem:
    return SemiBandit(Experts(experts), _means(means, _two_levels(experts, 1, good, other)))


def _uniform(elements: int, rank: int, good: float, other: float, means: str) -> Problem:
    return SemiBandit(UniformMatroid(elements, rank), _means(means, _two_levels(elements, rank, good, other)))


def _partition(sizes: str, capacities: str, means: str) -> Problem:
    parts: list[range] = []
    for size in _integers("sizes", sizes):
        start = parts[-1].stop if parts else 0
        parts.append(range(start, start + size))
    matroid = PartitionMatroid(parts, _integers("capacities", capacities))
    return SemiBandit(matroid, _means(means, _spread(matroid.arms)))


def _graphic(vertices: int, edges: str, means: str) -> Problem:
    complete = [(tail, head) for tail in range(vertices) for head in range(tail + 1, vertices)]
    given = [(_vertex(tail), _vertex(head)) for tail, head in _edges(edges)]
    matroid = GraphicMatroid(vertices, given or complete)
    return SemiBandit(matroid, _means(means, _spread(matroid.arms)))


def _vertex(text: str) -> int:
    if not text.isdecimal():
        raise SettingError(f"edges: vertex {text!r} must be an integer")
    return int(text)


# Table 2 of the matroid bandit paper: the optimum is {e1, e2, e3} with 2.15; e7 is a loop, e6 parallel to e1.
_TABLE_2 = "1 0 0; 0 1 0; 0 0 1; 1 0 1; 0 1 1; 2 0 0; 0 0 0"
_TABLE_2_MEANS = [0.80, 0.75, 0.60, 0.20, 0.30, 0.40, 0.70]


def _linear(vectors: str, means: str) -> Problem:
    matroid = LinearMatroid([_integers("vectors", row) for row in vectors.split(";")])
    default = _TABLE_2_MEANS if vectors == _TABLE_2 else _spread(matroid.arms)
    return SemiBandit(matroid, _means(means, default))


def _cascade(items: int, positions: int, good: float, other: float, means: str) -> Problem:
    return Cascade(items, positions, _means(means, _two_levels(items, positions, good, other)))


def _open_bandit(items: int, size: int, position: str) -> Problem:
    return open_bandit(items, size, _position(position))


def _open_bandit_cascade(items: int, positions: int, position: str) -> Problem:
    return open_bandit_cascade(items, positions, _position(position))


def _movielens(folder: str, movies: int) -> Problem:
    if not folder:
        raise SettingError("folder = '': must name the unpacked archive ml-1m, with ratings.dat, movies.dat")
    return movielens(folder, movies)


def _position(text: str) -> int | None:
    return None if text == "pooled" else int(text)


def _levels(good: float, which: str, other: float) -> tuple[Parameter, ...]:
    """Return the settings of means at two levels."""
    return (
        Parameter("good", "float", good, 0, 1, f"mean of {which}, spread over the ids"),
        Parameter("other", "float", other, 0, 1, "mean of all the others"),
        _MEANS,
    )


_POSITION = Parameter(
    "position",
    "str",
    "pooled",
    meaning="take the click rates of this position, or of all three pooled",
    choices=("pooled", "1", "2", "3"),
)
_LOGGED_ITEMS = Parameter("items", "int", 80, 1, 80, "keep the items 0 .. items - 1 of the log")

problems: dict[str, ProblemEntry[Problem]] = {
    entry.name: entry
    for entry in (
        ProblemEntry(
            "arms",
            "choose the best of some arms, one at a time",
            "bandit",
            (
                Parameter("arms", "int", 10, 1, 100_000, "number of arms m"),
                *_levels(0.5, "one arm", 0.3),
            ),
            _arms,
        ),
        ProblemEntry(
            "top-k",
            "choose the best K arms; the reward is the sum of their outcomes",
            "semi-bandit",
            (
                Parameter("arms", "int", 20, 1, 100_000, "number of base arms m"),
                Parameter("size", "int", 4, 1, 100_000, "arms played at a time, K, at most arms"),
                *_levels(0.2, "size arms", 0.05),
            ),
            _top_k,
        ),
        ProblemEntry(
            "shortest-path",
            "walk through a directed acyclic graph with the least delay (outcome = 1 - delay of an edge)",
            "semi-bandit",
            (
                Parameter("rows", "int", 3, 1, 200, "rows of the grid, walked right or down"),
                Parameter("columns", "int", 4, 1, 200, "columns of the grid"),
                Parameter("edges", "str", "", meaning="a graph instead of the grid, as in s-a,s-b,a-t,b-t"),
                Parameter("source", "str", "s", meaning="where paths start, if edges are given"),
                Parameter("sink", "str", "t", meaning="where paths end, if edges are given"),
                _MEANS,
            ),
            _shortest_path,
        ),
        ProblemEntry(
            "coverage",
            "choose left nodes of a bipartite graph to reach many right nodes; greedy (1 - 1/e) oracle",
            "semi-bandit",
            (
                Parameter("left", "int", 8, 1, 1_000, "left nodes"),
                Parameter("right", "int", 6, 1, 1_000, "right nodes"),
                Parameter("size", "int", 3, 1, 1_000, "left nodes chosen at a time, at most left"),
                _MEANS,
            ),
            _coverage,
        ),
        ProblemEntry(
            "identical-paths",
            "walk one of several disjoint paths whose edges all say the same: where a lower bound has K squared",
            "semi-bandit",
            (
                Parameter("paths", "int", 4, 2, 10_000, "disjoint paths; the last one is the best"),
                Parameter("length", "int", 4, 1, 1_000, "edges of a path, K"),
                Parameter(
                    "gap", "float", 0.8, 0, 500, "by how much all others are worse, at most length / 2"
                ),
            ),
            _identical_paths,
        ),
        ProblemEntry(
            "public-arms",
            "one super arm by itself, or public arms with any private one: where a central lower bound has m times K",
            "semi-bandit",
            (
                Parameter("arms", "int", 12, 2, 100_000, "number of base arms m, at least 2 size"),
                Parameter("size", "int", 4, 1, 50_000, "arms played at a time, K"),
                Parameter("gap", "float", 0.2, 0, 0.5, "by how much private arms are worse than all others"),
            ),
            _public_arms,
        ),
        ProblemEntry(
            "failing-top-k",
            "choose the best K arms by an oracle that gives the worst ones now and then",
            "semi-bandit",
            (
                Parameter("arms", "int", 8, 1, 100_000, "number of base arms m"),
                Parameter("size", "int", 2, 1, 100_000, "arms played at a time, K, at most arms"),
                *_levels(0.5, "size arms", 0.3),
                Parameter("beta", "float", 0.9, 0, 1, "how often the oracle does not fail, above 0"),
            ),
            _failing_top_k,
        ),
        ProblemEntry(
            "experts",
            "follow the best of some experts; the outcomes of all are seen in every round",
            "experts",
            (
                Parameter("experts", "int", 10, 1, 10_000, "number of experts K"),
                *_levels(0.6, "one expert", 0.5),
            ),
            _experts,
        ),
        ProblemEntry(
            "uniform-matroid",
            "choose a basis of the uniform matroid: any `rank` elements",
            "matroid",
            (
                Parameter("elements", "int", 20, 1, 100_000, "number of elements L"),
                Parameter("rank", "int", 1, 1, 100_000, "elements of a basis, K, at most elements"),
                *_levels(0.8, "rank elements", 0.4),
            ),
            _uniform,
        ),
        ProblemEntry(
            "partition-matroid",
            "choose a basis of a partition matroid: so many elements of each part",
            "matroid",
            (
                Parameter("sizes", "str", "5,5,5,5", meaning="number of elements of each part"),
                Parameter("capacities", "str", "1,1,1,1", meaning="elements allowed of each part"),
                _MEANS,
            ),
            _partition,
        ),
        ProblemEntry(
            "graphic-matroid",
            "choose a spanning forest of a graph",
            "matroid",
            (
                Parameter("vertices", "int", 6, 1, 200, "number of vertices, named 0 .. vertices - 1"),
                Parameter("edges", "str", "", meaning="edges as in 0-1,1-2,0-2; empty: the complete graph"),
                _MEANS,
            ),
            _graphic,
        ),
        ProblemEntry(
            "linear-matroid",
            "choose a basis of a list of vectors; by default seven vectors of rank 3, one of them zero",
            "matroid",
            (
                Parameter("vectors", "str", _TABLE_2, meaning="integer vectors separated by semicolons"),
                _MEANS,
            ),
            _linear,
        ),
        ProblemEntry(
            "cascade",
            "show a list of K items; the user clicks the first attractive one",
            "cascade",
            (
                Parameter("items", "int", 20, 1, 100_000, "number of items L"),
                Parameter("positions", "int", 4, 1, 100_000, "length of a list, K, at most items"),
                *_levels(0.2, "positions items", 0.05),
            ),
            _cascade,
        ),
        ProblemEntry(
            "open-bandit",
            "real logs: choose 3 of 80 fashion items, click rates of the Open Bandit Dataset's random policy",
            "semi-bandit",
            (
                _LOGGED_ITEMS,
                Parameter("size", "int", 3, 1, 80, "items shown at a time, at most items"),
                _POSITION,
            ),
            _open_bandit,
        ),
        ProblemEntry(
            "open-bandit-cascade",
            "real logs: a list of 3 of 80 fashion items, click rates taken as attraction probabilities",
            "cascade",
            (
                _LOGGED_ITEMS,
                Parameter("positions", "int", 3, 1, 80, "length of a list, at most items"),
                _POSITION,
            ),
            _open_bandit_cascade,
        ),
        ProblemEntry(
            "movielens",
            "recommend movies of independent genres; users and ratings of a copy of MovieLens-1M that is yours",
            "matroid",
            (
                Parameter("folder", "str", "", meaning="the unpacked archive ml-1m; there is no default"),
                Parameter("movies", "int", 100, 1, 3883, "the movies with most ratings"),
            ),
            _movielens,
        ),
        ProblemEntry(
            "synthetic-movies",
            "the same with made-up movies and users, of the size of MovieLens-1M's: nothing in it is real",
            "matroid",
            (
                Parameter("movies", "int", 100, 17, 3883, "number of movies"),
                Parameter("users", "int", 6040, 1, 1_000_000, "number of users"),
                Parameter("instance", "int", 1, 0, None, "seed of movies and users"),
            ),
            synthetic_movies,
        ),
    )
}
"""The problems of all other learners by name."""
