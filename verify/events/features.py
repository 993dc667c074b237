"""Readings of pooled draws in bins, to which scores are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from verify.events.binned import Binned, Bins, bin_of
from verify.events.families import runs
from verify.events.readings import Reading
from verify.events.view_sample import WorldSamples

_MOST_BINS = 16  # of one reading, beside those of its tails and of frequent values
_TAILS = np.array([1 / 1024, 1 / 256, 1 / 64])  # quantiles at which tails are cut
_ATOM = 1.0 / 32.0  # a value with this share of the draws gets a bin of its own


@dataclass(frozen=True, slots=True)
class Feature:
    """A reading of the pooled draws, in bins.

    Attributes
    ----------
    binned
        The reading with its cuts.
    bins
        The bin of each draw.
    ordered
        True if neighbouring bins are expected to be alike.
    """

    binned: Binned
    bins: Bins
    ordered: bool

    @property
    def size(self) -> int:
        """The number of bins."""
        return self.binned.size


@dataclass(frozen=True, slots=True)
class Draws:
    """Pooled draws to fit a score to: the first `train` rows of each world fit, the others validate."""

    label: FloatArray
    train: npt.NDArray[np.bool_]

    @classmethod
    def from_sizes(cls, sizes: tuple[int, int]) -> Draws:
        """Draws of the first world (label 1), then of the second (label 0); a quarter of each validates."""
        label = np.repeat([1.0, 0.0], sizes)
        train = np.concatenate([np.arange(size) < size - size // 4 for size in sizes])
        return cls(label, train)


def feature_of(reading: Reading, values: FloatArray) -> Feature:
    """A reading in bins, from its value at each draw."""
    cuts, ordered = _bin_cuts(values)
    binned = Binned(reading, tuple(cuts.tolist()))
    return Feature(binned, bin_of(binned.cuts, values), ordered)


def features(fit: WorldSamples, readings: Sequence[Reading]) -> list[Feature]:
    """Each reading of the pooled draws in bins; readings that are constant are left out."""
    found = []
    for reading in readings:
        feature = feature_of(reading, np.concatenate([reading.values(world) for world in fit]))
        if np.any(feature.bins != feature.bins[0]):
            found.append(feature)
    return found


def most_telling(found: Sequence[Feature], draws: Draws, most: int) -> list[Feature]:
    """Return the readings with the largest difference of bins between the worlds (chi-squared statistic), in order."""
    if len(found) <= most:
        return list(found)
    gains = []
    for feature in found:
        count = np.bincount(feature.bins, minlength=feature.size)
        first = np.bincount(feature.bins, weights=draws.label, minlength=feature.size)
        gains.append(np.sum((first - count * draws.label.mean()) ** 2 / (count + 1.0)))
    return [found[j] for j in sorted(np.argsort(-np.asarray(gains), kind="stable")[:most])]


def _bin_cuts(values: FloatArray) -> tuple[FloatArray, bool]:
    """Cuts between the values if they are few, else at quantiles, with frequent values in bins of their own.

    Returns the cuts, and True if the values were too many for a bin each.
    """
    present = np.sort(values[~np.isnan(values)])
    starts, lengths = runs(present)
    if starts.size <= _MOST_BINS:
        return present[starts[1:]], False
    atoms = present[starts[lengths >= max(_ATOM * present.size, 2.0)]]
    levels = np.concatenate([_TAILS, np.arange(1, _MOST_BINS) / _MOST_BINS, 1.0 - _TAILS])
    even = present[(levels * present.size).astype(np.int64)]
    cuts = np.unique(np.concatenate([even, atoms, np.nextafter(atoms, np.inf)]))
    return cuts[cuts > present[0]], True
