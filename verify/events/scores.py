"""Learned scores, written down as tables: readings of a view that say which of two worlds it looks like.

Whatever a score is, "the score passes a threshold" is an event like any other, and its test on fresh draws
is exact; how scores are fitted (`verify.events.score_fit`) matters only for how much they find.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from verify.events.readings import Reading, decode, encode, listed, reading_from_dict
from verify.events.view_sample import Column, FloatArray, ViewSample

Bins = npt.NDArray[np.uint8]

MOST_CUTS = 254  # of one reading, so that bins are bytes
BLOCK = 16_384  # values that are put into bins at once, and stay in the processor's cache


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """What one reading adds to a score.

    Attributes
    ----------
    reading
        The reading.
    cuts
        Increasing; bin i holds the values v with cuts[i-1] ≤ v < cuts[i].
    weights
        One for each of the len(cuts) + 1 bins.
    absent
        The weight of NaN.
    """

    reading: Reading
    cuts: tuple[float, ...]
    weights: tuple[float, ...]
    absent: float

    def __post_init__(self) -> None:
        if len(self.cuts) > MOST_CUTS or len(self.weights) != len(self.cuts) + 1:
            raise ValueError(
                f"cuts must be at most {MOST_CUTS}, with one more weight than cuts, got {len(self.cuts)} cuts "
                f"and {len(self.weights)} weights"
            )

    def to_dict(self) -> dict[str, Any]:
        """JSON-able data for `from_dict`."""
        return {
            "reading": self.reading.to_dict(),
            "cuts": [encode(cut) for cut in self.cuts],
            "weights": list(self.weights),
            "absent": self.absent,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> ScoreTable:
        """The inverse of `to_dict`."""
        cuts = tuple(decode(cut) for cut in data["cuts"])
        return cls(reading_from_dict(data["reading"], columns), cuts, tuple(data["weights"]), data["absent"])


@dataclass(frozen=True, slots=True)
class AdditiveScore(Reading):
    """The sum of one table entry for each of some readings: an additive model of the log-likelihood ratio."""

    kind: ClassVar[str] = "additive score"
    tables: tuple[ScoreTable, ...]

    def of(self, sample: ViewSample) -> FloatArray:
        score = np.zeros(len(sample.values))
        for table in self.tables:
            weights = np.asarray((*table.weights, table.absent))
            score += weights[bin_of(np.asarray(table.cuts), table.reading.of(sample))]
        return score

    @property
    def words(self) -> str:
        most = sorted(self.tables, key=lambda table: min(table.weights) - max(table.weights))
        names = listed([table.reading.words for table in most], 3)
        if len(self.tables) == 1:
            return f"the score of {names}, looked up in a table,"
        return (
            f"a score that adds one table entry for each of {len(self.tables)} readings "
            f"(those that weigh most first: {names})"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "tables": [table.to_dict() for table in self.tables]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> AdditiveScore:
        return cls(tuple(ScoreTable.from_dict(table, columns) for table in data["tables"]))


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision tree of depth d in which every path has d questions.

    Node i asks whether its reading is at least its cut (absent counts as no) and goes on at node 2i + 1 if
    not, at 2i + 2 if so; node 0 is asked first.

    Attributes
    ----------
    readings
        For each of the 2^d - 1 nodes, the index of its reading.
    cuts
        For each node, its cut.
    leaves
        The 2^d values, from "no, no, ..." to "yes, yes, ...".
    """

    readings: tuple[int, ...]
    cuts: tuple[float, ...]
    leaves: tuple[float, ...]

    def of(self, values: Sequence[FloatArray]) -> FloatArray:
        """The leaf value of each draw, from the draws' readings."""
        leaf = np.zeros(len(values[0]), dtype=np.uint8)
        depth = len(self.leaves).bit_length() - 1
        for level in range(depth):
            first = (1 << level) - 1
            answer = np.zeros(len(leaf), dtype=np.bool_)
            for offset in range(1 << level):
                node = first + offset
                yes = values[self.readings[node]] >= self.cuts[node]
                answer |= yes if level == 0 else (yes & (leaf == offset))
            leaf = 2 * leaf + answer
        return np.asarray(self.leaves)[leaf]


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
    readings: tuple[Reading, ...]
    trees: tuple[Tree, ...]

    def of(self, sample: ViewSample) -> FloatArray:
        score = self.base.of(sample)
        values = [reading.of(sample) for reading in self.readings]
        for tree in self.trees:
            score += tree.of(values)
        return score

    @property
    def words(self) -> str:
        spread = np.zeros(len(self.readings))
        for tree in self.trees:
            spread[tree.readings[0]] += max(tree.leaves) - min(tree.leaves)
        most = [self.readings[i].words for i in np.argsort(-spread, kind="stable") if spread[i] > 0.0]
        return (
            f"a score that adds the values of {len(self.trees)} small decision trees (first questions: "
            f"{listed(most, 3)}) to table entries for {len(self.base.tables)} reading"
            f"{'s' * (len(self.base.tables) != 1)}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "base": self.base.to_dict(),
            "readings": [reading.to_dict() for reading in self.readings],
            "trees": [
                {
                    "readings": list(tree.readings),
                    "cuts": [encode(cut) for cut in tree.cuts],
                    "leaves": list(tree.leaves),
                }
                for tree in self.trees
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: Sequence[Column]) -> TreeScore:
        trees = tuple(
            Tree(tuple(tree["readings"]), tuple(decode(cut) for cut in tree["cuts"]), tuple(tree["leaves"]))
            for tree in data["trees"]
        )
        readings = tuple(reading_from_dict(reading, columns) for reading in data["readings"])
        return cls(AdditiveScore.from_dict(data["base"], columns), readings, trees)


def bin_of(cuts: FloatArray, values: FloatArray) -> Bins:
    """Bin of each value: i if cuts[i-1] ≤ value < cuts[i], len(cuts) + 1 if the value is absent (NaN).

    Counting the cuts that a value reaches, one comparison for all values of a block at a time, is several
    times faster than a binary search for each value.
    """
    bins = np.zeros(values.size, dtype=np.uint8)
    for start in range(0, values.size, BLOCK):
        block, here = np.ascontiguousarray(values[start : start + BLOCK]), bins[start : start + BLOCK]
        for cut in cuts:
            here += block >= cut
        here[np.isnan(block)] = len(cuts) + 1
    return bins
