"""Readings in bins: one byte for the two cuts between which a value lies, or for an absent value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray
from mechanisms.parameters import ParameterError
from verify.events.readings import Reading
from verify.events.view_sample import ViewSample

Bins = npt.NDArray[np.uint8]

_MOST_CUTS = 253  # of one reading, so that bins are bytes, and one byte is never a bin
_BLOCK = 1 << 15  # values that are put into bins at once, and stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Binned:
    """A reading in bins; scores that ask for the same bins share one of these.

    Attributes
    ----------
    reading
        The reading.
    cuts
        Increasing; bin 1 + i holds the values v with cuts[i-1] ≤ v < cuts[i], bin 0 absent ones.

    Raises
    ------
    ParameterError
        If there are too many cuts.
    """

    reading: Reading
    cuts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.cuts) > _MOST_CUTS:
            raise ParameterError(f"{len(self.cuts)} cuts: must be at most {_MOST_CUTS}")

    @property
    def size(self) -> int:
        """The number of bins."""
        return len(self.cuts) + 2

    def values(self, sample: ViewSample) -> Bins:
        """The bin of each of the n draws; shape (n,)."""
        return bin_of(self.cuts, sample.read_values(self.reading))


def bin_of(cuts: Sequence[float], values: FloatArray) -> Bins:
    """Bin of each value: 1 + i if cuts[i-1] ≤ value < cuts[i], 0 if the value is absent (NaN).

    Counting the cuts that a value reaches, one comparison for all values of a block at a time, is several
    times faster than a binary search for each value.
    """
    bins = np.empty(values.size, dtype=np.uint8)
    reached = np.empty(min(_BLOCK, values.size), dtype=np.bool_)
    for start in range(0, values.size, _BLOCK):
        block, here = np.ascontiguousarray(values[start : start + _BLOCK]), bins[start : start + _BLOCK]
        answer = reached[: block.size]
        as_number = answer.view(np.uint8)  # so that bytes are added to bytes
        np.equal(block, block, out=here.view(np.bool_))  # only absent ones are unequal to themselves
        for cut in cuts:
            np.greater_equal(block, cut, out=answer)
            np.add(here, as_number, out=here)
    return bins
