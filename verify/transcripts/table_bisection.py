"""Bisection between two reward tables for neighbouring ones on which a bandit's actions differ.

If little is random, a change of one row changes actions only near a decision: on most tables a bandit acts the same on
all neighbours. But if some event has probabilities p on a table A and q on a table B that differs in
h rows, then along the h neighbouring tables from A to B one step changes its probability by |p - q| / h or more.
Bisection finds such a step in about log2 h estimates: it keeps the half with ends that differ more, so the last step
changes the estimated probability by |p - q| / (2h) or more, and by 1 if the actions are a function of the
table. The estimates only rank: a test takes fresh draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mechanisms import Box
from mechanisms.arrays import FloatArray
from verify.transcripts.action_features import ActionFeature, features_for
from verify.transcripts.neighbours import Background, Neighbour, describe_record
from verify.transcripts.sampled_scan import DrawActions
from verify.transcripts.transcript import ActionArray, ActionSpace, Transcript

_MOST_POINTS = 6  # constant tables
_BIASES = (0.5, 0.5, 0.25, 0.75)  # of the coins that draw the other tables
_SMALLEST_GAP = 0.25  # between the estimated probabilities on two tables
_MOST_LABELS = 64  # the most common labels of a feature, that are compared


@dataclass(frozen=True)
class _SeparatingEvent:
    """A feature is at most `value` (is `value`, for labels); `gap` is the difference of its shares on two tables."""

    feature: ActionFeature
    value: int
    gap: float

    @property
    def rank(self) -> tuple[float, int]:
        """Larger gaps first, to a tenth; then fewer rounds, which are cheaper to play."""
        return -round(self.gap, 1), self.feature.last_round

    def share(self, transcript: Transcript) -> float:
        """Return the share of the draws in it."""
        values = self.feature.values(transcript)
        inside = values == self.value if self.feature.column.kind == "category" else values <= self.value
        return float(inside.mean())


def anchor_tables(domain: Box, rounds: int, rng: np.random.Generator) -> list[Background]:
    """Return constant tables (all lowest, all highest, one arm best or worst) and some drawn by coins."""
    points = domain.extremes()
    low, high = points[:2]
    found = [
        Background(np.tile(point, (rounds + 1, 1)), (), describe_record(point))
        for point in points[:_MOST_POINTS]
    ]
    for number, bias in enumerate(_BIASES, start=1):
        drawn = np.where(rng.random((rounds + 1, low.size)) < bias, high, low)
        words = f"rewards drawn once, the highest with probability {bias:g} (table {number})"
        found.append(Background(drawn, (), words))
    return found


def bisect_tables(
    draw: DrawActions,
    tables: Sequence[Background],
    space: ActionSpace,
    *,
    draws: int,
    seed: np.random.SeedSequence,
    most: int = 6,
) -> list[Background]:
    """Return neighbouring tables between tables on which the actions differ; none if they differ nowhere.

    Parameters
    ----------
    draw
        Function that draws actions on a table.
    tables
        The tables between which to bisect; all of one shape.
    space
        The space of actions.
    draws
        Draws of the actions on every table.
    seed
        The seed of all randomness.
    most
        The most pairs of tables that are bisected.
    """
    played = [draw(table.data, draws, seed.spawn(1)[0]) for table in tables]
    ranked = sorted(_separating_events(played, space).items(), key=lambda entry: entry[1].rank)
    found: list[Background] = []
    seen: set[tuple[bytes, int]] = set()
    for (first, second), event in ranked[:most]:
        background = _bisect(draw, tables[first], tables[second], event, draws, seed)
        if background is None:
            continue
        key = background.data.tobytes(), background.neighbours[0].record
        if key not in seen:
            seen.add(key)
            found.append(background)
    return found


def _separating_events(
    played: Sequence[ActionArray], space: ActionSpace
) -> dict[tuple[int, int], _SeparatingEvent]:
    """Return, for every two tables with clearly different actions, the event in which they differ most."""
    both = Transcript(np.concatenate(played))
    tables, draws = len(played), len(played[0])
    found: dict[tuple[int, int], _SeparatingEvent] = {}
    for feature in features_for(both, space, None):
        values, index, hits = np.unique(feature.values(both), return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue
        cells = np.repeat(np.arange(tables), draws) * len(values) + index
        shares = np.bincount(cells, minlength=tables * len(values)).reshape(tables, -1) / draws
        if feature.column.kind == "category":
            common = np.sort(np.argsort(-hits, kind="stable")[:_MOST_LABELS])
            values, shares = values[common], shares[:, common]
        else:
            shares = np.cumsum(shares, axis=1)
        for pair in itertools.combinations(range(tables), 2):
            gaps = np.abs(shares[pair[0]] - shares[pair[1]])
            best = int(np.argmax(gaps))
            event = _SeparatingEvent(feature, int(values[best]), float(gaps[best]))
            known = found.get(pair)
            if event.gap >= _SMALLEST_GAP and (known is None or event.rank < known.rank):
                found[pair] = event
    return found


def _bisect(
    draw: DrawActions,
    start: Background,
    end: Background,
    event: _SeparatingEvent,
    draws: int,
    seed: np.random.SeedSequence,
) -> Background | None:
    """Return the neighbouring tables between which an event's probability changes most, found by bisection.

    None if the tables are the same in all rounds of the event.
    """
    last = event.feature.last_round  # later rows are read by no action of the event
    begin, goal = start.data[: last + 1], end.data[: last + 1]
    differing = [row for row in range(1, last + 1) if not np.array_equal(begin[row], goal[row])]
    if not differing:  # the two differ by luck
        return None

    def between(changed: int) -> FloatArray:
        table = begin.copy()
        table[differing[:changed]] = goal[differing[:changed]]
        return table

    def share(changed: int) -> float:
        return event.share(Transcript(draw(between(changed), draws, seed.spawn(1)[0])))

    low, high = 0, len(differing)
    at_low, at_high = share(low), share(high)
    while high - low > 1:
        middle = (low + high) // 2
        at_middle = share(middle)
        if abs(at_middle - at_low) >= abs(at_high - at_middle):
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    row = differing[low]
    others = f"the users before round {row} have {end.others}; those after it have {start.others}"
    return Background(between(low), (Neighbour(row, goal[row], "the other table's row"),), others)
