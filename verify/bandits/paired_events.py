"""Predicted bounds of events from a few runs on two neighbouring tables with the same random numbers.

Runs that go together differ only where the changed reward made them differ, so the ratio of an event's two
probabilities p and q is known far better than from independent runs: with d the share of run pairs of which one run is
in the event and the other is not, the variance of ln(p / q) is about ``d / (n p q)`` (for independent runs d is p + q -
2 p q).

These bounds only rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mechanisms.arrays import BoolArray, FloatArray, IntArray
from verify.bandits.paired_runs import PairedRuns, RoundChange
from verify.transcripts.action_features import (
    ActionFeature,
    FirstSwitch,
    PlayCount,
    PlaysOfSame,
    PlayTime,
    doubling,
    features_for,
    first_actions,
    without_repeats,
)
from verify.transcripts.predicted_bounds import (
    STANDARD_ERRORS,
    PlannedTest,
    ScoredFeature,
    best_half_lines,
    best_pair,
    distinct_values,
    last_rounds,
)
from verify.transcripts.transcript import ActionSpace, Transcript
from verify.transcripts.view_pair import ViewPair

_MOST_ARMS = 4  # arms of which quick features are made: the most played


@dataclass(frozen=True)
class BestEvent:
    """The event with the largest predicted bound on two worlds.

    Attributes
    ----------
    predicted
        The lower bound on epsilon that the final test is expected to give.
    rounds
        Number of rounds that its feature needs.
    change
        The change of the round.
    share
        Share of the runs that are in it, in the world where it is likelier.
    """

    predicted: float
    rounds: int
    change: RoundChange
    share: float


def best_paired_event(played: PairedRuns, planned: PlannedTest, *, caution: float) -> BestEvent | None:
    """Return the event with the largest predicted bound, None if no run differs from its partner.

    Events are half-lines of play counts and times.

    Parameters
    ----------
    played
        The runs and their partners.
    planned
        The final test.
    caution
        Standard errors that are taken off the log ratio.
    """
    runs = played.runs[played.at]
    if not len(runs) or np.array_equal(runs, played.partners):
        return None
    n, record = len(runs), played.tables.record
    both = Transcript(np.concatenate([runs, played.partners]))
    if planned.hidden:
        both.hide(record)
    features = _quick_features(both, record, played.tables.arms, planned.hidden)
    values = np.column_stack([feature.values(both).astype(np.int32) for feature in features])
    found: list[BestEvent] = []
    for change in played.changes():
        first, second = values[:n], values[n:]
        here = (played.own == change.arm)[:, np.newaxis]
        subsets: list[BoolArray] = [np.ones(n, dtype=np.bool_)]
        if change.swapped:
            first, second = np.where(here, second, first), np.where(here, first, second)
        elif change.arm is not None:
            second = np.where(here, second, first)
            if not planned.hidden:  # the round's own action is seen, too
                subsets = [here[:, 0]] if played.arm is not None else [*subsets, here[:, 0]]
        for subset in subsets:
            weights = played.weights[subset]
            event = _best_half_line(
                first[subset], second[subset], weights, features, change, planned, caution
            )
            if event is not None:
                found.append(event)
    return max(found, key=lambda event: event.predicted, default=None)


def _quick_features(transcript: Transcript, record: int, arms: int, hidden: bool) -> list[ActionFeature]:
    """Return counts and times around the changed round, and from the start, of the arms most played."""
    rounds, arms = transcript.rounds, max(arms, 1 + int(transcript.actions.max()))
    played = np.bincount(transcript.actions[transcript.actions >= 0].astype(np.int64), minlength=arms)
    shown = np.argsort(-played, kind="stable")[: 1 if arms == 2 else _MOST_ARMS].tolist()
    found: list[ActionFeature] = []
    ends = sorted({*(last for last in doubling(rounds) if last > record), rounds})
    later = sorted({*(record + step for step in doubling(rounds - record)), *ends})
    for arm in shown:
        found += [PlayCount(arm, 1, last) for last in ends]
        found += [PlayCount(arm, record + 1, last) for last in later if record < last]
    for arm in range(arms) if arms == 2 else shown:
        found += [
            PlayTime(arm, number, 0, rounds) for number in doubling(rounds) if 2 * number > record / arms
        ]
        found += [PlayTime(arm, number, record, rounds) for number in (1, 2, 4) if record < rounds]
    if 1 <= record < rounds:
        found.append(FirstSwitch(record, rounds))
        if not hidden:
            found += [PlaysOfSame(record, last) for last in later if last > record]
    return found


def _best_half_line(
    first: npt.NDArray[np.int32],
    second: npt.NDArray[np.int32],
    weights: FloatArray,
    features: Sequence[ActionFeature],
    change: RoundChange,
    planned: PlannedTest,
    caution: float,
) -> BestEvent | None:
    """Return the best half-line of any feature, None if none has exactly one run of some pair."""
    m = len(first)
    both = np.concatenate([first, second])
    order = np.argsort(both, axis=0, kind="stable")
    ranked = np.take_along_axis(both, order, axis=0)
    weight = np.concatenate([weights, weights])[order]
    squares = weight**2
    lower = np.take_along_axis(np.concatenate([first <= second, second < first]), order, axis=0)
    a = np.cumsum(np.where(order < m, weight, 0.0), axis=0)[:-1]
    b = np.cumsum(weight, axis=0)[:-1] - a
    apart = np.cumsum(np.where(lower, squares, -squares), axis=0)[:-1]
    ends = ranked[1:] != ranked[:-1]  # a half-line ends between different values
    smallest = float(weights.min()) ** 2 if m else 1.0
    at, column = np.nonzero(ends & (apart > 0.5 * smallest))
    if not at.size:
        return None
    a, b, apart, edge = a[at, column], b[at, column], apart[at, column], ranked[at, column]
    times = np.array([isinstance(feature, PlayTime | FirstSwitch) for feature in features])
    last = np.array([feature.last_round for feature in features])[column]
    last = np.where(times[column], np.minimum(edge, last), last)  # "at most t" is known in round t
    draws = planned.draws(last)
    total = float(weights.sum())
    shares = np.stack([np.concatenate([a, total - a]), np.concatenate([b, total - b])])
    likely, rare = shares.max(axis=0), np.maximum(shares.min(axis=0), 0.0)
    bounds = _paired_bound(
        likely,
        rare,
        np.tile(apart, 2),
        one=float(weights.mean()),
        final=np.tile(draws, 2),
        delta=planned.delta,
        caution=caution,
    )
    best = int(np.argmax(bounds))
    return BestEvent(float(bounds[best]), int(last[best % len(at)]), change, float(likely[best]))


def _paired_bound(
    likely: FloatArray,
    rare: FloatArray,
    apart: FloatArray,
    *,
    one: float,
    final: FloatArray,
    delta: float,
    caution: float,
) -> FloatArray:
    """Return the lower bounds on epsilon that final draws are expected to give, less the error of the estimates.

    Parameters
    ----------
    likely, rare
        Shares of the event in the world where it is likelier, and in the other: sums of the weights of pairs.
    apart
        Sums of the squared weights of the pairs of which one is in the event.
    one
        The weight of one pair; half of one is added to every share.
    final
        Independent draws of each world that the final test will have.
    delta, caution
        The claim's delta; standard errors to take off.
    """
    p, q = np.maximum(likely + 0.5 * one - delta, 0.0), rare + 0.5 * one
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt((apart + one * one) / (p * q))
        spread = np.sqrt((1.0 / p + 1.0 / q) / final)
        bound = np.log(p / q) - caution * error - STANDARD_ERRORS * spread
    return np.where(p > 0.0, bound, -np.inf)


def view_pair_of(
    played: PairedRuns, change: RoundChange, space: ActionSpace, planned: PlannedTest, *, caution: float
) -> ViewPair | None:
    """Return the two tables of a change, with the best features of all kinds; None if no feature varies.

    Parameters
    ----------
    played
        The runs; all that the change may affect have partners.
    change
        The change of the round.
    space
        The space of actions.
    planned, caution
        As for `best_paired_event`.
    """
    record, hidden = played.tables.record, planned.hidden
    both = Transcript(np.concatenate(played.worlds(change)))
    if hidden:
        both.hide(record)
    features = without_repeats(
        [*_quick_features(both, record, space.arms, hidden), *features_for(both, space, record)]
    )
    scored = [
        found
        for feature in features
        if (found := _score_feature(feature, feature.values(both), planned, caution)) is not None
    ]
    pair = best_pair(played.background(change), [scored], space)
    if pair is None or hidden or record > pair.rounds:
        return pair
    own = first_actions(record, space, first=record)
    return replace(pair, features=without_repeats([*pair.features, *own]))


def _score_feature(
    feature: ActionFeature, values: IntArray, planned: PlannedTest, caution: float
) -> ScoredFeature | None:
    """Return the predicted bound of a feature's best event, a half-line or a set of labels; None if it never varies."""
    found, index, _ = distinct_values(feature, values)
    k = len(found)
    if k == 1:
        return None
    n = len(values) // 2
    first, second = index[:n], index[n:]
    if feature.column.kind == "category":
        # Labels of lowest ratio together, and of highest, as one half shows them.
        half = n // 2
        a, b = (np.bincount(each[:half], minlength=k) for each in (first, second))
        rank = np.empty(k, dtype=np.int64)
        rank[np.argsort((b + 0.5) / (a + 0.5), kind="stable")] = np.arange(k)
        first, second, n = rank[first[half:]], rank[second[half:]], n - half

    def bound(event: Sequence[FloatArray], final: FloatArray, more: bool) -> FloatArray:
        likely, rare = (hits / n for hits in (event[:2] if more else event[1::-1]))
        apart = np.abs(event[2]) / n**2
        return _paired_bound(
            likely, rare, apart, one=1.0 / n, final=final, delta=planned.delta, caution=caution
        )

    # Of one run of a pair alone: of the lower one, until the other is reached.
    ours, theirs, lower, higher = (
        np.bincount(each, minlength=k)[np.newaxis].astype(np.float64)
        for each in (first, second, np.minimum(first, second), np.maximum(first, second))
    )
    sums = (ours, theirs, lower - higher)
    bounds, needed = best_half_lines(last_rounds(feature, found), sums, bound, planned)
    return ScoredFeature(float(bounds[0]), int(needed[0]), feature)
