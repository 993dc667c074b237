"""Find the data sets, the changed record and the features in which actions tell most, from a few coupled runs.

A coupled run on D gives, for every draw, the actions A and the exact privacy loss L of the releases to each
neighbour D'. Since A is a function of the releases and of randomness that both worlds share,
``P_D'(A in E) = E_D[1{A in E} e^-L]`` for every event E: one run on D estimates every event's probability on all
neighbours at once. The estimates here only rank pairs and features; what is reported about a claim is counted on
fresh draws of both worlds afterwards, which know nothing of densities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from accountant import Coupled
from algorithms.play import INITIAL_RECORD, BuildLearner
from algorithms.problems import Problem, RankedLists
from mechanisms.arrays import FloatArray
from verify.transcripts.neighbours import Background
from verify.transcripts.transcript import Feature, Transcript
from verify.transcripts.transcript_leads import (
    FEWEST_HITS,
    STANDARD_ERRORS,
    Arms,
    Lead,
    ScanSize,
    Scored,
    best_events,
    distinct_values,
    features_for,
    lead_of,
    promised,
)
from verify.transcripts.views import played_actions


def scan_transcripts(
    build: BuildLearner,
    problem: Problem,
    backgrounds: Sequence[Background],
    *,
    size: ScanSize,
    delta: float,
    seed: np.random.SeedSequence,
    hidden: bool = False,
) -> list[Lead]:
    """Return the best lead of every background, the most promising first.

    Parameters
    ----------
    build, problem
        The learner, and what it plays.
    backgrounds
        Data sets with their neighbours.
    size
        How much to do.
    delta
        Of the claim.
    seed
        Of all randomness.
    hidden
        Whether the adversary does not see the action of the changed record's own round.
    """
    leads = []
    for background, child in zip(backgrounds, seed.spawn(len(backgrounds)), strict=True):
        if background.neighbours:
            lead = _scan_one(build, problem, background, size, delta, child, hidden)
            if lead is not None:
                leads.append(lead)
    return sorted(leads, key=lambda lead: -lead.predicted)


def _scan_one(
    build: BuildLearner,
    problem: Problem,
    background: Background,
    size: ScanSize,
    delta: float,
    seed: np.random.SeedSequence,
    hidden: bool,
) -> Lead | None:
    """Scan one background; None if no feature of its actions ever varies."""
    data, neighbours = background.data, background.neighbours
    gate = Coupled(seed, size.lanes, len(neighbours))
    worlds = np.stack([data, *(neighbour.applied(data) for neighbour in neighbours)])
    transcript = Transcript(played_actions(build, problem, gate, worlds))
    records = sorted({neighbour.record for neighbour in neighbours})
    if hidden:
        for record in records:
            if record != INITIAL_RECORD:
                transcript.hide(record)
    with np.errstate(over="ignore"):
        weights = np.minimum(np.exp(-gate.loss), 1e300)  # of each draw, on each neighbour

    scored: list[list[Scored]] = [[] for _ in neighbours]
    arms = arms_of(problem)
    everywhere = features_for(transcript, arms, None)
    _score(everywhere, range(len(neighbours)), transcript, weights, size, delta, scored)
    for record in records:
        here = [j for j, neighbour in enumerate(neighbours) if neighbour.record == record]
        anchored = features_for(transcript, arms, record, general=False)
        _score(anchored, here, transcript, weights, size, delta, scored)
    return lead_of(background, scored, arms)


def arms_of(problem: Problem) -> Arms:
    """Return what a problem's actions are made of."""
    structure = problem.structure
    return Arms(structure.arms, structure.size, isinstance(structure, RankedLists))


def _score(
    features: Sequence[Feature],
    which: Sequence[int],
    transcript: Transcript,
    weights: FloatArray,
    size: ScanSize,
    delta: float,
    scored: list[list[Scored]],
) -> None:
    """Append to each neighbour's list what its best event of every feature promises, and the rounds it takes."""
    of_those = weights[list(which)]
    neighbours, draws = of_those.shape
    for feature in features:
        values, index, hits = distinct_values(feature, transcript)
        k = len(values)
        if k == 1:
            continue
        places = (index + k * np.arange(neighbours)[:, np.newaxis]).reshape(-1)
        sums = [
            np.broadcast_to(hits / draws, (neighbours, k))
        ]  # means of w^0, w^1, w^2 over draws with each value
        for power in (of_those, of_those * of_those):
            total = np.bincount(places, weights=power.reshape(-1), minlength=neighbours * k)
            sums.append(total.reshape(neighbours, k) / draws)

        def promise(event: Sequence[FloatArray], final: FloatArray, more: bool) -> FloatArray:
            return _promise(*event, draws=draws, final=final, delta=delta, more=more)

        promises, needed = best_events(feature, values, sums, promise, size)
        for j, each, rounds in zip(which, promises.tolist(), needed.tolist(), strict=True):
            scored[j].append(Scored(each, rounds, feature))


def _promise(
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
        How many draws the means are of.
    final
        How many there will be.
    delta
        Of the claim.
    more
        Whether the event is expected to be likelier on D than on D'.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = q / p
        # The ratio is the mean weight in the event: its error is the spread of weights, not that of counts.
        error = STANDARD_ERRORS * np.sqrt(np.maximum(squares - q * ratio, 0.0) / draws) / p
        p = np.maximum(p - STANDARD_ERRORS * np.sqrt(p / draws), 0.0)
        likely, rare = (p, p * (ratio + error)) if more else (p * (ratio - error), p)
    return np.where(p * draws >= 0.5 * FEWEST_HITS, promised(likely, rare, final, delta), -math.inf)
