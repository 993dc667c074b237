"""The predicted bounds of a scan's events, and the pair of data sets, rounds and features that a test takes.

Shared by the scan on coupled runs (`verify.transcripts.coupled_scan`) and the scan by sampling
(`verify.transcripts.sampled_scan`). Nothing here decides anything: predicted bounds only rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import FloatArray, IntArray
from verify.transcripts.action_features import (
    MOST_ACTIONS,
    ActionFeature,
    FirstSwitch,
    PlayTime,
    first_actions,
    without_repeats,
)
from verify.transcripts.neighbours import Background
from verify.transcripts.transcript import ActionSpace, Transcript
from verify.transcripts.view_pair import ViewPair

FEWEST_HITS = 16
"""Draws in an event below which a scan makes no estimate."""
STANDARD_ERRORS = 2.0
"""Taken off every estimate."""
_FEWEST_OF_LABEL = 6  # draws with a label below which it is merged with other rare ones
_MOST_FEATURES = 8  # features of a view

_EventBound = Callable[[Sequence[FloatArray], FloatArray, bool], FloatArray]
"""Means over the draws in each event, final draws, and True if D is the likelier world, to predicted bounds."""


@dataclass(frozen=True)
class PlannedTest:
    """The test that a scan looks for pairs for.

    Attributes
    ----------
    delta
        The delta of the claim.
    hidden
        True if the adversary does not see the action of the changed record's own round.
    units
        Largest cost of the final draws of one world, all together.
    most_draws
        The largest number of final draws of one world.
    round_cost
        Cost of a round.
    """

    delta: float
    hidden: bool
    units: float
    most_draws: int
    round_cost: float = 1.0

    def draws(self, rounds: IntArray) -> FloatArray:
        """Final draws of one world, if views take this many rounds."""
        return np.minimum(self.units / (self.round_cost * np.maximum(rounds, 1)), self.most_draws)


def best_events(
    feature: ActionFeature,
    values: IntArray,
    sums: Sequence[FloatArray],
    bound: _EventBound,
    planned: PlannedTest,
) -> tuple[FloatArray, IntArray]:
    """Return the best predicted bound of any event of a feature for each neighbour, and the rounds that it takes.

    Events are half-lines of an ordered feature, and sets of labels by rising ratio of probabilities.

    Parameters
    ----------
    feature, values
        The feature, and its different values in increasing order; at least two.
    sums
        Arrays of shape (neighbours, values): the share of draws with each value on D, the same on D', and further
        sums that `bound` needs over the draws with each value.
    bound
        Function from sums over the values in an event to the bound that it predicts.
    planned
        The final test.
    """
    if feature.column.kind == "category":  # the values of lowest ratio together, and of highest
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(sums[0] > 0.0, sums[1] / sums[0], np.inf)
        order = np.argsort(ratio, axis=1, kind="stable")
        sums = [np.take_along_axis(each, order, axis=1) for each in sums]
    return best_half_lines(last_rounds(feature, values), sums, bound, planned)


def last_rounds(feature: ActionFeature, values: IntArray) -> IntArray:
    """Return the round in which it is known that a feature is at most each of its values, in increasing order."""
    if isinstance(feature, PlayTime | FirstSwitch):  # "at most t" is known in round t
        return np.minimum(values, feature.last_round)
    return np.full(len(values), feature.last_round)


def best_half_lines(
    last: IntArray, sums: Sequence[FloatArray], bound: _EventBound, planned: PlannedTest
) -> tuple[FloatArray, IntArray]:
    """Return the same as `best_events` of the half-lines of values in an order; `last` are their rounds."""
    below = [np.cumsum(each, axis=1) for each in sums]
    above = [each[:, -1:] - each[:, :-1] for each in below]
    below = [each[:, :-1] for each in below]
    final = planned.draws(last)[:-1]
    bounds = np.concatenate(
        [bound(event, final, more) for event in (below, above) for more in (True, False)], axis=1
    )
    at = np.argmax(bounds, axis=1)
    return bounds[np.arange(len(bounds)), at], last[:-1][at % (len(last) - 1)]


def score_features(
    features: Sequence[ActionFeature],
    transcript: Transcript,
    weights: Sequence[FloatArray],
    draws: int,
    bound: _EventBound,
    planned: PlannedTest,
) -> list[list[ScoredFeature]]:
    """Return, for each neighbour, the bound that the best event of every feature predicts; of those that vary.

    Parameters
    ----------
    features, transcript
        The features, and the draws.
    weights
        Weights of the draws on each neighbour, shape (neighbours, draws): those whose means over the draws in an event
        are its probability on D, on D', and further means that `bound` needs.
    draws
        The number of draws that the means are over.
    bound, planned
        As for `best_events`.
    """
    found: list[list[ScoredFeature]] = [[] for _ in weights[0]]
    for feature in features:
        values, index, _ = distinct_values(feature, feature.values(transcript))
        k = len(values)
        if k == 1:
            continue
        places = (index + k * np.arange(len(found))[:, np.newaxis]).reshape(-1)
        sums = [
            np.bincount(places, power.reshape(-1), len(found) * k).reshape(-1, k) / draws for power in weights
        ]
        bounds, needed = best_events(feature, values, sums, bound, planned)
        for those, predicted, rounds in zip(found, bounds.tolist(), needed.tolist(), strict=True):
            those.append(ScoredFeature(predicted, rounds, feature))
    return found


def distinct_values(
    feature: ActionFeature, values: IntArray
) -> tuple[IntArray, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the distinct values of a feature, the place of every draw's among them, and their counts.

    Labels that are too rare are merged.
    """
    found, index, hits = np.unique(values, return_inverse=True, return_counts=True)
    if feature.column.kind != "category" or hits.min() >= _FEWEST_OF_LABEL:
        return found, index, hits
    often = np.flatnonzero(hits >= _FEWEST_OF_LABEL)
    renamed = np.full(len(found), len(often))
    renamed[often] = np.arange(len(often))
    lumped = np.append(hits[often], hits.sum() - hits[often].sum())
    return np.append(found[often], -1), renamed[index], lumped


