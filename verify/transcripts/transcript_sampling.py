"""Find the data sets, the changed record and the features in which actions tell most, by sampling both worlds.

For learners whose releases have no privacy loss to compute: they declassify, or are no learners on a gate at all.
Few draws are enough to find what such learners show, and what is found only ranks: the test takes fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mechanisms.arrays import FloatArray
from verify.transcripts.neighbours import Background, Neighbour
from verify.transcripts.transcript import ActionArray, Transcript
from verify.transcripts.transcript_leads import (
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

DrawActions = Callable[[FloatArray, int, np.random.SeedSequence], ActionArray]
"""Data (rounds + 1, arms), draws and a seed, to actions of shape (draws, rounds, size)."""


def sample_transcripts(
    draw: DrawActions,
    backgrounds: Sequence[Background],
    arms: Arms,
    *,
    size: ScanSize,
    delta: float,
    seed: np.random.SeedSequence,
    hidden: bool = False,
    caution: float = STANDARD_ERRORS,
    every: bool = False,
) -> list[Lead]:
    """Return the best lead of every background, the most promising first.

    Parameters
    ----------
    draw
        Draws transcripts on a data set.
    backgrounds
        Data sets with their neighbours.
    arms
        What actions are made of.
    size
        How much to do: `size.lanes` draws of every data set.
    delta
        Of the claim.
    seed
        Of all randomness.
    hidden
        Whether the adversary does not see the action of the changed record's own round.
    caution
        Standard errors that are taken off every estimate.
    every
        Whether to return every neighbour's lead, not the best of a background alone.
    """
    leads: list[Lead | None] = []
    for background, child in zip(backgrounds, seed.spawn(len(backgrounds)), strict=True):
        seeds = child.spawn(1 + len(background.neighbours))
        first = draw(background.data, size.lanes, seeds[0])
        scored = []
        for neighbour, own in zip(background.neighbours, seeds[1:], strict=True):
            second = draw(neighbour.applied(background.data), size.lanes, own)
            scored.append(_scored(first, second, neighbour, arms, size, delta, hidden, caution))
        if every:
            for neighbour, own_scores in zip(background.neighbours, scored, strict=True):
                leads.append(lead_of(replace(background, neighbours=(neighbour,)), [own_scores], arms))
        elif scored:
            leads.append(lead_of(background, scored, arms))
    return sorted((lead for lead in leads if lead is not None), key=lambda lead: -lead.predicted)


def _scored(
    first: ActionArray,
    second: ActionArray,
    neighbour: Neighbour,
    arms: Arms,
    size: ScanSize,
    delta: float,
    hidden: bool,
    caution: float,
) -> list[Scored]:
    """Return what every feature promises on one pair."""
    both = Transcript(np.concatenate([first, second]))
    if hidden and neighbour.record > 0:
        both.hide(neighbour.record)
    n = len(first)
    found = []
    for feature in features_for(both, arms, neighbour.record):
        values, index, _ = distinct_values(feature, both)
        k = len(values)
        if k == 1:
            continue
        sums = [np.bincount(half, minlength=k)[np.newaxis] / n for half in (index[:n], index[n:])]

        def promise(event: Sequence[FloatArray], final: FloatArray, more: bool) -> FloatArray:
            likely, rare = event if more else event[::-1]
            likely = np.maximum(likely - caution * np.sqrt((likely + 1.0 / n) / n), 0.0)
            rare = rare + caution * np.sqrt((rare + 1.0 / n) / n)
            return promised(likely, rare, final, delta)

        promises, needed = best_events(feature, values, sums, promise, size)
        found.append(Scored(float(promises[0]), int(needed[0]), feature))
    return found
