"""Scan by a few coupled runs: the data sets, the changed record and the features in which actions differ most.

A coupled run on D gives, for every draw, the actions A and the exact privacy loss L of the releases to each
neighbour D'. Since A is a function of the releases and of randomness that both worlds share,
``P_D'(A in E) = E_D[1{A in E} e^-L]`` for every event E: one run on D estimates every event's probability on all
neighbours at once. The estimates here only rank pairs and features; reported events are counted on
fresh draws of both worlds afterwards, which know nothing of densities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from accountant import Coupled
from algorithms.play import INITIAL_RECORD, BuildLearner
from algorithms.problems import Problem
from mechanisms.arrays import FloatArray
from verify.transcripts.action_features import ActionFeature, features_for
from verify.transcripts.neighbours import Background
from verify.transcripts.predicted_bounds import (
    FEWEST_HITS,
    STANDARD_ERRORS,
    PlannedTest,
    ScoredFeature,
    best_pair,
    best_pairs,
    predicted_bound,
    score_features,
)
from verify.transcripts.transcript import ActionSpace, Transcript
from verify.transcripts.view_pair import ViewPair
from verify.transcripts.views import played_actions


def scan_transcripts(
    build: BuildLearner,
    problem: Problem,
    backgrounds: Sequence[Background],
    planned: PlannedTest,
    *,
    lanes: int,
    seed: np.random.SeedSequence,
) -> list[ViewPair]:
    """Return the best pair of every background, the most distinguishing first.

    Parameters
    ----------
    build, problem
        The learner, and its problem.
    backgrounds
        Data sets with their neighbours.
    planned
        The final test.
    lanes
        Draws of every coupled run; a multiple of the block size.
    seed
        The seed of all randomness.
    """

    def scan(background: Background, child: np.random.SeedSequence) -> ViewPair | None:
        data, neighbours = background.data, background.neighbours
        gate = Coupled(child, lanes, len(neighbours))
        worlds = np.stack([data, *(neighbour.apply_to(data) for neighbour in neighbours)])
        transcript = Transcript(played_actions(build, problem, gate, worlds))
        records = sorted({neighbour.record for neighbour in neighbours})
        if planned.hidden:
            for record in records:
                if record != INITIAL_RECORD:
                    transcript.hide(record)
        with np.errstate(over="ignore"):
            weights = np.minimum(np.exp(-gate.loss), 1e300)  # of each draw, on each neighbour

        def bound(event: Sequence[FloatArray], final: FloatArray, more: bool) -> FloatArray:
            return _careful_bound(*event, draws=lanes, final=final, delta=planned.delta, more=more)

        def score(features: Sequence[ActionFeature], which: Sequence[int]) -> list[list[ScoredFeature]]:
            w = weights[list(which)]
            return score_features(features, transcript, (np.ones_like(w), w, w * w), lanes, bound, planned)

        space = ActionSpace.from_problem(problem)
        scored = score(features_for(transcript, space, None), range(len(neighbours)))
        for record in records:
            here = [j for j, neighbour in enumerate(neighbours) if neighbour.record == record]
            anchored = score(features_for(transcript, space, record, general=False), here)
            for j, found in zip(here, anchored, strict=True):
                scored[j] += found
        return best_pair(background, scored, space)

    return best_pairs(backgrounds, scan, seed)


def _careful_bound(
    p: FloatArray,
    q: FloatArray,
    squares: FloatArray,
    *,
    draws: int,
    final: FloatArray,
    delta: float,
    more: bool,
) -> FloatArray:
    """Return the lower bound on epsilon that `final` draws a side would give, carefully.

    Parameters
    ----------
    p, q, squares
        Means of 1, w and w^2 over the draws in each event: p and q are its probabilities on D and on D'.
    draws
        Number of draws of the means.
    final
        Number of draws a side of the final test.
    delta
        The delta of the claim.
    more
        True if the event is expected to be likelier on D than on D'.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = q / p
        # The ratio is the mean weight in the event: its error is the spread of weights, not that of counts.
        error = STANDARD_ERRORS * np.sqrt(np.maximum(squares - q * ratio, 0.0) / draws) / p
        p = np.maximum(p - STANDARD_ERRORS * np.sqrt(p / draws), 0.0)
        likely, rare = (p, p * (ratio + error)) if more else (p * (ratio - error), p)
    return np.where(p * draws >= 0.5 * FEWEST_HITS, predicted_bound(likely, rare, final, delta), -math.inf)
