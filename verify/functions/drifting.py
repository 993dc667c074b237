"""Columns that drift from call to call, as counters and time stamps do: they are left out, and the others are tested.

A drift makes all draws of the whole output dependent on each other, and no count of them proves anything. But what is
left of the output without its drifting columns is a function of the output: whatever tells data sets apart there does
so for whoever sees the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import mannwhitneyu

from mechanisms.arrays import FloatArray
from verify.conduct.spawn_keys import SpawnKey
from verify.findings import Statement
from verify.functions.probe_result import Probe
from verify.functions.runs import FunctionRuns
from verify.neighbouring.adjacency import Data


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """Two blocks of draws on one data set, one after the other; the values were chosen by hand.

    Attributes
    ----------
    fewest, most
        Draws of a block.
    seconds
        That both may take, if that is enough for the fewest.
    error
        Probability with which columns that do not drift are left out, all together.
    """

    fewest: int = 64
    most: int = 512
    seconds: float = 2.0
    error: float = 1e-10


_BLOCKS = _Blocks()


def without_drift(runs: FunctionRuns, looked: Probe, data: Data, seed: int) -> Probe:
    """Return what a first look showed, without columns whose values on a data set become larger or smaller with calls.

    Their names are a finding. Where all drift, none is left out: the draws are then in doubt, whatever is tested.
    """
    columns = looked.layout.columns
    affordable = _BLOCKS.seconds / (2.0 * max(runs.seconds_a_draw, 1e-9))
    size = int(min(max(affordable, _BLOCKS.fewest), _BLOCKS.most))
    first, second = (
        runs.sample(looked.layout, data, size, SpawnKey.PROBE.sequence(seed, 9, block)).values
        for block in range(2)
    )
    level = _BLOCKS.error / len(columns)
    drifting = [i for i in range(len(columns)) if _moved(first[:, i], second[:, i], level)]
    if not drifting or len(drifting) == len(columns):
        return looked
    words = ", ".join(columns[i].words for i in drifting)
    finding = Statement.LEFT_OUT.finding(columns=words)
    return replace(looked, layout=looked.layout.without(drifting), findings=[*looked.findings, finding])


def _moved(first: FloatArray, second: FloatArray, level: float) -> bool:
    """Return whether one block's values are larger than the other's (Mann and Whitney's test)."""
    ours, theirs = (block[~np.isnan(block)] for block in (first, second))
    if not (ours.size and theirs.size) or np.ptp(np.concatenate([ours, theirs])) == 0.0:
        return False
    return bool(mannwhitneyu(ours, theirs).pvalue < level)