def predicted_bound(likely: FloatArray, rare: FloatArray, final: FloatArray, delta: float) -> FloatArray:
    """``ln((p - delta) / q)`` less the standard errors that `final` draws a side leave."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rare = np.maximum(rare, 1.0 / final)
        spread = np.sqrt(1.0 / (final * likely) + 1.0 / (final * rare))
        bound = np.log((likely - delta) / rare) - STANDARD_ERRORS * spread
    return np.where(likely > delta, bound, -math.inf)


@dataclass(frozen=True)
class ScoredFeature:
    """The bound that the best event of a feature predicts on a pair, and the rounds that it takes."""

    predicted: float
    rounds: int
    feature: ActionFeature


def best_pairs(
    backgrounds: Sequence[Background],
    scan: Callable[[Background, np.random.SeedSequence], ViewPair | None],
    seed: np.random.SeedSequence,
) -> list[ViewPair]:
    """Return the pairs that a scan finds on data sets with neighbours, the most telling first.

    Parameters
    ----------
    backgrounds
        Data sets with their neighbours.
    scan
        From one of them and a seed to its best pair.
    seed
        Of all randomness.
    """
    children = zip(backgrounds, seed.spawn(len(backgrounds)), strict=True)
    found = (scan(background, child) for background, child in children if background.neighbours)
    return sorted((pair for pair in found if pair is not None), key=lambda pair: -pair.predicted)


def best_pair(
    background: Background, scored: Sequence[Sequence[ScoredFeature]], space: ActionSpace
) -> ViewPair | None:
    """Return a data set's most distinguishing neighbour, cut to the rounds of its best event, with its best features.

    Parameters
    ----------
    background
        The data set and its neighbours.
    scored
        The features of each of the neighbours; those that never vary are left out.
    space
        The space of actions.

    Returns
    -------
    ViewPair or None
        None if no feature varies on any neighbour.
    """
    best = [max(entries, key=lambda entry: entry.predicted, default=None) for entries in scored]
    chosen = max(range(len(best)), key=lambda k: -math.inf if (top := best[k]) is None else top.predicted)
    top = best[chosen]
    if top is None:
        return None
    neighbour = background.neighbours[chosen]
    rounds = max(top.rounds, min(neighbour.record + 1, len(background.data) - 1))
    told = sorted(
        (entry for entry in scored[chosen] if entry.rounds <= rounds), key=lambda entry: -entry.predicted
    )
    features = [_cut(entry.feature, rounds) for entry in told[:_MOST_FEATURES]]
    last = first_actions(rounds, space, first=max(1, rounds - MOST_ACTIONS // space.size + 1))
    data = background.data[: rounds + 1]
    return ViewPair(
        data,
        neighbour.apply_to(data),
        neighbour.record,
        background.others,
        without_repeats([*features, *last]),
        top.predicted,
    )


def _cut(feature: ActionFeature, rounds: int) -> ActionFeature:
    """Return a feature of the first rounds only."""
    if isinstance(feature, PlayTime | FirstSwitch) and feature.last_round > rounds:
        return replace(feature, last_round=rounds)
    return feature
