"""From promising events to leads: which pair of data sets, how many rounds and which features a test should take.

Shared by the scan on coupled runs (`verify.transcripts.transcript_scan`) and the scan by sampling
(`verify.transcripts.transcript_sampling`). Nothing here decides anything: promises only rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from algorithms.play import INITIAL_RECORD
from mechanisms.arrays import FloatArray, IntArray
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.transcript import (
    Feature,
    FirstSwitch,
    PlayTime,
    Transcript,
    anchored_features,
    first_actions,
    general_features,
    without_repeats,
)

FEWEST_HITS = 16  # draws in an event below which a scan believes nothing
STANDARD_ERRORS = 2.0  # taken off every estimate
_MOST_ARMS = 12  # arms that features are made for: the most played
_FEWEST_OF_LABEL = 6  # draws with a label below which it is not told from other rare ones
_MOST_FEATURES = 8  # features of a view
_MOST_ACTIONS = 6  # rounds whose actions stand in a view as they are

Promise = Callable[[Sequence[FloatArray], FloatArray, bool], FloatArray]
"""Means over the draws in each event, final draws, and whether D is the likelier world, to promised bounds."""


@dataclass(frozen=True)
class Arms:
    """What actions are made of: how many arms, how many places an action has, and whether their order counts."""

    number: int
    size: int
    ranked: bool = False


@dataclass(frozen=True, eq=False)
class Lead:
    """A pair of neighbours on which the actions are expected to tell most.

    Attributes
    ----------
    data, neighbour
        D, and what makes D' of it.
    others
        All records but the replaced one, in words.
    rounds
        How many rounds the view takes.
    features
        The features of the view, the most telling first.
    predicted
        The lower bound on epsilon expected of the final test; a guess that decides nothing.
    """

    data: FloatArray
    neighbour: Neighbour
    others: str
    rounds: int
    features: tuple[Feature, ...]
    predicted: float


@dataclass(frozen=True)
class ScanSize:
    """How much a scan does, and what it plans for.

    Attributes
    ----------
    lanes
        Draws of every coupled run; a multiple of the block size.
    lane_rounds
        Rounds that the final draws of one world may play, all draws together.
    samples
        The largest number of final draws of one world.
    """

    lanes: int
    lane_rounds: int
    samples: int

    def final_draws(self, rounds: npt.NDArray[np.int64]) -> FloatArray:
        """Final draws of one world, if views take this many rounds."""
        return np.minimum(self.lane_rounds / np.maximum(rounds, 1), self.samples)


def features_for(
    transcript: Transcript, arms: Arms, record: int | None, *, general: bool = True
) -> list[Feature]:
    """Return the features that a scan looks at: general ones, those anchored at a record's round, or both."""
    shown = _most_played(transcript, arms.number)
    found: list[Feature] = []
    if general:
        found += general_features(transcript.rounds, shown, arms.number, arms.size)
        found += first_actions(min(transcript.rounds, _MOST_ACTIONS), arms.size, ranked=arms.ranked)
    if record is not None and record != INITIAL_RECORD:
        found += anchored_features(transcript.rounds, record, shown, arms.number, arms.size)
    return found


def best_events(
    feature: Feature,
    values: IntArray,
    sums: Sequence[FloatArray],
    promise: Promise,
    size: ScanSize,
) -> tuple[FloatArray, IntArray]:
    """Return the best promise of any event of a feature for each neighbour, and the rounds that it takes.

    Events are half-lines of an ordered feature, and sets of labels by rising ratio of probabilities.

    Parameters
    ----------
    feature, values
        The feature, and its different values in increasing order; at least two.
    sums
        Arrays of shape (neighbours, values): the share of draws with each value on D, the same on D', and whatever
        else `promise` needs of the draws with each value.
    promise
        From sums over the values in an event to the bound it promises.
    size
        What the final test will cost.
    """
    neighbours, k = sums[1].shape
    last = np.full(k, feature.last)
    if feature.column.kind == "category":  # the values of lowest ratio together, and of highest
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(sums[0] > 0.0, sums[1] / sums[0], np.inf)
        order = np.argsort(ratio, axis=1, kind="stable")
        sums = [np.take_along_axis(each, order, axis=1) for each in sums]
    elif isinstance(feature, PlayTime | FirstSwitch):  # "at most t" is known in round t
        last = np.minimum(values, feature.last)
    below = [np.cumsum(each, axis=1) for each in sums]
    above = [each[:, -1:] - each[:, :-1] for each in below]
    below = [each[:, :-1] for each in below]
    final = size.final_draws(last)[:-1]
    promises = np.concatenate(
        [promise(event, final, more) for event in (below, above) for more in (True, False)], axis=1
    )
    at = np.argmax(promises, axis=1)
    return promises[np.arange(neighbours), at], last[:-1][at % (k - 1)]


