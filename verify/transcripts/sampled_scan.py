"""Scan by sampling both worlds: the data sets, the changed record and the features in which actions differ most.

For learners with releases of no computable privacy loss: they declassify, or are no learners on a gate at all. Few
draws are enough to find large differences, and these estimates only rank: the test takes fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mechanisms.arrays import FloatArray
from verify.transcripts.action_features import features_for
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.predicted_bounds import (
    STANDARD_ERRORS,
    PlannedTest,
    ScoredFeature,
    best_pair,
    best_pairs,
    predicted_bound,
    score_features,
)
from verify.transcripts.transcript import ActionArray, ActionSpace, Transcript
from verify.transcripts.view_pair import ViewPair

DrawActions = Callable[[FloatArray, int, np.random.SeedSequence], ActionArray]
"""Data (rounds + 1, arms), draws and a seed, to actions of shape (draws, rounds, size)."""


def sample_transcripts(
    draw: DrawActions,
    backgrounds: Sequence[Background],
    space: ActionSpace,
    planned: PlannedTest,
    *,
    draws: int,
    seed: np.random.SeedSequence,
) -> list[ViewPair]:
    """Return the best pair of every background, the most distinguishing first.

    Parameters
    ----------
    draw
        Function that draws transcripts on a data set.
    backgrounds
        Data sets with their neighbours.
    space
        The space of actions.
    planned
        The final test.
    draws
        The number of draws of every data set.
    seed
        The seed of all randomness.
    """

    def scan(background: Background, child: np.random.SeedSequence) -> ViewPair | None:
        seeds = child.spawn(1 + len(background.neighbours))
        first = draw(background.data, draws, seeds[0])
        scored = [
            _score_features(
                first, draw(neighbour.apply_to(background.data), draws, own), neighbour, space, planned
            )
            for neighbour, own in zip(background.neighbours, seeds[1:], strict=True)
        ]
        return best_pair(background, scored, space)

    return best_pairs(backgrounds, scan, seed)


def _score_features(
    first: ActionArray,
    second: ActionArray,
    neighbour: Neighbour,
    space: ActionSpace,
    planned: PlannedTest,
) -> list[ScoredFeature]:
    """Return the predicted bound of every feature that varies on a pair."""
    both = Transcript(np.concatenate([first, second]))
    if planned.hidden and neighbour.record > 0:
        both.hide(neighbour.record)
    n = len(first)

    def bound(event: Sequence[FloatArray], final: FloatArray, more: bool) -> FloatArray:
        likely, rare = event if more else event[::-1]
        likely = np.maximum(likely - STANDARD_ERRORS * np.sqrt((likely + 1.0 / n) / n), 0.0)
        rare = rare + STANDARD_ERRORS * np.sqrt((rare + 1.0 / n) / n)
        return predicted_bound(likely, rare, final, planned.delta)

    in_first = np.repeat([[1.0, 0.0]], n, axis=1)
    features = features_for(both, space, neighbour.record)
    return score_features(features, both, (in_first, 1.0 - in_first), n, bound, planned)[0]
