"""Learned scores as tables: readings of a view that are large where it is likelier in one of two worlds.

For every score, "the score passes a threshold" is an event like any other, and its test on fresh draws
is exact; the fit of a score (`verify.events.score_fit`) matters only for the bound that it finds.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.events.binned import Binned, Bins
from verify.events.readings import Reading, join_names, reading_from_dict
from verify.events.view_sample import Column, ViewSample
from verify.events.written import decode, encode

NEVER = 255
"""In place of a bin: no value reaches it."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """The terms that one reading adds to a score.

    Attributes
    ----------
    binned
        The reading, in bins.
    weights
        One for each of the len(cuts) + 1 bins of values.
    absent
        The weight of NaN.

    Raises
    ------
    ParameterError
        If there are not as many weights as bins.
    """

    binned: Binned
    weights: tuple[float, ...]
    absent: float

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.binned.cuts) + 1:
            raise ParameterError(
                f"weights must be one more than cuts, got {len(self.binned.cuts)} cuts and {len(self.weights)} weights"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data for `from_dict`."""
        return {
            "reading": self.binned.reading.to_dict(),
            "cuts": [encode(cut) for cut in self.binned.cuts],
            "weights": list(self.weights),
            "absent": self.absent,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> ScoreTable:
        """The inverse of `to_dict`."""
        cuts = tuple(decode(cut) for cut in data["cuts"])
        binned = Binned(reading_from_dict(data["reading"], columns), cuts)
        return cls(binned, tuple(data["weights"]), data["absent"])


@dataclass(frozen=True, slots=True)
class AdditiveScore(Reading):
    """The sum of one table entry for each of some readings: an additive model of the log-likelihood ratio."""

    kind: ClassVar[str] = "additive score"
    tables: tuple[ScoreTable, ...]

    def values(self, sample: ViewSample) -> FloatArray:
        score = np.zeros(len(sample.values))
        for table in self.tables:
            score += np.take([table.absent, *table.weights], sample.read_values(table.binned))
        return score

    @property
    def description(self) -> str:
        most = sorted(self.tables, key=lambda table: min(table.weights) - max(table.weights))
        names = join_names([table.binned.reading.description for table in most], 3)
        if len(self.tables) == 1:
            return f"table entry (in the JSON) for {names}"
        return (
            f"sum of one table entry for each of {len(self.tables)} readings (largest weights first: {names})"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "tables": [table.to_dict() for table in self.tables]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> AdditiveScore:
        return cls(tuple(ScoreTable.from_dict(table, columns) for table in data["tables"]))


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree of depth d in which every path has d questions.

    Node i asks whether its reading lies in its bin or in one beyond (absent values, in bin 0, do not) and goes on at
    node 2i + 1 if not, at 2i + 2 if so; node 0 is asked first.

    Attributes
    ----------
    readings
        For each of the 2^d - 1 nodes, the index of its reading.
    bins
        For each node, the first bin of its reading for which the answer is yes; `NEVER` if there is none.
    leaves
        The 2^d values, from "no, no, ..." to "yes, yes, ...".
    """

    readings: tuple[int, ...]
    bins: tuple[int, ...]
    leaves: tuple[float, ...]

    def values(self, values: Sequence[Bins]) -> FloatArray:
        """The leaf value of each draw, from the bins of the draws' readings."""
        leaf = np.zeros(len(values[0]), dtype=np.uint8)
        depth = len(self.leaves).bit_length() - 1
        for level in range(depth):
            first = (1 << level) - 1
            answer = np.zeros(len(leaf), dtype=np.bool_)
            for offset in range(1 << level):
                node = first + offset
                if self.bins[node] == NEVER:
                    continue
                yes = values[self.readings[node]] >= self.bins[node]
                answer |= yes if level == 0 else (yes & (leaf == offset))
            leaf = 2 * leaf + answer.view(np.uint8)
        return np.take(self.leaves, leaf)


@dataclass(frozen=True, slots=True)
class TreeScore(Reading):
    """An additive score plus the leaf values of some small decision trees, which see how readings interact.

    Attributes
    ----------
    base
        The additive score that the trees correct.
    readings
        What the trees ask about.
    trees
        The trees.
    """

    kind: ClassVar[str] = "tree score"
    base: AdditiveScore
    readings: tuple[Binned, ...]
    trees: tuple[Tree, ...]

    def values(self, sample: ViewSample) -> FloatArray:
        score = sample.read_values(self.base).copy()
        bins = [sample.read_values(binned) for binned in self.readings]
        for tree in self.trees:
            score += tree.values(bins)
        return score

    @property
    def description(self) -> str:
        spread = np.zeros(len(self.readings))
        for tree in self.trees:
            spread[tree.readings[0]] += max(tree.leaves) - min(tree.leaves)
        order = np.argsort(-spread, kind="stable")
        most = [self.readings[i].reading.description for i in order if spread[i] > 0.0]
        return (
            f"sum of {len(self.trees)} decision trees (first questions: {join_names(most, 3)}) and of table entries "
            f"for {len(self.base.tables)} reading{'s' * (len(self.base.tables) != 1)}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "base": self.base.to_dict(),
            "readings": [binned.reading.to_dict() for binned in self.readings],
            "trees": [
                {
                    "readings": list(tree.readings),
                    "cuts": [encode(cut) for cut in self._cuts(tree)],
                    "leaves": list(tree.leaves),
                }
                for tree in self.trees
            ],
        }

    def _cuts(self, tree: Tree) -> list[float]:
        """The cut that each question of a tree asks about: NaN, which no value reaches, for `NEVER`."""
        asked = zip(tree.readings, tree.bins, strict=True)
        return [math.nan if at == NEVER else self.readings[j].cuts[at - 2] for j, at in asked]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> TreeScore:
        trees = [
            (tuple(tree["readings"]), [decode(cut) for cut in tree["cuts"]], tuple(tree["leaves"]))
            for tree in data["trees"]
        ]
        cuts: list[set[float]] = [set() for _ in data["readings"]]
        for indices, asked, _ in trees:
            for j, cut in zip(indices, asked, strict=True):
                cuts[j] |= set() if math.isnan(cut) else {cut}
        ordered = [tuple(sorted(found)) for found in cuts]

        def bin_from(j: int, cut: float) -> int:
            return NEVER if math.isnan(cut) else 2 + bisect_left(ordered[j], cut)

        return cls(
            AdditiveScore.from_dict(data["base"], columns),
            tuple(
                Binned(reading_from_dict(reading, columns), cuts)
                for reading, cuts in zip(data["readings"], ordered, strict=True)
            ),
            tuple(Tree(js, tuple(map(bin_from, js, asked)), leaves) for js, asked, leaves in trees),
        )