def distinct_values(
    feature: Feature, transcript: Transcript
) -> tuple[IntArray, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return a feature's different values, the place of every draw's among them, and how many draws have each.

    Labels that are too rare to be told apart are one.
    """
    values, index, hits = np.unique(feature.of(transcript), return_inverse=True, return_counts=True)
    return lump_rare(values, index, hits) if feature.column.kind == "category" else (values, index, hits)


def lump_rare(
    values: IntArray, index: npt.NDArray[np.intp], hits: npt.NDArray[np.intp]
) -> tuple[IntArray, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Make one label of all that are too rare to be told apart; values, the draws' places among them, and hits."""
    if hits.min() >= _FEWEST_OF_LABEL:
        return values, index, hits
    often = np.flatnonzero(hits >= _FEWEST_OF_LABEL)
    renamed = np.full(len(values), len(often))
    renamed[often] = np.arange(len(often))
    lumped = np.append(hits[often], hits.sum() - hits[often].sum())
    return np.append(values[often], -1), renamed[index], lumped


def promised(likely: FloatArray, rare: FloatArray, final: FloatArray, delta: float) -> FloatArray:
    """``ln((p - delta) / q)`` less the standard errors that `final` draws a side leave."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rare = np.maximum(rare, 1.0 / final)
        spread = np.sqrt(1.0 / (final * likely) + 1.0 / (final * rare))
        promise = np.log((likely - delta) / rare) - STANDARD_ERRORS * spread
    return np.where(likely > delta, promise, -math.inf)


@dataclass(frozen=True)
class Scored:
    """What a feature promises on a pair, and the rounds it takes."""

    promise: float
    rounds: int
    feature: Feature


def lead_of(background: Background, scored: Sequence[Sequence[Scored]], arms: Arms) -> Lead | None:
    """Return the most promising neighbour's lead; None if no feature of any ever varies."""
    best = [max(entries, key=lambda entry: entry.promise, default=None) for entries in scored]
    promises = [-math.inf if entry is None else entry.promise for entry in best]
    chosen = max(range(len(best)), key=promises.__getitem__)
    top = best[chosen]
    if top is None:
        return None
    rounds = len(background.data) - 1
    neighbour = background.neighbours[chosen]
    needed = max(top.rounds, min(neighbour.record + 1, rounds))
    told = sorted(
        (entry for entry in scored[chosen] if entry.rounds <= needed), key=lambda entry: -entry.promise
    )
    features = [_cut(entry.feature, needed) for entry in told[:_MOST_FEATURES]]
    from_round = max(1, needed - _MOST_ACTIONS // arms.size + 1)
    last = first_actions(needed, arms.size, ranked=arms.ranked, first=from_round)
    return Lead(
        background.data,
        neighbour,
        background.others,
        needed,
        without_repeats([*features, *last]),
        top.promise,
    )


def _most_played(transcript: Transcript, arms: int) -> list[int]:
    """Return the arms that features are made for, in increasing order."""
    played = np.bincount((transcript.actions[transcript.actions >= 0]).astype(np.int64), minlength=arms)
    return sorted(np.argsort(-played, kind="stable")[:_MOST_ARMS].tolist())


def _cut(feature: Feature, rounds: int) -> Feature:
    """Return a feature of the first rounds only."""
    if isinstance(feature, PlayTime | FirstSwitch) and feature.within > rounds:
        return replace(feature, within=rounds)
    return feature
