"""Learned scores as tables: readings of a view that are large where it is likelier in one of two worlds.

For every score, "the score passes a threshold" is an event like any other, and its test on fresh draws
is exact; the fit of a score (`verify.events.score_fit`) matters only for the bound that it finds.
"""
# ruff: noqa: D102 (the methods of every reading are documented once, at `Reading`)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.events.binned import Binned
from verify.events.readings import Reading, join_names
from verify.events.view_sample import Column, ViewSample
from verify.events.written import decode, encode


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
                f"{len(self.weights)} weights for {len(self.binned.cuts)} cuts: must be one more than cuts"
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
        binned = Binned(Reading.rebuild(data["reading"], columns), cuts)
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
    def readable(self) -> bool:
        return False

    @property
    def description(self) -> str:
        most = sorted(self.tables, key=lambda table: min(table.weights) - max(table.weights))
        names = join_names([table.binned.reading.description for table in most], 3)
        if len(self.tables) == 1:
            return f"table entry (in the JSON) for {names}"
        return (
            f"sum of one table entry for each of {len(self.tables)} readings (largest weights first: {names})"
        )
