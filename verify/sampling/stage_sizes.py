"""The numbers of draws of the stages of a black-box test."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mechanisms import BLOCK
from mechanisms.parameters import ParameterError

FEWEST_OF_PAIR = 128
"""Draws, both worlds together, without which no pair can be bet on."""
FINALISTS = 3  # pairs that go from the scan to the choice of the event
_FEWEST = 256  # draws a world below which a stage cannot lay out events
_MOST_OF_FEW = 0.5  # of the draws, that the choice of an event may take where its share would be too few
BEFORE_FINAL = 0.35  # of the draws, that go to the earlier stages


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares of all draws for the scan, the choice of events and their comparison: `BEFORE_FINAL` together."""

    scan: float
    choose: float
    confirm: float


_OF_MANY = _Shares(scan=0.15, choose=0.15, confirm=0.05)
_OF_FEW = _Shares(scan=0.0, choose=0.23, confirm=0.12)  # there is nothing to scan


@dataclass(frozen=True, slots=True)
class StageSizes:
    """Draws a world and candidate of the scan (0: nothing to scan), of the choice of events and of their comparison."""

    scan: int
    choose: int
    confirm: int


def fewest_samples(candidates: int) -> int:
    """Return the fewest draws in all with which `candidates` candidates can be tested."""
    worlds = 2 * min(candidates, FINALISTS)
    if candidates <= FINALISTS:
        return int(_FEWEST * worlds / _MOST_OF_FEW)
    return math.ceil(_FEWEST * max(worlds / _OF_MANY.choose, 2 * candidates / _OF_MANY.scan))


FEWEST_SAMPLES = fewest_samples(1)


def stage_sizes(candidates: int, samples: int) -> StageSizes:
    """Return the sizes for `candidates` candidates and `samples` draws in all.

    Raises
    ------
    ParameterError
        If there are fewer than `fewest_samples`.
    """
    least = fewest_samples(candidates)
    if samples < least:
        raise ParameterError(
            f"samples = {samples:,}: must be at least {least:,} for {candidates} pair(s) of neighbours"
        )
    few = candidates <= FINALISTS
    shares, worlds = _OF_FEW if few else _OF_MANY, 2 * min(candidates, FINALISTS)
    scan = max(int(shares.scan * samples) // (2 * candidates) // BLOCK * BLOCK, _FEWEST)
    choose = max(int(shares.choose * samples) // worlds // BLOCK * BLOCK, _FEWEST)
    confirm = max(int(shares.confirm * samples) // worlds // BLOCK * BLOCK, BLOCK)
    return StageSizes(0 if few else scan, choose, confirm)
