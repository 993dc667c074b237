"""How many draws each stage of a black-box test gets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from verify.sampling.draws import MULTIPLE

FINALISTS = 3  # pairs that go from the scan to the choice of the event
FEWEST = 256  # draws a world below which a stage cannot lay out events
BEFORE_FINAL = 0.35  # of the draws, that go to the earlier stages
SHARES = (0.15, 0.15, 0.05)  # of the draws: for the scan, the choice of events and their comparison
_SHARES_OF_FEW = (0.0, 0.29, 0.06)  # the same where there is nothing to scan


@dataclass(frozen=True, slots=True)
class StageSizes:
    """Draws a world and candidate of the scan (0: nothing to scan), of the choice of events and of their comparison."""

    scan: int
    choose: int
    confirm: int


def stage_sizes(candidates: int, samples: int) -> StageSizes:
    """Return the sizes for so many candidates and draws in all.

    Raises
    ------
    ValueError
        If there are too few draws.
    """
    few = candidates <= FINALISTS
    scanned, chosen, confirmed = _SHARES_OF_FEW if few else SHARES
    worlds = 2 * min(candidates, FINALISTS)
    scan = int(scanned * samples) // (2 * candidates) // MULTIPLE * MULTIPLE
    choose = int(chosen * samples) // worlds // MULTIPLE * MULTIPLE
    confirm = max(MULTIPLE, int(confirmed * samples) // worlds // MULTIPLE * MULTIPLE)
    if (scan < FEWEST and not few) or choose < FEWEST:
        least = (
            _least(chosen, worlds) if few else max(_least(scanned, 2 * candidates), _least(chosen, worlds))
        )
        raise ValueError(
            f"samples must be at least {least:,} for {candidates} pair(s) of neighbours, got {samples:,}"
        )
    return StageSizes(scan, choose, confirm)


def _least(share: float, worlds: int) -> int:
    """Return the fewest samples of which `share` gives each of so many worlds enough draws."""
    enough = FEWEST * worlds
    samples = math.floor(enough / share) - 1  # rounding may move the edge by one
    while int(share * samples) < enough:
        samples += 1
    return samples
